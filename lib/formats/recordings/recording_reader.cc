/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/columns.h"
#include "formats/recordings/conjugation.h"
#include "formats/recordings/recording_reader.h"
#include "kernels/common/not_numbers.h"
#include <algorithm>
#include <cstring>
#include <tuple>

namespace gr::aperture::formats {

namespace {

// Bytes of a block: they stay in the second-level cache until they are unpacked, with
// what they become.
constexpr int64_t unpacked_bytes = 1 << 17;
// Bytes of a block that is read to its place and not looked at, large beside the time of
// a system call; and those of a part of a block that is read by one, where there are
// many.
constexpr int64_t copied_bytes = 1 << 20;
constexpr int64_t least_bytes = 1 << 14;
// Bytes between two parts that are read with them, rather than by two system calls.
constexpr int64_t most_between = 512;
// Bytes that one thread reads ahead.
constexpr int64_t ahead_bytes = 1 << 20;

} // namespace

recording_reader::recording_reader(const recording_layout& layout,
                                   std::shared_ptr<recorded_files> files,
                                   std::shared_ptr<pieces> where,
                                   int64_t most_gap,
                                   int threads)
    : block_reader(std::move(files),
                   std::move(where),
                   sets_of(layout.inputs),
                   block_of(layout),
                   1,
                   false,
                   most_gap,
                   threads),
      d_layout(layout),
      d_element(int64_t(size_of(layout.type()))),
      d_stretches(stretches_of(layout)),
      // not a power of two, for which the planes would share a few lines of the cache
      d_plane(whole_lines(samples_of_block() * d_element) + line_bytes),
      d_interleaved(size_t(layout.ports()), layout.inputs_per_port > 1)
{
    for (const auto& s : d_stretches)
        if (s.direct)
            d_interleaved[size_t(s.inputs.front() / d_layout.inputs_per_port)] = false;
    d_scratch.resize(size_t(this->threads()));
}

int64_t recording_reader::block_of(const recording_layout& layout)
{
    const int64_t bits = layout.bits_of_sample();
    constexpr int64_t most = int64_t(1) << 60; // more than any block
    int64_t of_all = 0, widest = 1;
    // floats are looked at, as they may be NaN
    bool copied =
        is_plain(layout.written) && layout.written != coding::f32 && !layout.conjugated;
    for (const auto& s : stretches_of(layout)) {
        of_all +=
            s.stride *
            (s.whole() ? bits : std::max(bits, 8 * int64_t(size_of(layout.type()))));
        of_all = std::min(of_all, most);
        widest = std::max(widest, s.stride);
        copied = copied && s.direct;
    }
    const int64_t bytes = copied ? copied_bytes : unpacked_bytes;
    return std::max(
        { int64_t(1), bytes * 8 / of_all, least_bytes * 8 / (widest * bits) });
}

std::vector<recording_reader::stretch>
recording_reader::stretches_of(const recording_layout& layout)
{
    std::vector<stretch> all;
    for (int i = 0; i < int(layout.inputs.size()); i++) {
        const auto& input = layout.inputs[i];
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
        s.direct = s.stride == layout.inputs_per_port &&
                   int64_t(s.inputs.size()) == s.stride &&
                   s.inputs.front() % layout.inputs_per_port == 0;
        for (int64_t i = 0; s.direct && i < s.stride; i++)
            s.direct = s.columns[i] == i && s.inputs[i] == s.inputs.front() + i;
    }
    return all;
}

char* recording_reader::item(const block& b,
                             const std::vector<char*>& ports,
                             int port,
                             int64_t sample) const
{
    return ports[size_t(port)] +
           (b.first + sample) * d_layout.inputs_per_port * d_element;
}

char* recording_reader::place(const block& b,
                              const std::vector<char*>& ports,
                              scratch& m,
                              int input,
                              int64_t sample) const
{
    return d_layout.inputs_per_port == 1
               ? item(b, ports, input, sample)
               : m.planes.data() + input * d_plane + sample * d_element;
}

void recording_reader::read_together(scratch& m) const
{
    struct run {
        size_t first, end; // indices of the sorted ones
        int64_t from, bytes, at;
    };
    std::sort(m.sorted.begin(), m.sorted.end(), [](const reading* a, const reading* b) {
        return std::tie(a->p->from->file, a->from) < std::tie(b->p->from->file, b->from);
    });
    std::vector<run> runs;
    int64_t room = 0;
    for (size_t i = 0; i < m.sorted.size(); i++) {
        const reading& r = *m.sorted[i];
        const bool continues =
            i > 0 && r.p->from->file == m.sorted[i - 1]->p->from->file &&
            r.from - (runs.back().from + runs.back().bytes) <= most_between;
        if (!continues) {
            room += runs.empty() ? 0 : whole_lines(runs.back().bytes);
            runs.push_back({ i, i, r.from, 0, room });
        }
        runs.back().end = i + 1;
        runs.back().bytes =
            std::max(runs.back().bytes, r.from + r.bytes - runs.back().from);
    }
    if (!runs.empty())
        make_room(m.file, room + runs.back().bytes);
    for (const run& all : runs) {
        char* at = m.file.data() + all.at;
        const int file = m.sorted[all.first]->p->from->file;
        std::string error;
        const int64_t got = files().read(file, all.from, all.bytes, at, error);
        for (size_t i = all.first; i < all.end; i++) {
            reading& r = *m.sorted[i];
            const int64_t before = r.from - all.from;
            r.at = at + before;
            r.got = std::clamp<int64_t>(got - before, 0, r.bytes);
            if (r.got < r.bytes)
                r.error = error;
        }
    }
}

void recording_reader::read_files(block& b,
                                  const std::vector<char*>& ports,
                                  scratch& m) const
{
    const int64_t bits = d_layout.bits_of_sample();
    m.readings.clear();
    for (const auto& s : d_stretches) {
        // the columns behind the last one of the last sample may be behind the end of a
        // file
        const int64_t last = *std::max_element(s.columns.begin(), s.columns.end());
        for (const auto& p : b.parts[size_t(s.set)])
            if (p.from) {
                const int64_t first = s.offset + p.skipped * s.stride;
                const int64_t end = first + (p.samples - 1) * s.stride + last + 1;
                const int64_t from = first * bits / 8;
                m.readings.push_back({ &s,
                                       &p,
                                       p.from->offset + from,
                                       (end * bits + 7) / 8 - from,
                                       nullptr,
                                       0,
                                       {} });
            }
    }
    m.sorted.clear();
    for (auto& r : m.readings) {
        if (!r.s->whole() || !is_plain(d_layout.written)) {
            m.sorted.push_back(&r);
            continue;
        }
        const int input = r.s->inputs.front();
        r.at = r.s->direct ? item(b, ports, input / d_layout.inputs_per_port, r.p->first)
                           : place(b, ports, m, input, r.p->first);
        r.got = files().read(r.p->from->file, r.from, r.bytes, r.at, r.error);
    }
    read_together(m);
}

int64_t recording_reader::samples_of(const reading& bytes) const
{
    if (bytes.got == bytes.bytes)
        return bytes.p->samples;
    const int64_t bits = d_layout.bits_of_sample(), stride = bytes.s->stride;
    const int64_t bits_before = (bytes.s->offset + bytes.p->skipped * stride) * bits % 8;
    return std::clamp<int64_t>(
        (bytes.got * 8 - bits_before) / (bits * stride), 0, bytes.p->samples);
}

void recording_reader::unpack_part(block& b,
                                   const reading& bytes,
                                   int64_t samples,
                                   const std::vector<char*>& ports,
                                   scratch& m) const
{
    const stretch& s = *bytes.s;
    const part& p = *bytes.p;
    const int64_t bits = d_layout.bits_of_sample();
    const int64_t bits_before = (s.offset + p.skipped * s.stride) * bits % 8;
    const bool plain = is_plain(d_layout.written);
    const bool floats = d_layout.written == coding::f32;
    const int64_t count =
        (samples < p.samples
             ? samples * s.stride
             : (samples - 1) * s.stride +
                   *std::max_element(s.columns.begin(), s.columns.end()) + 1) *
        d_layout.components();
    const int skipped = int(bits_before / bits_of(d_layout.written));
    bool numbers = true;
    if (s.whole()) {
        const int input = s.inputs.front();
        if (plain)
            numbers = !floats || kernels::host::all_numbers(
                                     reinterpret_cast<const float*>(bytes.at),
                                     size_t(samples * s.stride) * d_layout.components());
        else
            numbers = unpack(
                d_layout.written,
                bytes.at,
                skipped,
                count,
                s.direct ? item(b, ports, input / d_layout.inputs_per_port, p.first)
                         : place(b, ports, m, input, p.first));
    } else {
        const char* from = bytes.at;
        if (!plain || floats || reinterpret_cast<uintptr_t>(from) % size_t(d_element)) {
            make_room(m.unpacked, count / d_layout.components() * d_element);
            numbers =
                unpack(d_layout.written, bytes.at, skipped, count, m.unpacked.data());
            from = m.unpacked.data();
        }
        m.columns.clear();
        for (const int input : s.inputs)
            m.columns.push_back(place(b, ports, m, input, p.first));
        take_columns(from, s.stride, s.columns, samples, size_t(d_element), m.columns);
    }
    if (!numbers)
        clear_part(b, s, p, samples, ports, m);
}

void recording_reader::clear_part(block& b,
                                  const stretch& s,
                                  const part& p,
                                  int64_t samples,
                                  const std::vector<char*>& ports,
                                  scratch& m) const
{
    const int parts = d_layout.components();
    for (size_t i = 0; i < s.inputs.size(); i++) {
        const int input = s.inputs[i];
        char* first = s.direct
                          ? item(b, ports, input / d_layout.inputs_per_port, p.first) +
                                s.columns[i] * d_element
                          : place(b, ports, m, input, p.first);
        int64_t begin = -1;
        const int64_t count = kernels::host::clear_not_numbers(
            reinterpret_cast<float*>(first),
            samples,
            parts,
            parts * (s.direct ? s.stride : 1),
            [&](int64_t at, int64_t length) {
                if (begin < 0)
                    begin = at;
                b.gaps.push_back({ input, p.first + at, length });
            });
        if (count > 0)
            b.not_numbers.push_back({ input, p.first + begin, count });
    }
}

void recording_reader::clear_gap(block& b,
                                 const stretch& s,
                                 const part& p,
                                 int64_t samples,
                                 const std::vector<char*>& ports,
                                 scratch& m) const
{
    if (s.direct)
        std::memset(item(b, ports, s.inputs.front() / d_layout.inputs_per_port, p.first),
                    0,
                    size_t(samples * s.stride * d_element));
    for (const int input : s.inputs) {
        if (!s.direct)
            std::memset(
                place(b, ports, m, input, p.first), 0, size_t(samples * d_element));
        b.gaps.push_back({ input, p.first, samples });
    }
}

void recording_reader::interleave_port(int64_t samples,
                                       int port,
                                       char* items,
                                       scratch& m) const
{
    const int inputs = d_layout.inputs_per_port;
    interleave_columns(m.planes.data() + port * inputs * d_plane,
                       d_plane / d_element,
                       inputs,
                       samples,
                       size_t(d_element),
                       items);
}

void recording_reader::conjugate_port(block& b,
                                      int64_t samples,
                                      int port,
                                      char* items) const
{
    const int inputs = d_layout.inputs_per_port;
    std::vector<uint64_t> clamped;
    conjugate(d_layout.type(), items, samples * inputs, [&](int64_t i) {
        clamped.resize(size_t(inputs));
        clamped[size_t(i % inputs)]++;
    });
    for (size_t i = 0; i < clamped.size(); i++)
        if (clamped[i] > 0)
            b.clamped.push_back({ port * inputs + int(i), clamped[i] });
}

void recording_reader::do_job(block& b,
                              int64_t,
                              const std::vector<char*>& ports,
                              int thread)
{
    scratch& m = d_scratch[size_t(thread)];
    if (d_layout.inputs_per_port > 1 &&
        std::find(d_interleaved.begin(), d_interleaved.end(), true) !=
            d_interleaved.end())
        make_room(m.planes, int64_t(d_layout.inputs.size()) * d_plane);
    read_files(b, ports, m);
    outcome& all = b.outcomes.front();
    for (const auto& r : m.readings) {
        const int64_t good = r.p->first + samples_of(r);
        if (good < std::min(all.good, r.p->first + r.p->samples))
            all = { good, r.error };
    }
    auto next = m.readings.begin();
    for (const auto& s : d_stretches)
        for (const auto& p : b.parts[size_t(s.set)]) {
            const int64_t samples = std::min(p.samples, all.good - p.first);
            if (samples > 0 && p.from)
                unpack_part(b, *next, samples, ports, m);
            else if (samples > 0)
                clear_gap(b, s, p, samples, ports, m);
            next += p.from.has_value();
        }
    for (int port = 0; port < d_layout.ports(); port++) {
        char* items = item(b, ports, port, 0);
        if (d_interleaved[size_t(port)])
            interleave_port(all.good, port, items, m);
        if (d_layout.conjugated && d_layout.complex)
            conjugate_port(b, all.good, port, items);
    }
}

// The next call wants as many bytes behind the last ones of each stretch as this one has.
std::vector<recording_reader::ahead> recording_reader::find_ahead(size_t blocks) const
{
    std::vector<ahead> wanted;
    // The bytes of a stretch in a file, in this call, and the end of its last piece.
    struct span {
        int file = -1;
        int64_t begin = 0, end = 0, piece_end = 0, bytes = 0;
    };
    const int64_t bits = d_layout.bits_of_sample();
    std::vector<span> spans;
    for (const auto& s : d_stretches) {
        const auto byte = [&](const part& p, int64_t sample) {
            return p.from->offset + (s.offset + sample * s.stride) * bits / 8;
        };
        span of;
        for (size_t i = 0; i < blocks; i++)
            for (const auto& p : block_of_call(i).parts[size_t(s.set)])
                if (p.from) {
                    if (p.from->file != of.file)
                        of = { p.from->file, byte(p, p.skipped), 0, 0, 0 };
                    of.end = byte(p, p.skipped + p.samples);
                    of.piece_end = byte(p, p.from->samples);
                    of.bytes += p.samples * s.stride * bits / 8;
                }
        if (of.file >= 0)
            spans.push_back(of);
    }
    std::sort(spans.begin(), spans.end(), [](const span& a, const span& b) {
        return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
    });
    // Stretches whose pieces alternate in a file become one.
    std::vector<span> apart;
    for (const auto& s : spans) {
        if (apart.empty() || apart.back().file != s.file || apart.back().end <= s.begin) {
            apart.push_back(s);
            continue;
        }
        auto& other = apart.back();
        other.end = std::max(other.end, s.end);
        other.piece_end = std::max(other.piece_end, s.piece_end);
        other.bytes += s.bytes;
    }
    for (const auto& s : apart) {
        // The bytes behind a piece are wanted only where most of those between pieces
        // are.
        const bool dense = 2 * s.bytes > s.end - s.begin;
        const int64_t end =
            std::min(s.end + s.bytes, dense ? files().size(s.file) : s.piece_end);
        for (int64_t at = s.end; at < end; at += ahead_bytes)
            wanted.push_back({ s.file, at, std::min(ahead_bytes, end - at) });
    }
    return wanted;
}

} // namespace gr::aperture::formats
