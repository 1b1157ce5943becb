/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_NOT_NUMBERS_H
#define INCLUDED_APERTURE_KERNELS_COMMON_NOT_NUMBERS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

/*!
 * \file
 * Finds samples that are no numbers: NaN, or infinite. They are found by their bits while
 * samples are copied or converted anyway, with one comparison for both.
 */
namespace gr::aperture::kernels {

//! A spectrum of an input, counted from the first one of a call.
struct spectrum_of_input {
    int64_t spectrum;
    int input;
};

//! Calls see(input, first spectrum, spectra) for each run in a row, in whatever order
//! they were added, and removes them.
void take_runs(std::vector<spectrum_of_input>& spectra,
               const std::function<void(int, int64_t, int64_t)>& see);

namespace host {

//! The magnitude() of infinity; that of NaN is larger, those of numbers are smaller.
inline constexpr uint32_t infinite = 0x7f800000;

//! Returns the bits of a float without its sign, in the order of magnitudes.
inline uint32_t magnitude(float v)
{
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits & 0x7fffffff;
}

inline bool is_number(float v) { return magnitude(v) < infinite; }

//! Returns whether all floats are numbers.
bool all_numbers(const float* values, size_t count);

//! Copies floats, which need not be aligned. \returns whether all are numbers
bool copy_numbers(const void* from, size_t count, float* to);

//! Samples this close form one run: no spectrum fits between; a run has a tag.
inline constexpr int64_t apart = 64;

/*!
 * Sets samples that are no numbers to zero, and all between two of them that are less
 * than `apart` apart: so there is never more than one run in so many samples.
 *
 * \param values the first sample of the input
 * \param components components of a sample, 1 or 2
 * \param stride floats from one sample to the next
 * \param found gets (first sample, samples) of each run
 * \returns how many samples are no numbers
 */
int64_t clear_not_numbers(float* values,
                          int64_t samples,
                          int components,
                          int64_t stride,
                          const std::function<void(int64_t, int64_t)>& found);

} // namespace host
} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_NOT_NUMBERS_H */
