/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_DATAGRAM_H
#define INCLUDED_APERTURE_NETWORK_DATAGRAM_H

#include "network/endpoint.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::network {

//! Bytes that lie in one piece, or, where buffers of a card are small, in several.
struct byte_view {
    struct piece {
        const uint8_t* data;
        size_t bytes;
    };
    const uint8_t* data = nullptr;
    size_t bytes = 0;            //!< bytes of all pieces
    size_t first = 0;            //!< bytes at `data`
    const piece* rest = nullptr; //!< pieces behind these, as many as `bytes` says

    //! Returns a view of one piece.
    static byte_view of(const uint8_t* data, size_t bytes)
    {
        return { data, bytes, bytes, nullptr };
    }
    //! Returns the view without its first bytes, which are all at `data`.
    byte_view behind(size_t skipped) const
    {
        return { data + skipped, bytes - skipped, first - skipped, rest };
    }
    //! Calls `take(data, bytes)` with each piece of the first `count` bytes.
    template <class Take>
    void each(size_t count, const Take& take) const
    {
        const uint8_t* from = data;
        size_t here = std::min(first, count);
        for (const piece* next = rest;; next++) {
            take(from, here);
            count -= here;
            if (count == 0)
                return;
            from = next->data;
            here = std::min(next->bytes, count);
        }
    }
    //! Copies the first `count` bytes.
    void copy(uint8_t* to, size_t count) const
    {
        each(count, [&](const uint8_t* from, size_t here) {
            std::memcpy(to, from, here);
            to += here;
        });
    }
};

//! A datagram as it came.
struct datagram {
    sender from;
    int64_t arrival = 0; //!< ns since 1970
    byte_view content;
    bool damaged = false; //!< the datagram was longer, or its checksum is wrong
    int address = 0;      //!< index of the address that it came to
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_DATAGRAM_H */
