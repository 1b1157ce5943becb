/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_EMULATED_EXCHANGE_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_EMULATED_EXCHANGE_H

#include "kernels/exchange/exchange.h"

namespace gr::aperture::kernels::emulated {

//! Row by row, by the streams of the emulated devices that write.
std::unique_ptr<exchange> make_exchange(const exchange::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_EMULATED_EXCHANGE_H */
