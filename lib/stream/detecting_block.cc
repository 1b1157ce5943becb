/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "stream/detecting_block.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

detecting_block::detecting_block(const device& d, const parameters& p)
    : frame_reader(d, p.sources, p.spectra_per_frame, p.spectra_per_slice > 0),
      d_p(p),
      d_means(p.spectra_per_slice > 0 ? kernels::power_means::make(p.means(), d)
                                      : nullptr)
{
    set_latency(p.latency);
    // all integrations of a frame are made by one call
    if (const int parts = p.detect.integrations(p.spectra_per_frame); parts > 0) {
        set_output_multiple(parts);
        set_relative_rate(parts, 1);
    } else {
        set_relative_rate(1, p.detect.spectra / p.spectra_per_frame);
    }
}

kernels::detection detecting_block::parameters::summed() const
{
    require_range("spectra_per_slice", spectra_per_slice, 0, spectra_per_frame);
    if (spectra_per_slice == 0)
        return detect;
    means().check();
    return means().summed();
}

io_signature::sptr
detecting_block::input_signature_of(const device& d, const parameters& p, int frame)
{
    std::vector<int> sizes{ frame };
    if (p.spectra_per_slice > 0)
        sizes.push_back(int(p.means().mask.item_bytes()));
    return signature_on(d, sizes);
}

io_signature::sptr detecting_block::output_signature_of(const device& d,
                                                        const parameters& p)
{
    std::vector<int> sizes{ item_size(
        "powers",
        { { p.detect.of_pairs() ? "pairs" : "beams", p.detect.rows(p.beams) },
          { "products", p.detect.product_count() },
          { "channels", p.channels / p.detect.summed_channels } },
        sizeof(float)) };
    if (p.spectra_per_slice > 0)
        sizes.push_back(int(p.means().counts() * sizeof(uint32_t)));
    return signature_on(d, sizes);
}

bool detecting_block::start()
{
    d_summed = 0;
    return frame_reader::start();
}

void detecting_block::before_first_call()
{
    kernel().clear(work_stream());
    if (d_means)
        d_means->clear(work_stream());
}

int64_t detecting_block::prepare_all()
{
    const int64_t frames = prepare();
    if (!d_means)
        return frames;
    if (const auto* sources = sources_of_beams(); sources && *sources != d_sources) {
        d_sources = *sources;
        d_means->set_sources(d_sources, work_stream());
    }
    return frames;
}

clocked_block::progress
detecting_block::make(int done,
                      int room,
                      const gr_vector_const_void_star& input_items,
                      const gr_vector_void_star& output_items)
{
    const size_t item = output_signature()->sizeof_stream_item(0) / sizeof(float);
    const bool within = d_p.detect.integrations(d_p.spectra_per_frame) > 0;
    float* to = static_cast<float*>(output_items[0]) + done * item;
    const int64_t begin = position() * d_p.spectra_per_frame;
    uint32_t* counts =
        !d_means ? nullptr
                 : static_cast<uint32_t*>(output_items[1]) + done * d_p.means().counts();
    const int made = within ? integrate_parts(input_items, to, counts, room)
                            : integrate_frames(input_items, to, counts);
    if (made == 0)
        return {};
    for (int i = 0; i < made; i++) {
        // the clock is behind them, and behind the spectra that are not delivered
        const int64_t length =
            within ? d_p.detect.spectra : d_summed * d_p.spectra_per_frame;
        const int64_t first =
            within ? begin + i * length : position() * d_p.spectra_per_frame - length;
        tag_integration(nitems_written(0) + done + i,
                        first,
                        first + length,
                        counted(first, first + length));
    }
    d_summed = 0;
    forget_before(position() * d_p.spectra_per_frame);
    return { made, made };
}

int detecting_block::integrate_parts(const gr_vector_const_void_star& in,
                                     float* out,
                                     uint32_t* counts,
                                     int most)
{
    const int parts = d_p.detect.integrations(d_p.spectra_per_frame);
    const auto run = next_run(std::min<int64_t>(most / parts, prepare_all()));
    if (run.windows == 0)
        return 0;
    int64_t frames = run.windows;
    const char* start = starts_of(run, in)[0];
    if (!start) {
        lose(frames);
        work_stream().clear(out,
                            frames * parts * output_signature()->sizeof_stream_item(0));
        if (d_means)
            work_stream().clear(
                counts, frames * parts * output_signature()->sizeof_stream_item(1));
    } else if (d_means) {
        frames = std::min<int64_t>(frames, d_p.means().most_frames());
        // the frame within which the input ended is on its own
        if (const int64_t before = input_end() - position(); before >= 0)
            frames = std::min(frames, std::max<int64_t>(1, before));
        make_means(run, in, frames, out, counts);
    } else {
        const int64_t first = position() * d_p.spectra_per_frame;
        std::vector<float> factors;
        if (any_lost(first, first + frames * d_p.spectra_per_frame)) {
            frames = 1;
            for (int i = 0; i < parts; i++) {
                const int64_t from = first + i * d_p.detect.spectra;
                auto of_one = scales(counted(from, from + d_p.detect.spectra));
                if (of_one.size() == 1)
                    of_one.assign(d_p.detect.rows(d_p.beams) * d_p.detect.parts(),
                                  of_one[0]);
                factors.insert(factors.end(), of_one.begin(), of_one.end());
            }
        } else {
            factors = scales({ uint64_t(d_p.detect.spectra) });
        }
        kernel().execute(
            start, out, int(frames), { factors.data(), factors.size() }, work_stream());
    }
    const int64_t first = position();
    advance(frames);
    // the frame within which the input ended has losses, and so is on its own
    return first == input_end() ? parts_before_end() : int(frames) * parts;
}

void detecting_block::make_means(const timeline::run& run,
                                 const gr_vector_const_void_star& in,
                                 int64_t frames,
                                 float* out,
                                 uint32_t* counts)
{
    const float one = 1;
    kernel().execute(
        starts_of(run, in)[0], d_means->sums(), int(frames), { &one, 1 }, work_stream());
    d_means->execute(start_of_companion(run, in),
                     int(frames),
                     missing_of(frames),
                     out,
                     counts,
                     work_stream());
}

int detecting_block::parts_before_end() const
{
    const int64_t spectra = end_of_input() - input_end() * d_p.spectra_per_frame;
    return std::max(1, int((spectra + d_p.detect.spectra - 1) / d_p.detect.spectra));
}

int detecting_block::integrate_frames(const gr_vector_const_void_star& in,
                                      float* out,
                                      uint32_t* counts)
{
    const int64_t wanted = d_p.detect.spectra / d_p.spectra_per_frame;
    while (d_summed < wanted) {
        const auto run = next_run(std::min(wanted - d_summed, prepare_all()));
        if (run.windows == 0)
            break;
        if (const char* start = starts_of(run, in)[0]) {
            kernel().accumulate(start, int(run.windows), work_stream());
            if (d_means)
                d_means->accumulate(start_of_companion(run, in),
                                    int(run.windows),
                                    missing_of(run.windows),
                                    work_stream());
        } else {
            lose(run.windows);
        }
        advance(run.windows);
        d_summed += run.windows;
    }
    if (d_summed == 0 || (d_summed < wanted && !ended() && !interrupted()))
        return 0;
    if (d_means) {
        const float one = 1;
        kernel().dump(d_means->sums(), { &one, 1 }, work_stream());
        d_means->dump(out, counts, work_stream());
        return 1;
    }
    const int64_t end = position() * d_p.spectra_per_frame;
    const auto factors = scales(counted(end - d_summed * d_p.spectra_per_frame, end));
    kernel().dump(out, { factors.data(), factors.size() }, work_stream());
    return 1;
}

std::vector<intervals::interval> detecting_block::lost_of(
    int beam, const std::vector<intervals>& lost, int64_t first, int64_t end)
{
    return lost[beam].within(first, end);
}

std::vector<uint64_t> detecting_block::counted(int64_t first, int64_t end)
{
    const uint64_t spectra = end - first;
    if (!any_lost(first, end))
        return { spectra };
    std::vector<uint64_t> counts;
    for (int row = 0; row < d_p.detect.rows(d_p.beams); row++) {
        if (!d_p.detect.of_pairs()) {
            counts.push_back(spectra - size_of(lost_of(row, lost(), first, end)));
            continue;
        }
        const auto x = lost_of(2 * row, lost(), first, end);
        const auto y = lost_of(2 * row + 1, lost(), first, end);
        for (int64_t lost : { size_of(x), size_of(y), size_of_union(x, y) })
            counts.push_back(spectra - lost);
    }
    if (std::all_of(counts.begin(), counts.end(), [&](auto c) { return c == counts[0]; }))
        counts.resize(1);
    return counts;
}

std::vector<float> detecting_block::scales(const std::vector<uint64_t>& counts) const
{
    std::vector<float> factors;
    for (const uint64_t count : counts)
        factors.push_back(!d_p.mean ? 1.f
                          : count
                              ? float(1. / (double(count) * d_p.detect.summed_channels))
                              : 0.f);
    return factors;
}

void detecting_block::tag_integration(uint64_t item,
                                      int64_t first,
                                      int64_t end,
                                      const std::vector<uint64_t>& counts)
{
    const auto& detect = d_p.detect;
    const double times = d_p.spectra_per_frame;
    const double length = double(detect.spectra) / times; // length in frames
    const timestamp time = time_of_spectrum(first);
    const double width = input_bandwidth() / d_p.channels;
    const int ports = d_means ? 2 : 1;
    if (take_begin())
        for (int port = 0; port < ports; port++)
            tag_description(port,
                            item,
                            { time,
                              rate() / length,
                              input_bandwidth(),
                              int64_t(input_samples_per_item() * length) });
    // from channel floor(n/2) of the input to that of the output
    const int summed = detect.summed_channels;
    const double shift =
        d_p.channels / summed / 2 * summed + (summed - 1) / 2. - d_p.channels / 2;
    for (const auto& change : take_changes(first / d_p.spectra_per_frame)) {
        if (shift != 0 && width == 0)
            d_logger->warn("rx_freq of the summed channels is not known: the tag "
                           "bandwidth is missing");
        else
            for (int port = 0; port < ports; port++)
                tag_frequency(port, item, time, change.frequency + shift * width);
    }
    tag_settings(0, item, first / d_p.spectra_per_frame);

    // converts [row][part] to [row][product]
    auto numbers = counts;
    if (counts.size() > 1 && detect.of_pairs()) {
        numbers.clear();
        const bool parts = detect.products == kernels::detection::product_set::coherency;
        for (size_t row = 0; row < counts.size(); row += 3)
            for (int product = 0; product < detect.product_count(); product++)
                numbers.push_back(counts[row + (parts ? std::min(product, 2) : 2)]);
    }
    const bool padded = input_end() >= 0 && end > end_of_input();
    for (int port = 0; port < ports; port++) {
        clocked_block::tag_integration(port, item, time, uint64_t(end - first), numbers);
        if (padded || end - first < detect.spectra)
            tag(port, item, tags::partial, pmt::PMT_T);
    }
}

timestamp detecting_block::time_of_spectrum(int64_t spectrum) const
{
    // frames as a whole: a double would have too few bits for parts of them after a day
    const int64_t frame = spectrum / d_p.spectra_per_frame;
    const int64_t rest = spectrum % d_p.spectra_per_frame;
    const timestamp begin = time_of(double(frame));
    return rate() > 0 ? begin.after(double(rest), rate() * d_p.spectra_per_frame) : begin;
}

} // namespace gr::aperture
