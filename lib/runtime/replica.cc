/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/fault.h"
#include "runtime/replica.h"

namespace gr::aperture {

replica::replica(const device& d, size_t size, ring::layout l)
    : d_device(d),
      d_ring(allocate_ring(*d.own_memory(), size, l)),
      d_copies(d.make_stream())
{
    d_copies->clear(d_ring.at(0), d_ring.footprint());
    d_copies->synchronize();
}

void replica::begin_read(stream& s, int64_t end) const
{
    if (!left_out("read on another device waits for its copy"))
        s.wait(d_copied.completion_of(end));
}

void replica::end_read(const gr::buffer_reader& r,
                       int64_t first,
                       int64_t end,
                       const event_sptr& done)
{
    d_read[&r].add(first, end, done);
}

void replica::take(const items& i)
{
    if (!left_out("copy to another device waits for the writer"))
        d_copies->wait(i.ready);
    if (!left_out("copy to another device waits for readers"))
        for (const auto& log : d_read)
            d_copies->wait(log.second.last_use_below(i.overwritten));
    if (!left_out("copy to another device"))
        for (const auto& p : d_ring.pieces(i.offset, i.bytes))
            d_copies->copy(d_ring.at(p.to),
                           i.from + p.from,
                           p.bytes,
                           i.in_host_memory ? direction::host_to_device
                                            : direction::within_device);
    d_copied.add(i.first, i.end, d_copies->record());
}

} // namespace gr::aperture
