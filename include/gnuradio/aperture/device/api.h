/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_API_H
#define INCLUDED_APERTURE_DEVICE_API_H

#include <gnuradio/attributes.h>

#ifdef gnuradio_aperture_device_EXPORTS
#define APERTURE_DEVICE_API __GR_ATTR_EXPORT
#else
#define APERTURE_DEVICE_API __GR_ATTR_IMPORT
#endif

/*!
 * Version of the interface in this folder, for blocks of other modules. It grows by one
 * with each change that such a block has to follow; additions leave it as it is. Version
 * 1 has ports on several devices.
 */
#define APERTURE_DEVICE_VERSION 1

#endif /* INCLUDED_APERTURE_DEVICE_API_H */
