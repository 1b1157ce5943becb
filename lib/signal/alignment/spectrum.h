/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_SPECTRUM_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_SPECTRUM_H

#include "signal/alignment/transform.h"
#include <vector>

namespace gr::aperture::kernels::alignment {

/*!
 * Returns the window of all spectra here, half a period of a sine: its square and that of
 * the next window, half a window later, sum to 1, so that every sample counts the same.
 */
std::vector<float> sine_window(int channels);

/*!
 * Returns the mean power of channels, in the order of transform's outputs; their mean is
 * the mean power of the samples. In long inputs only so many windows are taken, evenly
 * spread.
 *
 * \param window [channel]
 */
std::vector<double> mean_spectrum(const cfloat* samples,
                                  int64_t count,
                                  const std::vector<float>& window,
                                  int64_t most_windows);

//! Returns medians of so many neighbouring channels, an odd number, around the circle.
std::vector<double> running_median(const std::vector<double>& values, int width);

/*!
 * Returns the channels that are used to compare inputs, 1 or 0: those with the receiver's
 * noise or signal, and no line. A line (a receiver's offset at frequency 0, a carrier)
 * that two inputs have in common correlates at every lag and does not tell their offset;
 * beyond the edges of the receiver's filter is no signal. The inner level is the largest
 * median of neighbouring channels; a channel is outside below a tenth of it, and a line
 * is five times the median of its neighbourhood.
 */
std::vector<char> used_channels(const std::vector<double>& spectrum);

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_SPECTRUM_H */
