/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_PFB_SPLIT_H
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_PFB_SPLIT_H

#include "kernels/pfb/fused/fused.h"
#include "kernels/pfb/split_inputs.h"

namespace gr::aperture::kernels::cuda {

/*!
 * Calls of a filter bank whose ports carry several inputs sample by sample, in parts of
 * some spectra: before each, the inputs are taken apart. A kernel reads each input by
 * itself, and that is slow where its samples lie apart.
 */
class split_calls
{
public:
    explicit split_calls(const pfb::parameters& p);
    void set_delays(const delay* delays, cudaStream_t s)
    {
        d_splitter.set_shifts(delays, s);
    }

    //! \param run of a part: sources, target, spectra, and rows, which are already
    //! shifted
    template <class Run>
    void execute(const pfb::source* sources,
                 const fused_filter::target& to,
                 size_t count,
                 cudaStream_t s,
                 Run run)
    {
        for (size_t done = 0; done < count; done += d_batch) {
            const size_t batch = std::min(d_batch, count - done);
            run(d_sources.data(),
                prepare(sources, to, done, batch, s),
                batch,
                d_splitter.rows());
        }
    }

private:
    //! Sources of a part, and its rows. \return its target
    fused_filter::target prepare(const pfb::source* sources,
                                 const fused_filter::target& to,
                                 size_t done,
                                 size_t batch,
                                 cudaStream_t s);

    const pfb::parameters d_p;
    const size_t d_batch; // spectra whose samples there is room for
    input_splitter d_splitter;
    std::vector<pfb::source> d_sources; // sources of a part
    std::vector<void*> d_spectra;
};

//! nullptr where each port has one input.
std::unique_ptr<split_calls> make_split_calls(const pfb::parameters& p);

//! The fused kernel for ports of any number of inputs, as fused_filter.
class split_filter
{
public:
    split_filter(const pfb::parameters& p,
                 const fused_kernel& kernel,
                 store stored,
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
    const int d_device;
    fused_filter d_filter;
    const std::unique_ptr<split_calls> d_split; // calls for several inputs a port
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_PFB_SPLIT_H */
