/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_INTERFERENCE_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_INTERFERENCE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! A transmitter that an array receives: see gr::aperture::array_source::transmitter.
struct transmitter {
    std::string name;
    double frequency; //!< Hz, sky frequency at the start
    double drift;     //!< Hz/s
    double sweep;     //!< Hz, after which it is back at the frequency; 0: it drifts on
    std::vector<double> power; //!< power in each input, in units of the receiver noise
    double start, end;         //!< s from the first sample; an end of 0: none
    double period;             //!< s from pulse to pulse; 0: it is on all the time
    double duty; //!< fraction of the period, from its start, during which it is on
};

//! \throws std::invalid_argument
void check(const std::vector<transmitter>& transmitters,
           size_t inputs,
           double sample_rate);

/*!
 * Adds the signal of a transmitter to an input's voltages, where receiver noise has the
 * power 1. The phase of each input is a constant that depends on the seed and the names.
 * \param first index of the first sample
 * \param voltages re, im, re, im ...
 */
void add_transmitter(const transmitter& t,
                     size_t input,
                     const std::string& input_name,
                     uint64_t seed,
                     double sample_rate,
                     double center_frequency,
                     int64_t first,
                     size_t count,
                     float* voltages);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_INTERFERENCE_H */
