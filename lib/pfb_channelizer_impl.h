/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H
#define INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H

#include "control/kernel_settings.h"
#include "kernels/pfb/pfb.h"
#include "stream/clocked_block.h"
#include "stream/filter_windows.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <atomic>

namespace gr::aperture {

class pfb_channelizer_impl : public pfb_channelizer, public clocked_block
{
public:
    pfb_channelizer_impl(const parameters& p,
                         const kernels::pfb::parameters& k,
                         const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    void set_gain(std::complex<float> gain, int input) override;
    void set_gains(const std::vector<std::complex<float>>& gains, int input) override;
    std::vector<std::complex<float>> gains(int input) const override;
    std::vector<gain_setting> gain_settings(int input) const override;
    void set_delays(const std::vector<double>& delays,
                    const std::vector<double>& delay_rates,
                    const std::vector<double>& phases,
                    const std::vector<double>& phase_rates,
                    int input,
                    const std::optional<setting_time>& time,
                    const std::string& model) override;
    std::vector<delay_setting> delays(int input) const override;
    std::vector<uint64_t> clamped() const override;
    std::vector<uint64_t> clamped_samples() const override;
    std::vector<uint64_t> missing() const override;
    std::string implementation() const override;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override;
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_moved(int64_t ticks) override { d_settings.delays.shift(ticks); }
    int64_t items_to_keep() const override { return d_windows.room_for_delays(rate()); }
    void tag_spectra(uint64_t item, int64_t spectrum, const timeline::run& run);
    timestamp spectrum_time(int64_t spectrum) const;

    const kernels::pfb::parameters d_p;
    filter_windows d_windows;
    const std::unique_ptr<kernels::pfb> d_kernel;

    kernel_settings d_settings;

    bool d_described; // the first output item has its tags
    std::vector<std::atomic<uint64_t>> d_missing;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H */
