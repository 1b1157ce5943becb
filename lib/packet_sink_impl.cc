/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "formats/packets/packing.h"
#include "kernels/common/types.h"
#include "network/receive_queue.h"
#include "packet_sink_impl.h"
#include "stream/message_text.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <cmath>
#include <thread>

namespace gr::aperture {

namespace {

namespace ip = boost::asio::ip;

// longest wait of a call for the time of a packet; then GNU Radio may end the block
constexpr std::chrono::milliseconds longest_wait{ 20 };

} // namespace

packet_sink::sptr packet_sink::make(const parameters& p)
{
    check_parameters<packet_sink>(p);
    const auto plan = plan_packets_of(p);
    const auto& s = plan.settings;
    require(s.sc4 || formats::can_pack(s.written),
            "coding",
            p.coding,
            "s8, s16, s16_be, u8, u16, u16_be, f32, f32_be, offset1, offset2, offset4 or "
            "sc4, which can be sent");
    require(!p.addresses.empty(), "addresses", "an empty list", "at least one");
    for (const auto& address : plan.addresses)
        require(address.protocol() == plan.addresses.front().protocol(),
                "addresses",
                network::text_of(address),
                "all of IPv4, or all of IPv6");
    return gnuradio::make_block_sptr<packet_sink_impl>(p, plan);
}

packet_sink_impl::packet_sink_impl(const parameters& p, const packet_plan& plan)
    : gr::sync_block(
          "packet_sink", plan.signature(false), gr::io_signature::make(0, 0, 0)),
      d_p(p),
      d_plan(plan),
      d_packet_rate(plan.settings.packets_per_second()),
      d_headers(plan.headers()),
      d_order(plan.layout, plan.settings, plan.all_inputs(), plan.spectra()),
      d_missing(size_t(plan.all_inputs())),
      d_samples(size_t(plan.settings.samples) * size_t(plan.settings.inputs) *
                plan.element())
{
    const auto streams = size_t(plan.streams());
    for (size_t i = 0; i < streams; i++)
        d_addresses.push_back(int(i * plan.addresses.size() / streams));
    if (!plan.frames())
        set_output_multiple(plan.settings.samples);
    if (p.file.empty())
        d_sender = std::make_unique<network::udp_sender>(plan.addresses, p.interface);
    else
        network::pcap_writer{ p.file }; // throws at once if the file cannot be written
    for (const auto& to : plan.addresses)
        d_from.push_back({ to.address().is_v4() ? ip::address(ip::address_v4::loopback())
                                                : ip::address(ip::address_v6::loopback()),
                           4014 });
}

std::map<std::string, uint64_t> packet_sink_impl::counts() const
{
    return { { "sent", d_counts[sent] },           { "bytes", d_counts[bytes] },
             { "lost", d_counts[lost] },           { "duplicated", d_counts[duplicated] },
             { "corrupted", d_counts[corrupted] }, { "reordered", d_counts[reordered] },
             { "missing", d_counts[missing] } };
}

std::string packet_sink_impl::error() const
{
    std::lock_guard<std::mutex> guard(d_error_mutex);
    return d_error;
}

void packet_sink_impl::fail(const std::string& why)
{
    std::lock_guard<std::mutex> guard(d_error_mutex);
    if (d_error.empty())
        d_logger->error("{:s}", why);
    d_error = why;
}

bool packet_sink_impl::start()
{
    if (nitems_read(0) > 0)
        return true; // goes on after lock and unlock
    d_begun = false;
    d_slice = 0;
    for (auto& count : d_counts)
        count = 0;
    std::fill(d_missing.begin(), d_missing.end(), intervals());
    {
        std::lock_guard<std::mutex> guard(d_error_mutex);
        d_error.clear();
    }
    network::packet_faults::parameters f;
    f.loss = d_p.loss;
    f.duplicate = d_p.duplicate;
    f.corrupt = d_p.corrupt;
    f.reorder = d_p.reorder;
    f.delay = int64_t(1e9 * (d_p.distance + 0.5) / d_packet_rate.to_double());
    f.jitter = int64_t(1e9 * d_p.jitter);
    f.seed = uint64_t(d_p.seed);
    d_faults = std::make_unique<network::packet_faults>(
        f, [this](const network::packet_faults::parcel& parcel) { send(parcel); });
    try {
        if (!d_p.file.empty())
            d_writer = std::make_unique<network::pcap_writer>(d_p.file);
    } catch (const std::exception& error) {
        fail(error.what());
    }
    return true;
}

bool packet_sink_impl::stop()
{
    try {
        if (d_faults)
            d_faults->finish();
        if (d_sender)
            d_sender->flush();
        if (d_writer)
            d_writer->close();
    } catch (const std::exception& error) {
        fail(error.what());
    }
    d_writer.reset();
    return true;
}

void packet_sink_impl::begin(int64_t first_number, const formats::exact_time& first_time)
{
    d_begun = true;
    d_first = d_number = first_number;
    d_epoch = first_time.seconds * 1'000'000'000 + first_time.attoseconds / 1'000'000'000;
    d_start = std::chrono::steady_clock::now();
}

void packet_sink_impl::read_tags(int items)
{
    std::vector<gr::tag_t> found;
    if (!d_begun) {
        const auto now = network::time_now();
        formats::exact_time time{ now / 1'000'000'000,
                                  now % 1'000'000'000 * 1'000'000'000 };
        get_tags_in_window(found, 0, 0, 1, pmt::mp(tags::rx_time));
        if (!found.empty())
            if (const auto said = timestamp::from_pmt(found.front().value))
                time = { said->seconds,
                         std::llround(said->fraction * formats::exact_time::per_second) };
        int64_t number = std::max<int64_t>(0, d_p.first_number);
        if (d_p.first_number < 0 && d_plan.layout.absolute())
            // whole packets a second, as check() of such layouts makes sure
            number = time.seconds * d_packet_rate.numerator +
                     std::llround(time.fraction() * double(d_packet_rate.numerator));
        if (d_plan.layout.begins == formats::packet_layout::beginning::at_seconds) {
            d_said_epoch = time.seconds;
            if (d_p.first_number < 0)
                number = std::llround(time.fraction() * d_packet_rate.to_double());
        }
        begin(number, time);
    }
    for (int port = 0; port < d_plan.ports(); port++) {
        get_tags_in_window(
            found, unsigned(port), 0, uint64_t(items), pmt::mp(tags::missing));
        for (const auto& tag : found) {
            if (!pmt::is_dict(tag.value))
                continue;
            const auto entry = [&](const char* key) {
                return count_of(pmt::dict_ref(tag.value, pmt::mp(key), pmt::PMT_NIL));
            };
            const auto input = entry(tags::input), first = entry(tags::first),
                       count = entry(tags::count);
            if (!input || !first || !count || *input >= uint64_t(d_plan.all_inputs()))
                continue;
            const int64_t number = port * d_plan.inputs_per_port + int64_t(*input);
            if (number < d_plan.all_inputs())
                d_missing[size_t(number)].add(int64_t(*first), int64_t(*first + *count));
        }
    }
}

int64_t packet_sink_impl::time_of(int64_t number) const
{
    const auto time = d_packet_rate.duration(number - d_first);
    return time.seconds * 1'000'000'000 + time.attoseconds / 1'000'000'000;
}

bool packet_sink_impl::wait_for(int64_t number)
{
    if (d_p.pace <= 0 || d_writer)
        return true;
    const auto due =
        d_start + std::chrono::nanoseconds(int64_t(double(time_of(number)) / d_p.pace));
    const auto now = std::chrono::steady_clock::now();
    if (due <= now)
        return true;
    d_sender->flush();
    std::this_thread::sleep_until(std::min(due, now + longest_wait));
    return due <= now + longest_wait;
}

void packet_sink_impl::send(const network::packet_faults::parcel& parcel)
{
    d_counts[sent]++;
    d_counts[bytes] += parcel.bytes.size();
    if (d_writer)
        d_writer->write(d_from[size_t(parcel.to)],
                        d_plan.addresses[size_t(parcel.to)],
                        d_epoch + parcel.due,
                        parcel.bytes.data(),
                        parcel.bytes.size());
    else
        d_sender->send(parcel.to, parcel.bytes);
}

bool packet_sink_impl::all_missing(int stream, int64_t first) const
{
    const int inputs = d_plan.settings.inputs;
    const int first_input = stream % int(d_plan.input_numbers.size()) * inputs;
    for (int i = first_input; i < first_input + inputs; i++) {
        const auto& lost = d_missing[size_t(i)];
        if (lost.empty() || size_of(lost.within(first, first + d_plan.settings.samples)) <
                                d_plan.settings.samples)
            return false;
    }
    return true;
}

void packet_sink_impl::put_payload(const gr_vector_const_void_star& input_items,
                                   int stream,
                                   int64_t item,
                                   int slice,
                                   uint8_t* payload)
{
    const auto& s = d_plan.settings;
    const size_t element = d_plan.element();
    if (d_plan.frames()) {
        const size_t spectra = size_t(d_plan.spectra());
        const auto groups = int(d_plan.input_numbers.size());
        const size_t row =
            size_t(stream / groups * s.channels) * size_t(d_plan.all_inputs()) +
            size_t(stream % groups * s.inputs);
        const char* from = static_cast<const char*>(input_items[0]) +
                           size_t(item) * d_plan.item() +
                           (row * spectra + size_t(slice) * size_t(s.samples)) * element;
        d_order.from_frame(from, payload);
        return;
    }
    for (int i = 0; i < s.inputs;) {
        const int input = stream * s.inputs + i;
        const int port = input / d_plan.inputs_per_port;
        const int place = input % d_plan.inputs_per_port;
        const int together = std::min(s.inputs - i, d_plan.inputs_per_port - place);
        copy_column(static_cast<const char*>(input_items[size_t(port)]) +
                        (size_t(item) * size_t(d_plan.inputs_per_port) + size_t(place)) *
                            element,
                    size_t(d_plan.inputs_per_port) * element,
                    reinterpret_cast<char*>(d_samples.data()) + size_t(i) * element,
                    size_t(s.inputs) * element,
                    size_t(together) * element,
                    s.samples);
        i += together;
    }
    const int parts = s.complex && !s.sc4 ? 2 : 1;
    formats::pack(s.sc4 ? formats::coding::s8 : s.written,
                  d_samples.data(),
                  int64_t(s.samples) * s.inputs * parts,
                  payload);
}

void packet_sink_impl::send_row(const gr_vector_const_void_star& input_items,
                                int64_t item,
                                int slice)
{
    const auto& s = d_plan.settings;
    const int64_t first =
        (int64_t(nitems_read(0)) + item) * (d_plan.frames() ? d_plan.spectra() : 1) +
        int64_t(slice) * s.samples;
    const int64_t time = time_of(d_number);
    const auto groups = d_plan.input_numbers.size();
    for (size_t stream = 0; stream < size_t(d_plan.streams()); stream++) {
        if (all_missing(int(stream), first)) {
            d_counts[missing]++;
            continue;
        }
        std::vector<uint8_t> packet(d_headers.packet_bytes());
        d_headers.write({ d_plan.channel_numbers[stream / groups],
                          d_plan.input_numbers[stream % groups],
                          d_number,
                          d_said_epoch },
                        packet.data());
        put_payload(input_items,
                    int(stream),
                    item,
                    slice,
                    packet.data() + d_headers.header_bytes());
        d_faults->put(time, d_addresses[stream], std::move(packet));
    }
    const auto& f = d_faults->counted();
    d_counts[lost] = f.lost;
    d_counts[duplicated] = f.duplicated;
    d_counts[corrupted] = f.corrupted;
    d_counts[reordered] = f.reordered;
    for (auto& input : d_missing)
        input.drop_before(first + s.samples);
    d_number++;
}

int packet_sink_impl::work(int noutput_items,
                           gr_vector_const_void_star& input_items,
                           gr_vector_void_star&)
{
    if (!error().empty())
        return WORK_DONE;
    int done = 0;
    try {
        read_tags(noutput_items);
        const int step = d_plan.frames() ? 1 : d_plan.settings.samples;
        const int slices = d_plan.frames() ? d_plan.packets_per_frame : 1;
        while (done + step <= noutput_items) {
            for (; d_slice < slices; d_slice++) {
                if (!wait_for(d_number))
                    return done;
                send_row(input_items, done, d_slice);
            }
            d_slice = 0;
            done += step;
        }
        if (d_sender)
            d_sender->flush();
    } catch (const std::exception& error) {
        fail(error.what());
        return WORK_DONE;
    }
    return done;
}

} // namespace gr::aperture
