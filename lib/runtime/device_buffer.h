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
    //! For io_signature: all edges of all device blocks.
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

    // gr::buffer
    int space_available() override;
    unsigned index_add(unsigned a, unsigned b) override;
    unsigned index_sub(unsigned a, unsigned b) override;
    void post_work(int nitems) override;
    void* write_pointer() override;
    const void* _read_pointer(unsigned read_index) override;
    // What they wait for, that no pointer is in use, matters where data is moved. Here it
    // would only make an integrator wait for slow readers.
    void on_lock(gr::thread::scoped_lock&) override {}
    void on_unlock() override {}
    // pure virtual in GNU Radio after 3.10.12, unknown to those before
    virtual gr::buffer_type get_buffer_type() const { return type; }

    // for device blocks

    /*!
     * In start(), by the writer or for one of its readers: allocates what is needed.
     * \param d the device of the block's port
     * \param writer the port's stream, if it is the writer
     * \returns the place of the device among those of the edge
     * \throws std::runtime_error if there is not enough memory
     */
    size_t attach(const device& d, const std::shared_ptr<stream>& writer);
    /*!
     * After attach(): lets work of another device reach the items at the place of a
     * device, too.
     * \returns false if the devices cannot reach each other's memory
     */
    bool share(size_t place, const device& other);
    //! In stop(), once for each attach(), when the block's stream has nothing left to do:
    //! the last one frees the memory on the device.
    //! \returns the error that the last copies met; empty if there was none
    std::string detach();

    /*!
     * Whether the writer's next items are in the ring already: those of a block that
     * repeats itself are, once a ring of whole periods is full.
     */
    bool holds_next() const;
    //! The writer writes nothing: its next items are the ones that the ring holds.
    void keep();
    //! The stream waits until it may write so many items.
    void begin_write(stream& s, int items);
    //! The stream waits until it may read so many items at the place of its device.
    //! \returns false if there is nothing to be read any more, as the writer, a block on
    //! the device, has failed, which it reports itself
    bool begin_read(stream& s, const gr::buffer_reader& r, size_t place, int items);
    //! Before any item is consumed: all work of a call that read so many items is done
    //! after an event.
    void
    end_read(const gr::buffer_reader& r, size_t place, int items, const event_sptr& done);
    //! Where a reader's items are, at the place of its device.
    const void* pointer(const gr::buffer_reader& r, size_t place) const;

    //! Items that a block may write, or a reader read, in one go.
    int contiguous_for_write(int items) const;
    int contiguous_for_read(const gr::buffer_reader& r, size_t place, int items) const;

    // for taps: see tap.h

    //! The items are in host memory first.
    bool written_by_host() const { return d_host_writer; }
    //! Then: that memory, and where the next item goes, to be asked for under mutex().
    const char* host_memory() const { return d_mirror->at(0); }
    unsigned write_index() const { return d_write_index; }
    std::string device_name() const;
    //! Otherwise: tap::copy().
    newest_items newest(int items, void* to, bool on_device);

    //! The first error that a host block met, or the writer's own work; empty if there
    //! was none.
    std::string error() const;
    //! That which readers are to report: a writer on the device does it by itself.
    std::string error_for_readers() const;

private:
    struct span {
        int64_t first, end;
    };

    bool allocate_buffer(int nitems) override;
    //! That of the writer's port, or else of the first reader's.
    void choose_device();
    void find_host_readers();
    void allocate_device_memory();
    void allocate_mirror();
    //! Puts readers of a buffer that this one has replaced onto this one.
    void adopt_readers();
    //! Items that a reader sees; counted from the start of the run, history below 0.
    span window(const gr::buffer_reader& r, int items);
    //! The stream waits for all device readers that use items below a limit.
    void wait_for_readers(stream& s, int64_t limit);
    void copy_to_device(int64_t first, int items);
    void copy_to_host(int64_t first, int items);
    //! Likewise, from the mirror or from the ring to those of further devices.
    void copy_to_replicas(int64_t first, int items);
    //! The layout of a ring at a device of the edge.
    ring::layout layout_on(const device& d, bool writes_windows) const;
    //! The place of a device among those of the edge; makes one for it.
    size_t find_place(const device& d);
    //! Keeps an error that no block can report at once.
    void fail(const char* what);
    //! Copies the newest items, of which there are some, out of the ring.
    newest_items take_newest(int items, char* to, direction d);
    newest_items look(int items, void* to, bool on_device);
    void end_taps();
    //! At the end, if somebody has looked at the edge: keeps what the ring holds last.
    void keep_newest();

    //! That of the ports, known from attach() on; before, another one of its kind.
    device d_device;
    const uint64_t d_identity; // among the buffers of a writer
    bool d_repeats;            // each turn of the ring holds what the one before held
    bool d_twice_mapped;       // the ring on the device
    bool d_writes_windows;     // the writer, several items at once
    //! outputs of the writer when this buffer took the place of one of them
    std::vector<gr::buffer_sptr> d_replaced;

    mutable std::mutex d_state; // of all below; never held together with d_mutex
    bool d_host_writer;
    bool d_host_readers = false;
    bool d_mirrored = false; // all that is written to the ring is copied to the mirror
    int d_attached = 0;
    std::optional<ring> d_ring;   // on the device
    std::optional<ring> d_mirror; // in host memory
    std::shared_ptr<void> d_pin;  // of the mirror: given up before the memory
    int64_t d_filled = 0;         // items that were written since the ring was allocated
    bool d_kept = false;          // the writer left what is there
    std::shared_ptr<stream> d_writer;
    std::unique_ptr<stream> d_copies;
    event_log d_written;     // to device memory, by the writer or by copies
    event_log d_copied_up;   // from the mirror to the device
    event_log d_copied_down; // from the device to the mirror
    std::map<const gr::buffer_reader*, event_log> d_read;
    std::vector<replica> d_replicas;   // on devices other than d_device
    bool d_replicas_by_mirror = false; // some cannot reach the ring
    std::string d_error;
    int64_t d_end = 0;        // items that the writer has put out
    unsigned d_end_index = 0; // where the next one goes
    //! Work of taps that is not known to be done reads items from here on.
    int64_t d_tapped_from = 0;
    event_sptr d_tapped;

    // What taps have: held before d_state, from the beginning of one to its end.
    std::mutex d_tap_mutex;
    memory d_tap_memory; // on the device, before the stream, which may still use it
    size_t d_tap_bytes = 0;
    std::shared_ptr<stream> d_taps;
    int d_tap_items = 0;        // the most that anybody has asked for in this run
    newest_items d_kept_newest; // after the end
    std::vector<char> d_kept_bytes;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_DEVICE_BUFFER_H */
