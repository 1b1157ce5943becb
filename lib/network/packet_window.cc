/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/packet_window.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

namespace gr::aperture::network {

size_t packet_window::hash::operator()(const sender& s) const
{
    uint64_t halves[2];
    std::memcpy(halves, s.address.data(), sizeof halves);
    uint64_t mixed = (halves[0] ^ s.port) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29 ^ halves[1]) * 0xbf58476d1ce4e5b9u;
    return size_t(mixed ^ mixed >> 32);
}

packet_window::packet_window(const parameters& p)
    : d_p(p),
      d_open(2 * int64_t(p.depth)),
      d_span(4 * int64_t(p.depth)),
      d_words(size_t(p.streams + 63) / 64),
      d_row_bytes(size_t(p.streams) * size_t(p.payload_bytes))
{
    require_range("depth", p.depth, 1, 1 << 20);
    require_range("streams", p.streams, 1, 1 << 20);
    require_range("payload_bytes", p.payload_bytes, 1, 1 << 16);
    require_range("confirm", p.confirm, 1, 64);
    require_range("rows", p.rows, fewest_rows(p.depth), std::numeric_limits<int>::max());
    // not initialised, so that memory is taken when it is used
    d_payloads.reset(new uint8_t[size_t(p.rows) * d_row_bytes]);
    d_pending.reset(new std::atomic<int>[size_t(p.rows)]);
    d_slot_bits.resize(size_t(p.rows) * d_words);
    d_entries.resize(size_t(d_span));
    d_bits.resize(size_t(d_span) * d_words);
    clear();
}

void packet_window::clear()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_free.clear();
    for (int slot = d_p.rows - 1; slot >= 0; slot--) {
        d_free.push_back(slot);
        d_pending[size_t(slot)] = 0;
    }
    for (auto& e : d_entries)
        e = {};
    std::fill(d_bits.begin(), d_bits.end(), 0);
    d_locked = d_begun = d_anew = false;
    d_head = d_newest = d_last_put = d_epoch = 0;
    d_ready.clear();
    d_speakers.clear();
    d_last_speaker = nullptr;
    d_candidates = 0;
    d_accepted = d_accepted_before = {};
    d_counts = {};
}

packet_window::counts packet_window::counted() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_counts;
}

size_t packet_window::senders() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_speakers.size();
}

uint64_t& packet_window::count_of(fate f)
{
    switch (f) {
    case fate::used:
        return d_counts.used;
    case fate::repeated:
        return d_counts.repeated;
    case fate::late:
        return d_counts.late;
    case fate::overrun:
        return d_counts.overrun;
    default:
        return d_counts.stray;
    }
}

void packet_window::put(const packet* packets, size_t count)
{
    copies later;
    std::unique_lock<std::mutex> guard(d_mutex);
    for (size_t i = 0; i < count;) {
        const size_t end = std::min(count, i + later.all.size());
        for (; i < end; i++)
            put_one(packets[i], &later);
        // payloads are most of the work, which threads do side by side
        guard.unlock();
        copy(later);
        guard.lock();
    }
    const bool ready = !d_ready.empty();
    guard.unlock();
    if (ready)
        d_ready_changed.notify_one();
}

void packet_window::copy(copies& c)
{
    for (size_t i = 0; i < c.count; i++)
        c.all[i].from->copy(c.all[i].to, size_t(d_p.payload_bytes));
    // once for all, as each waits until what was copied before has left the processor
    for (size_t i = 0; i < c.count; i++)
        d_pending[size_t(c.all[i].slot)].fetch_sub(1, std::memory_order_release);
    c.count = 0;
}

packet_window::speaker& packet_window::find(const sender& who, int64_t now)
{
    if (!d_last_speaker || !(who == d_last_who)) {
        auto found = d_speakers.find(who);
        if (found == d_speakers.end()) {
            if (d_speakers.size() == most_senders) {
                // senders that were never confirmed are dropped first
                const auto worth = [this](const auto& s) {
                    return std::make_pair(s.second.used >= uint64_t(d_p.confirm),
                                          s.second.heard);
                };
                const auto least = std::min_element(
                    d_speakers.begin(),
                    d_speakers.end(),
                    [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
                drop_candidate(least->second);
                d_speakers.erase(least);
            }
            found = d_speakers.emplace(who, speaker()).first;
        }
        d_last_who = who;
        d_last_speaker = &found->second;
    }
    d_last_speaker->heard = now;
    return *d_last_speaker;
}

void packet_window::put_one(const packet& p, copies* later)
{
    speaker& s = find(p.from, p.arrival);
    fate f = fate::stray;
    if (p.number < 0 || p.number >= end_of_numbers || p.stream < 0 ||
        p.stream >= d_p.streams) {
        d_counts.stray++;
        return;
    }
    const bool here = d_locked && p.epoch == d_epoch;
    if (here && p.number >= d_head && p.number < d_head + d_open) {
        f = store(p, later);
        count_of(f)++;
        drop_candidate(s);
        if (f == fate::repeated)
            return;
        d_last_put = p.arrival;
        s.used++;
        if (s.used >= uint64_t(d_p.confirm)) {
            note_accepted(p.from, p.arrival);
            if (p.number > d_newest) {
                d_newest = p.number;
                move_to(d_newest - d_p.depth + 1);
            }
        }
        leave_whole_rows();
        return;
    }
    if (here && p.number < d_head && p.number >= d_head - (d_span - d_open))
        f = is_present(p.number, p.stream) ? fate::repeated : fate::late;
    count_of(f)++;
    hold(s, p, f);
    if (s.held->packets.size() == size_t(d_p.confirm) && may_jump(p.from, p.arrival))
        jump(p.from, s, later);
}

packet_window::fate packet_window::store(const packet& p, copies* later)
{
    entry& e = at(p.number);
    if (is_present(p.number, p.stream))
        return fate::repeated;
    if (e.slot < 0) {
        if (d_free.empty())
            return fate::overrun;
        e.slot = d_free.back();
        d_free.pop_back();
    }
    if (e.present == 0) {
        e.arrival = p.arrival;
        e.from = p.from;
    }
    e.present++;
    bits_of(p.number)[p.stream / 64] |= uint64_t(1) << (p.stream % 64);
    uint8_t* const to = d_payloads.get() + size_t(e.slot) * d_row_bytes +
                        size_t(p.stream) * size_t(d_p.payload_bytes);
    if (later) {
        d_pending[size_t(e.slot)].fetch_add(1, std::memory_order_relaxed);
        later->all[later->count++] = { e.slot, to, &p.payload };
    } else {
        p.payload.copy(to, size_t(d_p.payload_bytes));
    }
    return fate::used;
}

void packet_window::note_accepted(const sender& who, int64_t when)
{
    if (d_accepted.any && !(d_accepted.who == who))
        d_accepted_before = d_accepted;
    d_accepted = { who, when, true };
}

bool packet_window::may_jump(const sender& who, int64_t now) const
{
    const auto& other =
        d_accepted.any && d_accepted.who == who ? d_accepted_before : d_accepted;
    return !d_locked || !other.any || now - other.when >= d_p.quiet;
}

void packet_window::drop_candidate(speaker& s)
{
    if (s.held) {
        s.held.reset();
        d_candidates--;
    }
}

void packet_window::hold(speaker& s, const packet& p, fate counted_as)
{
    if (!s.held) {
        if (d_candidates == most_candidates) {
            speaker* oldest = nullptr;
            for (auto& [who, other] : d_speakers)
                if (other.held && (!oldest || other.held->newest < oldest->held->newest))
                    oldest = &other;
            drop_candidate(*oldest);
        }
        s.held = std::make_unique<candidate>();
        s.held->payloads.reset(
            new uint8_t[size_t(d_p.confirm) * size_t(d_p.payload_bytes)]);
        d_candidates++;
    }
    candidate& c = *s.held;
    c.newest = p.arrival;
    if (!c.packets.empty() &&
        (std::abs(p.number - c.packets.back().number) > int64_t(d_p.depth) ||
         p.epoch != c.packets.back().epoch))
        c.packets.clear();
    // the same packet again confirms nothing
    for (const auto& h : c.packets)
        if (h.number == p.number && h.stream == p.stream) {
            count_of(counted_as)--;
            d_counts.repeated++;
            return;
        }
    if (c.packets.size() == size_t(d_p.confirm)) {
        c.packets.pop_front();
        c.first = (c.first + 1) % size_t(d_p.confirm);
    }
    const size_t place = (c.first + c.packets.size()) % size_t(d_p.confirm);
    c.packets.push_back({ p.stream, p.number, p.arrival, counted_as, p.epoch });
    p.payload.copy(c.payloads.get() + place * size_t(d_p.payload_bytes),
                   size_t(d_p.payload_bytes));
}

void packet_window::jump(const sender& who, speaker& s, copies* later)
{
    // others may have come to the same place meanwhile
    std::vector<std::pair<sender, std::unique_ptr<candidate>>> all;
    all.push_back({ who, std::move(s.held) });
    for (auto& [other, speaker] : d_speakers)
        if (speaker.held)
            all.push_back({ other, std::move(speaker.held) });
    d_candidates -= all.size();
    if (d_locked) {
        move_to(d_newest + 1);
        // packets ahead of all that was confirmed
        for (int64_t number = d_head; number < d_head + d_open; number++)
            if (entry& e = at(number); e.slot >= 0) {
                // other threads end their copies without the lock, which is held here
                if (later)
                    copy(*later);
                while (!is_copied(e.slot))
                    std::this_thread::yield();
                d_free.push_back(e.slot);
                e.slot = -1;
            }
        d_counts.restarts++;
    }
    int64_t oldest = end_of_numbers;
    for (const auto& held : all.front().second->packets)
        oldest = std::min(oldest, held.number);
    // other streams may be somewhat behind
    d_head = std::max<int64_t>(0, oldest - d_p.depth / 2);
    d_newest = oldest;
    d_epoch = all.front().second->packets.back().epoch;
    d_locked = d_anew = true;
    d_begun = false;
    d_accepted = d_accepted_before = {};
    // packets before it are not known
    for (int64_t number = d_head; number < d_head + d_span; number++)
        open(number);
    s.used = std::max(s.used, uint64_t(d_p.confirm));
    struct waiting {
        const sender* who;
        held_packet held;
        const uint8_t* payload;
    };
    std::vector<waiting> packets;
    for (const auto& [from, c] : all)
        for (size_t i = 0; i < c->packets.size(); i++)
            packets.push_back({ &from,
                                c->packets[i],
                                c->payloads.get() + (c->first + i) % size_t(d_p.confirm) *
                                                        size_t(d_p.payload_bytes) });
    std::stable_sort(
        packets.begin(), packets.end(), [](const waiting& a, const waiting& b) {
            return a.held.number < b.held.number;
        });
    for (const auto& w : packets) {
        if (w.held.epoch != d_epoch || w.held.number < d_head ||
            w.held.number >= d_head + d_open)
            continue; // the packet is of another place
        count_of(w.held.counted_as)--;
        put_one({ *w.who,
                  w.held.arrival,
                  w.held.stream,
                  w.held.number,
                  byte_view::of(w.payload, size_t(d_p.payload_bytes)),
                  w.held.epoch },
                nullptr);
    }
}

void packet_window::open(int64_t number)
{
    at(number) = {};
    std::fill_n(bits_of(number), d_words, 0);
}

void packet_window::leave()
{
    entry& e = at(d_head);
    if (e.slot >= 0) {
        uint64_t* bits = d_slot_bits.data() + size_t(e.slot) * d_words;
        std::copy_n(bits_of(d_head), d_words, bits);
        d_ready.push_back({ d_head,
                            1,
                            d_payloads.get() + size_t(e.slot) * d_row_bytes,
                            bits,
                            e.arrival,
                            d_anew,
                            e.from,
                            e.slot,
                            d_epoch });
        d_begun = true;
        d_anew = false;
        e.slot = -1;
    } else if (d_begun) {
        if (!d_ready.empty() && !d_ready.back().payloads &&
            d_ready.back().number + d_ready.back().count == d_head)
            d_ready.back().count++;
        else
            d_ready.push_back({ d_head,
                                1,
                                nullptr,
                                nullptr,
                                d_last_put,
                                false,
                                sender(),
                                -1,
                                d_epoch });
    }
    d_head++;
    open(d_head + d_open - 1);
}

void packet_window::leave_whole_rows()
{
    while (at(d_head).present == d_p.streams)
        leave();
}

void packet_window::move_to(int64_t head)
{
    while (d_head < head)
        leave();
}

void packet_window::flush(int64_t now, int64_t patience)
{
    std::unique_lock<std::mutex> guard(d_mutex);
    if (d_locked && now - d_last_put >= patience)
        move_to(d_newest + 1);
    const bool ready = !d_ready.empty();
    guard.unlock();
    if (ready)
        d_ready_changed.notify_one();
}

void packet_window::finish()
{
    std::unique_lock<std::mutex> guard(d_mutex);
    if (!d_locked) {
        const sender* best = nullptr;
        speaker* most = nullptr;
        for (auto& [who, s] : d_speakers)
            if (s.held &&
                (!most || s.held->packets.size() > most->held->packets.size())) {
                best = &who;
                most = &s;
            }
        if (most)
            jump(sender(*best), *most, nullptr);
    }
    if (d_locked) {
        // packets, too, of senders that were heard too seldom to move the window
        int64_t end = d_newest + 1;
        for (int64_t number = d_head; number < d_head + d_open; number++)
            if (at(number).slot >= 0)
                end = std::max(end, number + 1);
        move_to(end);
    }
    guard.unlock();
    d_ready_changed.notify_one();
}

std::optional<packet_window::row> packet_window::take(std::chrono::milliseconds wait)
{
    std::unique_lock<std::mutex> guard(d_mutex);
    const auto ready = [this] {
        return !d_ready.empty() && is_copied(d_ready.front().slot);
    };
    if (!ready() && (wait.count() == 0 || !d_ready_changed.wait_for(guard, wait, ready)))
        return {};
    const row r = d_ready.front();
    d_ready.pop_front();
    return r;
}

void packet_window::release(const row& r)
{
    if (r.slot < 0)
        return;
    std::lock_guard<std::mutex> guard(d_mutex);
    d_free.push_back(r.slot);
}

} // namespace gr::aperture::network
