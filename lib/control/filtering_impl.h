/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_FILTERING_IMPL_H
#define INCLUDED_APERTURE_CONTROL_FILTERING_IMPL_H

#include "control/delay_settings.h"
#include "control/filter_windows.h"
#include "control/gain_settings.h"
#include "control/settings_ahead.h"
#include "stream/periodic_call.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * Base of pfb_channelizer and f_engine: it has the windows of samples under the filter,
 * and gives gains and delays of the inputs to the kernel. `Interface` is the public
 * class, `Base` the clocked_block that it is otherwise, `Kernel` a filter bank.
 */
template <class Interface, class Base, class Kernel>
class filtering_impl : public Interface, public Base
{
public:
    bool start() override
    {
        d_windows.reset();
        d_gains.start();
        d_delays.start();
        d_ahead.start(*this, this->d_logger);
        d_spectra = d_late = 0;
        if (!Base::start())
            return false;
        // in a thread of its own, as a GPU's counts are waited for
        d_counting.start(std::chrono::seconds(1), [this] { publish_counts(); });
        return true;
    }
    bool stop() override
    {
        d_counting.stop();
        d_ahead.stop();
        return Base::stop();
    }
    void forecast(int, gr_vector_int& required) override
    {
        d_ahead.wait();
        this->require_window(required);
    }

    void set_gain(std::complex<float> gain, int input) override
    {
        d_gains.set(gain, input);
    }
    void set_gains(const std::vector<std::complex<float>>& gains, int input) override
    {
        d_gains.set(gains, input);
    }
    std::vector<std::complex<float>> gains(int input) const override
    {
        return d_gains.of(input);
    }
    std::vector<gain_setting> gain_settings(int input) const override
    {
        return d_gains.settings(input);
    }
    void set_delays(const std::vector<double>& delays,
                    const std::vector<double>& delay_rates,
                    const std::vector<double>& phases,
                    const std::vector<double>& phase_rates,
                    int input,
                    const std::optional<setting_time>& time,
                    const std::string& model) override
    {
        d_delays.set({ model, input, timestamp_of(time) },
                     delays,
                     delay_rates,
                     phases,
                     phase_rates);
    }
    std::vector<delay_setting> delays(int input) const override
    {
        return d_delays.settings(input);
    }
    std::vector<uint64_t> clamped() const override { return d_kernel->clamped().output; }
    std::vector<uint64_t> clamped_samples() const override
    {
        return d_kernel->clamped().samples;
    }
    uint64_t late_settings() const override { return d_late; }
    std::string implementation() const override { return d_kernel->implementation(); }

protected:
    /*!
     * \param p parameters of the block
     * \param k parameters of the filter bank
     * \param base arguments of the Base's constructor
     */
    template <class... Arguments>
    filtering_impl(std::unique_ptr<Kernel> kernel,
                   const pfb_channelizer::parameters& p,
                   const kernels::pfb::parameters& k,
                   const device& d,
                   Arguments&&... base)
        : Base(std::forward<Arguments>(base)...),
          d_ports(k.ports),
          d_inputs_per_port(k.inputs_per_port),
          d_channels(k.channels),
          d_windows(k, p.most_delay, d),
          d_kernel(std::move(kernel)),
          d_gains(k.inputs(), k.channels, p.gain == 0 ? 1 : p.gain),
          d_delays(d_windows.extents())
    {
        this->set_latency(p.latency);
        this->set_most_gap(p.most_gap);
        this->set_relative_time(p.relative_time);
        this->set_follow_clock(p.follow_clock);
        this->take_filled_samples();
        this->set_history(d_windows.history());
        // the rate of spectra, not of frames: the buffer before this block need not hold
        // a whole frame
        this->set_relative_rate(1, d_windows.hop());

        if (const auto warning = warning_of_aliases(k); !warning.empty())
            this->d_logger->warn(warning);
        if (k.input == sample_type::fc32 || k.input == sample_type::f32)
            d_kernel->clear_not_numbers(&d_not_numbers);
        this->take_settings("gains", [this](const pmt::pmt_t& m) { d_gains.receive(m); });
        this->take_settings("delays",
                            [this](const pmt::pmt_t& m) { d_delays.receive(m); });
    }

    /*!
     * Gives the kernel the settings for a spectrum, and sets the reach of its windows.
     * \param left spectra of the present frame that are still to come; 0: it begins, or
     * there are none
     * \returns for how many spectra from this one on that holds
     */
    int64_t update_settings(int64_t spectrum, int64_t left = 0)
    {
        d_spectra = spectrum;
        const double rate = this->rate();
        const timestamp origin = this->origin();
        const item_clock clock{ rate > 0 ? origin.after(d_windows.middle(), rate)
                                         : origin,
                                rate / d_windows.hop() };
        const auto late = [&](int64_t spectra) {
            d_late++;
            this->report("late", 0, spectrum, spectra);
        };
        const auto tell = [&](const pmt::pmt_t& setting) {
            this->announce(this->position(), setting);
        };
        const int64_t same_gains = d_gains.update(
            spectrum,
            clock,
            late,
            [&](const cfloat* values) {
                d_kernel->set_gains(values, this->work_stream());
            },
            tell);
        const int64_t same_delays = d_delays.update(
            spectrum,
            clock,
            d_windows.samples_of(items_to_keep()),
            left,
            { late,
              [&](const std::string& reason) { this->refuse(reason); },
              [&](const delay_settings::change& now) {
                  d_kernel->set_delays(now.any ? now.delays.data() : nullptr,
                                       this->work_stream());
                  for (int port = 0; port < d_ports; port++)
                      this->set_reach(port, d_windows.reach_of(port, now));
              },
              tell });
        return std::min(same_gains, same_delays);
    }

    void on_begin() override
    {
        Base::on_begin();
        d_delays.begin();
    }
    void on_moved(int64_t ticks) override
    {
        Base::on_moved(ticks);
        d_delays.shift(ticks);
    }
    void on_tag(int port, const gr::tag_t& tag) override
    {
        try {
            d_delays.read_tag(port,
                              this->tick_of(port, tag.offset),
                              pmt::symbol_to_string(tag.key),
                              tag.value);
        } catch (const std::invalid_argument& e) {
            this->refuse(e.what());
        }
    }
    int64_t items_to_keep() const override
    {
        return d_windows.room_for_delays(this->rate());
    }

    /*!
     * Marks the spectra of the last execute() that the kernel cleared, since their
     * samples are NaN or infinite. `see` gets (input, first spectrum, spectra) of each
     * run, counted from the first one of the call.
     */
    void take_not_numbers(const std::function<void(int, int64_t, int64_t)>& see)
    {
        kernels::take_runs(d_not_numbers, [&](int input, int64_t first, int64_t count) {
            this->report("not_numbers",
                         input / d_inputs_per_port,
                         int64_t(d_spectra) + first,
                         count);
            see(input, first, count);
        });
    }

    //! Is called once a second, after publish_counts(), in a thread of its own.
    virtual void publish_more() {}

    const int d_ports, d_inputs_per_port, d_channels;
    filter_windows d_windows;
    const std::unique_ptr<Kernel> d_kernel;

private:
    //! Publishes counts of each input, for displays, on port `status`.
    void publish_counts()
    {
        pmt::pmt_t dict = pmt::make_dict();
        const auto add = [&dict](const char* key, const pmt::pmt_t& value) {
            dict = pmt::dict_add(dict, pmt::intern(key), value);
        };
        const auto vector = [](const std::vector<uint64_t>& counts) {
            return pmt::init_u64vector(counts.size(), counts);
        };
        const auto counts = d_kernel->clamped();
        add(tags::event, pmt::mp("counts"));
        add(tags::spectra, pmt::from_uint64(d_spectra));
        add("channels", pmt::from_long(d_channels));
        add("clamped", vector(counts.output));
        add("clamped_samples", vector(counts.samples));
        add(tags::missing, vector(this->missing()));
        this->message_port_pub(pmt::mp("status"), dict);
        publish_more();
    }

    gr::aperture::gain_settings d_gains;
    delay_settings d_delays;
    settings_ahead d_ahead{ "delays" };
    std::atomic<uint64_t> d_late{ 0 };    // settings that came late
    std::atomic<uint64_t> d_spectra{ 0 }; // spectra that have been made
    std::vector<kernels::spectrum_of_input>
        d_not_numbers; // spectra of the newest call with NaN
    periodic_call d_counting;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_FILTERING_IMPL_H */
