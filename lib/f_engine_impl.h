/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_IMPL_H
#define INCLUDED_APERTURE_F_ENGINE_IMPL_H

#include "control/kernel_settings.h"
#include "kernels/f_engine/f_engine.h"
#include "stream/filter_windows.h"
#include "stream/frame_writer.h"
#include <gnuradio/aperture/f_engine.h>

namespace gr::aperture {

class f_engine_impl : public f_engine, public frame_writer
{
public:
    f_engine_impl(const parameters& p,
                  const kernels::f_engine::parameters& k,
                  const device& d);

    bool start() override;

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
    void on_begin() override;
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_moved(int64_t ticks) override;
    int64_t items_to_keep() const override { return d_windows.room_for_delays(rate()); }
    spectra_facts facts() const override;
    int64_t prepare(int64_t spectrum) override;
    void write(const timeline::run& run,
               const std::vector<const char*>& starts,
               void* frame,
               int first,
               int count) override;

    const int d_ports;
    filter_windows d_windows;
    const std::unique_ptr<kernels::f_engine> d_kernel;
    kernel_settings d_settings;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_F_ENGINE_IMPL_H */
