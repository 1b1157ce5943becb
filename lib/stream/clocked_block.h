/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_CLOCKED_BLOCK_H
#define INCLUDED_APERTURE_STREAM_CLOCKED_BLOCK_H

#include "kernels/common/types.h"
#include "stream/rate_limit.h"
#include "stream/said_states.h"
#include "stream/stream_alignment.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/block.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * Checks the number of ports. Edges in host memory take two of 4096 shared memory
 * segments each: with more ports GNU Radio 3.10.5 aborts when a flowgraph starts.
 * inputs_per_port avoids that.
 */
void require_ports(int ports);
//! Returns the number of ports of so many inputs. \throws std::invalid_argument
int ports_of(int inputs, int inputs_per_port);
//! Returns the bytes of a frame [channel][input][time]. \throws std::invalid_argument
int frame_item_size(int channels, int inputs, int times, sample_type type);

//! The end of an error about a missing rx_rate, in the words of GNU Radio Companion.
inline constexpr const char* who_says_the_rate =
    ": Receiver Tags behind each source says it, as does Sample Rate of FX Correlator";

/*!
 * Base of blocks with a clock: they read rx_time, rx_rate and rx_freq on their inputs,
 * align the ports, notice losses, and see when the input ends.
 *
 * A derived block asks in forecast() for the items that it needs, and takes run after run
 * from next_run() in make().
 */
class clocked_block : public device_block
{
public:
    bool start() override;

protected:
    //! \param window, hop in items, as those of timeline
    clocked_block(const device& d, int ports, int64_t window, int64_t hop);
    //! Makes ports on several devices, as device_block does.
    clocked_block(const std::vector<device>& inputs,
                  const std::vector<device>& outputs,
                  int64_t window,
                  int64_t hop);

    //! Asks in forecast() for the items of each port that the next window needs, and for
    //! none once the input has ended.
    void require_window(gr_vector_int& required);

    //! The result of a call of make().
    struct progress {
        int64_t windows; //!< windows that were used or padded; 0: there was nothing to do
        int items;       //!< output items that became whole
    };
    /*!
     * Takes one run from next_run() and makes output of it. process() calls it until the
     * output is full or there is nothing to do.
     * \param done output items that this call of process() has made so far
     * \param room output items that there is room for beyond these, at least 1
     */
    virtual progress make(int done,
                          int room,
                          const gr_vector_const_void_star& input_items,
                          const gr_vector_void_star& output_items) = 0;
    //! Returns whether a port's input is done, and the rest of it holds no window.
    bool ended() const { return d_ended; }

    //! Returns the next windows, at most so many.
    timeline::run next_run(int64_t most) const { return d_alignment.next(d_end, most); }
    void advance(int64_t windows)
    {
        // all tags up to here have been read, on all ports
        if (d_unchecked && windows > 0 && position() >= *d_unchecked) {
            d_unchecked.reset();
            check_parts();
        }
        d_alignment.advance(windows);
    }
    /*!
     * Returns whether the clock of a port jumped too far to fill the gap. next_run() then
     * gives no more windows: as at the end of the input, unfinished items are to be
     * delivered, marked as partial. Where make() has nothing more to do, the ports are
     * aligned anew, on_begin() is called, and the next windows follow. The first item
     * made of them needs tags as the very first one does.
     */
    bool interrupted() const { return d_alignment.interrupted(d_end); }
    //! Returns where the first window of a run begins on each port, in the arguments of
    //! process(), as if the port were not read earlier or later; nullptr where it is
    //! missing.
    std::vector<const char*> starts_of(const timeline::run& run,
                                       const gr_vector_const_void_star& input_items);
    //! Returns how many items of all ports, at the present rate(), stay readable before
    //! the next window, for set_reach(). The history of the block has to make room for
    //! them.
    virtual int64_t items_to_keep() const { return 0; }
    //! Sets the reach of a port from the next window on; see timeline.
    void set_reach(int port, const timeline::reach& r) { d_alignment.set_reach(port, r); }

    //! Returns the tick of the next window's first item, from 0.
    int64_t position() const { return d_alignment.position(); }
    int64_t tick_of(int port, int64_t item) const
    {
        return d_alignment.tick_of(port, item);
    }
    //! Returns the items a second; 0 if no tag gives them.
    double rate() const { return d_rate; }
    //! Returns the time of a tick (or between two); of tick 0 where the rate is unknown.
    timestamp time_of(double tick) const { return d_alignment.time_of(tick); }
    //! Returns the time of tick 0 by the clock that runs at the next window: a clock that
    //! is followed was not always the same.
    timestamp origin() const { return d_alignment.origin_at(position()); }
    //! Returns whether rx_time is to be tagged again with the item of a tick, as the
    //! clock that is followed has walked since the last time.
    bool take_correction(int64_t tick);

    //! A change of the stream that is passed on with the item of a tick.
    struct change {
        int64_t tick;
        double frequency; //!< rx_freq
    };
    //! Takes the changes, however small, that belong to a window at or before a tick.
    std::vector<change> take_changes(int64_t tick);

    //! Announces a setting that holds from a tick on: a dictionary as in a `settings`
    //! tag, which is passed on with the first item that begins there or later.
    void announce(int64_t tick, const pmt::pmt_t& setting);
    //! Returns what a setting on a port means behind this block, where its inputs have
    //! other numbers: one or several settings.
    virtual std::vector<pmt::pmt_t> settings_behind(int /*port*/,
                                                    const pmt::pmt_t& setting)
    {
        return { setting };
    }
    //! Takes the settings that hold from a tick or an earlier one on: the value of a
    //! `settings` tag; nullptr: there are none.
    pmt::pmt_t take_settings(int64_t tick);
    //! Tags the settings that take_settings() gives, if there are any.
    void tag_settings(int port, uint64_t item, int64_t tick);
    //! Returns the tick of the first setting that was not taken, or timeline::none.
    int64_t next_setting() const
    {
        return d_settings.empty() ? timeline::none : d_settings.front().tick;
    }
    //! Returns the tick, behind another one, of the first setting that was not taken and
    //! is another direction of what is tracked, or timeline::none.
    int64_t next_turn(int64_t behind) const;

    //! Description of an output stream, which is tagged on its first item. 0: not known
    struct description {
        timestamp time; //!< time of the first item
        double rate = 0;
        double bandwidth = 0;
        int64_t samples_per_item = 0;
        std::optional<int64_t> first_spectrum = {};
    };
    void tag_description(int port, uint64_t item, const description& d);
    //! Tags rx_time, and beside it whether it is a guess, unless the item has it.
    void tag_time(int port, uint64_t item, const timestamp& time);
    //! Tags rx_freq, and rx_time beside it: alone it would mean a loss.
    void tag_frequency(int port, uint64_t item, const timestamp& time, double frequency);
    //! Tags those of rx_time, `spectra` and `counted` of an integration that a reader
    //! does not expect: see said_states. \param time nothing where it is not known
    void tag_integration(int port,
                         uint64_t item,
                         const std::optional<timestamp>& time,
                         uint64_t spectra,
                         const std::vector<uint64_t>& counted);
    void tag(int port, uint64_t item, const char* key, const pmt::pmt_t& value);
    //! Contents of a `missing` tag.
    struct lost_spectra {
        int input;
        int64_t first, count;
    };
    //! Returns nothing if the tag is another one; refuses inputs beyond the edge's.
    std::optional<lost_spectra> read_missing(const gr::tag_t& tag, int port, int inputs);
    //! Adds one `missing` tag.
    void tag_missing(int port, uint64_t item, int input, uint64_t first, uint64_t count);

    //! Returns the spectra of an item, where these are frames.
    virtual int64_t spectra_of_item() const { return 1; }
    //! Returns `first_spectrum` of a tick by the last tag of port 0 that said it, if any
    //! did.
    std::optional<int64_t> first_spectrum_of(int64_t tick) const;

    //! Returns `bandwidth` of the input, and below `samples_per_item`; 0 without one.
    double input_bandwidth() const { return d_bandwidth; }
    int64_t input_samples_per_item() const { return d_samples_per_item; }

    //! Receives all other tags, in order.
    virtual void on_tag(int port, const gr::tag_t& tag);
    //! Is called between the alignment and the next window; may call set_position().
    virtual void on_begin() {}
    //! Is called when the ports are aligned anew: items read ahead lie so much later.
    virtual void on_moved(int64_t) {}
    void set_position(int64_t tick) { d_alignment.set_position(tick); }
    //! Sets, in the constructor, the longest gap in seconds that is filled with missing
    //! items. \throws std::invalid_argument
    void set_most_gap(double seconds);
    //! Makes rx_time count from a device's start, in any case; for the constructor.
    void set_relative_time(bool relative) { d_relative_time = relative; }
    //! Makes the time follow the stamps, which are of other clocks than the items on all
    //! ports; for the constructor.
    void set_follow_clock(bool follow) { d_follow_clock = follow; }
    //! Leaves a jump beside a repeated rx_rate unfilled; for the constructor. Blocks with
    //! a clock tag both where their own alignment began anew.
    void begin_anew_where_restated() { d_anew_where_restated = true; }

    //! Logs a warning, at most some a second, and publishes it on port `status`. A
    //! `count` below 0 is not known.
    //! \param reason for people, where the event needs one
    void report(const std::string& event,
                int port,
                int64_t item,
                int64_t count,
                const std::string& reason = "");
    //! Logs that a message or a tag is not used, and publishes it on port `status`.
    void refuse(const std::string& reason);
    /*!
     * Makes port 1 the companion of port 0, with an item for each one of that, whatever
     * its tags say; for the constructor of a block that aligns one port. It is an error
     * if the companion ends earlier, or tags another rx_time than port 0 on an item.
     */
    void take_companion(const std::string& what) { d_companion = what; }
    //! Returns what starts_of() does, for the companion.
    const char* start_of_companion(const timeline::run& run,
                                   const gr_vector_const_void_star& input_items);

    //! Takes the items as samples; a `missing` tag then says that so many of them were
    //! filled in by their sender. For the constructor.
    void take_filled_samples() { d_takes_filled = true; }

    /*!
     * Compares only times since 1970 that are not approximate; for the constructor. All
     * other ports are taken as having begun with the others, and move() puts them where
     * they belong. Without this call, guessed times that contradict others are not
     * compared either, and as nobody moves their ports, those beside true times are
     * missing.
     */
    void compare_true_times_only() { d_true_times_only = true; }
    //! Returns whether the rx_time of a port can be compared with those of others.
    bool has_true_time(int port) const { return d_ports[port].true_time; }
    //! Returns whether a port's first rx_time was approximate, and aligns nothing.
    bool has_guessed_time(int port) const { return d_ports[port].guessed; }
    //! Moves a port so many ticks later than believed, from the next window on.
    void move(int port, int64_t ticks);
    //! Returns, in on_begin() with compare_true_times_only(), whether the port lies where
    //! it lay beside the others before they were aligned anew.
    bool keeps_place(int port) const { return d_ports[port].keeps_place; }
    //! Returns how much later a port is at a tick by its stamps than its place, in ticks.
    double lag(int port, int64_t tick) const { return d_alignment.lag(port, tick); }
    struct arrivals {
        int64_t items; //!< items that have come since the start
        bool held;     //!< there is little room for more, until some are taken
        bool all;      //!< no more will come
    };
    arrivals arrived(int port);
    //! Returns, in process(), the item behind the last one of a port.
    int64_t behind_input(int port) const { return d_end[port]; }
    //! Returns the first item of a port that the next window or a later one needs.
    int64_t first_needed(int port) const { return d_alignment.needed_from(port); }
    //! Returns rx_freq in Hz as it was read last; 0 without one.
    double frequency() const { return d_frequency.value_or(0); }
    /*!
     * Asks in forecast(), after require_window(), for so many items of each port, or as
     * many as its buffer holds. \returns false if no more of them will come
     */
    bool require_ahead(gr_vector_int& required, int64_t items);
    //! Visits the runs from the next one on, without taking them, up to so many ticks.
    //! \param see gets each run and its tick
    //! \returns how many ticks there are
    int64_t
    look_ahead(int64_t ticks,
               const std::function<void(const timeline::run&, int64_t)>& see) const;
    //! Returns the tick of the first change that was not taken, or timeline::none.
    int64_t next_change() const;
    //! Is called when an unknown number of items was lost before an item of a port.
    virtual void on_loss(int, int64_t) {}
    //! Is called when the frequency of a port changes with an item.
    virtual void on_tuned(int, int64_t) {}

    //! Adds an input port for messages with settings; for the constructor. An exception
    //! of `receive` refuses the message: a bad one must not end the flowgraph.
    void take_settings(const char* port,
                       const std::function<void(const pmt::pmt_t&)>& receive);

private:
    int64_t kept_items() const final { return d_begun ? items_to_keep() : 0; }
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) final;
    //! Reads the tags of the new items. \returns false if there is nothing to do, or
    //! nothing that can be done: see failed()
    bool update(const gr_vector_int& available);
    //! Returns whether a port may still get tags beyond the items that are there, before
    //! any of these is consumed.
    bool more_tags_can_come(int port);
    void resume();
    //! Limits port 0 to the items of its companion. \returns false if that has ended
    bool pair_up(gr_vector_int& available);
    void check_companion();
    //! Consumes, on all ports, the items that no later window needs.
    void consume_passed();

    struct port_state {
        int64_t preload = 0;  // zeros that GNU Radio put before item 0
        int64_t seen = 0;     // items whose tags were read
        int64_t stamped = -1; // item whose rx_time was read before the rest of its tags
        std::optional<double> frequency; // rx_freq at the newest item that was read
        std::optional<timestamp>
            epoch;                // epoch of an rx_time that counts from a device's start
        bool true_time = false;   // rx_time can be compared with those of others
        bool guessed = false;     // see has_guessed_time()
        bool introduced = false;  // from the next resume() on its time can be compared
        bool keeps_place = false; // see keeps_place()
        int64_t foreign =
            -1; // item whose rx_time tells nothing about the items before it
        struct numbering {
            int64_t tick, spectrum;
            int alignment; // number of the alignment in which it was read
        };
        std::optional<numbering> numbered; // the last first_spectrum
        double apart = 0; // samples that check_parts() reported last; 0: none
    };

    //! Takes a `first_spectrum`; fails where another port counts otherwise.
    void number_spectra(int port, int64_t tick, int64_t spectrum);
    //! Returns the item at in[0] of process().
    int64_t first_item(int port)
    {
        return int64_t(nitems_read(port)) - d_ports[port].preload;
    }
    //! Returns whether a port's rx_time counts from the start of a device; as_epoch()
    //! converts it to time since 1970.
    bool is_relative(const timestamp& t) const
    {
        return d_relative_time || t.is_relative();
    }
    timestamp absolute(int port, int64_t item, const timestamp& t);
    //! Decides the time of item 0 of each port, in place; returns that of tick 0.
    timestamp set_epochs(std::vector<std::optional<timestamp>>& times);
    //! Does the same with true times only.
    timestamp set_true_times(std::vector<std::optional<timestamp>>& times);
    /*!
     * Reports ports whose spectra begin between those of the first one, by their stamps:
     * a port moves by whole items only, and filter banks that began apart by other than
     * whole hops leave their products a slope of phase over the channels.
     */
    void check_parts();
    //! Warns of ports that cannot be aligned.
    void check_times(const std::vector<std::optional<timestamp>>& times);
    //! Returns whether a guessed time contradicts others.
    bool guesses_differ(const std::vector<std::optional<timestamp>>& times) const;
    //! Reports which ports nothing aligns, as their times are guesses.
    void place_guessed();
    void begin();
    //! Introduces a true time on a port that had none.
    void introduce(int port, int64_t item, const timestamp& time);
    void read_tags(int port);
    void report_alignment();
    void read_tags_of_item(int port, int64_t item, const std::vector<gr::tag_t>& tags);
    void set_rate(int port, int64_t item, const pmt::pmt_t& given);
    //! Sets whose clock rx_time is, by rx_time_clock; no name: by the parameters.
    void set_clock(int port, const pmt::pmt_t& name);
    void report_drift(const stream_alignment::event& e);
    //! Notes that a port has another frequency from a tick on than `before`, which is
    //! nothing where it had none.
    void change_frequency(int port,
                          int64_t tick,
                          const std::optional<double>& before,
                          double frequency);
    //! Reads a `settings` tag of a block before this one.
    void read_settings(int port, int64_t tick, const pmt::pmt_t& settings);

    stream_alignment d_alignment;
    double d_most_gap = 60; // seconds
    bool d_relative_time = false, d_anew_where_restated = false, d_follow_clock = false;
    bool d_takes_filled = false, d_true_times_only = false;
    bool d_comparing_true = false; // d_true_times_only, or guesses contradict each other
    std::string d_companion;       // name of the companion; empty: there is none
    int64_t d_companion_seen = 0;  // items of the companion whose tags were read
    rate_limit d_log_limit{ 5 };
    int64_t d_corrected = 0; // tick of the newest correction of the time that was taken
    std::vector<port_state> d_ports;
    std::vector<int64_t> d_end; // item behind the last one there, each port
    bool d_begun = false, d_ended = false;
    std::optional<int64_t> d_unchecked; // tick from which a port lies where it did not
    double d_rate = 0, d_bandwidth = 0;
    int64_t d_samples_per_item = 0;
    int d_alignments = 0; // times that the ports were aligned anew
    bool d_approximate = false;
    //! The facts that were said of an output.
    struct output_state {
        int64_t timed = -1;    // newest item with an rx_time
        bool followed = false; // the tag that says that the time is followed is there
        said_states said;
    };
    output_state& output_of(int port);
    std::vector<output_state> d_outputs;
    struct port_change {
        int64_t tick;
        int port;
        double frequency;
    };
    /*!
     * Returns whether a change is one of the stream: ports are tuned together, and what
     * another one has said already, be it rounded otherwise, is none.
     */
    bool is_news(const port_change& c) const;
    std::optional<double> d_frequency;  // rx_freq that was read last, on any port
    std::vector<port_change> d_changes; // not taken yet; in the order of ticks and ports
    std::optional<port_change> d_taken_change; // the newest one that was taken
    struct announced {
        int64_t tick;
        pmt::pmt_t setting;
    };
    std::vector<announced> d_settings; // in the order of their ticks
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_CLOCKED_BLOCK_H */
