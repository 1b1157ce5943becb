/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PULSE_SEARCH_IMPL_H
#define INCLUDED_APERTURE_PULSE_SEARCH_IMPL_H

#include "kernels/dedispersion/dispersion.h"
#include "kernels/pulses/clusters.h"
#include "kernels/pulses/pulse_search.h"
#include "stream/clocked_block.h"
#include <gnuradio/aperture/pulse_search.h>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

namespace gr::aperture {

class pulse_search_impl : public pulse_search, public clocked_block
{
public:
    using parameters = pulse_search::parameters;

    static kernels::pulse_search::parameters kernel_parameters(const parameters& p);
    static kernels::clusters::parameters cluster_parameters(const parameters& p);

    pulse_search_impl(const parameters& p, const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::string implementation() const override { return d_kernel->implementation(); }
    std::vector<int> widths() const override;
    std::vector<uint64_t> cells() const override;
    uint64_t left_out() const override { return d_left_out; }
    uint64_t candidates() const override { return d_sent; }
    uint64_t rejected() const override { return d_rejected; }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;
    void on_begin() override;
    void on_tuned(int port, int64_t item) override;
    // the last one stays, or GNU Radio would not call a block without outputs at the end
    int64_t items_to_keep() const override { return 1; }

    //! Returns the duration of an item, in seconds.
    double item_time() const { return d_p.times_per_item * d_p.sample_time; }
    //! Ends the stretch: no boxcar reaches across this time.
    void break_off();
    //! Takes the cells that the kernel found. \param all waits for all work so far
    void collect(bool all);
    void take(const kernels::pulse_search::result& found, int64_t tick);
    void send(const std::vector<kernels::clusters::candidate>& found);
    //! Returns the reason to reject a candidate, or nullptr.
    const char* fault_of(const kernels::clusters::candidate& c) const;
    //! Returns the beams that count for most_beams.
    int beams_of(const kernels::clusters::candidate& c) const;
    //! Converts seconds from tick 0 to UTC.
    timestamp time_at(double seconds) const;
    pmt::pmt_t message_of(const kernels::clusters::candidate& c) const;
    void tell_counts();

    const parameters d_p;
    const kernels::pulse_search::parameters d_search;
    const kernels::dispersed_band d_band;
    const std::vector<kernels::boxcar> d_boxcars;
    const std::unique_ptr<kernels::pulse_search> d_kernel;
    kernels::clusters d_clusters;
    double d_delay = 0; // longest time, in seconds, by which results of the kernel are
                        // behind its input
    std::deque<int64_t> d_given; // ticks of items whose results are to come
    bool d_unfinished = false;   // items have come since the last break
    std::atomic<uint64_t> d_left_out{ 0 }, d_sent{ 0 }, d_rejected{ 0 };
    mutable std::mutex d_mutex; // guards d_above
    std::vector<uint64_t> d_above;
    std::chrono::steady_clock::time_point d_told;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PULSE_SEARCH_IMPL_H */
