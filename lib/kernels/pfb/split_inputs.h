/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_SPLIT_INPUTS_H
#define INCLUDED_APERTURE_KERNELS_PFB_SPLIT_INPUTS_H

#include "kernels/gpu/memory.h"
#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels::cuda {

//! Samples of inputs, each input's in a row.
//! \param bytes bytes from one row to the next
struct input_rows {
    const char* samples = nullptr; //!< samples of input 0; nullptr: there are none
    int64_t bytes = 0;
};

/*!
 * Separates inputs that a port carries sample by sample: [port][time][input] into rows
 * [port][input][time] in separate memory. A filter bank then reads samples in a row.
 */
class input_splitter
{
public:
    //! \param samples largest number of samples of each input in a call of execute()
    input_splitter(const pfb::parameters& p, int64_t samples);

    /*!
     * Makes the row of each input begin earlier by its own whole samples, from the next
     * call on; nullptr: with the first sample. The reader of the rows then has no whole
     * samples to shift.
     */
    void set_shifts(const delay* delays, cudaStream_t s);

    //! \param sources [port], as of a filter bank; rows of a lost port stay as they are
    void execute(const pfb::source* sources, int64_t samples, cudaStream_t s);

    input_rows rows() const { return { d_rows.data(), d_row_bytes }; }

private:
    const pfb::parameters d_p;
    const int64_t d_row_bytes;
    device_array<char> d_rows;
    std::unique_ptr<uploaded_array<pfb::source>> d_sources; // sources of many ports
    uploaded_array<int64_t> d_shifts;
    bool d_shifted = false;
    int64_t d_least_shift = 0, d_most_shift = 0;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_SPLIT_INPUTS_H */
