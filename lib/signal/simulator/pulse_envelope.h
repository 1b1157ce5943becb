/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSE_ENVELOPE_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSE_ENVELOPE_H

#include "signal/simulator/pulsed_source.h"
#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels::host {

/*!
 * A pulse of fluence 1 at the time t after its middle: a Gaussian with standard deviation
 * sigma, convolved with exp(-t/tau)/tau for t >= 0 (tau = 0: the Gaussian itself). Its
 * integral over t is 1.
 */
double pulse_shape(double t, double sigma, double tau);

/*!
 * The amplitude of a source at every sample: sqrt of its flux, the steady one and that of
 * its pulses, scattered with one scattering time.
 *
 * It is computed every few samples (at whole multiples of a spacing of at most 1/32 of
 * the standard deviation of the narrowest pulse) and interpolated linearly between them:
 * within 1e-4 of the peak.
 */
class pulse_envelope
{
public:
    /*!
     * \param steady flux beside the pulses
     * \param scattering_time tau, s
     * \param delay delay of the whole signal, s
     */
    pulse_envelope(const pulsed_source& source,
                   double steady,
                   double sample_rate,
                   double scattering_time,
                   double delay);

    //! Computes the amplitudes of samples first, first + 1, ...
    //! \returns false if all are 0, and then leaves `amplitudes` as it was
    bool fill(int64_t first, size_t count, float* amplitudes) const;

    //! Returns the flux at the time t after the first sample, s.
    double flux(long double t) const;

private:
    double amplitude_at_node(int64_t node) const;

    const pulsed_source d_source;
    const double d_steady, d_rate, d_tau, d_delay;
    int64_t d_spacing; //!< spacing of the nodes, samples
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_PULSE_ENVELOPE_H */
