/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_COHERENCE_METER_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_COHERENCE_METER_H

#include "kernels/common/types.h"
#include <complex>
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::alignment {

/*!
 * The coherence of inputs that are lined up with one of them, in windows of samples:
 * |<x conj(y)>| / sqrt(<|x|^2> <|y|^2>), which for inputs without a common signal is
 * about 1/sqrt(window).
 */
class coherence_meter
{
public:
    //! Begins a window of so many samples. \param reference the input with which the
    //! others are compared
    void begin(int inputs, int reference, int64_t window);
    int64_t window() const { return d_window; }
    //! Returns how many samples the window still takes.
    int64_t room() const { return d_window - d_count; }
    /*!
     * Adds samples, at most room().
     * \param samples [input]; null where the input has none: its coherence is not known
     * in this window
     * \param phase_rates [input], radians per sample that are to be added to the phase
     */
    void add(const std::vector<const cfloat*>& samples,
             int64_t count,
             const std::vector<double>& phase_rates);
    //! Returns the coherence of each input of a window without room(), that of the
    //! reference and of those that are not known not a number; begins the next window.
    std::vector<double> take();

private:
    struct sums {
        std::complex<double> product;
        double power = 0;
        bool complete = true;
    };
    std::vector<sums> d_sums;
    int d_reference = 0;
    int64_t d_window = 0, d_count = 0;
};

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_COHERENCE_METER_H */
