/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_SPLIT_H
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_SPLIT_H

#include "kernels/cuda/pfb_fused.h"
#include "kernels/cuda/split_inputs.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*!
 * The fused kernel for ports of any number of inputs, as fused_filter. Where a port has
 * several, they are taken apart before, some spectra at a time: the kernel reads each
 * input by itself, and that is slow where its samples lie apart.
 */
class split_filter
{
public:
    split_filter(const pfb::parameters& p,
                 const fused_kernel& kernel,
                 fused_filter::store stored,
                 int device);

    std::string name() const;
    void set_gains(const cfloat* gains, cudaStream_t s) { d_filter.set_gains(gains, s); }
    void set_delays(const delay* delays, cudaStream_t s);
    void execute(const pfb::source* sources,
                 const fused_filter::target& to,
                 size_t count,
                 cudaStream_t s);
    pfb::counts clamped() const { return d_filter.clamped(); }

private:
    void execute_split(const pfb::source* sources,
                       const fused_filter::target& to,
                       size_t count,
                       cudaStream_t s);

    const pfb::parameters d_p;
    const int d_device;
    const size_t d_batch; // spectra whose samples there is room for
    fused_filter d_filter;
    std::unique_ptr<input_splitter> d_splitter; // of several inputs a port
    std::vector<pfb::source> d_sources;         // of a batch
    std::vector<void*> d_spectra;
};

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_SPLIT_H */
