/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "f_engine_impl.h"
#include <algorithm>
#include <limits>

namespace gr::aperture {

namespace {

kernels::f_engine::parameters kernel_parameters(const f_engine::parameters& p)
{
    require_align(p.align);
    kernels::f_engine::parameters k;
    k.filter = filter_parameters(p);
    k.spectra_per_frame = p.spectra_per_frame;
    k.first_channel = p.first_channel;
    k.selected_channels =
        p.selected_channels == 0 ? p.channels - p.first_channel : p.selected_channels;
    k.check();
    return k;
}

std::optional<kernels::flagging::parameters>
flagging_of(const f_engine::parameters& p, const kernels::f_engine::parameters& k)
{
    if (p.spectra_per_slice == 0)
        return std::nullopt;
    return interference_flags::kernel_parameters(p,
                                                 p.spectra_per_slice,
                                                 k.selected_channels,
                                                 k.inputs(),
                                                 k.spectra_per_frame,
                                                 k.filter.output);
}

std::vector<int>
output_sizes(const kernels::f_engine::parameters& k,
             const std::optional<kernels::flagging::parameters>& flagging)
{
    std::vector<int> sizes{ frame_item_size(
        k.selected_channels, k.inputs(), k.spectra_per_frame, k.filter.output) };
    if (flagging)
        sizes.push_back(int(flagging->layout.item_bytes()));
    return sizes;
}

//! Returns how many frames are flagged while they are still in a GPU's cache.
int frames_in_cache(const std::optional<kernels::flagging::parameters>& flagging)
{
    constexpr size_t cache = 16 << 20;
    if (!flagging)
        return std::numeric_limits<int>::max();
    return int(std::max<size_t>(1, cache / flagging->frame_bytes()));
}

} // namespace

f_engine::sptr f_engine::make(const parameters& p)
{
    check_parameters<f_engine>(p);
    const auto k = kernel_parameters(p);
    return gnuradio::make_block_sptr<f_engine_impl>(
        p, k, flagging_of(p, k), device::select(p.device));
}

f_engine_impl::f_engine_impl(const parameters& p,
                             const kernels::f_engine::parameters& k,
                             const std::optional<kernels::flagging::parameters>& flagging,
                             const device& d)
    : gr::block("f_engine",
                signature_on(d, k.filter.ports, sample_item_size(k.filter)),
                signature_on(d, output_sizes(k, flagging))),
      filtering_impl(kernels::f_engine::make(k, d),
                     p,
                     k.filter,
                     d,
                     d,
                     k.transposition(),
                     filter_windows(k.filter, p.most_delay, d).length(),
                     filter_windows(k.filter, p.most_delay, d).hop(),
                     p.align),
      d_not_flagged(p),
      d_frames_at_once(frames_in_cache(flagging))
{
    if (!flagging)
        return;
    d_flags.emplace(p, *flagging, d);
    if (!d_kernel->prepare_sums(p.spectra_per_slice))
        return;
    const int most = d_flags->prepare_sums(p.channels, p.first_channel);
    d_sums = most > 0;
    if (d_sums) {
        d_frames_at_once = most;
        d_spectra_together = kernels::cell_sums::spectra_together;
    }
}

std::string f_engine_impl::implementation() const
{
    return d_kernel->implementation() +
           (d_flags ? ", flagged: " + d_flags->implementation() : "") +
           (d_sums ? " by sums of the filter bank" : "");
}

void f_engine_impl::set_flagging(const flagging_parameters& p)
{
    if (d_flags)
        return d_flags->set(p);
    require(p.spectra_per_slice == 0,
            "spectra_per_slice",
            std::to_string(p.spectra_per_slice),
            "0, as before: nothing is flagged");
    std::lock_guard<std::mutex> guard(d_mutex);
    d_not_flagged = p;
}

flagging_parameters f_engine_impl::flagging() const
{
    if (d_flags)
        return d_flags->settings();
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_not_flagged;
}

std::vector<uint64_t> f_engine_impl::cells() const
{
    return d_flags ? d_flags->cells() : std::vector<uint64_t>();
}

std::vector<uint64_t> f_engine_impl::flagged_of_inputs() const
{
    return d_flags ? d_flags->found().inputs : std::vector<uint64_t>();
}

std::vector<uint64_t> f_engine_impl::flagged_of_channels() const
{
    return d_flags ? d_flags->found().channels : std::vector<uint64_t>();
}

void f_engine_impl::before_first_call()
{
    if (d_flags)
        d_flags->begin(work_stream());
}

void f_engine_impl::publish_more()
{
    if (d_flags)
        message_port_pub(pmt::mp("status"), d_flags->status());
}

void f_engine_impl::finish(void* frames,
                           void* masks,
                           int count,
                           int64_t first,
                           const std::vector<intervals>& lost)
{
    if (d_flags)
        d_flags->execute(frames,
                         frames,
                         static_cast<uint8_t*>(masks),
                         count,
                         first,
                         lost,
                         work_stream());
}

frame_writer::spectra_facts f_engine_impl::facts() const
{
    return { d_windows.middle(),
             rate() / d_windows.hop(),
             d_windows.bandwidth(rate()),
             d_windows.samples(),
             d_windows.frequency_shift(rate()),
             d_windows.oversampled() ? std::optional<int64_t>(0) : std::nullopt };
}

void f_engine_impl::write(const timeline::run& run,
                          const std::vector<const char*>& starts,
                          void* block,
                          int first,
                          int count)
{
    const auto sources = d_windows.sources(run, starts);
    const int64_t spectrum = position() / d_windows.hop();
    d_kernel->set_position(spectrum, work_stream());
    if (!d_sums) {
        d_kernel->execute(sources.data(), block, first, count, work_stream());
        take_not_numbers([&](int input, int64_t at, int64_t spectra) {
            miss(input, spectrum + at, spectrum + at + spectra);
        });
        return;
    }
    const bool summed = d_kernel->execute_and_sum(
        sources.data(), block, first, count, d_flags->sums(), work_stream());
    d_flags->note_times(first, count, summed);
}

} // namespace gr::aperture
