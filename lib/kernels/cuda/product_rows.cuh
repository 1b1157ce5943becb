/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_ROWS_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_ROWS_CUH

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/integer_tile.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*!
 * How a warp adds products to the sums of their channel: it puts them, of 8 inputs a with
 * some inputs b, into shared memory in rows that lie in memory, too, and the copy engine
 * adds these. Threads would wait for what they read.
 *
 * All lanes put(), all are ready(), each adds its rows, and all wait until there is room
 * again. A lane puts products as wgmma() leaves them: of row lane / 4, and of each 8
 * columns 2 (lane % 4) and the next one.
 */
class product_rows
{
public:
    static constexpr int inputs = 8;
    static constexpr int most_columns = 128;

private:
    static constexpr int product_bytes = 16; // re, im
    // a multiple of 128 and 16: what lanes write at once lies in different banks
    static constexpr int row_bytes = most_columns * product_bytes + 16;

public:
    static constexpr int bytes = inputs * row_bytes;

    //! \param memory shared memory of this warp alone
    __device__ explicit product_rows(uint32_t memory)
        : d_memory(memory), d_lane(threadIdx.x % 32)
    {
    }
    //! \param columns the first of 8
    __device__ __forceinline__ void put(int columns, int next, int re, int im) const
    {
        put_at(d_lane / 4 * row_bytes + (columns + d_lane % 4 * 2 + next) * product_bytes,
               re,
               im);
    }
    __device__ __forceinline__ void ready() const
    {
        fence_async();
        __syncwarp();
    }
    //! Rows of inputs from first_row on that there are, of `count` columns from `place`
    //! on those up to the diagonal.
    //! \param sums [product][re, im]
    //! \param first_column input of the first of these columns
    __device__ __forceinline__ void add_to(unsigned long long* sums,
                                           int inputs_in_all,
                                           int first_row,
                                           int first_column,
                                           int place,
                                           int count) const
    {
        const int a = first_row + d_lane;
        const int begin = max(first_column, 0), end = min(first_column + count, a + 1);
        if (d_lane < inputs && a < inputs_in_all && begin < end)
            add_bulk(sums + 2 * product_index(a, begin),
                     d_memory + d_lane * row_bytes +
                         (place + begin - first_column) * product_bytes,
                     (end - begin) * product_bytes);
    }
    __device__ __forceinline__ void wait_for_room() const
    {
        wait_for_stores();
        __syncwarp();
    }

protected:
    __device__ __forceinline__ void put_at(int place, int re, int im) const
    {
        store_shared(
            d_memory + place,
            { unsigned(re), unsigned(re >> 31), unsigned(im), unsigned(im >> 31) });
    }
    uint32_t d_memory;
    int d_lane;
};

/*!
 * Products whose inputs a are before b, while it is their conjugates that are wanted: the
 * columns become rows.
 */
class turned_product_rows : public product_rows
{
public:
    using product_rows::product_rows;
    static constexpr int most_columns = 64;

private:
    static constexpr int product_bytes = 16;
    static constexpr int row_bytes = inputs * product_bytes + 16; // as above
    static_assert(most_columns * row_bytes <= product_rows::bytes);

public:
    __device__ __forceinline__ void put(int columns, int next, int re, int im) const
    {
        put_at((columns + d_lane % 4 * 2 + next) * row_bytes + d_lane / 4 * product_bytes,
               re,
               -im);
    }
    __device__ __forceinline__ void add_to(unsigned long long* sums,
                                           int /* inputs_in_all */,
                                           int first_row,
                                           int first_column,
                                           int place,
                                           int count) const
    {
        for (int b = d_lane; b < count; b += 32)
            add_bulk(sums + 2 * product_index(first_column + b, first_row),
                     d_memory + (place + b) * row_bytes,
                     inputs * product_bytes);
    }
};

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_ROWS_CUH */
