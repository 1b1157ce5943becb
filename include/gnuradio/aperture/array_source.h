/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ARRAY_SOURCE_H
#define INCLUDED_APERTURE_ARRAY_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
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
 * d_s the direction of source s and f0 the centre frequency. A cable lies in front of the
 * mixer: its delay acts as one on the way to the antenna. The receiver noise n_i and the
 * signals s are white complex Gaussian noise of power E|n|^2 = E|s|^2 = 1, all
 * independent. Flux is thus the power of a source in an input in units of that of the
 * receiver noise, and the correlation coefficient of two inputs that see one source is
 * S/(1 + S). Sources are unpolarised: x and y of an antenna see independent signals of
 * that flux each, and so do r = (x + iy)/sqrt(2) and l = (x - iy)/sqrt(2).
 *
 * The delays are exact, whole samples and fractions, over the band of the sources: their
 * spectrum is flat within 1e-4 for |f| < 0.495 of the sample rate (99 % of the band) and
 * falls to zero at half the rate. Sources stand still, or move with the sky, from azimuth
 * and elevation at the first sample on, and drift among the stars on a great circle as
 * the Sun does: delay and phase follow at every sample. A source with a path is at p(t)
 * near the Earth, between its waypoints on a smooth curve and after them on a straight
 * line, and tau_is = (|p - r_i| - |p|)/c + cable delay_i. A source below the horizon is
 * not seen (checked once every few thousand samples).
 *
 * A source may also have pulses: flux_s is then a function of time, the steady flux and
 *
 *   sum_k fluence g((phase(t) - k) P),  phase(t) = phase + dt/P - P' dt^2 / (2 P^2)
 *
 * of each of its pulsars (dt = t - epoch, fluence = mean_flux P, P' the derivative of the
 * period P), and fluence g(t - time) of each of its single pulses. g is a Gaussian of
 * integral 1 and the width given, so that a pulse peaks at mean_flux P / (1.0645 width).
 * These times are the true ones: at the array's origin and at infinite frequency. At the
 * sky frequency f the signal comes K dm / f^2 later, K = 1/2.41e-4 s MHz^2 cm^3/pc,
 * applied to the voltages as a filter exp(2 pi i K dm / f). With a scattering time the
 * power of a pulse is convolved with exp(-t/tau)/tau, tau = scattering_time
 * (f/scattering_frequency)^scattering_index; over the band tau is exact within 1e-3.
 *
 * Ports out: inputs/inputs_per_port, an item is one sample of each input of the port.
 * Item 0 carries rx_time, rx_freq and rx_rate. The samples depend on the seed, the names
 * of inputs and sources and the parameters, not on the order of inputs or sources (but
 * for the rounding of their sum) or on how the scheduler cuts them. Each start of the
 * flowgraph, also by unlock(), begins at the first sample.
 *
 * The block computes on the CPU, whatever the other blocks run on.
 */
class APERTURE_API array_source : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<array_source> sptr;

    //! One signal path of the array.
    struct input {
        std::string name = "";
        std::array<double, 3> position = { 0, 0, 0 };
        std::string polarization = "x";
        std::complex<double> gain = 1;
        double cable_delay = 0;

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("name",
                          &input::name,
                          "different for each input; its receiver noise depends on the "
                          "name and the seed"),
                parameter("position",
                          &input::position,
                          "(east, north, up) of the array's origin, metres"),
                parameter("polarization", &input::polarization, "x, y, l or r"),
                parameter("gain",
                          &input::gain,
                          "complex factor of noise and signals, in voltage"),
                parameter(
                    "cable_delay", &input::cable_delay, "seconds, between -1 and 1"));
        }
    };

    //! A train of pulses of a source, or one component of such a train.
    struct pulsar {
        double period = 1;
        double period_derivative = 0;
        std::pair<uint64_t, double> epoch = { 0, 0 };
        double phase = 0;
        double width = 0.01;
        double mean_flux = 1;

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("period", &pulsar::period, "seconds, at the epoch"),
                parameter("period_derivative",
                          &pulsar::period_derivative,
                          "seconds a second, between -1e-3 and 1e-3"),
                parameter("epoch",
                          &pulsar::epoch,
                          "whole seconds since 1970 and the fraction of a second"),
                parameter("phase",
                          &pulsar::phase,
                          "cycles at the epoch; a pulse peaks where the phase is a whole "
                          "number"),
                parameter("width",
                          &pulsar::width,
                          "seconds at half of the peak, two samples at least"),
                parameter("mean_flux",
                          &pulsar::mean_flux,
                          "power over a period over that of the receiver noise"));
        }
    };

    //! A single pulse of a source.
    struct pulse {
        std::pair<uint64_t, double> time = { 0, 0 };
        double width = 0.01;
        double fluence = 1;

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter(
                    "time",
                    &pulse::time,
                    "time of its peak at infinite frequency: whole seconds since 1970 "
                    "and the fraction of a second"),
                parameter("width",
                          &pulse::width,
                          "seconds at half of the peak, two samples at least"),
                parameter("fluence",
                          &pulse::fluence,
                          "seconds times the power of the receiver noise"));
        }
    };

    //! The place of a source near the Earth at a time.
    struct waypoint {
        double time = 0;
        std::array<double, 3> position = { 0, 0, 1 };
        std::array<double, 3> velocity = { 0, 0, 0 };

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("time", &waypoint::time, "seconds from the first sample"),
                parameter("position",
                          &waypoint::position,
                          "(east, north, up) of the array's origin, metres"),
                parameter("velocity",
                          &waypoint::velocity,
                          "metres a second [east, north, up]"));
        }
    };

    //! A point source in the sky.
    struct source {
        std::string name = "";
        double azimuth = 0;
        double elevation = 90;
        bool moving = false;
        double flux = 1;
        std::array<double, 3> drift = { 0, 0, 0 };
        std::vector<waypoint> path = {};
        std::vector<pulsar> pulsars = {};
        std::vector<pulse> pulses = {};
        double dm = 0;
        double scattering_time = 0;
        double scattering_frequency = 1e9;
        double scattering_index = -4;

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("name",
                          &source::name,
                          "different for each source; its signal depends on the name and "
                          "the seed"),
                parameter("azimuth",
                          &source::azimuth,
                          "degrees from north through east, at the first sample"),
                parameter(
                    "elevation", &source::elevation, "degrees, at the first sample"),
                parameter("moving", &source::moving, "whether it moves with the sky"),
                parameter("flux",
                          &source::flux,
                          "power in an input over that of the receiver noise, beside "
                          "that of its pulses"),
                parameter("drift",
                          &source::drift,
                          "rad/s [east, north, up], of the direction among the stars at "
                          "the first sample, perpendicular to it; up to 1e-3, and 0 "
                          "where it does not move"),
                parameter("path",
                          &source::path,
                          "list of array_source.waypoint in order of time, of a source "
                          "near the Earth, whose wavefronts are curved; azimuth, "
                          "elevation and drift then say nothing"),
                parameter("pulsars",
                          &source::pulsars,
                          "list of array_source.pulsar: trains of pulses"),
                parameter("pulses",
                          &source::pulses,
                          "list of array_source.pulse: single pulses"),
                parameter("dm",
                          &source::dm,
                          "dispersion measure of the pulses, pc/cm^3; the delay over the "
                          "band may be 2^24 samples at most"),
                parameter(
                    "scattering_time",
                    &source::scattering_time,
                    "scattering time of the pulses at scattering_frequency, seconds"),
                parameter(
                    "scattering_frequency", &source::scattering_frequency, "Hz, sky"),
                parameter("scattering_index",
                          &source::scattering_index,
                          "power of the frequency that the scattering time goes with"));
        }
    };

    //! \brief Interference: a transmitter nearby. It sends a carrier, which may be pulsed
    //! and drift in frequency.
    struct transmitter {
        std::string name = "";
        double frequency = 1e9;
        std::vector<double> power = { 1 };
        double drift = 0;
        double sweep = 0;
        double start = 0;
        double end = 0;
        double period = 0;
        double duty = 1;

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("name",
                          &transmitter::name,
                          "its phase in an input depends on the names and the seed"),
                parameter("frequency",
                          &transmitter::frequency,
                          "sky frequency at the start, Hz; nothing is received outside "
                          "the band"),
                parameter(
                    "power",
                    &transmitter::power,
                    "power while it is on, over that of the receiver noise of the whole "
                    "band: one value, or one for each input"),
                parameter("drift", &transmitter::drift, "of the frequency, Hz/s"),
                parameter("sweep",
                          &transmitter::sweep,
                          "Hz; after so many of drift the frequency is back at its "
                          "start. 0: it drifts on"),
                parameter("start", &transmitter::start, "seconds from the first sample"),
                parameter(
                    "end", &transmitter::end, "seconds from the first sample; 0: no end"),
                parameter("period",
                          &transmitter::period,
                          "seconds from pulse to pulse, the first at the start; 0: it is "
                          "on all the time"),
                parameter("duty",
                          &transmitter::duty,
                          "fraction of the period, from its beginning, that it is on"));
        }
    };

    struct parameters {
        std::vector<input> inputs = {};
        std::vector<source> sources = {};
        double sample_rate = 1e6;
        double center_frequency = 1e9;
        double latitude = 0;
        std::string type = "fc32";
        int64_t samples = 0;
        std::pair<uint64_t, double> start_time = { 0, 0 };
        uint64_t seed = 1;
        int inputs_per_port = 1;
        double noise_rms = 0;
        std::vector<transmitter> interference = {};
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("inputs",
                               &parameters::inputs,
                               "list of array_source.input; the delays of a source may "
                               "differ by 5e5 samples at most"),
            required_parameter(
                "sources", &parameters::sources, "list of array_source.source"),
            parameter("sample_rate", &parameters::sample_rate, "Hz")
                .range(1, 1e12)
                .in("Hz"),
            parameter("center_frequency", &parameters::center_frequency, "f0, Hz")
                .range(0, 1e15)
                .in("Hz"),
            parameter("latitude", &parameters::latitude, "degrees, for sources that move")
                .range(-90, 90)
                .in("degrees"),
            parameter("type", &parameters::type, "fc32, sc16 or sc8")
                .one_of("fc32", "sc16", "sc8"),
            parameter(
                "samples", &parameters::samples, "samples of each input; 0: endless")
                .range(0),
            parameter(
                "start_time",
                &parameters::start_time,
                "time of the first sample: whole seconds since 1970 and the fraction of "
                "a second"),
            parameter(
                "seed", &parameters::seed, "64 bits; equal seeds give equal samples"),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "interleaved sample by sample")
                .range(1, 65536),
            parameter("noise_rms",
                      &parameters::noise_rms,
                      "rms of the receiver noise in re and in im, each, in steps; 0: "
                      "sqrt(1/2) for fc32 (power 1), 20 for sc8, 1000 for sc16")
                .range(0, 1e15)
                .called("Noise RMS"),
            parameter("interference",
                      &parameters::interference,
                      "list of array_source.transmitter"));
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     */
    static sptr make(const parameters& p);

    //! Returns, for each input, the complex samples since the start that were clamped as
    //! they did not fit into the type. The block may be a few thousand samples ahead of
    //! its output.
    virtual std::vector<uint64_t> clamped() const = 0;

    /*!
     * Ends the stream: blocks downstream get all that was sent, and then end as well. If
     * the source is not running, its next start ends at once.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ARRAY_SOURCE_H */
