/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SELECT_HOST_PRODUCT_SELECT_H
#define INCLUDED_APERTURE_KERNELS_SELECT_HOST_PRODUCT_SELECT_H

#include "kernels/select/product_select.h"

namespace gr::aperture::kernels::host {

//! A plain gather.
std::unique_ptr<product_select> make_product_select(const product_select::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_SELECT_HOST_PRODUCT_SELECT_H */
