/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PARAMETER_H
#define INCLUDED_APERTURE_PARAMETER_H

#include <type_traits>
#include <array>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

namespace gr::aperture {

//! \brief The rules of a parameter and its texts, whatever its type is.
struct parameter_rules {
    static constexpr double no_limit = std::numeric_limits<double>::infinity();

    double least = -no_limit, most = no_limit;
    bool open = false;                     //!< `least` itself is not allowed
    std::array<const char*, 24> choices{}; //!< allowed texts, to the first nullptr
    const char* unit = "";                 //!< unit, for example "Hz"
    const char* label = "";    //!< name in a graphical user interface; "": by the name
    const char* category = ""; //!< the tab of that interface; "": the first
    bool settable = false;     //!< set_NAME() changes it while the block runs
};

/*!
 * \brief One parameter of a block: its name, its member in the block's struct of
 * parameters, what it means, and which values are allowed.
 *
 * The function describe() of a block returns a tuple of these, in the order of the
 * arguments in Python. The constructor in Python, the checks of check_parameters(), the
 * documentation and the block's file for GNU Radio Companion are made from it.
 */
template <class Parameters, class Value, bool Required = false>
struct parameter_description : parameter_rules {
    using value = Value;
    //! True if the parameter has to be given: no default could be right for anybody.
    static constexpr bool required = Required;
    const char* name;
    Value Parameters::*member;
    const char* meaning;
    //! The parameter that says how long the last axis of an array is; otherwise nullptr.
    int Parameters::*last_axis;

    //! Numbers from `low` to `high`.
    constexpr auto range(double low, double high = no_limit) const
    {
        auto p = *this;
        p.least = low;
        p.most = high;
        return p;
    }
    //! Numbers above `low` to `high`.
    constexpr auto above(double low, double high = no_limit) const
    {
        auto p = range(low, high);
        p.open = true;
        return p;
    }
    //! Numbers that are finite.
    constexpr auto finite() const
    {
        return range(std::numeric_limits<double>::lowest(),
                     std::numeric_limits<double>::max());
    }
    //! One of some texts.
    template <class... Text>
    constexpr auto one_of(Text... texts) const
    {
        auto p = *this;
        p.choices = { texts... };
        return p;
    }
    constexpr auto in(const char* unit) const
    {
        auto p = *this;
        p.unit = unit;
        return p;
    }
    constexpr auto called(const char* label) const
    {
        auto p = *this;
        p.label = label;
        return p;
    }
    constexpr auto under(const char* category) const
    {
        auto p = *this;
        p.category = category;
        return p;
    }
    constexpr auto can_be_set() const
    {
        auto p = *this;
        p.settable = true;
        return p;
    }
};

template <class Parameters, class Value>
constexpr parameter_description<Parameters, Value>
parameter(const char* name,
          Value Parameters::*member,
          const char* meaning,
          int Parameters::*last_axis = nullptr)
{
    return { {}, name, member, meaning, last_axis };
}

//! A parameter that has to be given.
template <class Parameters, class Value>
constexpr parameter_description<Parameters, Value, true>
required_parameter(const char* name, Value Parameters::*member, const char* meaning)
{
    return { {}, name, member, meaning, nullptr };
}

//! The meaning of the parameter `device`.
inline constexpr const char* meaning_of_device =
    "auto (a GPU if there is one), cpu, cuda or cuda:N";
//! The parameter `device` of a block.
template <class Parameters>
constexpr auto device_parameter()
{
    return parameter<Parameters, std::string>(
        "device", &Parameters::device, meaning_of_device);
}
//! The parameter `latency` of a block.
template <class Parameters>
constexpr auto latency_parameter()
{
    return parameter<Parameters, double>(
               "latency",
               &Parameters::latency,
               "the longest wait of a call for more input; see set_latency()")
        .range(0, 10)
        .in("s")
        .under("Advanced")
        .can_be_set();
}
//! Describes `most_gap`, of blocks whose ports are aligned by rx_time.
template <class Parameters>
constexpr auto most_gap_parameter(const char* meaning)
{
    return parameter<Parameters, double>("most_gap", &Parameters::most_gap, meaning)
        .range(0, 1e6)
        .in("s")
        .called("Longest Gap (s)")
        .under("Advanced");
}

//! Describes `relative_time`, likewise.
template <class Parameters>
constexpr auto relative_time_parameter()
{
    return parameter<Parameters, bool>(
               "relative_time",
               &Parameters::relative_time,
               "whether rx_time counts from the start of each device, whatever its "
               "value; below 1e8 s (March 1973) it does anyway")
        .called("Times since Start")
        .under("Advanced");
}

//! Describes `follow_clock`, likewise.
template <class Parameters>
constexpr auto follow_clock_parameter()
{
    return parameter<Parameters, bool>(
               "follow_clock",
               &Parameters::follow_clock,
               "whether rx_time of the inputs comes from another clock than their "
               "samples (GPS beside a free crystal), or rx_rate is not quite what it is "
               "called: the time then follows rx_time where it walks away from the "
               "samples; otherwise what comes then is missing")
        .called("Follow Clock of Times")
        .under("Advanced");
}

//! Returns the values that rules allow, in words: "1 to 16", "above 0 and at most 10", "a
//! or b".
inline std::string words_of(const parameter_rules& r)
{
    const auto text = [](double number) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.15g", number);
        return std::string(digits);
    };
    const std::string unit = *r.unit ? std::string(" ") + r.unit : "";
    std::string words;
    for (size_t i = 0; i < r.choices.size() && r.choices[i]; i++) {
        const bool last = i + 1 == r.choices.size() || !r.choices[i + 1];
        words += (i == 0 ? "" : last ? " or " : ", ") + std::string(r.choices[i]);
    }
    if (!words.empty())
        return words;
    const bool bounded = r.most < std::numeric_limits<double>::max();
    if (r.least == std::numeric_limits<double>::lowest())
        return "finite";
    if (r.least == -r.no_limit)
        return bounded ? "at most " + text(r.most) + unit : "finite";
    if (r.open)
        return "above " + text(r.least) +
               (bounded ? " and at most " + text(r.most) : "") + unit;
    return (bounded ? text(r.least) + " to " + text(r.most)
                    : "at least " + text(r.least)) +
           unit;
}

/*!
 * Checks the parameters of a block by its describe().
 * \throws std::invalid_argument with the parameter, its value and what is allowed
 */
template <class Block>
void check_parameters(const typename Block::parameters& p)
{
    const auto check = [&](const auto& d) {
        using value = typename std::decay_t<decltype(d)>::value;
        const value& given = p.*d.member;
        const auto refuse = [&](const std::string& shown) {
            throw std::invalid_argument(std::string(d.name) + ": " + shown +
                                        " is not allowed; it must be " + words_of(d));
        };
        if constexpr (std::is_same_v<value, std::string>) {
            bool found = !d.choices[0];
            for (const char* choice : d.choices)
                found = found || (choice && given == choice);
            if (!found)
                refuse("'" + given + "'");
        } else if constexpr (std::is_arithmetic_v<value> &&
                             !std::is_same_v<value, bool>) {
            // a limit is a whole number where the value is: both are exact
            const bool limited = d.least != -d.no_limit || d.most != d.no_limit;
            const auto number = static_cast<long double>(given);
            if (limited && !(number >= d.least && number <= d.most &&
                             !(d.open && number == d.least) && number < d.no_limit)) {
                char shown[32];
                std::snprintf(shown, sizeof shown, "%.15Lg", number);
                refuse(shown);
            }
        }
    };
    std::apply([&](const auto&... d) { (check(d), ...); }, Block::describe());
}

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PARAMETER_H */
