/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_INPUT_DELAYS_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_INPUT_DELAYS_H

#include "kernels/gpu/memory.h"
#include "kernels/pfb/delay.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/tensor/delays.cuh"

namespace gr::aperture::kernels::cuda::tensor {

/*!
 * Delays of all inputs, and how many spectra ago they were set.
 */
class input_delays
{
public:
    explicit input_delays(const pfb::parameters& p);

    //! \param delays [input]; nullptr: none
    void set(const delay* delays, cudaStream_t s);
    bool any() const { return !d_delays.empty(); }
    void tell(delay_call& c) const;
    //! Spectra before the first one of a call, back to where a slot begins.
    int lead() const;
    void pass(size_t spectra)
    {
        d_number += spectra;
        d_all += spectra;
    }
    //! Returns the delays as they have grown until now.
    std::vector<delay> current() const;

private:
    const pfb::parameters d_p;
    std::vector<delay> d_delays;
    uint64_t d_number = 0, d_all = 0; // spectra since they were set, and of all calls
    uploaded_array<phase_cycles> d_cycles;
    uploaded_array<int64_t> d_shifts;
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_INPUT_DELAYS_H */
