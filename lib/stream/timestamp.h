/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_TIMESTAMP_H
#define INCLUDED_APERTURE_STREAM_TIMESTAMP_H

#include <pmt/pmt.h>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace gr::aperture {

//! A time since 1970, as rx_time gives it: exact to a fraction of any sample.
struct timestamp {
    int64_t seconds = 0;
    double fraction = 0; //!< 0 to below 1

    //! The first second that is not valid: the year 10000; later times may overflow.
    static constexpr uint64_t end_of_time = 253402300800;
    //! Returns whether the time is from 1970 on, and before the year 10000.
    bool is_time() const { return seconds >= 0 && uint64_t(seconds) < end_of_time; }
    //! Description of what from_pmt() takes, for messages.
    static constexpr char form[] =
        "a tuple of whole seconds since 1970 (an integer, before the year 10000) and a "
        "fraction";

    static timestamp now();
    //! Returns the time of a tuple(uint64, double) if it is_time(), or nothing. Other
    //! kinds of whole and real numbers, as pmt.to_pmt() makes them, are accepted, too.
    static std::optional<timestamp> from_pmt(const pmt::pmt_t& value);
    pmt::pmt_t to_pmt() const;

    //! Returns the time `items` items (any number, also negative and fractional) of
    //! `rate` a second later.
    timestamp after(double items, double rate) const;
    //! Returns the seconds since an earlier time.
    double since(const timestamp& earlier) const;
    /*!
     * Returns the seconds to the next multiple of a period since 1970; 0 on a multiple,
     * and less than `tolerance` behind one. The period is the decimal number that people
     * write for the double: 0.1 s is a tenth of a second, though the double is not.
     */
    double until_multiple_of(double period, double tolerance) const;

    //! Returns whether the time is before March 1973: counted from the start of a device.
    //! No receiver's recording is that old, and no device runs for three years.
    bool is_relative() const { return seconds < 100000000; }
};

//! Adds a time that counts from elsewhere.
timestamp operator+(const timestamp& a, const timestamp& b);
timestamp operator-(const timestamp& a, const timestamp& b);

/*!
 * Returns the time that a parameter gives as whole seconds since 1970 and a fraction.
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
timestamp require_time(const std::string& parameter,
                       const std::pair<uint64_t, double>& time);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TIMESTAMP_H */
