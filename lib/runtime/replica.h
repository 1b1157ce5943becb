/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_REPLICA_H
#define INCLUDED_APERTURE_RUNTIME_REPLICA_H

#include "runtime/event_log.h"
#include "runtime/ring.h"
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/buffer_reader.h>
#include <map>

namespace gr::aperture {

/*!
 * The items of an edge in the memory of one more device, for its readers there: a ring
 * like that of the edge, which a stream of its own keeps equal to it.
 */
class replica
{
public:
    /*!
     * Allocates memory of zeros: history begins with them.
     * \param size bytes of one ring
     * \throws std::runtime_error if there is not enough memory
     */
    replica(const device& d, size_t size, ring::layout l);

    const device& on() const { return d_device; }
    const char* at(size_t offset) const { return d_ring.at(offset); }
    ring::layout layout() const { return d_ring.type(); }

    //! Lets kernels on another device access the items, too, as backend does.
    bool share(const device& other)
    {
        return other == d_device ||
               d_ring.share(*d_device.own_memory(), *other.own_memory());
    }
    //! Makes the stream wait until it may read items below end.
    void begin_read(stream& s, int64_t end) const;
    //! Ends a reader's work on items first ... end-1, which is done after an event.
    void end_read(const gr::buffer_reader& r,
                  int64_t first,
                  int64_t end,
                  const event_sptr& done);

    //! A range of items, first ... end-1, of the edge.
    struct items {
        const char* from; //!< source of the items
        bool in_host_memory;
        size_t offset, bytes; //!< offset and size of their place in the ring
        int64_t first, end;
        int64_t overwritten; //!< items below it were there before
        event_sptr ready;    //!< the source is written after it; nullptr: it is written
    };
    void take(const items& i);
    //! Returns an event after which no copy reads items below limit from their source
    //! (nullptr: none does).
    event_sptr last_use_below(int64_t limit) const
    {
        return d_copied.last_use_below(limit);
    }
    //! Waits for all copies.
    void synchronize() { d_copies->synchronize(); }

private:
    device d_device;
    ring d_ring;
    std::unique_ptr<stream> d_copies;
    event_log d_copied;
    std::map<const gr::buffer_reader*, event_log> d_read;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_REPLICA_H */
