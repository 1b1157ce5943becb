/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_HOST_EXCHANGE_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_HOST_EXCHANGE_H

#include "kernels/exchange/exchange.h"

namespace gr::aperture::kernels::host {

//! Row by row, in host memory.
std::unique_ptr<exchange> make_exchange(const exchange::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_HOST_EXCHANGE_H */
