/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_UPCHANNELISER_IMPL_H
#define INCLUDED_APERTURE_UPCHANNELISER_IMPL_H

#include "control/filter_windows.h"
#include "kernels/pfb/pfb.h"
#include "stream/clocked_block.h"
#include "stream/intervals.h"
#include <gnuradio/aperture/upchanneliser.h>
#include <atomic>
#include <memory>

namespace gr::aperture {

/*!
 * To the filter bank's kernel each channel of an input is an input by itself, whose
 * samples lie interleaved with those of the others.
 */
class upchanneliser_impl : public upchanneliser, public clocked_block
{
public:
    //! \param gains [fine]
    upchanneliser_impl(const parameters& p,
                       const kernels::pfb::parameters& k,
                       const std::vector<float>& gains,
                       const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::vector<float> gains() const override { return d_gains; }
    std::vector<uint64_t> clamped() const override;
    std::vector<uint64_t> clamped_samples() const override;
    std::vector<uint64_t> missing() const override;
    std::string implementation() const override { return d_kernel->implementation(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;
    void on_begin() override;
    void on_moved(int64_t ticks) override;
    void on_tag(int port, const gr::tag_t& tag) override;
    void tag_spectra(uint64_t item);
    //! Returns, for each input, the spectra of a run that are not to be used.
    std::vector<intervals> lost_spectra(const timeline::run& run);
    //! Adds spectra with samples that are NaN or infinite, which the kernel has found.
    void add_not_numbers(std::vector<intervals>& lost);
    //! Sets lost spectra of an input in its port's output to zero.
    void clear(int input, const intervals::interval& lost, void* spectra);
    //! Returns the bandwidth of all channels, Hz; 0: it is not known.
    double bandwidth() const;
    //! Sums the counts of the kernel over the channels of each input.
    std::vector<uint64_t> of_inputs(const std::vector<uint64_t>& counts) const;

    const int d_channels, d_fine, d_inputs_per_port;
    const std::pair<int64_t, int64_t> d_oversampling; // P, Q
    const kernels::pfb::parameters d_k;
    const std::vector<float> d_gains;
    filter_windows d_windows;
    const std::unique_ptr<kernels::pfb> d_kernel;
    std::vector<kernels::spectrum_of_input> d_not_numbers;
    std::vector<intervals> d_lost; // ticks that each input lacks
    bool d_described = false;      // the first output item has its tags
    std::vector<std::atomic<uint64_t>> d_missing;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_UPCHANNELISER_IMPL_H */
