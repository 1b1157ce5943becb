/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEDISPERSER_IMPL_H
#define INCLUDED_APERTURE_DEDISPERSER_IMPL_H

#include "kernels/dedispersion/dedisperser.h"
#include "stream/clocked_block.h"
#include "stream/intervals.h"
#include "stream/tick_states.h"
#include <gnuradio/aperture/dedisperser.h>

namespace gr::aperture {

/*!
 * A window is the input that one time of the output needs: that time and the longest
 * delay behind it. An item takes as many windows in a row as it has times.
 */
class dedisperser_impl : public dedisperser, public clocked_block
{
public:
    dedisperser_impl(const kernels::dedisperser::parameters& k,
                     std::unique_ptr<kernels::dedisperser> kernel,
                     double latency,
                     const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::string implementation() const override { return d_kernel->implementation(); }
    int64_t longest_delay() const override { return d_kernel->longest_delay(); }
    int trials() const override { return d_p.trials.trials(); }
    std::vector<int64_t> delays() const override { return d_kernel->delays(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override { d_begins = true; }
    void on_moved(int64_t ticks) override
    {
        d_lost.shift(ticks);
        d_states.shift(ticks);
    }
    void on_tag(int port, const gr::tag_t& tag) override;

    //! Returns whether the input's tags agree with the parameters; fails if not.
    bool agrees();
    //! Adds to d_lost the times, of some that are used now, of which nothing was counted.
    void note_lost(int64_t first, int64_t end);
    //! \param first,end times of the output
    void tag_item(uint64_t item, int64_t first, int64_t end);

    const kernels::dedisperser::parameters d_p;
    const std::unique_ptr<kernels::dedisperser> d_kernel;
    bool d_begins = false; // the next item of the output needs tags
    tick_states d_states;
    intervals d_lost; // times of the input that all beams lack
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEDISPERSER_IMPL_H */
