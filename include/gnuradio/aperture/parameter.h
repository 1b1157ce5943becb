/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PARAMETER_H
#define INCLUDED_APERTURE_PARAMETER_H

namespace gr::aperture {

/*!
 * \brief One parameter of a block: its name, its member in the block's struct of
 * parameters, and what it means.
 *
 * The function describe() of a block returns a tuple of these, in the order of the
 * arguments in Python; the constructor in Python and its documentation are made from it.
 */
template <class Parameters, class Value, bool Required = false>
struct parameter_description {
    using value = Value;
    //! Whether it has to be given: there is no default that anybody could want.
    static constexpr bool required = Required;
    const char* name;
    Value Parameters::*member;
    const char* meaning;
    //! Of arrays: the parameter that says how long their last axis is, or nullptr.
    int Parameters::*last_axis;
};

template <class Parameters, class Value>
constexpr parameter_description<Parameters, Value>
parameter(const char* name,
          Value Parameters::*member,
          const char* meaning,
          int Parameters::*last_axis = nullptr)
{
    return { name, member, meaning, last_axis };
}

//! The same of a parameter that has to be given.
template <class Parameters, class Value>
constexpr parameter_description<Parameters, Value, true>
required_parameter(const char* name, Value Parameters::*member, const char* meaning)
{
    return { name, member, meaning, nullptr };
}

//! Of the parameter `device` of all blocks that have one.
inline constexpr const char* meaning_of_device =
    "auto (a GPU if there is one), cpu, cuda or cuda:N";
//! Of the parameter `latency`.
inline constexpr const char* meaning_of_latency =
    "the longest wait of a call for more input, in seconds; see set_latency()";
//! Of the parameter `follow_clock`.
inline constexpr const char* meaning_of_follow_clock =
    "whether rx_time of the inputs comes from another clock than their samples (GPS "
    "beside a free crystal), or rx_rate is not quite what it is called: the time then "
    "follows rx_time where it walks away from the samples; otherwise what comes then is "
    "missing";

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PARAMETER_H */
