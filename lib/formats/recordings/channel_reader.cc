/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/channel_reader.h"
#include "formats/recordings/columns.h"
#include "formats/transposition.h"
#include "kernels/common/not_numbers.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace gr::aperture::formats {

namespace {

// Bytes of a window in files: they stay in the second-level cache until they are sent.
constexpr int64_t window_bytes = 1 << 20;
// Bytes of a row of a window, above which the time of a system call does not count, and
// of a window that grows for that.
constexpr int64_t row_bytes = 1 << 11, most_window_bytes = 1 << 25;
// Channels and spectra of a tile, which stays in the second-level cache: of many rows,
// each is read for some cache lines in a row.
constexpr int64_t tile_channels = 64, tile_spectra = 256;
// Spectra that are transposed together: so many cache lines are written at a time.
constexpr int64_t together = 8;

} // namespace

std::string channel_layout::problem() const
{
    std::vector<char> found(size_t(inputs) * size_t(channels));
    for (const auto& p : places)
        for (int c = p.first_channel; c < p.first_channel + p.channels; c++) {
            auto& there = found[size_t(p.input) * size_t(channels) + size_t(c)];
            if (there)
                return "channel " + std::to_string(c) + " of input " +
                       std::to_string(p.input) + " is in two rows";
            there = 1;
        }
    for (size_t i = 0; i < found.size(); i++)
        if (!found[i])
            return "channel " + std::to_string(i % size_t(channels)) + " of input " +
                   std::to_string(i / size_t(channels)) + " is in no row";
    return {};
}

std::optional<int64_t> channel_layout::bytes_of(const piece& p, int set) const
{
    int64_t most = 0;
    // strides are below 2^40 and pieces below 2^62: nothing overflows 128 bits
    using wide = __int128;
    for (const auto& place : places) {
        if (place.set != set)
            continue;
        for (const int64_t c : { int64_t(0), int64_t(place.channels - 1) })
            for (const int64_t t : { int64_t(0), p.samples - 1 }) {
                const wide at =
                    wide(place.offset) + wide(c) * place.channel_stride +
                    wide(t) * place.time_stride +
                    wide(p.row_samples()) * (place.offset_rows + c * place.channel_rows);
                const wide end = ((at + 1) * bits_of_sample() + 7) / 8;
                if (at < 0 || end > std::numeric_limits<int64_t>::max())
                    return {};
                most = std::max(most, int64_t(end));
            }
    }
    return most;
}

channel_reader::channel_reader(const channel_layout& layout,
                               std::shared_ptr<recorded_files> files,
                               std::shared_ptr<pieces> where,
                               int64_t most_gap)
    : d_layout(layout),
      d_files(std::move(files)),
      d_pieces(std::move(where)),
      d_most_gap(most_gap),
      d_element(int64_t(size_of(layout.type()))),
      d_item(d_element * layout.inputs_per_port * layout.channels),
      d_bundles(bundles_of()),
      d_window(window_of()),
      d_parts(d_bundles.size()),
      d_stretches(d_bundles.size()),
      d_missing(size_t(layout.inputs)),
      d_tile(size_t(tile_channels * tile_spectra * d_element))
{
}

std::vector<channel_reader::bundle> channel_reader::bundles_of() const
{
    std::vector<bundle> all;
    for (int i = 0; i < int(d_layout.places.size()); i++) {
        const auto& p = d_layout.places[size_t(i)];
        // rows are longer than what stands between two spectra
        const bool rows =
            p.channel_rows != 0 || std::abs(p.channel_stride) >= p.time_stride;
        const auto fits = [&](const bundle& b) {
            const auto& q = first_of(b);
            if (b.set != p.set || b.rows != rows || q.time_stride != p.time_stride)
                return false;
            return !rows ||
                   (q.first_channel == p.first_channel && q.channels == p.channels &&
                    q.channel_stride == p.channel_stride &&
                    q.channel_rows == p.channel_rows && q.offset_rows == p.offset_rows &&
                    q.offset / q.time_stride == p.offset / p.time_stride);
        };
        // places that belong together mostly follow each other
        auto found = std::find_if(all.rbegin(), all.rend(), fits);
        if (found != all.rend())
            found->places.push_back(i);
        else
            all.push_back({ p.set, rows, { i } });
    }
    return all;
}

int64_t channel_reader::window_of() const
{
    int64_t bits = 0, shortest = std::numeric_limits<int64_t>::max();
    for (const auto& b : d_bundles) {
        const auto& p = first_of(b);
        const int64_t row = p.time_stride * d_layout.bits_of_sample();
        bits += row * (b.rows ? p.channels : 1);
        if (b.rows)
            shortest = std::min(shortest, row);
    }
    int64_t spectra = window_bytes * 8 / bits;
    if (shortest < std::numeric_limits<int64_t>::max())
        spectra = std::max(
            spectra, std::min(row_bytes * 8 / shortest, most_window_bytes * 8 / bits));
    return std::max<int64_t>(1, spectra);
}

void channel_reader::restart(int64_t spectrum)
{
    d_pieces->restart();
    d_position = spectrum;
    d_error.clear();
    d_error_behind.clear();
    d_found = d_sent = 0;
}

std::vector<channel_reader::part> channel_reader::parts_of(int set, int64_t spectra)
{
    std::vector<part> parts;
    const int64_t end = d_position + spectra;
    for (int64_t at = d_position; at < end;) {
        const auto found = d_pieces->find(set, at);
        const bool there = found.next && found.next->first <= at;
        const int64_t until = there        ? found.next->end()
                              : found.next ? found.next->first
                                           : found.none_before;
        const int64_t next = std::min(end, until);
        parts.push_back({ there ? found.next : std::nullopt,
                          there ? at - found.next->first : 0,
                          at - d_position,
                          next - at });
        at = next;
    }
    return parts;
}

int64_t
channel_reader::read_stretch(const piece& p, int64_t first, int64_t end, stretch& to)
{
    const int64_t bits = d_layout.bits_of_sample();
    const int64_t from = first * bits / 8;
    const int64_t bytes = (end * bits + 7) / 8 - from;
    to = { d_used, from * 8 / bits };
    d_used += size_t(bytes);
    if (d_bytes.size() < d_used)
        d_bytes.resize(std::max(d_used, 2 * d_bytes.size()));
    const int64_t got = d_files->read(
        p.file, p.offset + from, bytes, d_bytes.data() + to.at, d_error_behind);
    if (got < bytes) {
        return std::max<int64_t>(0, (from + got) * 8 / bits - first);
    }
    return end - first;
}

int64_t
channel_reader::read_part(const bundle& b, const part& p, std::vector<stretch>& to)
{
    const int64_t row = p.from->row_samples();
    const auto& head = first_of(b);
    // the samples of the first time, of all places: of rows, those of the first channel
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (const int i : b.places) {
        const auto& place = d_layout.places[size_t(i)];
        for (const int64_t c : { int64_t(0), int64_t(place.channels - 1) }) {
            const int64_t at = place.at(b.rows ? 0 : c, p.skipped, row);
            least = std::min(least, at);
            most = std::max(most, at);
        }
    }
    const int64_t width = most - least + 1 + (p.spectra - 1) * head.time_stride;
    const int64_t channels = b.rows ? head.channels : 1;
    const int64_t shift = head.at(channels - 1, 0, row) - head.at(0, 0, row);
    to.resize(size_t(channels));
    if (std::abs(shift) + width <= 2 * channels * width) {
        // one stretch has all rows, and little else
        stretch all;
        const int64_t first = least + std::min<int64_t>(0, shift);
        const int64_t size = std::abs(shift) + width;
        const int64_t got = read_stretch(*p.from, first, first + size, all);
        std::fill(to.begin(), to.end(), all);
        return got == size ? p.spectra : b.rows ? 0 : got / head.time_stride;
    }
    int64_t good = p.spectra;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t first = least + head.at(c, 0, row) - head.at(0, 0, row);
        const int64_t got = read_stretch(*p.from, first, first + width, to[size_t(c)]);
        if (got < width)
            good = std::min(good, got / head.time_stride);
    }
    return good;
}

void channel_reader::read_window(int64_t spectra)
{
    d_used = 0;
    d_found = spectra;
    for (size_t i = 0; i < d_bundles.size(); i++) {
        auto& parts = d_parts[i];
        // bundles of a set follow each other, and have the same parts
        parts = i > 0 && d_bundles[i - 1].set == d_bundles[i].set
                    ? d_parts[i - 1]
                    : parts_of(d_bundles[i].set, spectra);
        d_stretches[i].resize(parts.size());
        for (size_t j = 0; j < parts.size(); j++)
            if (parts[j].from) {
                const int64_t good = read_part(d_bundles[i], parts[j], d_stretches[i][j]);
                if (good < parts[j].spectra)
                    d_found = std::min(d_found, parts[j].first + good);
            }
    }
    d_sent = 0;
    note_missing();
}

void channel_reader::note_missing()
{
    for (auto& runs : d_missing)
        runs.clear();
    for (size_t i = 0; i < d_bundles.size(); i++)
        for (const auto& p : d_parts[i])
            for (const int place : d_bundles[i].places)
                if (!p.from)
                    d_missing[size_t(d_layout.places[size_t(place)].input)].push_back(
                        { p.first, p.first + p.spectra });
    for (auto& runs : d_missing) {
        std::sort(runs.begin(), runs.end(), [](const run& a, const run& b) {
            return a.first < b.first;
        });
        size_t kept = 0;
        for (size_t i = 1; i < runs.size(); i++)
            if (runs[i].first <= runs[kept].end)
                runs[kept].end = std::max(runs[kept].end, runs[i].end);
            else
                runs[++kept] = runs[i];
        if (!runs.empty())
            runs.resize(kept + 1);
    }
    // a long gap of all inputs begins a window, so that it is passed over
    std::vector<run> common{ { 0, d_found } };
    for (const auto& runs : d_missing) {
        std::vector<run> both;
        for (const auto& a : common)
            for (const auto& b : runs)
                if (a.first < b.end && b.first < a.end)
                    both.push_back(
                        { std::max(a.first, b.first), std::min(a.end, b.end) });
        common = std::move(both);
    }
    for (const auto& c : common)
        if (c.first > 0)
            d_found = std::min(d_found, c.first);
}

char* channel_reader::item_of(int input, int channel, int64_t spectrum)
{
    const int each = d_layout.inputs_per_port;
    return d_ports[size_t(input / each)] + (spectrum - d_origin) * d_item +
           (int64_t(input % each) * d_layout.channels + channel) * d_element;
}

const char* channel_reader::unpacked(const stretch& s, int64_t sample, int64_t count)
{
    const int64_t bit = (sample - s.begin) * d_layout.bits_of_sample();
    const char* bytes = d_bytes.data() + s.at + bit / 8;
    if (is_plain(d_layout.written))
        return bytes;
    if (d_unpacked.size() < size_t(count * d_element))
        d_unpacked.resize(size_t(count * d_element));
    unpack(d_layout.written,
           bytes,
           int(bit % 8) / bits_of(d_layout.written),
           2 * count,
           d_unpacked.data());
    return d_unpacked.data();
}

void channel_reader::emit_rows(const bundle& b,
                               const part& p,
                               const std::vector<stretch>& from,
                               int64_t t,
                               int64_t count,
                               int64_t to)
{
    const auto& head = first_of(b);
    const int64_t stride = head.time_stride, row = p.from->row_samples();
    const int64_t places = int64_t(b.places.size()), plane = tile_channels * tile_spectra;
    if (int64_t(d_tile.size()) < places * plane * d_element)
        d_tile.resize(size_t(places * plane * d_element));
    for (int64_t start = 0; start < head.channels; start += tile_channels) {
        const int64_t channels = std::min(head.channels - start, tile_channels);
        for (int64_t at = 0; at < count; at += tile_spectra) {
            const int64_t spectra = std::min(count - at, tile_spectra);
            for (int64_t c = 0; c < channels; c++) {
                const auto& s = from[size_t(start + c)];
                int64_t lowest = std::numeric_limits<int64_t>::max(), highest = 0;
                for (const int i : b.places) {
                    const int64_t sample =
                        d_layout.places[size_t(i)].at(start + c, t + at, row);
                    lowest = std::min(lowest, sample);
                    highest = std::max(highest, sample);
                }
                // from the first place of the first time to the last one of the last time
                const char* samples =
                    unpacked(s, lowest, highest - lowest + 1 + (spectra - 1) * stride);
                for (int64_t i = 0; i < places; i++) {
                    const int64_t column =
                        d_layout.places[size_t(b.places[size_t(i)])].at(
                            start + c, t + at, row) -
                        lowest;
                    take_column(samples + column * d_element,
                                stride,
                                spectra,
                                size_t(d_element),
                                d_tile.data() +
                                    (i * plane + c * tile_spectra) * d_element);
                }
            }
            for (int64_t i = 0; i < places; i++) {
                const auto& place = d_layout.places[size_t(b.places[size_t(i)])];
                for (int64_t begin = 0; begin < spectra; begin += together)
                    transpose(d_tile.data() + (i * plane + begin) * d_element,
                              size_t(tile_spectra),
                              int(channels),
                              int(std::min(spectra - begin, together)),
                              item_of(place.input,
                                      place.first_channel + int(start),
                                      to + at + begin),
                              size_t(d_item / d_element),
                              int(d_element));
            }
        }
    }
}

void channel_reader::emit_times(const bundle& b,
                                const part& p,
                                const std::vector<stretch>& from,
                                int64_t t,
                                int64_t count,
                                int64_t to)
{
    const int64_t row = p.from->row_samples();
    for (int64_t n = 0; n < count; n++)
        for (const int i : b.places) {
            const auto& place = d_layout.places[size_t(i)];
            const int64_t first = place.at(0, t + n, row);
            const int64_t last = place.at(place.channels - 1, t + n, row);
            const int64_t lowest = std::min(first, last);
            const char* samples =
                unpacked(from[0], lowest, std::max(first, last) - lowest + 1);
            take_column(samples + (first - lowest) * d_element,
                        place.channels > 1 ? place.channel_stride : 1,
                        place.channels,
                        size_t(d_element),
                        item_of(place.input, place.first_channel, to + n));
        }
}

void channel_reader::emit(int64_t first, int64_t end)
{
    for (size_t i = 0; i < d_bundles.size(); i++)
        for (size_t j = 0; j < d_parts[i].size(); j++) {
            const auto& p = d_parts[i][j];
            const int64_t begin = std::max(first, p.first);
            const int64_t count = std::min(end, p.first + p.spectra) - begin;
            if (!p.from || count <= 0)
                continue;
            const int64_t t = p.skipped + begin - p.first;
            if (d_bundles[i].rows)
                emit_rows(d_bundles[i], p, d_stretches[i][j], t, count, begin);
            else
                emit_times(d_bundles[i], p, d_stretches[i][j], t, count, begin);
        }
}

void channel_reader::clear(int input, int64_t first, int64_t end)
{
    for (int64_t t = first; t < end; t++)
        std::memset(item_of(input, 0, t), 0, size_t(d_layout.channels * d_element));
}

void channel_reader::find_gaps(int64_t first, int64_t end, result& r)
{
    for (int input = 0; input < d_layout.inputs; input++)
        for (const auto& run : d_missing[size_t(input)]) {
            const int64_t begin = std::max(first, run.first);
            const int64_t until = std::min(end, run.end);
            if (begin >= until)
                continue;
            clear(input, begin, until);
            r.gaps.push_back({ input, begin - d_origin, until - begin });
        }
}

void channel_reader::find_not_numbers(int64_t first, int64_t end, result& r)
{
    if (d_layout.type() != sample_type::fc32)
        return;
    for (int input = 0; input < d_layout.inputs; input++)
        for (int64_t t = first; t < end; t++) {
            const auto* values = reinterpret_cast<const float*>(item_of(input, 0, t));
            if (kernels::host::all_numbers(values, 2 * size_t(d_layout.channels)))
                continue;
            clear(input, t, t + 1);
            for (auto* list : { &r.gaps, &r.not_numbers })
                if (!list->empty() && list->back().input == input &&
                    list->back().first + list->back().count == t - d_origin)
                    list->back().count++;
                else
                    list->push_back({ input, t - d_origin, 1 });
        }
}

channel_reader::result
channel_reader::read(const std::vector<char*>& ports, int64_t spectra, int64_t end)
{
    result r{ 0, false, {}, {}, {} };
    d_ports = ports;
    while (r.samples < spectra && d_error.empty()) {
        if (d_sent == d_found) {
            if (!d_error_behind.empty()) {
                d_error = d_error_behind;
                break;
            }
            int64_t n = std::min(d_window, end - d_position);
            n = std::min(n, d_pieces->end(d_position + n) - d_position);
            if (n <= 0) {
                d_error = d_pieces->error();
                break;
            }
            d_pieces->release(d_position);
            if (const auto behind =
                    end_of_long_gap(*d_pieces, d_bundles, d_position, d_most_gap)) {
                if (r.samples > 0)
                    break;
                d_position = *behind;
                r.jumped = true;
                continue;
            }
            read_window(n);
            continue;
        }
        const int64_t first = d_sent;
        d_sent = std::min(d_found, d_sent + spectra - r.samples);
        d_origin = first - r.samples;
        emit(first, d_sent);
        find_gaps(first, d_sent, r);
        find_not_numbers(first, d_sent, r);
        r.samples += d_sent - first;
        d_position += d_sent - first;
    }
    return r;
}

} // namespace gr::aperture::formats
