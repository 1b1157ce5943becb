/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SYNTHESIS_FRACTIONAL_FILTER_H
#define INCLUDED_APERTURE_KERNELS_SYNTHESIS_FRACTIONAL_FILTER_H

#include <cstdint>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * A low-pass filter that is read at any place between samples: a sinc under Kaiser's
 * window in `phases` steps of a sample, between which coefficients are interpolated
 * linearly. With 256 of them the error of that is 94 dB below a tone at half of the
 * samples' rate, and further below slower ones.
 */
struct fractional_filter {
    static constexpr int phases = 256;
    static constexpr double attenuation = 80; //!< dB, in the stop band

    int taps = 0; //!< a multiple of 16, as vectors want it; 0: there is no filter
    //! [phases + 1][taps]: the value at sample s + f / phases is the sum of row f times
    //! samples s - taps / 2 + 1 to s + taps / 2
    std::vector<float> rows;

    /*!
     * Designs a filter.
     * \param pass, stop edges of pass band and stop band, cycles a sample
     * \param gain in the pass band
     */
    static fractional_filter of(double pass, double stop, double gain);
    //! Returns the taps of such a filter.
    static double taps_for(double pass, double stop);
};

/*!
 * Places of outputs among the samples that they are made of: output q lies at first +
 * fraction + (gone + q step) / steps samples, exactly. All but `first` are below 2^31.
 */
struct output_places {
    int64_t first = 0;
    double fraction = 0; //!< 0 to below 1
    int64_t gone = 0, step = 1, steps = 1;

    struct place {
        int64_t sample;  //!< the place, rounded down
        double fraction; //!< the rest of it, 0 to below 1
    };
    //! Returns the place of an output from 0 to below 2^31.
    constexpr place of(int64_t output) const
    {
        const int64_t all = gone + output * step;
        const int64_t whole = all / steps;
        const double rest = double(all - whole * steps) / double(steps) + fraction;
        return rest < 1 ? place{ first + whole, rest }
                        : place{ first + whole + 1, rest - 1 };
    }
    //! Returns the places of the outputs from any one on.
    output_places from(int64_t output) const;
    //! Returns the first output that lies at a sample or behind it.
    int64_t first_from(int64_t sample) const;
    /*!
     * Returns the places of outputs of a rate among samples of another one.
     * \param first, fraction place of output 0
     */
    static output_places
    at_rates(double samples_rate, double outputs_rate, int64_t first, double fraction);
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_SYNTHESIS_FRACTIONAL_FILTER_H */
