/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_ITEM_HISTORY_H
#define INCLUDED_APERTURE_STREAM_ITEM_HISTORY_H

#include <gnuradio/aperture/item_ring.h>
#include <gnuradio/tags.h>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace gr::aperture {

//! The settings that tags give to the newest items of a stream, for any thread.
class item_history
{
public:
    //! \param spectra of an item
    explicit item_history(int64_t spectra) : d_spectra(spectra) {}

    void clear();
    //! Reads the tags of the next items, in any order.
    void follow(std::vector<gr::tag_t> tags);
    //! Forgets what holds only for items before this one.
    void forget_before(uint64_t item);

    //! See item_ring.
    std::vector<item_ring::setting> settings() const;
    std::vector<std::pair<uint64_t, pmt::pmt_t>> told() const;
    std::vector<item_ring::missing_run> missing(uint64_t first, int64_t count) const;

private:
    //! missing spectra, counted from the first one of item 0
    struct run {
        int64_t input, begin, end;
    };

    //! Returns the setting from an item on, which may be new.
    item_ring::setting& setting_from(uint64_t item);
    void follow(const gr::tag_t& tag);

    const int64_t d_spectra;
    mutable std::mutex d_mutex;
    std::deque<item_ring::setting> d_settings;
    std::deque<std::pair<uint64_t, pmt::pmt_t>> d_told; // see told()
    std::deque<run> d_missing;                          // in the order of their tags
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_ITEM_HISTORY_H */
