/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "vdif_source_impl.h"
#include <gnuradio/io_signature.h>
#include <algorithm>

namespace gr::aperture {

namespace {

formats::coding coding_of(int bits)
{
    switch (bits) {
    case 1:
        return formats::coding::offset1;
    case 2:
        return formats::coding::offset2;
    case 4:
        return formats::coding::offset4;
    case 8:
        return formats::coding::offset8;
    case 16:
        return formats::coding::u16;
    }
    require(false, "bits", std::to_string(bits), "1, 2, 4, 8 or 16");
    return {};
}

//! The properties that stations may have of their own.
struct form {
    int64_t files, frame_bytes, legacy, channels, frames_per_second, station;
    int64_t epoch, second, frame, first;
};

formats::vdif_stream stream_of(const form& f, int bits_of_component, bool complex)
{
    formats::vdif_stream s;
    s.header_bytes = f.legacy ? 16 : 32;
    // the header counts units of 8 bytes in 24 bits
    require(f.frame_bytes > s.header_bytes && f.frame_bytes < 1 << 27 &&
                f.frame_bytes % 8 == 0,
            "frame_bytes",
            std::to_string(f.frame_bytes),
            "a multiple of 8, above the " + std::to_string(s.header_bytes) +
                " bytes of a header and below 2^27");
    s.frame_bytes = int(f.frame_bytes);
    s.bits = bits_of_component;
    s.complex = complex;
    while (s.log2_channels < 16 && 1 << s.log2_channels < f.channels)
        s.log2_channels++;
    require(f.channels == 1 << s.log2_channels,
            "channels",
            std::to_string(f.channels),
            "a power of two from 1 to 65536");
    const int64_t bits = int64_t(s.bits) * (complex ? 2 : 1) * f.channels;
    require(int64_t(s.frame_bytes - s.header_bytes) * 8 % bits == 0,
            "frame_bytes",
            std::to_string(f.frame_bytes),
            "its header and whole samples of " + std::to_string(bits) + " bits");
    require_range("station", f.station, 0, 65535);
    s.station = int(f.station);
    // frames are counted by 24 bits
    require_range("frames_per_second", f.frames_per_second, 1, 1 << 24);
    s.frames_per_second = f.frames_per_second;
    require(f.epoch >= 0 && f.epoch < 64 && f.second >= 0 && f.second < 1 << 30 &&
                f.frame >= 0 && f.frame < f.frames_per_second,
            "first_frame",
            "(" + std::to_string(f.epoch) + ", " + std::to_string(f.second) + ", " +
                std::to_string(f.frame) + ")",
            "(epoch, second, frame): an epoch below 64, a second below 2^30 and a frame "
            "below frames_per_second");
    s.epoch = int(f.epoch);
    s.second = f.second;
    s.frame = f.frame;
    require_range("first_sample", f.first, 0, int64_t(1) << 61);
    s.first = f.first;
    return s;
}

// Returns what the parameters say of each station.
std::vector<formats::vdif_stream> streams_of(const vdif_source::parameters& p)
{
    const auto& first = p.first_frame;
    require(first.size() == 3,
            "first_frame",
            std::to_string(first.size()) + " integers",
            "(epoch, second, frame)");
    std::vector<form> forms{ { 0,
                               p.frame_bytes,
                               p.legacy,
                               p.channels,
                               p.frames_per_second,
                               p.station,
                               first[0],
                               first[1],
                               first[2],
                               p.first_sample } };
    int64_t left = int64_t(p.files.size());
    for (size_t i = 0; i < p.others.size(); i++) {
        const auto& row = p.others[i];
        const bool fits = row.size() == 10 && row[0] >= 1 && row[0] < left;
        require(fits,
                "others[" + std::to_string(i) + "]",
                text_of_row(row),
                "(files, frame_bytes, legacy, channels, frames_per_second, station, "
                "epoch, second, frame, first_sample), with at least one file, and one "
                "left for the stations before");
        forms.push_back({ row[0],
                          row[1],
                          row[2],
                          row[3],
                          row[4],
                          row[5],
                          row[6],
                          row[7],
                          row[8],
                          row[9] });
        left -= row[0];
    }
    forms[0].files = left;
    std::vector<formats::vdif_stream> streams;
    int files = 0;
    for (const auto& f : forms) {
        auto s = stream_of(f, p.bits, p.complex);
        s.first_file = files;
        s.files = int(f.files);
        files += s.files;
        const int64_t rate = s.frames_per_second * s.samples();
        const int64_t expected =
            streams.empty() ? rate : p.frames_per_second * streams[0].samples();
        require(rate == expected,
                "frames_per_second",
                std::to_string(f.frames_per_second),
                "as many as make the " + std::to_string(expected) +
                    " samples a second of the first station");
        streams.push_back(s);
    }
    return streams;
}

} // namespace

vdif_source::sptr vdif_source::make(const parameters& p)
{
    check_parameters<vdif_source>(p);
    recording r;
    r.layout.written = coding_of(p.bits);
    r.layout.complex = p.complex;
    auto streams = streams_of(p);
    require(!p.selected.empty(),
            "selected",
            "an empty list",
            "at least one (thread, channel)");
    // the sets of a station follow those of the one before
    std::vector<std::pair<size_t, int>> places; // (station, its set) of each input
    for (const auto& row : p.selected) {
        const size_t station = row.size() == 3 ? size_t(row[2]) : 0;
        require((row.size() == 2 || row.size() == 3) && row[0] >= 0 && row[0] < 1024 &&
                    station < streams.size() && row[1] >= 0 &&
                    row[1] < 1 << streams[station].log2_channels,
                "selected",
                text_of_row(row),
                "(thread, channel) or (thread, channel, station): a thread from 0 to "
                "1023, a channel that its frames have, and a station from 0 to " +
                    std::to_string(streams.size() - 1));
        auto& threads = streams[station].threads;
        const auto at = std::find(threads.begin(), threads.end(), int(row[0]));
        places.emplace_back(station, int(at - threads.begin()));
        const int channels = 1 << streams[station].log2_channels;
        r.layout.inputs.push_back({ 0, row[1], channels });
        if (at == threads.end())
            threads.push_back(int(row[0]));
    }
    for (size_t i = 0; i < places.size(); i++) {
        int before = 0;
        for (size_t station = 0; station < places[i].first; station++)
            before += int(streams[station].threads.size());
        r.layout.inputs[i].set = before + places[i].second;
    }
    set_common(r, p, { p.frames_per_second * streams[0].samples(), 1 });
    r.samples = p.samples;
    r.readers = p.readers;
    const auto frames = std::make_shared<formats::vdif_stations>(streams, r.files);
    r.pieces = frames;
    return gnuradio::make_block_sptr<vdif_source_impl>(r, frames);
}

vdif_source_impl::vdif_source_impl(const recording& r,
                                   std::shared_ptr<const formats::vdif_stations> frames)
    : gr::sync_block(
          "vdif_source", gr::io_signature::make(0, 0, 0), r.output_signature()),
      recording_source_impl(r),
      d_frames(std::move(frames))
{
}

std::map<std::string, uint64_t> vdif_source_impl::counts() const
{
    std::map<std::string, uint64_t> sums;
    for (const auto& station : d_frames->stations()) {
        const auto& c = station->counted();
        sums["invalid"] += c.invalid;
        sums["repeated"] += c.repeated;
        sums["late"] += c.late;
        sums["damaged"] += c.damaged;
        sums["skipped"] += c.skipped;
    }
    return sums;
}

} // namespace gr::aperture
