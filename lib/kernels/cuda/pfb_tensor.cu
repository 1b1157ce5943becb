/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/gpu_facts.h"
#include "kernels/cuda/pfb_tensor.cuh"
#include "kernels/cuda/pfb_tensor.h"
#include <cmath>
#include <complex>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace tensor {

namespace {

__global__ void __launch_bounds__(threads, 1) channelise(const __grid_constant__ call c)
{
    extern __shared__ __align__(1024) uint8_t unaligned[];
    auto& m = *reinterpret_cast<memory*>(
        unaligned + (1024 - shared_address(unaligned) % 1024) % 1024);
    if (threadIdx.x == 0) {
        for (int i = 0; i < slots; i++) {
            init_barrier(m.full + i, filter_warps);
            init_barrier(m.empty + i, crew_warps);
        }
        for (int i = 0; i < stages; i++) {
            init_barrier(m.stage_full + i, 1);
            init_barrier(m.stage_empty + i, filter_warps);
        }
        fence_barriers();
    }
    for (int i = threadIdx.x; i < int(sizeof m.matrices / sizeof(uint4)); i += threads)
        reinterpret_cast<uint4*>(m.matrices)[i] = c.matrices[i];
    for (int i = threadIdx.x; i < steps * crew_threads; i += threads)
        m.twiddles[0][i] = reinterpret_cast<const float4*>(c.twiddles)[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x < crews * crew_threads) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(crew_registers));
        transform(m, c);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(filter_registers));
        filter(m, c);
    }
}

constexpr int shared_bytes = int(sizeof(memory)) + 1024;

using complex = std::complex<double>;

/*!
 * What cosines are multiplied by so that half precision is nearest to them: the products
 * are rounded to 3e-5 of the largest, in place of 9e-5, and are then `matrix_gain` times
 * the cosines.
 */
constexpr double matrix_scale = 1.1149, matrix_gain = 1.1151996;
//! In half precision, samples of an rms of 20 and what comes of them are near 20, too.
constexpr double filter_scale = 32, twiddle_scale = 1 / (8 * matrix_gain);
constexpr double result_scale = filter_scale * matrix_gain * twiddle_scale * matrix_gain;

complex phasor_of(int turns, int parts)
{
    return std::polar(1., -2 * M_PI * (turns % parts) / parts);
}

uint16_t half_bits(double v) { return __half_as_ushort(__double2half(v * matrix_scale)); }

//! Rows [64][64] of both matrices, in the swizzled order of shared memory.
std::vector<uint16_t> make_matrices(bool inverted)
{
    constexpr int size = 2 * radix;
    std::vector<uint16_t> all(2 * size * size);
    // f times (re + i im) -> the real or the imaginary part
    const auto put =
        [&](int matrix, int row, int pair, complex f, bool imaginary, bool conjugate) {
            const complex real_part = imaginary ? f.imag() : f.real();
            const complex imaginary_part =
                (imaginary ? f.real() : -f.imag()) * (conjugate ? -1 : 1);
            const int word = (pair / 4 ^ row % 8) * 4 + pair % 4;
            auto* to = &all[(size_t(matrix) * size + row) * size + 2 * word];
            to[0] = half_bits(real_part.real());
            to[1] = half_bits(imaginary_part.real());
        };
    for (int row = 0; row < size; row++)
        for (int pair = 0; pair < radix; pair++) {
            const int c = row / 16 * 8 + row % 8;
            put(0, row, pair, phasor_of(pair * c, radix), row / 8 % 2, inverted);
            // of k16 step pair / 8: what a lane has of the first product, two columns
            const int b = 4 * (2 * (pair % 4) + pair / 4 % 2) + pair / 8;
            const int d = row / 8 * 4 + row % 8 / 2;
            put(1, row, pair, phasor_of(b * d, radix), row % 2, false);
        }
    return all;
}

//! [steps][crew_threads][2]
std::vector<float2> make_twiddles()
{
    std::vector<float2> all;
    for (int step = 0; step < steps; step++)
        for (int thread = 0; thread < crew_threads; thread++)
            for (int odd = 0; odd < 2; odd++) {
                const int c = thread / 4, t = thread % 4;
                const int b = 4 * (2 * t + odd) + step;
                const auto w = twiddle_scale * phasor_of(b * c, channels);
                all.push_back({ float(w.real()), float(w.imag()) });
            }
    return all;
}

/*!
 * The filter bank; calls that it cannot do, those with delays, with lost ports and with
 * addresses that are no multiples of 16, it leaves to another.
 */
class tensor_pfb : public pfb
{
public:
    tensor_pfb(const parameters& p, int device, int multiprocessors)
        : d_p(p),
          d_device(device),
          d_multiprocessors(multiprocessors),
          d_other(make_fused_pfb(p, device)),
          d_prototype(size_t(most_taps) * channels),
          d_matrices(2 * matrix_bytes / sizeof(uint16_t)),
          d_twiddles(size_t(2) * steps * crew_threads),
          d_gains(size_t(p.inputs()) * channels, 2),
          d_ordered_gains(size_t(p.inputs()) * channels),
          d_counts(2 * size_t(p.inputs()))
    {
        load(channelise, shared_bytes);
        if (p.ports > fused_call::few) {
            d_sources = std::make_unique<uploaded_array<source>>(p.ports);
            d_spectra = std::make_unique<uploaded_array<void*>>(p.ports);
        }
        // later taps in later lines; (-1)^j moves channel 0 to -fs/2
        std::vector<float> prototype(d_prototype.size());
        const size_t skipped = prototype.size() - p.prototype.size();
        for (size_t j = 0; j < p.prototype.size(); j++)
            prototype[skipped + j] =
                float(p.prototype[j] * (j % 2 ? -filter_scale : filter_scale));
        upload(d_prototype, prototype);
        upload(d_matrices, make_matrices(p.inverted));
        upload(d_twiddles, make_twiddles());
        order_gains(std::vector<cfloat>(d_ordered_gains.size(), 1.f).data());
        d_gains.set(d_ordered_gains.data(), nullptr);
        check(cudaStreamSynchronize(nullptr), "copying gains"); // before other streams
    }

    std::string implementation() const override
    {
        return "cuda tensor f16 fft " + std::to_string(channels);
    }

    void set_gains(const cfloat* gains, stream& s) override
    {
        const device_guard guard(d_device);
        d_other->set_gains(gains, s);
        order_gains(gains);
        d_gains.set(d_ordered_gains.data(), native(s));
    }

    void set_delays(const delay* delays, stream& s) override
    {
        d_delayed = delays;
        d_other->set_delays(delays, s);
    }

    void
    execute(const source* sources, void* const* spectra, size_t count, stream& s) override
    {
        if (count == 0)
            return;
        if (d_delayed || !can_do(sources, spectra)) {
            d_other->execute(sources, spectra, count, s);
            return;
        }
        const device_guard guard(d_device);
        call c{};
        if (d_sources) {
            d_sources->set(sources, native(s));
            d_spectra->set(spectra, native(s));
            c.many_sources = d_sources->data();
            c.many_spectra = d_spectra->data();
        } else {
            std::copy(sources, sources + d_p.ports, c.sources);
            std::copy(spectra, spectra + d_p.ports, c.spectra_ports);
        }
        c.prototype = d_prototype.data();
        c.twiddles = d_twiddles.data();
        c.gains = d_gains.data();
        c.matrices = reinterpret_cast<const uint4*>(d_matrices.data());
        c.clamped = d_counts.data();
        c.lowest = d_counts.data() + d_p.inputs();
        c.spectra = int64_t(count);
        c.inputs = d_p.inputs();
        c.taps = d_p.taps;
        c.groups = (c.spectra + group - 1) / group;
        const auto blocks = std::min<int64_t>(c.groups * c.inputs, d_multiprocessors);
        channelise<<<unsigned(blocks), threads, shared_bytes, native(s)>>>(c);
        check_launch("channeliser on tensor cores");
    }

    counts clamped() const override
    {
        auto all = d_other->clamped();
        const auto own = d_counts.read();
        for (int i = 0; i < d_p.inputs(); i++) {
            all.output[i] += own[i];
            all.samples[i] += own[d_p.inputs() + i];
        }
        return all;
    }

private:
    template <class T>
    static void upload(const device_array<T>& to, const std::vector<T>& values)
    {
        check(cudaMemcpy(to.data(), values.data(), to.bytes(), cudaMemcpyHostToDevice),
              "copying tables of the channeliser");
    }

    //! [input][4][crew_threads][2], as quantise() reads them.
    void order_gains(const cfloat* gains)
    {
        for (size_t i = 0; i < d_ordered_gains.size(); i++) {
            const int place = int(i % channels), thread = place / 2 % crew_threads;
            const int d = 4 * (place / 2 / crew_threads * 2 + place % 2) + thread % 4;
            const auto g = gains[i - place + thread / 4 + radix * d];
            d_ordered_gains[i] = { float(g.real() / result_scale),
                                   float(g.imag() / result_scale) };
        }
    }

    bool can_do(const source* sources, void* const* spectra) const
    {
        const auto aligned = [](const void* p) {
            return reinterpret_cast<uintptr_t>(p) % 16 == 0;
        };
        for (int port = 0; port < d_p.ports; port++)
            if (!sources[port].samples || !aligned(sources[port].samples) ||
                !aligned(spectra[port]))
                return false;
        return true;
    }

    const parameters d_p;
    const int d_device, d_multiprocessors;
    const std::unique_ptr<pfb> d_other;
    std::unique_ptr<uploaded_array<source>> d_sources; // of many ports
    std::unique_ptr<uploaded_array<void*>> d_spectra;
    device_array<float> d_prototype;
    device_array<uint16_t> d_matrices;
    device_array<float2> d_twiddles;
    uploaded_array<float2> d_gains;
    std::vector<float2> d_ordered_gains;
    counters d_counts; // [clamped output, lowest numbers][input]
    bool d_delayed = false;
};

} // namespace

} // namespace tensor

std::unique_ptr<pfb> make_tensor_pfb(const pfb::parameters& p, int device)
{
    const auto gpu = facts_of(device);
    if (gpu.architecture != 90 || p.channels != tensor::channels ||
        p.taps > tensor::most_taps || p.inputs_per_port != 1 ||
        p.input != sample_type::sc8 || p.output != sample_type::sc8)
        return nullptr;
    const device_guard guard(device);
    return std::make_unique<tensor::tensor_pfb>(p, device, gpu.multiprocessors);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
