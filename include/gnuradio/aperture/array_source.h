/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ARRAY_SOURCE_H
#define INCLUDED_APERTURE_ARRAY_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/sync_block.h>
#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Simulates an array: the samples of all of its inputs.
 * \ingroup aperture
 *
 * Input i, at r_i = (east, north, up) of the array's origin, puts out
 *
 *   x_i(t) = gain_i (n_i(t) + sum_s sqrt(flux_s) s(t - tau_is) exp(-2 pi i f0 tau_is)),
 *   tau_is = -r_i.d_s/c + cable delay_i,
 *
 * d_s the direction of source s and f0 the centre frequency. A cable delays in front of
 * the mixer: its delay counts as one on the way to the antenna. The receiver noise n_i
 * and the signals s are white complex Gaussian noise of power E|n|^2 = E|s|^2 = 1, all
 * independent. Flux is thus the power of a source in an input in units of that of the
 * receiver noise, and the correlation coefficient of two inputs that see one source is
 * S/(1 + S). Sources are unpolarised: x and y of an antenna see independent signals of
 * that flux each, and so do r = (x + iy)/sqrt(2) and l = (x - iy)/sqrt(2).
 *
 * The delays are exact, whole samples and fractions, over the band of the sources: their
 * spectrum is flat within 1e-4 for |f| < 0.495 of the sample rate (99 % of the band) and
 * falls to nothing at half the rate. Sources stand still, or turn with the sky, from
 * azimuth and elevation at the first sample on: delay and phase follow all the time. What
 * is below the horizon is not seen (checked once every few thousand samples).
 *
 * Ports out: inputs/inputs_per_port, an item is one sample of each input of the port.
 * Item 0 carries rx_time, rx_freq and rx_rate. The samples depend on the seed, the names
 * of inputs and sources and the parameters, not on the order of inputs or sources (but
 * for the rounding of their sum) or on how the scheduler cuts them. Each start of the
 * flowgraph, also by unlock(), begins at the first sample.
 *
 * It computes on the CPU, whatever the other blocks run on.
 */
class APERTURE_API array_source : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<array_source> sptr;

    struct input {
        std::string name = "";                        //!< different for each
        std::array<double, 3> position = { 0, 0, 0 }; //!< east, north, up, m
        std::string polarization = "x";               //!< x, y, l or r
        std::complex<double> gain = 1; //!< of noise and signals, in voltage
        double cable_delay = 0;        //!< s, between -1 and 1
    };

    struct source {
        std::string name = ""; //!< different for each
        double azimuth = 0;    //!< degrees from north through east, at the first sample
        double elevation = 90; //!< degrees, at the first sample
        bool moving = false;   //!< turns with the sky
        double flux = 1;       //!< power in an input over that of the receiver noise
    };

    struct parameters {
        std::vector<input> inputs = {};
        std::vector<source> sources = {};
        double sample_rate = 1e6;      //!< Hz
        double center_frequency = 1e9; //!< f0, Hz
        double latitude = 0;           //!< degrees, for sources that move
        std::string type = "fc32";     //!< fc32, sc16 or sc8
        int64_t samples = 0;           //!< of each input; 0: endless
        std::pair<uint64_t, double> start_time = { 0, 0 }; //!< s since 1970, and fraction
        uint64_t seed = 1;
        int inputs_per_port = 1; //!< interleaved sample by sample
        //! rms of the receiver noise in re and in im, each, in steps; 0: sqrt(1/2) for
        //! fc32 (power 1), 20 for sc8, 1000 for sc16
        double noise_rms = 0;
    };

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed.
     * Delays may differ by 5e5 samples at most.
     */
    static sptr make(const parameters& p);

    //! For each input, complex samples that did not fit into the type and were clamped,
    //! since the start; a few thousand samples ahead of what was put out.
    virtual std::vector<uint64_t> clamped() const = 0;

    /*!
     * Ends the stream: blocks downstream get all that was sent, and then end as well. Of
     * a source that is not running the next start ends at once.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ARRAY_SOURCE_H */
