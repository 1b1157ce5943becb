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
 * \brief Keeps the newest items of an edge in memory, where other threads read them.
 * \ingroup aperture
 *
 * The oldest items are overwritten as new ones come; neither the stream nor the ring
 * waits for a reader, unless `hold` is set. A read that was overtaken says which of its
 * items were overwritten.
 * It has one port in, of items of any size, and no port out. voltage_ring is made of it.
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

    //! Describes the parameters.
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
                "memory of the ring: device (the block's; on the CPU the host's) or "
                "host")
                .one_of("device", "host"),
            parameter("hold",
                      &parameters::hold,
                      "whether the stream waits until keep_from() lets its oldest items "
                      "go: for recordings, which come faster than others read them")
                .called("Hold the Stream"),
            device_parameter<parameters>());
    }

    //! A setting that tags give: it holds from an item on, up to the next setting.
    struct setting {
        uint64_t item = 0;
        std::optional<std::pair<uint64_t, double>> time; //!< time by rx_time and rx_rate
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
        //! Bytes of the items: those asked for of each; valid until the next read.
        const char* data = nullptr;
        int64_t items = 0;
        //! Number of items, the first ones, that were overwritten before they were read:
        //! their bytes mean nothing.
        int64_t overwritten = 0;
    };

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the number of items that the ring holds.
    virtual int64_t capacity() const = 0;
    //! Returns how many bytes a read may give at most.
    virtual int64_t longest_read() const = 0;
    //! Returns the items that came since the start.
    virtual uint64_t items() const = 0;
    //! Returns the first item that is there; items() where none is.
    virtual uint64_t oldest() const = 0;

    /*!
     * Reads items out of the ring. Any thread may call it, and waits for the copy; the
     * flowgraph does not wait.
     * \param first, count items that came already
     * \param offset, length bytes of each item; a length of 0: up to its end
     * \throws std::invalid_argument
     */
    virtual piece read(uint64_t first, int64_t count, int64_t offset, int64_t length) = 0;

    /*!
     * Keeps, with `hold`, all items from this one on until another call allows more to be
     * overwritten. The stream waits for room; at the start, all items are kept. Any
     * thread may call it.
     */
    virtual void keep_from(uint64_t item) = 0;

    //! Returns the settings of the items that are there, oldest first: the first one is
    //! of an item at or before the oldest.
    virtual std::vector<setting> settings() const = 0;

    //! Returns the items that had a `settings` tag, and its value, of all since the
    //! start, oldest first; of very many the newest thousand.
    virtual std::vector<std::pair<uint64_t, pmt::pmt_t>> told() const = 0;

    //! Returns what the `missing` tags of some items say; spectra count from the first
    //! one of the first item.
    virtual std::vector<missing_run> missing(uint64_t first, int64_t count) const = 0;

    //! Returns, and forgets, the messages that came to the port `trigger`, oldest first.
    virtual std::vector<pmt::pmt_t> take_triggers() = 0;

    //! Returns how often the block was started.
    virtual uint64_t starts() const = 0;

    //! Returns whether the stream has ended, or the flowgraph was stopped.
    virtual bool ended() const = 0;

    //! Returns whether there are such blocks as awaits_triggers() asks about.
    virtual bool has_senders() const = 0;

    /*!
     * Returns whether a block that sends to `trigger`, and is connected by streams with
     * this one's source, still runs: then triggers may come after the end of this stream.
     * It is true until the stream has ended.
     */
    virtual bool awaits_triggers() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ITEM_RING_H */
