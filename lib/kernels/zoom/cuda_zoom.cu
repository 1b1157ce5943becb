/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/gpu/quantise.cuh"
#include "kernels/gpu/samples.cuh"
#include "kernels/zoom/zoom.h"
#include <type_traits>
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 128;
constexpr int each = 4; // neighbouring results of a thread
constexpr int tile = threads * each;
constexpr int shared_bytes = 48 << 10;
//! Bytes of results between the stages, of all inputs.
constexpr int64_t scratch_bytes = 64 << 20;

/*!
 * The extents of a launch: `count` results of one stage, made of `samples` samples of
 * each input, which begin `start` samples behind the source's first one.
 */
struct extents {
    int decimation, taps, inputs_per_port;
    int phases; // residues of samples, modulo the decimation, that are in shared memory
    int rows;   // samples of each of these
    int64_t count, samples, start;
    int64_t first; // place of the first result in the output
    int64_t own;   // samples that are counted in this launch, from the first one on
    bool conjugated;
    phase128 phase,
        step; // the oscillator's, at the first sample and from each to the next
};

//! Returns where a row lies: every fifth place is empty, so that threads, which begin
//! four rows apart, read from different banks.
__host__ __device__ constexpr int padded(int row) { return row + row / each; }
//! Returns the places of the rows of one phase, an odd number.
__host__ __device__ constexpr int pitch_of(int rows) { return padded(rows) | 1; }

//! Returns exp(-2 pi i phase) of the oscillator, `sample` samples behind the first one.
__device__ float2 phasor_at(const extents& x, int64_t sample)
{
    const auto n = uint64_t(sample);
    const uint64_t low = x.step.low * n;
    const uint64_t high = x.step.high * n + __umul64hi(x.step.low, n);
    const uint64_t sum = x.phase.low + low;
    const uint64_t cycles = x.phase.high + high + (sum < low);
    float2 p;
    sincospif(-float(int64_t(cycles)) * 0x1p-63f, &p.y, &p.x);
    return p;
}

//! The samples of an input of a port, which are mixed when they are read.
template <class In>
struct port_samples {
    const zoom::source* sources;

    __device__ bool there(int input, const extents& x) const
    {
        return sources[input / x.inputs_per_port].samples;
    }
    __device__ float2 at(int input, int64_t sample, const extents& x, bool& lowest) const
    {
        const zoom::source& from = sources[input / x.inputs_per_port];
        const int64_t place =
            (x.start + sample) * x.inputs_per_port + input % x.inputs_per_port;
        const float2 p = phasor_at(x, sample);
        bool found = false;
        float2 y;
        if constexpr (In::complex) {
            const float re = In::number(from.samples, 2 * place, found);
            const float im = In::number(from.samples, 2 * place + 1, found);
            const float own = x.conjugated ? -im : im;
            y = make_float2(re * p.x - own * p.y, re * p.y + own * p.x);
        } else {
            const float v = In::number(from.samples, place, found);
            y = make_float2(v * p.x, v * p.y);
        }
        lowest = found && x.start + sample >= int64_t(from.counted);
        return y;
    }
};

//! The results [input][sample] of a stage.
struct stage_samples {
    const zoom::source* sources;
    const float2* results;

    __device__ bool there(int input, const extents& x) const
    {
        return sources[input / x.inputs_per_port].samples;
    }
    __device__ float2 at(int input, int64_t sample, const extents& x, bool&) const
    {
        return __ldg(results + input * x.samples + sample);
    }
};

/*!
 * Filters and decimates, y[m] = sum_j h[j] x[mD + j]. Grid: inputs, tiles of results, of
 * which a batch has no more than a grid can count. A block reads its samples phase by
 * phase (j modulo D), some phases at a time: in each, the taps of neighbouring results
 * are neighbouring samples, so that a thread with four of them reads little more than one
 * sample for four products.
 *
 * \param ports [port], memory for [time][input], or, of stages before the last one,
 * nullptr \param results [input][x.count] of such stages
 */
template <class From, class To>
__global__ void __launch_bounds__(threads) decimate(From from,
                                                    const float* __restrict__ taps,
                                                    void* const* __restrict__ ports,
                                                    float2* __restrict__ results,
                                                    unsigned long long* minima,
                                                    unsigned long long* clamped,
                                                    extents x)
{
    extern __shared__ float2 rows[]; // [phase][padded row]
    const int input = int(blockIdx.x);
    const int64_t first = int64_t(blockIdx.y) * tile;
    const bool last_tile = first + tile >= x.count;
    const int pitch = pitch_of(x.rows);
    float2 sums[each] = {};
    int found = 0;
    if (from.there(input, x)) { // all threads of a block agree
        for (int base = 0; base < x.decimation; base += x.phases) {
            const int phases = min(x.phases, x.decimation - base);
            __syncthreads();
            for (int k = threadIdx.x; k < phases * x.rows; k += threads) {
                const int row = k / phases, phase = k % phases;
                const int64_t sample = (first + row) * x.decimation + base + phase;
                float2 v = make_float2(0, 0);
                if (sample < x.samples) {
                    bool lowest = false;
                    v = from.at(input, sample, x, lowest);
                    // tiles share samples, and so do launches
                    found += lowest && (row < tile || last_tile) && sample < x.own;
                }
                rows[phase * pitch + padded(row)] = v;
            }
            __syncthreads();
            for (int phase = 0; phase < phases; phase++) {
                const float2* own = rows + phase * pitch;
                const int begin = threadIdx.x * each;
                float2 window[each];
#pragma unroll
                for (int r = 0; r + 1 < each; r++)
                    window[r + 1] = own[padded(begin + r)];
                const int count =
                    (x.taps - base - phase + x.decimation - 1) / x.decimation;
#pragma unroll 4
                for (int t = 0; t < count; t++) {
#pragma unroll
                    for (int r = 0; r + 1 < each; r++)
                        window[r] = window[r + 1];
                    window[each - 1] = own[padded(begin + t + each - 1)];
                    const float h =
                        __ldg(taps + int64_t(t) * x.decimation + base + phase);
#pragma unroll
                    for (int r = 0; r < each; r++) {
                        sums[r].x += h * window[r].x;
                        sums[r].y += h * window[r].y;
                    }
                }
            }
        }
    }
    int outside = 0;
#pragma unroll
    for (int r = 0; r < each; r++) {
        const int64_t m = first + threadIdx.x * each + r;
        if (m >= x.count)
            continue;
        if (ports) {
            auto* to = static_cast<To*>(ports[input / x.inputs_per_port]);
            bool does_not_fit = false;
            store_result(
                sums[r],
                to[(x.first + m) * x.inputs_per_port + input % x.inputs_per_port],
                does_not_fit);
            outside += does_not_fit;
        } else {
            results[input * x.count + m] = sums[r];
        }
    }
    if (found)
        atomicAdd(minima + input, (unsigned long long)(found));
    if (outside)
        atomicAdd(clamped + input, (unsigned long long)(outside));
}

template <class From>
using kernel = void (*)(From,
                        const float*,
                        void* const*,
                        float2*,
                        unsigned long long*,
                        unsigned long long*,
                        extents);

template <class From>
kernel<From> kernel_for(sample_type output)
{
    return output == sample_type::sc8 ? decimate<From, char2> : decimate<From, float2>;
}

//! Calls f with a reader of the samples of a type; see samples.cuh.
template <class F>
void with_reader(sample_type type, const F& f)
{
    switch (type) {
    case sample_type::fc32:
        return f(float_samples<true>());
    case sample_type::sc16:
        return f(int16_samples<true>());
    case sample_type::sc8:
        return f(int8_samples<true>());
    case sample_type::sc4:
        return f(sc4_samples());
    case sample_type::f32:
        return f(float_samples<false>());
    case sample_type::s16:
        return f(int16_samples<false>());
    case sample_type::s12:
        return f(packed_samples<12>());
    case sample_type::s10:
        return f(packed_samples<10>());
    case sample_type::s8:
        return f(int8_samples<false>());
    }
}

class cuda_zoom : public zoom
{
public:
    cuda_zoom(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_batch(results_that_fit(p)),
          d_sources(p.ports),
          d_output(p.ports),
          d_clamped(p.inputs()),
          d_minima(p.inputs())
    {
        for (const auto& s : p.stages) {
            d_taps.emplace_back(s.taps.size());
            start_with(d_taps.back().data(), s.taps);
        }
        for (size_t s = 0; s + 1 < p.stages.size(); s++)
            d_results.emplace_back(p.inputs() * samples_of_stage(p, s + 1, d_batch));
        with_reader(p.input, [&](auto reader) {
            load(kernel_for<port_samples<decltype(reader)>>(p.output), shared_bytes);
        });
        load(kernel_for<stage_samples>(p.output), shared_bytes);
    }

    std::string implementation() const override { return "cuda"; }

    void set_oscillator(const oscillator& o, stream&) override { d_oscillator = o; }

    void execute(const source* sources,
                 void* const* output,
                 int64_t first,
                 size_t count,
                 stream& given) override
    {
        const device_guard guard(d_device);
        const auto s = native(given);
        d_sources.set(sources, s);
        d_output.set(output, s);
        const auto all = int64_t(count);
        for (int64_t done = 0; done < all; done += d_batch)
            make_batch(
                first, done, std::min(d_batch, all - done), done + d_batch >= all, s);
    }

    counts clamped() const override { return { d_clamped.read(), d_minima.read() }; }

private:
    //! Returns the samples of a stage's input for so many results of the last one.
    static int64_t samples_of_stage(const parameters& p, size_t stage, int64_t results)
    {
        for (size_t s = p.stages.size(); s > stage; s--)
            results = (results - 1) * p.stages[s - 1].decimation +
                      int64_t(p.stages[s - 1].taps.size());
        return results;
    }
    static int64_t results_that_fit(const parameters& p)
    {
        int64_t results = 1;
        while (results < 1 << 22 &&
               (p.stages.size() == 1 || samples_of_stage(p, 1, 2 * results) * p.inputs() *
                                                int64_t(sizeof(float2)) <=
                                            scratch_bytes))
            results *= 2;
        return results;
    }

    //! Makes `count` results behind the first `done` ones of a call.
    void make_batch(int64_t first, int64_t done, int64_t count, bool last, cudaStream_t s)
    {
        const int64_t start = done * d_p.hop();
        for (size_t stage = 0; stage < d_p.stages.size(); stage++) {
            extents x{};
            x.decimation = d_p.stages[stage].decimation;
            x.taps = int(d_p.stages[stage].taps.size());
            x.inputs_per_port = d_p.inputs_per_port;
            x.samples = samples_of_stage(d_p, stage, count);
            x.count = (x.samples - x.taps) / x.decimation + 1;
            x.start = start;
            x.first = done;
            x.own = last ? x.samples : count * d_p.hop();
            x.conjugated = d_p.conjugated;
            x.phase = d_oscillator.phase(first * d_p.hop() + start);
            x.step = d_oscillator.step();
            if (stage == 0)
                with_reader(d_p.input, [&](auto reader) {
                    launch(
                        port_samples<decltype(reader)>{ d_sources.data() }, stage, x, s);
                });
            else
                launch(stage_samples{ d_sources.data(), d_results[stage - 1].data() },
                       stage,
                       x,
                       s);
        }
    }

    template <class From>
    void launch(const From& from, size_t stage, extents x, cudaStream_t s)
    {
        x.rows = tile + (x.taps + x.decimation - 1) / x.decimation;
        const int bytes_of_phase = pitch_of(x.rows) * int(sizeof(float2));
        x.phases = std::clamp(shared_bytes / bytes_of_phase, 1, x.decimation);
        const bool last = stage + 1 == d_p.stages.size();
        const dim3 grid(unsigned(d_p.inputs()), blocks_for(x.count, tile));
        kernel_for<From>(d_p.output)<<<grid, threads, x.phases * bytes_of_phase, s>>>(
            from,
            d_taps[stage].data(),
            last ? d_output.data() : nullptr,
            last ? nullptr : d_results[stage].data(),
            d_minima.data(),
            d_clamped.data(),
            x);
        check_launch("filter of the zoom");
    }

    const parameters d_p;
    const int d_device;
    const int64_t d_batch;                       // results that are made together
    std::vector<device_array<float>> d_taps;     // [stage][tap]
    std::vector<device_array<float2>> d_results; // [stage but the last one]
    uploaded_array<source> d_sources;
    uploaded_array<void*> d_output;
    oscillator d_oscillator;
    counters d_clamped, d_minima;
};

} // namespace

//! Samples are mixed and filtered from shared memory, in single precision; stages leave
//! their results in the GPU's memory. Nothing is kept from call to call.
template <>
std::unique_ptr<zoom> make(const zoom::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_zoom>(p, device);
}

} // namespace gr::aperture::kernels::cuda
