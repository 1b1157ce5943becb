/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_DEVICE_BUFFER_H
#define INCLUDED_APERTURE_RUNTIME_DEVICE_BUFFER_H

#include "runtime/event_log.h"
#include "runtime/replica.h"
#include "runtime/ring.h"
#include "runtime/tap.h"
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_type.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture {

class device_block;

/*!
 * The buffer of an edge that has a device block at either end: a ring in the memory of
 * the device, a ring in host memory (the mirror) where the writer or a reader is a host
 * block, and a ring on each further device that has readers (a replica). Nothing is ever
 * moved, and no thread waits for the device but a host reader for its copy and a host
 * writer for a copy that still reads what it is to overwrite.
 *
 * One writer; readers in any mixture. Device blocks use the functions under "for device
 * blocks", GNU Radio and host blocks those of gr::buffer.
 */
class device_buffer : public gr::buffer
{
public:
    //! The type of the buffers, for io_signature: all edges of all device blocks.
    static gr::buffer_type type;

    /*!
     * GNU Radio's factory.
     * \param link the block that writes
     * \param owner the device block that asks for the buffer: link, or one of its readers
     */
    static gr::buffer_sptr make_buffer(int nitems,
                                       size_t sizeof_item,
                                       uint64_t downstream_lcm_nitems,
                                       uint32_t downstream_max_out_mult,
                                       gr::block_sptr link,
                                       gr::block_sptr owner);

    device_buffer(size_t nitems,
                  size_t sizeof_item,
                  uint32_t downstream_max_out_mult,
                  const gr::block_sptr& link,
                  const device& d);

    // functions of gr::buffer
    int space_available() override;
    unsigned index_add(unsigned a, unsigned b) override;
    unsigned index_sub(unsigned a, unsigned b) override;
    void post_work(int nitems) override;
    void* write_pointer() override;
    const void* _read_pointer(unsigned read_index) override;
    // Locks matter where data is moved while pointers are in use. Nothing is moved here:
    // a lock would only make an integrator wait for slow readers.
    void on_lock(gr::thread::scoped_lock&) override {}
    void on_unlock() override {}
    // is pure virtual in GNU Radio after 3.10.12, and unknown to earlier versions
    virtual gr::buffer_type get_buffer_type() const { return type; }

    // for device blocks

    /*!
     * Allocates the rings, in start(), for the writer or for one of its readers.
     * \param d the device of the block's port
     * \param writer the port's stream, if it is the writer
     * \returns the index of the device among those of the edge
     * \throws std::runtime_error if there is not enough memory
     */
    size_t attach(const device& d, const std::shared_ptr<stream>& writer);
    /*!
     * Lets kernels on another device access the items on a device of the edge, too; after
     * attach().
     * \returns false if the devices cannot access each other's memory
     */
    bool share(size_t place, const device& other);
    //! Detaches a port, in stop(), once for each attach(), when the block's stream has no
    //! work left: the last one frees the memory on the device.
    //! \returns the error that the last copies met; empty if there was none
    std::string detach();

    /*!
     * Returns whether the writer's next items are in the ring already: those of a block
     * that repeats itself are, once a ring of whole periods is full.
     */
    bool holds_next() const;
    //! Leaves the writer's next items as the ones that the ring holds.
    void keep();
    //! Makes the stream wait until it may write so many items.
    void begin_write(stream& s, int items);
    //! Makes the stream wait until it may read so many items on its device.
    //! \returns false if there is nothing more to be read, as the writer, a block on the
    //! device, has failed, which it reports itself
    bool begin_read(stream& s, const gr::buffer_reader& r, size_t place, int items);
    //! Ends the reading of so many items, before any is consumed, with an event.
    void
    end_read(const gr::buffer_reader& r, size_t place, int items, const event_sptr& done);
    //! Returns where a reader's items are on its device.
    const void* pointer(const gr::buffer_reader& r, size_t place) const;

    //! Returns how many items a block may write, or a reader read, in one call.
    int contiguous_for_write(int items) const;
    int contiguous_for_read(const gr::buffer_reader& r, size_t place, int items) const;

    // for taps: see tap.h

    //! Returns whether the writer is a host block.
    bool written_by_host() const { return d_host_writer; }
    //! Returns that host memory, and the next item's index, to be asked for under
    //! mutex().
    const char* host_memory() const { return d_mirror->at(0); }
    unsigned write_index() const { return d_write_index; }
    std::string device_name() const;
    //! Copies the newest items where the writer is a device block, as tap::copy() does.
    newest_items newest(int items, void* to, bool on_device);

    //! Returns the first error of a host block, or of the writer's own work; or empty.
    std::string error() const;
    //! Returns the error that readers report: a writer on the device does it itself.
    std::string error_for_readers() const;

private:
    struct span {
        int64_t first, end;
    };

    bool allocate_buffer(int nitems) override;
    //! Chooses the device of the writer's port, or else that of the first reader's.
    void choose_device();
    void find_host_readers();
    void allocate_device_memory();
    void allocate_mirror();
    //! Moves readers of a buffer that this one has replaced to this one.
    void adopt_readers();
    //! Returns the items that a reader sees, from the start of the run; history below 0.
    span window(const gr::buffer_reader& r, int items);
    //! Makes the stream wait for all device readers that use items below a limit.
    void wait_for_readers(stream& s, int64_t limit);
    void copy_to_device(int64_t first, int items);
    void copy_to_host(int64_t first, int items);
    //! Copies items from the mirror or the ring to the rings of further devices.
    void copy_to_replicas(int64_t first, int items);
    //! Returns the layout of a ring on a device of the edge.
    ring::layout layout_on(const device& d, bool writes_windows) const;
    //! Returns the index of a device among those of the edge; adds it first if needed.
    size_t find_place(const device& d);
    //! Keeps an error that no block can report at once.
    void fail(const char* what);
    //! Copies the newest items, of which there are some, from the ring.
    newest_items take_newest(int items, char* to, direction d);
    newest_items look(int items, void* to, bool on_device);
    void end_taps();
    //! Keeps the last items of the ring at the end, if a tap has looked at the edge.
    void keep_newest();

    //! The device of the ports, known from attach() on; before, another one of its kind.
    device d_device;
    const uint64_t d_identity; // identity among the buffers of a writer
    bool d_repeats;            // each cycle of the ring holds the same items
    bool d_twice_mapped;       // the ring on the device is
    bool d_writes_windows;     // the writer writes several items at once
    //! Outputs of the writer when this buffer replaced one of them.
    std::vector<gr::buffer_sptr> d_replaced;

    mutable std::mutex d_state; // guards all below; never held together with d_mutex
    bool d_host_writer;
    bool d_host_readers = false;
    bool d_mirrored = false; // all items of the ring are copied to the mirror
    int d_attached = 0;
    std::optional<ring> d_ring;   // ring on the device
    std::optional<ring> d_mirror; // in host memory
    std::shared_ptr<void> d_pin;  // pin of the mirror, released before the memory
    int64_t d_filled = 0;         // items that were written since the ring was allocated
    bool d_kept = false;          // the writer left the items that are there
    std::shared_ptr<stream> d_writer;
    std::unique_ptr<stream> d_copies;
    event_log d_written;     // writes to device memory, by the writer or by copies
    event_log d_copied_up;   // copies from the mirror to the device
    event_log d_copied_down; // copies from the device to the mirror
    std::map<const gr::buffer_reader*, event_log> d_read;
    std::vector<replica> d_replicas;   // rings on devices other than d_device
    bool d_replicas_by_mirror = false; // some devices cannot access the ring
    std::string d_error;
    int64_t d_end = 0;        // items that the writer has produced
    unsigned d_end_index = 0; // index of the next one in the ring
    //! Item from which on work of taps, unless known to be done, reads.
    int64_t d_tapped_from = 0;
    event_sptr d_tapped;

    // A mutex of taps: taken before d_state, from the beginning of a copy to its end.
    std::mutex d_tap_mutex;
    memory
        d_tap_memory; // on the device; declared before the stream, which may still use it
    size_t d_tap_bytes = 0;
    std::shared_ptr<stream> d_taps;
    int d_tap_items = 0;        // the most that were asked for in this run
    newest_items d_kept_newest; // items after the end
    std::vector<char> d_kept_bytes;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_DEVICE_BUFFER_H */
