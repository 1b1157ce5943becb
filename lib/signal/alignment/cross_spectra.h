/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_CROSS_SPECTRA_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_CROSS_SPECTRA_H

#include "signal/alignment/transform.h"
#include <complex>
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::alignment {

/*!
 * The delay and the phase that are applied to an input before it is compared: at sample n
 * of the reference delay + delay_rate (n - time) samples and phase + phase_rate (n -
 * time) radians.
 */
struct alignment_line {
    double delay = 0, phase = 0, delay_rate = 0, phase_rate = 0, time = 0;
    double delay_at(double n) const { return delay + delay_rate * (n - time); }
    double phase_at(double n) const { return phase + phase_rate * (n - time); }
};

/*!
 * Sums the products of all pairs of some inputs, channel by channel, and their powers,
 * after each was aligned.
 */
class cross_spectra
{
public:
    cross_spectra(int inputs, int channels);

    int inputs() const { return d_inputs; }
    int channels() const { return d_channels; }
    void clear();

    /*!
     * Adds the samples from first up to last (counted in the reference) of all inputs;
     * parts that an input lacks count as zeros, and not at all where fewer than two
     * inputs have any.
     *
     * \param samples [input][sample]
     * \param count samples of each
     * \param lines [input]
     */
    void add(const std::vector<const cfloat*>& samples,
             int64_t count,
             const std::vector<alignment_line>& lines,
             int64_t first,
             int64_t last);

    //! Returns [channel] sum x_a conj(x_b) over sqrt(sum |x_a|^2 sum |x_b|^2), where a <
    //! b, in the order of transform's outputs; the phase is that by which b lags behind
    //! a.
    std::vector<std::complex<double>> coherences(int a, int b) const;
    //! Returns the samples of a and b that were summed, per channel.
    double samples(int a, int b) const;
    //! Returns the [channel] mean power of an input.
    std::vector<double> power(int input) const;
    //! Returns [channel] used_channels() of both, without the ends of the band.
    std::vector<char> used(int a, int b) const;
    //! Scales all sums: earlier samples count less.
    void fade(double factor);

private:
    size_t baseline(int a, int b) const { return size_t(b) * (b - 1) / 2 + a; }

    const int d_inputs, d_channels;
    const std::vector<float> d_window;
    std::vector<double> d_window_energy; // before each of its samples
    const transform d_forward;
    std::vector<complex_buffer> d_values;                      // [input][channel]
    std::vector<std::vector<std::complex<double>>> d_products; // [baseline][channel]
    std::vector<std::vector<double>> d_powers;                 // [input][channel]
    std::vector<double> d_together, d_alone; // samples, [baseline] and [input]
};

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_CROSS_SPECTRA_H */
