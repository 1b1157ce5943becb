/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_FUZZ_FILE_SCRIPT_H
#define INCLUDED_APERTURE_TESTS_FUZZ_FILE_SCRIPT_H

#include "formats/dada/dada.h"
#include "formats/recordings/recording_reader.h"
#include "formats/vdif/vdif_frames.h"
#include "formats/vdif/vdif_header.h"
#include "fuzzing.h"
#include "network/pcap_file.h"
#include "network/spead_frames.h"
#include "network/spead_place.h"
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/*!
 * \file
 * Plays any bytes as a script of faults of a file, to the reader of its format, and
 * checks that the output is the file's samples, where it has any, and nothing from beside
 * them. A fault ends the program.
 */

namespace gr::aperture::fuzz {

using bytes = std::vector<uint8_t>;

//! Counts over all scripts.
struct file_totals {
    uint64_t files = 0;
    uint64_t refused = 0; //!< refused by the reader, before it had any sample
    uint64_t samples = 0, gaps = 0;
    uint64_t packets = 0; //!< captured
    uint64_t heaps = 0;   //!< heaps that a place was found for
};
inline file_totals totals;

//! A file in memory.
class memory_file
{
public:
    explicit memory_file(const bytes& content) : d_file(memfd_create("fuzz", MFD_CLOEXEC))
    {
        check(d_file >= 0 && pwrite(d_file, content.data(), content.size(), 0) ==
                                 ssize_t(content.size()),
              "no memory for a file");
    }
    ~memory_file() { close(d_file); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    std::string name() const { return "/proc/self/fd/" + std::to_string(d_file); }
    void shorten(size_t size) { check(ftruncate(d_file, off_t(size)) == 0, "a file"); }

private:
    const int d_file;
};

class file_script
{
public:
    file_script(const uint8_t* data, size_t size) : d_script(data, size) {}

    void play()
    {
        totals.files++;
        switch (d_script.byte() % 6) {
        case 0:
            return read_dada();
        case 1:
            return read_vdif();
        case 2:
            return read_recording();
        case 3:
            return read_capture(pcap());
        case 4:
            return read_capture(pcapng());
        default:
            return place_heaps();
        }
    }

private:
    static uint8_t pattern(size_t i) { return uint8_t(i * 0x9e3779b97f4a7c15u >> 56); }

    static void append(bytes& to, const bytes& more)
    {
        to.insert(to.end(), more.begin(), more.end());
    }
    static void append32(bytes& to, uint32_t word)
    {
        for (int i = 0; i < 4; i++)
            to.push_back(uint8_t(word >> 8 * i));
    }

    //! Corrupts a file at a few places among its first bytes, or all of them.
    void spoil(bytes& file, size_t first = std::numeric_limits<size_t>::max())
    {
        for (int i = d_script.byte() % 6; i > 0 && !file.empty(); i--) {
            const size_t at = d_script.below(std::min(first, file.size()));
            const auto place = file.begin() + std::ptrdiff_t(at);
            switch (d_script.byte() % 6) {
            case 0: // the end is missing
                file.resize(at);
                break;
            case 1: // a part is missing
                file.erase(place,
                           place + std::ptrdiff_t(
                                       std::min(d_script.below(200), file.size() - at)));
                break;
            case 2: // a part is there twice
                append(file, bytes(place, file.end()));
                break;
            case 3: // a byte too many
                file.insert(place, d_script.byte());
                break;
            case 4: // a large number, or one below 0
                for (size_t k = at; k < std::min(at + 4, file.size()); k++)
                    file[k] = 0xff;
                break;
            default:
                *place = d_script.byte();
            }
        }
        // numbers that are a little too large or too small
        for (int i = d_script.byte() % 32; i > 0 && !file.empty(); i--) {
            const size_t at = d_script.below(std::min(first, file.size()));
            file[at] = uint8_t(file[at] + d_script.byte() % 32 - 16);
        }
    }

    /*!
     * Reads a recording to its end, in calls of any size, to memory of just this size.
     * \returns `[port][sample]`
     */
    std::vector<bytes> read_all(formats::recording_reader& reader,
                                const formats::recording_layout& layout,
                                int64_t wanted)
    {
        const auto item = int64_t(size_of(layout.type())) * layout.inputs_per_port;
        std::vector<bytes> all(size_t(layout.ports()));
        for (int64_t done = 0; done < wanted;) {
            const int64_t n =
                std::min<int64_t>(wanted - done, 1 + int64_t(d_script.below(3000)));
            std::vector<bytes> parts(all.size(), bytes(size_t(n * item), 0x5a));
            std::vector<char*> ports;
            for (auto& p : parts)
                ports.push_back(reinterpret_cast<char*>(p.data()));
            const auto r = reader.read(ports, n, reader.position() + wanted - done);
            check(r.samples >= 0 && r.samples <= n, "more samples than asked for");
            for (const auto& g : r.gaps)
                check(g.input >= 0 && g.input < int(layout.inputs.size()) &&
                          g.first >= 0 && g.count > 0 && g.first + g.count <= r.samples,
                      "a gap that is not in the samples");
            totals.gaps += r.gaps.size();
            for (size_t port = 0; port < all.size(); port++)
                all[port].insert(all[port].end(),
                                 parts[port].begin(),
                                 parts[port].begin() + std::ptrdiff_t(r.samples * item));
            if (r.samples == 0)
                break;
            done += r.samples;
            totals.samples += uint64_t(r.samples);
        }
        return all;
    }

    //! Checks that a file that opens has all samples that it claims, and no others.
    void read_dada()
    {
        static const char* const good = "HDR_SIZE 4096\nNBIT 8\nNDIM 2\nNPOL 2\nNCHAN 1\n"
                                        "FREQ 1284.0\nBW 16\nTSAMP 0.0625\n"
                                        "UTC_START 2026-11-24-01:02:03\nPICOSECONDS 5\n"
                                        "MJD_START 61368.0430903\nOBS_OFFSET 4000\n"
                                        "FILE_SIZE 2000\n# the end\n";
        bytes content(good, good + std::strlen(good));
        const size_t text = content.size();
        content.resize(4096);
        for (size_t i = 0; i < 2000; i++)
            content.push_back(pattern(i));
        spoil(content, d_script.byte() % 8 ? text : content.size());
        const memory_file file(content);
        formats::dada_file dada;
        try {
            dada = formats::open_dada(file.name());
        } catch (const std::exception&) {
            totals.refused++;
            return;
        }
        check(dada.header_bytes > 0 && dada.samples > 0 && dada.rate.numerator > 0 &&
                  dada.rate.denominator > 0 &&
                  dada.samples <=
                      (int64_t(content.size()) - dada.header_bytes) / dada.item_bytes(),
              "samples behind the end of a DADA file");
        formats::recording_layout layout;
        layout.written = dada.coding();
        layout.complex = dada.complex();
        for (int64_t i = 0; i < dada.inputs; i++)
            layout.inputs.push_back({ 0, i, dada.inputs });
        layout.inputs_per_port = int(dada.inputs);
        formats::recording_reader reader(
            layout,
            std::make_shared<formats::recorded_files>(
                std::vector<std::string>{ file.name() }),
            std::make_shared<formats::listed_pieces>(
                std::vector<std::vector<formats::piece>>{
                    { { 0, dada.header_bytes, dada.samples, 0 } } }),
            1000);
        reader.restart(0);
        const auto read = read_all(reader, layout, dada.samples);
        check(reader.error().empty() &&
                  int64_t(read[0].size()) == dada.samples * dada.item_bytes() &&
                  std::equal(read[0].begin(),
                             read[0].end(),
                             content.begin() + std::ptrdiff_t(dada.header_bytes)),
              "other samples than those of the DADA file");
    }

    //! Two threads of 8 bits, whose samples are a sequence each.
    void read_vdif()
    {
        constexpr int threads = 2, samples = 64, frames = 20;
        formats::vdif_stream stream;
        stream.header_bytes = d_script.byte() % 2 ? 16 : 32;
        stream.frame_bytes = stream.header_bytes + samples;
        stream.bits = 8;
        stream.frames_per_second = 7;
        stream.epoch = 53;
        // a half year may end in the file
        constexpr int64_t end = 184 * 86400;
        stream.second = d_script.byte() % 2 ? 1000 : end - 1;
        stream.threads = { 3, 5 };
        stream.files = 1;
        bytes content;
        for (int i = 0; i < frames; i++)
            for (const int thread : stream.threads) {
                formats::vdif_header h;
                h.legacy = stream.header_bytes == 16;
                h.second = stream.second + i / stream.frames_per_second;
                h.epoch = stream.epoch + int(h.second / end);
                h.second %= end;
                h.frame = i % stream.frames_per_second;
                h.frame_bytes = stream.frame_bytes;
                h.bits = stream.bits;
                h.thread = thread;
                bytes frame(size_t(stream.frame_bytes));
                h.write(frame.data());
                for (int k = 0; k < samples; k++)
                    frame[size_t(stream.header_bytes + k)] =
                        pattern(size_t((thread * frames + i) * samples + k));
                append(content, frame);
            }
        const bytes whole = content;
        spoil(content);
        const memory_file file(content);
        const auto files = std::make_shared<formats::recorded_files>(
            std::vector<std::string>{ file.name() });
        if (d_script.byte() % 4 == 0 && !content.empty())
            const_cast<memory_file&>(file).shorten(d_script.below(content.size()));
        formats::recording_layout layout;
        layout.written = formats::coding::offset8;
        layout.complex = false;
        layout.inputs = { { 0, 0, 1 }, { 1, 0, 1 } };
        const auto where = std::make_shared<formats::vdif_frames>(stream, files);
        formats::recording_reader reader(layout, files, where, 1000);
        reader.restart(0);
        const auto read = read_all(reader, layout, frames * samples);
        if (content != whole || !reader.error().empty())
            return;
        for (int t = 0; t < threads; t++)
            for (int k = 0; k < frames * samples; k++)
                check(read[size_t(t)].size() == size_t(frames * samples) &&
                          read[size_t(t)][size_t(k)] ==
                              uint8_t(
                                  pattern(size_t(
                                      stream.threads[size_t(t)] * frames * samples + k)) ^
                                  0x80),
                      "other samples than those of a VDIF file that is whole");
    }

    //! Any layout of samples in pieces of a file that becomes shorter while it is read.
    void read_recording()
    {
        bytes content(2000 + d_script.below(3000));
        for (size_t i = 0; i < content.size(); i++)
            content[i] = pattern(i);
        formats::recording_layout layout;
        layout.written =
            formats::coding(d_script.byte() % (1 + int(formats::coding::f64_be)));
        layout.complex = d_script.byte() % 2;
        const int64_t stride = 1 + d_script.byte() % 5;
        const bool interleaved = d_script.byte() % 2;
        for (int64_t i = 0; i < stride; i++)
            layout.inputs.push_back({ 0, d_script.byte() % 4 ? i : 0, stride });
        if (d_script.byte() % 2)
            layout.inputs.pop_back();
        if (layout.inputs.empty())
            layout.inputs.push_back({ 0, 0, stride });
        layout.inputs_per_port = interleaved ? int(layout.inputs.size()) : 1;
        std::vector<formats::piece> list;
        for (int64_t at = d_script.byte(), first = 0;;) {
            const int64_t samples = 1 + int64_t(d_script.below(200));
            const int64_t end = at + (samples * stride * layout.bits_of_sample() + 7) / 8;
            if (end > int64_t(content.size()) || list.size() == 20)
                break;
            list.push_back({ 0, at, samples, first });
            first += samples + (d_script.byte() % 3 ? 0 : 1 + d_script.byte());
            at = end;
        }
        memory_file file(content);
        const auto files = std::make_shared<formats::recorded_files>(
            std::vector<std::string>{ file.name() });
        const bool whole = d_script.byte() % 2;
        if (!whole)
            file.shorten(d_script.below(content.size()));
        const auto where = std::make_shared<formats::listed_pieces>(
            std::vector<std::vector<formats::piece>>{ list });
        formats::recording_reader reader(layout, files, where, 1000);
        reader.restart(0);
        const int64_t end = where->end(0);
        const auto read = read_all(reader, layout, end);
        check(!whole || (reader.error().empty() && reader.position() == end),
              "a whole recording that is not read to its end");
    }

    //! The first 60 bytes of an Ethernet frame with IPv4 and UDP: what counts is where
    //! the capture ends, and not what UDP says.
    static bytes ethernet()
    {
        bytes frame(60, 7);
        frame[12] = 8, frame[13] = 0, frame[14] = 0x45, frame[20] = 0x40, frame[21] = 0;
        frame[23] = 17, frame[38] = 0, frame[39] = 200;
        return frame;
    }
    static bytes pcap()
    {
        bytes file{ 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                    0,    0,    0,    0,    0, 0, 4, 0, 1, 0, 0, 0 };
        for (int i = 0; i < 20; i++) {
            append(file, { 1, 2, 3, 4, 5, 6, 7, 0, 60, 0, 0, 0, 60, 0, 0, 0 });
            append(file, ethernet());
        }
        return file;
    }
    static bytes pcapng()
    {
        bytes file;
        const auto block = [&file](uint32_t type, bytes body) {
            body.resize((body.size() + 3) / 4 * 4);
            const auto length = uint32_t(body.size() + 12);
            append32(file, type);
            append32(file, length);
            append(file, body);
            append32(file, length);
        };
        block(0x0a0d0d0a,
              { 0x4d,
                0x3c,
                0x2b,
                0x1a,
                1,
                0,
                0,
                0,
                255,
                255,
                255,
                255,
                255,
                255,
                255,
                255 });
        // the interface is Ethernet; its times are in units of 10^-9 s
        block(1, { 1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0 });
        for (uint32_t i = 0; i < 20; i++) {
            bytes body;
            for (const uint32_t word : { 0u, 0x18000000u, i * 1000, 60u, 60u })
                append32(body, word);
            append(body, ethernet());
            block(6, body);
        }
        return file;
    }

    //! Datagrams lie in the file.
    void read_capture(bytes content)
    {
        const bytes good = content;
        spoil(content);
        const memory_file file(content);
        uint64_t found = 0;
        try {
            network::pcap_reader reader(file.name());
            network::captured c;
            uint64_t sum = 0;
            while (reader.next(c)) {
                found++;
                for (size_t i = 0; i < c.bytes; i++)
                    sum += c.data[i];
            }
            static volatile uint64_t used;
            used = sum;
            (void)used;
        } catch (const std::runtime_error&) {
            totals.refused++; // not such a file
        }
        check(content != good || found == 20, "datagrams of a whole capture are missing");
        totals.packets += found;
    }

    //! Checks that heaps with any items, and frames made of them, lie within a chunk.
    void place_heaps()
    {
        network::voltage_heaps heaps;
        heaps.slots = 1 + d_script.byte() % 3;
        heaps.senders = 1 + d_script.byte() % 3;
        heaps.ranges = 1 + d_script.byte() % 3;
        heaps.channels = 1 + d_script.byte() % 4;
        heaps.spectra = 1 + d_script.byte() % 5;
        heaps.polarizations = 1 + d_script.byte() % 3;
        network::spead_layout layout;
        layout.heap_bytes = heaps.heap_bytes();
        layout.heap_ticks = 1 + d_script.byte() % 4;
        layout.slots_per_chunk = heaps.slots;
        layout.senders.clear();
        for (int64_t i = 0; i < heaps.senders; i++)
            layout.senders.push_back(heaps.senders - i);
        layout.with_sender = true;
        layout.channels_per_heap = heaps.channels;
        layout.ranges = heaps.ranges;
        layout.restart = 1 + d_script.byte() % 5;
        network::spead_placement placement(layout);
        network::spead_stream stream{ nullptr, 3, -1 };
        stream.placement =
            std::shared_ptr<network::spead_placement>(&placement, [](auto*) {});

        std::vector<int8_t> chunk(size_t(layout.chunk_bytes()), 0x11);
        bytes present(size_t(heaps.heaps()), 0);
        std::array<uint64_t, 3 + network::spead_placement::statistics> counts{};
        int64_t time = int64_t(d_script.number(6));
        uint64_t taken = 0, played = 0;
        while (d_script.left()) {
            time += d_script.byte() % 8 * layout.heap_ticks;
            std::array<int64_t, network::spead_placement::items> items{
                time & ((int64_t(1) << 48) - 1),
                layout.heap_bytes,
                1 + d_script.byte() % heaps.senders,
                d_script.byte() % heaps.ranges * heaps.channels,
                -1
            };
            // wrong values: anything, as a packet may have
            if (const auto what = d_script.byte(); what < 64)
                items[what % items.size()] = int64_t(d_script.number(8));
            else if (what < 128) // a little too large or too small
                items[what % items.size()] += int8_t(d_script.byte()) / 8;
            network::spead_place_data data{ nullptr, 0, items.data(),  -1,
                                            0,       0, counts.data(), nullptr,
                                            0,       0 };
            gr_aperture_spead_place(&data, sizeof data, &stream);
            played++;
            if (data.chunk_id < 0)
                continue;
            taken++;
            check(data.heap_index < size_t(heaps.heaps()) &&
                      data.heap_offset == data.heap_index * size_t(layout.heap_bytes),
                  "a heap beside its chunk");
            present[data.heap_index] = 1;
            std::fill_n(chunk.data() + data.heap_offset, layout.heap_bytes, int8_t(-128));
            placement.time_of(data.chunk_id);
        }
        uint64_t sum = taken;
        for (int i = 0; i < network::spead_placement::statistics; i++)
            if (i != network::spead_placement::duplicate &&
                i != network::spead_placement::restarts)
                sum += counts[size_t(3 + i)];
        check(sum == played && !counts[0] && !counts[1] && !counts[2],
              "the sum of the counts of heaps");
        totals.heaps += taken;

        std::vector<int8_t> frame(size_t(heaps.frame_bytes()), 0x33);
        const int64_t clamped =
            network::heaps_to_frame(chunk.data(), present.data(), heaps, frame.data());
        const auto there = std::count(present.begin(), present.end(), 1);
        check(clamped == there * layout.heap_bytes, "clamped values");
        check(std::count(frame.begin(), frame.end(), int8_t(-127)) == clamped &&
                  std::count(frame.begin(), frame.end(), int8_t(0)) ==
                      int64_t(frame.size()) - clamped,
              "a frame that is not made of its heaps");
    }

    decisions d_script;
};

} // namespace gr::aperture::fuzz

#endif /* INCLUDED_APERTURE_TESTS_FUZZ_FILE_SCRIPT_H */
