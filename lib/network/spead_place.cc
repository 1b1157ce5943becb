/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "spead_place.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gr::aperture::network {

namespace {

constexpr int timestamp_bits = 48;
constexpr int64_t timestamp_period = int64_t(1) << timestamp_bits;
constexpr int64_t stop_of_stream = 2;
constexpr size_t most_eras = 64;
constexpr int64_t most_heaps = int64_t(1) << 24;
constexpr int64_t most_bytes = int64_t(1) << 40;

void require(bool condition, const char* name, int64_t value, const char* allowed)
{
    if (!condition)
        throw std::invalid_argument(std::string(name) + ": " + std::to_string(value) +
                                    " is not allowed: " + allowed);
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Returns the timestamp of 48 bits nearest to one that is known in full.
int64_t unwrapped(int64_t value, int64_t known)
{
    int64_t difference = (value - known) & (timestamp_period - 1);
    if (difference >= timestamp_period / 2)
        difference -= timestamp_period;
    return known + difference;
}

} // namespace

void spead_layout::check() const
{
    require(heap_bytes >= 1 && heap_bytes <= most_bytes,
            "heap_bytes",
            heap_bytes,
            "1 to 2^40");
    require(heap_ticks >= 1 && heap_ticks < timestamp_period / 4,
            "heap_ticks",
            heap_ticks,
            "1 to 2^46");
    require(slots_per_chunk >= 1 && slots_per_chunk <= most_heaps,
            "slots_per_chunk",
            slots_per_chunk,
            "1 to 2^24");
    require(!senders.empty() && senders.size() <= 65536,
            "senders",
            int64_t(senders.size()),
            "1 to 65536 of them");
    for (const auto value : senders)
        require(value >= 0 && value < timestamp_period, "senders", value, "0 to 2^48-1");
    require(first_channel >= 0 && first_channel < timestamp_period,
            "first_channel",
            first_channel,
            "0 to 2^48-1");
    require(channels_per_heap >= 0 && channels_per_heap < timestamp_period,
            "channels_per_heap",
            channels_per_heap,
            "0 to 2^48-1");
    require(ranges >= 1 && ranges <= 65536, "ranges", ranges, "1 to 65536");
    require(channels_per_heap > 0 || ranges == 1,
            "ranges",
            ranges,
            "1 where heaps have no channels");
    require(window >= 1 && window <= 65536, "window", window, "1 to 65536 chunks");
    require(restart >= 1 && restart <= 65536, "restart", restart, "1 to 65536 heaps");
    require(slots_per_chunk <= most_heaps / (int64_t(senders.size()) * ranges),
            "slots_per_chunk",
            slots_per_chunk,
            "such that a chunk has at most 2^24 heaps");
    require(heap_bytes <= most_bytes / heaps(),
            "heap_bytes",
            heap_bytes,
            "such that a chunk has at most 2^40 bytes");
    require(heap_ticks <= timestamp_period / 4 / slots_per_chunk / window,
            "window",
            window,
            "such that it is shorter than a quarter of 2^48 timestamps");
}

std::array<const char*, spead_placement::statistics> spead_placement::names()
{
    return { "other", "wrong_size", "wrong_time", "wrong_sender", "wrong_channels",
             "late",  "jumped",     "duplicate",  "restarts",     "stops" };
}

spead_placement::spead_placement(const spead_layout& layout) : d_layout(layout)
{
    d_layout.check();
    for (size_t i = 0; i < d_layout.senders.size(); i++)
        d_places.emplace_back(d_layout.senders[i], int64_t(i));
    std::sort(d_places.begin(), d_places.end());
    for (size_t i = 1; i < d_places.size(); i++)
        require(d_places[i].first != d_places[i - 1].first,
                "senders",
                d_places[i].first,
                "each of them once");
    d_states.resize(d_layout.senders.size());
    d_marked_chunks.assign(size_t(d_layout.window), -1);
    d_marks.assign(size_t(d_layout.window * d_layout.heaps()), 0);
}

int64_t spead_placement::sender_of(int64_t value) const
{
    const auto found = std::lower_bound(
        d_places.begin(), d_places.end(), std::make_pair(value, int64_t(0)));
    return found == d_places.end() || found->first != value ? -1 : found->second;
}

// Returns whether a slot is in the window, which moves; sets d_newest and d_newest_time.
bool spead_placement::fits(int64_t slot, sender_state& state, uint64_t* counts)
{
    const auto group = floor_quotient(slot, d_layout.slots_per_chunk);
    if (!d_begun) {
        d_begun = true;
        // chunks of spead2's are numbered from 0
        d_eras = { { 0, d_layout.window - group } };
        d_newest = d_layout.window;
        d_newest_time = slot * d_layout.heap_ticks;
    }
    const auto chunk = group + d_eras.back().offset;
    const auto distance = chunk - d_newest;
    if (distance > -d_layout.window && distance <= d_layout.window) {
        state.candidates = 0;
        if (distance > 0)
            d_newest = chunk;
        d_newest_time = std::max(d_newest_time, slot * d_layout.heap_ticks);
        return true;
    }
    // a heap ahead or late: do such heaps make a time of their own?
    const auto step = slot - state.candidate;
    const auto span = d_layout.window * d_layout.slots_per_chunk;
    if (state.candidates == 0 || state.taken != d_taken || step < -span || step > span) {
        state.candidates = 1;
        state.candidate = slot;
    } else if (step > 0) {
        // several ranges of a slot, and one packet again and again, are one
        state.candidates++;
        state.candidate = slot;
    }
    state.taken = d_taken;
    if (state.candidates < d_layout.restart) {
        counts[distance > 0 ? jumped : late]++;
        return false;
    }
    counts[restarts]++;
    state.candidates = 0;
    if (distance > 0)
        d_newest = chunk;
    else {
        // time went back, but the numbers of chunks rise on
        d_newest += 2 * d_layout.window;
        d_eras.push_back({ d_newest - d_layout.window, d_newest - group });
        if (d_eras.size() > most_eras)
            d_eras.erase(d_eras.begin());
    }
    d_newest_time = slot * d_layout.heap_ticks;
    return true;
}

// Returns whether a heap was taken before.
bool spead_placement::mark(int64_t chunk, int64_t heap)
{
    const auto place = size_t(chunk % d_layout.window);
    const auto row = d_marks.begin() + std::ptrdiff_t(place) * d_layout.heaps();
    if (d_marked_chunks[place] != chunk) {
        d_marked_chunks[place] = chunk;
        std::fill(row, row + d_layout.heaps(), uint8_t(0));
    }
    return std::exchange(row[heap], uint8_t(1)) != 0;
}

void spead_placement::place(spead_place_data& data,
                            int64_t statistics_base,
                            int64_t fixed_sender)
{
    uint64_t* counts = data.batch_stats + statistics_base;
    const int64_t* values = data.items;
    const std::lock_guard lock(d_mutex);
    int64_t from = fixed_sender;
    if (from < 0)
        from = d_layout.with_sender ? sender_of(values[sender]) : 0;
    if (values[stream_control] == stop_of_stream) {
        counts[stops]++;
        if (from >= 0)
            d_states[size_t(from)].stopped = true;
        else if (values[sender] < 0)
            d_nameless_stops++;
        return;
    }
    if (values[timestamp] < 0 || values[stream_control] >= 0) {
        counts[other]++;
        return;
    }
    if (values[heap_length] != d_layout.heap_bytes) {
        counts[wrong_size]++;
        return;
    }
    if (from < 0) {
        counts[wrong_sender]++;
        return;
    }
    int64_t range = 0;
    if (d_layout.channels_per_heap > 0) {
        const auto channel = values[frequency] - d_layout.first_channel;
        range = channel / d_layout.channels_per_heap;
        if (values[frequency] < 0 || channel < 0 || range >= d_layout.ranges ||
            channel % d_layout.channels_per_heap != 0) {
            counts[wrong_channels]++;
            return;
        }
    }
    const auto time = d_begun ? unwrapped(values[timestamp], d_newest_time)
                              : values[timestamp] & (timestamp_period - 1);
    if (time % d_layout.heap_ticks != 0) {
        counts[wrong_time]++;
        return;
    }
    const auto slot = time / d_layout.heap_ticks;
    auto& state = d_states[size_t(from)];
    if (!fits(slot, state, counts))
        return;
    state.seen = true;
    state.stopped = false;
    state.last = clock::now();
    d_taken++;
    const auto per_chunk = d_layout.slots_per_chunk;
    const auto group = floor_quotient(slot, per_chunk);
    const auto chunk = group + d_eras.back().offset;
    const auto heap =
        ((slot - group * per_chunk) * int64_t(d_states.size()) + from) * d_layout.ranges +
        range;
    if (mark(chunk, heap))
        counts[duplicate]++;
    data.chunk_id = chunk;
    data.heap_index = size_t(heap);
    data.heap_offset = size_t(heap * d_layout.heap_bytes);
}

int64_t spead_placement::time_of(int64_t chunk) const
{
    const std::lock_guard lock(d_mutex);
    if (d_eras.empty())
        return 0;
    auto era = d_eras.rbegin();
    while (era + 1 != d_eras.rend() && era->first > chunk)
        ++era;
    return (chunk - era->offset) * d_layout.slots_per_chunk * d_layout.heap_ticks;
}

bool spead_placement::ended(double silence) const
{
    const std::lock_guard lock(d_mutex);
    const auto now = clock::now();
    uint64_t open = 0, stopped = 0;
    for (const auto& state : d_states) {
        stopped += state.stopped;
        const std::chrono::duration<double> quiet = now - state.last;
        open += state.seen && !state.stopped && quiet.count() < silence;
    }
    return stopped + d_nameless_stops > 0 && open <= d_nameless_stops;
}

std::vector<double> spead_placement::silences() const
{
    const std::lock_guard lock(d_mutex);
    const auto now = clock::now();
    std::vector<double> found;
    for (const auto& state : d_states) {
        const std::chrono::duration<double> quiet = now - state.last;
        found.push_back(state.seen ? quiet.count() : -1);
    }
    return found;
}

} // namespace gr::aperture::network

extern "C" void gr_aperture_spead_place(void* data, size_t data_size, void* user_data)
{
    using namespace gr::aperture::network;
    // an older spead2, which does not exist, would give less
    if (data_size < sizeof(spead_place_data))
        return;
    const auto& stream = *static_cast<const spead_stream*>(user_data);
    stream.placement->place(*static_cast<spead_place_data*>(data),
                            stream.statistics_base,
                            stream.fixed_sender);
}
