/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/measured_fft.h"
#include "kernels/common/not_numbers.h"
#include "kernels/common/quantise.h"
#include "kernels/common/sample_reader.h"
#include "kernels/common/simd.h"
#include "kernels/pfb/host_fir.h"
#include "kernels/pfb/pfb.h"
#include <volk/volk.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

//! Writes y[k] gains[k] as sc8; counts the complex samples that did not fit.
uint64_t
scale_and_quantise(const cfloat* y, const cfloat* gains, int8_t* out, size_t channels)
{
    constexpr size_t at_once = 512; // channels that stay in the first-level cache
    cfloat scaled[at_once];
    uint64_t clamped = 0;
    for (size_t k = 0; k < channels; k += at_once) {
        const size_t count = std::min(channels - k, at_once);
        volk_32fc_x2_multiply_32fc(scaled, y + k, gains + k, unsigned(count));
        clamped += quantise(reinterpret_cast<const float*>(scaled), count, out + 2 * k);
    }
    return clamped;
}

/*!
 * Rotates gains: rotated[k] = gains[k] exp(2 pi i (start + k slope)). The phasor is the
 * product of a fine and a coarse one, and these are powers of two phasors in double
 * precision: a sine of each channel would take longer than the transform.
 */
APERTURE_SIMD void rotate_gains(
    const cfloat* gains, double start, double slope, cfloat* rotated, size_t channels)
{
    constexpr size_t fine = 64;
    struct phasor {
        double re, im;
        explicit phasor(double turns)
            : re(std::cos(2 * M_PI * (turns - std::floor(turns)))),
              im(std::sin(2 * M_PI * (turns - std::floor(turns))))
        {
        }
        void rotate(const phasor& by)
        {
            const double old = re;
            re = old * by.re - im * by.im;
            im = old * by.im + im * by.re;
        }
    };
    float step_re[fine], step_im[fine];
    phasor step(0);
    const phasor one(slope);
    for (size_t i = 0; i < fine; i++) {
        step_re[i] = float(step.re);
        step_im[i] = float(step.im);
        step.rotate(one);
    }
    phasor coarse(start);
    const phasor row(fine * slope);
    const auto* from = reinterpret_cast<const float*>(gains);
    auto* to = reinterpret_cast<float*>(rotated);
    for (size_t first = 0; first < channels; first += fine) {
        const size_t count = std::min(channels - first, fine);
        const float c = float(coarse.re), s = float(coarse.im);
        for (size_t k = 0; k < count; k++) {
            const float re = step_re[k] * c - step_im[k] * s;
            const float im = step_re[k] * s + step_im[k] * c;
            const float g_re = from[2 * (first + k)], g_im = from[2 * (first + k) + 1];
            to[2 * (first + k)] = g_re * re - g_im * im;
            to[2 * (first + k) + 1] = g_re * im + g_im * re;
        }
        coarse.rotate(row);
    }
}

class host_pfb : public pfb
{
public:
    explicit host_pfb(const parameters& p)
        : d_p(p),
          d_parts(is_complex(p.input) ? 2 : 1),
          d_floats(size_t(p.length()) * d_parts),
          d_batch(batch_of(p)),
          d_fir(signed_prototype(p), p.taps, d_floats, d_batch),
          d_transform(measured_fft::of(p.length(), d_parts == 1)),
          d_lines(make_fft_buffer(d_batch * d_fir.stride())),
          d_spectrum(make_fft_buffer(2 * (p.channels + 1))),
          d_gains(size_t(p.inputs()) * p.kept_channels(), 1),
          d_unit_gains(p.inputs(), true),
          d_reader(p.input, p.inputs_per_port, p.span(d_batch)),
          d_rotated(p.kept_channels()),
          d_shifts(p.inputs()),
          d_clamped(p.inputs()),
          d_minima(p.inputs())
    {
        if (p.oversampled()) {
            const size_t floats = p.span(d_batch) * d_parts;
            d_converted = make_fft_buffer(floats + host_fir::padding());
            std::fill_n(d_converted.get(), floats + host_fir::padding(), 0.f);
            d_row = make_fft_buffer(d_fir.stride());
        }
    }

    std::string implementation() const override { return "host"; }

    void set_gains(const cfloat* gains, stream&) override
    {
        std::copy_n(gains, d_gains.size(), d_gains.begin());
        for (int input = 0; input < d_p.inputs(); input++) {
            const cfloat* of_input = gains + size_t(d_p.kept_channels()) * input;
            d_unit_gains[input] = std::all_of(of_input,
                                              of_input + d_p.kept_channels(),
                                              [](cfloat g) { return g == 1.f; });
        }
    }

    void set_delays(const delay* delays, stream&) override
    {
        d_slopes.clear();
        d_shifts.assign(d_p.inputs(), 0);
        for (int input = 0; delays && input < d_p.inputs(); input++) {
            d_slopes.push_back(
                phase_slope_of(delays[input], d_p.channels, d_parts == 1, d_p.inverted));
            d_shifts[input] = delays[input].samples;
        }
        d_spectrum_number = 0;
        d_alike = std::all_of(d_shifts.begin(), d_shifts.end(), [&](int64_t shift) {
            return shift == d_shifts[0];
        });
    }

    void set_position(int64_t spectrum, stream&) override { d_position = spectrum; }

    void
    execute(const source* sources, void* const* spectra, size_t count, stream&) override
    {
        const size_t item =
            size_t(d_p.inputs_per_port) * d_p.kept_channels() * size_of(d_p.output);
        for (int port = 0; port < d_p.ports; port++) {
            if (!sources[port].samples) {
                std::memset(spectra[port], 0, count * item);
                continue;
            }
            d_reader.begin();
            // all inputs of a batch while their interleaved samples are in the cache
            for (size_t first = 0; first < count; first += d_batch)
                for (int i = 0; i < d_p.inputs_per_port; i++)
                    channelize(sources[port],
                               spectra[port],
                               first,
                               std::min(d_batch, count - first),
                               port,
                               i);
        }
        d_spectrum_number += count;
        d_position += int64_t(count);
    }

    void clear_not_numbers(std::vector<spectrum_of_input>* found) override
    {
        d_found = found;
    }

    counts clamped() const override
    {
        return { { d_clamped.begin(), d_clamped.end() },
                 { d_minima.begin(), d_minima.end() } };
    }

private:
    //! Returns the spectra that are filtered together: as many as fit into the
    //! second-level cache, with the interleaved samples of all inputs of a port.
    static size_t batch_of(const parameters& p)
    {
        const int64_t floats =
            int64_t(p.length()) * (is_complex(p.input) ? 2 : 1) * p.inputs_per_port;
        return size_t(std::clamp<int64_t>(65536 / floats, 8, 64));
    }

    //! Returns the prototype for each float of a sample, with the signs of other
    //! operations on samples.
    static std::vector<float> signed_prototype(const parameters& p)
    {
        if (!is_complex(p.input))
            return p.prototype;
        std::vector<float> h;
        for (size_t j = 0; j < p.prototype.size(); j++) {
            // (-1)^j moves channel 0 to -fs/2; odd numbers of channels are rotated
            const bool negative = j % 2 && p.length() % 2 == 0;
            const float real = negative ? -p.prototype[j] : p.prototype[j];
            h.push_back(real);
            h.push_back(p.inverted ? -real : real); // conjugated
        }
        return h;
    }

    //! Filters samples x, as samples_of() gives them, into lines of transforms.
    //! \param number of the first spectrum in the call
    void filter(const void* x, size_t number, size_t spectra)
    {
        const auto run = [&](const auto* samples) {
            if (d_p.oversampled())
                filter_apart(samples, number, spectra);
            else
                d_fir.filter(samples, spectra, d_lines.get());
        };
        if (d_p.input == sample_type::sc8 || d_p.input == sample_type::s8)
            run(static_cast<const int8_t*>(x));
        else if (d_p.input == sample_type::sc16 || d_p.input == sample_type::s16)
            run(static_cast<const int16_t*>(x));
        else
            run(static_cast<const float*>(x));
    }

    /*!
     * Filters oversampled spectra one by one. The transform counts its samples from a
     * multiple of its length, so that a row begins in the middle of a line and goes on at
     * its begin.
     */
    template <class number>
    void filter_apart(const number* x, size_t first, size_t spectra)
    {
        const size_t length = d_p.length();
        convert(x, d_converted.get(), d_p.span(spectra) * d_parts);
        for (size_t m = 0; m < spectra; m++) {
            d_fir.filter_one(d_converted.get() + m * d_p.hop() * d_parts, d_row.get());
            const size_t passed = (d_position + first + m) % length * d_p.hop() % length;
            // the prototype has the sign (-1)^j of the samples from the row's first one
            // on
            const float sign = d_parts == 2 && length % 2 == 0 && passed % 2 ? -1 : 1;
            float* line = d_lines.get() + m * d_fir.stride();
            const size_t here = (length - passed) * d_parts, rest = d_floats - here;
            volk_32f_s32f_multiply_32f(
                line + passed * d_parts, d_row.get(), sign, unsigned(here));
            volk_32f_s32f_multiply_32f(line, d_row.get() + here, sign, unsigned(rest));
        }
    }

    //! Makes spectra first ... first+count-1 of input i of a port.
    void channelize(
        const source& from, void* spectra, size_t first, size_t count, int port, int i)
    {
        const size_t hop = d_p.hop(), n = d_p.kept_channels();
        const int input = port * d_p.inputs_per_port + i;
        const int64_t start = int64_t(first * hop) - d_shifts[input];
        const size_t length = d_p.span(count);
        const size_t passed =
            first ? d_p.shared() : 0; // samples that the batch before has counted
        const size_t counted = std::max(from.counted, first * hop + passed) - first * hop;
        const void* x = d_reader.samples_of(from.samples, start, length, i, d_alike);
        d_minima[input] += d_reader.count_lowest(
            from.samples, x, start, int64_t(counted), int64_t(length), i);
        filter(x, first, count);
        for (size_t m = 0; m < count; m++) {
            const size_t where = ((first + m) * d_p.inputs_per_port + i) * n;
            float* line = d_lines.get() + m * d_fir.stride();
            const bool numbers =
                d_p.output == sample_type::sc8
                    ? transform(line,
                                first + m,
                                input,
                                static_cast<int8_t*>(spectra) + 2 * where)
                    : transform(
                          line, first + m, input, static_cast<cfloat*>(spectra) + where);
            if (!numbers) {
                const size_t size = size_of(d_p.output);
                std::memset(static_cast<char*>(spectra) + where * size, 0, n * size);
                d_found->push_back({ int64_t(first + m), input });
            }
        }
    }

    /*!
     * Returns whether a spectrum is to be kept: each channel is a sum over all samples
     * under the prototype, so one NaN makes all of them NaN.
     */
    bool is_kept(const cfloat* y) const
    {
        return !d_found || (is_number(y->real()) && is_number(y->imag()));
    }

    //! Transforms a filtered line to sc8 [channel]. \returns is_kept()
    bool transform(float* line, size_t spectrum, int input, int8_t* out)
    {
        transform(line, d_spectrum.get());
        const auto* y =
            reinterpret_cast<const cfloat*>(d_spectrum.get()) + d_p.first_kept;
        if (!is_kept(y))
            return false;
        const size_t count = d_p.kept_channels();
        d_clamped[input] +=
            has_gains(input)
                ? scale_and_quantise(y, gains_of(input, spectrum), out, count)
                : quantise(reinterpret_cast<const float*>(y), count, out);
        return true;
    }

    //! Transforms to fc32.
    bool transform(float* line, size_t spectrum, int input, cfloat* out)
    {
        // real samples give one more result than there are channels
        if (d_parts == 2 && d_p.kept_channels() == d_p.channels && !has_gains(input) &&
            measured_fft::aligned(out)) {
            transform(line, reinterpret_cast<float*>(out));
            return is_kept(out);
        }
        transform(line, d_spectrum.get());
        const auto* y =
            reinterpret_cast<const cfloat*>(d_spectrum.get()) + d_p.first_kept;
        volk_32fc_x2_multiply_32fc(
            out, y, gains_of(input, spectrum), unsigned(d_p.kept_channels()));
        return is_kept(y);
    }

    void transform(float* line, float* spectrum)
    {
        d_transform.execute(line, spectrum);
        if (d_parts == 1 && d_p.inverted)
            mirror();
        if (d_parts == 2 && d_p.length() % 2) {
            auto* y = reinterpret_cast<cfloat*>(spectrum);
            std::rotate(y, y + d_p.channels - d_p.channels / 2, y + d_p.channels);
        }
    }

    //! Returns whether there are gains to multiply with.
    bool has_gains(int input) const { return !d_slopes.empty() || !d_unit_gains[input]; }

    //! Returns the gains [channel] of an input, for a spectrum of this call.
    const cfloat* gains_of(int input, size_t spectrum)
    {
        const cfloat* gains = d_gains.data() + size_t(d_p.kept_channels()) * input;
        if (d_slopes.empty())
            return gains;
        const double number = d_spectrum_number + spectrum;
        const double slope = d_slopes[input].slope(number);
        rotate_gains(gains,
                     d_slopes[input].start(number) + d_p.first_kept * slope,
                     slope,
                     d_rotated.data(),
                     d_p.kept_channels());
        return d_rotated.data();
    }

    //! Mirrors the gains for real samples of a mirrored band: channels in reverse order,
    //! with conjugate phasors.
    void mirror()
    {
        auto* y = reinterpret_cast<cfloat*>(d_spectrum.get());
        std::reverse(y, y + d_p.channels);
        for (int k = 0; k < d_p.channels; k++)
            y[k] = std::conj(y[k]);
    }

    const parameters d_p;
    const int d_parts;     // components of a sample
    const size_t d_floats; // floats of a transform
    const size_t d_batch;  // spectra that are filtered together
    host_fir d_fir;
    const measured_fft& d_transform;
    fft_buffer d_lines;             // [spectrum][d_fir.stride()], of a batch
    fft_buffer d_spectrum;          // [channel]
    std::vector<cfloat> d_gains;    // [input][channel that is kept]
    std::vector<bool> d_unit_gains; // [input], whether all are 1
    sample_reader d_reader;
    fft_buffer d_converted, d_row;     // the same as float, and a row of them, filtered
    std::vector<cfloat> d_rotated;     // gains [channel] of a delayed spectrum
    std::vector<phase_slope> d_slopes; // [input]; empty: no delays
    std::vector<int64_t> d_shifts;     // samples [input]
    bool d_alike = true;               // all shifts are the same
    uint64_t d_spectrum_number = 0;    // number of spectra since the delays were set
    int64_t d_position = 0;            // number of the call's first spectrum
    std::vector<spectrum_of_input>* d_found = nullptr; // see clear_not_numbers()
    // other threads read these while this one counts
    std::vector<std::atomic<uint64_t>> d_clamped, d_minima;
};

} // namespace

//! FIR in single precision, FFTW, then gain and conversion, one input after the other.
template <>
std::unique_ptr<pfb> make(const pfb::parameters& p, const std::string&)
{
    return std::make_unique<host_pfb>(p);
}

} // namespace gr::aperture::kernels::host
