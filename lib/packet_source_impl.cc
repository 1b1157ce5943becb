/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "formats/transposition.h"
#include "kernels/common/types.h"
#include "packet_source_impl.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture {

namespace {

using beginning = formats::packet_layout::beginning;
using network::packet_window;
using std::chrono::milliseconds;

const pmt::pmt_t status_port = pmt::mp("status");
// longest wait of a call for packets
constexpr milliseconds wait_for_packets{ 20 };
// time after which the stream goes on without a row that has not come
constexpr double shortest_patience = 0.1, shortest_quiet = 0.2; // s
constexpr double patient_packets = 8;
// time without packets after which a warning says so
constexpr std::chrono::seconds silence{ 3 };

int64_t nanoseconds(double least, const formats::ratio& packet_rate)
{
    return int64_t(
        std::min(1e17, 1e9 * std::max(least, patient_packets / packet_rate.to_double())));
}

packet_window::parameters window_of(const packet_source::parameters& p,
                                    const packet_plan& plan)
{
    packet_window::parameters w;
    w.streams = plan.streams();
    w.payload_bytes = plan.settings.payload_bytes();
    w.depth = p.window;
    w.confirm = p.confirm;
    const int64_t row = w.streams * w.payload_bytes;
    const int64_t rows = packet_window::fewest_rows(p.window) + p.queue / row;
    constexpr int64_t most = int64_t(1) << 40;
    require(rows < (1 << 30) && rows * row <= most,
            "window",
            std::to_string(p.window),
            "so few that the window and its queue, " + std::to_string(rows) +
                " packets of each of " + std::to_string(w.streams) +
                " streams, have at most 2^40 bytes");
    w.rows = int(rows);
    w.quiet = nanoseconds(shortest_quiet, plan.settings.packets_per_second());
    return w;
}

formats::exact_time time_of_ns(int64_t ns)
{
    constexpr int64_t per_second = 1'000'000'000;
    return { ns / per_second, ns % per_second * per_second };
}

} // namespace

std::map<std::string, std::string> packet_transports()
{
    std::map<std::string, std::string> found;
    for (const auto& kind : network::transports())
        found[kind.name] = kind.missing;
    return found;
}

packet_source::sptr packet_source::make(const parameters& p)
{
    check_parameters<packet_source>(p);
    const auto plan = plan_packets_of(p, p.center_frequency, p.bandwidth);
    require(!p.addresses.empty() || !p.files.empty(),
            "addresses",
            "an empty list",
            "at least one, or `files`");
    require(
        !p.masks || plan.frames(), "masks", "true", "false where there are no frames");
    require_time("start_time", p.start_time);
    return gnuradio::make_block_sptr<packet_source_impl>(p, plan);
}

packet_source_impl::packet_source_impl(const parameters& p, const packet_plan& plan)
    : gr::sync_block(
          "packet_source", gr::io_signature::make(0, 0, 0), plan.signature(p.masks)),
      d_p(p),
      d_plan(plan),
      d_packet_rate(plan.settings.packets_per_second()),
      d_most_gap(int64_t(std::min(1e18, p.most_gap * d_packet_rate.to_double()))),
      d_patience(nanoseconds(shortest_patience, d_packet_rate)),
      d_window(window_of(p, plan)),
      d_intake(plan.headers(),
               plan.channel_numbers,
               plan.input_numbers,
               network::sender_list("senders", p.senders),
               d_window),
      d_addresses(plan.addresses),
      d_gaps(plan.frames() ? 1 : size_t(plan.streams())),
      d_item_limit(uint64_t(p.items)),
      d_order(plan.layout, plan.settings, plan.all_inputs(), plan.spectra()),
      d_unpacked(size_t(plan.settings.samples) * size_t(plan.settings.inputs) *
                 plan.element()),
      d_missing(size_t(plan.all_inputs())),
      d_clamped(size_t(plan.all_inputs()))
{
    message_port_register_out(status_port);
    if (p.files.empty()) {
        open_receivers();
    } else {
        for (const auto& file : p.files)
            network::pcap_reader{ file }; // throws at once if the file cannot be read
    }
    for (int port = 0; port < plan.ports(); port++)
        set_min_output_buffer(
            port,
            plan.frames() ? 4
                          : long(std::max<int64_t>(
                                4,
                                (int64_t(1) << 22) / plan.ports() /
                                    (plan.inputs_per_port * int64_t(plan.element())))));
}

void packet_source_impl::open_receivers()
{
    network::transport_parameters t;
    t.addresses = d_plan.addresses;
    t.interface = d_p.interface;
    t.queues = d_p.queues;
    t.buffer_bytes = d_p.socket_buffer;
    t.most_bytes = d_plan.headers().packet_bytes();
    t.dpdk_arguments = d_p.dpdk_arguments;
    auto opened = network::open_transport(d_p.transport, t);
    d_transport = opened.name;
    if (!opened.remark.empty())
        d_logger->warn("{:s}", opened.remark);
    // cores are for those that most packets come to
    const bool by_sockets = opened.queues.empty();
    const size_t threads = by_sockets ? opened.sockets.size() : opened.queues.size();
    require(d_p.cores.empty() || d_p.cores.size() == threads,
            "cores",
            std::to_string(d_p.cores.size()) + " of them",
            "empty, or one for each of the " + std::to_string(threads) +
                (by_sockets ? " addresses" : " queues"));
    for (const int core : d_p.cores)
        network::check_core("cores", core);
    const auto receive = [&](auto& queues, bool cores) {
        for (size_t i = 0; i < queues.size(); i++)
            d_receivers.push_back(std::make_unique<network::packet_receiver>(
                std::move(queues[i]), cores && !d_p.cores.empty() ? d_p.cores[i] : -1));
    };
    if (opened.only_join)
        d_joined = std::move(opened.sockets);
    else
        receive(opened.sockets, by_sockets);
    d_sockets = d_receivers.size();
    receive(opened.queues, true);
}

// ---- public methods

std::map<std::string, uint64_t> packet_source_impl::counts() const
{
    const auto& came = d_intake.counted();
    const auto ordered = d_window.counted();
    uint64_t dropped = 0;
    for (const auto& receiver : d_receivers)
        dropped += receiver->queue().dropped();
    return { { "received", came.received },
             { "used", ordered.used },
             { "repeated", ordered.repeated },
             { "late", ordered.late },
             { "stray", ordered.stray },
             { "overrun", ordered.overrun },
             { "wrong", came.wrong },
             { "refused", came.refused },
             { "unwanted", came.unwanted },
             { "dropped", dropped },
             { "lost", d_lost },
             { "restarts", ordered.restarts },
             { "senders", d_window.senders() },
             { "passed_over", d_passed_over } };
}

std::vector<uint64_t> packet_source_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

std::vector<uint64_t> packet_source_impl::clamped() const
{
    return { d_clamped.begin(), d_clamped.end() };
}

std::vector<int> packet_source_impl::socket_buffers() const
{
    std::vector<int> bytes;
    for (size_t i = 0; i < d_sockets; i++)
        bytes.push_back(int(d_receivers[i]->queue().buffer_bytes()));
    return bytes;
}

std::string packet_source_impl::error() const
{
    std::lock_guard<std::mutex> guard(d_error_mutex);
    return d_error;
}

void packet_source_impl::fail(const std::string& why)
{
    std::lock_guard<std::mutex> guard(d_error_mutex);
    if (d_error.empty())
        d_logger->error("{:s}", why);
    d_error = why;
}

// ---- start and stop

void packet_source_impl::forget()
{
    drop_run();
    d_behind.reset();
    d_window.clear();
    d_intake.clear();
    d_file = 0;
    d_reader.reset();
    d_files_ended = false;
    d_passed_over = 0;
    d_started = d_frame_padded = d_clock_due = d_approximate = false;
    d_filled = 0;
    std::fill(d_gaps.begin(), d_gaps.end(), gap());
    d_lost = 0;
    for (auto* counts : { &d_missing, &d_clamped })
        for (auto& count : *counts)
            count = 0;
    std::lock_guard<std::mutex> guard(d_error_mutex);
    d_error.clear();
}

bool packet_source_impl::start()
{
    // lock and unlock of a flowgraph come through here, too; the stream goes on then
    if (nitems_written(0) == 0)
        forget();
    d_refill = d_filled > 0;
    d_published = d_heard = std::chrono::steady_clock::now();
    d_silence_said = false;
    try {
        for (const auto& socket : d_joined)
            socket->open();
        for (const auto& receiver : d_receivers)
            receiver->start([this](const network::datagram* datagrams, size_t count) {
                if (count)
                    d_intake.take(datagrams, count);
                d_window.flush(network::time_now(), d_patience);
            });
    } catch (const std::exception& error) {
        fail(error.what());
    }
    if (const auto given = socket_buffers();
        d_transport == "socket" && !given.empty() && given.front() < d_p.socket_buffer)
        d_logger->warn("the socket's buffer has {:d} bytes, not {:d}: `sysctl -w "
                       "net.core.rmem_max={:d}` lets it be larger",
                       given.front(),
                       d_p.socket_buffer,
                       d_p.socket_buffer);
    return true;
}

bool packet_source_impl::stop()
{
    for (const auto& receiver : d_receivers)
        receiver->stop();
    for (const auto& socket : d_joined)
        socket->close();
    d_finish = false;
    return true;
}

// ---- rows

bool packet_source_impl::read_file()
{
    for (;;) {
        if (!d_reader) {
            if (d_file == d_p.files.size())
                return false;
            d_reader = std::make_unique<network::pcap_reader>(d_p.files[d_file++]);
        }
        network::captured c;
        const uint64_t others = d_reader->others();
        const bool found = d_reader->next(c);
        d_passed_over += d_reader->others() - others;
        if (!found) {
            if (!d_reader->error().empty())
                fail(d_reader->error());
            d_reader.reset();
            continue;
        }
        int address = 0;
        if (!d_plan.addresses.empty()) {
            address = d_addresses.find(c.to);
            if (address < 0) {
                d_passed_over++;
                continue;
            }
        }
        const network::datagram d{
            c.from, c.arrival, network::byte_view::of(c.data, c.bytes), c.cut, address
        };
        d_intake.take(&d, 1);
        return true;
    }
}

std::optional<packet_window::row> packet_source_impl::next_row(milliseconds wait)
{
    if (d_behind) {
        const auto row = *d_behind;
        d_behind.reset();
        return row;
    }
    if (!d_receivers.empty())
        return d_window.take(wait);
    for (;;) {
        if (const auto row = d_window.take(milliseconds(0)))
            return row;
        if (d_files_ended)
            return {};
        if (!read_file()) {
            d_window.finish();
            d_files_ended = true;
        }
    }
}

void packet_source_impl::count_lost(const packet_window::row& r)
{
    const auto streams = uint64_t(d_plan.streams());
    uint64_t there = 0;
    for (size_t word = 0; r.payloads && word < (streams + 63) / 64; word++)
        there += uint64_t(__builtin_popcountll(r.present[word]));
    d_lost += uint64_t(r.count) * streams - there;
}

void packet_source_impl::set_origin(const packet_window::row& r)
{
    const bool given = d_p.start_time.first != 0 || d_p.start_time.second != 0;
    d_approximate = false;
    if (d_plan.layout.absolute()) {
        d_origin = {};
    } else if (d_plan.layout.begins == beginning::at_seconds) {
        d_origin = { r.epoch, 0 };
    } else if (given && !d_started) {
        d_origin = { int64_t(d_p.start_time.first),
                     std::llround(d_p.start_time.second *
                                  formats::exact_time::per_second) };
    } else {
        // the sender began to count again, at an unknown time
        d_origin = time_of_ns(r.arrival) - d_packet_rate.duration(r.number);
        d_approximate = true;
    }
}

void packet_source_impl::start_run(const packet_window::row& r)
{
    const auto missing_rows = [&](int64_t number, int64_t count) {
        d_run = run{
            { number, count, nullptr, nullptr, r.arrival, false, r.from, -1, d_epoch },
            number,
            count
        };
        count_lost(d_run->row);
    };
    const int64_t frame = d_plan.packets_per_frame;
    if (d_frame_padded || !d_started || r.number != d_next || r.epoch != d_epoch) {
        const int64_t gap = r.number - d_next;
        if (d_started && !d_frame_padded) {
            const bool fill = gap > 0 && gap <= d_most_gap && r.epoch == d_epoch;
            publish_restart(r, fill ? "gap" : "restart");
            if (fill || d_filled > 0) {
                // zeros, or the rest of the frame before; then this row comes again
                d_behind = r;
                missing_rows(d_next, fill ? gap : frame - d_filled);
                d_frame_padded = !fill;
                d_next = r.number;
                return;
            }
        }
        if (!d_started || !d_plan.layout.absolute())
            set_origin(r);
        d_frame_padded = false;
        d_epoch = r.epoch;
        d_started = d_clock_due = true;
        const int64_t before = d_plan.frames() ? r.number % frame : 0;
        if (before > 0) {
            d_behind = r;
            missing_rows(r.number - before, before);
            d_next = r.number;
            return;
        }
    }
    d_run = run{ r, r.number, r.count };
    count_lost(r);
    d_next = r.number + r.count;
}

bool packet_source_impl::next_run(milliseconds wait)
{
    const auto row = next_row(wait);
    if (row)
        start_run(*row);
    return row.has_value();
}

void packet_source_impl::drop_run()
{
    if (d_run)
        d_window.release(d_run->row);
    d_run.reset();
}

// ---- tags and messages

formats::exact_time packet_source_impl::time_of(int64_t number, int64_t sample) const
{
    return d_origin + d_packet_rate.duration(number) +
           d_plan.settings.rate.duration(sample);
}

void packet_source_impl::tag_clock(uint64_t item, int64_t number, int64_t sample)
{
    const auto time = time_of(number, sample);
    const auto tag = [&](const char* name, const pmt::pmt_t& value) {
        const int ports = d_plan.ports() + d_p.masks;
        for (int port = 0; port < ports; port++)
            add_item_tag(port, item, pmt::mp(name), value);
    };
    const double rate = d_plan.settings.rate.to_double();
    tag(tags::rx_time,
        pmt::make_tuple(pmt::from_uint64(uint64_t(time.seconds)),
                        pmt::from_double(time.fraction())));
    tag(tags::rx_freq, pmt::from_double(d_p.center_frequency));
    if (d_approximate)
        tag(tags::approximate, pmt::PMT_T);
    if (!d_plan.frames()) {
        tag(tags::rx_rate, pmt::from_double(rate));
        return;
    }
    const double bandwidth = d_p.bandwidth > 0 ? d_p.bandwidth : d_plan.channels() * rate;
    tag(tags::rx_rate, pmt::from_double(rate / d_plan.spectra()));
    tag(tags::bandwidth, pmt::from_double(bandwidth));
    tag(tags::samples_per_item,
        pmt::from_uint64(uint64_t(std::llround(bandwidth / rate * d_plan.spectra()))));
}

void packet_source_impl::miss(int stream, int64_t first, int64_t count)
{
    gap& g = d_gaps[size_t(stream)];
    if (g.count > 0 && g.first + g.count == first) {
        g.count += count;
        return;
    }
    tag_gap(stream, g);
    g = { first, count };
}

void packet_source_impl::tag_gap(int stream, gap& g)
{
    if (g.count == 0)
        return;
    // a gap of frames is one of all inputs
    const int inputs = d_plan.frames() ? d_plan.all_inputs() : d_plan.settings.inputs;
    const uint64_t item =
        uint64_t(d_plan.frames() ? g.first / d_plan.spectra() : g.first);
    for (int i = 0; i < inputs; i++) {
        const int input = stream * inputs + i;
        const int in_port = d_plan.frames() ? input : input % d_plan.inputs_per_port;
        const int port = d_plan.frames() ? 0 : input / d_plan.inputs_per_port;
        auto dict = pmt::make_dict();
        dict = pmt::dict_add(dict, pmt::mp(tags::input), pmt::from_long(in_port));
        dict = pmt::dict_add(
            dict, pmt::mp(tags::first), pmt::from_uint64(uint64_t(g.first)));
        dict = pmt::dict_add(
            dict, pmt::mp(tags::count), pmt::from_uint64(uint64_t(g.count)));
        add_item_tag(port, item, pmt::mp(tags::missing), dict);
        d_missing[size_t(input)] += uint64_t(g.count);
    }
    g.count = 0;
}

void packet_source_impl::tag_gaps()
{
    for (size_t stream = 0; stream < d_gaps.size(); stream++)
        tag_gap(int(stream), d_gaps[stream]);
}

void packet_source_impl::publish_counts()
{
    const auto now = std::chrono::steady_clock::now();
    if (d_p.status_interval <= 0 ||
        now - d_published < std::chrono::duration<double>(d_p.status_interval))
        return;
    d_published = now;
    auto dict = pmt::make_dict();
    dict = pmt::dict_add(dict, pmt::mp(tags::event), pmt::mp("counts"));
    dict = pmt::dict_add(dict, pmt::mp(tags::item), pmt::from_uint64(nitems_written(0)));
    for (const auto& [name, count] : counts())
        dict = pmt::dict_add(dict, pmt::mp(name), pmt::from_uint64(count));
    message_port_pub(status_port, dict);
}

void packet_source_impl::watch_silence()
{
    const auto now = std::chrono::steady_clock::now();
    const uint64_t used = d_window.counted().used;
    if (used != d_used_then) {
        d_used_then = used;
        d_heard = now;
        d_silence_said = false;
    }
    if (d_silence_said || now - d_heard < silence)
        return;
    d_silence_said = true;
    std::string what;
    for (const auto& [name, count] : counts())
        if (count && name != "lost" && name != "senders")
            what += ", " + std::to_string(count) + " " + name;
    d_logger->warn("no packets that can be used have come for {:d} s{:s}",
                   silence.count(),
                   what.empty() ? ": nothing comes at all" : " (all in all" + what + ")");
}

void packet_source_impl::publish_restart(const packet_window::row& r,
                                         const std::string& what)
{
    const int held = d_restarts.pass();
    if (held < 0)
        return;
    const std::string reason =
        "packets jumped from number " + std::to_string(d_next) + " to " +
        std::to_string(r.number) +
        (r.epoch == d_epoch
             ? ""
             : ", counted from second " + std::to_string(r.epoch) + " since 1970") +
        ", the first one by " + network::text_of(r.from) +
        (held ? " (and " + std::to_string(held) + " times before)" : "");
    auto dict = pmt::make_dict();
    dict = pmt::dict_add(dict, pmt::mp(tags::event), pmt::mp(what));
    dict = pmt::dict_add(dict, pmt::mp(tags::item), pmt::from_uint64(nitems_written(0)));
    dict = pmt::dict_add(dict, pmt::mp(tags::reason), pmt::mp(reason));
    message_port_pub(status_port, dict);
    d_logger->warn("{:s}: {:s}", what, reason);
}

// ---- items

int packet_source_impl::fill_samples(const gr_vector_void_star& output_items,
                                     int done,
                                     int wanted)
{
    const auto& s = d_plan.settings;
    run& r = *d_run;
    const int64_t left = r.count * s.samples - r.done;
    // payloads within a packet
    const int64_t count = std::min<int64_t>(
        wanted - done, r.row.payloads ? std::min(left, s.samples - r.done) : left);
    const int64_t item = int64_t(nitems_written(0)) + done;
    if (d_clock_due) {
        tag_clock(uint64_t(item), r.number, r.done);
        d_clock_due = false;
    }
    const size_t element = d_plan.element();
    const size_t port_bytes = size_t(d_plan.inputs_per_port) * element;
    const int streams = d_plan.streams();
    const bool straight = streams == 1 && d_plan.inputs_per_port == s.inputs;
    const int parts = s.sc4 ? 1 : s.complex ? 2 : 1;
    for (int stream = 0; stream < streams; stream++) {
        bool there = r.row.payloads && r.row.has(stream);
        char* to = straight
                       ? static_cast<char*>(output_items[0]) + size_t(done) * port_bytes
                       : reinterpret_cast<char*>(d_unpacked.data());
        if (there) {
            const int64_t first = r.done * s.inputs * parts;
            const int64_t components = count * s.inputs * parts;
            const int bits = s.sc4 ? 8 : formats::bits_of(s.written);
            const uint8_t* from = r.row.payloads + stream * s.payload_bytes();
            // a packet with NaN or infinite samples counts as lost
            there = formats::unpack(s.sc4 ? formats::coding::s8 : s.written,
                                    from + first * bits / 8,
                                    int(first * bits % 8 / bits),
                                    components,
                                    to);
        }
        if (!there) {
            miss(stream, item, count);
            if (straight)
                std::memset(to, 0, size_t(count) * port_bytes);
        }
        for (int i = 0; !straight && i < s.inputs;) {
            // inputs of the stream that lie beside each other in a port
            const int input = stream * s.inputs + i;
            const int port = input / d_plan.inputs_per_port;
            const int place = input % d_plan.inputs_per_port;
            const int together = std::min(s.inputs - i, d_plan.inputs_per_port - place);
            char* column = static_cast<char*>(output_items[size_t(port)]) +
                           size_t(done) * port_bytes + size_t(place) * element;
            copy_column(there ? to + size_t(i) * element : nullptr,
                        size_t(s.inputs) * element,
                        column,
                        port_bytes,
                        size_t(together) * element,
                        count);
            i += together;
        }
    }
    r.done += count;
    r.number += r.done / s.samples;
    r.count -= r.done / s.samples;
    r.done %= s.samples;
    if (r.count == 0)
        drop_run();
    return int(count);
}

void packet_source_impl::zero_rows(char* frame, int slice, int slices)
{
    const size_t element = d_plan.element();
    const size_t row = size_t(d_plan.spectra()) * element;
    const size_t begin = size_t(slice) * size_t(d_plan.settings.samples) * element;
    const size_t bytes = size_t(slices) * size_t(d_plan.settings.samples) * element;
    const size_t rows = size_t(d_plan.channels()) * size_t(d_plan.all_inputs());
    for (size_t i = 0; i < rows; i++)
        std::memset(frame + i * row + begin, 0, bytes);
}

void packet_source_impl::fill_rows(char* frame, char* mask, int slice)
{
    const auto& s = d_plan.settings;
    const auto& row = d_run->row;
    const size_t element = d_plan.element();
    const size_t spectra = size_t(d_plan.spectra());
    const size_t input_bytes = spectra * element;
    const size_t channel_bytes = size_t(d_plan.all_inputs()) * input_bytes;
    const auto groups = int(d_plan.input_numbers.size());
    for (int stream = 0; stream < d_plan.streams(); stream++) {
        const int first_channel = stream / groups * s.channels;
        const int first_input = stream % groups * s.inputs;
        char* const to = frame + size_t(first_channel) * channel_bytes +
                         size_t(first_input) * input_bytes +
                         size_t(slice) * size_t(s.samples) * element;
        const bool there = row.has(stream);
        if (there)
            d_order.to_frame(row.payloads + stream * s.payload_bytes(), to);
        for (int c = 0; c < s.channels && !(there && element == 1); c++)
            for (int i = 0; i < s.inputs; i++) {
                char* const samples =
                    to + size_t(c) * channel_bytes + size_t(i) * input_bytes;
                if (there) {
                    d_clamped[size_t(first_input + i)] += formats::clamp_lowest(
                        reinterpret_cast<int8_t*>(samples), s.samples);
                    continue;
                }
                std::memset(samples, 0, size_t(s.samples) * element);
                d_plan.mask().set(reinterpret_cast<uint8_t*>(mask),
                                  first_channel + c,
                                  first_input + i,
                                  slice);
            }
    }
}

int packet_source_impl::fill_frames(const gr_vector_void_star& output_items,
                                    int done,
                                    int)
{
    run& r = *d_run;
    const int64_t item = int64_t(nitems_written(0)) + done;
    if (d_clock_due) {
        tag_clock(uint64_t(item), r.number, 0);
        d_clock_due = false;
    }
    const size_t mask_bytes = size_t(d_plan.mask().item_bytes());
    char* frame = static_cast<char*>(output_items[0]) + size_t(done) * d_plan.item();
    char* mask = d_p.masks
                     ? static_cast<char*>(output_items[1]) + size_t(done) * mask_bytes
                     : nullptr;
    if (mask && d_filled == 0)
        std::memset(mask, 0, mask_bytes);
    if (d_refill) {
        zero_rows(frame, 0, d_filled);
        if (mask)
            std::memset(mask, 0, mask_bytes);
        miss(0, item * d_plan.spectra(), int64_t(d_filled) * d_plan.settings.samples);
        d_refill = false;
    }
    bool there = r.row.payloads;
    for (int stream = 0; there && !mask && stream < d_plan.streams(); stream++)
        there = r.row.has(stream);
    if (there) {
        fill_rows(frame, mask, d_filled);
    } else {
        zero_rows(frame, d_filled, 1);
        miss(0,
             item * d_plan.spectra() + int64_t(d_filled) * d_plan.settings.samples,
             d_plan.settings.samples);
    }
    r.number++;
    r.count--;
    if (r.count == 0)
        drop_run();
    d_filled = (d_filled + 1) % d_plan.packets_per_frame;
    return d_filled == 0;
}

int packet_source_impl::end_frame(const gr_vector_void_star& output_items, int done)
{
    if (d_filled == 0)
        return 0;
    const int64_t item = int64_t(nitems_written(0)) + done;
    const int left = d_plan.packets_per_frame - d_filled;
    zero_rows(static_cast<char*>(output_items[0]) + size_t(done) * d_plan.item(),
              d_filled,
              left);
    miss(0,
         item * d_plan.spectra() + int64_t(d_filled) * d_plan.settings.samples,
         int64_t(left) * d_plan.settings.samples);
    for (int port = 0; port <= int(d_p.masks); port++)
        add_item_tag(port, uint64_t(item), pmt::mp(tags::partial), pmt::PMT_T);
    d_filled = 0;
    return 1;
}

int packet_source_impl::work(int noutput_items,
                             gr_vector_const_void_star&,
                             gr_vector_void_star& output_items)
{
    publish_counts();
    for (const auto& receiver : d_receivers)
        if (const auto trouble = receiver->error(); !trouble.empty())
            fail(trouble);
    const bool broken = !d_receivers.empty() && !error().empty();
    if (d_finish || broken)
        return WORK_DONE;
    int wanted = noutput_items;
    if (d_item_limit > 0) {
        const uint64_t left = d_item_limit - std::min(d_item_limit, nitems_written(0));
        if (left == 0)
            return WORK_DONE;
        wanted = int(std::min<uint64_t>(left, uint64_t(wanted)));
    }
    int done = 0;
    while (done < wanted) {
        if (!d_run && !next_run(done == 0 ? wait_for_packets : milliseconds(0))) {
            if (!d_receivers.empty())
                watch_silence();
            break;
        }
        done += d_plan.frames() ? fill_frames(output_items, done, wanted)
                                : fill_samples(output_items, done, wanted);
    }
    if (done < wanted && d_files_ended && !d_run)
        done += end_frame(output_items, done);
    tag_gaps();
    return done == 0 && d_files_ended && !d_run ? int(WORK_DONE) : done;
}

} // namespace gr::aperture
