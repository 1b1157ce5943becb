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
 * How a warp adds products to the sums of their channel: it puts rows of them, of 8
 * inputs a, into shared memory, and the copy engine adds them to those in memory. Threads
 * would wait for what they read.
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
    //! One of the products of a lane's row, as wgmma() leaves them: input lane / 4, and
    //! of each 8 columns 2 (lane % 4) and the next one.
    __device__ __forceinline__ void put(int columns, int next, int re, int im) const
    {
        store_shared(
            d_memory + d_lane / 4 * row_bytes +
                (columns + d_lane % 4 * 2 + next) * product_bytes,
            { unsigned(re), unsigned(re >> 31), unsigned(im), unsigned(im >> 31) });
    }
    //! Adds what all lanes have put: rows of inputs from first_row on that there are, of
    //! so many columns from first_column on those up to the diagonal.
    //! \param sums [product][re, im]
    __device__ __forceinline__ void add_to(unsigned long long* sums,
                                           int inputs_in_all,
                                           int first_row,
                                           int first_column,
                                           int columns) const
    {
        fence_async();
        __syncwarp();
        const int a = first_row + d_lane;
        const int begin = max(first_column, 0), end = min(first_column + columns, a + 1);
        if (d_lane < inputs && a < inputs_in_all && begin < end) {
            add_bulk(sums + 2 * product_index(a, begin),
                     d_memory + d_lane * row_bytes +
                         (begin - first_column) * product_bytes,
                     (end - begin) * product_bytes);
            wait_for_stores();
        }
        __syncwarp();
    }

private:
    uint32_t d_memory;
    int d_lane;
};

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_ROWS_CUH */
