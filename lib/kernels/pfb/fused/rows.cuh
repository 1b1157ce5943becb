/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_ROWS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_ROWS_CUH

#include "kernels/pfb/fused/results.cuh"
#include <type_traits>

namespace gr::aperture::kernels::cuda {

//! Returns a result as it is stored.
template <class voltage>
__device__ __forceinline__ voltage result(float2 y)
{
    if constexpr (std::is_same_v<voltage, float2>)
        return y;
    else
        return voltage(rounded(y));
}

/*!
 * The place of a thread's results in a frame: each next one goes to the next channel.
 * Channels that are not wanted are left out.
 */
struct frame_rows {
    char* to;
    int64_t stride; // from channel to channel, in bytes
    int channel, step, selected;

    template <class element>
    __device__ __forceinline__ void put(element results)
    {
        if (unsigned(channel) < unsigned(selected))
            __stcg(reinterpret_cast<element*>(to), results);
        to += stride;
        channel += step;
    }
};

//! Returns the rows of a thread's results.
//! \param start, step channel of the first result, and from there to the next
//! \param time of the first result, counted from the first one of this step
template <class voltage>
__device__ __forceinline__ frame_rows
rows_of(const fused_step& of, int start, int step, int time, const fused_call& call)
{
    const int64_t spacing = int64_t(call.inputs) * call.times * int(sizeof(voltage));
    const int channel = start - call.first_channel;
    return { of.spectra + channel * spacing + time * of.spacing,
             step * spacing,
             channel,
             step,
             call.selected };
}

/*!
 * Exchanges bit i of the lane, from 0 on, with a bit of the index: of results of times
 * [round][spectrum] each of `Spectra` lanes gets `Rounds` successive times.
 */
template <int Spectra, int Rounds>
__device__ __forceinline__ void exchange(uint32_t (&v)[Rounds], int lane)
{
    constexpr int together = Spectra < Rounds ? Spectra : Rounds;
#pragma unroll
    for (int bit = 1; bit < together; bit *= 2) {
        const int index_bit = bit * (Rounds / together);
        const bool high = lane & bit;
#pragma unroll
        for (int i = 0; i < Rounds; i++)
            if (!(i & index_bit)) {
                uint32_t &a = v[i], &b = v[i | index_bit];
                const uint32_t got = __shfl_xor_sync(~0u, high ? a : b, bit);
                a = high ? got : a;
                b = high ? b : got;
            }
    }
}

/*!
 * Stores results of steps whose spectra do not fill a sector of a row. They wait for
 * those of the steps after, in memory that each thread has for itself. Then neighbouring
 * lanes exchange results, and write whole sectors.
 */
template <class Shape, class voltage, int Rounds>
struct row_pieces {
    static constexpr int of_piece = int(sizeof(uint4) / sizeof(voltage));
    static constexpr int pieces = Shape::points / of_piece;
    static constexpr int words = 4 * pieces;
    // Lanes that exchange results with each other; each then has so many successive
    // times.
    static constexpr int lanes = Shape::spectra < Rounds ? Shape::spectra : Rounds;
    uint4* aside; // [round][piece][thread of the thread block]

    __device__ explicit row_pieces(const fused_call& call)
        : aside(static_cast<uint4*>(call.scratch) +
                int64_t(blockIdx.x) * (Rounds * pieces * Shape::threads) + threadIdx.x)
    {
    }

    __device__ __forceinline__ uint4* piece(int round, int number) const
    {
        return aside + (round * pieces + number) * Shape::threads;
    }

    //! Returns the first of the times that a lane has after the exchange.
    static __device__ __forceinline__ int first_time(int lane)
    {
        return lane % lanes * (Shape::spectra * Rounds / lanes) + lane / lanes * lanes;
    }

    __device__ __forceinline__ void
    put_piece_aside(const uint32_t* v, int round, int number) const
    {
        __stcg(piece(round, number), { v[0], v[1], v[2], v[3] });
    }
    __device__ __forceinline__ void put_aside(const uint32_t (&v)[words], int round) const
    {
#pragma unroll
        for (int i = 0; i < pieces; i++)
            put_piece_aside(v + 4 * i, round, i);
    }

    //! Fetches a piece of the rounds before the last one.
    using waiting = uint4[Rounds - 1];
    __device__ __forceinline__ void fetch(waiting& kept, int number) const
    {
#pragma unroll
        for (int r = 0; r < Rounds - 1; r++)
            kept[r] = __ldcg(piece(r, number));
    }

    //! Stores a piece of all rounds.
    //! \param v results of the last round
    static __device__ __forceinline__ void
    store_piece(const uint32_t* v, const waiting& kept, int lane, frame_rows& rows)
    {
        uint32_t all[4][Rounds];
#pragma unroll
        for (int r = 0; r < Rounds - 1; r++) {
            const uint4 k = kept[r];
            all[0][r] = k.x, all[1][r] = k.y, all[2][r] = k.z, all[3][r] = k.w;
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            all[j][Rounds - 1] = v[j];
            exchange<Shape::spectra, Rounds>(all[j], lane);
        }
#pragma unroll
        for (int c = 0; c < of_piece; c++)
            put(all, c, rows);
    }

    //! Stores all pieces.
    //! \param v results of the last round
    __device__ __forceinline__ void
    store_whole(const uint32_t (&v)[words], int lane, frame_rows rows) const
    {
        constexpr int ahead = Rounds > 4 ? 1 : 4 / (Rounds - 1);
        waiting kept[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++)
            fetch(kept[i], i);
#pragma unroll
        for (int i = 0; i < pieces; i++) {
            waiting now;
#pragma unroll
            for (int r = 0; r < Rounds - 1; r++)
                now[r] = kept[i % ahead][r];
            if (i + ahead < pieces)
                fetch(kept[i % ahead], i + ahead);
            store_piece(v + 4 * i, now, lane, rows);
        }
    }

    //! Stores where rows are not aligned or not all times are wanted.
    __device__ __noinline__ void
    store_each(const fused_step& last, int lane, frame_rows rows) const
    {
#pragma unroll 1
        for (int e = 0; e < Shape::points; e++) {
            char* to = rows.to;
#pragma unroll 1
            for (int r = 0; r <= last.round; r++, to += Shape::spectra * last.spacing) {
                const auto* from =
                    reinterpret_cast<const voltage*>(piece(r, e / of_piece));
                if (r < last.round || lane < last.wanted) {
                    const voltage v = __ldcg(from + e % of_piece);
                    if (unsigned(rows.channel) < unsigned(rows.selected))
                        __stcg(reinterpret_cast<voltage*>(to), v);
                }
            }
            rows.to += rows.stride;
            rows.channel += rows.step;
        }
    }

private:
    //! Stores the results of channel c of a piece.
    static __device__ __forceinline__ void
    put(const uint32_t (&all)[4][Rounds], int c, frame_rows& rows)
    {
        // Index at which exchange() has left the result of time t.
        const auto index = [](int t) { return t % lanes * (Rounds / lanes) + t / lanes; };
        constexpr int count = Rounds * int(sizeof(voltage)) / 4;
        uint32_t w[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            if constexpr (sizeof(voltage) == 2)
                w[i] = __byte_perm(all[c / 2][index(2 * i)],
                                   all[c / 2][index(2 * i + 1)],
                                   c % 2 ? 0x7632 : 0x5410);
            else
                w[i] = all[2 * c + i % 2][index(i / 2)];
        if constexpr (count == 1)
            rows.put(w[0]);
        else if constexpr (count == 2)
            rows.put(make_uint2(w[0], w[1]));
        else
            rows.put(make_uint4(w[0], w[1], w[2], w[3]));
    }
};

/*!
 * Epilogue: multiplies results in registers by gains, converts them and stores them into
 * the rows of a frame.
 * \param start, step channel of the thread's first result, and from there to the next
 */
template <class Shape, class voltage>
__device__ __forceinline__ int put_rows(const float2 (&v)[Shape::points],
                                        const float4* gains,
                                        int number,
                                        int start,
                                        int step,
                                        const fused_step& of,
                                        const fused_call& call)
{
    constexpr bool eight_bit = !std::is_same_v<voltage, float2>;
    constexpr int rounds = fused_call::rounds_of(Shape::spectra, sizeof(voltage));
    const auto put_all = [&](auto put) {
        if constexpr (eight_bit)
            return amplify_fitting<Shape>(v, gains, call, put);
        amplify<Shape>(v, gains, call, put);
        return 0;
    };
    const bool wanted = number < of.wanted;
    if constexpr (rounds == 1) {
        if (!wanted)
            return 0;
        const auto first = rows_of<voltage>(of, start, step, number, call);
        auto rows = first;
        return put_all([&](int e, float2 y, float2 z) {
            if (e == 0)
                rows = first;
            rows.put(result<voltage>(y));
            rows.put(result<voltage>(z));
        });
    } else {
        using pieces = row_pieces<Shape, voltage, rounds>;
        const pieces all(call);
        const int before = of.round * Shape::spectra;
        const bool whole =
            of.round == rounds - 1 && of.wanted == Shape::spectra &&
            (call.times | call.first_time) % rounds == 0 &&
            reinterpret_cast<uintptr_t>(call.frame) % (rounds * sizeof(voltage)) == 0;
        const auto rows = [&] {
            return rows_of<voltage>(of,
                                    start,
                                    step,
                                    (whole ? pieces::first_time(number) : number) -
                                        before,
                                    call);
        };
        int found = 0;
        if constexpr (eight_bit) {
            uint32_t words[pieces::words];
            found = put_all([&](int e, float2 y, float2 z) {
                words[e / 2] = rounded(y, rounded(z));
            });
            if (whole)
                all.store_whole(words, number, rows());
            else
                all.put_aside(words, of.round);
        } else {
            // Piece by piece, because there are no registers for all.
            typename pieces::waiting kept[2];
            auto to = rows();
            if (whole)
                all.fetch(kept[0], 0);
            put_all([&](int e, float2 y, float2 z) {
                const int i = e / 2;
                const uint32_t words[] = { __float_as_uint(y.x),
                                           __float_as_uint(y.y),
                                           __float_as_uint(z.x),
                                           __float_as_uint(z.y) };
                if (whole) {
                    if (i + 1 < pieces::pieces)
                        all.fetch(kept[(i + 1) % 2], i + 1);
                    pieces::store_piece(words, kept[i % 2], number, to);
                } else {
                    all.put_piece_aside(words, of.round, i);
                }
            });
        }
        if (of.last && !whole)
            all.store_each(of, number, rows());
        return wanted ? found : 0;
    }
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_ROWS_CUH */
