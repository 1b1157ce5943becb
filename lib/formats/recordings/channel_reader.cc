/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/channel_reader.h"
#include "formats/recordings/columns.h"
#include "formats/recordings/conjugation.h"
#include "formats/transposition.h"
#include "kernels/common/not_numbers.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace gr::aperture::formats {

namespace {

// strides are below 2^40 and pieces below 2^62: nothing overflows 128 bits
using wide = __int128;

// Bytes of a block, at least: enough for a thread to begin with.
constexpr int64_t least_block_bytes = 1 << 18;
// Bytes of a row of a block, above which the time of a system call does not count, and of
// a block that grows for that.
constexpr int64_t row_bytes = 1 << 12, most_block_bytes = 1 << 25;
// Channels and spectra of a tile, which stays in the second-level cache: of many rows,
// each is read for some cache lines in a row.
constexpr int64_t tile_channels = 64, tile_spectra = 256;

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
                               int64_t most_gap,
                               int threads)
    : channel_reader(layout,
                     bundles_of(layout),
                     std::move(files),
                     std::move(where),
                     most_gap,
                     threads)
{
}

channel_reader::channel_reader(const channel_layout& layout,
                               const std::vector<bundle>& bundles,
                               std::shared_ptr<recorded_files> files,
                               std::shared_ptr<pieces> where,
                               int64_t most_gap,
                               int threads)
    : block_reader(std::move(files),
                   std::move(where),
                   sets_of(layout.places),
                   block_of(layout, bundles),
                   int64_t(jobs_of(layout, bundles).size()),
                   true, // rows of a piece that are read to their ends lie in a row
                   most_gap,
                   threads),
      d_layout(layout),
      d_element(int64_t(size_of(layout.type()))),
      d_item(d_element * layout.inputs_per_port * layout.channels),
      d_bundles(bundles),
      d_jobs(jobs_of(layout, bundles)),
      d_scratch(size_t(this->threads())),
      d_kept_items(size_t(layout.ports()))
{
}

std::vector<channel_reader::bundle>
channel_reader::bundles_of(const channel_layout& layout)
{
    // the first sample of a place in the file, of those of a time
    const auto lowest = [](const channel_place& p) {
        return p.offset + std::min<int64_t>(0, p.channel_stride * (p.channels - 1));
    };
    std::vector<bundle> all;
    for (int i = 0; i < int(layout.places.size()); i++) {
        const auto& p = layout.places[size_t(i)];
        // rows are longer than what stands between two spectra
        const bool rows =
            p.channel_rows != 0 || std::abs(p.channel_stride) >= p.time_stride;
        const auto fits = [&](const bundle& b) {
            const auto& q = layout.places[size_t(b.places.front())];
            if (b.set != p.set || b.rows != rows || q.time_stride != p.time_stride ||
                q.offset_rows != p.offset_rows)
                return false;
            // bytes between places that are far apart are not to be read
            if (!rows)
                return std::abs(lowest(p) - lowest(q)) < p.time_stride;
            return q.first_channel == p.first_channel && q.channels == p.channels &&
                   q.channel_stride == p.channel_stride &&
                   q.channel_rows == p.channel_rows &&
                   q.offset / q.time_stride == p.offset / p.time_stride;
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

std::vector<channel_reader::channels_of_bundle>
channel_reader::jobs_of(const channel_layout& layout, const std::vector<bundle>& bundles)
{
    std::vector<channels_of_bundle> jobs;
    for (size_t i = 0; i < bundles.size(); i++) {
        const auto& head = layout.places[size_t(bundles[i].places.front())];
        const int64_t each = bundles[i].rows ? tile_channels : head.channels;
        for (int64_t c = 0; c < head.channels; c += each)
            jobs.push_back({ i, c, std::min(each, head.channels - c) });
    }
    return jobs;
}

int64_t channel_reader::block_of(const channel_layout& layout,
                                 const std::vector<bundle>& bundles)
{
    // rows of up to 2^40 samples, of many channels, are more bits than 64 can count
    const wide none = std::numeric_limits<int64_t>::max();
    wide bits = 0, shortest = none;
    for (const auto& b : bundles) {
        const auto& p = layout.places[size_t(b.places.front())];
        const wide row = wide(p.time_stride) * layout.bits_of_sample();
        bits += row * (b.rows ? p.channels : 1);
        if (b.rows)
            shortest = std::min(shortest, row);
    }
    wide spectra = wide(least_block_bytes) * 8 / bits;
    if (shortest < none)
        spectra = std::max(
            spectra,
            std::min(wide(row_bytes) * 8 / shortest, wide(most_block_bytes) * 8 / bits));
    return int64_t(std::max<wide>(1, spectra));
}

int64_t channel_reader::read_part(const channels_of_bundle& j,
                                  const part& p,
                                  scratch& m,
                                  std::string& error) const
{
    const bundle& b = d_bundles[j.bundle];
    const auto& head = first_of(b);
    const int64_t row = p.from->row_samples(), bits = d_layout.bits_of_sample();
    const int64_t rows = b.rows ? j.channels : 1;
    // the samples of the first time, of all places: of rows, those of the first channel
    int64_t least = std::numeric_limits<int64_t>::max(), most = -1;
    for (const int i : b.places) {
        const auto& place = d_layout.places[size_t(i)];
        for (const int64_t c : { int64_t(0), int64_t(place.channels - 1) }) {
            const int64_t at = place.at(b.rows ? j.first : c, p.skipped, row);
            least = std::min(least, at);
            most = std::max(most, at);
        }
    }
    const int64_t span = most - least + 1;
    const int64_t width = span + (p.samples - 1) * head.time_stride;
    // samples from a row to the next
    const int64_t step = b.rows ? head.channel_stride + row * head.channel_rows : 0;
    const int64_t bytes_of_row = (width * bits + 7) / 8 + 2;
    const int64_t distance = whole_lines(bytes_of_row) + line_bytes;
    // one stretch of the file that has all rows, and little else, is read at once
    const int64_t all = std::abs(step) * (rows - 1) + width;
    const bool at_once = 2 * all <= 3 * rows * width;
    m.rows.clear();
    int64_t good = p.samples;
    const auto read = [&](int64_t first, int64_t samples, int64_t at) {
        const int64_t from = first * bits / 8;
        const int64_t bytes = ((first + samples) * bits + 7) / 8 - from;
        make_room(m.file, at + bytes);
        const int64_t got = files().read(
            p.from->file, p.from->offset + from, bytes, &m.file[size_t(at)], error);
        return got == bytes ? first + samples : (from + got) * 8 / bits;
    };
    const auto add = [&](int64_t first, int64_t begin, int64_t end, int64_t at) {
        m.rows.push_back({ m.file.data() + at, begin * bits / 8 * 8 / bits });
        if (end < first + width)
            good = std::min(
                good,
                end < first + span ? 0 : (end - first - span) / head.time_stride + 1);
    };
    if (at_once) {
        const int64_t begin = least + std::min<int64_t>(0, step * (rows - 1));
        const int64_t end = read(begin, all, 0);
        for (int64_t c = 0; c < rows; c++)
            add(least + c * step, begin, end, 0);
    } else {
        make_room(m.file, rows * distance);
        for (int64_t c = 0; c < rows; c++) {
            const int64_t first = least + c * step;
            add(first, first, read(first, width, c * distance), c * distance);
        }
    }
    return good;
}

char* channel_reader::item_of(const block& b,
                              const std::vector<char*>& ports,
                              int input,
                              int channel,
                              int64_t spectrum) const
{
    const int each = d_layout.inputs_per_port;
    return ports[size_t(input / each)] + (b.first + spectrum) * d_item +
           (int64_t(input % each) * d_layout.channels + channel) * d_element;
}

const char*
channel_reader::unpacked(const row& r, int64_t sample, int64_t count, scratch& m) const
{
    const int64_t bit = (sample - r.begin) * d_layout.bits_of_sample();
    const char* bytes = r.bytes + bit / 8;
    if (is_plain(d_layout.written))
        return bytes;
    make_room(m.unpacked, count * d_element);
    unpack(d_layout.written,
           bytes,
           int(bit % 8) / bits_of(d_layout.written),
           2 * count,
           m.unpacked.data());
    return m.unpacked.data();
}

void channel_reader::emit_rows(const block& b,
                               const channels_of_bundle& j,
                               const part& p,
                               int64_t spectra,
                               const std::vector<char*>& ports,
                               scratch& m) const
{
    const bundle& of = d_bundles[j.bundle];
    const int64_t stride = first_of(of).time_stride, row = p.from->row_samples();
    const int64_t places = int64_t(of.places.size()),
                  plane = tile_channels * tile_spectra;
    make_room(m.planes, places * plane * d_element);
    for (int64_t at = 0; at < spectra; at += tile_spectra) {
        const int64_t count = std::min(spectra - at, tile_spectra);
        for (int64_t c = 0; c < j.channels; c++) {
            m.columns.clear();
            m.to.clear();
            for (int64_t i = 0; i < places; i++) {
                m.columns.push_back(d_layout.places[size_t(of.places[size_t(i)])].at(
                    j.first + c, p.skipped + at, row));
                m.to.push_back(m.planes.data() +
                               (i * plane + c * tile_spectra) * d_element);
            }
            const auto [lowest, highest] =
                std::minmax_element(m.columns.begin(), m.columns.end());
            const int64_t first = *lowest;
            // from the first place of the first time to the last one of the last time
            const char* samples = unpacked(
                m.rows[size_t(c)], first, *highest - first + 1 + (count - 1) * stride, m);
            for (auto& column : m.columns)
                column -= first;
            take_columns(samples, stride, m.columns, count, size_t(d_element), m.to);
        }
        for (int64_t i = 0; i < places; i++) {
            const auto& place = d_layout.places[size_t(of.places[size_t(i)])];
            transpose(m.planes.data() + i * plane * d_element,
                      tile_spectra * d_element,
                      int(j.channels),
                      int(count),
                      item_of(b,
                              ports,
                              place.input,
                              place.first_channel + int(j.first),
                              p.first + at),
                      d_item,
                      int(d_element));
        }
    }
}

void channel_reader::emit_times(const block& b,
                                const channels_of_bundle& j,
                                const part& p,
                                int64_t spectra,
                                const std::vector<char*>& ports,
                                scratch& m) const
{
    const int64_t row = p.from->row_samples();
    for (int64_t n = 0; n < spectra; n++)
        for (const int i : d_bundles[j.bundle].places) {
            const auto& place = d_layout.places[size_t(i)];
            const int64_t first = place.at(0, p.skipped + n, row);
            const int64_t last = place.at(place.channels - 1, p.skipped + n, row);
            const int64_t lowest = std::min(first, last);
            const char* samples =
                unpacked(m.rows.front(), lowest, std::max(first, last) - lowest + 1, m);
            take_column(samples + (first - lowest) * d_element,
                        place.channels > 1 ? place.channel_stride : 1,
                        place.channels,
                        size_t(d_element),
                        item_of(b, ports, place.input, place.first_channel, p.first + n));
        }
}

void channel_reader::do_job(block& b,
                            int64_t job,
                            const std::vector<char*>& ports,
                            int thread)
{
    const auto& j = d_jobs[size_t(job)];
    const bundle& of = d_bundles[j.bundle];
    outcome& o = b.outcomes[size_t(job)];
    scratch& m = d_scratch[size_t(thread)];
    for (const auto& p : b.parts[size_t(of.set)]) {
        if (!p.from || p.first >= o.good)
            continue;
        const int64_t good = read_part(j, p, m, o.error);
        if (good < p.samples)
            o.good = p.first + good;
        if (of.rows)
            emit_rows(b, j, p, good, ports, m);
        else
            emit_times(b, j, p, good, ports, m);
    }
}

bool channel_reader::is_unfinished(const block& b) const
{
    if (d_layout.conjugated || d_layout.type() == sample_type::fc32)
        return true;
    for (const auto& parts : b.parts)
        for (const auto& p : parts)
            if (!p.from)
                return true;
    return false;
}

std::vector<channel_reader::run> channel_reader::missing_of(const block& b,
                                                            int input) const
{
    std::vector<run> runs;
    for (const auto& place : d_layout.places)
        for (const auto& p : b.parts[size_t(place.set)])
            if (place.input == input && !p.from && p.first < b.good)
                runs.push_back({ p.first, std::min(b.good, p.first + p.samples) });
    return runs;
}

std::vector<channel_reader::run> channel_reader::not_numbers_of(
    const block& b, const std::vector<char*>& ports, int input) const
{
    std::vector<run> runs;
    for (int64_t t = 0; t < b.good; t++) {
        const auto* values =
            reinterpret_cast<const float*>(item_of(b, ports, input, 0, t));
        if (kernels::host::all_numbers(values, 2 * size_t(d_layout.channels)))
            continue;
        if (!runs.empty() && runs.back().end == t)
            runs.back().end++;
        else
            runs.push_back({ t, t + 1 });
    }
    return runs;
}

void channel_reader::clear_gaps(block& b, const std::vector<char*>& ports) const
{
    for (int input = 0; input < d_layout.inputs; input++) {
        auto runs = missing_of(b, input);
        // spectra that are in no piece have not been written
        for (const auto& r : runs)
            clear(b, ports, input, r);
        if (d_layout.type() == sample_type::fc32)
            for (const auto& r : not_numbers_of(b, ports, input)) {
                clear(b, ports, input, r);
                b.not_numbers.push_back({ input, r.first, r.end - r.first });
                runs.push_back(r);
            }
        std::sort(runs.begin(), runs.end(), [](const run& a, const run& b) {
            return a.first < b.first;
        });
        int64_t end = 0; // end of the newest gap
        for (const auto& r : runs) {
            const int64_t first = std::max(end, r.first);
            if (first < r.end)
                b.gaps.push_back({ input, first, r.end - first });
            end = std::max(end, r.end);
        }
    }
}

void channel_reader::clear(const block& b,
                           const std::vector<char*>& ports,
                           int input,
                           const run& r) const
{
    for (int64_t t = r.first; t < r.end; t++)
        std::memset(
            item_of(b, ports, input, 0, t), 0, size_t(d_layout.channels * d_element));
}

void channel_reader::conjugate_items(block& b, const std::vector<char*>& ports) const
{
    const int64_t each = d_layout.inputs_per_port, channels = d_layout.channels;
    std::vector<uint64_t> clamped(size_t(d_layout.inputs));
    for (int port = 0; port < d_layout.ports(); port++)
        conjugate(
            d_layout.type(),
            item_of(b, ports, int(port * each), 0, 0),
            b.good * each * channels,
            [&](int64_t i) { clamped[size_t(port * each + i / channels % each)]++; });
    for (size_t i = 0; i < clamped.size(); i++)
        if (clamped[i] > 0)
            b.clamped.push_back({ int(i), clamped[i] });
}

void channel_reader::finish(block& b, const std::vector<char*>& ports)
{
    clear_gaps(b, ports);
    if (d_layout.conjugated)
        conjugate_items(b, ports);
}

void channel_reader::restart(int64_t spectrum)
{
    block_reader::restart(spectrum);
    d_kept = { 0, false, {}, {}, {} };
    d_sent = 0;
}

const std::string& channel_reader::error() const
{
    static const std::string none;
    return d_sent < d_kept.samples ? none : block_reader::error();
}

channel_reader::result channel_reader::send_kept(const std::vector<char*>& ports,
                                                 int64_t spectra)
{
    const int64_t first = d_sent, count = std::min(spectra, d_kept.samples - d_sent);
    result r{ count, first == 0 && d_kept.jumped, {}, {}, {} };
    for (size_t port = 0; port < ports.size(); port++)
        std::memcpy(ports[port],
                    d_kept_items[port].data() + first * d_item,
                    size_t(count * d_item));
    const auto send = [&](const std::vector<gap>& from, std::vector<gap>& to) {
        for (const auto& g : from) {
            const int64_t begin = std::max(g.first, first);
            const int64_t end = std::min(g.first + g.count, first + count);
            if (begin < end)
                to.push_back({ g.input, begin - first, end - begin });
        }
    };
    send(d_kept.gaps, r.gaps);
    send(d_kept.not_numbers, r.not_numbers);
    r.clamped.swap(d_kept.clamped);
    d_sent += count;
    return r;
}

channel_reader::result
channel_reader::read(const std::vector<char*>& ports, int64_t spectra, int64_t end)
{
    if (d_sent == d_kept.samples) {
        const int64_t block = samples_of_block();
        if (2 * spectra >= std::min(block, end - position()))
            return block_reader::read(ports, spectra, end);
        std::vector<char*> kept;
        for (auto& items : d_kept_items) {
            items.resize(size_t(block * d_item));
            kept.push_back(items.data());
        }
        d_sent = 0;
        d_kept = block_reader::read(kept, block, end);
    }
    return send_kept(ports, spectra);
}

} // namespace gr::aperture::formats
