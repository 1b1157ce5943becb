/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DETECTION_POWER_DETECTOR_SUMS_H
#define INCLUDED_APERTURE_KERNELS_DETECTION_POWER_DETECTOR_SUMS_H

#include "kernels/detection/detection.h"
#include "kernels/gpu/memory.h"

namespace gr::aperture::kernels::cuda {

/*!
 * Powers are made in two steps. The first sums them over pieces of the time:
 * [frame][channel][piece][row][component], where a component is
 *
 *     1 a row   |beam|^2, or I where both polarisations have the same scale
 *     2 a row   |x|^2, |y|^2
 *     4 a row   |x|^2, |y|^2, Re xy*, Im xy*
 *
 * The second adds up pieces and channels, always in the same order, scales, makes the
 * products, and transposes channels to the fast axis.
 */
struct power_pieces {
    const float* values;
    int pieces;     //!< pieces of a frame
    int components; //!< components of a row
    int first_row;  //!< index of the first row among all rows of the output
    int rows;
};

//! Returns the numbers of components of a row that these products need; the first is the
//! largest. With one scale for both polarisations, 1 of 2 suffices: their sum.
std::vector<int> components_of(const detection& d);

//! Does the second step.
class power_sums
{
public:
    //! \param most_frames largest number of frames in a call of write()
    power_sums(const detection& d, int channels, int times, int rows, int most_frames);

    //! Writes powers [frame][integration][row][product][channel / summed_channels].
    //! \param scales on the GPU, from upload(), or nullptr: `scale` for all
    void write(const power_pieces& from,
               int frames,
               float* powers,
               const float* scales,
               float scale,
               cudaStream_t s);

    //! Adds frames to the running sums. The number of components must always be the same.
    void add(const power_pieces& from, int frames, cudaStream_t s);
    void
    dump(int components, float* powers, const detection_scales& scales, cudaStream_t s);
    void clear(cudaStream_t s);

    //! Copies scales to the GPU. \returns their address there
    const float* upload(const float* scales, size_t count, cudaStream_t s);

private:
    const detection d_detect;
    const int d_channels, d_times, d_rows;
    device_array<double> d_sums; // [row][component][channel / summed_channels]
    uploaded_array<float> d_scales;
};

/*!
 * The rows that the first step makes of signals in memory,
 * [frame][channel][signal][time]. A row is the sum over some pairs of signals, x and y.
 */
struct signal_rows {
    //! The pairs of row r: [starts[r], starts[r + 1]); nullptr: one pair, the signals 2 r
    //! and 2 r + 1, or r alone if there are no pairs.
    const int* starts;
    const int2* pairs;
    int rows;
};

struct signal_extents {
    int channels, signals, times;
    sample_type type;
};

//! Returns how many times of signals are summed in one piece; it divides an integration
//! into parts of that length, the last of which may be shorter.
int64_t signal_piece(int64_t spectra, int times);

//! Sums signals.
//! \param components of a row; with 1 the powers of x alone, or of x and y if `both`
void sum_signals(const void* signals,
                 int frames,
                 const signal_extents& x,
                 const signal_rows& rows,
                 int64_t spectra,
                 int components,
                 bool both,
                 float* pieces,
                 cudaStream_t s);

//! Loads the kernels that sum_signals() launches; for constructors of its callers.
void load_signal_sums(
    sample_type type, int64_t spectra, int times, int components, bool both);

//! Returns the pieces of a frame.
int signal_pieces(int64_t spectra, int times);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_POWER_DETECTOR_SUMS_H */
