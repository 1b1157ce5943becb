/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_TABLE_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_TABLE_CUH

#include "kernels/pfb/fused/fused.cuh"
#include "kernels/pfb/fused/fused_kernels.h"

namespace gr::aperture::kernels::cuda {

template <class Shape, class In>
fused_kernel fused_kernel_of(sample_type type)
{
    return { type,
             Shape::N,
             { fused<Shape, In, store::spectra>, fused<Shape, In, store::blocks> },
             Shape::threads,
             Shape::blocks,
             Shape::spectra,
             Shape::line_bytes + Shape::gain_bytes,
             { Shape::R1, Shape::R2, Shape::R3 } };
}

//! All sizes of a type.
template <class In>
void add_fused_kernels(sample_type type, std::vector<fused_kernel>& all)
{
    for (const auto& kernel : {
             fused_kernel_of<fused_shape<64, 128, 8, 8>, In>(type),
             fused_kernel_of<fused_shape<128, 64, 16, 8>, In>(type),
             fused_kernel_of<fused_shape<256, 32, 16, 16>, In>(type),
             fused_kernel_of<fused_shape<512, 16, 16, 32>, In>(type),
             fused_kernel_of<fused_shape<1024, 8, 32, 32>, In>(type),
             fused_kernel_of<fused_shape<2048, 8, 16, 16, 8>, In>(type),
             fused_kernel_of<fused_shape<4096, 4, 16, 16, 16>, In>(type),
             fused_kernel_of<fused_shape<8192, 2, 32, 16, 16>, In>(type),
         })
        all.push_back(kernel);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_TABLE_CUH */
