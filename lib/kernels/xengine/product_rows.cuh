/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_PRODUCT_ROWS_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_PRODUCT_ROWS_CUH

#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/xengine/integer_tile.cuh"

namespace gr::aperture::kernels::cuda {

/*!
 * Epilogue of a warp that adds products to the sums of their channel: it puts products,
 * of 8 inputs a with some inputs b, into shared memory in rows as they lie in memory, and
 * the copy engine adds these rows to memory. (Threads would wait for the sums that they
 * read.) While the copy engine adds some rows the warp puts the next ones. All lanes call
 * put() and ready(), each adds its rows, and all call next(); at the end all call
 * finish(). A lane puts products as wgmma() leaves them: of row lane / 4, and of each 8
 * columns 2 (lane % 4) and the next one.
 */
class product_rows
{
public:
    static constexpr int inputs = 8;
    static constexpr int most_columns = 64;

private:
    static constexpr int product_bytes = 16; // re, im
    // A multiple of 128, and 16: what lanes write at once lies in different banks.
    static constexpr int row_bytes = most_columns * product_bytes + 16;
    static constexpr int rows_bytes = inputs * row_bytes;

public:
    static constexpr int bytes = 2 * rows_bytes;

    //! \param memory shared memory of this warp alone
    __device__ explicit product_rows(uint32_t memory)
        : d_memory(memory), d_lane(threadIdx.x % 32)
    {
    }
    //! \param columns the first of 8
    __device__ __forceinline__ void put(int columns, int next, int re, int im) const
    {
        const int place =
            d_lane / 4 * row_bytes + (columns + d_lane % 4 * 2 + next) * product_bytes;
        store_shared(
            d_memory + d_rows + place,
            { unsigned(re), unsigned(re >> 31), unsigned(im), unsigned(im >> 31) });
    }
    __device__ __forceinline__ void ready() const
    {
        fence_async();
        __syncwarp();
    }
    //! Adds the rows of those inputs from first_row on that exist: of `count` columns
    //! from `place` on, those up to the diagonal.
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
                     d_memory + d_rows + d_lane * row_bytes +
                         (place + begin - first_column) * product_bytes,
                     (end - begin) * product_bytes);
    }
    __device__ __forceinline__ void next()
    {
        commit_stores();
        d_rows = rows_bytes - d_rows;
        wait_for_stores<1>(); // the rows before those that are just being added have left
        __syncwarp();
    }
    __device__ __forceinline__ void finish() const { wait_for_stores(); }

private:
    uint32_t d_memory;
    int d_lane;
    int d_rows = 0;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_PRODUCT_ROWS_CUH */
