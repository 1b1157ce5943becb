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

formats::vdif_stream stream_of(const vdif_source::parameters& p)
{
    formats::vdif_stream s;
    s.header_bytes = p.legacy ? 16 : 32;
    // the header counts units of 8 bytes in 24 bits
    require(p.frame_bytes > s.header_bytes && p.frame_bytes < 1 << 27 &&
                p.frame_bytes % 8 == 0,
            "frame_bytes",
            std::to_string(p.frame_bytes),
            "a multiple of 8, above the " + std::to_string(s.header_bytes) +
                " bytes of a header and below 2^27");
    s.frame_bytes = p.frame_bytes;
    s.bits = p.bits;
    s.complex = p.complex;
    while (s.log2_channels < 16 && 1 << s.log2_channels < p.channels)
        s.log2_channels++;
    require(p.channels == 1 << s.log2_channels,
            "channels",
            std::to_string(p.channels),
            "a power of two from 1 to 65536");
    const int64_t bits = int64_t(p.bits) * (p.complex ? 2 : 1) * p.channels;
    require(int64_t(s.frame_bytes - s.header_bytes) * 8 % bits == 0,
            "frame_bytes",
            std::to_string(p.frame_bytes),
            "its header and whole samples of " + std::to_string(bits) + " bits");
    s.station = p.station;
    // frames are counted by 24 bits
    s.frames_per_second = p.frames_per_second;
    const auto& first = p.first_frame;
    require(first.size() == 3 && first[0] >= 0 && first[0] < 64 && first[1] >= 0 &&
                first[1] < 1 << 30 && first[2] >= 0 && first[2] < p.frames_per_second,
            "first_frame",
            first.size() == 3
                ? "(" + std::to_string(first[0]) + ", " + std::to_string(first[1]) +
                      ", " + std::to_string(first[2]) + ")"
                : std::to_string(first.size()) + " integers",
            "(epoch, second, frame): an epoch below 64, a second below 2^30 and a frame "
            "below frames_per_second");
    s.epoch = int(first[0]);
    s.second = first[1];
    s.frame = first[2];
    return s;
}

} // namespace

vdif_source::sptr vdif_source::make(const parameters& p)
{
    check_parameters<vdif_source>(p);
    recording r;
    r.layout.written = coding_of(p.bits);
    r.layout.complex = p.complex;
    auto stream = stream_of(p);
    require(!p.selected.empty(),
            "selected",
            "an empty list",
            "at least one (thread, channel)");
    for (const auto& [thread, channel] : p.selected) {
        require(thread >= 0 && thread < 1024 && channel >= 0 && channel < p.channels,
                "selected",
                "(" + std::to_string(thread) + ", " + std::to_string(channel) + ")",
                "a thread from 0 to 1023 and a channel from 0 to " +
                    std::to_string(p.channels - 1));
        auto& threads = stream.threads;
        const auto at = std::find(threads.begin(), threads.end(), thread);
        r.layout.inputs.push_back({ int(at - threads.begin()), channel, p.channels });
        if (at == threads.end())
            threads.push_back(thread);
    }
    set_common(r, p, { p.frames_per_second * stream.samples(), 1 });
    r.samples = p.samples;
    r.readers = p.readers;
    const auto frames = std::make_shared<formats::vdif_frames>(stream, r.files);
    r.pieces = frames;
    return gnuradio::make_block_sptr<vdif_source_impl>(r, frames);
}

vdif_source_impl::vdif_source_impl(const recording& r,
                                   std::shared_ptr<const formats::vdif_frames> frames)
    : gr::sync_block(
          "vdif_source", gr::io_signature::make(0, 0, 0), r.output_signature()),
      recording_source_impl(r),
      d_frames(std::move(frames))
{
}

std::map<std::string, uint64_t> vdif_source_impl::counts() const
{
    const auto& c = d_frames->counted();
    return { { "invalid", c.invalid },
             { "repeated", c.repeated },
             { "late", c.late },
             { "damaged", c.damaged },
             { "skipped", c.skipped } };
}

} // namespace gr::aperture
