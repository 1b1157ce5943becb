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

//! Samples of inputs, each input's in a row. \param bytes from one row to the next
struct input_rows {
    const char* samples = nullptr; //!< of input 0; nullptr: there are none
    int64_t bytes = 0;
};

/*!
 * Takes inputs apart that a port carries sample by sample: [port][time][input] into rows
 * [port][input][time] in memory of its own. What a filter bank reads then lies together.
 */
class input_splitter
{
public:
    //! \param samples of each input that execute() is asked for at most
    input_splitter(const pfb::parameters& p, int64_t samples);

    /*!
     * Rows begin that many samples earlier, of each input its own, from the next call
     * on; nullptr: with the first sample. That leaves no whole samples for the reader of
     * the rows to be shifted.
     */
    void set_shifts(const delay* delays, cudaStream_t s);

    //! \param sources [port], as of a filter bank; of one that is lost, rows stay as they
    //! are
    void execute(const pfb::source* sources, int64_t samples, cudaStream_t s);

    input_rows rows() const { return { d_rows.data(), d_row_bytes }; }

private:
    const pfb::parameters d_p;
    const int64_t d_row_bytes;
    device_array<char> d_rows;
    std::unique_ptr<uploaded_array<pfb::source>> d_sources; // of many ports
    uploaded_array<int64_t> d_shifts;
    bool d_shifted = false;
    int64_t d_least_shift = 0, d_most_shift = 0;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_SPLIT_INPUTS_H */
