/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TRANSPOSING_TILE_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TRANSPOSING_TILE_CUH

#include <cuda_pipeline.h>
#include <type_traits>
#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*
 * Transposes [time][column] into rows [column][time] for elements of any number of bits,
 * packed ones too, wherever they begin. A thread block fetches some times of some columns
 * into shared memory, with bits in their order; then each thread combines words of a row.
 * Unaligned addresses are handled there, so that memory is read and written in whole
 * words and long runs.
 */

//! Divides: v / by for v and by below 2^16.
struct quick_division {
    uint32_t by, magic;
    quick_division() = default;
    explicit quick_division(uint32_t d) : by(d), magic(uint32_t((1ull << 32) / d + 1)) {}
    __device__ uint32_t of(uint32_t v) const { return __umulhi(v, magic); }
};

//! The place of a tile's part of a row.
struct row_place {
    uint64_t bit;   //!< address of the tile's first time, in bits
    int first, end; //!< times of the tile that go there
};

//! The tiles that all columns are cut into.
struct tile_cut {
    static constexpr int threads = 128;
    static constexpr int blocks = 16; //!< thread blocks of a multiprocessor

    int columns;            //!< columns of a tile
    int groups;             //!< groups of columns
    int times;              //!< times of a tile, a power of two
    int extra;              //!< further times that the last word of a row reaches into
    int64_t pitch_bits;     //!< bits from one time to the next in memory
    int segments;           //!< segments of a tile in memory
    int segment_bits;       //!< bits from one time to the next in shared memory
    quick_division fetched; //!< words of a segment
    int row_words;
    int row_threads; //!< threads for a row, a power of two

    //! \param columns columns, of `pitch` elements from one time to the next
    template <int Bits>
    static tile_cut make(int columns, int pitch)
    {
        constexpr int tile_bits = 8 * 8192;
        constexpr int most_bits = 2048, part_bits = 1024;
        tile_cut cut;
        const int64_t bits = int64_t(columns) * Bits;
        const bool in_a_row = columns == pitch && bits <= most_bits;
        cut.groups = in_a_row ? 1 : int((bits + part_bits - 1) / part_bits);
        cut.columns = (columns + cut.groups - 1) / cut.groups;
        cut.pitch_bits = int64_t(pitch) * Bits;
        cut.times = 32;
        while (2 * cut.times * cut.columns * Bits <= tile_bits)
            cut.times *= 2;
        constexpr int word_bits = Bits == 64 ? 64 : 32;
        cut.extra = (word_bits - 1) / Bits + (word_bits % Bits ? 1 : 0);
        const int all = cut.times + cut.extra;
        cut.segments = in_a_row ? 1 : all;
        // the first word may begin before the first element
        const int words = ((in_a_row ? all : 1) * cut.columns * Bits + 31 + 31) / 32;
        cut.segment_bits = in_a_row ? int(cut.pitch_bits) : 32 * words;
        cut.fetched = quick_division(words);
        cut.row_words = cut.times * Bits / word_bits;
        cut.row_threads = 32;
        while (cut.row_threads > cut.row_words)
            cut.row_threads /= 2;
        return cut;
    }

    //! Returns the bytes of the places of rows, and of the fetched words.
    int shared_bytes() const
    {
        const int words = segments * int(fetched.by);
        return columns * int(sizeof(row_place)) + 4 * (words + words / 32 + 1);
    }

    //! Returns a time, or the nearest one of the tile.
    __device__ int of_tile(int64_t time) const
    {
        return int(max(int64_t(0), min(time, int64_t(times + extra))));
    }
};

//! The transposition by a thread block, all of whose threads call all functions.
template <int Bits>
class transposing_tile
{
public:
    static constexpr bool packed = Bits % 8 != 0;
    using word = std::conditional_t<Bits == 64, uint2, uint32_t>;
    using short_element = std::conditional_t<Bits == 8, uint8_t, uint16_t>;
    using element = std::conditional_t<Bits >= 32, word, short_element>;
    static constexpr int word_bits = 8 * sizeof(word);
    static constexpr int elements = packed ? 4 : word_bits / Bits; // at most, in a word

    /*!
     * \param shared as many bytes as `cut` needs
     * \param columns columns of the tile that exist
     * \param place row -> row_place
     */
    template <class Place>
    __device__
    transposing_tile(void* shared, const tile_cut& cut, int columns, const Place& place)
        : d_cut(cut),
          d_places(static_cast<row_place*>(shared)),
          d_words(reinterpret_cast<uint32_t*>(d_places + cut.columns)),
          d_columns(columns)
    {
        bool whole = true;
        for (int row = threadIdx.x; row < columns; row += tile_cut::threads) {
            const row_place p = place(row);
            d_places[row] = p;
            whole = whole && p.first == 0 && p.end == cut.times + cut.extra;
        }
        d_whole_rows = __syncthreads_and(whole);
    }

    //! \param source address of time 0, column 0
    //! \param begin, end limits of memory that may be read
    __device__ void fetch(const char* source,
                          const char* begin,
                          const char* end,
                          int64_t first_time,
                          int64_t first_column)
    {
        constexpr int alignment = packed ? 1 : Bits < 32 ? Bits / 8 : 4;
        const auto address = reinterpret_cast<uint64_t>(source);
        const bool aligned = address % alignment == 0;
        const int64_t start =
            int64_t(address * 8) + first_time * d_cut.pitch_bits + first_column * Bits;
        d_mask = aligned ? 31 : 7;
        d_start = int(start) & d_mask;
        d_drift = d_cut.segments == 1 ? 0 : int(d_cut.pitch_bits) & d_mask;
        const auto first = reinterpret_cast<const char*>((start & ~int64_t(31)) >> 3);
        const auto last = first + ((d_cut.segments - 1) * d_cut.pitch_bits >> 3) +
                          4 * d_cut.fetched.by + 4;
        if (!aligned || first < begin || last > end)
            fetch_carefully(start, aligned, begin, end);
        else if (d_cut.segments == 1)
            fetch_in_a_row(first);
        else
            fetch_segments(start);
        __syncthreads();
    }

    __device__ void store() const
    {
        if (!d_whole_rows)
            store_all<false, false>();
        else if (d_drift != 0)
            store_all<true, false>();
        else
            store_all<true, true>();
    }

private:
    //! Returns a place at which one word in each 32 is left out: the words that a warp
    //! reads lie in different banks then.
    static __device__ int padded(int byte) { return byte + (byte >> 7 << 2); }

    __device__ void fetch_in_a_row(const char* first)
    {
        constexpr unsigned threads = tile_cut::threads;
        const char* from = first + 4 * threadIdx.x;
        uint32_t* to = d_words + threadIdx.x + threadIdx.x / 32;
#pragma unroll 8
        for (unsigned v = threadIdx.x; v < d_cut.fetched.by; v += threads) {
            __pipeline_memcpy_async(to, from, 4);
            from += 4 * threads;
            to += threads + threads / 32;
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }

    __device__ void fetch_segments(int64_t start)
    {
        const unsigned words = d_cut.fetched.by, pitch = unsigned(d_cut.pitch_bits);
#pragma unroll 4
        for (unsigned v = threadIdx.x; v < d_cut.segments * words;
             v += tile_cut::threads) {
            const unsigned t = d_cut.fetched.of(v);
            const int64_t word = (start + int64_t(uint64_t(t) * pitch)) >> 5;
            __pipeline_memcpy_async(d_words + v + v / 32,
                                    reinterpret_cast<const uint32_t*>(word * 4) +
                                        (v - t * words),
                                    4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }

    __device__ void
    fetch_carefully(int64_t start, bool aligned, const char* begin, const char* end)
    {
        const int words = d_cut.fetched.by;
        for (int v = threadIdx.x; v < d_cut.segments * words; v += tile_cut::threads) {
            const int t = d_cut.segments == 1 ? 0 : d_cut.fetched.of(v);
            const int64_t bit = (start + t * d_cut.pitch_bits) & ~int64_t(d_mask);
            const auto from =
                reinterpret_cast<const char*>(bit >> 3) + 4 * (v - t * words);
            uint32_t all = 0;
            if (aligned && from >= begin && from + 4 <= end) {
                all = *reinterpret_cast<const uint32_t*>(from);
            } else {
                for (int i = 0; i < 4; i++)
                    if (from + i >= begin && from + i < end)
                        all |= uint32_t(uint8_t(from[i])) << 8 * i;
            }
            d_words[v + v / 32] = all;
        }
    }

    template <class T>
    __device__ T at(int byte) const
    {
        return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(d_words) +
                                           padded(byte));
    }

    template <bool Straight>
    __device__ element get(int time, int column) const
    {
        const int start = Straight ? d_start : (d_start + time * d_drift) & d_mask;
        if constexpr (packed) {
            const int bit = time * d_cut.segment_bits + start + column * Bits;
            const int byte = bit >> 3;
            // begins at an even bit, and so ends in the next byte
            const int two = at<uint8_t>(byte) << 8 | at<uint8_t>(byte + 1);
            return uint16_t(two << (bit & 7)) >> (16 - Bits);
        } else {
            const int byte =
                time * (d_cut.segment_bits >> 3) + (start >> 3) + column * (Bits / 8);
            if constexpr (Bits == 64)
                return { at<uint32_t>(byte), at<uint32_t>(byte + 4) };
            else
                return at<element>(byte);
        }
    }

    //! Returns the bits from the tile's first time to the first whole word.
    static __device__ int lead_of(const row_place& p)
    {
        return int(-p.bit) & (word_bits - 1);
    }

    //! \tparam Whole whether all rows go through all of the tile
    //! \tparam Straight whether, in shared memory, all times begin at the same bit of a
    //! word
    template <bool Whole, bool Straight>
    __device__ void store_all() const
    {
        const unsigned together = d_cut.row_threads;
        const unsigned rows = tile_cut::threads / together;
        for (int row = threadIdx.x / together; row < d_columns; row += rows) {
            const row_place p = d_places[row];
            const int lead = lead_of(p);
#pragma unroll 4
            for (int k = threadIdx.x % together; k < d_cut.row_words; k += together)
                store_word<Whole, Straight>(row, p, lead + k * word_bits);
        }
    }

    //! \param bit first bit of the tile's part of the row
    template <bool Whole, bool Straight>
    __device__ void store_word(int row, const row_place& p, int bit) const
    {
        char* to = reinterpret_cast<char*>((p.bit + int64_t(bit)) >> 3);
        // with packed elements, the last bits of one may come first
        const int within = packed ? bit % Bits : 0;
        const int time = packed ? bit / Bits : bit >> shift;
        if (Whole ||
            (time >= p.first && time + (within + word_bits + Bits - 1) / Bits <= p.end)) {
            *reinterpret_cast<word*>(to) = join<Straight>(time, within, row);
        } else if constexpr (!packed) {
#pragma unroll
            for (int i = 0; i < elements; i++)
                if (time + i >= p.first && time + i < p.end)
                    reinterpret_cast<element*>(to)[i] = get<false>(time + i, row);
        }
    }

    template <bool Straight>
    __device__ word join(int time, int within, int row) const
    {
        if constexpr (packed) {
            // `within` is at most 8: the word lies in four elements
            uint64_t all = 0;
#pragma unroll
            for (int i = 0; i < elements; i++)
                all = all << Bits | get<Straight>(time + i, row);
            return __byte_perm(
                uint32_t(all >> (elements * Bits - within - word_bits)), 0, 0x0123);
        } else if constexpr (elements == 1) {
            return get<Straight>(time, row);
        } else {
            word w = 0;
#pragma unroll
            for (int i = 0; i < elements; i++)
                w |= word(get<Straight>(time + i, row)) << i * Bits;
            return w;
        }
    }
    static constexpr int shift = Bits == 8 ? 3 : Bits == 16 ? 4 : Bits == 32 ? 5 : 6;

    const tile_cut& d_cut;
    row_place* d_places;
    uint32_t* d_words;
    int d_columns;
    bool d_whole_rows;
    int d_start, d_mask, d_drift; // bits
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TRANSPOSING_TILE_CUH */
