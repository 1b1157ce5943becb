/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/block_reader.h"
#include <algorithm>

namespace gr::aperture::formats {

block_reader::block_reader(std::shared_ptr<recorded_files> files,
                           std::shared_ptr<pieces> where,
                           std::vector<int> sets,
                           int64_t block,
                           int64_t jobs,
                           bool whole_pieces,
                           int64_t most_gap,
                           int threads)
    : d_files(std::move(files)),
      d_pieces(std::move(where)),
      d_sets(std::move(sets)),
      d_block(block),
      d_jobs(jobs),
      d_whole_pieces(whole_pieces),
      d_most_gap(most_gap),
      d_pool(threads)
{
}

void block_reader::restart(int64_t sample)
{
    d_pieces->restart();
    d_position = sample;
    d_error.clear();
}

std::vector<block_reader::part> block_reader::parts_of(int set, int64_t samples)
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

void block_reader::find_parts(block& b, int64_t samples)
{
    struct interval {
        int64_t first, end;
    };
    std::vector<interval> common{ { 0, samples } }; // samples that no set has
    for (const int set : d_sets) {
        if (b.parts.size() <= size_t(set))
            b.parts.resize(size_t(set) + 1);
        auto& parts = b.parts[size_t(set)];
        parts = parts_of(set, samples);
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
    if (d_whole_pieces) {
        int64_t end = 0; // end of the last piece that ends in the block
        for (const auto& p : b.parts[size_t(d_sets.front())])
            if (p.from && p.first + p.samples <= samples &&
                p.skipped + p.samples == p.from->samples)
                end = p.first + p.samples;
        if (2 * end >= samples)
            samples = end;
    }
    for (auto& parts : b.parts) {
        while (!parts.empty() && parts.back().first >= samples)
            parts.pop_back();
        if (!parts.empty())
            parts.back().samples =
                std::min(parts.back().samples, samples - parts.back().first);
    }
    b.samples = samples;
}

size_t block_reader::find_blocks(int64_t samples, int64_t end, result& r, bool& ends)
{
    // blocks of about the same size, as short ones take as many reads of files as long
    // ones
    const int64_t parts = (samples + d_block - 1) / d_block;
    const int64_t each = parts ? (samples + parts - 1) / parts : 0;
    size_t blocks = 0;
    for (int64_t found = 0; found < samples;) {
        if (d_whole_pieces && found > 0 && 2 * (samples - found) < each)
            break;
        int64_t n = std::min(samples - found, each);
        n = std::min({ n, end - d_position, d_pieces->end(d_position + n) - d_position });
        if (n <= 0) {
            ends = true;
            break;
        }
        d_pieces->release(d_position);
        if (const auto behind =
                end_of_long_gap(*d_pieces, d_sets, d_position, d_most_gap)) {
            if (found > 0)
                break;
            d_position = *behind;
            r.jumped = true;
            continue;
        }
        if (d_blocks.size() == blocks)
            d_blocks.emplace_back();
        block& b = d_blocks[blocks++];
        b.first = found;
        find_parts(b, n);
        b.outcomes.assign(size_t(d_jobs), { b.samples, {} });
        b.gaps.clear();
        b.not_numbers.clear();
        b.clamped.clear();
        found += b.samples;
        d_position += b.samples;
    }
    return blocks;
}

void block_reader::read_blocks(size_t blocks, const std::vector<char*>& ports)
{
    // a disk is not to rest while the samples of this call are made use of
    d_ahead = d_files->waited() ? find_ahead(blocks) : std::vector<ahead>();
    const int64_t jobs = int64_t(blocks) * d_jobs;
    d_pool.run(jobs + int64_t(d_ahead.size()), [&](int64_t job, int thread) {
        if (job < jobs) {
            do_job(d_blocks[size_t(job / d_jobs)], job % d_jobs, ports, thread);
        } else {
            const auto& next = d_ahead[size_t(job - jobs)];
            d_files->read_ahead(next.file, next.from, next.bytes);
        }
    });
    std::vector<block*> unfinished;
    for (size_t i = 0; i < blocks; i++) {
        block& b = d_blocks[i];
        b.good = b.samples;
        for (const auto& o : b.outcomes)
            b.good = std::min(b.good, o.good);
        if (is_unfinished(b))
            unfinished.push_back(&b);
    }
    d_pool.run(int64_t(unfinished.size()),
               [&](int64_t i, int) { finish(*unfinished[size_t(i)], ports); });
}

void block_reader::gather(const block& b, result& r)
{
    for (const auto& g : b.gaps) {
        if (d_newest_gap.size() <= size_t(g.input))
            d_newest_gap.resize(size_t(g.input) + 1);
        auto& newest = d_newest_gap[size_t(g.input)];
        const int64_t first = b.first + g.first;
        if (newest && r.gaps[newest - 1].first + r.gaps[newest - 1].count == first) {
            r.gaps[newest - 1].count += g.count;
        } else {
            r.gaps.push_back({ g.input, first, g.count });
            newest = r.gaps.size();
        }
    }
    for (const auto& g : b.not_numbers)
        r.not_numbers.push_back({ g.input, b.first + g.first, g.count });
    r.clamped.insert(r.clamped.end(), b.clamped.begin(), b.clamped.end());
    r.samples += b.good;
    for (const auto& o : b.outcomes)
        if (b.good < b.samples && o.good == b.good && d_error.empty())
            d_error = o.error;
}

block_reader::result
block_reader::read(const std::vector<char*>& ports, int64_t samples, int64_t end)
{
    result r{ 0, false, {}, {}, {} };
    if (!d_error.empty())
        return r;
    bool ends = false;
    d_pieces->look_ahead(d_pool, std::min(end, d_position + samples));
    const size_t blocks = find_blocks(samples, end, r, ends);
    read_blocks(blocks, ports);
    std::fill(d_newest_gap.begin(), d_newest_gap.end(), 0);
    for (size_t i = 0; i < blocks && d_error.empty(); i++)
        gather(d_blocks[i], r);
    if (blocks > 0)
        d_position +=
            r.samples - d_blocks[blocks - 1].first - d_blocks[blocks - 1].samples;
    // samples that were found before an error are read first
    if (d_error.empty() && ends)
        d_error = d_pieces->error();
    return r;
}

} // namespace gr::aperture::formats
