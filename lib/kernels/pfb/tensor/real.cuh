/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_REAL_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_REAL_CUH

#include "kernels/gpu/half_tile.cuh"
#include "kernels/pfb/tensor/results.cuh"
#include "kernels/pfb/tensor/tensor.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

/*
 * Real samples, s8: a spectrum of N = 32 R channels is half of the
 * transform of 2 N samples,
 *
 *   y[k] = sum_b w2N^(b k) sum_a<64 w64^(a k) z[R a + b],
 *
 * whose inner sums, for c = k mod 64, are the conjugates of those for 64 - c: 32 of them
 * do. The matrices are as large as with complex samples; a word of a line has samples a
 * and a + 32 in place of a real and an imaginary part. What the second product makes of c
 * are channels c + 64 d with d < R / 2, and beyond the middle the conjugates of channels
 * 64 (R - d) - c. So nothing is transformed twice, and no spectra have to be parted.
 *
 * Only c = 0 and c = 32 are their own mirror images, with real sums. They share the first
 * row, as its real and its imaginary part, and this row has a second matrix of its own,
 * which mma multiplies.
 *
 * With inverted samples, channel k is the conjugate of y[N - 1 - k], which is y[k + 1] of
 * the samples with the signs of every other one changed. The prototype has these signs.
 * So an inverted band differs in two things only: what is y[k] here is channel k - 1, and
 * c = 0 makes y[N] in place of y[0].
 */

// The transform of real samples.

/*!
 * Makes what the second product makes of c = 0, by other means (mma): four threads of a
 * consumer have the operand for all spectra of a slot, and each warp makes eight of the
 * elements. The sums of the second product itself are left alone, or the compiler would
 * no longer let it run asynchronously; what it makes of its c = 0 is overwritten.
 */
class first_row
{
    // Two buffers, used by slots alternately, so that no thread has to wait until all
    // have read what was kept.
    uint32_t d_memory = 0, d_other = 0;
    static constexpr int words = 2 * steps; // words of a lane and spectrum

public:
    first_row() = default;
    __device__ __forceinline__ explicit first_row(uint32_t memory)
        : d_memory(memory), d_other(memory + first_row_bytes)
    {
    }
    //! Goes on to the next slot.
    __device__ __forceinline__ void advance()
    {
        const uint32_t here = d_memory;
        d_memory = d_other;
        d_other = here;
    }

    //! Keeps the operand of pair k of the slot in shared memory, in rows
    //! [lane][spectrum]. Called by all threads of the consumer.
    __device__ __forceinline__ void keep(int k, const uint32_t (&operand)[steps][4]) const
    {
        const int thread = threadIdx.x % consumer_threads;
        if (thread >= 4)
            return;
#pragma unroll
        for (int s = 0; s < pair; s++)
#pragma unroll
            for (int i = 0; i < steps; i += 2)
                store_shared(
                    d_memory +
                        4 * (words * (slot_spectra * thread + pair * k + s) + 2 * i),
                    { operand[i][s],
                      operand[i][2 + s],
                      operand[i + 1][s],
                      operand[i + 1][2 + s] });
    }

    //! Multiplies what was kept, after a barrier of the consumer: a lane gets element 8
    //! warp + g of spectra 2 t and 2 t + 1, for t < 2.
    //! \param matrix see make_first_rows()
    __device__ __forceinline__ void multiply(float2 (&sums)[2], const uint4* matrix) const
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x % consumer_threads / 32;
        // The columns of the operand are spectra g, of which there are four.
        const uint32_t from =
            d_memory + 4 * words * (slot_spectra * (lane % 4) + lane / 4 % slot_spectra);
        const uint4 first = load_shared(from), second = load_shared(from + sizeof(uint4));
        const uint32_t b[] = { first.x,  first.y,  first.z,  first.w,
                               second.x, second.y, second.z, second.w };
        float four[4]{};
#pragma unroll
        for (int i = 0; i < steps; i++) {
            const uint4 v = __ldg(matrix + (i * consumer_warps + warp) * 32 + lane);
            const uint32_t a[] = { v.x, v.y, v.z, v.w };
            multiply_add(four, a, b[2 * i], b[2 * i + 1]);
        }
        sums[0] = { four[0], four[2] };
        sums[1] = { four[1], four[3] };
    }
};

/*!
 * The places where the results of a lane are put. In channel 32 D + C, D is even for
 * elements with c = C and odd for mirrored ones, with c = 32 - C (0 for 0). Rows of D / 2
 * follow each other in each segment. Of inverted samples C is one less, which leads to
 * another D for c = 0 only.
 */
template <class Call>
struct mirrored_rows {
    static constexpr int radix_here = Call::second_radix, half = radix_here / 2;
    //! True if it depends on the lane, and not on the element, if results are mirrored.
    static constexpr bool by_lane = radix_here < 8;

    //! Returns the row of element e.
    static constexpr __host__ __device__ int row_of(int e)
    {
        const int d = Call::d_of(e);
        const int row = d < half ? d : radix_here - 1 - d;
        return Call::segment_of(e) * half + row;
    }
    //! Returns C. For c = 0 what is put there is overwritten by what first_place is for.
    static constexpr __host__ __device__ int
    place_of(int c, bool is_mirrored, bool inverted)
    {
        const int place = is_mirrored && c > 0 ? radix - c : c;
        return (place - int(inverted)) & (radix - 1);
    }
    //! The place of element e of c = 0: its row, whether D is odd, and C.
    struct first_place {
        int row;
        bool odd;
        int place;
    };
    static constexpr __host__ __device__ first_place first_place_of(int e, bool inverted)
    {
        const bool mirrored = Call::mirrored(e);
        const int row = row_of(e);
        if (!inverted)
            return { row, mirrored, 0 };
        if (mirrored)
            return { row, false, radix - 1 };
        return { row % half > 0 ? row - 1 : row + half - 1, true, radix - 1 };
    }
    //! Returns whether element i of a lane with t is mirrored.
    static constexpr __host__ __device__ bool mirrored(int i, int t)
    {
        return Call::mirrored(by_lane ? t : 4 * i);
    }
    //! Returns how many rows element i is behind the first row of its lane.
    static constexpr __host__ __device__ int first_row_of(int i)
    {
        return by_lane ? 2 * i : row_of(4 * i) / 4 * 4;
    }
    //! Returns the first row of a lane with t, for elements that are mirrored or not.
    static __device__ int row_of_lane(int t, bool is_mirrored)
    {
        return by_lane ? row_of(t) : is_mirrored ? 3 - t : t;
    }
};

//! Number of boxes of a set of times that a warp stores.
template <class Call>
inline constexpr int boxes_of_warp = Call::real ? 4 : 2;
//! Returns the first channel of a box of a warp.
template <class Call>
__device__ __forceinline__ int first_of_box(int warp, int box)
{
    return Call::real ? (2 * warp + box / 2) * box_channels + box % 2 * radix
                      : (2 * warp + box) * box_channels;
}
//! Number of rows of boxes that the channels of a frame make.
template <class Call>
inline constexpr int rows_of_frame = Call::second_radix / (Call::real ? 2 : 1);
//! Returns which barrier a warp uses for a set of times: its channels are stored by
//! themselves; of real samples each warp stores some of the boxes of all warps, and all
//! use one barrier.
template <class Call>
__device__ __forceinline__ int set_part(int warp)
{
    return Call::real ? 0 : warp;
}

//! Places in shared memory of a lane's results, of elements that are not mirrored (0) and
//! that are (1).
template <store Store, class Call>
class mirrored_place
{
    using rows = mirrored_rows<Call>;
    static constexpr bool as_frames = Store == store::frames;
    uint32_t d_words[2];

public:
    __device__ __forceinline__ mirrored_place(int consumer, int thread, bool inverted)
    {
        if constexpr (!Call::real)
            return;
        const int c = thread / 4, t = thread % 4;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const bool mirrored = rows::by_lane ? Call::mirrored(t) : k;
            const int row = rows::row_of_lane(t, mirrored);
            const int place = rows::place_of(c, mirrored, inverted);
            d_words[k] = as_frames
                             ? in_set(row, mirrored, place) + row % 2 * (sector / 2) +
                                   consumer * slot_spectra * 2
                             : in_spectrum(row, mirrored, place);
            asm volatile("" : "+r"(d_words[k])); // kept, or it is found out again
        }
    }

    //! Returns the place in a set of times of element e of c = 0; its word has spectra 2
    //! t and 2 t + 1.
    static __device__ __forceinline__ uint32_t
    of_first(int e, int half, int consumer, int t, bool inverted)
    {
        const auto [row, odd, place] = rows::first_place_of(e, inverted);
        return in_set(row, odd, place) + ((row ^ half) & 1) * (sector / 2) +
               2 * slot_spectra * consumer + 4 * t;
    }
    //! Stores element e of c = 0 into two spectra.
    static __device__ __forceinline__ void
    store_first(uint32_t at, int e, bool inverted, uint32_t word)
    {
        const auto [row, odd, place] = rows::first_place_of(e, inverted);
        store_halves(at + in_spectrum(row, odd, place), word);
    }

    //! Returns the place in a set of times of element i.
    //! \param half of the set
    __device__ __forceinline__ uint32_t of_number(int i, int half) const
    {
        return (own(i) ^ half * (sector / 2)) + rows::first_row_of(i) * sector_row;
    }

    //! Stores the words of elements `from` to `from` + 3 of a pair into its two spectra.
    __device__ __forceinline__ void
    store_four(uint32_t at, int from, const uint32_t* words) const
    {
#pragma unroll
        for (int i = from; i < from + 4; i++)
            store_halves(at + own(i) + bytes_of(rows::first_row_of(i)), words[i - from]);
    }

private:
    __device__ __forceinline__ uint32_t own(int i) const
    {
        return d_words[!rows::by_lane && rows::mirrored(i, 0)];
    }
    //! Returns the place of a row in the spectra of a slot, in bytes.
    static constexpr __host__ __device__ int bytes_of(int row)
    {
        return row / rows::half * Call::segment_pitch + row % rows::half * 4 * radix;
    }
    //! Returns the place of a sector in a set of times.
    static constexpr __host__ __device__ int in_set(int row, bool odd, int place)
    {
        return place / box_channels * box_bytes + odd * (box_bytes / 2) +
               row * sector_row + place % box_channels * sector;
    }
    static constexpr __host__ __device__ int in_spectrum(int row, bool odd, int place)
    {
        return bytes_of(row) + odd * 2 * radix + 2 * place;
    }
    __device__ __forceinline__ static void store_halves(uint32_t address, uint32_t word)
    {
        store_short(address, word);
        store_short(address + Call::result_pitch, word >> 16);
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_REAL_CUH */
