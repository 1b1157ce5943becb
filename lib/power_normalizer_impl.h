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

    //! The tags of some items.
    struct about_items {
        int items;                    //!< fewer than asked for where another band begins
        std::vector<uint8_t> present; //!< [item][beam]; empty: all are
    };
    about_items read_tags(int first, int items);
    void read(const gr::tag_t& tag, int item, about_items& about);
    void read_counted(const pmt::pmt_t& counts, int item, about_items& about);
    //! Publishes the counts, where there are new ones.
    void publish_counts();

    const kernels::power_normalizer::parameters d_k;
    const double d_sample_time;
    const std::unique_ptr<kernels::power_normalizer> d_kernel;

    std::optional<double> d_frequency; // rx_freq of the segment before
    uint64_t d_spectra = 0;            // spectra of an item, by its tag
    bool d_ended = false;
    periodic_call d_reminder;
    std::vector<uint64_t> d_published;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_POWER_NORMALIZER_IMPL_H */
