/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/fft.h"
#include "kernels/gpu/phasor.cuh"
#include "kernels/gpu/quantise.cuh"
#include "kernels/gpu/samples.cuh"
#include "kernels/pfb/fused/fused.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/tensor/all_filter_banks.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;
//! Bytes of lines between the kernels: they stay in the cache of today's larger GPUs.
constexpr size_t scratch_bytes = 32 << 20;

/*!
 * The extents of a call. A line is one spectrum of one input: lines
 * [port][spectrum][input of the port].
 */
struct extents {
    int length, hop, channels, taps, inputs_per_port;
    int first, kept; // channels that are written
    int64_t spectra; // spectra of the call
    int rotation;    // samples before the call's first spectrum, modulo length
    bool inverted;
};

struct line {
    int port, input;
    int64_t spectrum;
    __device__ line(int64_t number, const extents& x)
        : port(int(number / (x.spectra * x.inputs_per_port))),
          input(int(number % x.inputs_per_port)),
          spectrum(number / x.inputs_per_port % x.spectra)
    {
    }
};

/*!
 * Unpacks and filters: filtered[(r + j) mod L] = sum_t h[t L + j] x[t L + j] of each
 * line, with L = length and r the samples before the line. Grid: j, lines from first_line
 * on. \param shifts [input], samples by which inputs are read earlier, or nullptr \param
 * minima for each input, samples with the lowest integer of 8 or 4 bits, each counted by
 * one thread
 */
template <class In>
__global__ void __launch_bounds__(threads) filter(const pfb::source* __restrict__ sources,
                                                  const float* __restrict__ prototype,
                                                  const int64_t* __restrict__ shifts,
                                                  float* __restrict__ filtered,
                                                  unsigned long long* minima,
                                                  int64_t first_line,
                                                  extents x)
{
    constexpr int parts = In::complex ? 2 : 1;
    const int j = blockIdx.x * threads + threadIdx.x;
    if (j >= x.length)
        return;
    const line l(first_line + blockIdx.y, x);
    const int input = l.port * x.inputs_per_port + l.input;
    const int before =
        x.hop == x.length ? 0 : int((x.rotation + l.spectrum * x.hop) % x.length);
    // the prototype has the sign (-1)^j, the transform wants (-1)^(before + j); those of
    // odd length have none
    const float sign = In::complex && x.length % 2 == 0 && before % 2 ? -1 : 1;
    const pfb::source& from = sources[l.port];
    float sums[parts] = {};
    if (from.samples) {
        const int64_t shift = shifts ? shifts[input] : 0;
        int found = 0;
        for (int t = 0; t < x.taps; t++) {
            const int64_t time = l.spectrum * x.hop + t * x.length + j;
            const int64_t sample = (time - shift) * x.inputs_per_port + l.input;
            const float h = sign * prototype[t * x.length + j];
            bool lowest = false;
#pragma unroll
            for (int part = 0; part < parts; part++) {
                const float v = In::number(from.samples, sample * parts + part, lowest);
                sums[part] += (part == 1 && x.inverted ? -v : v) * h;
            }
            // other lines start with the later samples
            const bool mine = (t == 0 && j < x.hop) || l.spectrum == x.spectra - 1;
            found += lowest && mine && time >= int64_t(from.counted);
        }
        if (found)
            atomicAdd(minima + input, (unsigned long long)(found));
    }
    const int place = before + j < x.length ? before + j : before + j - x.length;
    float* to = filtered + (int64_t(blockIdx.y) * x.length + place) * parts;
#pragma unroll
    for (int part = 0; part < parts; part++)
        to[part] = sums[part];
}

//! Applies phase and gain, and converts. Grid: channels that are written, lines from
//! first_line on.
//! \param slopes [input] or nullptr
//! \param number index of the call's first spectrum, for the slopes
template <class voltage, bool Real>
__global__ void __launch_bounds__(threads)
    epilogue(const float2* __restrict__ transformed,
             const float2* __restrict__ gains,
             const phase_slope* __restrict__ slopes,
             double number,
             const pfb::source* __restrict__ sources,
             void* const* __restrict__ ports,
             unsigned long long* clamped,
             int64_t first_line,
             extents x)
{
    const int k = blockIdx.x * threads + threadIdx.x;
    const line l(first_line + blockIdx.y, x);
    const int input = l.port * x.inputs_per_port + l.input;
    bool outside = false;
    if (k < x.kept) {
        // real samples of a mirrored band: reverse order, with conjugate phasors
        const bool mirrored = Real && x.inverted;
        const int64_t length = x.channels + (Real ? 1 : 0);
        const int channel = x.first + k;
        int place = mirrored ? x.channels - 1 - channel : channel;
        if (!Real && x.channels % 2) // the transform begins with the middle channel
            place = (channel + x.channels - x.channels / 2) % x.channels;
        float2 y = transformed[blockIdx.y * length + place];
        if (mirrored)
            y.y = -y.y;
        float2 gain = gains[int64_t(input) * x.kept + k];
        if (slopes) {
            const phase_slope& p = slopes[input];
            const double m = number + l.spectrum;
            const float2 turn = phasor(p.start0 + m * p.start_rate +
                                       channel * (p.slope0 + m * p.slope_rate));
            gain = make_float2(gain.x * turn.x - gain.y * turn.y,
                               gain.x * turn.y + gain.y * turn.x);
        }
        // without a sample there is nothing to multiply
        const float2 scaled =
            sources[l.port].samples
                ? make_float2(y.x * gain.x - y.y * gain.y, y.x * gain.y + y.y * gain.x)
                : make_float2(0, 0);
        auto* to = static_cast<voltage*>(ports[l.port]);
        store_result(
            scaled, to[(l.spectrum * x.inputs_per_port + l.input) * x.kept + k], outside);
    }
    const int found = __syncthreads_count(outside);
    if (threadIdx.x == 0 && found)
        atomicAdd(clamped + input, (unsigned long long)(found));
}

using filter_kernel = void (*)(const pfb::source*,
                               const float*,
                               const int64_t*,
                               float*,
                               unsigned long long*,
                               int64_t,
                               extents);

filter_kernel filter_for(sample_type input)
{
    switch (input) {
    case sample_type::fc32:
        return filter<float_samples<true>>;
    case sample_type::sc16:
        return filter<int16_samples<true>>;
    case sample_type::sc8:
        return filter<int8_samples<true>>;
    case sample_type::sc4:
        return filter<sc4_samples>;
    case sample_type::f32:
        return filter<float_samples<false>>;
    case sample_type::s16:
        return filter<int16_samples<false>>;
    case sample_type::s12:
        return filter<packed_samples<12>>;
    case sample_type::s10:
        return filter<packed_samples<10>>;
    case sample_type::s8:
        return filter<int8_samples<false>>;
    }
    throw std::logic_error("channeliser of samples without a filter");
}

using epilogue_kernel = void (*)(const float2*,
                                 const float2*,
                                 const phase_slope*,
                                 double,
                                 const pfb::source*,
                                 void* const*,
                                 unsigned long long*,
                                 int64_t,
                                 extents);

epilogue_kernel epilogue_for(sample_type output, bool complex)
{
    if (output == sample_type::sc8)
        return complex ? epilogue<char2, false> : epilogue<char2, true>;
    return complex ? epilogue<float2, false> : epilogue<float2, true>;
}

size_t lines_that_fit(int length)
{
    size_t lines = 1;
    // more than a grid can count would not be faster
    while (lines < 32768 && 2 * lines * length * sizeof(float2) <= scratch_bytes)
        lines *= 2;
    return lines;
}

class cuda_pfb : public pfb
{
public:
    cuda_pfb(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_batch(lines_that_fit(p.length())),
          d_complex(is_complex(p.input)),
          d_filter(filter_for(p.input)),
          d_epilogue(epilogue_for(p.output, d_complex)),
          d_fft(p.length(), d_complex, d_batch),
          d_prototype(p.prototype.size()),
          d_lines(d_batch * p.length() * (d_complex ? 2 : 1)),
          d_transformed(d_complex ? 0 : d_batch * (p.channels + 1)),
          d_sources(p.ports),
          d_spectra(p.ports),
          d_gains(size_t(p.inputs()) * p.kept_channels(), 2),
          d_slopes(p.inputs(), 3),
          d_shifts(p.inputs(), 3),
          d_clamped(p.inputs()),
          d_minima(p.inputs())
    {
        load(d_filter);
        load(d_epilogue);
        // for complex samples, (-1)^j moves channel 0 to -fs/2
        auto prototype = p.prototype;
        for (size_t j = 1; d_complex && p.length() % 2 == 0 && j < prototype.size();
             j += 2)
            prototype[j] = -prototype[j];
        start_with(d_prototype.data(), prototype);
        const std::vector<cfloat> ones(size_t(p.inputs()) * p.kept_channels(), 1.f);
        d_gains.set(reinterpret_cast<const float2*>(ones.data()), nullptr);
        check(cudaStreamSynchronize(nullptr), "copying gains"); // before other streams
    }

    std::string implementation() const override { return "cuda cufft"; }

    void set_gains(const cfloat* gains, stream& s) override
    {
        const device_guard guard(d_device);
        d_gains.set(reinterpret_cast<const float2*>(gains), native(s));
    }

    void set_delays(const delay* delays, stream& s) override
    {
        const device_guard guard(d_device);
        d_delayed = delays;
        d_number = 0;
        if (delays)
            upload_delays(delays, d_p, d_slopes, d_shifts, native(s));
    }

    void set_position(int64_t spectrum, stream&) override { d_position = spectrum; }

    void execute(const source* sources,
                 void* const* spectra,
                 size_t count,
                 stream& given) override
    {
        if (count == 0)
            return;
        const device_guard guard(d_device);
        const auto s = native(given);
        d_sources.set(sources, s);
        d_spectra.set(spectra, s);
        const extents x{ d_p.length(),
                         d_p.hop(),
                         d_p.channels,
                         d_p.taps,
                         d_p.inputs_per_port,
                         d_p.first_kept,
                         d_p.kept_channels(),
                         int64_t(count),
                         d_p.oversampled()
                             ? int(d_position % d_p.length() * d_p.hop() % d_p.length())
                             : 0,
                         d_p.inverted };
        const int64_t lines = int64_t(d_p.inputs()) * count;
        for (int64_t first = 0; first < lines; first += d_batch) {
            const unsigned batch = unsigned(std::min<int64_t>(d_batch, lines - first));
            launch_filter(first, batch, x, s);
            float2* transformed = d_complex ? reinterpret_cast<float2*>(d_lines.data())
                                            : d_transformed.data();
            d_fft.transform(d_lines.data(), transformed, batch, s);
            launch_epilogue(transformed, first, batch, x, s);
        }
        d_number += double(count);
        d_position += int64_t(count);
    }

    counts clamped() const override { return { d_clamped.read(), d_minima.read() }; }

private:
    void launch_filter(int64_t first, unsigned batch, const extents& x, cudaStream_t s)
    {
        const dim3 grid(blocks_for(x.length, threads), batch);
        d_filter<<<grid, threads, 0, s>>>(d_sources.data(),
                                          d_prototype.data(),
                                          d_delayed ? d_shifts.data() : nullptr,
                                          d_lines.data(),
                                          d_minima.data(),
                                          first,
                                          x);
        check_launch("filter of the channeliser");
    }

    void launch_epilogue(const float2* transformed,
                         int64_t first,
                         unsigned batch,
                         const extents& x,
                         cudaStream_t s)
    {
        const dim3 grid(blocks_for(x.kept, threads), batch);
        d_epilogue<<<grid, threads, 0, s>>>(transformed,
                                            d_gains.data(),
                                            d_delayed ? d_slopes.data() : nullptr,
                                            d_number,
                                            d_sources.data(),
                                            d_spectra.data(),
                                            d_clamped.data(),
                                            first,
                                            x);
        check_launch("output of the channeliser");
    }

    const parameters d_p;
    const int d_device;
    const size_t d_batch; // lines that are filtered and transformed together
    const bool d_complex;
    const filter_kernel d_filter;
    const epilogue_kernel d_epilogue;
    line_fft d_fft;
    device_array<float> d_prototype;
    device_array<float> d_lines;
    device_array<float2> d_transformed;
    uploaded_array<source> d_sources;
    uploaded_array<void*> d_spectra;
    uploaded_array<float2> d_gains; // [input][channel that is written]
    uploaded_array<phase_slope> d_slopes;
    uploaded_array<int64_t> d_shifts;
    bool d_delayed = false;
    double d_number = 0;    // number of spectra since the delays were set
    int64_t d_position = 0; // number of the next spectrum, for its phases
    counters d_clamped, d_minima;
};

} // namespace

/*!
 * On tensor cores where there is a kernel for the parameters, one fused kernel where the
 * table has one for the size, otherwise "cuda cufft", which is for any size, for
 * oversampled spectra and for parts of them, and what the others are compared with: FIR
 * in single precision, cuFFT, then gain and conversion.
 */
template <>
std::unique_ptr<pfb>
make(const pfb::parameters& p, int device, const std::string& implementation)
{
    std::unique_ptr<pfb> fused;
    const bool whole = p.kept_channels() == p.channels && p.inputs() <= 65536;
    if (implementation.empty() && !p.oversampled() && whole) {
        fused = make_fused_pfb(p, device);
#if defined(APERTURE_CUDA_SM_90A)
        fused = tensor::all_filter_banks::make<tensor::tensor_pfb>(
            p, p, device, std::move(fused));
#endif
    }
    const device_guard guard(device);
    return fused ? std::move(fused) : std::make_unique<cuda_pfb>(p, device);
}

} // namespace gr::aperture::kernels::cuda
