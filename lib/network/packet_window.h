/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PACKET_WINDOW_H
#define INCLUDED_APERTURE_NETWORK_PACKET_WINDOW_H

#include "network/datagram.h"
#include <condition_variable>
#include <unordered_map>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gr::aperture::network {

//! A datagram whose header has been read.
struct packet {
    sender from;
    int64_t arrival = 0; //!< ns since 1970
    int stream = 0;      //!< index of the stream, 0 to below `streams`
    int64_t number = 0;  //!< number of its time, in packets; 0 to below 2^62
    byte_view payload;   //!< payload_bytes bytes at least
    //! The time from which numbers are counted, in s since 1970; 0 where nobody says it.
    int64_t epoch = 0;
};

/*!
 * Puts the packets of several streams in order.
 *
 * Packets of all streams are numbered by one clock. A row is the packets of one number:
 * [stream][byte]. The window is the numbers that are still open: packets may come up to
 * `depth` numbers behind the newest one, and a row is passed on when all of its packets
 * have come, or when the window has moved on. Rows are taken in order of their numbers,
 * without the packets that have not come.
 *
 * The window moves with senders that sent at least `confirm` packets. A packet far from
 * it, or behind it, or of another epoch, moves nothing, but is held: when a sender's last
 * `confirm` packets all lie at one other place, and no other sender was heard at the old
 * one for a while
 * (`quiet` ns), the window begins anew there, with them.
 *
 * Memory is bounded, whatever comes: `rows` rows, payloads of `confirm` packets of 16
 * senders, and the names of 1024.
 *
 * put(), flush() and take() may be called by different threads; several may put packets,
 * whose payloads they copy side by side.
 */
class packet_window
{
public:
    struct parameters {
        int streams = 1;
        int64_t payload_bytes = 0;
        int depth = 32;
        int rows = 0; //!< rows that are held; see fewest_rows()
        int confirm = 16;
        int64_t quiet = 200'000'000;
    };
    //! Returns how many rows are needed if each is taken before more packets are put.
    static int64_t fewest_rows(int depth) { return 4 * int64_t(depth) + 66; }
    static constexpr int64_t end_of_numbers = int64_t(1) << 62;
    static constexpr size_t most_senders = 1024;
    static constexpr size_t most_candidates = 16;

    explicit packet_window(const parameters& p);

    //! Counts of packets by their fate. Their sum is how many were put.
    struct counts {
        uint64_t used = 0;
        uint64_t repeated = 0; //!< packets that were there already
        uint64_t late = 0;     //!< packets that came when their row had been passed on
        uint64_t stray = 0;    //!< packets of a place where the window is not
        uint64_t overrun = 0;  //!< packets without room, as rows were not taken
        uint64_t restarts =
            0; //!< times that the window began anew, not counting the first
    };
    counts counted() const;
    //! Returns how many senders sent packets, among the newest 1024.
    size_t senders() const;

    void put(const packet* packets, size_t count);
    //! Passes on all packets that are there, when none has come for a while.
    void flush(int64_t now, int64_t patience);
    //! Ends the packets: passes on all that are there; those that wait to be confirmed,
    //! too, if there were no others.
    void finish();

    //! A row that is taken, or several rows without packets.
    struct row {
        int64_t number;
        int64_t count; //!< number of rows without packets; 1 for a row with packets
        const uint8_t* payloads; //!< [stream][byte]; nullptr: none came
        const uint64_t* present; //!< a bit for each stream, the lowest first
        int64_t arrival;         //!< arrival of its first packet
        bool anew;               //!< the window began anew here
        sender from;             //!< sender of its first packet
        int slot;
        int64_t epoch; //!< epoch of its packets, or of those around them

        bool has(int stream) const
        {
            return payloads && (present[stream / 64] >> (stream % 64) & 1);
        }
    };
    //! Returns the next row, or nothing if there is none before the time is over.
    std::optional<row> take(std::chrono::milliseconds wait);
    //! Gives a row back; its payloads are overwritten.
    void release(const row& r);
    //! Forgets all packets, senders and counts. No row may be taken at this time.
    void clear();

private:
    enum class fate { used, repeated, late, stray, overrun };
    struct entry {
        int slot = -1;
        int present = 0;
        int64_t arrival = 0;
        sender from;
    };
    struct held_packet {
        int stream;
        int64_t number, arrival;
        fate counted_as;
        int64_t epoch;
    };
    struct candidate {
        std::deque<held_packet> packets;
        std::unique_ptr<uint8_t[]> payloads; // [confirm][byte], a ring
        size_t first = 0;                    // first slot of the ring
        int64_t newest = 0;                  // arrival
    };
    struct speaker {
        uint64_t used = 0;
        int64_t heard = 0;
        std::unique_ptr<candidate> held;
    };
    struct hash {
        size_t operator()(const sender& s) const;
    };
    using speakers = std::unordered_map<sender, speaker, hash>;
    struct accepted {
        sender who;
        int64_t when = 0;
        bool any = false;
    };

    entry& at(int64_t number) { return d_entries[size_t(number % d_span)]; }
    uint64_t* bits_of(int64_t number)
    {
        return d_bits.data() + size_t(number % d_span) * d_words;
    }
    bool is_present(int64_t number, int stream)
    {
        return bits_of(number)[stream / 64] >> (stream % 64) & 1;
    }
    // Payloads that are to be copied when the lock is left.
    struct copies {
        struct one {
            int slot;
            uint8_t* to;
            const byte_view* from;
        };
        std::array<one, 64> all;
        size_t count = 0;
    };

    uint64_t& count_of(fate f);
    void put_one(const packet& p, copies* later);
    void copy(copies& c);
    bool is_copied(int slot) const
    {
        return slot < 0 || d_pending[size_t(slot)].load(std::memory_order_acquire) == 0;
    }
    speaker& find(const sender& who, int64_t now);
    //! Puts a packet into its row, which is open.
    //! \param later takes the copy of the payload; nullptr: it is copied at once
    fate store(const packet& p, copies* later);
    void note_accepted(const sender& who, int64_t when);
    void hold(speaker& s, const packet& p, fate counted_as);
    bool may_jump(const sender& who, int64_t now) const;
    void jump(const sender& who, speaker& s, copies* later);
    void open(int64_t number);
    void leave();
    void leave_whole_rows();
    void move_to(int64_t head);
    void drop_candidate(speaker& s);

    const parameters d_p;
    const int64_t d_open; // numbers that are open, from d_head on
    const int64_t d_span; // numbers of which something is known
    const size_t d_words; // words of a row's bits
    const size_t d_row_bytes;

    mutable std::mutex d_mutex;
    std::condition_variable d_ready_changed;
    std::unique_ptr<uint8_t[]> d_payloads; // [slot][stream][byte]
    // [slot], payloads that are still to be copied
    std::unique_ptr<std::atomic<int>[]> d_pending;
    std::vector<uint64_t> d_slot_bits; // [slot][word]
    std::vector<int> d_free;           // slots; the last one is used first
    std::vector<entry> d_entries;
    std::vector<uint64_t> d_bits; // [entry][word]
    bool d_locked, d_begun, d_anew;
    int64_t d_head, d_newest;
    int64_t d_epoch;    // epoch of the packets of the window
    int64_t d_last_put; // arrival of the packet that was used last
    std::deque<row> d_ready;
    speakers d_speakers;
    sender d_last_who;
    speaker* d_last_speaker;
    size_t d_candidates;
    accepted d_accepted, d_accepted_before; // packets of two different senders
    counts d_counts;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PACKET_WINDOW_H */
