/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/exact_time.h"
#include "formats/recordings/thread_pool.h"
#include "formats/vdif/vdif_frames.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace gr::aperture::formats {

namespace {

constexpr int64_t search_bytes = 1 << 20;
// Headers that a thread reads at a time.
constexpr int64_t headers_of_job = 64;
constexpr int epochs = 64; // epochs that 6 bits count

// Longest half year in seconds, with the leap second that may be at its end.
int64_t length_of_epoch(int epoch)
{
    const int64_t begin = vdif_header::start_of_epoch(epoch);
    const int64_t end = vdif_header::start_of_epoch(epoch + 1);
    return end - begin + leap_seconds(end) - leap_seconds(begin);
}

} // namespace

vdif_frames::vdif_frames(const vdif_stream& stream, std::shared_ptr<recorded_files> files)
    : d_stream(stream),
      d_samples(stream.samples()),
      d_epoch_seconds(length_of_epoch(stream.epoch)),
      d_files(std::move(files)),
      // the version, in the highest three bits, may be any
      d_word_2(uint32_t(stream.log2_channels) << 24 | uint32_t(stream.frame_bytes / 8)),
      d_sets(stream.threads.size())
{
    restart();
}

void vdif_frames::restart()
{
    d_file = d_stream.first_file;
    d_offset = 0;
    d_ahead_file = 0;
    d_ahead_offset = d_ahead_count = d_frames = 0;
    d_pending.reset();
    d_begun = d_ended = false;
    d_newest = d_previous = -1;
    d_released = 0;
    for (auto& set : d_sets)
        set.clear();
    for (auto* count : { &d_counts.invalid,
                         &d_counts.repeated,
                         &d_counts.late,
                         &d_counts.damaged,
                         &d_counts.skipped })
        *count = 0;
    d_error.clear();
}

bool vdif_frames::is_ours(const uint32_t* words) const
{
    const auto h = vdif_header::read(words);
    return h.legacy == (d_stream.header_bytes == 16) &&
           (h.epoch == d_stream.epoch || h.epoch == (d_stream.epoch + 1) % epochs) &&
           h.frame < d_stream.frames_per_second &&
           h.log2_channels == d_stream.log2_channels &&
           h.frame_bytes == d_stream.frame_bytes && h.complex == d_stream.complex &&
           h.bits == d_stream.bits && h.station == d_stream.station;
}

int64_t vdif_frames::late(const vdif_header& h) const
{
    return h.second - d_stream.second + (h.epoch == d_stream.epoch ? 0 : d_epoch_seconds);
}

bool vdif_frames::has_header(int file, int64_t offset)
{
    header words;
    std::string error;
    return d_files->size(file) - offset >= int64_t(sizeof words) &&
           d_files->read(file, offset, sizeof words, words.data(), error) ==
               sizeof words &&
           is_ours(words.data());
}

void vdif_frames::look_ahead(thread_pool& pool, int64_t wanted)
{
    // reading headers apart from samples costs a fifth of the processors' time: with few
    // threads it is no faster
    if (pool.threads() <= 2 || d_ended ||
        d_file >= d_stream.first_file + d_stream.files || number_of_end() >= wanted)
        return;
    // frames of all threads of the file, of which the newest ones are an example
    const auto numbers = [](int64_t count, int64_t of) { return (count + of - 1) / of; };
    const int64_t of_number =
        std::max<int64_t>(int64_t(d_stream.threads.size()),
                          d_newest < 0 ? 1 : numbers(d_frames, d_newest + 1));
    const int64_t count =
        std::min((numbers(wanted - number_of_end(), d_samples) + 1) * of_number,
                 (d_files->size(d_file) - d_offset) / d_stream.frame_bytes);
    d_ahead_file = d_file;
    d_ahead_offset = d_offset;
    d_ahead.resize(size_t(std::max<int64_t>(0, count)));
    std::atomic<int64_t> failed{ count };
    pool.run(numbers(count, headers_of_job), [&](int64_t job, int) {
        const int64_t end = std::min(count, (job + 1) * headers_of_job);
        std::string error; // read_header() finds it again
        for (int64_t i = job * headers_of_job; i < end; i++) {
            header& words = d_ahead[size_t(i)];
            if (d_files->read(d_file,
                              d_offset + i * d_stream.frame_bytes,
                              sizeof words,
                              words.data(),
                              error) == int64_t(sizeof words))
                continue;
            for (auto before = failed.load(); i < before;)
                if (failed.compare_exchange_weak(before, i))
                    break;
            return;
        }
    });
    d_ahead_count = failed;
}

bool vdif_frames::read_header(header& words)
{
    const int64_t after = d_offset - d_ahead_offset;
    const int64_t i = after / d_stream.frame_bytes;
    if (d_file == d_ahead_file && after >= 0 && after % d_stream.frame_bytes == 0 &&
        i < d_ahead_count) {
        words = d_ahead[size_t(i)];
        return true;
    }
    return d_files->read(d_file, d_offset, sizeof words, words.data(), d_error) ==
           int64_t(sizeof words);
}

int64_t vdif_frames::search(int file, int64_t offset)
{
    std::vector<char> bytes(search_bytes + sizeof(header));
    const int64_t size = d_files->size(file);
    std::string error;
    for (; offset + int64_t(sizeof(header)) <= size; offset += search_bytes) {
        const int64_t got =
            d_files->read(file,
                          offset,
                          std::min<int64_t>(int64_t(bytes.size()), size - offset),
                          bytes.data(),
                          error);
        for (int64_t i = 0; i < search_bytes && i + int64_t(sizeof(header)) <= got; i++) {
            header words;
            std::memcpy(words.data(), bytes.data() + i, sizeof words);
            // samples may look like a header, too: then none follows, and it is dropped
            if ((words[2] & 0x1fffffff) == d_word_2 && is_ours(words.data()))
                return offset + i;
        }
    }
    return size;
}

void vdif_frames::find_header()
{
    // If only this header is damaged, the frames behind it are where they should be.
    if (has_header(d_file, d_offset + d_stream.frame_bytes)) {
        d_counts.damaged++;
        d_counts.skipped += uint64_t(d_stream.frame_bytes);
        d_offset += d_stream.frame_bytes;
        return;
    }
    // Otherwise bytes are missing or too many, perhaps within the frame before.
    const int64_t from = drop_frame_before() ? d_offset - d_stream.frame_bytes : d_offset;
    d_offset = search(d_file, from + 1);
    d_counts.skipped += uint64_t(d_offset - from);
    d_counts.damaged++;
}

bool vdif_frames::drop_frame_before()
{
    const bool there =
        d_pending && d_pending->where.file == d_file &&
        d_pending->where.offset + d_stream.frame_bytes - d_stream.header_bytes ==
            d_offset;
    if (there)
        d_pending.reset();
    return there;
}

std::optional<vdif_frames::frame> vdif_frames::next_frame()
{
    while (d_file < d_stream.first_file + d_stream.files) {
        const int64_t left = d_files->size(d_file) - d_offset;
        if (left < d_stream.frame_bytes) {
            d_counts.skipped += uint64_t(left);
            // bytes that are no frame may be a part of the one before, which was cut off
            if (left > 0 && !has_header(d_file, d_offset) && drop_frame_before()) {
                d_counts.skipped += uint64_t(d_stream.frame_bytes);
                d_counts.damaged++;
            }
            d_file++;
            d_offset = 0;
            continue;
        }
        header words;
        if (!read_header(words))
            return {};
        if (!is_ours(words.data())) {
            find_header();
            continue;
        }
        const auto h = vdif_header::read(words.data());
        const int64_t seconds = late(h);
        // the indices of its samples could not be counted
        if (std::abs(seconds) >
            (int64_t(1) << 61) / (d_stream.frames_per_second * d_samples)) {
            d_counts.damaged++;
            d_offset += d_stream.frame_bytes;
            continue;
        }
        frame f;
        f.invalid = h.invalid;
        f.thread = h.thread;
        f.number = seconds * d_stream.frames_per_second + h.frame - d_stream.frame;
        f.where = {
            d_file, d_offset + d_stream.header_bytes, d_samples, sample_of(f.number)
        };
        d_offset += d_stream.frame_bytes;
        d_frames++;
        return f;
    }
    return {};
}

bool vdif_frames::walk()
{
    if (!d_begun)
        d_pending = next_frame();
    d_begun = true;
    if (!d_pending) {
        d_ended = true;
        return false;
    }
    const auto next = next_frame(); // this may find that the pending one is not whole
    const auto before = d_pending;
    d_pending = next;
    if (!before)
        return true;
    const frame f = *before;
    const auto near = [](int64_t a, int64_t b) { return std::abs(a - b) <= window; };
    // a damaged time is alone; a gap is not, unless it is behind the last frame but one
    const bool expected = near(f.number, d_previous);
    if (expected || (d_pending && near(f.number, d_pending->number))) {
        d_previous = f.number;
        take(f);
    } else {
        d_counts.damaged++;
    }
    return true;
}

void vdif_frames::take(const frame& f)
{
    const auto set =
        std::find(d_stream.threads.begin(), d_stream.threads.end(), f.thread);
    if (f.number < 0) {
        d_counts.late += set != d_stream.threads.end();
        return;
    }
    d_newest = std::max(d_newest, f.number);
    if (set == d_stream.threads.end())
        return;
    if (f.invalid) {
        d_counts.invalid++;
        return;
    }
    if (f.where.end() <= d_released) {
        d_counts.late++;
        return;
    }
    auto& frames = d_sets[size_t(set - d_stream.threads.begin())];
    auto at = frames.end();
    while (at != frames.begin() && (at - 1)->first > f.where.first)
        --at;
    if (at != frames.begin() && (at - 1)->first == f.where.first)
        d_counts.repeated++;
    else
        frames.insert(at, f.where);
}

int64_t vdif_frames::end(int64_t wanted)
{
    while (!d_ended && number_of_end() < wanted)
        walk();
    return number_of_end();
}

pieces::answer vdif_frames::find(int set, int64_t sample)
{
    const auto& frames = d_sets[size_t(set)];
    for (;;) {
        const auto next =
            std::partition_point(frames.begin(), frames.end(), [=](const piece& p) {
                return p.end() <= sample;
            });
        const bool found = next != frames.end();
        if (found && next->first <= sample)
            return { *next, 0 };
        // frames that would come before it may still be behind others in the file
        const int64_t passed = sample_of(d_newest - window);
        if (d_ended || passed >= (found ? next->first : sample + d_samples)) {
            if (found)
                return { *next, 0 };
            return { {}, d_ended ? std::numeric_limits<int64_t>::max() : passed };
        }
        walk();
    }
}

void vdif_frames::release(int64_t sample)
{
    d_released = sample;
    for (auto& frames : d_sets)
        while (!frames.empty() && frames.front().end() <= sample)
            frames.pop_front();
}

} // namespace gr::aperture::formats
