/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_EXACT_TIME_H
#define INCLUDED_APERTURE_FORMATS_EXACT_TIME_H

#include <cstdint>
#include <optional>
#include <string>

namespace gr::aperture::formats {

//! Time since 1970 (or a duration) in integers: a double is good to 0.2 us only.
struct exact_time {
    int64_t seconds = 0;
    int64_t attoseconds = 0; //!< 0 to 1e18 - 1

    static constexpr int64_t per_second = 1000000000000000000;

    //! Returns the fraction of a second, 0 to below 1.
    double fraction() const;
    //! Returns rounded seconds, to compare times that are far apart.
    double to_double() const { return double(seconds) + fraction(); }
};

exact_time operator+(const exact_time& a, const exact_time& b);
exact_time operator-(const exact_time& a, const exact_time& b);

/*!
 * Returns how many leap seconds since 1972 have ended by a time. (Since 1970 a leap
 * second has the number of the second after it, at which it counts here.)
 */
int leap_seconds(int64_t seconds);

//! Returns the time `duration` after another one, leap seconds counted.
exact_time after(const exact_time& start, const exact_time& duration);

//! A rate in Hz, as a fraction in lowest terms.
struct ratio {
    int64_t numerator;
    int64_t denominator;

    double to_double() const { return double(numerator) / double(denominator); }
    //! Returns the duration of `count` >= 0 periods, rounded to an attosecond.
    exact_time duration(int64_t count) const;
};

//! A decimal number as it was written: mantissa * 10^exponent.
struct decimal {
    int64_t mantissa = 0; //!< digits, 18 at most, without trailing zeros
    int exponent = 0;

    //! Reads a text; returns nothing if it is no number.
    static std::optional<decimal> parse(const std::string& text);
    //! Returns the shortest decimal number that is nearest to a double: the one that
    //! people wrote, if they did.
    static std::optional<decimal> of(double number);
    //! Returns the number of significant digits.
    int digits() const;
    double to_double() const;
};

//! Returns |value| * scale as a fraction; rounded to 1 nHz where its terms would not fit.
ratio to_ratio(const decimal& value, int64_t scale);
//! Returns scale / |value| in the same way.
ratio to_inverse_ratio(const decimal& value, int64_t scale);

//! The seconds from the last multiple of a period since 1970, and to the next one.
struct place_between_multiples {
    double gone, rest;
};
//! Returns them with no rounding but that of the result.
//! \param period seconds, above 0, see decimal::of()
place_between_multiples divide_by_multiples(const exact_time& time, double period);

/*!
 * Reads "yyyy-mm-dd-hh:mm:ss[.f]" in UTC; a T or a blank may stand before the hour.
 * Returns nothing if the text is not such a time.
 */
std::optional<exact_time> parse_utc(const std::string& text);

/*!
 * Reads a modified Julian date in UTC. A date that is within half a unit of its last
 * digit of a whole second is that second. Returns nothing if the text is no date after
 * 1970.
 */
std::optional<exact_time> parse_mjd(const std::string& text);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_EXACT_TIME_H */
