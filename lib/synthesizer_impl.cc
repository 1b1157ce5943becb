/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/filter_windows.h"
#include "kernels/pfb/prototype.h"
#include "kernels/synthesis/synthesis_prototype.h"
#include "synthesizer_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

//! Samples of all beams that a call of the kernel completes, at most.
constexpr int64_t samples_at_once = 1 << 20;

//! The largest error of oversampled channels without a warning, in dB.
constexpr double allowed_error = -60;

//! Returns frequency times time in cycles, without whole ones.
long double cycles_of(double frequency, const timestamp& time)
{
    const double whole = std::floor(frequency);
    const long double part = (long double)(frequency - whole) * time.seconds +
                             (long double)frequency * time.fraction;
    return part - std::floor(part);
}

//! Returns the band of real output between two frequencies in Hz, in words.
std::string band_text(double low, double high)
{
    return "at least " + text_of(low) + " Hz, and with half of the sample rate at most " +
           text_of(high) + " Hz";
}

} // namespace

synthesizer_impl::bank synthesizer_impl::bank_of(const parameters& p)
{
    bank b;
    b.total = p.total_channels > 0 ? p.total_channels : p.channels;
    require(p.total_channels == 0 || p.total_channels >= p.channels,
            "total_channels",
            std::to_string(p.total_channels),
            "0, or at least the " + std::to_string(p.channels) + " channels of a frame");
    require_range("first_channel", p.first_channel, 0, b.total - p.channels);
    kernels::pfb::check_channels(b.total);
    std::tie(b.p, b.q) = oversampling_of(p.oversampling);
    b.length = p.real_input ? 2 * b.total : b.total;
    require(b.length * b.q % b.p == 0,
            "oversampling",
            "'" + p.oversampling + "'",
            "that of an F-engine of " + std::to_string(b.total) + " channels");
    b.taps = p.taps;
    require(p.prototype.empty() || p.prototype.size() == size_t(b.length) * b.taps,
            "prototype",
            std::to_string(p.prototype.size()) + " coefficients",
            "taps x transform length = " + std::to_string(size_t(b.length) * b.taps));
    b.points = int((p.channels + b.p - 1) / b.p * b.p);
    b.channel = p.first_channel + p.channels / 2 - (p.real_input ? 0 : b.total / 2);

    auto& k = b.kernel;
    k.channels = p.channels;
    k.beams = p.beams;
    k.spectra_per_frame = p.spectra_per_frame;
    k.input = parse_sample_type("type", p.type, { sample_type::fc32, sample_type::sc8 });
    k.points = b.points;
    k.hop = int(b.points * b.q / b.p);
    const int taps = p.synthesis_taps > 0 ? p.synthesis_taps
                     : b.p != b.q         ? p.taps + 4
                                          : p.taps + (p.taps + 1) / 2 * 2;
    require((taps - p.taps) % 2 == 0,
            "synthesis_taps",
            std::to_string(taps),
            "an even number more or less than the " + std::to_string(p.taps) + " taps");
    k.lead = (taps - p.taps) * b.points / 2;
    k.most_spectra = int(std::clamp<int64_t>(
        samples_at_once / (int64_t(k.hop) * k.beams), 1, k.spectra_per_frame));

    const auto prototype = p.prototype.empty()
                               ? kernels::prototype(b.length, p.taps, p.window)
                               : p.prototype;
    const auto designed = kernels::design_synthesis(
        { kernels::resampled_prototype(prototype, p.taps, b.length, b.points),
          b.points,
          p.taps,
          k.hop },
        taps);
    k.prototype = designed.prototype;
    b.error = designed.error;

    const bool real = p.output_type == "f32";
    b.sample_rate = p.sample_rate;
    for (const auto& [name, rate] : { std::pair("input_rate", p.input_rate),
                                      std::pair("sample_rate", p.sample_rate) })
        require(real ? rate > 0 : rate == 0,
                name,
                text_of(rate),
                real ? "given for f32 output, in Hz"
                     : "0 for fc32 output, whose rate follows from the channels");
    if (real) {
        const double band = p.sample_rate / 2 / b.rate(p.input_rate);
        require(band <= 1 + 0.5 / b.points,
                "sample_rate",
                text_of(p.sample_rate),
                "at most twice the channels' own rate, " +
                    text_of(2 * b.rate(p.input_rate)) + " Hz");
        const double pass = p.passband * band / 2, stop = (2 - p.passband) * band / 2;
        require(kernels::fractional_filter::taps_for(pass, stop) <= 65536,
                "sample_rate",
                text_of(p.sample_rate),
                "so high that the filter has at most 65536 taps: take fewer channels, "
                "or a smaller passband");
        // the power of a band is kept, and that of the upper side is twice the real
        // part's
        k.filter = kernels::fractional_filter::of(pass, stop, std::sqrt(2 / band));
    }
    k.check();
    return b;
}

synthesizer::sptr synthesizer::make(const parameters& p)
{
    check_parameters<synthesizer>(p);
    return gnuradio::make_block_sptr<synthesizer_impl>(
        p, synthesizer_impl::bank_of(p), device::select(p.device));
}

synthesizer_impl::synthesizer_impl(const parameters& p, const bank& b, const device& d)
    : gr::block("synthesizer",
                signature_on(d,
                             1,
                             item_size("frame",
                                       { { "channels", p.channels },
                                         { "beams", p.beams },
                                         { "spectra_per_frame", p.spectra_per_frame } },
                                       size_of(b.kernel.input))),
                signature_on(d, 1, int(b.kernel.output_bytes()))),
      frame_reader(d, p.beams, p.spectra_per_frame),
      d_bank(b),
      d_input_rate(p.input_rate),
      d_frequency(p.frequency),
      d_on_sky(p.frequency_is == "sky"),
      d_kernel(kernels::synthesizer::make(b.kernel, d)),
      d_missing(p.beams),
      d_empty_to(p.beams)
{
    set_latency(p.latency);
    set_relative_rate(
        uint64_t(std::max<int64_t>(1, int64_t(p.spectra_per_frame) * b.kernel.hop)), 1);
    if (b.p != b.q && b.error > allowed_error)
        d_logger->warn("synthesis_taps: with {:d} taps of the F-engine and {:d} of the "
                       "synthesis an error of {:.0f} dB is left",
                       b.taps,
                       b.kernel.prototype.size() / b.points,
                       b.error);
    if (real() && !d_on_sky) {
        d_band = d_frequency;
        const auto [low, high] = b.limits(d_input_rate);
        require(d_band >= low && d_band + b.sample_rate / 2 <= high,
                "frequency",
                text_of(d_band),
                band_text(low, high) + " from rx_freq");
    }
}

bool synthesizer_impl::start()
{
    d_in_frame = false;
    d_done = d_spectra = 0;
    d_rx_freq.reset();
    d_output = d_held = d_behind = 0;
    d_places = {};
    d_empty.clear();
    std::fill(d_missing.begin(), d_missing.end(), 0);
    return frame_reader::start();
}

void synthesizer_impl::before_first_call() { d_kernel->clear(work_stream()); }

void synthesizer_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
    if (pending() > 0 || d_in_frame) // there is work without another frame
        required[0] = std::min(required[0], d_in_frame ? 1 : 0);
}

std::vector<uint64_t> synthesizer_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

int64_t synthesizer_impl::pending() const
{
    return std::max<int64_t>(0, d_places.first_from(d_behind - before()) - d_output);
}

timestamp synthesizer_impl::time_of_sample(int64_t sample, int64_t frame) const
{
    const timestamp begin = time_of(double(frame));
    if (rate() <= 0)
        return begin;
    // spectrum m is of the middle of the samples mD ... mD + taps N - 1, as the F-engine
    // counts them
    const auto& k = d_bank.kernel;
    const double middle =
        d_bank.taps * d_bank.points / 2. - d_bank.points / (2. * d_bank.length);
    return begin.after(double(sample - number_of_spectrum(frame) * k.hop) - middle,
                       sample_rate());
}

timestamp synthesizer_impl::time_of_output(int64_t output, int64_t frame) const
{
    return real() ? timestamp{ d_second, 0 }.after(double(output), d_bank.sample_rate)
                  : time_of_sample(output, frame);
}

clocked_block::progress
synthesizer_impl::make(int done,
                       int room,
                       const gr_vector_const_void_star& input_items,
                       const gr_vector_void_star& output_items)
{
    const uint64_t next_item = nitems_written(0) + done;
    if (pending() > 0) {
        const int made = write(static_cast<char*>(output_items[0]) +
                                   done * d_bank.kernel.output_bytes(),
                               room);
        return { 1, made };
    }
    if (!d_in_frame) {
        const auto run = next_run(1);
        if (run.windows == 0)
            return {};
        if (!starts_of(run, input_items)[0])
            lose(1);
        if (!begin_frame(next_item))
            return {};
    }
    const auto run = next_run(1);
    const char* frame = starts_of(run, input_items)[0];
    const auto& k = d_bank.kernel;
    const int count = std::min(k.most_spectra, d_spectra - d_done);
    if (count > 0) {
        const int64_t spectrum = number_of_spectrum(position()) + d_done;
        const int64_t needed =
            real() ? d_places.from(d_output).of(0).sample - after() : d_behind;
        const int keep = int(std::clamp<int64_t>(
            d_behind - needed + 2, 0, std::min(k.most_kept(), d_behind - d_held)));
        d_mixing.sample = int64_t(d_done) * k.hop;
        d_kernel->add(frame, d_done, count, spectrum, d_mixing, keep, work_stream());
        d_held = d_behind - keep;
        d_behind += int64_t(count) * k.hop;
        d_done += count;
    }
    if (d_done == d_spectra) {
        d_in_frame = false;
        forget_before((position() + 1) * k.spectra_per_frame);
        advance(1);
    }
    return { 1, 0 };
}

bool synthesizer_impl::begin_frame(uint64_t next_item)
{
    const int64_t frame = position();
    const auto& k = d_bank.kernel;
    d_in_frame = true;
    d_done = 0;
    d_spectra = frame == input_end() ? int(end_of_input() - frame * k.spectra_per_frame)
                                     : k.spectra_per_frame;
    const int64_t first = first_sample(number_of_spectrum(frame));
    if (take_begin()) {
        if (!begin_stream(frame, next_item))
            return false;
    } else {
        const bool corrected = take_correction(frame);
        if (corrected && real())
            place_outputs(frame);
        for (const auto& change : take_changes(frame)) {
            if (!tune(frame, change.frequency))
                return false;
            const int64_t behind = end_of(number_of_spectrum(frame) - 1);
            for (int beam = 0; beam < k.beams; beam++)
                lose_samples(beam, first, behind);
            const int64_t output =
                std::max(d_output, d_places.first_from(first - before()));
            tag_frequency(0,
                          d_item_of_output + output,
                          time_of_output(output, frame),
                          output_frequency());
        }
        if (corrected && !real())
            tag_time(0, d_item_of_output + first, time_of_sample(first, frame));
    }
    // spectra of a frame at a time, so that where calls are cut changes nothing
    const int64_t begin = frame * k.spectra_per_frame;
    for (int beam = 0; beam < k.beams; beam++)
        for (const auto& gap : lost()[beam].within(begin, begin + d_spectra)) {
            const int64_t spectrum = number_of_spectrum(frame) + gap.first - begin;
            lose_samples(
                beam, first_sample(spectrum), end_of(spectrum + gap.end - gap.first - 1));
        }
    tag_settings(0,
                 d_item_of_output +
                     std::max(d_output, d_places.first_from(first - before())),
                 frame);
    set_mixing(frame);
    return true;
}

bool synthesizer_impl::begin_stream(int64_t frame, uint64_t next_item)
{
    const auto& k = d_bank.kernel;
    const double spectra = rate() * k.spectra_per_frame;
    const double spacing = spectra * double(d_bank.q) / double(d_bank.p);
    if (real() && rate() <= 0)
        return fail(std::string("f32 output needs the tag rx_rate on the first item") +
                    who_says_the_rate);
    if (real() && std::abs(spacing * d_bank.length / d_input_rate - 1) > 1e-9)
        return fail("input_rate: " + text_of(d_input_rate) +
                    " Hz contradicts the tag rx_rate, by which it is " +
                    text_of(spacing * d_bank.length) + " Hz");
    const double width = input_bandwidth() / k.channels;
    if (rate() > 0 && width > 0 && std::abs(spacing / width - 1) > 1e-6)
        return fail("oversampling: " + std::to_string(d_bank.p) + "/" +
                    std::to_string(d_bank.q) + " of " + text_of(spectra) +
                    " spectra a second makes a spacing of " + text_of(spacing) +
                    " Hz, but by the tag bandwidth it is " + text_of(width) + " Hz");
    const int64_t samples = input_samples_per_item(),
                  expected = d_bank.length * d_bank.q / d_bank.p * k.spectra_per_frame;
    if (samples > 0 && samples != expected)
        return fail("total_channels, real_input: an F-engine of " +
                    std::to_string(d_bank.total) + " channels of " +
                    (d_bank.length == d_bank.total ? "complex" : "real") +
                    " samples makes a frame of " + std::to_string(expected) +
                    " of them, but by the tag samples_per_item it is of " +
                    std::to_string(samples));
    d_kernel->clear(work_stream());
    const int64_t first = number_of_spectrum(frame);
    d_held = d_behind = first_sample(first);
    for (const auto& change : take_changes(frame))
        if (!tune(frame, change.frequency))
            return false;
    if (!d_rx_freq && d_on_sky && real())
        return fail("frequency_is: sky needs the tag rx_freq on the first item");
    if (!check_band())
        return false;
    d_second = time_of_sample(end_of(first - 1), frame).seconds;
    place_outputs(frame);
    d_output = d_places.first_from(end_of(first - 1) + after());
    d_item_of_output = int64_t(next_item) - d_output;
    d_empty.clear();
    std::fill(d_empty_to.begin(), d_empty_to.end(), d_output);
    const double out = real() ? d_bank.sample_rate : rate() > 0 ? sample_rate() : 0;
    const timestamp time = time_of_output(d_output, frame);
    tag_description(0, next_item, { time, out, real() ? out / 2 : out, 0 });
    if (d_rx_freq)
        tag_frequency(0, next_item, time, output_frequency());
    return true;
}

double synthesizer_impl::output_frequency() const
{
    return *d_rx_freq + (real() ? d_band + d_bank.sample_rate / 4 : 0);
}

bool synthesizer_impl::tune(int64_t, double frequency)
{
    d_rx_freq = frequency;
    if (!real() || !d_on_sky)
        return true;
    d_band = d_frequency - frequency;
    return check_band();
}

bool synthesizer_impl::check_band()
{
    if (!real())
        return true;
    const auto [low, high] = d_bank.limits(d_input_rate);
    const double sky = d_on_sky ? d_rx_freq.value_or(0) : 0;
    if (d_band >= low && d_band + d_bank.sample_rate / 2 <= high)
        return true;
    return fail("frequency: " + text_of(d_frequency) + " Hz is not in the channels; " +
                "it must be " + band_text(low + sky, high + sky));
}

void synthesizer_impl::place_outputs(int64_t frame)
{
    if (!real())
        return;
    // the place of output 0, which is at d_second, by the time of a sample near the frame
    const int64_t sample = number_of_spectrum(frame) * d_bank.kernel.hop;
    const timestamp time = time_of_sample(sample, frame);
    const long double place =
        ((long double)(d_second - time.seconds) - time.fraction) * sample_rate();
    const long double whole = std::floor(place);
    d_places = kernels::output_places::at_rates(sample_rate(),
                                                d_bank.sample_rate,
                                                sample + int64_t(whole),
                                                double(place - whole));
}

void synthesizer_impl::set_mixing(int64_t frame)
{
    d_mixing = {};
    if (rate() <= 0)
        return;
    const int64_t sample = first_sample(number_of_spectrum(frame));
    const int64_t points = d_bank.points;
    // Samples are those of the middle channel at 0 Hz, with the phase of a mixer that
    // began with the stream's first sample. All phases are to count from 1970.
    const int64_t gone = (sample % points) * (d_bank.channel % points) % points;
    const double spacing = sample_rate() / double(points);
    const timestamp time = time_of_sample(sample, frame);
    long double cycles = (long double)gone / points;
    if (d_bank.channel != 0)
        cycles -= cycles_of(d_bank.channel * spacing, time);
    if (real()) {
        const double quarter = d_bank.sample_rate / 4;
        // the band's middle becomes 0 Hz; outputs are multiplied by i^q again, q being 0
        // at d_second
        // each frequency by itself: the rounding of a sum would make cycles since 1970
        cycles -= cycles_of(d_frequency, time) + cycles_of(quarter, time);
        if (d_on_sky)
            cycles += cycles_of(*d_rx_freq, time);
        cycles += cycles_of(quarter, { d_second, 0 });
        d_mixing.slope = -(d_band + quarter) / sample_rate();
    }
    d_mixing.start = double(cycles - std::floor(cycles));
}

void synthesizer_impl::lose_samples(int beam, int64_t first, int64_t end)
{
    const int64_t from =
        std::max(d_places.first_from(first - before()), d_empty_to[beam]);
    const int64_t to = d_places.first_from(end + after());
    if (from >= to)
        return;
    d_empty.push_back({ beam, from, to });
    d_empty_to[beam] = to;
    tag_missing(0, d_item_of_output + from, beam, d_item_of_output + from, to - from);
}

int synthesizer_impl::write(void* to, int room)
{
    const int64_t count = std::min<int64_t>(pending(), room);
    auto places = d_places.from(d_output);
    places.first -= d_held;
    std::vector<kernels::synthesizer::zeros> empty;
    for (const auto& z : d_empty) {
        const int64_t first = std::max(z.first, d_output) - d_output;
        const int64_t end = std::min(z.end, d_output + count) - d_output;
        if (first >= end)
            continue;
        empty.push_back({ z.beam, first, end });
        d_missing[z.beam] += uint64_t(end - first);
    }
    d_kernel->write(to, count, places, int((d_output % 4 + 4) % 4), empty, work_stream());
    d_output += count;
    while (!d_empty.empty() && d_empty.front().end <= d_output)
        d_empty.pop_front();
    return int(count);
}

} // namespace gr::aperture
