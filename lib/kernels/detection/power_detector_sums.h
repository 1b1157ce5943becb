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
 * products, and turns channels to the fast axis.
 */
struct power_pieces {
    const float* values;
    int pieces;     //!< of a frame
    int components; //!< of a row
    int first_row;  //!< of all rows of the output
    int rows;
};

//! Components of a row that these products need; the first is the most. One scale for
//! both polarisations makes 1 of 2: their sum will do.
std::vector<int> components_of(const detection& d);

//! The second step.
class power_sums
{
public:
    //! \param most_frames that one call of write() has
    power_sums(const detection& d, int channels, int times, int rows, int most_frames);

    //! -> powers [frame][integration][row][product][channel / summed_channels]
    //! \param scales on the GPU, from upload(), or nullptr: `scale` for all
    void write(const power_pieces& from,
               int frames,
               float* powers,
               const float* scales,
               float scale,
               cudaStream_t s);

    //! Adds frames to the running sums. Always of as many components.
    void add(const power_pieces& from, int frames, cudaStream_t s);
    void
    dump(int components, float* powers, const detection_scales& scales, cudaStream_t s);
    void clear(cudaStream_t s);

    //! \returns where they are on the GPU
    const float* upload(const float* scales, size_t count, cudaStream_t s);

private:
    const detection d_detect;
    const int d_channels, d_times, d_rows;
    device_array<double> d_sums; // [row][component][channel / summed_channels]
    uploaded_array<float> d_scales;
};

/*!
 * The first step from signals in memory, [frame][channel][signal][time]. A row is the sum
 * over some pairs of signals, x and y.
 */
struct signal_rows {
    //! pairs of row r: [starts[r], starts[r + 1]); nullptr: one, the signals 2 r and 2 r
    //! + 1, or r and nothing if there are no pairs
    const int* starts;
    const int2* pairs;
    int rows;
};

struct signal_extents {
    int channels, signals, times;
    sample_type type;
};

//! How many times of signals are summed in one piece; divides an integration into
//! parts of that length, the last may be shorter.
int64_t signal_piece(int64_t spectra, int times);

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

//! For constructors of what will call sum_signals(): loads what it launches.
void load_signal_sums(
    sample_type type, int64_t spectra, int times, int components, bool both);

//! Pieces of a frame.
int signal_pieces(int64_t spectra, int times);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_POWER_DETECTOR_SUMS_H */
