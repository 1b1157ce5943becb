/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/fused/fused_table.cuh"

namespace gr::aperture::kernels::cuda {

const std::vector<fused_kernel>& fused_wide_kernels()
{
    static const auto all = [] {
        std::vector<fused_kernel> made;
        add_fused_kernels<float_samples<true>>(sample_type::fc32, made);
        add_fused_kernels<float_samples<false>>(sample_type::f32, made);
        add_fused_kernels<short_samples<true>>(sample_type::sc16, made);
        add_fused_kernels<short_samples<false>>(sample_type::s16, made);
        return made;
    }();
    return all;
}

} // namespace gr::aperture::kernels::cuda
