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

//! Items in a row of a stream that were copied out of an edge.
struct newest_items {
    uint64_t first = 0; //!< index of the first one, since the start of the flowgraph
    int items = 0;      //!< number of items; 0: none has come yet
};

/*!
 * Copies items of an edge of a flowgraph from outside: no block reads it, and none waits
 * for it. The items that it returns were whole in the stream at their indices. Any thread
 * may use it, but not while another one starts, locks or unlocks the flowgraph.
 *
 * On an edge that a block on a device writes, a copy within the device takes the items
 * from the ring, in order with the writer's work and before they are overwritten; a
 * second one brings them to the host. Edges in host memory are read as they are, and
 * again if the writer may have overtaken the copy.
 */
class APERTURE_DEVICE_API tap
{
public:
    /*!
     * \param b a block with streams of its own
     * \param port index of its output
     * \throws std::invalid_argument if it has no such output, or its buffer is another
     * module's
     * \throws std::runtime_error if it has not been started
     */
    tap(const gr::basic_block_sptr& b, int port);

    //! Returns the bytes of an item.
    size_t item_size() const { return d_buffer->get_sizeof_item(); }
    //! Returns how many items can be asked for.
    int most() const;
    //! Returns the items that the block has produced so far.
    uint64_t written() const;
    //! Returns whether the block's work has ended: no more items will come.
    bool done() const;
    //! Returns where the block writes the items: cuda:0, ...; cpu: in host memory.
    std::string device_name() const;

    /*!
     * Copies the newest items, oldest first.
     * \param items most items, 1 to most(); there may be fewer
     * \param to memory for so many
     * \param on_device whether the memory is of the device of device_name(), and free to
     * be written
     * \throws std::runtime_error if the device has failed; if the edge is gone,
     * as its flowgraph has ended; or if the writer was faster than the copy, again and
     * again
     */
    newest_items copy(int items, void* to, bool on_device = false);

    //! Returns the tags of some items that the edge still has: tags of items that every
    //! reader has passed are dropped now and then.
    std::vector<gr::tag_t> tags(const newest_items& of) const;

private:
    newest_items copy_from_host(int items, char* to);

    const gr::block_sptr d_block;
    gr::block_detail_sptr d_detail;
    gr::buffer_sptr d_buffer;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_TAP_H */
