/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/columns.h"
#include "formats/recordings/recording_reader.h"
#include "kernels/common/not_numbers.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace gr::aperture::formats {

namespace {

// Bytes of a block in files: they stay in the second-level cache until they are unpacked.
constexpr int64_t block_bytes = 1 << 18;
// Bytes of all planes of a block, which samples are interleaved from, in the cache.
constexpr int64_t planes_bytes = 1 << 19;
// Bytes of a block that is read to its place: large beside the time of a system call.
constexpr int64_t direct_bytes = 1 << 24;

} // namespace

recording_reader::recording_reader(const recording_layout& layout,
                                   std::shared_ptr<recorded_files> files,
                                   std::shared_ptr<pieces> where,
                                   int64_t most_gap)
    : d_layout(layout),
      d_files(std::move(files)),
      d_pieces(std::move(where)),
      d_most_gap(most_gap),
      d_element(int64_t(size_of(layout.type()))),
      d_stretches(stretches_of()),
      d_newest_gap(layout.inputs.size())
{
    int64_t widest = 1;
    bool direct = true;
    for (const auto& s : d_stretches) {
        widest = std::max(widest, s.stride);
        direct = direct && s.direct;
    }
    const int64_t bits = widest * d_layout.bits_of_sample();
    // floats are checked for NaN, and should be in the cache for it
    const bool read_in_place =
        direct && is_plain(d_layout.written) && d_layout.written != coding::f32;
    d_block =
        std::max<int64_t>(1, (read_in_place ? direct_bytes : block_bytes) * 8 / bits);
    if (!direct) {
        const int64_t plane_item = int64_t(layout.inputs.size()) * d_element;
        d_block = std::min(d_block, std::max<int64_t>(1024, planes_bytes / plane_item));
        d_planes.resize(size_t(plane_item * d_block));
    }
}

std::vector<recording_reader::stretch> recording_reader::stretches_of() const
{
    std::vector<stretch> all;
    for (int i = 0; i < int(d_layout.inputs.size()); i++) {
        const auto& input = d_layout.inputs[i];
        const int64_t column = input.offset % input.stride;
        const int64_t offset = input.offset - column;
        auto found = std::find_if(all.begin(), all.end(), [&](const stretch& s) {
            return s.set == input.set && s.offset == offset && s.stride == input.stride;
        });
        if (found == all.end())
            found = all.insert(found, { input.set, offset, input.stride, {}, {}, false });
        found->columns.push_back(column);
        found->inputs.push_back(i);
    }
    for (auto& s : all) {
        s.direct = s.stride == d_layout.inputs_per_port &&
                   int64_t(s.inputs.size()) == s.stride &&
                   s.inputs.front() % d_layout.inputs_per_port == 0;
        for (int64_t i = 0; s.direct && i < s.stride; i++)
            s.direct = s.columns[i] == i && s.inputs[i] == s.inputs.front() + i;
    }
    return all;
}

void recording_reader::restart(int64_t sample)
{
    d_pieces->restart();
    d_position = sample;
    d_error.clear();
}

std::optional<int64_t> recording_reader::end_of_long_gap()
{
    int64_t end = std::numeric_limits<int64_t>::max();
    for (const auto& s : d_stretches) {
        const auto found = d_pieces->find(s.set, d_position);
        end = std::min(end, found.next ? found.next->first : found.none_before);
    }
    if (end == std::numeric_limits<int64_t>::max() || end - d_position <= d_most_gap)
        return {};
    return end;
}

std::vector<recording_reader::part> recording_reader::parts_of(int set, int64_t samples)
{
    std::vector<part> parts;
    const int64_t end = d_position + samples;
    for (int64_t at = d_position; at < end;) {
        const auto found = d_pieces->find(set, at);
        int64_t next = end;
        if (!found.next || found.next->first > at) {
            next = std::min(end, found.next ? found.next->first : found.none_before);
            parts.push_back({ {}, 0, at - d_position, next - at });
        } else {
            next = std::min(end, found.next->end());
            parts.push_back(
                { found.next, at - found.next->first, at - d_position, next - at });
        }
        at = next;
    }
    return parts;
}

int64_t recording_reader::find_parts(int64_t samples)
{
    struct interval {
        int64_t first, end;
    };
    std::vector<interval> common{ { 0, samples } }; // samples that no set has
    for (const auto& s : d_stretches) {
        if (d_parts.size() <= size_t(s.set))
            d_parts.resize(size_t(s.set) + 1);
        auto& parts = d_parts[size_t(s.set)];
        parts = parts_of(s.set, samples);
        std::vector<interval> still;
        for (const auto& c : common)
            for (const auto& p : parts)
                if (!p.from && p.first < c.end && p.first + p.samples > c.first)
                    still.push_back({ std::max(c.first, p.first),
                                      std::min(c.end, p.first + p.samples) });
        common = std::move(still);
    }
    for (const auto& c : common)
        if (c.first > 0)
            samples = std::min(samples, c.first);
    for (auto& parts : d_parts) {
        while (!parts.empty() && parts.back().first >= samples)
            parts.pop_back();
        if (!parts.empty())
            parts.back().samples =
                std::min(parts.back().samples, samples - parts.back().first);
    }
    return samples;
}

int64_t
recording_reader::unpack_part(const stretch& s, const part& p, char* port, bool& good)
{
    good = true;
    const int64_t bits = d_layout.bits_of_sample();
    const int64_t first = s.offset + p.skipped * s.stride;
    // the columns behind the last one of the last sample may be behind the end of a file
    const int64_t last_column = *std::max_element(s.columns.begin(), s.columns.end());
    const int64_t count = (p.samples - 1) * s.stride + last_column + 1;
    const int64_t from = first * bits / 8;
    const int64_t bytes = ((first + count) * bits + 7) / 8 - from;
    const bool in_place = s.direct && is_plain(d_layout.written);
    if (!in_place && int64_t(d_file_bytes.size()) < bytes)
        d_file_bytes.resize(size_t(bytes));
    char* file = in_place ? port : d_file_bytes.data();
    const int64_t got = d_files->read(p.from->file, p.from->offset + from, bytes, file);
    int64_t samples = p.samples;
    if (got < bytes) {
        d_error = d_files->error();
        samples = std::min(samples, got * 8 / (bits * s.stride));
    }
    if (in_place && d_layout.written == coding::f32)
        good = kernels::host::all_numbers(reinterpret_cast<const float*>(file),
                                          size_t(samples * s.stride) *
                                              d_layout.components());
    if (in_place || samples == 0)
        return samples;

    const int64_t components = samples < p.samples ? samples * s.stride : count;
    const int skipped = int(first * bits % 8 / bits_of(d_layout.written));
    const bool to_plane = !s.direct && s.stride == 1 && s.inputs.size() == 1;
    char* unpacked = port;
    if (to_plane) {
        unpacked = plane(s.inputs[0]) + p.first * d_element;
    } else if (!s.direct) {
        const auto size = size_t(components * d_element);
        if (d_unpacked.size() < size)
            d_unpacked.resize(size);
        unpacked = d_unpacked.data();
    }
    good = unpack(
        d_layout.written, file, skipped, components * d_layout.components(), unpacked);
    if (!s.direct && !to_plane)
        for (size_t i = 0; i < s.inputs.size(); i++)
            take_column(unpacked + s.columns[i] * d_element,
                        s.stride,
                        samples,
                        size_t(d_element),
                        plane(s.inputs[i]) + p.first * d_element);
    return samples;
}

void recording_reader::add_gap(int input, int64_t first, int64_t count, result& r)
{
    auto& newest = d_newest_gap[input];
    if (newest && r.gaps[newest - 1].first + r.gaps[newest - 1].count == first) {
        r.gaps[newest - 1].count += count;
    } else {
        r.gaps.push_back({ input, first, count });
        newest = r.gaps.size();
    }
}

void recording_reader::clear_part(
    const stretch& s, const part& p, int64_t samples, char* port, result& r)
{
    const int parts = d_layout.components();
    for (size_t i = 0; i < s.inputs.size(); i++) {
        const int input = s.inputs[i];
        char* first = s.direct ? port + s.columns[i] * d_element
                               : plane(input) + p.first * d_element;
        int64_t begin = -1;
        const int64_t count = kernels::host::clear_not_numbers(
            reinterpret_cast<float*>(first),
            samples,
            parts,
            parts * (s.direct ? s.stride : 1),
            [&](int64_t at, int64_t length) {
                if (begin < 0)
                    begin = at;
                add_gap(input, r.samples + p.first + at, length, r);
            });
        if (count > 0)
            r.not_numbers.push_back({ input, r.samples + p.first + begin, count });
    }
}

int64_t
recording_reader::read_block(const std::vector<char*>& ports, int64_t samples, result& r)
{
    const int64_t item = d_layout.inputs_per_port * d_element;
    samples = find_parts(samples);
    int64_t good = samples;
    for (const auto& s : d_stretches) {
        const int port = s.inputs.front() / d_layout.inputs_per_port;
        for (const auto& p : d_parts[size_t(s.set)]) {
            char* items = s.direct ? ports[port] + (r.samples + p.first) * item : nullptr;
            if (p.from) {
                bool numbers;
                const int64_t got = unpack_part(s, p, items, numbers);
                if (!numbers)
                    clear_part(s, p, got, items, r);
                if (got < p.samples)
                    good = std::min(good, p.first + got);
                continue;
            }
            if (s.direct)
                std::memset(items, 0, size_t(p.samples * item));
            for (const int input : s.inputs) {
                if (!s.direct)
                    std::memset(plane(input) + p.first * d_element,
                                0,
                                size_t(p.samples * d_element));
                add_gap(input, r.samples + p.first, p.samples, r);
            }
        }
    }
    for (int port = 0; !d_planes.empty() && port < d_layout.ports(); port++)
        interleave_port(port, good, ports[port] + r.samples * item);
    return good;
}

void recording_reader::interleave_port(int port, int64_t samples, char* items)
{
    for (const auto& s : d_stretches)
        if (s.direct && s.inputs.front() / d_layout.inputs_per_port == port)
            return;
    interleave_columns(plane(port * d_layout.inputs_per_port),
                       d_block,
                       d_layout.inputs_per_port,
                       samples,
                       size_t(d_element),
                       items);
}

recording_reader::result
recording_reader::read(const std::vector<char*>& ports, int64_t samples, int64_t end)
{
    result r{ 0, false, {}, {} };
    std::fill(d_newest_gap.begin(), d_newest_gap.end(), 0);
    while (r.samples < samples && d_error.empty()) {
        int64_t n = std::min(samples - r.samples, d_block);
        n = std::min({ n, end - d_position, d_pieces->end(d_position + n) - d_position });
        // samples that were found before an error are read first
        if (n <= 0) {
            d_error = d_pieces->error();
            break;
        }
        d_pieces->release(d_position);
        if (const auto behind = end_of_long_gap()) {
            if (r.samples > 0)
                break;
            d_position = *behind;
            r.jumped = true;
            continue;
        }
        const int64_t good = read_block(ports, n, r);
        r.samples += good;
        d_position += good;
    }
    for (auto& g : r.gaps)
        g.count = std::min(g.count, r.samples - g.first);
    r.gaps.erase(std::remove_if(r.gaps.begin(),
                                r.gaps.end(),
                                [](const gap& g) { return g.count <= 0; }),
                 r.gaps.end());
    return r;
}

} // namespace gr::aperture::formats
