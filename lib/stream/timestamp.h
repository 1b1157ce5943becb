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

namespace gr::aperture {

//! A time since 1970, as rx_time gives it: exact to a fraction of any sample.
struct timestamp {
    int64_t seconds = 0;
    double fraction = 0; //!< 0 to below 1

    static timestamp now();
    //! tuple(uint64, double), or nothing
    static std::optional<timestamp> from_pmt(const pmt::pmt_t& value);
    pmt::pmt_t to_pmt() const;

    //! `items` items (any number, also negative and in parts) of `rate` a second later
    timestamp after(double items, double rate) const;
    //! seconds
    double since(const timestamp& earlier) const;
    //! seconds to the next multiple of `period` since 1970; 0 on a multiple
    double until_multiple_of(double period) const;

    //! Before the year 2000: counted from the start of a stream.
    bool is_relative() const { return seconds < 946684800; }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TIMESTAMP_H */
