/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_RATE_LIMIT_H
#define INCLUDED_APERTURE_STREAM_RATE_LIMIT_H

#include <chrono>

namespace gr::aperture {

//! Lets some events a second pass, and counts the others.
class rate_limit
{
public:
    using clock = std::chrono::steady_clock;

    explicit rate_limit(int a_second) : d_most(a_second) {}

    //! \returns how many were held back before this one, or -1 if this one is, too.
    int pass(clock::time_point now = clock::now())
    {
        if (d_passed == 0 || now - d_begin >= std::chrono::seconds(1)) {
            d_begin = now;
            d_passed = 0;
        }
        if (d_passed == d_most) {
            d_held++;
            return -1;
        }
        d_passed++;
        const int held = d_held;
        d_held = 0;
        return held;
    }

private:
    const int d_most;
    clock::time_point d_begin;
    int d_passed = 0, d_held = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_RATE_LIMIT_H */
