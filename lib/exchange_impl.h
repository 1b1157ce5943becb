/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_EXCHANGE_IMPL_H
#define INCLUDED_APERTURE_EXCHANGE_IMPL_H

#include "kernels/exchange/exchange.h"
#include "stream/clocked_block.h"
#include "stream/intervals.h"
#include <gnuradio/aperture/exchange.h>
#include <set>

namespace gr::aperture {

class exchange_impl : public exchange, public clocked_block
{
public:
    exchange_impl(const parameters& p,
                  const kernels::exchange::parameters& k,
                  const std::vector<device>& inputs,
                  const std::vector<device>& outputs);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    std::string implementation() const override { return d_kernel->implementation(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override { d_begins = true; }
    int64_t spectra_of_item() const override { return d_spectra; }
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_moved(int64_t ticks) override;
    std::vector<pmt::pmt_t> settings_behind(int port, const pmt::pmt_t& setting) override;
    //! Fails if the frames of two ports begin at different times.
    bool begin_together();
    void tag_frame(uint64_t item, int64_t frame);

    const kernels::exchange::parameters d_p;
    const int64_t d_spectra; // spectra of a frame
    const bool d_masks;
    const std::unique_ptr<kernels::exchange> d_kernel;
    std::vector<stream*> d_streams; // one of each of the kernel's devices

    bool d_begins = false;           // the next frame needs tags
    std::vector<intervals> d_lost;   // lost spectra of each input
    std::set<int64_t> d_partial;     // frames within which an input ended
    std::vector<gr::tag_t> d_others; // tags that are passed on; offsets are ticks
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_EXCHANGE_IMPL_H */
