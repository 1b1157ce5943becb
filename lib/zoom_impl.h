/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ZOOM_IMPL_H
#define INCLUDED_APERTURE_ZOOM_IMPL_H

#include "kernels/zoom/zoom.h"
#include "stream/clocked_block.h"
#include "stream/delay_tags.h"
#include <gnuradio/aperture/zoom.h>
#include <atomic>

namespace gr::aperture {

class zoom_impl : public zoom, public clocked_block
{
public:
    zoom_impl(const parameters& p,
              const kernels::zoom::parameters& k,
              const kernels::zoom_filter& filter,
              const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::vector<std::pair<int, int>> stages() const override;
    int64_t length() const override { return d_p.span(1); }
    double ripple() const override { return d_ripple; }
    double attenuation() const override { return d_attenuation; }
    std::vector<uint64_t> clamped() const override { return d_kernel->clamped().output; }
    std::vector<uint64_t> clamped_samples() const override
    {
        return d_kernel->clamped().samples;
    }
    std::vector<uint64_t> missing() const override;
    std::string implementation() const override { return d_kernel->implementation(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override;
    void on_moved(int64_t ticks) override;
    void on_tag(int port, const gr::tag_t& tag) override;

    //! Sets the oscillator by the rate. \returns false, and fails, where that is not
    //! known or the passband is not within the band
    bool tune();
    //! Returns the sources of a run, and notes where they end.
    std::vector<kernels::zoom::source> sources(const timeline::run& run,
                                               const std::vector<const char*>& starts);
    void tag_samples(uint64_t item, const timeline::run& run);
    void tag_delays(uint64_t item, int64_t samples);
    timestamp time_of_sample(int64_t sample) const;
    //! Returns the number of the next output sample.
    int64_t next_sample() const { return position() / d_hop; }

    const kernels::zoom::parameters d_p;
    const double d_frequency, d_passband, d_ripple, d_attenuation;
    const bool d_inverted;
    const int d_samples; // samples of each input in an item
    const int64_t d_hop; // items from one output sample to the next
    const std::unique_ptr<kernels::zoom> d_kernel;

    //! The items of a port that were read last.
    struct read_items {
        int64_t counted = 0;  // item up to which -128 was counted
        int64_t next = -1;    // first item of the next window, if it follows
        int64_t position = 0; // tick of that
    };
    std::vector<read_items> d_read;
    delay_tags d_delays;
    bool d_described = false; // the first output item has its tags
    bool d_tuned = false;     // the oscillator is set
    int64_t d_origin = 0;     // output sample at whose first sample phases begin
    std::vector<kernels::spectrum_of_input> d_not_numbers; // in the newest call
    std::vector<std::atomic<uint64_t>> d_missing;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ZOOM_IMPL_H */
