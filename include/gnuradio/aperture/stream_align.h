/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_ALIGN_H
#define INCLUDED_APERTURE_STREAM_ALIGN_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Aligns the samples of several receivers.
 * \ingroup aperture
 *
 * There are as many ports out as in: items of the same index on all outputs were received
 * at the same time. Whole samples are shifted by dropping samples or inserting zeros; the
 * rest of the delay is tagged on the first sample for which it holds, as `delay` and,
 * where it was measured, `phase`, `delay_rate` and `phase_rate`, which pfb_channelizer
 * and f_engine apply.
 *
 * Ports whose rx_time is true are aligned by it. The others, whose rx_time is absent,
 * approximate, or counts from the start of their device, are aligned by a signal that
 * they have in common, of a noise source or the sky: measure_offsets() says how. A noise
 * source with a switch is on for as long as that takes.
 */
class APERTURE_API stream_align : virtual public block_on_device
{
public:
    typedef std::shared_ptr<stream_align> sptr;

    struct parameters {
        int inputs = 2;
        std::string type = "fc32";
        std::string method = "auto";
        int search_samples = 1 << 20;
        int most_offset = 1 << 20;
        int reference = 0;
        double clock_error = 0;
        double interval = 0;
        double watch = 1;
        bool unaligned = false;
        double false_alarms = 1e-4;
        double most_gap = 60;
        bool relative_time = false;
        bool follow_clock = false;
        std::string noise_source = "none";
        double noise_settle = 0.1;
        double noise_patience = 5;
        double status_interval = 10;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("inputs", &parameters::inputs, "number of inputs, one on each port")
                .range(1, 65536),
            parameter(
                "type", &parameters::type, "type of a sample: fc32, sc16, sc8 or sc4")
                .one_of("fc32", "sc16", "sc8", "sc4"),
            parameter("method",
                      &parameters::method,
                      "auto (by true rx_time where there is one, by correlation "
                      "otherwise), time (by rx_time alone, which must be no guess; ports "
                      "without one are taken as having begun with the others) or "
                      "correlation")
                .one_of("auto", "time", "correlation")
                .called("Line Up by"),
            parameter(
                "search_samples",
                &parameters::search_samples,
                "least number of samples of each input to compare; a source that has the "
                "coherence c in common is found from about (8/c)^2 on")
                .range(1024, 1 << 28)
                .called("Samples Compared"),
            parameter("most_offset",
                      &parameters::most_offset,
                      "the most samples by which inputs without true times may be apart")
                .range(1, 1 << 28)
                .in("samples")
                .called("Largest Offset (samples)"),
            parameter("reference",
                      &parameters::reference,
                      "the input with which the others are aligned, and whose time is "
                      "that of all")
                .range(0, 65535)
                .called("Reference Input"),
            parameter("clock_error",
                      &parameters::clock_error,
                      "largest error of a receiver on a crystal of its own, in "
                      "millionths (ppm); 0: all are on one clock")
                .range(0, 1000)
                .in("ppm"),
            parameter("interval",
                      &parameters::interval,
                      "seconds from one measurement by correlation to the next; 0: they "
                      "are made at the start, when the receivers are tuned, after losses "
                      "of unknown length and on request only")
                .can_be_set()
                .range(0)
                .in("s")
                .called("Measure Every (s)"),
            parameter(
                "watch",
                &parameters::watch,
                "seconds from one search for slips of the inputs to the next; 0: none")
                .can_be_set()
                .range(0)
                .in("s")
                .called("Look for Slips Every (s)"),
            parameter(
                "unaligned",
                &parameters::unaligned,
                "whether inputs whose offset is unknown are passed on as they come, "
                "and not as missing")
                .can_be_set()
                .called("Pass Unaligned Inputs"),
            parameter("false_alarms",
                      &parameters::false_alarms,
                      "probability that inputs that have nothing in common are taken as "
                      "aligned by a measurement")
                .above(0, 1),
            most_gap_parameter<parameters>(
                "an rx_time that jumps by more seconds is not filled with zeros, "
                "but begins the alignment anew"),
            relative_time_parameter<parameters>(),
            follow_clock_parameter<parameters>(),
            parameter("noise_source",
                      &parameters::noise_source,
                      "message (a noise source has a switch, which follows the messages "
                      "of port `noise`: it is on while inputs are measured, and what "
                      "comes meanwhile is missing) or none")
                .one_of("none", "message")
                .called("Switch Noise Source by")
                .under("Noise Source"),
            parameter("noise_settle",
                      &parameters::noise_settle,
                      "seconds from switching the noise source on to the first sample "
                      "that is measured: at least what waits in drivers and on buses")
                .range(0, 60)
                .in("s")
                .called("Noise Source Settles (s)")
                .under("Noise Source"),
            parameter("noise_patience",
                      &parameters::noise_patience,
                      "seconds in which the noise source has to be heard once it was "
                      "switched on, and no longer once it was switched off; then a "
                      "warning says that the switch does not answer, and samples pass")
                .range(0.01, 3600)
                .in("s")
                .called("Patience with Switch (s)")
                .under("Noise Source"),
            parameter("status_interval",
                      &parameters::status_interval,
                      "seconds from one `state` on port `status` to the next; 0: none")
                .can_be_set()
                .range(0)
                .in("s")
                .called("State Every (s)"));
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Measures offsets by correlation from the next samples on, as a message
    //! {"command": "measure"} does.
    virtual void measure() = 0;

    //! Says that the noise source is to be on, until it is to be off: for a switch that
    //! somebody has in hand. What comes meanwhile is missing, and the inputs are
    //! measured; the messages {"command": "noise_on"} and "noise_off" do the same.
    virtual void switch_noise(bool on) = 0;
    //! Returns whether samples are missing now as the noise source may be on.
    virtual bool noise_on() const = 0;
    //! Returns for how many samples, of each input, that was so since the start.
    virtual uint64_t noise_samples() const = 0;

    //! Holds the output back until release(), even if the inputs are aligned: items stay
    //! in the buffers of the inputs meanwhile, as far as these suffice.
    virtual void hold_back() = 0;
    //! Lets the output go after hold_back().
    virtual void release() = 0;
    //! Sets the interval between measurements, in seconds, from the next one on. \throws
    //! std::invalid_argument
    virtual void set_interval(double seconds) = 0;
    //! Sets the interval between searches for slips, in seconds. \throws
    //! std::invalid_argument
    virtual void set_watch(double seconds) = 0;
    //! Sets, from the next samples on, whether inputs of unknown offset are passed on.
    virtual void set_unaligned(bool unaligned) = 0;
    //! Sets the interval between messages on port `status`, in seconds. \throws
    //! std::invalid_argument
    virtual void set_status_interval(double seconds) = 0;

    //! Returns, for each input, the millionths by which its clock is faster than that of
    //! the reference, as measured last; not a number where nothing was.
    virtual std::vector<double> clock_ppm() const = 0;
    //! Returns, for each input, its delay less that of the reference, in samples, counted
    //! from the first sample of each, with the part that is tagged as `delay`.
    virtual std::vector<double> offsets() const = 0;
    //! Returns, for each input, the phase that is tagged as `phase`, in radians.
    virtual std::vector<double> phases() const = 0;
    //! Returns the signal-to-noise ratio of each input at the last measurement by
    //! correlation; 0: none yet.
    virtual std::vector<double> snr() const = 0;
    //! Returns, for each input, whether its offset is known.
    virtual std::vector<bool> aligned() const = 0;
    //! Returns why each input was not found by the last measurement by correlation; empty
    //! where it was, and before the first one.
    virtual std::vector<std::string> reasons() const = 0;
    //! Returns, for each input, the samples that were sent as zeros, as they are missing.
    virtual std::vector<uint64_t> zeros() const = 0;
    //! Returns, for each input, the samples that were dropped.
    virtual std::vector<uint64_t> dropped() const = 0;
    //! Returns, for each input, the slips that were noticed and mended.
    virtual std::vector<uint64_t> slips() const = 0;
    //! Returns whether a measurement is being computed, or its result is to be used.
    virtual bool searching() const = 0;
    //! Returns how many measurements by correlation have ended, with whatever result.
    virtual uint64_t measurements() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_ALIGN_H */
