/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TESTS_SOAPY_NOISE_SOURCE_H
#define TESTS_SOAPY_NOISE_SOURCE_H

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace aperture_test {

//! A noise source, with a switch, that all receivers hear: on and off at samples of the
//! clock that they share.
class noise_source
{
public:
    using history = std::vector<std::pair<int64_t, bool>>;

    //! Forgets what was before.
    void reset()
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_turned.clear();
        d_played = 0;
    }
    //! Notes that samples before this one were handed out by a receiver.
    void played(int64_t end)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_played = std::max(d_played, end);
    }
    //! Switches, so many samples behind those that any receiver has handed out.
    void turn(bool on, int64_t delay)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_turned.emplace_back(d_played + delay, on);
    }
    history turned() const
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_turned;
    }
    static bool is_on(const history& turned, int64_t number)
    {
        bool on = false;
        for (const auto& [at, to] : turned)
            on = number >= at ? to : on;
        return on;
    }
    //! Returns "1000:1 5000:0", the samples and whether it was switched on.
    std::string text() const
    {
        std::string made;
        for (const auto& [at, on] : turned())
            made += (made.empty() ? "" : " ") + std::to_string(at) + (on ? ":1" : ":0");
        return made;
    }

private:
    mutable std::mutex d_mutex;
    history d_turned;
    int64_t d_played = 0;
};

} // namespace aperture_test

#endif /* TESTS_SOAPY_NOISE_SOURCE_H */
