/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/packet_faults.h"
#include <limits>
#include <utility>

namespace gr::aperture::network {

packet_faults::packet_faults(const parameters& p, taker take)
    : d_p(p), d_take(std::move(take)), d_random(p.seed)
{
}

void packet_faults::add(int64_t due, int to, std::vector<uint8_t> bytes)
{
    if (d_p.corrupt > 0 && random() < d_p.corrupt && !bytes.empty()) {
        bytes[size_t(d_random() % bytes.size())] ^= uint8_t(1 << d_random() % 8);
        d_counts.corrupted++;
    }
    if (d_p.reorder > 0 && random() < d_p.reorder) {
        due += d_p.delay;
        d_counts.reordered++;
    }
    if (d_p.jitter > 0)
        due += int64_t(random() * double(d_p.jitter));
    d_waiting.push({ d_order++, { due, to, std::move(bytes) } });
}

void packet_faults::put(int64_t time, int to, std::vector<uint8_t> bytes)
{
    if (!d_p.any())
        return d_take({ time, to, std::move(bytes) });
    if (random() < d_p.loss) {
        d_counts.lost++;
    } else {
        if (random() < d_p.duplicate) {
            add(time, to, bytes);
            d_counts.duplicated++;
        }
        add(time, to, std::move(bytes));
    }
    while (!d_waiting.empty() && d_waiting.top().what.due <= time) {
        d_take(d_waiting.top().what);
        d_waiting.pop();
    }
}

void packet_faults::finish()
{
    for (; !d_waiting.empty(); d_waiting.pop())
        d_take(d_waiting.top().what);
}

} // namespace gr::aperture::network
