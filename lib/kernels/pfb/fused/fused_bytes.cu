/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/fused/fused_table.cuh"

namespace gr::aperture::kernels::cuda {

const std::vector<fused_kernel>& fused_byte_kernels()
{
    static const auto all = [] {
        std::vector<fused_kernel> made;
        add_fused_kernels<byte_samples<true>>(sample_type::sc8, made);
        add_fused_kernels<byte_samples<false>>(sample_type::s8, made);
        return made;
    }();
    return all;
}

} // namespace gr::aperture::kernels::cuda
