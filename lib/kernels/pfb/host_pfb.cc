/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/fftw.h"
#include "kernels/common/simd.h"
#include "kernels/pfb/host_pfb.h"
#include <volk/volk.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

//! Two loops in one: a sample of `parts` numbers out of each `stride`, as float.
//! 8-bit -128 is read as -127; `flip` is the sign of the imaginary part.
#define APERTURE_UNPACK(name, type, low)                                                \
    APERTURE_SIMD void name(                                                            \
        const type* in, float* out, size_t count, size_t stride, int parts, float flip) \
    {                                                                                   \
        if (parts == 1) {                                                               \
            for (size_t i = 0; i < count; i++)                                          \
                out[i] = std::max<float>(in[i * stride], low);                          \
        } else {                                                                        \
            for (size_t i = 0; i < count; i++) {                                        \
                out[2 * i] = std::max<float>(in[i * stride], low);                      \
                out[2 * i + 1] = std::max<float>(in[i * stride + 1], low) * flip;       \
            }                                                                           \
        }                                                                               \
    }
APERTURE_UNPACK(unpack_float, float, -INFINITY)
APERTURE_UNPACK(unpack_short, int16_t, -INFINITY)
APERTURE_UNPACK(unpack_byte, int8_t, -127.f)
#undef APERTURE_UNPACK

//! sc4, -8 read as -7
APERTURE_SIMD void
unpack_nibbles(const int8_t* in, float* out, size_t count, size_t stride, float flip)
{
    for (size_t i = 0; i < count; i++) {
        const int8_t both = in[i * stride];
        out[2 * i] = std::max(both >> 4, -7);
        out[2 * i + 1] = std::max(int8_t(both * 16) >> 4, -7) * flip;
    }
}

//! Samples of 9 to 12 bits, an even number; `first` and `stride` in bits. They begin at
//! even bits, so each lies within two bytes.
APERTURE_SIMD void unpack_bits(
    const uint8_t* in, size_t first, float* out, size_t count, size_t stride, int bits)
{
    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i * stride;
        const int two_bytes = in[at / 8] << 8 | in[at / 8 + 1];
        out[i] = int16_t(two_bytes << at % 8) >> (16 - bits);
    }
}

//! out[j] = sum_t h[t step + j] x[t step + j], j below step
APERTURE_SIMD void fir(const float* x, const float* h, float* out, size_t step, int taps)
{
    constexpr size_t block = 512; // of sums that stay in the first-level cache
    for (size_t start = 0; start < step; start += block) {
        const size_t end = std::min(step, start + block);
        for (size_t j = start; j < end; j++)
            out[j] = x[j] * h[j];
        for (int t = 1; t < taps; t++) {
            const float* xt = x + t * step;
            const float* ht = h + t * step;
            for (size_t j = start; j < end; j++)
                out[j] += xt[j] * ht[j];
        }
    }
}

//! Half to even, within +-127, NaN as 0; counts the complex values that did not fit.
APERTURE_SIMD uint64_t quantise(const float* y, int8_t* out, size_t channels)
{
    uint32_t clamped = 0; // at most 65536 channels
    for (size_t k = 0; k < channels; k++) {
        int32_t outside = 0;
        for (int part = 0; part < 2; part++) {
            const float v = y[2 * k + part];
            // a float beyond int32 has no defined rounding: 128 is as much too large
            const float near = v != v ? 0 : std::min(std::max(v, -128.f), 128.f);
            // adding 1.5 2^23 leaves the integer, rounded half to even, in the low bits
            const float shifted = near + 12582912.f;
            int32_t bits;
            std::memcpy(&bits, &shifted, sizeof bits);
            const int32_t rounded = bits - 0x4b400000;
            const int32_t fitting = std::min(std::max(rounded, -127), 127);
            outside |= (fitting != rounded) | (v != v);
            out[2 * k + part] = int8_t(fitting);
        }
        clamped += outside;
    }
    return clamped;
}

/*!
 * rotated[k] = gains[k] exp(2 pi i (start + k slope)). The phasor is the product of a
 * fine and a coarse one: a sine of each channel would take as long as the transform.
 */
void rotate_gains(
    const cfloat* gains, double start, double slope, cfloat* rotated, size_t channels)
{
    constexpr size_t fine = 64;
    const auto phasor = [](double turns) {
        return cfloat(std::polar(1., 2 * M_PI * (turns - std::floor(turns))));
    };
    cfloat steps[fine];
    for (size_t i = 0; i < fine; i++)
        steps[i] = phasor(i * slope);
    for (size_t first = 0; first < channels; first += fine) {
        const cfloat coarse = phasor(start + first * slope);
        const size_t count = std::min(channels - first, fine);
        volk_32fc_x2_multiply_32fc(rotated + first, gains + first, steps, count);
        for (size_t k = first; k < first + count; k++) {
            const float re = rotated[k].real(), im = rotated[k].imag();
            rotated[k] = { re * coarse.real() - im * coarse.imag(),
                           re * coarse.imag() + im * coarse.real() };
        }
    }
}

//! Samples of -128, those with one in either part counted once.
APERTURE_SIMD uint64_t count_minima(const int8_t* in,
                                    size_t count,
                                    size_t stride,
                                    int parts)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        bool found = in[i * stride] == -128;
        if (parts == 2)
            found |= in[i * stride + 1] == -128;
        total += found;
    }
    return total;
}

//! sc4 with a part of -8.
APERTURE_SIMD uint64_t count_nibble_minima(const int8_t* in, size_t count, size_t stride)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t both = in[i * stride];
        total += (both & 0xf0) == 0x80 || (both & 0xf) == 8;
    }
    return total;
}

class host_pfb : public pfb
{
public:
    explicit host_pfb(const parameters& p)
        : d_p(p),
          d_parts(is_complex(p.input) ? 2 : 1),
          d_floats(size_t(p.step()) * d_parts),
          d_batch(std::max(p.taps, 32768 / p.step())),
          d_prototype(d_floats * p.taps),
          d_gains(size_t(p.inputs()) * p.channels, 1),
          d_line(make_fft_buffer(d_floats)),
          d_spectrum(make_fft_buffer(2 * (p.channels + 1))),
          d_scaled(p.channels),
          d_rotated(p.channels),
          d_shifts(p.inputs()),
          d_clamped(p.inputs()),
          d_minima(p.inputs())
    {
        // of complex samples, (-1)^j moves channel 0 to -fs/2
        for (size_t j = 0; j < p.prototype.size(); j++)
            for (int part = 0; part < d_parts; part++)
                d_prototype[j * d_parts + part] =
                    d_parts == 2 && j % 2 ? -p.prototype[j] : p.prototype[j];
        if (!in_place())
            d_unpacked.resize((d_batch - 1 + p.taps) * d_floats);

        // FFTW_MEASURE may choose differently from run to run, and its rounding with it
        make_planner_thread_safe();
        auto* spectrum = reinterpret_cast<fftwf_complex*>(d_spectrum.get());
        if (d_parts == 2)
            d_plan.reset(fftwf_plan_dft_1d(p.step(),
                                           reinterpret_cast<fftwf_complex*>(d_line.get()),
                                           spectrum,
                                           FFTW_FORWARD,
                                           FFTW_ESTIMATE));
        else
            d_plan.reset(
                fftwf_plan_dft_r2c_1d(p.step(), d_line.get(), spectrum, FFTW_ESTIMATE));
        if (!d_plan)
            throw std::runtime_error("FFTW has no plan for " + std::to_string(p.step()) +
                                     " points");
    }

    std::string implementation() const override { return "host"; }

    void set_gains(const cfloat* gains, stream&) override
    {
        std::copy_n(gains, d_gains.size(), d_gains.begin());
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
    }

    void
    execute(const source* sources, void* const* spectra, size_t count, stream&) override
    {
        const size_t item = d_p.inputs_per_port * d_p.channels * size_of(d_p.output);
        for (int port = 0; port < d_p.ports; port++) {
            if (!sources[port].samples) {
                std::memset(spectra[port], 0, count * item);
                continue;
            }
            // all inputs of a batch while their samples, which lie between each other,
            // are in the cache
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
    }

    counts clamped() const override
    {
        return { { d_clamped.begin(), d_clamped.end() },
                 { d_minima.begin(), d_minima.end() } };
    }

private:
    //! The samples can be used where they lie.
    bool in_place() const
    {
        return d_p.inputs_per_port == 1 && !flipped() &&
               (d_p.input == sample_type::fc32 || d_p.input == sample_type::f32);
    }

    bool flipped() const { return d_parts == 2 && d_p.inverted; }

    //! Samples from `first` on, of input i of a port, as float.
    const float* unpack(const void* samples, int64_t first, size_t count, int i)
    {
        const size_t stride = size_t(d_p.inputs_per_port) * d_parts;
        const int64_t start = first * int64_t(stride) + i * d_parts;
        const float flip = flipped() ? -1 : 1;
        float* out = d_unpacked.data();
        switch (d_p.input) {
        case sample_type::fc32:
        case sample_type::f32: {
            auto* in = static_cast<const float*>(samples) + start;
            if (in_place())
                return in;
            unpack_float(in, out, count, stride, d_parts, flip);
            break;
        }
        case sample_type::sc16:
        case sample_type::s16:
            unpack_short(static_cast<const int16_t*>(samples) + start,
                         out,
                         count,
                         stride,
                         d_parts,
                         flip);
            break;
        case sample_type::sc8:
        case sample_type::s8:
            unpack_byte(static_cast<const int8_t*>(samples) + start,
                        out,
                        count,
                        stride,
                        d_parts,
                        flip);
            break;
        case sample_type::sc4:
            unpack_nibbles(static_cast<const int8_t*>(samples) + start / 2,
                           out,
                           count,
                           stride / 2,
                           flip);
            break;
        case sample_type::s12:
        case sample_type::s10: {
            // samples before the first one lie at a whole number of bytes, too
            const int bits = bits_of(d_p.input);
            const int64_t whole = start & ~int64_t(7);
            unpack_bits(static_cast<const uint8_t*>(samples) + whole * bits / 8,
                        (start - whole) * bits,
                        out,
                        count,
                        stride * bits,
                        bits);
            break;
        }
        }
        return out;
    }

    //! Counts what is read as something else: the lowest number of 8 and 4 bits.
    void count_lowest(const source& from, int64_t first, int64_t end, int input, int i)
    {
        const auto* bytes = static_cast<const int8_t*>(from.samples);
        const int64_t stride = d_p.inputs_per_port;
        if (first >= end)
            return;
        if (d_p.input == sample_type::sc4)
            d_minima[input] +=
                count_nibble_minima(bytes + first * stride + i, end - first, stride);
        if (d_p.input == sample_type::sc8 || d_p.input == sample_type::s8)
            d_minima[input] += count_minima(bytes + (first * stride + i) * d_parts,
                                            end - first,
                                            stride * d_parts,
                                            d_parts);
    }

    //! Spectra first ... first+count-1 of input i of a port.
    void channelize(
        const source& from, void* spectra, size_t first, size_t count, int port, int i)
    {
        const size_t step = d_p.step(), n = d_p.channels;
        const int input = port * d_p.inputs_per_port + i;
        const int64_t start = int64_t(first * step) - d_shifts[input];
        const size_t length = (count - 1 + d_p.taps) * step;
        const size_t passed = first ? (d_p.taps - 1) * step : 0; // by the batch before
        const size_t counted =
            std::max(from.counted, first * step + passed) - first * step;
        count_lowest(from, start + counted, start + length, input, i);
        const float* x = unpack(from.samples, start, length, i);
        for (size_t m = 0; m < count; m++) {
            fir(x + m * d_floats, d_prototype.data(), d_line.get(), d_floats, d_p.taps);
            fftwf_execute(d_plan.get());
            if (d_parts == 1 && d_p.inverted)
                mirror();
            const size_t where = ((first + m) * d_p.inputs_per_port + i) * n;
            const bool rounds = d_p.output == sample_type::sc8;
            cfloat* scaled =
                rounds ? d_scaled.data() : static_cast<cfloat*>(spectra) + where;
            volk_32fc_x2_multiply_32fc(scaled,
                                       reinterpret_cast<const cfloat*>(d_spectrum.get()),
                                       gains_of(input, first + m),
                                       n);
            if (rounds)
                d_clamped[input] += quantise(reinterpret_cast<const float*>(scaled),
                                             static_cast<int8_t*>(spectra) + 2 * where,
                                             n);
        }
    }

    //! [channel], of an input, for a spectrum of this call.
    const cfloat* gains_of(int input, size_t spectrum)
    {
        const cfloat* gains = d_gains.data() + size_t(d_p.channels) * input;
        if (d_slopes.empty())
            return gains;
        const double number = d_spectrum_number + spectrum;
        rotate_gains(gains,
                     d_slopes[input].start(number),
                     d_slopes[input].slope(number),
                     d_rotated.data(),
                     d_p.channels);
        return d_rotated.data();
    }

    //! Of real samples of a mirrored band: channels in reverse, and their phasors turn
    //! back.
    void mirror()
    {
        auto* y = reinterpret_cast<cfloat*>(d_spectrum.get());
        std::reverse(y, y + d_p.channels);
        for (int k = 0; k < d_p.channels; k++)
            y[k] = std::conj(y[k]);
    }

    const parameters d_p;
    const int d_parts;     // numbers of a sample
    const size_t d_floats; // numbers of a step
    const size_t d_batch;  // spectra that are unpacked together
    std::vector<float> d_prototype;
    std::vector<cfloat> d_gains; // [input][channel]
    std::vector<float> d_unpacked;
    fft_buffer d_line, d_spectrum;
    std::vector<cfloat> d_scaled;      // [channel], of a spectrum
    std::vector<cfloat> d_rotated;     // gains [channel] of a delayed spectrum
    std::vector<phase_slope> d_slopes; // [input]; empty: no delays
    std::vector<int64_t> d_shifts;     // samples [input]
    uint64_t d_spectrum_number = 0;    // of those since the delays were set
    plan_ptr d_plan;
    // read from other threads while this one counts
    std::vector<std::atomic<uint64_t>> d_clamped, d_minima;
};

} // namespace

std::unique_ptr<pfb> make_pfb(const pfb::parameters& p)
{
    return std::make_unique<host_pfb>(p);
}

} // namespace gr::aperture::kernels::host
