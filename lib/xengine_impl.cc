/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/number_text.h"
#include "xengine_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

//! \returns whether the length is in seconds
bool parse_integration(double length, const std::string& unit)
{
    require(unit == "frames" || unit == "seconds",
            "integration_unit",
            "'" + unit + "'",
            "frames or seconds");
    const bool seconds = unit == "seconds";
    require(std::isfinite(length) && length > 0 && length <= 1e9 &&
                (seconds || length == std::floor(length)),
            "integration",
            text_of(length) + " " + unit,
            seconds ? "above 0 and at most 1e9 seconds"
                    : "a whole number of frames, 1 to 1e9");
    return seconds;
}

} // namespace

xengine::sptr xengine::make(const parameters& p)
{
    kernels::xengine::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.spectra_per_frame = p.spectra_per_frame;
    k.type = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.check();
    return gnuradio::make_block_sptr<xengine_impl>(p, k, device::select(p.device));
}

xengine_impl::xengine_impl(const parameters& p,
                           const kernels::xengine::parameters& k,
                           const device& d)
    : gr::block(
          "xengine",
          signature_on(
              d, 1, frame_item_size(k.channels, k.inputs, k.spectra_per_frame, k.type)),
          signature_on(
              d,
              1,
              item_size("visibilities",
                        { { "channels", k.channels }, { "products", k.products() } },
                        sizeof(gr_complex)))),
      frame_reader(d, k.inputs, k.spectra_per_frame),
      d_p(k),
      d_kernel(kernels::xengine::make(k, d)),
      d_length(p.integration),
      d_in_seconds(parse_integration(p.integration, p.integration_unit)),
      d_normalise(p.normalise),
      d_frames(d_in_seconds ? 0 : int(p.integration)),
      d_summed(0),
      d_described(0)
{
    set_latency(p.latency);
}

bool xengine_impl::start()
{
    d_summed = 0;
    d_described = 0;
    return frame_reader::start();
}

void xengine_impl::before_first_call() { d_kernel->clear(work_stream()); }

bool xengine_impl::begin_integration()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (!d_in_seconds) {
        d_frames = int(d_length);
        return true;
    }
    if (rate() <= 0)
        return fail("integration: " + text_of(d_length) +
                    " seconds need the tag rx_rate on the first frame");
    d_frames = int(std::llround(
        std::clamp(d_length * rate(), 1., double(std::numeric_limits<int>::max()))));
    return true;
}

clocked_block::progress xengine_impl::make(int done,
                                           int,
                                           const gr_vector_const_void_star& input_items,
                                           const gr_vector_void_star& output_items)
{
    if (d_summed == 0 && !begin_integration())
        return {};
    const auto run = next_run(d_frames - d_summed);
    if (run.windows == 0 && (d_summed == 0 || !(ended() || interrupted())))
        return {};
    const char* start = starts_of(run, input_items)[0];
    if (start && run.windows > 0)
        d_kernel->accumulate(start, run.windows, work_stream());
    else
        lose(run.windows);
    advance(run.windows);
    d_summed += run.windows;
    if (d_summed < d_frames && run.windows > 0)
        return { run.windows, 0 };
    const int64_t summed = d_summed;
    finish_integration(static_cast<gr_complex*>(output_items[0]) +
                           size_t(done) * d_p.channels * d_p.products(),
                       nitems_written(0) + done);
    return { summed, 1 };
}

std::vector<uint64_t> xengine_impl::counted() const
{
    const int64_t first = first_spectrum(),
                  spectra = int64_t(d_summed) * d_p.spectra_per_frame;
    if (!any_lost(first, first + spectra))
        return { uint64_t(spectra) };
    std::vector<std::vector<intervals::interval>> gaps;
    for (const auto& input : lost())
        gaps.push_back(input.within(first, first + spectra));
    std::vector<uint64_t> counts;
    counts.reserve(d_p.products());
    for (int a = 0; a < d_p.inputs; a++)
        for (int b = 0; b <= a; b++)
            counts.push_back(spectra - size_of_union(gaps[a], gaps[b]));
    if (std::all_of(
            counts.begin(), counts.end(), [&](uint64_t c) { return c == counts[0]; }))
        counts.resize(1);
    return counts;
}

void xengine_impl::finish_integration(gr_complex* visibilities, uint64_t item)
{
    const int64_t first = position() - d_summed;
    const auto counts = counted();
    std::vector<double> scales(counts.size(), 1);
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        for (size_t i = 0; d_normalise && i < counts.size(); i++)
            scales[i] = counts[i] ? 1. / counts[i] : 0;
    }
    d_kernel->dump(visibilities, scales.data(), scales.size(), work_stream());

    if (take_begin() || d_described != d_frames)
        tag_description(0,
                        item,
                        { time_of(first),
                          rate() / d_frames,
                          input_bandwidth(),
                          input_samples_per_item() * d_frames });
    else
        tag(0, item, tags::rx_time, time_of(first).to_pmt());
    for (const auto& change : take_changes(first))
        tag(0, item, tags::rx_freq, pmt::from_double(change.frequency));
    tag(0,
        item,
        tags::spectra,
        pmt::from_uint64(uint64_t(d_summed) * d_p.spectra_per_frame));
    tag(0, item, tags::counted, pmt::init_u64vector(counts.size(), counts));
    if (d_summed < d_frames || (input_end() >= first && input_end() < position()))
        tag(0, item, tags::partial, pmt::PMT_T);
    d_described = d_frames;
    d_summed = 0;
    forget_before(position() * d_p.spectra_per_frame);
}

void xengine_impl::set_integration(double length, const std::string& unit)
{
    const bool seconds = parse_integration(length, unit);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_length = length;
    d_in_seconds = seconds;
}

int xengine_impl::frames_per_integration() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_frames;
}

void xengine_impl::set_normalise(bool normalise)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_normalise = normalise;
}

std::string xengine_impl::implementation() const { return d_kernel->implementation(); }

} // namespace gr::aperture
