/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_ARRAY_SIMULATOR_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_ARRAY_SIMULATOR_H

#include "kernels/common/types.h"
#include "signal/simulator/interference.h"
#include "signal/simulator/pulsed_source.h"
#include <gnuradio/aperture/device/device.h>
#include <array>
#include <complex>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! Simulates voltages of an array that receives point sources; formulas at
//! gr::aperture::array_source.
class array_simulator
{
public:
    enum class polarization { x, y, l, r };

    struct input {
        std::string name; //!< the receiver noise depends on the name, not on the index
        std::array<double, 3> position; //!< east, north, up of the array's origin, m
        polarization polarized;
        std::complex<double> gain;
        double cable_delay; //!< s
    };

    //! The place of a source near the Earth at a time since the first sample, s: east,
    //! north, up of the array's origin in m, and its velocity, m/s.
    struct waypoint {
        double time;
        std::array<double, 3> position, velocity;
    };

    struct source {
        std::string name; //!< the signal depends on the name, not on the index
        double azimuth;   //!< degrees from north through east, of the first sample
        double elevation; //!< degrees, of the first sample
        bool moving;      //!< moves with the sky
        double flux;      //!< steady power in an input, over that of the receiver noise
        //! Rotation in rad/s [east, north, up] among the stars, at the first sample.
        std::array<double, 3> drift;
        pulsed_source pulses = {};
        //! The way of a source whose wavefronts are curved, in order of time. It is
        //! where these say, and not where azimuth, elevation and drift do.
        std::vector<waypoint> path = {};
    };

    struct parameters {
        std::vector<input> inputs;
        std::vector<source> sources;
        double latitude;         //!< degrees; of use for sources that move
        double sample_rate;      //!< Hz
        double center_frequency; //!< Hz
        int inputs_per_port;
        sample_type type; //!< fc32, sc16 or sc8
        //! Rms of the receiver noise, in re and in im, at gain 1.
        double noise_rms;
        uint64_t seed;
        std::vector<transmitter> interference = {};
        int ports() const { return int(inputs.size()) / inputs_per_port; }
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<array_simulator> make(const parameters&, const device&);
    virtual ~array_simulator() = default;
    virtual std::string implementation() const = 0;

    //! Returns the samples of each input in a stretch: the most that one call gives.
    virtual size_t length() const = 0;

    /*!
     * Makes the first `count` samples of each input from sample stretch*length() on,
     * independently of earlier calls: samples [port][time][input].
     */
    virtual void
    execute(uint64_t stretch, size_t count, void* const* samples, stream&) = 0;

    //! Returns, for each input, the samples so far that did not fit into the type.
    virtual std::vector<uint64_t> clamped() const = 0;
    virtual void clear_clamped() = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_ARRAY_SIMULATOR_H */
