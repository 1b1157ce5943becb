/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/interference_flags.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

namespace {

kernels::flagging_methods methods_of(const flagging_parameters& p)
{
    kernels::flagging_methods m;
    m.kurtosis_false_alarms = p.kurtosis_false_alarms;
    m.least_power = p.least_power;
    m.most_power = p.most_power;
    m.time_sigma = p.time_sigma;
    m.channel_sigma = p.channel_sigma;
    m.time_sum_sigma = p.time_sum_sigma;
    m.channel_sum_sigma = p.channel_sum_sigma;
    m.bad_channels = p.bad_channels;
    m.grown_slices = p.grown_slices;
    m.grown_channels = p.grown_channels;
    return m;
}

} // namespace

kernels::flagging::parameters
interference_flags::kernel_parameters(const flagging_parameters& p,
                                      int spectra_per_slice,
                                      int channels,
                                      int inputs,
                                      int spectra_per_frame,
                                      sample_type type)
{
    kernels::flagging::parameters k{
        { channels, inputs, spectra_per_frame, spectra_per_slice }, type, methods_of(p)
    };
    k.check();
    return k;
}

interference_flags::interference_flags(const flagging_parameters& p,
                                       const kernels::flagging::parameters& k,
                                       const device& d)
    : d_p(k),
      d_kernel(kernels::flagging::make(k, d)),
      d_cells(k.layout.inputs),
      d_settings(p),
      d_told_cells(k.layout.inputs),
      d_told_flagged(k.layout.inputs)
{
}

int interference_flags::prepare_sums(int channels, int first_channel)
{
    // One more frame than may be whole: the one behind the last whole one has begun.
    constexpr size_t most = 64, memory = 64 << 20; // in frames, bytes
    const auto& l = d_p.layout;
    const size_t bytes =
        (sizeof(uint32_t) + sizeof(uint64_t)) * l.inputs * size_t(l.slices()) * channels;
    const int frames = int(std::clamp<size_t>(memory / bytes, 2, most));
    if (!d_kernel->prepare_sums(frames, channels, first_channel))
        return 0;
    d_summed.assign(frames, true);
    return frames - 1;
}

void interference_flags::note_times(int first, int count, bool summed)
{
    if (summed || count == 0)
        return;
    const int times = d_p.layout.spectra_per_frame;
    for (int frame = first / times; frame <= (first + count - 1) / times; frame++)
        d_summed[frame] = false;
}

void interference_flags::begin(stream& s)
{
    d_kernel->clear(s);
    d_summed.assign(d_summed.size(), true);
}

void interference_flags::set(const flagging_parameters& p)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    require(p.spectra_per_slice == d_settings.spectra_per_slice,
            "spectra_per_slice",
            std::to_string(p.spectra_per_slice),
            "what it was: " + std::to_string(d_settings.spectra_per_slice));
    d_next = std::make_shared<const kernels::flagging::tables>(d_p, methods_of(p));
    d_settings = p;
}

flagging_parameters interference_flags::settings() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_settings;
}

std::vector<int> interference_flags::there(int frames,
                                           int64_t first,
                                           const std::vector<intervals>& lost) const
{
    const auto& l = d_p.layout;
    const int64_t end = first + int64_t(frames) * l.spectra_per_frame;
    std::vector<int> counts;
    for (int input = 0; input < l.inputs; input++)
        for (const auto& gap : lost[input].within(first, end)) {
            if (counts.empty())
                counts.assign(size_t(frames) * l.inputs * l.slices(),
                              l.spectra_per_slice);
            for (int64_t at = gap.first; at < gap.end;) {
                const int64_t slice = (at - first) / l.spectra_per_slice;
                const int64_t next =
                    std::min(gap.end, first + (slice + 1) * l.spectra_per_slice);
                const int64_t frame = slice / l.slices();
                counts[(frame * l.inputs + input) * l.slices() + slice % l.slices()] -=
                    int(next - at);
                at = next;
            }
        }
    return counts;
}

void interference_flags::execute(const void* in,
                                 void* out,
                                 uint8_t* masks,
                                 int frames,
                                 int64_t first,
                                 const std::vector<intervals>& lost,
                                 stream& s)
{
    std::shared_ptr<const kernels::flagging::tables> next;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        next = std::move(d_next);
    }
    if (next)
        d_kernel->use(next, s);
    const auto counts = there(frames, first, lost);
    const int* where = counts.empty() ? nullptr : counts.data();
    const bool summed = !d_summed.empty() && in == out &&
                        std::all_of(d_summed.begin(),
                                    d_summed.begin() + frames,
                                    [](bool is) { return is; });
    if (summed)
        d_kernel->execute_summed(out, masks, frames, where, s);
    else
        d_kernel->execute(in, out, masks, frames, where, s);
    if (!d_summed.empty()) {
        d_summed.erase(d_summed.begin(), d_summed.begin() + frames);
        d_summed.insert(d_summed.end(), frames, true);
    }
    const auto& l = d_p.layout;
    for (int input = 0; input < l.inputs; input++) {
        int64_t slices = int64_t(frames) * l.slices();
        for (int frame = 0; !counts.empty() && frame < frames; frame++)
            for (int slice = 0; slice < l.slices(); slice++)
                slices -=
                    counts[(size_t(frame) * l.inputs + input) * l.slices() + slice] == 0;
        d_cells[input] += uint64_t(slices) * l.channels;
    }
}

std::vector<uint64_t> interference_flags::cells() const
{
    return { d_cells.begin(), d_cells.end() };
}

pmt::pmt_t interference_flags::status()
{
    pmt::pmt_t dict = pmt::make_dict();
    const auto add = [&dict](const char* key, const pmt::pmt_t& value) {
        dict = pmt::dict_add(dict, pmt::intern(key), value);
    };
    const auto vector = [](const std::vector<uint64_t>& counts) {
        return pmt::init_u64vector(counts.size(), counts);
    };
    // flags are read before cells: there are never more of them than cells
    const auto flags = found();
    const auto all = cells();
    std::vector<double> occupancy;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        for (size_t input = 0; input < all.size(); input++) {
            const double seen = double(all[input] - d_told_cells[input]);
            occupancy.push_back(
                seen > 0 ? double(flags.inputs[input] - d_told_flagged[input]) / seen
                         : 0);
        }
        d_told_cells = all;
        d_told_flagged = flags.inputs;
    }
    add(tags::event, pmt::mp("flags"));
    add("cells", vector(all));
    add("flagged", vector(flags.inputs));
    add("flagged_of_channels", vector(flags.channels));
    add("occupancy", pmt::init_f64vector(occupancy.size(), occupancy));
    return dict;
}

} // namespace gr::aperture
