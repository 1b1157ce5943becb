/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "formats/exact_time.h"
#include "kernels/common/types.h"
#include "stream/message_text.h"
#include "stream/timestamp.h"
#include <chrono>
#include <cmath>

namespace gr::aperture {

namespace {

timestamp normalised(int64_t seconds, double fraction)
{
    const double whole = std::floor(fraction);
    seconds += int64_t(whole);
    fraction -= whole;
    if (fraction >= 1) { // a tiny negative fraction rounds up to 1
        seconds++;
        fraction = 0;
    }
    return { seconds, fraction };
}

} // namespace

timestamp timestamp::now()
{
    const auto t = std::chrono::system_clock::now().time_since_epoch();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t).count();
    return { ns / 1000000000, (ns % 1000000000) * 1e-9 };
}

std::optional<timestamp> timestamp::from_pmt(const pmt::pmt_t& value)
{
    if (!pmt::is_tuple(value) || pmt::length(value) != 2)
        return std::nullopt;
    const auto seconds = count_of(pmt::tuple_ref(value, 0));
    const auto fraction = number_of(pmt::tuple_ref(value, 1));
    if (!seconds || *seconds >= end_of_time || !fraction || std::abs(*fraction) > 1e9)
        return std::nullopt;
    const timestamp t = normalised(int64_t(*seconds), *fraction);
    return t.is_time() ? std::optional<timestamp>(t) : std::nullopt;
}

pmt::pmt_t timestamp::to_pmt() const
{
    return pmt::make_tuple(pmt::from_uint64(seconds), pmt::from_double(fraction));
}

timestamp timestamp::after(double items, double rate) const
{
    // whole seconds apart: items / rate alone has too few bits for a stream of days
    const double whole = std::floor(items / rate);
    if (!(std::abs(whole) < double(end_of_time))) // with a rate of nearly 0
        return { whole < 0 ? -int64_t(end_of_time) : int64_t(end_of_time), 0 };
    const double rest = std::fma(-whole, rate, items) / rate;
    return normalised(seconds + int64_t(whole), fraction + rest);
}

timestamp operator+(const timestamp& a, const timestamp& b)
{
    return normalised(a.seconds + b.seconds, a.fraction + b.fraction);
}

timestamp operator-(const timestamp& a, const timestamp& b)
{
    return normalised(a.seconds - b.seconds, a.fraction - b.fraction);
}

double timestamp::since(const timestamp& earlier) const
{
    return double(seconds - earlier.seconds) + (fraction - earlier.fraction);
}

double timestamp::until_multiple_of(double period, double tolerance) const
{
    constexpr int64_t second = formats::exact_time::per_second;
    const int64_t part = std::llround(fraction * double(second));
    const formats::exact_time time{ seconds + part / second, part % second };
    const auto [gone, rest] = formats::divide_by_multiples(time, period);
    return gone <= tolerance ? 0 : rest;
}

timestamp require_time(const std::string& parameter,
                       const std::pair<uint64_t, double>& time)
{
    require(time.first < timestamp::end_of_time && time.second >= 0 && time.second < 1,
            parameter,
            std::to_string(time.first) + " s and " + text_of(time.second) + " s",
            "whole seconds before the year 10000 and a fraction of 0 to below 1");
    return { int64_t(time.first), time.second };
}

} // namespace gr::aperture
