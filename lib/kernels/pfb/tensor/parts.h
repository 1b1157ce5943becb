/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PARTS_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PARTS_H

#include "kernels/f_engine/f_engine.h"

namespace gr::aperture::kernels::cuda::tensor {

/*!
 * make_tensor_pfb() and make_tensor_f_engine() of some types and numbers of channels,
 * each compiled by itself: what comes back is `other` where a part does not serve p.
 * \tparam Inverted whether real samples are, whose channels come in the other order;
 * complex ones are served either way
 * \tparam Taps at most, and more than eight fewer
 */
template <sample_type Input, bool Inverted, int Taps, int... Channels>
struct part {
    static std::unique_ptr<pfb>
    make(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
    static std::unique_ptr<f_engine>
    make(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);
};
using bytes = part<sample_type::sc8, false, 8, 64, 128, 256, 512, 1024>;
using clusters = part<sample_type::sc8, false, 8, 2048, 4096, 8192>;
using long_bytes = part<sample_type::sc8, false, 16, 64, 128, 256, 512, 1024>;
using long_clusters = part<sample_type::sc8, false, 16, 2048, 4096, 8192>;
using real_bytes = part<sample_type::s8, false, 8, 64, 128, 256, 512, 1024>;
using inverted_real_bytes = part<sample_type::s8, true, 8, 64, 128, 256, 512, 1024>;
using shorts = part<sample_type::sc16, false, 8, 64, 128, 256, 512, 1024>;
using packed_10 = part<sample_type::s10, false, 8, 64, 128, 256, 512, 1024>;
using inverted_packed_10 = part<sample_type::s10, true, 8, 64, 128, 256, 512, 1024>;
using packed_12 = part<sample_type::s12, false, 8, 64, 128, 256, 512, 1024>;
using inverted_packed_12 = part<sample_type::s12, true, 8, 64, 128, 256, 512, 1024>;
using nibbles = part<sample_type::sc4, false, 8, 64, 128, 256, 512, 1024>;
using nibble_clusters = part<sample_type::sc4, false, 8, 2048, 4096, 8192>;

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PARTS_H */
