/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_XENGINE_H

#include "kernels/gpu/gpu_facts.h"
#include "kernels/xengine/xengine.h"
#include <cuda_runtime.h>
#include <memory>

namespace gr::aperture::kernels::cuda {

//! Adds the products of sc8 or sc4 voltages to sums [channel][product][re, im] on a GPU.
class integer_xengine
{
public:
    virtual ~integer_xengine() = default;
    //! Adds the products of voltages [frame][channel][input][time] to sums of 64 bits.
    virtual void accumulate(const void* voltages,
                            int frames,
                            unsigned long long* sums,
                            cudaStream_t) = 0;
};

/*!
 * The longest exact sum of a thread block: int32 sums of products of two 8-bit complex
 * integers within +-127 are exact for (2^31 - 1) / (2 127^2) = 66572 times, those of two
 * 4-bit ones times 16 within +-7 for (2^31 - 1) / (2 112^2) = 85598, those of two
 * integers up to 15 without a sign, times 16, for (2^32 - 1) / 240^2 = 74565.
 */
constexpr int exact_times = 65536;

//! Returns the same limit in bytes of an input.
inline int exact_bytes(const xengine::parameters& p)
{
    return exact_times * int(size_of(p.type));
}

/*!
 * Returns into how many parts of time work is split (split-K), so that no part is longer
 * than `longest`, and that `slots` thread blocks at a time are busy to the end.
 * \param work_tiles thread blocks without a split
 * \param length of each, in steps
 * \param overhead steps that take about as long as to start a thread block
 */
inline int choose_splits(
    int64_t work_tiles, int64_t length, int64_t longest, int slots, int overhead)
{
    const int64_t least = (length + longest - 1) / longest;
    int64_t best = least;
    double best_cost = 1e300;
    for (int64_t splits = least; splits <= least + 1024 && splits <= length; splits++) {
        const int64_t waves = (work_tiles * splits + slots - 1) / slots;
        const double cost = waves * (double((length + splits - 1) / splits) + overhead);
        if (cost < 0.99 * best_cost) { // a finer split must be worth its additions
            best_cost = cost;
            best = splits;
        }
    }
    return int(best);
}

//! Makes "mma s8": mma.sync on tiles of 64 x 64 inputs; from Ampere on, any number of
//! inputs.
std::unique_ptr<integer_xengine> make_mma_xengine(const xengine::parameters&, gpu_facts);
//! Makes "turing mma s8": the same with the instructions that Turing has.
std::unique_ptr<integer_xengine> make_turing_xengine(const xengine::parameters&,
                                                     gpu_facts);
//! Makes "row mma s8": mma.sync on parts of rows that are copied in bulk; Hopper, up to
//! 16 inputs.
std::unique_ptr<integer_xengine> make_row_mma_xengine(const xengine::parameters&,
                                                      gpu_facts);
//! Makes "bulk mma s8": mma.sync on boxes that are copied by tensor maps; Hopper, 17 to
//! 64 inputs, and 16 of sc4.
std::unique_ptr<integer_xengine> make_bulk_mma_xengine(const xengine::parameters&,
                                                       gpu_facts);
//! Makes "wgmma s8" for sc8: warp-group matrix instructions on boxes that are copied by
//! tensor maps; Hopper.
std::unique_ptr<integer_xengine> make_wgmma_sc8_xengine(const xengine::parameters&,
                                                        gpu_facts);
//! Makes "wgmma u8" for sc4: the same, with three products of integers for a complex one.
std::unique_ptr<integer_xengine> make_wgmma_sc4_xengine(const xengine::parameters&,
                                                        gpu_facts);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_XENGINE_H */
