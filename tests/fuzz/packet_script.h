/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_FUZZ_PACKET_SCRIPT_H
#define INCLUDED_APERTURE_TESTS_FUZZ_PACKET_SCRIPT_H

#include "fuzzing.h"
#include "network/packet_intake.h"
#include "network/udp_frame.h"
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

/*!
 * \file
 * Plays any bytes as a script of packets, good and bad, to a packet_intake and its
 * window, and checks the output: rows in order, each payload where its header says, and
 * counts that add up. Half of the scripts play frames as a card receives them, in one
 * piece or several. A fault ends the program, as libFuzzer expects.
 */

namespace gr::aperture::fuzz {

//! Packets that were played, by all scripts, and those of them in frames of a card.
inline uint64_t packets_played = 0;
inline uint64_t packets_in_frames = 0;
inline uint64_t rows_taken = 0;
inline uint64_t payloads_checked = 0;

class packet_script
{
public:
    packet_script(const uint8_t* data, size_t bytes) : d_script(data, bytes)
    {
        const auto& layouts = formats::packet_layouts();
        const auto& layout = layouts[byte() % layouts.size()];
        const bool vdif = layout.name == "vdif";
        const auto shape = [&](int said, int most) {
            const int any = 1 + byte() % most;
            return said ? said : any;
        };
        d_settings.samples = vdif ? 32 : shape(layout.samples, 24);
        d_settings.inputs = vdif ? 2 : shape(layout.inputs, 3);
        d_settings.channels = layout.channelised() ? shape(layout.channels, 5) : 1;
        d_settings.written = vdif ? formats::coding::offset2 : formats::coding::s8;
        if (layout.channelised())
            d_settings.sc4 = byte() % 2 || layout.codings.size() == 1;
        d_settings.rate = { 7 * int64_t(d_settings.samples), 1 };
        formats::complete_settings(layout, d_settings);
        // channels are 3 apart, inputs too, where they are not addresses
        const int channels = layout.channelised() ? 1 + byte() % 3 : 1;
        const int inputs = layout.channelised() && layout.input < 0 ? 1 : 1 + byte() % 5;
        for (int i = 0; i < channels; i++)
            d_channels.push_back(3 * i);
        for (int i = 0; i < inputs; i++)
            d_inputs.push_back(layout.input_is_address ? i : 3 * i);
        d_headers =
            std::make_unique<formats::header_table>(layout, d_settings, channels, inputs);
        d_epochs = layout.begins == formats::packet_layout::beginning::at_seconds;
        d_p.streams = channels * inputs;
        d_p.payload_bytes = d_settings.payload_bytes();
        d_p.depth = 1 + byte() % 16;
        d_p.confirm = 1 + byte() % 20;
        d_p.rows = int(network::packet_window::fewest_rows(d_p.depth));
        d_p.quiet = 1'000'000;
        network::sender_list allowed;
        if (byte() % 4 == 0)
            allowed = network::sender_list("senders", { "10.0.0.0/30", "10.0.0.5:5" });
        d_framed = byte() % 2;
        d_window = std::make_unique<network::packet_window>(d_p);
        d_intake = std::make_unique<network::packet_intake>(
            *d_headers, d_channels, d_inputs, allowed, *d_window);
        for (size_t i = 0; i < d_at.size(); i++)
            d_at[i] = vdif ? 1'700'000'000 * int64_t(7) : 1000;
    }

    void play()
    {
        while (d_script.left())
            step();
        d_window->finish();
        take_rows(1 << 30);
        const auto& came = d_intake->counted();
        const auto ordered = d_window->counted();
        check(came.received == d_played, "received");
        check(came.received == came.refused + came.wrong + came.unwanted + ordered.used +
                                   ordered.repeated + ordered.late + ordered.stray +
                                   ordered.overrun,
              "the sum of the counts");
        check(d_there <= ordered.used, "more payloads than packets");
        check(d_window->senders() <= network::packet_window::most_senders, "senders");
        packets_played += d_played;
        packets_in_frames += d_framed ? d_played : 0;
    }

private:
    uint8_t byte() { return d_script.byte(); }
    uint64_t number(int bytes) { return d_script.number(bytes); }

    // Returns a byte of the packet of a stream and time.
    uint8_t pattern(const formats::packet_header& h, int64_t i) const
    {
        return uint8_t(uint64_t(h.number) * 2654435761u + uint64_t(h.input) * 97 +
                       uint64_t(h.channel) * 41 + uint64_t(h.epoch) * 59 +
                       uint64_t(i) * 31);
    }

    network::sender sender_of(int number) const
    {
        network::sender s;
        s.address = { 0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0xff,
                      0xff,
                      10,
                      0,
                      uint8_t(number >> 8),
                      uint8_t(number) };
        s.port = 5;
        return s;
    }

    void send(int sender, const formats::packet_header& h, int64_t bytes, bool raw)
    {
        const auto whole = int64_t(d_headers->packet_bytes());
        const auto header_bytes = int64_t(d_headers->header_bytes());
        bytes = bytes < 0 ? whole : bytes;
        // memory of exactly this size, so that a read behind its end is seen
        const std::unique_ptr<uint8_t[]> packet(new uint8_t[size_t(bytes)]);
        std::fill_n(packet.get(), bytes, uint8_t(0x55));
        std::array<uint8_t, 64> header{};
        d_headers->write(h, header.data());
        if (raw)
            for (int64_t i = 0; i < header_bytes; i++)
                if (const uint8_t b = byte(); b % 4 == 0)
                    header[size_t(i)] = b;
        std::copy_n(header.data(), std::min<int64_t>(bytes, header_bytes), packet.get());
        if (bytes == whole) {
            formats::packet_header said;
            said.input = h.input % 8;
            if (d_headers->read(packet.get(), said))
                for (int64_t i = header_bytes; i < bytes; i++)
                    packet[size_t(i)] = pattern(said, i - header_bytes);
        }
        receive(sender_of(sender), packet.get(), size_t(bytes), int(h.input % 8));
    }

    void receive(const network::sender& from, const uint8_t* data, size_t bytes, int to)
    {
        if (d_framed)
            return receive_frame(from, data, bytes, to);
        const network::datagram d{
            from, d_now, network::byte_view::of(data, bytes), false, to
        };
        d_intake->take(&d, 1);
        d_played++;
    }

    // The addresses of the host: of IPv4 and IPv6 by turns. No byte of one port makes it
    // another one, so a checksum always finds out about a wrong byte.
    static const std::vector<boost::asio::ip::udp::endpoint>& addresses()
    {
        static const auto made = [] {
            std::vector<boost::asio::ip::udp::endpoint> all;
            for (int i = 0; i < 8; i++)
                all.push_back(
                    network::parse_endpoint("fuzz",
                                            (i % 2 ? "[fd00::1]:" : "10.1.0.1:") +
                                                std::to_string(0x1111 * (i + 1))));
            return all;
        }();
        return made;
    }

    void
    receive_frame(const network::sender& from, const uint8_t* data, size_t bytes, int to)
    {
        static const network::address_table table(addresses());
        const auto& where = addresses()[size_t(to)];
        const bool v4 = where.address().is_v4();
        std::vector<uint8_t> f(12, 2);
        const auto put16 = [&](size_t number) {
            f.push_back(uint8_t(number >> 8));
            f.push_back(uint8_t(number));
        };
        const uint8_t how = byte();
        for (int i = how & 3; i > 1; i--) {
            put16(i == 2 ? 0x8100 : 0x88a8);
            put16(7);
        }
        put16(v4 ? 0x0800 : 0x86dd);
        const size_t ip = f.size(), length = 8 + bytes;
        const auto put = [&](const auto& address) {
            f.insert(f.end(), address.begin(), address.end());
        };
        if (v4) {
            put16(0x4500);
            put16(20 + length);
            for (const int word : { 0, 0x4000, 0x4011, 0 })
                put16(size_t(word));
            f.insert(f.end(), from.address.begin() + 12, from.address.end());
            put(where.address().to_v4().to_bytes());
            const uint16_t sum = network::checksum_of(network::sum_of_words(&f[ip], 20));
            f[ip + 10] = uint8_t(sum >> 8);
            f[ip + 11] = uint8_t(sum);
        } else {
            put16(0x6000);
            put16(0);
            put16(length);
            put16(0x1140);
            put(from.address);
            put(where.address().to_v6().to_bytes());
        }
        const size_t udp = f.size();
        put16(from.port);
        put16(where.port());
        put16(length);
        put16(0);
        f.insert(f.end(), data, data + bytes);
        const uint64_t pseudo =
            network::sum_of_words(&f[v4 ? ip + 12 : ip + 8], v4 ? 8 : 32) + 17 + length;
        const uint16_t sum =
            network::checksum_of(network::sum_of_words(&f[udp], length) + pseudo);
        f[udp + 6] = uint8_t((sum ? sum : 0xffff) >> 8);
        f[udp + 7] = uint8_t(sum ? sum : 0xffff);
        // One packet in 65536 has, by chance, the sum of the pseudo-header alone, as
        // those have whose checksum a card was to complete: nobody can see a wrong byte
        // of it.
        const bool checked = sum != uint16_t(~network::checksum_of(pseudo));
        bool good = true;
        if ((how & 0x1c) == 0 && checked) { // one wrong byte, or all behind a place
            const size_t at = d_script.below(f.size());
            const uint8_t wrong = byte();
            good = f[at] == wrong;
            f[at] = wrong;
        } else if ((how & 0x1c) == 4) {
            f.resize(1 + d_script.below(f.size()));
            good = false;
        }
        // memory of exactly these sizes, so that a read behind an end is seen
        std::vector<std::vector<uint8_t>> memory;
        for (size_t at = 0; at < f.size();) {
            const size_t here = how & 0x60 ? f.size() : 1 + d_script.below(2 * f.size());
            const size_t end = std::min(f.size(), at + here);
            memory.emplace_back(f.begin() + long(at), f.begin() + long(end));
            at = end;
        }
        std::vector<network::byte_view::piece> pieces;
        for (const auto& piece : memory)
            pieces.push_back({ piece.data(), piece.size() });
        const network::byte_view view{
            pieces[0].data, f.size(), pieces[0].bytes, pieces.data() + 1
        };
        const auto made = network::datagram_of(view, table, d_now);
        const bool whole = good && view.first >= udp + 8;
        check(!whole || (made && !made->damaged && made->address == to &&
                         made->from == from && made->content.bytes == bytes),
              "a good frame that is not taken");
        if (!made)
            return;
        d_intake->take(&*made, 1);
        d_played++;
    }

    void step()
    {
        const uint8_t what = byte();
        const int sender = what >> 4 & 3;
        int64_t& at = d_at[size_t(sender)];
        formats::packet_header h;
        h.channel = d_channels[byte() % d_channels.size()];
        h.input = d_inputs[byte() % d_inputs.size()];
        h.epoch = d_epoch;
        d_now += 1000;
        switch (what & 15) {
        case 0: // any number
            h.number = int64_t(number(8) >> 8);
            return send(sender, h, -1, false);
        case 1: // any header
            h.number = at;
            return send(sender, h, -1, true);
        case 2: // any length
            h.number = at;
            return send(sender, h, int64_t(number(2) % 200), true);
        case 3: // the sender jumps
            at = std::max<int64_t>(0, at + int64_t(int16_t(number(2))));
            return;
        case 4: // an unknown sender
            h.number = at + byte() % 8;
            return send(int(number(2)), h, -1, false);
        case 5:
            d_now += int64_t(number(3));
            return d_window->flush(d_now, 1'000'000);
        case 6:
            return take_rows(byte());
        case 7: // out of order
            h.number = std::max<int64_t>(0, at + int8_t(byte()) / 4);
            return send(sender, h, -1, false);
        case 8: // a far one of an honest sender
            h.number = std::max<int64_t>(0, at + int64_t(int32_t(number(4))));
            return send(sender, h, -1, false);
        case 9:
            // once in a while all rows are left lying, or all senders begin anew
            d_lazy = byte() % 16 == 0;
            if (d_epochs && byte() % 16 == 0)
                d_epoch++;
            return;
        default: // some good packets of all streams
            for (int i = what & 3; i >= 0; i--, at++)
                for (const int channel : d_channels)
                    for (const int input : d_inputs) {
                        h = { channel, input, at, d_epoch };
                        d_now += 1000;
                        send(sender, h, -1, false);
                    }
            if (!d_lazy)
                take_rows(1 << 30);
        }
    }

    void take_rows(int most)
    {
        for (; most > 0; most--) {
            const auto r = d_window->take(std::chrono::milliseconds(0));
            if (!r)
                return;
            rows_taken++;
            check(r->count >= 1 && r->number >= 0, "an empty row");
            check(!d_begun || r->anew || r->number == d_next, "rows out of order");
            check(d_begun || r->anew, "a first row that is not anew");
            check(!r->anew || r->payloads, "a beginning with nothing");
            d_begun = true;
            d_next = r->number + r->count;
            for (int s = 0; r->payloads && s < d_p.streams; s++) {
                if (!r->has(s))
                    continue;
                d_there++;
                payloads_checked++;
                const uint8_t* payload = r->payloads + s * d_p.payload_bytes;
                const auto groups = int(d_inputs.size());
                const formats::packet_header h{ d_channels[size_t(s / groups)],
                                                d_inputs[size_t(s % groups)],
                                                r->number,
                                                r->epoch };
                for (int64_t i = 0; i < d_p.payload_bytes; i++)
                    check(payload[i] == pattern(h, i), "a payload in a wrong place");
            }
            d_window->release(*r);
        }
    }

    decisions d_script;
    formats::packet_settings d_settings;
    std::unique_ptr<formats::header_table> d_headers;
    std::vector<int> d_channels, d_inputs;
    bool d_epochs = false; // headers say from when they count
    int64_t d_epoch = 0;   // s since 1970
    network::packet_window::parameters d_p;
    std::unique_ptr<network::packet_window> d_window;
    std::unique_ptr<network::packet_intake> d_intake;
    std::array<int64_t, 4> d_at{};
    int64_t d_now = 1'700'000'000'000'000'000, d_next = 0;
    uint64_t d_played = 0, d_there = 0;
    bool d_begun = false, d_lazy = false, d_framed = false;
};

} // namespace gr::aperture::fuzz

#endif /* INCLUDED_APERTURE_TESTS_FUZZ_PACKET_SCRIPT_H */
