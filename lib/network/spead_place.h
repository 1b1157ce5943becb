/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_SPEAD_PLACE_H
#define INCLUDED_APERTURE_NETWORK_SPEAD_PLACE_H

#include <gnuradio/aperture/api.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr::aperture::network {

/*!
 * The layout of a SPEAD stream: its heaps, and the chunks that they are collected in.
 *
 * A heap belongs to a time slot (its timestamp is a multiple of heap_ticks), to a sender
 * and to a range of channels. A chunk has the heaps of slots_per_chunk slots, ordered
 * [slot][sender][range], and begins at a multiple of slots_per_chunk.
 */
struct spead_layout {
    int64_t heap_bytes = 0;      //!< bytes of a heap's payload
    int64_t heap_ticks = 1;      //!< timestamps from a slot to the next
    int64_t slots_per_chunk = 1; //!< heaps of a sender and range, one after another
    //! Values of the item that names the sender, in the order of places; one value for
    //! heaps that have none.
    std::vector<int64_t> senders = { 0 };
    bool with_sender = false;      //!< true if heaps have that item
    int64_t first_channel = 0;     //!< first channel of the first range
    int64_t channels_per_heap = 0; //!< 0: heaps have no channels
    int64_t ranges = 1;            //!< ranges of channels in a chunk
    int64_t window = 4;            //!< chunks that are open at a time
    int64_t restart = 16;          //!< heaps of a sender that make a jump a restart

    int64_t heaps() const { return slots_per_chunk * int64_t(senders.size()) * ranges; }
    int64_t chunk_bytes() const { return heaps() * heap_bytes; }
    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    void check() const;
};

//! The arguments of a place function of spead2 4; later versions may have more.
struct spead_place_data {
    const uint8_t* packet;
    size_t packet_size;
    const int64_t* items; //!< values of the items asked for; -1 where a heap has none
    int64_t chunk_id;     //!< output; -1: the heap is not taken
    size_t heap_index;    //!< output: index in the chunk
    size_t heap_offset;   //!< output: offset in the chunk, bytes
    uint64_t* batch_stats;
    uint8_t* extra;
    size_t extra_offset;
    size_t extra_size;
};

/*!
 * Finds the place of each heap of one or several streams, which share a window of time.
 *
 * The window moves with the newest heap, but not at once where one is further ahead of it
 * than the window is long: such a heap, and one that is late, is dropped, until `restart`
 * heaps of one sender came in a row, each later than the one before by no more than the
 * window, and no heap of any sender fitted meanwhile. Then time goes on with these. A
 * single forged packet, or one sender whose clock is wrong, thus changes nothing for the
 * others.
 */
class APERTURE_API spead_placement
{
public:
    //! Order of the values of items that a stream has to ask for.
    enum item { timestamp, heap_length, sender, frequency, stream_control, items };
    //! Statistics: heaps that are not taken, except for the last three.
    enum statistic {
        other, //!< no timestamp: descriptors, for example
        wrong_size,
        wrong_time, //!< timestamp is no multiple of heap_ticks
        wrong_sender,
        wrong_channels,
        late,      //!< heap before the window
        jumped,    //!< far ahead of it
        duplicate, //!< taken again, in the same place
        restarts,  //!< times that the window was moved by a jump
        stops,     //!< heaps that end a stream
        statistics
    };
    static std::array<const char*, statistics> names();

    explicit spead_placement(const spead_layout& layout);

    //! Returns the place function of a stream.
    //! \param statistics_base index of the stream's statistic that is the first of ours
    //! \param fixed_sender place of the sender of all heaps of the stream; -1: heaps name
    //! it
    void place(spead_place_data& data, int64_t statistics_base, int64_t fixed_sender);

    //! Returns the timestamp of the first slot of a chunk; it may be beyond 48 bits.
    int64_t time_of(int64_t chunk) const;
    //! Returns whether a stream was ended, and no more heaps are to come: every sender
    //! ended, or has been silent for some seconds.
    bool ended(double silence) const;
    //! Returns the seconds since a heap of a sender was taken; negative where none was.
    std::vector<double> silences() const;
    const spead_layout& layout() const { return d_layout; }

private:
    using clock = std::chrono::steady_clock;
    struct sender_state {
        bool seen = false, stopped = false;
        clock::time_point last{};
        int64_t candidate = 0,
                candidates = 0; // slot, and count, of heaps that may be a restart
        uint64_t taken = 0;     // heaps taken of all senders when the candidates began
    };
    struct era { // an era of time: chunk = floor(slot / slots_per_chunk) + offset from
                 // `first` on
        int64_t first, offset;
    };
    int64_t sender_of(int64_t value) const;
    bool fits(int64_t slot, sender_state& state, uint64_t* counts);
    bool mark(int64_t chunk, int64_t heap);

    const spead_layout d_layout;
    std::vector<std::pair<int64_t, int64_t>> d_places; // value of a sender, place
    mutable std::mutex d_mutex;
    bool d_begun = false;
    int64_t d_newest_time = 0, d_newest = 0; // timestamp; chunk
    uint64_t d_taken = 0, d_nameless_stops = 0;
    std::vector<era> d_eras;
    std::vector<sender_state> d_states;
    std::vector<int64_t> d_marked_chunks; // chunks of the window
    std::vector<uint8_t> d_marks;         // [window][heap]
};

//! The user data of a place function.
struct APERTURE_API spead_stream {
    std::shared_ptr<spead_placement> placement;
    int64_t statistics_base;
    int64_t fixed_sender;
};

} // namespace gr::aperture::network

//! The place function, for spead2.
//! \param user_data a gr::aperture::network::spead_stream
extern "C" APERTURE_API void
gr_aperture_spead_place(void* data, size_t data_size, void* user_data);

#endif /* INCLUDED_APERTURE_NETWORK_SPEAD_PLACE_H */
