/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSED_SOURCE_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSED_SOURCE_H

#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! The changes of power of a simulated source, and the effect of the interstellar medium
//! on its signal; formulas at gr::aperture::array_source.
struct pulsed_source {
    //! A train of pulses, one where the phase is a whole number of cycles.
    struct pulsar {
        //! Phase in cycles at the time t after the first sample, at infinite frequency:
        //! phase + frequency t + frequency_derivative t^2/2.
        long double phase, frequency, frequency_derivative;
        double width;   //!< width of a Gaussian at half of its maximum, s
        double fluence; //!< fluence of one pulse: flux times s
    };
    struct pulse {
        long double time; //!< s after the first sample, at infinite frequency
        double width, fluence;
    };
    std::vector<pulsar> pulsars;
    std::vector<pulse> pulses;
    double dispersion_measure = 0;   //!< pc/cm^3
    double scattering_time = 0;      //!< s, at scattering_frequency
    double scattering_frequency = 0; //!< Hz
    double scattering_index = -4;    //!< the scattering time goes with that power of f

    bool pulsed() const { return !pulsars.empty() || !pulses.empty(); }
    double scattering_time_at(double frequency) const;

    /*!
     * \throws std::invalid_argument
     * \param place prefix of the names of parameters
     */
    void
    check(const std::string& place, double sample_rate, double center_frequency) const;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSED_SOURCE_H */
