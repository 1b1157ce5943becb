/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/quantise.h"
#include "kernels/common/sample_reader.h"
#include "kernels/common/simd.h"
#include "kernels/zoom/host_decimator.h"
#include "kernels/zoom/zoom.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

namespace gr::aperture::kernels::host {

namespace {

//! Samples that go through all stages together, and stay in the second-level cache.
constexpr size_t samples_of_piece = 8192;
//! Samples whose phasors are the products of one coarse phasor and those of a table.
constexpr size_t fine = 512;

//! The phasors of samples 0 to fine - 1.
struct phasors {
    float re[fine], im[fine];
};

//! Multiplies complex samples, or their conjugates, with coarse and fine phasors.
APERTURE_SIMD void mix_complex(const float* x,
                               const float* table_re,
                               const float* table_im,
                               float re,
                               float im,
                               float sign,
                               size_t count,
                               float* y)
{
    for (size_t i = 0; i < count; i++) {
        const float p_re = re * table_re[i] - im * table_im[i];
        const float p_im = re * table_im[i] + im * table_re[i];
        const float x_re = x[2 * i], x_im = sign * x[2 * i + 1];
        y[2 * i] = x_re * p_re - x_im * p_im;
        y[2 * i + 1] = x_re * p_im + x_im * p_re;
    }
}

//! Multiplies real samples with them.
APERTURE_SIMD void mix_real(const float* x,
                            const float* table_re,
                            const float* table_im,
                            float re,
                            float im,
                            size_t count,
                            float* y)
{
    for (size_t i = 0; i < count; i++) {
        y[2 * i] = x[i] * (re * table_re[i] - im * table_im[i]);
        y[2 * i + 1] = x[i] * (re * table_im[i] + im * table_re[i]);
    }
}

//! Numbers of output samples, both ends included.
struct range {
    int64_t first, last;
};

//! The state of one input.
struct chain {
    std::vector<host_decimator> stages;
    bool begun = false;    // the stages hold the samples of the call before
    std::deque<range> bad; // output samples of samples that are no numbers
};

class host_zoom : public zoom
{
public:
    explicit host_zoom(const parameters& p)
        : d_p(p),
          d_parts(is_complex(p.input) ? 2 : 1),
          d_hop(p.hop()),
          d_length(p.span(1)),
          d_reader(p.input, p.inputs_per_port, samples_of_piece),
          d_chains(p.inputs()),
          d_samples(make_fft_buffer(samples_of_piece * d_parts)),
          d_clamped(p.inputs()),
          d_minima(p.inputs())
    {
        size_t results = samples_of_piece;
        for (auto& c : d_chains) {
            results = samples_of_piece;
            for (const auto& s : p.stages) {
                c.stages.emplace_back(s, results);
                results = c.stages.back().most_results(results);
            }
        }
        d_results = make_fft_buffer(2 * results);
        d_bytes.resize(2 * results);
    }

    std::string implementation() const override { return "host"; }

    void set_oscillator(const oscillator& o, stream&) override
    {
        d_oscillator = o;
        for (size_t i = 0; i < fine; i++) {
            const double angle = -2 * M_PI * o.cycles(int64_t(i));
            d_fine.re[i] = float(std::cos(angle));
            d_fine.im[i] = float(std::sin(angle));
        }
        for (auto& c : d_chains)
            c.begun = false;
    }

    void clear_not_numbers(std::vector<spectrum_of_input>* found) override
    {
        d_found = found;
    }

    void execute(const source* sources,
                 void* const* output,
                 int64_t first,
                 size_t count,
                 stream&) override
    {
        const size_t item = d_p.inputs_per_port * size_of(d_p.output);
        for (int port = 0; port < d_p.ports; port++) {
            chain* chains = d_chains.data() + port * d_p.inputs_per_port;
            if (!sources[port].samples) {
                std::memset(output[port], 0, count * item);
                std::for_each(chains, chains + d_p.inputs_per_port, [](chain& c) {
                    c.begun = false;
                });
                continue;
            }
            d_reader.begin();
            const bool on = sources[port].follows && chains[0].begun;
            for (int i = 0; i < d_p.inputs_per_port; i++)
                begin(chains[i], on);
            const int64_t end = d_p.span(int64_t(count));
            size_t done = 0;
            // all inputs of a piece while their interleaved samples are in the cache
            for (int64_t at = on ? d_length - d_hop : 0; at < end;) {
                const auto piece = size_t(std::min<int64_t>(samples_of_piece, end - at));
                size_t made = 0;
                for (int i = 0; i < d_p.inputs_per_port; i++) {
                    const int input = port * d_p.inputs_per_port + i;
                    read(sources[port], at, piece, first, input, chains[i]);
                    made = filter(chains[i], piece);
                    clear_bad(chains[i], first, done, made, input);
                    write(made, input, i, static_cast<char*>(output[port]) + done * item);
                }
                done += made;
                at += int64_t(piece);
            }
        }
    }

    counts clamped() const override
    {
        return { { d_clamped.begin(), d_clamped.end() },
                 { d_minima.begin(), d_minima.end() } };
    }

private:
    static void begin(chain& c, bool on)
    {
        c.begun = true;
        if (on)
            return;
        for (auto& s : c.stages)
            s.clear();
        c.bad.clear();
    }

    //! Reads and mixes a piece of an input's samples into its first stage.
    void
    read(const source& from, int64_t at, size_t count, int64_t first, int input, chain& c)
    {
        const int i = input % d_p.inputs_per_port;
        const void* samples = d_reader.samples_of(from.samples, at, count, i, true);
        d_minima[input] +=
            d_reader.count_lowest(from.samples,
                                  samples,
                                  at,
                                  std::max<int64_t>(0, int64_t(from.counted) - at),
                                  int64_t(count),
                                  i);
        float* x = d_samples.get();
        d_reader.floats_of(samples, count, x);
        int64_t number = first * d_hop + at; // the first sample's, for the oscillator
        if ((d_p.input == sample_type::fc32 || d_p.input == sample_type::f32) &&
            !all_numbers(x, count * d_parts))
            for (size_t k = 0; k < count; k++) {
                const float* sample = x + k * d_parts;
                if (!is_number(sample[0]) || !is_number(sample[d_parts - 1])) {
                    std::fill_n(x + k * d_parts, d_parts, 0.f);
                    mark(c, number + int64_t(k));
                }
            }
        float* to = c.stages.front().room();
        while (count > 0) {
            const auto within = size_t(number % int64_t(fine));
            const size_t row = std::min(count, fine - within);
            const double angle =
                -2 * M_PI * d_oscillator.cycles(number - int64_t(within));
            const auto re = float(std::cos(angle)), im = float(std::sin(angle));
            const float *table_re = d_fine.re + within, *table_im = d_fine.im + within;
            const float sign = d_p.conjugated ? -1 : 1;
            if (d_parts == 2)
                mix_complex(x, table_re, table_im, re, im, sign, row, to);
            else
                mix_real(x, table_re, table_im, re, im, row, to);
            x += row * d_parts;
            to += row * 2;
            number += int64_t(row);
            count -= row;
        }
    }

    //! Notes the output samples that have a sample under their filter.
    void mark(chain& c, int64_t sample) const
    {
        const int64_t before = sample - d_length + 1;
        const range r{ before <= 0 ? 0 : (before + d_hop - 1) / d_hop, sample / d_hop };
        if (!c.bad.empty() && r.first <= c.bad.back().last + 1)
            c.bad.back().last = r.last;
        else
            c.bad.push_back(r);
    }

    //! Takes a piece through all stages into d_results. \returns the samples that come
    //! out
    size_t filter(chain& c, size_t count)
    {
        for (size_t s = 0; s < c.stages.size(); s++)
            count = c.stages[s].run(count,
                                    s + 1 < c.stages.size() ? c.stages[s + 1].room()
                                                            : d_results.get());
        return count;
    }

    //! Clears results of samples that are no numbers. \param done results of the call
    //! before
    void clear_bad(chain& c, int64_t first, size_t done, size_t count, int input)
    {
        const int64_t begin = first + int64_t(done), end = begin + int64_t(count);
        while (!c.bad.empty() && c.bad.front().last < begin)
            c.bad.pop_front();
        const float value = d_found ? 0 : std::numeric_limits<float>::quiet_NaN();
        for (const auto& r : c.bad)
            for (int64_t m = std::max(begin, r.first); m <= std::min(end - 1, r.last);
                 m++) {
                std::fill_n(d_results.get() + 2 * (m - begin), 2, value);
                if (d_found)
                    d_found->push_back({ m - first, input });
            }
    }

    //! Writes results as samples of input i of a port.
    void write(size_t count, int input, int i, char* to)
    {
        if (d_p.output == sample_type::sc8) {
            d_clamped[input] += quantise(d_results.get(), count, d_bytes.data());
            interleave<uint16_t>(d_bytes.data(), count, i, to);
        } else {
            interleave<uint64_t>(d_results.get(), count, i, to);
        }
    }
    template <class sample>
    void interleave(const void* from, size_t count, int i, char* to) const
    {
        const size_t stride = d_p.inputs_per_port * sizeof(sample);
        if (d_p.inputs_per_port == 1) {
            std::memcpy(to, from, count * sizeof(sample));
            return;
        }
        const char* in = static_cast<const char*>(from);
        to += i * sizeof(sample);
        for (size_t m = 0; m < count; m++)
            std::memcpy(to + m * stride, in + m * sizeof(sample), sizeof(sample));
    }

    const parameters d_p;
    const int d_parts; // components of a sample
    const int64_t d_hop, d_length;
    sample_reader d_reader;
    std::vector<chain> d_chains; // [input]
    oscillator d_oscillator;
    phasors d_fine{};
    fft_buffer d_samples; // a piece, as floats
    fft_buffer d_results; // samples that come out of a piece
    std::vector<int8_t> d_bytes;
    std::vector<spectrum_of_input>* d_found = nullptr; // see clear_not_numbers()
    // other threads read these while this one counts
    std::vector<std::atomic<uint64_t>> d_clamped, d_minima;
};

} // namespace

//! Mixed, and filtered by vectors of taps, in single precision, one input after the
//! other.
template <>
std::unique_ptr<zoom> make(const zoom::parameters& p, const std::string&)
{
    return std::make_unique<host_zoom>(p);
}

} // namespace gr::aperture::kernels::host
