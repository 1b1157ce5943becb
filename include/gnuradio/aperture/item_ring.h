/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ITEM_RING_H
#define INCLUDED_APERTURE_ITEM_RING_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <pmt/pmt.h>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Keeps the newest items of an edge in memory, from which others read them.
 * \ingroup aperture
 *
 * The oldest items are overwritten as new ones come; neither the stream nor the ring
 * waits for a reader, unless `hold` is set. A read that was overtaken says which of its
 * items were overwritten.
 * One port in, of items of any size; no port out. It is what voltage_ring is made of.
 *
 * Messages on the port `trigger` are kept, unchecked, until take_triggers() takes them,
 * also those that come after the stream has ended.
 */
class APERTURE_API item_ring : virtual public block_on_device
{
public:
    typedef std::shared_ptr<item_ring> sptr;

    struct parameters {
        int item_size = 8;
        int spectra = 1;
        int64_t size = int64_t(1) << 28;
        std::string memory = "device";
        bool hold = false;
        std::string device = "auto";
    };

    //! What the parameters mean.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            parameter("spectra",
                      &parameters::spectra,
                      "spectra of an item, in which `missing` tags count; 1 of samples")
                .range(1),
            parameter("size",
                      &parameters::size,
                      "bytes of the ring, which is of whole items, at least two")
                .range(1),
            parameter(
                "memory",
                &parameters::memory,
                "where the ring is: device (of the block; on the CPU the host's) or "
                "host")
                .one_of("device", "host"),
            parameter("hold",
                      &parameters::hold,
                      "whether the stream waits until keep_from() lets its oldest items "
                      "go: of a recording, which comes faster than others look at it")
                .called("Hold the Stream"),
            device_parameter<parameters>());
    }

    //! What the tags say of the items from one on, up to the next setting.
    struct setting {
        uint64_t item = 0;
        std::optional<std::pair<uint64_t, double>> time; //!< by rx_time and rx_rate
        std::optional<double> rate;                      //!< rx_rate, items a second
        std::optional<double> frequency;                 //!< rx_freq, Hz
        std::optional<double> bandwidth;                 //!< Hz
        bool approximate = false;                        //!< rx_time_approximate
    };

    //! Spectra (or samples) of an input that are missing.
    struct missing_run {
        int64_t input, first, count;
    };

    //! Items that were read.
    struct piece {
        //! of the bytes that were asked for of each item; until the next read
        const char* data = nullptr;
        int64_t items = 0;
        //! So many of them, the first ones, were overwritten before they were read: their
        //! bytes mean nothing.
        int64_t overwritten = 0;
    };

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Items that the ring holds.
    virtual int64_t capacity() const = 0;
    //! Bytes that a read may give at most.
    virtual int64_t longest_read() const = 0;
    //! Items that came since the start.
    virtual uint64_t items() const = 0;
    //! The first item that is there; items() where none is.
    virtual uint64_t oldest() const = 0;

    /*!
     * Reads items out of the ring; of any thread, which waits for the copy. The chain
     * does not. \param first, count items that came already \param offset, length bytes
     * of each item; a length of 0: up to its end \throws std::invalid_argument
     */
    virtual piece read(uint64_t first, int64_t count, int64_t offset, int64_t length) = 0;

    /*!
     * With `hold`: no item from this one on is overwritten until another call says so.
     * The stream waits for room; at the start, all items are kept. Of any thread.
     */
    virtual void keep_from(uint64_t item) = 0;

    //! What the tags say of the items that are there, oldest first: the first one is of
    //! an item at or before the oldest.
    virtual std::vector<setting> settings() const = 0;

    //! What `missing` tags say of some items; spectra count from the first one's first.
    virtual std::vector<missing_run> missing(uint64_t first, int64_t count) const = 0;

    //! Messages that have come to the port `trigger`, oldest first, and come no more.
    virtual std::vector<pmt::pmt_t> take_triggers() = 0;

    //! How often it was started.
    virtual uint64_t starts() const = 0;

    //! The stream has ended, or the flowgraph was stopped.
    virtual bool ended() const = 0;

    //! Whether there are such blocks as awaits_triggers() asks about.
    virtual bool has_senders() const = 0;

    /*!
     * Whether a block that sends to `trigger`, and is connected by streams with this
     * one's source, still runs: then triggers may come after the end of this stream. True
     * until the stream has ended.
     */
    virtual bool awaits_triggers() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ITEM_RING_H */
