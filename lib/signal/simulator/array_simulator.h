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

//! Voltages of an array that sees point sources; formulas at gr::aperture::array_source.
class array_simulator
{
public:
    enum class polarization { x, y, l, r };

    struct input {
        std::string name; //!< its receiver noise depends on the name, not on the place
        std::array<double, 3> position; //!< east, north, up of the array's origin, m
        polarization polarized;
        std::complex<double> gain;
        double cable_delay; //!< s
    };

    struct source {
        std::string name; //!< its signal depends on the name, not on the place
        double azimuth;   //!< degrees from north through east, of the first sample
        double elevation; //!< degrees, of the first sample
        bool moving;      //!< turns with the sky
        double flux;      //!< steady power in an input, over that of the receiver noise
        //! rad/s [east, north, up], among the stars, at the first sample
        std::array<double, 3> drift;
        pulsed_source pulses = {};
    };

    struct parameters {
        std::vector<input> inputs;
        std::vector<source> sources;
        double latitude;         //!< degrees; of use for sources that move
        double sample_rate;      //!< Hz
        double center_frequency; //!< Hz
        int inputs_per_port;
        sample_type type; //!< fc32, sc16 or sc8
        //! of the receiver noise, of re and of im, at gain 1
        double noise_rms;
        uint64_t seed;
        std::vector<transmitter> interference = {};
        int ports() const { return int(inputs.size()) / inputs_per_port; }
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<array_simulator> make(const parameters&, const device&);
    virtual ~array_simulator() = default;
    virtual std::string implementation() const = 0;

    //! Samples of each input in a stretch: what one call gives at most.
    virtual size_t length() const = 0;

    /*!
     * The first `count` samples of each input from sample stretch*length() on, whatever
     * was asked for before: samples [port][time][input]
     */
    virtual void
    execute(uint64_t stretch, size_t count, void* const* samples, stream&) = 0;

    //! For each input, complex samples that did not fit into the type so far.
    virtual std::vector<uint64_t> clamped() const = 0;
    virtual void clear_clamped() = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_ARRAY_SIMULATOR_H */
