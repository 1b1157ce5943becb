/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_INPUT_SETTINGS_H
#define INCLUDED_APERTURE_INPUT_SETTINGS_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

//! A time since 1970 as rx_time gives it: whole seconds and a fraction.
using setting_time = std::pair<uint64_t, double>;

//! The common part of the settings of an input that an F-engine returns.
struct input_setting {
    std::string model; //!< name of the model; settings of several models act together
    int input = 0;
    //! The time as it was given; if none was given, that of the first spectrum that had
    //! the setting, once there is one.
    std::optional<setting_time> time;
    //! The time of the first spectrum that had the setting; nothing before there is one.
    std::optional<setting_time> holds_from;
    bool waiting = false; //!< true while it waits for its time
};

//! A model of the delay of an input: the delays of several models add up.
struct delay_setting : input_setting {
    double delay = 0;      //!< seconds, at `time`
    double delay_rate = 0; //!< seconds a second
    double phase = 0;      //!< radians, at `time`
    double phase_rate = 0; //!< radians a second
};

//! Gains of an input: the gains of several models are multiplied.
struct gain_setting : input_setting {
    std::vector<std::complex<float>> gains; //!< one for each channel, or one for all
};

/*!
 * \brief Interface of pfb_channelizer and f_engine: gains and delays of their inputs, and
 * counts.
 * \ingroup aperture
 */
class APERTURE_API filtering_block : virtual public block_on_device
{
public:
    //! Sets the gain of all channels of an input (-1: of all inputs) from the next
    //! spectrum on.
    virtual void set_gain(std::complex<float> gain, int input = -1) = 0;
    //! Sets one gain for each channel of an input (-1: of all inputs).
    virtual void set_gains(const std::vector<std::complex<float>>& gains,
                           int input = -1) = 0;
    //! Returns the gains of an input, one for each of `channels`.
    virtual std::vector<std::complex<float>> gains(int input) const = 0;

    //! Returns all gains of an input, or of all with -1: those in force and those that
    //! wait for their time. gains() gives the product of those in force.
    virtual std::vector<gain_setting> gain_settings(int input = -1) const = 0;

    /*!
     * Sets a model of the delays of the inputs, in place of the one of that name. Models
     * of several names add up. At a time t the delay is delay + delay_rate (t - time),
     * the phase phase + phase_rate (t - time), and channel k is multiplied by exp(i
     * (phase - 2 pi (f_k - f_c) delay)), with f_c the frequency of channel n/2.
     *
     * `delays` are seconds, one for each input or one for all; a positive one delays the
     * input. `delay_rates` (seconds a second), `phases` (radians) and `phase_rates`
     * (radians a second) are as many as delays, or none. `input` says which one, -1: all.
     *
     * Rates count from `time`, and the model holds from the first spectrum at or after
     * it. Without a time the model holds from the next spectrum on, and rates count from
     * the time of that.
     *
     * \throws std::invalid_argument if there is no such input, or, once samples have told
     * their rate, a delay is longer than `most_delay`
     */
    virtual void set_delays(const std::vector<double>& delays,
                            const std::vector<double>& delay_rates = {},
                            const std::vector<double>& phases = {},
                            const std::vector<double>& phase_rates = {},
                            int input = -1,
                            const std::optional<setting_time>& time = {},
                            const std::string& model = "") = 0;
    //! Returns all delay models of an input, or of all with -1: those in force, with that
    //! of the samples' tags under the name "tags", and those that wait for their time.
    virtual std::vector<delay_setting> delays(int input = -1) const = 0;

    //! Returns, for each input, the output samples that were clamped as they did not fit
    //! into 8 bits, in all channels, whether f_engine selects them or not.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns, for each input, the 8-bit samples of -128 (4-bit: -8) read as -127 (-7).
    virtual std::vector<uint64_t> clamped_samples() const = 0;
    //! Returns, for each input, the spectra that were zeros because samples were lost,
    //! without the padding of f_engine's last frame.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns how many settings with a time came after it since the start, and held from
    //! when they came. It may be called while the flowgraph runs.
    virtual uint64_t late_settings() const = 0;
    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_INPUT_SETTINGS_H */
