/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_TABLE_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_TABLE_CUH

#include "kernels/pfb/fused/fused.cuh"
#include "kernels/pfb/fused/kernels.h"

namespace gr::aperture::kernels::cuda {

template <class Shape, class In>
fused_kernel fused_kernel_of(sample_type type)
{
    return { type,
             Shape::N,
             { fused<Shape, In, store::spectra>, fused<Shape, In, store::frames> },
             Shape::threads,
             Shape::blocks,
             Shape::spectra,
             Shape::line_bytes + Shape::gain_bytes,
             { Shape::R1, Shape::R2, Shape::R3 } };
}

template <sample_type Type>
std::vector<fused_kernel> fused_kernels_of()
{
    using in = typename samples_of_type<Type>::type;
    return {
        fused_kernel_of<fused_shape<64, 128, 8, 8>, in>(Type),
        fused_kernel_of<fused_shape<128, 64, 16, 8>, in>(Type),
        fused_kernel_of<fused_shape<256, 32, 16, 16>, in>(Type),
        fused_kernel_of<fused_shape<512, 16, 16, 32>, in>(Type),
        fused_kernel_of<fused_shape<1024, 8, 32, 32>, in>(Type),
        fused_kernel_of<fused_shape<2048, 8, 16, 16, 8>, in>(Type),
        fused_kernel_of<fused_shape<4096, 4, 16, 16, 16>, in>(Type),
        fused_kernel_of<fused_shape<8192, 2, 32, 16, 16>, in>(Type),
    };
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_TABLE_CUH */
