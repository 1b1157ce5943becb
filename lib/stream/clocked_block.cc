/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "stream/clocked_block.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::aperture {

namespace {

const pmt::pmt_t status_port = pmt::mp("status");
// Values of rx_time_clock that name no clock.
constexpr char counted_clock[] = "samples", followed_clock[] = "followed";

//! Compares frequencies of two ports; tuners round to a fraction of a hertz, or some
//! hundred at most.
bool same_frequency(double a, double b)
{
    return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

/*!
 * Returns how many items a port's buffer holds while the block waits for tags: half of
 * its size, to which any writer fills it. More would be needed only where samples came
 * twice and delays need those before them, or where the buffer was made smaller than was
 * asked for: there tags hold late.
 */
int64_t most_awaited(const gr::buffer_reader& reader)
{
    return (int64_t(reader.max_possible_items_available()) + 1) / 2;
}

} // namespace

void require_ports(int ports)
{
    require(
        ports <= 1000,
        "inputs / inputs_per_port",
        std::to_string(ports) + " ports",
        "at most 1000: GNU Radio has no memory for more; let a port carry several inputs "
        "(inputs_per_port)");
}

int ports_of(int inputs, int inputs_per_port)
{
    require_range("inputs", inputs, 1, 65536);
    require_range("inputs_per_port", inputs_per_port, 1, inputs);
    require(inputs % inputs_per_port == 0,
            "inputs_per_port",
            std::to_string(inputs_per_port),
            "a divisor of " + std::to_string(inputs) + " inputs");
    require_ports(inputs / inputs_per_port);
    return inputs / inputs_per_port;
}

int frame_item_size(int channels, int inputs, int times, sample_type type)
{
    return item_size("frame",
                     { { "channels", channels },
                       { "inputs", inputs },
                       { "spectra_per_frame", times } },
                     size_of(type));
}

clocked_block::clocked_block(const device& d, int ports, int64_t window, int64_t hop)
    : clocked_block(std::vector<device>(ports, d), {}, window, hop)
{
}

clocked_block::clocked_block(const std::vector<device>& inputs,
                             const std::vector<device>& outputs,
                             int64_t window,
                             int64_t hop)
    : device_block(inputs.at(0), inputs, outputs),
      d_alignment(int(inputs.size()), window, hop),
      d_ports(inputs.size()),
      d_end(inputs.size())
{
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(status_port);
    // a search in a thread of its own may take long, and ends by itself
    call_rules rules;
    rules.most_idle = std::numeric_limits<double>::infinity();
    set_call_rules(rules);
}

bool clocked_block::start()
{
    d_alignment.reset();
    d_begun = d_ended = d_approximate = false;
    d_unchecked.reset();
    d_comparing_true = d_true_times_only;
    d_corrected = 0;
    d_rate = d_bandwidth = 0;
    d_samples_per_item = 0;
    d_alignments = 0;
    d_frequency.reset();
    d_changes.clear();
    d_settings.clear();
    d_outputs.clear();
    d_companion_seen = 0;
    d_taken_change.reset();
    for (size_t port = 0; port < d_ports.size(); port++) {
        // With history there are zeros before item 0, but not after lock() and unlock():
        // the items in the buffer tell more than history().
        auto reader = detail()->input(port);
        gr::thread::scoped_lock guard(*reader->mutex());
        d_ports[port] = {};
        d_ports[port].preload = int64_t(nitems_read(port)) + reader->items_available() -
                                int64_t(reader->buffer()->nitems_written());
    }
    return device_block::start();
}

void clocked_block::require_window(gr_vector_int& required)
{
    for (size_t port = 0; port < d_ports.size(); port++) {
        const int64_t first = first_item(port);
        // Items that are not needed are passed over first: the buffer might not hold the
        // rest.
        const auto up_to = [&](int64_t end) -> int64_t {
            return d_alignment.needed_from(int(port)) > first ? 1
                   : end != timeline::none
                       ? end - first
                       : d_end[port] + 1 - first; // the items that are there tell no more
        };
        if (!d_begun)
            required[port] = 1 + std::max<int64_t>(0, -first);
        else if (d_alignment.next_is_missing(int(port)) || interrupted())
            required[port] = 0;
        else
            required[port] = up_to(d_alignment.next_end(int(port)));

        auto reader = detail()->input(port);
        gr::thread::scoped_lock guard(*reader->mutex());
        // in this order: the items available may grow until done() is true, not later
        const bool done = reader->done();
        if (done && reader->items_available() < required[port])
            d_ended = true;
        if (!done && d_begun && !interrupted() &&
            d_alignment.awaits_tags(int(port), d_end[port]))
            required[port] =
                std::max<int64_t>(required[port],
                                  std::min(up_to(d_alignment.next_known(int(port))),
                                           most_awaited(*reader)));
    }
    if (!d_companion.empty()) {
        auto reader = detail()->input(1);
        gr::thread::scoped_lock guard(*reader->mutex());
        required[1] = required[0];
        if (reader->done()) // pair_up() sees to it
            required[1] = std::min(required[1], reader->items_available());
    }
    // The scheduler ends a block that asks for more items than there will ever be without
    // a last call; it calls a block that asks for none.
    if (d_ended)
        std::fill(required.begin(), required.end(), 0);
}

bool clocked_block::more_tags_can_come(int port)
{
    const int64_t first = first_item(port), end = d_end[port];
    auto reader = detail()->input(port);
    gr::thread::scoped_lock guard(*reader->mutex());
    // in this order, for the same reason
    if (reader->done() && first + reader->items_available() <= end)
        return false;
    return !d_alignment.awaits_tags(port, end) || d_alignment.needed_from(port) > first ||
           end - first < most_awaited(*reader);
}

bool clocked_block::require_ahead(gr_vector_int& required, int64_t items)
{
    bool more = false;
    for (size_t port = 0; port < d_ports.size(); port++) {
        const int64_t first = first_item(int(port));
        const int64_t needed = d_alignment.needed_from(int(port));
        const int64_t from = std::min(needed, d_end[port]);
        auto reader = detail()->input(port);
        gr::thread::scoped_lock guard(*reader->mutex());
        const bool done = reader->done();
        const int64_t there = reader->items_available();
        // A port of which nothing is needed, as its place is not known, waits for as many
        // items as show that it is missing so long: more need not come while the buffers
        // of others are full.
        const int64_t more_of_it =
            needed != timeline::none
                ? items
                : std::clamp<int64_t>(position() + items -
                                          d_alignment.known_until(int(port), d_end[port]),
                                      0,
                                      items);
        int64_t wanted = std::max<int64_t>(0, from - first) + more_of_it;
        wanted = std::min<int64_t>(wanted, reader->max_possible_items_available());
        if (done)
            wanted = std::min(wanted, there);
        more = more || wanted > there;
        required[port] = int(std::max<int64_t>(required[port], wanted));
    }
    return more;
}

clocked_block::arrivals clocked_block::arrived(int port)
{
    auto reader = detail()->input(port);
    gr::thread::scoped_lock guard(*reader->mutex());
    const bool all = reader->done();
    const int64_t there = reader->items_available();
    // a source is called with half of the buffer's room at a time
    const bool held = 2 * there >= reader->max_possible_items_available();
    return { first_item(port) + there, held, all };
}

int64_t clocked_block::look_ahead(
    int64_t ticks, const std::function<void(const timeline::run&, int64_t)>& see) const
{
    auto ahead = d_alignment;
    const int64_t first = ahead.position();
    while (ahead.position() < first + ticks) {
        const auto run = ahead.next(d_end, first + ticks - ahead.position());
        if (run.windows == 0)
            break;
        see(run, ahead.position());
        ahead.advance(run.windows);
    }
    return ahead.position() - first;
}

void clocked_block::move(int port, int64_t ticks)
{
    d_alignment.move(port, ticks, first_item(port));
    if (auto& epoch = d_ports[port].epoch; epoch && d_rate > 0)
        epoch = epoch->after(double(ticks), d_rate);
}

int clocked_block::process(int noutput_items,
                           gr_vector_int& ninput_items,
                           gr_vector_const_void_star& input_items,
                           gr_vector_void_star& output_items)
{
    // GNU Radio takes messages before it looks for items. A message that came in between
    // may have been sent before these items were, and has to hold for them.
    for (const auto& queue : msg_queue)
        while (const auto message = delete_head_nowait(queue.first))
            dispatch_msg(queue.first, message);
    if (!pair_up(ninput_items))
        return WORK_DONE;
    if (!update(ninput_items))
        return failed() || ended() ? WORK_DONE : 0;
    int done = 0;
    while (done < noutput_items) {
        const progress p = make(done, noutput_items - done, input_items, output_items);
        done += p.items;
        if (p.windows == 0 && !failed() && interrupted() && !ended())
            resume();
        else if (p.windows == 0)
            break;
        if (failed())
            break;
    }
    if (failed())
        return WORK_DONE;
    consume_passed();
    return done == 0 && ended() ? int(WORK_DONE) : done;
}

bool clocked_block::pair_up(gr_vector_int& available)
{
    if (d_companion.empty() || available[1] >= available[0])
        return true;
    const int frames = std::exchange(available[0], available[1]);
    if (available[1] > 0)
        return true;
    auto reader = detail()->input(1);
    gr::thread::scoped_lock guard(*reader->mutex());
    return !reader->done() || reader->items_available() > 0 ||
           fail(d_companion + " (port 1) end after " + std::to_string(nitems_read(1)) +
                " items, " + std::to_string(frames) + " or more before port 0");
}

void clocked_block::check_companion()
{
    // item for item: whatever was lost before is lost on both ports
    const int64_t end = std::min(d_end[0], d_alignment.readable_until(0));
    std::vector<gr::tag_t> tags, own;
    get_tags_in_range(tags, 1, d_companion_seen, end, key(tags::rx_time));
    d_companion_seen = std::max(d_companion_seen, end);
    for (const auto& tag : tags) {
        const auto time = timestamp::from_pmt(tag.value);
        own.clear();
        get_tags_in_range(own, 0, tag.offset, tag.offset + 1, key(tags::rx_time));
        const auto frame = own.empty() ? std::nullopt : timestamp::from_pmt(own[0].value);
        if (!time || (!frame && (d_rate <= 0 || is_relative(*time))))
            continue;
        const double off =
            time->since(frame ? *frame : time_of(double(tick_of(0, tag.offset))));
        if (std::abs(off) * (d_rate > 0 ? d_rate : 1e6) >= 0.5) {
            fail(d_companion + " (port 1): rx_time at item " +
                 std::to_string(tag.offset) + " is " + text_of(off) +
                 " s after that of port 0: they are not of the same frames");
            return;
        }
    }
}

bool clocked_block::update(const gr_vector_int& available)
{
    if (failed())
        return false;
    for (size_t port = 0; port < d_ports.size(); port++)
        d_end[port] = first_item(port) + available[port];
    if (!d_begun) {
        if (*std::min_element(d_end.begin(), d_end.end()) < 1)
            return false;
        begin();
    }
    for (size_t port = 0; port < d_ports.size() && !failed(); port++)
        read_tags(int(port));
    for (size_t port = 0; port < d_ports.size(); port++) {
        d_alignment.wait_for_tags(int(port), true);
        d_alignment.wait_for_tags(int(port), more_tags_can_come(int(port)));
    }
    if (!d_companion.empty() && !failed())
        check_companion();
    report_alignment();
    return !failed();
}

void clocked_block::resume()
{
    const auto [moved, astray, later] = d_alignment.resume(d_end);
    for (size_t port = 0; port < d_ports.size(); port++) {
        auto& state = d_ports[port];
        if (state.epoch)
            state.epoch = *state.epoch + later;
        if (astray[port] && state.epoch)
            state.epoch = state.epoch->after(double(*astray[port]), d_rate);
        if (astray[port])
            state.keeps_place = false;
        if (std::exchange(state.introduced, false)) {
            state.true_time = true;
            state.epoch.reset();
            d_approximate = false;
            d_alignment.set_loose(int(port), false);
        }
    }
    for (auto& c : d_changes)
        c.tick += moved;
    for (auto& s : d_settings)
        s.tick += moved;
    for (auto& state : d_ports)
        if (state.numbered)
            state.numbered->tick += moved;
    d_alignments++;
    d_unchecked = position();
    on_moved(moved);
    if (d_taken_change) { // rx_freq is tagged on the first item, as at the very start
        auto again = *std::exchange(d_taken_change, std::nullopt);
        again.tick = std::min(position(), next_change()) - 1; // before all others
        d_changes.insert(d_changes.begin(), again);
    }
    d_corrected = d_alignment.corrected_at(position());
    on_begin();
    for (auto& state : d_ports)
        state.keeps_place = true;
    for (size_t port = 0; port < d_ports.size() && !failed(); port++)
        read_tags(int(port));
    report_alignment();
}

timestamp clocked_block::absolute(int port, int64_t item, const timestamp& t)
{
    const bool true_time = !d_comparing_true || d_ports[port].true_time;
    if (!is_relative(t) && true_time)
        return t;
    auto& epoch = d_ports[port].epoch;
    if (!epoch) { // the first item was not relative: the port stays where it was taken to
                  // be
        epoch = time_of(double(tick_of(port, item))) - t;
        d_approximate = true;
    }
    return *epoch + t;
}

void clocked_block::begin()
{
    std::vector<std::optional<timestamp>> times(d_ports.size());
    std::vector<bool> approximate(d_ports.size());
    for (size_t port = 0; port < d_ports.size(); port++) {
        std::vector<gr::tag_t> tags;
        pmt::pmt_t clock;
        get_tags_in_range(tags, port, 0, 1);
        for (const auto& t : tags) {
            if (t.key == key(tags::rx_time))
                times[port] = timestamp::from_pmt(t.value);
            else if (t.key == key(tags::approximate))
                approximate[port] = pmt::is_true(t.value);
            else if (t.key == key(tags::clock))
                clock = t.value;
            else if (t.key == key(tags::rx_rate))
                set_rate(port, 0, t.value);
            else if (auto number = number_of(t.value)) {
                if (t.key == key(tags::rx_freq))
                    d_ports[port].frequency = number;
                else if (t.key == key(tags::bandwidth))
                    d_bandwidth = *number;
                else if (t.key == key(tags::samples_per_item))
                    d_samples_per_item = int64_t(*number);
            }
        }
        set_clock(int(port), clock);
    }
    for (size_t port = 0; port < d_ports.size(); port++) {
        d_approximate = d_approximate || approximate[port];
        const bool since_1970 = times[port] && !is_relative(*times[port]);
        d_ports[port].true_time = since_1970 && !approximate[port];
        d_ports[port].guessed = since_1970 && approximate[port];
    }
    if (!d_true_times_only)
        check_times(times);
    d_comparing_true = d_true_times_only || guesses_differ(times);
    if (d_comparing_true && !d_true_times_only)
        place_guessed();
    d_alignment.set_kept(items_to_keep());
    const timestamp start = d_comparing_true ? set_true_times(times) : set_epochs(times);
    d_alignment.begin(times, start, d_rate, d_most_gap, d_anew_where_restated);
    report_alignment();
    for (size_t port = 0; port < d_ports.size(); port++) {
        const auto& frequency = d_ports[port].frequency;
        if (frequency && d_frequency && !same_frequency(*frequency, *d_frequency))
            fail("rx_freq of port " + std::to_string(port) + " is " +
                 text_of(*frequency) + " Hz, but that of another port " +
                 text_of(*d_frequency) + " Hz; all must be tuned alike");
        else if (frequency)
            change_frequency(int(port), 0, std::nullopt, *frequency);
    }
    d_begun = true;
    d_unchecked = position();
    if (!failed())
        on_begin();
    for (size_t port = 0; port < d_ports.size(); port++) {
        d_ports[port].keeps_place = true;
        d_alignment.set_loose(int(port), d_comparing_true && !d_ports[port].true_time);
    }
}

void clocked_block::introduce(int port, int64_t item, const timestamp& time)
{
    auto& state = d_ports[port];
    const bool known = std::any_of(d_ports.begin(), d_ports.end(), [](const auto& p) {
        return p.true_time || p.introduced;
    });
    if (!d_alignment.introduce(port, item, time, known))
        return;
    state.introduced = true;
    state.keeps_place = !known;
    if (!known)
        state.foreign = item;
}

void clocked_block::check_times(const std::vector<std::optional<timestamp>>& times)
{
    const auto without = std::count(times.begin(), times.end(), std::nullopt);
    if (times.size() == 1)
        return;
    for (size_t port = 0; port < times.size(); port++)
        if (!times[port]) {
            report("no_rx_time", int(port), 0, -1);
            if (without == int64_t(times.size()))
                break; // one word is enough
        }
    if (without == 0 && d_rate <= 0)
        report("no_rx_rate", 0, 0, -1);
}

bool clocked_block::guesses_differ(
    const std::vector<std::optional<timestamp>>& times) const
{
    const double same = d_rate > 0 ? 0.5 / d_rate : 0; // half an item
    for (size_t port = 0; port < times.size(); port++)
        for (const auto& t : times)
            if (d_ports[port].guessed && (!t || std::abs(t->since(*times[port])) > same))
                return true;
    return false;
}

void clocked_block::place_guessed()
{
    const bool known = std::any_of(
        d_ports.begin(), d_ports.end(), [](const auto& p) { return p.true_time; });
    for (size_t port = 0; port < d_ports.size(); port++) {
        if (!d_ports[port].guessed)
            continue;
        if (known && d_rate > 0)
            d_alignment.leave_unplaced(int(port));
        const std::string place =
            known ? "and another port knows its own: it is missing until it says its time"
                  : "and no port knows its own: they are taken to have begun together";
        report("not_aligned",
               int(port),
               0,
               -1,
               "its rx_time is a guess (rx_time_approximate), " + place +
                   "; stream_align, before this block, finds where it belongs");
    }
}

timestamp clocked_block::set_epochs(std::vector<std::optional<timestamp>>& times)
{
    std::optional<timestamp>
        known; // the latest beginning of the ports that know the time
    std::optional<timestamp>
        least; // the earliest of the ports that count from their start
    for (const auto& t : times) {
        if (t && is_relative(*t))
            least = least && least->since(*t) < 0 ? least : t;
        else if (t && (!known || t->since(*known) > 0))
            known = t;
    }
    d_approximate = d_approximate || !known;
    timestamp start = known ? *known : timestamp::now();
    // Streams that count from their own start began with those that know the time; where
    // none does, they share one epoch: they are taken as having begun together.
    for (size_t port = 0; port < times.size(); port++) {
        auto& epoch = d_ports[port].epoch;
        if (times[port] && is_relative(*times[port]))
            epoch = start - (known ? *times[port] : *least);
        else if (!known && least)
            epoch = start - *least;
    }
    for (size_t port = 0; port < times.size(); port++)
        if (times[port])
            times[port] = absolute(int(port), 0, *times[port]);
    for (const auto& t : times)
        if (t && t->since(start) > 0)
            start = *t;
    return start;
}

timestamp clocked_block::set_true_times(std::vector<std::optional<timestamp>>& times)
{
    std::optional<timestamp> known; // the latest beginning
    for (size_t port = 0; port < times.size(); port++)
        if (d_ports[port].true_time && (!known || times[port]->since(*known) > 0))
            known = times[port];
    d_approximate = !known;
    const timestamp start = known                                 ? *known
                            : times[0] && !is_relative(*times[0]) ? *times[0]
                                                                  : timestamp::now();
    for (size_t port = 0; port < times.size(); port++) {
        if (d_ports[port].true_time)
            continue;
        if (times[port])
            d_ports[port].epoch = start - *times[port];
        times[port] = start;
    }
    return start;
}

void clocked_block::read_tags(int port)
{
    auto& state = d_ports[port];
    std::vector<gr::tag_t> tags;
    const int64_t end = std::min(d_end[port], d_alignment.readable_until(port));
    get_tags_in_range(tags, port, state.seen, end);
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    for (size_t i = 0; i < tags.size() && !failed();) {
        const int64_t item = tags[i].offset;
        size_t next = i;
        while (next < tags.size() && int64_t(tags[next].offset) == item)
            next++;
        state.seen = item;
        d_alignment.reached(port, item);
        if (item >= d_alignment.readable_until(port))
            return;
        read_tags_of_item(port, item, { tags.begin() + i, tags.begin() + next });
        if (item >= d_alignment.readable_until(port))
            return;
        i = next;
    }
    d_alignment.reached(port, end);
    state.seen = std::max(state.seen, std::min(end, d_alignment.readable_until(port)));
}

void clocked_block::read_tags_of_item(int port,
                                      int64_t item,
                                      const std::vector<gr::tag_t>& tags)
{
    auto& state = d_ports[port];
    std::optional<timestamp> time;
    std::optional<double> frequency;
    bool rated = false, approximate = false;
    for (const auto& t : tags) {
        if (t.key == key(tags::approximate)) {
            approximate = pmt::is_true(t.value);
        } else if (t.key == key(tags::clock)) {
            set_clock(port, t.value);
        } else if (t.key == key(tags::rx_time)) {
            time = timestamp::from_pmt(t.value);
            if (!time)
                refuse("rx_time: " + text_of(t.value) + " on port " +
                       std::to_string(port) + " must be a time: " + timestamp::form);
        } else if (t.key == key(tags::rx_rate)) {
            set_rate(port, item, t.value);
            rated = true;
        } else if (t.key == key(tags::rx_freq)) {
            frequency = number_of(t.value);
        }
    }
    // A source that stopped and begins again, or is tuned to another frequency, tags its
    // rate, too. The same frequency alone, on each buffer for example, is no news.
    const bool resumed = rated || (frequency && frequency != state.frequency);
    if (time && item > 0 && state.stamped != item) {
        state.stamped = item;
        if (!is_relative(*time) && !d_alignment.knows_time())
            d_approximate = approximate; // from here on
        const bool true_time = !approximate && !is_relative(*time);
        if (d_comparing_true && state.true_time && !true_time && !state.epoch)
            state.foreign = item;
        if (d_comparing_true && d_rate > 0 && !state.true_time && true_time)
            introduce(port, item, *time);
        else if (!d_alignment.is_unplaced(port))
            d_alignment.stamp(port, item, absolute(port, item, *time), rated);
        if (item >= d_alignment.readable_until(port))
            return; // the rest is read once the ports are aligned anew
    }
    if (item > 0) { // begin() has read those of item 0
        if ((!time || state.foreign == item) && resumed) {
            report("lost_unknown", port, item, -1);
            d_alignment.loss(port, item);
            on_loss(port, item);
        }
        if (frequency && frequency != state.frequency) {
            d_alignment.boundary(port, item);
            change_frequency(port, tick_of(port, item), state.frequency, *frequency);
            state.frequency = frequency;
            on_tuned(port, item);
        }
    }
    for (const auto& t : tags)
        if (d_takes_filled && t.key == key(tags::missing)) {
            const auto count =
                pmt::is_dict(t.value)
                    ? pmt::dict_ref(t.value, key(tags::count), pmt::PMT_NIL)
                    : pmt::PMT_NIL;
            const double items = number_of(count).value_or(-1);
            if (items >= 0 && items < 1e15)
                d_alignment.filled(port, item, int64_t(items));
            else
                refuse("missing: " + text_of(t.value) + " on port " +
                       std::to_string(port) + " must have a count");
        } else if (t.key == key(tags::settings)) {
            read_settings(port, tick_of(port, item), t.value);
        } else if (t.key == key(tags::first_spectrum)) {
            if (const auto spectrum = count_of(t.value))
                number_spectra(port, tick_of(port, item), int64_t(*spectrum));
        } else if (t.key != key(tags::rx_time) && t.key != key(tags::rx_rate) &&
                   t.key != key(tags::rx_freq) && t.key != key(tags::bandwidth) &&
                   t.key != key(tags::approximate) && t.key != key(tags::clock) &&
                   t.key != key(tags::samples_per_item))
            on_tag(port, t);
}

void clocked_block::report_alignment()
{
    using kind = stream_alignment::event::kind;
    for (const auto& e : d_alignment.take_events()) {
        if (e.what == kind::gap || e.what == kind::overlap || e.what == kind::first_stamp)
            d_unchecked =
                std::max(tick_of(e.port, e.item), d_unchecked.value_or(position()));
        switch (e.what) {
        case kind::gap:
            report("lost", e.port, e.item, e.count);
            break;
        case kind::overlap:
            report("overlap", e.port, e.item, e.count);
            break;
        case kind::odd_stamp:
            report("odd_stamp", e.port, e.item, e.count);
            break;
        case kind::first_stamp:
            report("first_stamp", e.port, e.item, std::abs(e.count));
            break;
        case kind::no_stamp:
            report("taken_as_aligned", e.port, e.item, -1);
            break;
        case kind::drift:
            report_drift(e);
            break;
        case kind::new_start:
            report("clock_jump", e.port, e.item, e.count);
            break;
        case kind::early_start:
            if (double(e.count) > d_most_gap * d_rate)
                fail("port " + std::to_string(e.port) + " begins " +
                     text_of(double(e.count) / d_rate) +
                     " s before another one; at most " + text_of(d_most_gap) +
                     " s (most_gap) are allowed: they are not of one observation");
            else if (double(e.count) > d_rate)
                report("early_start", e.port, e.item, e.count);
            else
                d_logger->info("port {:d}: {:d} items before the first one of the last "
                               "port are dropped",
                               e.port,
                               e.count);
        }
    }
    if (const int port = d_begun ? d_alignment.hopeless(d_end) : -1;
        port >= 0 && !failed())
        fail("port " + std::to_string(port) + " lags behind the others by more than " +
             text_of(d_most_gap) + " s (most_gap)");
}

void clocked_block::check_parts()
{
    // a block that moves ports itself knows better than the stamps
    if (d_samples_per_item <= 0 || d_rate <= 0 || d_approximate || d_true_times_only)
        return;
    const double samples_a_second = d_rate * double(d_samples_per_item);
    int first = -1; // the port that others are compared with
    for (int port = 0; port < int(d_ports.size()); port++) {
        if (!d_alignment.is_timed(port))
            continue;
        if (first < 0) {
            first = port;
            continue;
        }
        const double samples =
            (lag(port, position()) - lag(first, position())) * double(d_samples_per_item);
        // A receiver's stamps place samples to half of one at best.
        const double most =
            std::max(0.5,
                     (d_alignment.scatter(port) + d_alignment.scatter(first)) *
                         double(d_samples_per_item));
        double& said = d_ports[port].apart;
        if (std::abs(samples) <= most)
            said = 0;
        // ports of clocks that are followed walk all the time
        else if (said == 0 ||
                 (!d_alignment.is_followed() && std::abs(samples - said) > most)) {
            said = samples;
            const auto rounded = [](double number) {
                return text_of(std::round(number * 1000) / 1000);
            };
            const double seconds = std::abs(samples) / samples_a_second;
            const std::string number = rounded(std::abs(samples));
            report("between_spectra",
                   port,
                   d_alignment.item_at(port, position()),
                   -1,
                   "by rx_time its spectra begin " + number +
                       (number == "1" ? " sample " : " samples ") +
                       (samples > 0 ? "later" : "earlier") + " than those of port " +
                       std::to_string(first) + ", a part of the " +
                       std::to_string(d_samples_per_item) +
                       " from one item to the next. Ports are shifted by whole items "
                       "only: this leaves the products of the two a phase that " +
                       (samples > 0 ? "rises" : "falls") + " by " +
                       rounded(seconds * 1e6) + " cycles a MHz" +
                       (d_bandwidth > 0
                            ? ", " + rounded(seconds * d_bandwidth) + " over the band"
                            : "") +
                       ". Filter banks that begin with the same sample, as those of one "
                       "block do, or of blocks behind stream_align, leave none");
        }
    }
}

void clocked_block::change_frequency(int port,
                                     int64_t tick,
                                     const std::optional<double>& before,
                                     double frequency)
{
    d_frequency = frequency;
    // no limit below which it would be none: a receiver that follows a Doppler shift
    // makes many small steps
    if (frequency == before)
        return;
    // The newest tag of a port holds, even where its samples came twice.
    for (const auto& c : d_changes)
        if (c.port == port)
            tick = std::max(tick, c.tick);
    // Tags are read a port at a time: those of one may lie before others' that were read.
    const port_change added{ tick, port, frequency };
    const auto behind = std::upper_bound(
        d_changes.begin(), d_changes.end(), added, [](const auto& a, const auto& b) {
            return std::pair(a.tick, a.port) < std::pair(b.tick, b.port);
        });
    d_changes.insert(behind, added);
}

bool clocked_block::is_news(const port_change& c) const
{
    const auto& taken = d_taken_change;
    return !taken || (c.frequency != taken->frequency &&
                      (c.port == taken->port || c.tick > taken->tick));
}

int64_t clocked_block::next_change() const
{
    const auto next = std::find_if(
        d_changes.begin(), d_changes.end(), [this](const auto& c) { return is_news(c); });
    return next == d_changes.end() ? timeline::none : next->tick;
}

void clocked_block::announce(int64_t tick, const pmt::pmt_t& setting)
{
    const auto behind = std::find_if(d_settings.begin(),
                                     d_settings.end(),
                                     [=](const auto& s) { return s.tick > tick; });
    d_settings.insert(behind, { tick, setting });
}

void clocked_block::read_settings(int port, int64_t tick, const pmt::pmt_t& settings)
{
    if (!pmt::is_vector(settings))
        return refuse("settings: " + text_of(settings) + " must be a vector");
    for (size_t i = 0; i < pmt::length(settings); i++) {
        for (const auto& setting : settings_behind(port, pmt::vector_ref(settings, i)))
            // a block of several ports passes it on with each
            if (std::none_of(d_settings.begin(), d_settings.end(), [&](const auto& s) {
                    return s.tick == tick && pmt::equal(s.setting, setting);
                }))
                announce(tick, setting);
    }
}

pmt::pmt_t clocked_block::take_settings(int64_t tick)
{
    const auto end = std::find_if(d_settings.begin(),
                                  d_settings.end(),
                                  [=](const auto& s) { return s.tick > tick; });
    const size_t count = end - d_settings.begin();
    if (count == 0)
        return nullptr;
    const auto taken = pmt::make_vector(count, pmt::PMT_NIL);
    for (size_t i = 0; i < count; i++)
        pmt::vector_set(taken, i, d_settings[i].setting);
    d_settings.erase(d_settings.begin(), end);
    return taken;
}

int64_t clocked_block::next_turn(int64_t behind) const
{
    for (const auto& s : d_settings)
        if (s.tick > behind && pmt::is_dict(s.setting) &&
            pmt::dict_has_key(s.setting, key(tags::direction)))
            return s.tick;
    return timeline::none;
}

void clocked_block::tag_settings(int port, uint64_t item, int64_t tick)
{
    if (const auto settings = take_settings(tick))
        tag(port, item, tags::settings, settings);
}

void clocked_block::set_rate(int port, int64_t item, const pmt::pmt_t& given)
{
    const double rate = number_of(given).value_or(0);
    if (!(rate > 0))
        fail("rx_rate of port " + std::to_string(port) + ": " + text_of(given) +
             " at item " + std::to_string(item) +
             " is not allowed; it must be a finite number above 0");
    else if (d_rate > 0 && std::abs(rate - d_rate) > 1e-9 * d_rate)
        fail("rx_rate of port " + std::to_string(port) + " is " + text_of(rate) +
             " at item " + std::to_string(item) + ", but was " + text_of(d_rate) +
             " before or on another port; all items must have one rate");
    else if (d_rate <= 0) {
        d_rate = rate;
        if (d_begun) {
            d_alignment.set_rate(rate);
            d_alignment.set_kept(items_to_keep());
        }
    }
}

void clocked_block::set_clock(int port, const pmt::pmt_t& name)
{
    using source = stream_clock::source;
    auto said = source::items;
    if (name && pmt::is_symbol(name)) { // GNU Radio's strings are symbols
        const std::string text = pmt::symbol_to_string(name);
        said = text == counted_clock    ? source::items
               : text == followed_clock ? source::followed
                                        : source::another;
    } else if (name) {
        refuse("rx_time_clock: " + text_of(name) + " on port " + std::to_string(port) +
               " must be a string, the name of a clock");
    }
    if (said == source::items && d_follow_clock)
        said = source::another;
    d_alignment.set_source(port, said);
}

void clocked_block::report_drift(const stream_alignment::event& e)
{
    const std::string ppm = text_of(std::round(e.slope * 1e8) / 100);
    const std::string reason =
        "rx_time walks away from the samples by " + ppm +
        " millionths, through parts of them: it is of another clock than the samples, or "
        "rx_rate is not quite the rate. Where the samples lie is not known, and they are "
        "missing from here on. Where it is so, follow_clock of the first block with a "
        "clock, or the tag rx_time_clock of the source, has the time follow";
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::event), pmt::intern("clock_drift"));
    dict = pmt::dict_add(dict, key(tags::port), pmt::from_long(e.port));
    dict = pmt::dict_add(dict, key(tags::item), pmt::from_uint64(e.item));
    dict = pmt::dict_add(dict, key(tags::ppm), pmt::from_double(e.slope * 1e6));
    dict = pmt::dict_add(dict, key(tags::reason), pmt::intern(reason));
    message_port_pub(status_port, dict);
    d_logger->warn("clock_drift at item {:d} of port {:d}: {:s}", e.item, e.port, reason);
}

void clocked_block::on_tag(int, const gr::tag_t&) {}

std::vector<const char*>
clocked_block::starts_of(const timeline::run& run,
                         const gr_vector_const_void_star& input_items)
{
    std::vector<const char*> starts(d_ports.size());
    for (size_t port = 0; port < starts.size(); port++)
        if (const int64_t item = run.first_item[port]; item >= 0)
            starts[port] = static_cast<const char*>(input_items[port]) +
                           (item + d_alignment.reach_of(port).before - first_item(port)) *
                               int64_t(input_signature()->sizeof_stream_item(int(port)));
    return starts;
}

const char*
clocked_block::start_of_companion(const timeline::run& run,
                                  const gr_vector_const_void_star& input_items)
{
    const int64_t item = run.first_item[0];
    return item < 0 ? nullptr
                    : static_cast<const char*>(input_items[1]) +
                          (item - first_item(0)) *
                              int64_t(input_signature()->sizeof_stream_item(1));
}

void clocked_block::consume_passed()
{
    d_alignment.release();
    for (size_t port = 0; port < d_ports.size(); port++) {
        const int64_t passed = std::min(d_alignment.needed_from(int(port)), d_end[port]);
        if (passed <= first_item(port))
            continue;
        const int count = int(passed - first_item(port));
        consume(port, count);
        if (!d_companion.empty())
            consume(1, count);
    }
}

void clocked_block::set_most_gap(double seconds)
{
    require(
        seconds >= 0 && seconds <= 1e6, "most_gap", text_of(seconds), "0 to 1e6 seconds");
    d_most_gap = seconds;
}

bool clocked_block::take_correction(int64_t tick)
{
    const int64_t corrected = d_alignment.corrected_at(tick);
    if (corrected <= d_corrected)
        return false;
    d_corrected = corrected;
    return true;
}

std::vector<clocked_block::change> clocked_block::take_changes(int64_t tick)
{
    std::vector<change> taken;
    auto c = d_changes.begin();
    for (; c != d_changes.end() && c->tick <= tick; ++c) {
        if (!is_news(*c))
            continue;
        taken.push_back({ c->tick, c->frequency });
        d_taken_change = *c;
    }
    d_changes.erase(d_changes.begin(), c);
    return taken;
}

void clocked_block::tag(int port,
                        uint64_t item,
                        const char* name,
                        const pmt::pmt_t& value)
{
    add_item_tag(port, item, key(name), value, alias_pmt());
}

void clocked_block::tag_time(int port, uint64_t item, const timestamp& time)
{
    auto& output = output_of(port);
    if (output.timed != int64_t(item)) {
        tag(port, item, tags::rx_time, time.to_pmt());
        if (d_approximate)
            tag(port, item, tags::approximate, pmt::PMT_T);
    }
    output.timed = int64_t(item);
    output.said.say_time(item, time);
    if (d_alignment.is_followed() && !output.followed)
        tag(port, item, tags::clock, pmt::intern(followed_clock));
    output.followed = d_alignment.is_followed();
}

clocked_block::output_state& clocked_block::output_of(int port)
{
    if (d_outputs.size() <= size_t(port))
        d_outputs.resize(port + 1);
    return d_outputs[port];
}

void clocked_block::tag_integration(int port,
                                    uint64_t item,
                                    const std::optional<timestamp>& time,
                                    uint64_t spectra,
                                    const std::vector<uint64_t>& counted)
{
    const auto news = output_of(port).said.take(item, time, spectra, counted);
    if (news.time)
        tag_time(port, item, *time);
    if (news.spectra)
        tag(port, item, tags::spectra, pmt::from_uint64(spectra));
    if (news.counted)
        tag(port, item, tags::counted, pmt::init_u64vector(counted.size(), counted));
}

void clocked_block::tag_description(int port, uint64_t item, const description& d)
{
    auto& output = output_of(port);
    output.followed = false; // reported again, as all else is
    output.said.begin(d.rate);
    tag_time(port, item, d.time);
    if (d.rate > 0)
        tag(port, item, tags::rx_rate, pmt::from_double(d.rate));
    if (d.bandwidth > 0)
        tag(port, item, tags::bandwidth, pmt::from_double(d.bandwidth));
    if (d.samples_per_item > 0)
        tag(port, item, tags::samples_per_item, pmt::from_uint64(d.samples_per_item));
    if (d.first_spectrum)
        tag(port, item, tags::first_spectrum, pmt::from_uint64(*d.first_spectrum));
}

std::optional<int64_t> clocked_block::first_spectrum_of(int64_t tick) const
{
    const auto& numbered = d_ports[0].numbered;
    if (!numbered)
        return std::nullopt;
    return numbered->spectrum + (tick - numbered->tick) * spectra_of_item();
}

void clocked_block::number_spectra(int port, int64_t tick, int64_t spectrum)
{
    d_ports[port].numbered = { tick, spectrum, d_alignments };
    for (size_t other = 0; other < d_ports.size(); other++) {
        const auto& theirs = d_ports[other].numbered;
        if (!theirs || theirs->alignment != d_alignments)
            continue;
        const int64_t later =
            theirs->spectrum + (tick - theirs->tick) * spectra_of_item() - spectrum;
        if (later != 0)
            fail("first_spectrum: the oversampled spectra of port " +
                 std::to_string(port) + " count from one that is " +
                 std::to_string(std::abs(later)) + (later > 0 ? " later" : " earlier") +
                 " than that of port " + std::to_string(other) +
                 ", and so do their phases: their filter banks have to begin with the "
                 "same sample, as those of one block do, or of blocks behind "
                 "stream_align");
    }
}

void clocked_block::tag_frequency(int port,
                                  uint64_t item,
                                  const timestamp& time,
                                  double frequency)
{
    tag_time(port, item, time);
    tag(port, item, tags::rx_freq, pmt::from_double(frequency));
}

std::optional<clocked_block::lost_spectra>
clocked_block::read_missing(const gr::tag_t& tag, int port, int inputs)
{
    if (tag.key != key(tags::missing) || !pmt::is_dict(tag.value))
        return std::nullopt;
    auto number = [&](const char* name) {
        const auto value = pmt::dict_ref(tag.value, key(name), pmt::PMT_NIL);
        return int64_t(number_of(value).value_or(-1));
    };
    const int64_t input = number(tags::input);
    const lost_spectra lost{ int(input), number(tags::first), number(tags::count) };
    if (input < 0 || input >= inputs || lost.first < 0 || lost.count < 0) {
        refuse("missing: " + text_of(tag.value) + " on port " + std::to_string(port) +
               " must have an input from 0 to " + std::to_string(inputs - 1) +
               ", first and count");
        return std::nullopt;
    }
    return lost;
}

void clocked_block::tag_missing(
    int port, uint64_t item, int input, uint64_t first, uint64_t count)
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::input), pmt::from_long(input));
    dict = pmt::dict_add(dict, key(tags::first), pmt::from_uint64(first));
    dict = pmt::dict_add(dict, key(tags::count), pmt::from_uint64(count));
    tag(port, item, tags::missing, dict);
}

void clocked_block::report(const std::string& event,
                           int port,
                           int64_t item,
                           int64_t count,
                           const std::string& reason)
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::event), pmt::intern(event));
    dict = pmt::dict_add(dict, key(tags::port), pmt::from_long(port));
    dict = pmt::dict_add(dict, key(tags::item), pmt::from_uint64(item));
    if (count >= 0)
        dict = pmt::dict_add(dict, key(tags::count), pmt::from_uint64(count));
    if (!reason.empty())
        dict = pmt::dict_add(dict, key(tags::reason), pmt::mp(reason));
    message_port_pub(status_port, dict);
    const int held = d_log_limit.pass();
    if (held >= 0)
        d_logger->warn("{:s} at item {:d} of port {:d}{:s}{:s}{:s}",
                       event,
                       item,
                       port,
                       count >= 0 ? ": " + std::to_string(count) + " items" : "",
                       reason.empty() ? "" : ": " + reason,
                       held ? " (and " + std::to_string(held) + " events before it)"
                            : "");
}

void clocked_block::take_settings(const char* port,
                                  const std::function<void(const pmt::pmt_t&)>& receive)
{
    message_port_register_in(pmt::mp(port));
    set_msg_handler(pmt::mp(port), [this, receive](const pmt::pmt_t& message) {
        try {
            receive(message);
        } catch (const std::exception& e) {
            refuse(e.what());
        }
    });
}

void clocked_block::refuse(const std::string& reason)
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::event), pmt::mp("refused"));
    dict = pmt::dict_add(dict, key(tags::reason), pmt::mp(reason));
    message_port_pub(status_port, dict);
    const int held = d_log_limit.pass();
    if (held >= 0)
        d_logger->warn("refused: {:s}{:s}",
                       reason,
                       held ? " (and " + std::to_string(held) + " events before it)"
                            : "");
}

} // namespace gr::aperture
