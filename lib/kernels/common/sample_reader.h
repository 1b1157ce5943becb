/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_SAMPLE_READER_H
#define INCLUDED_APERTURE_KERNELS_COMMON_SAMPLE_READER_H

#include "kernels/common/fftw.h"
#include "kernels/common/types.h"
#include <algorithm>
#include <cstdint>

namespace gr::aperture::kernels::host {

//! Return a component as float; -128 of 8 bits is read as -127.
inline float value_of(float v) { return v; }
inline float value_of(int16_t v) { return v; }
inline float value_of(int8_t v) { return std::max<int8_t>(v, -127); }

//! Convert `count` components as value_of() does.
void convert(const float* x, float* y, size_t count);
void convert(const int16_t* x, float* y, size_t count);
void convert(const int8_t* x, float* y, size_t count);

//! Reads the samples of one input of a port: where they are, or, out of several
//! interleaved ones and packed ones, as copies.
class sample_reader
{
public:
    //! \param inputs of the port \param most samples that are read at once
    sample_reader(sample_type type, int inputs, int64_t most);

    //! Forgets what was read: other samples are in the memory of the port, or of the
    //! next.
    void begin() { d_separated = -1; }
    /*!
     * Returns `count` samples from `first` on, of input i of a port, in a row. They are
     * of the port's type, or float for sc4, s12 and s10; they stay until the next call.
     * \param in_order inputs are read from 0 on, the same samples of each, before those
     * that follow: neighbouring ones are then separated together, so that each cache line
     * is read once
     */
    const void*
    samples_of(const void* port, int64_t first, size_t count, int i, bool in_order);

    //! Writes `count` samples, as samples_of() gives them, as floats.
    void floats_of(const void* samples, size_t count, float* to) const;

    /*!
     * Counts samples that are read as others, the lowest integer of 8 and 4 bits, from
     * `counted` to before `end` of those that begin at `first`.
     * \param samples those of this input, as samples_of() gives them
     */
    uint64_t count_lowest(const void* port,
                          const void* samples,
                          int64_t first,
                          int64_t counted,
                          int64_t end,
                          int i) const;

private:
    void separate_samples(
        const char* in, void* out, int together, size_t count, size_t size) const;

    const sample_type d_type;
    const int d_inputs;
    fft_buffer d_separate;    // samples of one input, or of some
    int64_t d_separated = -1; // first sample of the inputs in d_separate; -1: none
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_SAMPLE_READER_H */
