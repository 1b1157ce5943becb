/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TESTS_SOAPY_RECEIVER_OPTIONS_H
#define TESTS_SOAPY_RECEIVER_OPTIONS_H

#include <SoapySDR/Types.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace aperture_test {

//! Samples that are lost on the way.
struct loss {
    int64_t at;    //!< the number of the first one, counted from the start of the stream
    int64_t count; //!< number of samples
    bool told;     //!< the driver reports it (an overflow)
};

//! From which sample on a receiver no longer works.
struct failure {
    enum class kind { none, error, silence };
    kind what = kind::none; //!< error: of the stream; silence: no samples come
    int64_t at = 0;
};

/*!
 * The properties of a simulated receiver; README.md beside this file has the names in
 * device arguments. Elements of a list are those of the channels; where it is shorter,
 * its last one holds for all others.
 */
struct receiver_options {
    std::string serial, label, hardware = "played receiver";
    size_t channels = 1;
    std::string file;                 //!< file of fc32; "": noise
    bool loop = false;                //!< a file begins again at its end
    double start = 0;                 //!< samples after the common clock's 0
    double ppm = 0;                   //!< error of the crystal, which runs too fast
    std::vector<double> phase{ 0 };   //!< phase of the oscillator, rad
    std::vector<double> level{ 0.1 }; //!< rms at a gain of 30 dB
    std::vector<double> coherence{
        1
    };                       //!< share of the amplitude that all have in common
    double retune_phase = 0; //!< by which each tuning moves `phase`, rad
    int64_t settle = 0;      //!< samples of zeros after tuning
    std::string hardware_time = "none"; //!< none, counts (from 0) or true
    double epoch = 1800000000;          //!< s since 1970 of the common clock's 0
    std::vector<loss> losses;
    int64_t storm_every = 0, storm_lost = 0; //!< a told loss after each so many samples
    failure fails;
    SoapySDR::RangeList rates{ { 1e5, 1e7 } }, frequencies{ { 1e6, 6e9 } };
    double rate_step = 0; //!< Hz; rates become a multiple of it without a word
    bool automatic_gain = true;
    bool paced = true; //!< samples come in real time
    //! The share of the amplitude that all have in common while the noise source is on,
    //! which the setting `biastee` of any device switches; 0: there is none.
    double noise = 0;
    int64_t switch_delay = 0; //!< samples after which the switch acts; below 0: never
    double buffer =
        0; //!< s that a late reader finds; more is lost. 0: everything is kept
};

//! \throws std::runtime_error for what is not understood
receiver_options options_of(const SoapySDR::Kwargs& arguments);

//! The receivers that are connected: what the environment's APERTURE_TEST_RECEIVERS
//! lists, arguments of each, separated by semicolons; two by default.
SoapySDR::KwargsList connected_receivers();

} // namespace aperture_test

#endif /* TESTS_SOAPY_RECEIVER_OPTIONS_H */
