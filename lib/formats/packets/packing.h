/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_PACKING_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_PACKING_H

#include "formats/coding.h"

namespace gr::aperture::formats {

//! Returns whether pack() can write it.
bool can_pack(coding c);

/*!
 * Converts components of type_of() to those of a packet, as the inverse of unpack().
 * Components of less than a byte become the nearest level.
 * \param components so many that they fill whole bytes
 */
void pack(coding c, const void* from, int64_t components, void* packet);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_PACKING_H */
