/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_INPUT_SETTINGS_H
#define INCLUDED_APERTURE_INPUT_SETTINGS_H

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

//! A time since 1970 as rx_time gives it: whole seconds and a fraction.
using setting_time = std::pair<uint64_t, double>;

//! What is common to the settings of an input that an F-engine gives back.
struct input_setting {
    std::string model; //!< its name; settings of several models act together
    int input = 0;
    //! As given; if none was given, that of the first spectrum that had the setting, once
    //! there is one.
    std::optional<setting_time> time;
    //! Of the first spectrum that had the setting; nothing before there is one.
    std::optional<setting_time> holds_from;
    bool waiting = false; //!< for its time
};

//! A model of the delay of an input: those of several models add up.
struct delay_setting : input_setting {
    double delay = 0;      //!< seconds, at `time`
    double delay_rate = 0; //!< seconds a second
    double phase = 0;      //!< radians, at `time`
    double phase_rate = 0; //!< radians a second
};

//! Gains of an input: those of several models are multiplied.
struct gain_setting : input_setting {
    std::vector<std::complex<float>> gains; //!< one for each channel, or one for all
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_INPUT_SETTINGS_H */
