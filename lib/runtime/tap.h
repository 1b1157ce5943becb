/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_TAP_H
#define INCLUDED_APERTURE_RUNTIME_TAP_H

#include <gnuradio/aperture/device/device.h>
#include <gnuradio/block.h>
#include <gnuradio/buffer.h>
#include <cstdint>
#include <vector>

namespace gr::aperture {

//! Items in a row of a stream, that have been copied out of an edge.
struct newest_items {
    uint64_t first = 0; //!< number of the first one, since the start of the flowgraph
    int items = 0;      //!< how many; 0: none has come yet
};

/*!
 * Looks at an edge of a flowgraph from outside: no block reads it, and none waits for it.
 * What is copied was in the stream at the numbers that it is given, whole. Of any thread,
 * but not while the flowgraph is being started, locked or unlocked by another.
 *
 * Of an edge that a block on a device writes, a copy within the device takes the items
 * out of the ring, in order with the writer's work and before they are overwritten; to
 * the host they go from there. Edges in host memory are read as they are, and again if
 * the writer may have come by meanwhile.
 */
class APERTURE_DEVICE_API tap
{
public:
    /*!
     * \param b a block with streams of its own
     * \param port its output
     * \throws std::invalid_argument if it has no such output, or its buffer is another
     * module's
     * \throws std::runtime_error if it has not been started
     */
    tap(const gr::basic_block_sptr& b, int port);

    //! Bytes of an item.
    size_t item_size() const { return d_buffer->get_sizeof_item(); }
    //! Items that can be asked for.
    int most() const;
    //! Items that the block has put out so far.
    uint64_t written() const;
    //! The block's work has ended: no more items will come.
    bool done() const;
    //! cuda:0, ...: where the block writes the items; cpu: in host memory.
    std::string device_name() const;

    /*!
     * Copies the newest items, oldest first.
     * \param items how many at most, 1 to most(); fewer come where there are no more
     * \param to memory for so many
     * \param on_device it is of the device that device_name() says, and free to be
     * written \throws std::runtime_error if the device has failed; if the edge is gone,
     * as its flowgraph has ended; or if the writer was faster than the copy, again and
     * again
     */
    newest_items copy(int items, void* to, bool on_device = false);

    //! The tags of some items that the edge still has: those of items that every reader
    //! has passed are dropped now and then.
    std::vector<gr::tag_t> tags(const newest_items& of) const;

private:
    newest_items copy_from_host(int items, char* to);

    const gr::block_sptr d_block;
    gr::block_detail_sptr d_detail;
    gr::buffer_sptr d_buffer;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_TAP_H */
