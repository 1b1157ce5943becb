/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/fused/fused_table.cuh"

namespace gr::aperture::kernels::cuda {

const std::vector<fused_kernel>& fused_packed_kernels()
{
    static const auto all = [] {
        std::vector<fused_kernel> made;
        add_fused_kernels<nibble_samples>(sample_type::sc4, made);
        add_fused_kernels<packed_samples<12>>(sample_type::s12, made);
        add_fused_kernels<packed_samples<10>>(sample_type::s10, made);
        return made;
    }();
    return all;
}

} // namespace gr::aperture::kernels::cuda
