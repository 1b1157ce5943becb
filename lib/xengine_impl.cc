/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "stream/free_memory.h"
#include "xengine_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

io_signature::sptr input_signature_of(const kernels::xengine::parameters& k,
                                      const kernels::mask_counts::parameters& masks,
                                      const device& d)
{
    std::vector<int> sizes{ frame_item_size(
        k.channels, k.inputs, k.spectra_per_frame, k.type) };
    if (masks.mask.spectra_per_slice > 0)
        sizes.push_back(int(masks.mask.item_bytes()));
    return signature_on(d, sizes);
}

io_signature::sptr output_signature_of(const kernels::xengine::parameters& k,
                                       const kernels::mask_counts::parameters& masks,
                                       const device& d)
{
    const auto size = [&](const char* item, size_t element) {
        return item_size(
            item, { { "channels", k.channels }, { "products", k.products() } }, element);
    };
    std::vector<int> sizes{ size("visibilities", sizeof(gr_complex)) };
    if (masks.mask.spectra_per_slice > 0)
        sizes.push_back(size("counts", sizeof(uint32_t)));
    return signature_on(d, sizes);
}

//! Makes the kernel, after the sizes of items were checked.
std::unique_ptr<kernels::xengine> make_kernel(const kernels::xengine::parameters& k,
                                              const device& d)
{
    // re and im of a running sum, with 8 bytes each
    require_host_memory(d,
                        "sums of " + std::to_string(k.products()) + " products of " +
                            std::to_string(k.channels) + " channels",
                        16. * double(k.products()) * k.channels);
    return kernels::xengine::make(k, d);
}

} // namespace

xengine::sptr xengine::make(const parameters& p)
{
    check_parameters<xengine>(p);
    kernels::xengine::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.spectra_per_frame = p.spectra_per_frame;
    k.type = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.check();
    require_range("spectra_per_slice", p.spectra_per_slice, 0, p.spectra_per_frame);
    const kernels::mask_counts::parameters masks{
        { p.channels, p.inputs, p.spectra_per_frame, p.spectra_per_slice }, true
    };
    if (p.spectra_per_slice > 0)
        masks.check();
    return gnuradio::make_block_sptr<xengine_impl>(p, k, masks, device::select(p.device));
}

xengine_impl::xengine_impl(const parameters& p,
                           const kernels::xengine::parameters& k,
                           const kernels::mask_counts::parameters& masks,
                           const device& d)
    : gr::block(
          "xengine", input_signature_of(k, masks, d), output_signature_of(k, masks, d)),
      frame_reader(d, k.inputs, k.spectra_per_frame, masks.mask.spectra_per_slice > 0),
      d_p(k),
      d_kernel(make_kernel(k, d)),
      d_counts(masks.mask.spectra_per_slice > 0 ? kernels::mask_counts::make(masks, d)
                                                : nullptr),
      d_length(p.integration),
      d_in_seconds(parse_integration(p.integration, p.integration_unit)),
      d_normalise(p.normalise),
      d_length_in_frames(d_in_seconds ? 0 : int(p.integration)),
      d_frames(d_length_in_frames),
      d_summed(0),
      d_described(0)
{
    set_latency(p.latency);
}

bool xengine_impl::start()
{
    d_summed = 0;
    d_rest = 0;
    d_described = 0;
    return frame_reader::start();
}

void xengine_impl::before_first_call()
{
    d_kernel->clear(work_stream());
    if (d_counts)
        d_counts->clear(work_stream());
}

bool xengine_impl::begin_integration()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (d_rest > 0) {
        d_frames = std::exchange(d_rest, 0);
        return true;
    }
    if (!d_in_seconds)
        d_length_in_frames = int(d_length);
    else if (rate() <= 0)
        return fail("integration: " + text_of(d_length) +
                    " seconds need the tag rx_rate on the first frame" +
                    who_says_the_rate);
    else
        d_length_in_frames = int(std::llround(
            std::clamp(d_length * rate(), 1., double(std::numeric_limits<int>::max()))));
    d_frames = d_length_in_frames;
    if (d_counts &&
        int64_t(d_frames) * d_p.spectra_per_frame > std::numeric_limits<uint32_t>::max())
        return fail("integration: " + std::to_string(d_frames) +
                    " frames have more spectra than counts of 32 bits can hold");
    if (std::exchange(d_changed, false)) {
        pmt::pmt_t about = pmt::make_dict();
        about =
            pmt::dict_add(about, pmt::intern(tags::setting), pmt::intern("integration"));
        about = pmt::dict_add(about,
                              pmt::intern(d_in_seconds ? "seconds" : "frames"),
                              pmt::from_double(d_length));
        about = pmt::dict_add(
            about, pmt::intern(tags::time), time_of(double(position())).to_pmt());
        announce(position(), about);
    }
    return true;
}

clocked_block::progress xengine_impl::make(int done,
                                           int,
                                           const gr_vector_const_void_star& input_items,
                                           const gr_vector_void_star& output_items)
{
    if (d_summed == 0 && !begin_integration())
        return {};
    // no integration has visibilities of two directions: that in which another one begins
    // is delivered in two parts, so that the next ones come when they would have come
    const int64_t turn = next_turn(position() - d_summed);
    const bool turns = turn <= position();
    const auto run =
        next_run(turns ? 0 : std::min<int64_t>(d_frames - d_summed, turn - position()));
    if (run.windows == 0 && (d_summed == 0 || !(ended() || interrupted() || turns)))
        return {};
    const char* start = starts_of(run, input_items)[0];
    if (start && run.windows > 0) {
        d_kernel->accumulate(start, run.windows, work_stream());
        if (d_counts)
            d_counts->accumulate(start_of_companion(run, input_items),
                                 int(run.windows),
                                 missing_of(run.windows),
                                 work_stream());
    } else {
        lose(run.windows);
    }
    advance(run.windows);
    d_summed += run.windows;
    if (d_summed < d_frames && run.windows > 0)
        return { run.windows, 0 };
    const int64_t summed = d_summed;
    if (turns)
        d_rest = d_frames - d_summed;
    finish_integration(static_cast<gr_complex*>(output_items[0]) +
                           size_t(done) * d_p.channels * d_p.products(),
                       d_counts ? static_cast<uint32_t*>(output_items[1]) +
                                      size_t(done) * d_p.channels * d_p.products()
                                : nullptr,
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

void xengine_impl::finish_integration(gr_complex* visibilities,
                                      uint32_t* counts,
                                      uint64_t item)
{
    const int64_t first = position() - d_summed;
    const auto there = counted(); // counts without flags
    bool normalise = false;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        normalise = d_normalise;
    }
    if (counts)
        d_counts->dump(counts, work_stream());
    if (counts && normalise) {
        d_kernel->dump_means(visibilities, counts, work_stream());
    } else {
        std::vector<double> scales(there.size(), 1);
        for (size_t i = 0; normalise && i < there.size(); i++)
            scales[i] = there[i] ? 1. / there[i] : 0;
        d_kernel->dump(visibilities, scales.data(), scales.size(), work_stream());
    }

    const bool describe = take_begin() || d_described != d_length_in_frames;
    const auto changes = take_changes(first);
    const auto settings = take_settings(first);
    for (int port = 0; port < (counts ? 2 : 1); port++) {
        if (describe) {
            tag_description(port,
                            item,
                            { time_of(first),
                              rate() / d_length_in_frames,
                              input_bandwidth(),
                              input_samples_per_item() * d_length_in_frames });
            if (rate() > 0)
                tag(port,
                    item,
                    tags::spectrum_rate,
                    pmt::from_double(rate() * d_p.spectra_per_frame));
        }
        for (const auto& change : changes)
            tag_frequency(port, item, time_of(first), change.frequency);
        tag_integration(port,
                        item,
                        time_of(first),
                        uint64_t(d_summed) * d_p.spectra_per_frame,
                        there);
        if (settings && port == 0)
            tag(port, item, tags::settings, settings);
        if (d_summed < d_length_in_frames ||
            (input_end() >= first && input_end() < position()))
            tag(port, item, tags::partial, pmt::PMT_T);
    }
    d_described = d_length_in_frames;
    d_summed = 0;
    forget_before(position() * d_p.spectra_per_frame);
}

void xengine_impl::set_integration(double length, const std::string& unit)
{
    const bool seconds = parse_integration(length, unit);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_length = length;
    d_in_seconds = seconds;
    d_changed = true;
}

int xengine_impl::frames_per_integration() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_length_in_frames;
}

void xengine_impl::set_normalise(bool normalise)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_normalise = normalise;
}

std::string xengine_impl::implementation() const { return d_kernel->implementation(); }

} // namespace gr::aperture
