/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_REPLAY_IMPL_H
#define INCLUDED_APERTURE_REPLAY_IMPL_H

#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/replay.h>
#include <atomic>

namespace gr::aperture {

class replay_impl : public replay, public device_block
{
public:
    replay_impl(parameters&& p, const device& d);

    bool start() override;
    bool stop() override;

    void finish() override { d_finish = true; }
    int64_t period() const override { return d_p.repeats == 1 ? 0 : d_length; }

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void before_first_call() override;
    void add_first_tags();

    const int64_t d_length; // items of the data
    const int64_t d_total;  // items until the end
    const parameters d_p;   // parameters with data repeated until copies of it are long
    memory d_uploaded;      // the data in memory of the device
    int64_t d_sent = 0;     // items that were sent
    std::atomic<bool> d_finish{ false };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_REPLAY_IMPL_H */
