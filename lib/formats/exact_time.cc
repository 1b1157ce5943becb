/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/exact_time.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>

namespace gr::aperture::formats {

namespace {

// __int128 is an extension that -Wpedantic would report at each use
__extension__ typedef __int128 wide;

constexpr int64_t seconds_per_day = 86400;
constexpr int64_t mjd_of_1970 = 40587;

wide power_of_ten(int exponent)
{
    wide power = 1;
    for (int i = 0; i < exponent; ++i)
        power *= 10;
    return power;
}

wide greatest_common_divisor(wide a, wide b)
{
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Midnights, since 1970, before which there was a leap second (IERS, Bulletin C).
constexpr std::array<int64_t, 27> leaps{
    78796800,  94694400,   126230400,  157766400,  189302400,  220924800, 252460800,
    283996800, 315532800,  362793600,  394329600,  425865600,  489024000, 567993600,
    631152000, 662688000,  709948800,  741484800,  773020800,  820454400, 867715200,
    915148800, 1136073600, 1230768000, 1341100800, 1435708800, 1483228800
};

bool all_digits(const std::string& text)
{
    for (const char c : text)
        if (!std::isdigit(static_cast<unsigned char>(c)))
            return false;
    return true;
}

// A fraction in lowest terms. Terms of up to 1e18 leave room for products in 128 bits.
ratio reduced(wide numerator, wide denominator)
{
    constexpr int64_t largest = 1000000000000000000;
    const wide divisor = greatest_common_divisor(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    if (numerator <= largest && denominator <= largest)
        return { int64_t(numerator), int64_t(denominator) };
    constexpr int64_t nano = 1000000000;
    const long double value = (long double)numerator / (long double)denominator;
    const int64_t rounded = std::llround(value * nano);
    const int64_t common = std::gcd(rounded, nano);
    return { rounded / common, nano / common };
}

} // namespace

int leap_seconds(int64_t seconds)
{
    return int(std::upper_bound(leaps.begin(), leaps.end(), seconds) - leaps.begin());
}

exact_time after(const exact_time& start, const exact_time& duration)
{
    exact_time time = start + duration;
    for (auto leap = leaps.begin() + leap_seconds(start.seconds); leap != leaps.end();
         ++leap)
        if (time.seconds > *leap)
            time.seconds--;
    return time;
}

double exact_time::fraction() const
{
    // the last attoseconds before a second would be rounded to 1
    return std::min(double(attoseconds) / per_second, std::nextafter(1.0, 0.0));
}

exact_time operator+(const exact_time& a, const exact_time& b)
{
    exact_time sum{ a.seconds + b.seconds, a.attoseconds + b.attoseconds };
    if (sum.attoseconds >= exact_time::per_second) {
        sum.attoseconds -= exact_time::per_second;
        ++sum.seconds;
    }
    return sum;
}

exact_time operator-(const exact_time& a, const exact_time& b)
{
    exact_time difference{ a.seconds - b.seconds, a.attoseconds - b.attoseconds };
    if (difference.attoseconds < 0) {
        difference.attoseconds += exact_time::per_second;
        --difference.seconds;
    }
    return difference;
}

exact_time ratio::duration(int64_t count) const
{
    const wide periods = wide(count) * denominator;
    const wide rest = periods % numerator;
    const wide attoseconds = (rest * exact_time::per_second + numerator / 2) / numerator;
    return exact_time{ int64_t(periods / numerator), 0 } +
           exact_time{ int64_t(attoseconds / exact_time::per_second),
                       int64_t(attoseconds % exact_time::per_second) };
}

std::optional<decimal> decimal::parse(const std::string& text)
{
    size_t i = 0;
    const bool negative = !text.empty() && text[0] == '-';
    if (!text.empty() && (text[0] == '-' || text[0] == '+'))
        ++i;
    decimal value;
    int digits = 0;
    bool point = false;
    bool any = false;
    for (; i < text.size() && (std::isdigit(static_cast<unsigned char>(text[i])) ||
                               (text[i] == '.' && !point));
         ++i) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        if (digits < 18) {
            value.mantissa = value.mantissa * 10 + (text[i] - '0');
            digits += value.mantissa != 0;
            value.exponent -= point;
        } else {
            value.exponent += !point;
        }
    }
    if (!any)
        return std::nullopt;
    if (i < text.size()) {
        if (text[i] != 'e' && text[i] != 'E')
            return std::nullopt;
        const std::string exponent = text.substr(i + 1);
        const size_t sign =
            !exponent.empty() && (exponent[0] == '-' || exponent[0] == '+');
        const std::string number = exponent.substr(sign);
        if (number.empty() || number.size() > 3 || !all_digits(number))
            return std::nullopt;
        value.exponent += (exponent[0] == '-' ? -1 : 1) * std::stoi(number);
    }
    while (value.mantissa != 0 && value.mantissa % 10 == 0) {
        value.mantissa /= 10;
        ++value.exponent;
    }
    if (value.mantissa == 0)
        value.exponent = 0;
    // larger powers are no physical quantity, and would not fit into 128 bits
    if (value.exponent < -30 || value.exponent > 12)
        return std::nullopt;
    if (negative)
        value.mantissa = -value.mantissa;
    return value;
}

std::optional<decimal> decimal::of(double number)
{
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    return parse(std::string(text, end));
}

place_between_multiples divide_by_multiples(const exact_time& time, double period)
{
    // in units of 1e-20 s, 10^10 s are 10^30 of 10^38 that fit
    constexpr int digits = 20;
    const auto written = decimal::of(period);
    wide unit = 0;
    if (written && written->exponent >= -digits)
        unit = wide(written->mantissa) * power_of_ten(written->exponent + digits);
    if (unit <= 0) // shorter than any item
        return { 0, 0 };
    const wide whole = (wide(time.seconds) * exact_time::per_second + time.attoseconds) *
                       power_of_ten(digits - 18);
    const wide gone = whole % unit;
    const long double scale = std::pow(10.0L, (long double)digits);
    return { double(gone / scale), gone == 0 ? 0 : double((unit - gone) / scale) };
}

int decimal::digits() const
{
    int count = 0;
    for (int64_t rest = mantissa; rest != 0; rest /= 10)
        ++count;
    return count;
}

double decimal::to_double() const
{
    // rounded once for all decimal numbers that people write: long double has both
    // exactly
    const long double power = std::pow(10.0L, (long double)std::abs(exponent));
    return double(exponent < 0 ? mantissa / power : mantissa * power);
}

ratio to_ratio(const decimal& value, int64_t scale)
{
    const wide scaled = wide(std::abs(value.mantissa)) * scale;
    return value.exponent < 0 ? reduced(scaled, power_of_ten(-value.exponent))
                              : reduced(scaled * power_of_ten(value.exponent), 1);
}

ratio to_inverse_ratio(const decimal& value, int64_t scale)
{
    const wide mantissa = std::abs(value.mantissa);
    return value.exponent < 0 ? reduced(power_of_ten(-value.exponent) * scale, mantissa)
                              : reduced(scale, mantissa * power_of_ten(value.exponent));
}

std::optional<exact_time> parse_utc(const std::string& text)
{
    int year, month, day, hour, minute, second, length = 0;
    char separator;
    if (std::sscanf(text.c_str(),
                    "%4d-%2d-%2d%c%2d:%2d:%2d%n",
                    &year,
                    &month,
                    &day,
                    &separator,
                    &hour,
                    &minute,
                    &second,
                    &length) != 7 ||
        (separator != '-' && separator != 'T' && separator != ' '))
        return std::nullopt;
    // second 60 is a leap second: since 1970 it has the number of the next one
    std::tm date{};
    date.tm_year = year - 1900;
    date.tm_mon = month - 1;
    date.tm_mday = day;
    // timegm() makes March of the 31st of February
    const int64_t midnight = timegm(&date);
    if (year < 1970 || date.tm_mon != month - 1 || date.tm_mday != day || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return std::nullopt;
    std::string rest = text.substr(length);
    if (!rest.empty() && rest.back() == 'Z')
        rest.pop_back();
    exact_time time;
    if (!rest.empty()) {
        if (rest[0] != '.' || rest.size() < 2 || !all_digits(rest.substr(1)))
            return std::nullopt;
        std::string digits = rest.substr(1, 18);
        digits.resize(18, '0');
        time.attoseconds = std::stoll(digits);
    }
    time.seconds = midnight + hour * 3600 + minute * 60 + second;
    return time;
}

std::optional<exact_time> parse_mjd(const std::string& text)
{
    const size_t point = text.find('.');
    const std::string days = text.substr(0, point);
    std::string digits = point == std::string::npos ? "" : text.substr(point + 1);
    if (days.empty() || days.size() > 6 || !all_digits(days) || !all_digits(digits) ||
        std::stoll(days) < mjd_of_1970)
        return std::nullopt;
    // 20 digits are 1 fs, and as many as 128 bits hold when multiplied by 1e18
    digits = digits.substr(0, 20);
    wide fraction = 0;
    for (const char digit : digits)
        fraction = fraction * 10 + (digit - '0');
    const wide unit = power_of_ten(int(digits.size()));
    const wide scaled = fraction * seconds_per_day;
    wide seconds = scaled / unit;
    wide rest = scaled % unit;
    wide attoseconds = rest * exact_time::per_second / unit;
    const wide nearest = (scaled + unit / 2) / unit;
    const wide distance = scaled - nearest * unit;
    // half a unit of the last digit is seconds_per_day / 2 here
    if ((distance < 0 ? -distance : distance) <= seconds_per_day / 2) {
        seconds = nearest;
        attoseconds = 0;
    }
    const int64_t midnight = (std::stoll(days) - mjd_of_1970) * seconds_per_day;
    return exact_time{ midnight + int64_t(seconds), int64_t(attoseconds) };
}

} // namespace gr::aperture::formats
