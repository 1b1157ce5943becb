/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CORNER_TURN_IMPL_H
#define INCLUDED_APERTURE_CORNER_TURN_IMPL_H

#include "clocked_block.h"
#include "intervals.h"
#include "kernels/corner_turn.h"
#include <gnuradio/aperture/corner_turn.h>
#include <atomic>

namespace gr {
namespace aperture {

class corner_turn_impl : public corner_turn, public clocked_block
{
public:
    corner_turn_impl(const parameters& p,
                     const kernels::corner_turn::parameters& k,
                     const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::vector<uint64_t> clamped() const override;
    std::vector<uint64_t> missing() const override;
    std::string implementation() const override;
    std::string error() const override { return failure(); }

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void on_begin() override;
    void on_tag(int port, const gr::tag_t& tag) override;
    //! Marks the spectra of all inputs of a port as missing.
    void miss(int port, int64_t first, int64_t end);
    //! Fills the rest of a block with zeros; returns how many spectra that are.
    int pad(void* block);
    //! \param padding spectra at the end that are none
    void tag_block(uint64_t item, int padding);

    const kernels::corner_turn::parameters d_p;
    const double d_align;
    const std::unique_ptr<kernels::corner_turn> d_kernel;

    int64_t d_origin;              // tick of the first spectrum of the first block
    int d_filled;                  // spectra of the block that is being filled
    std::vector<intervals> d_lost; // of each input, in ticks
    std::vector<std::atomic<uint64_t>> d_missing;
};

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_CORNER_TURN_IMPL_H */
