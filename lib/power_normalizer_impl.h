/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_POWER_NORMALIZER_IMPL_H
#define INCLUDED_APERTURE_POWER_NORMALIZER_IMPL_H

#include "kernels/conditioning/power_normalizer.h"
#include "stream/periodic_call.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/power_normalizer.h>
#include <gnuradio/aperture/stream_states.h>
#include <gnuradio/tags.h>
#include <optional>

namespace gr::aperture {

class power_normalizer_impl : public power_normalizer, public device_block
{
public:
    static kernels::power_normalizer::parameters kernel_parameters(const parameters& p);

    power_normalizer_impl(const kernels::power_normalizer::parameters& k,
                          const parameters& p,
                          const device& d);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    std::string implementation() const override { return d_kernel->implementation(); }
    int segment() const override { return d_k.segment; }
    std::map<std::string, std::vector<uint64_t>> counts() const override;

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void before_first_call() override;

    //! The facts about some items that their tags say.
    struct about_items {
        int items;                    //!< fewer than asked for where another band begins
        std::vector<uint8_t> present; //!< [item][beam]; empty: all are
    };
    about_items read_tags(int first, int items);
    //! Compares rx_rate with the parameters. Returns false, and fails, if it is another.
    bool agrees(const stream_states::values& states);
    //! Notes which beams lack some items in a row, by `counted` of these.
    void read_counted(const stream_states::run& run, uint64_t begin, about_items& about);
    //! Publishes the counts, where there are new ones.
    void publish_counts();

    const kernels::power_normalizer::parameters d_k;
    const double d_sample_time;
    const std::unique_ptr<kernels::power_normalizer> d_kernel;

    std::optional<double> d_frequency; // rx_freq of the segment before
    uint64_t d_spectra = 0;            // most spectra of an item
    stream_states d_states;
    bool d_ended = false;
    periodic_call d_reminder;
    std::vector<uint64_t> d_published;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_POWER_NORMALIZER_IMPL_H */
