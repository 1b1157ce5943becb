/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/corner_turn.h"
#include "kernels/cuda/memory.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int tile = 64; // channels, and times
constexpr int threads = 256;

using sc8 = uint16_t; // both bytes of a voltage move together

//! Whether either byte is -128; makes it -127.
__device__ bool clamp(sc8& v)
{
    const bool low = (v & 0xff) == 0x80, high = v >> 8 == 0x80;
    v += (low ? 1 : 0) + (high ? 0x100 : 0);
    return low || high;
}
__device__ bool clamp(float2&) { return false; }

struct extents {
    int channels, inputs_per_port, times, first_channel, selected, inputs;
    int first, count; // times of the block that are written
};

/*!
 * A block of threads: a tile of one input. Grid: channels, times, inputs. A port of
 * nullptr gives zeros.
 */
template <class voltage>
__global__ void __launch_bounds__(threads) turn(const void* const* __restrict__ ports,
                                                voltage* __restrict__ block,
                                                unsigned long long* clamped,
                                                extents x)
{
    __shared__ voltage values[tile][tile + (sizeof(voltage) == 2 ? 2 : 1)]; // [channel]
    const int first_channel = blockIdx.x * tile, first_time = blockIdx.y * tile;
    const int input = blockIdx.z;
    const auto* from = static_cast<const voltage*>(ports[input / x.inputs_per_port]);
    int found = 0;
    for (int i = threadIdx.x; i < tile * tile; i += threads) {
        const int channel = i % tile, time = i / tile;
        voltage v{};
        if (from && first_channel + channel < x.selected && first_time + time < x.count) {
            const int64_t row = int64_t(first_time + time) * x.inputs_per_port +
                                input % x.inputs_per_port;
            v = from[row * x.channels + x.first_channel + first_channel + channel];
        }
        found += clamp(v);
        values[channel][time] = v;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < tile * tile; i += threads) {
        const int channel = i / tile, time = i % tile;
        if (first_channel + channel < x.selected && first_time + time < x.count)
            block[(int64_t(first_channel + channel) * x.inputs + input) * x.times +
                  x.first + first_time + time] = values[channel][time];
    }
    if (found)
        atomicAdd(clamped + input, (unsigned long long)(found));
}

template <class voltage>
class cuda_corner_turn : public corner_turn
{
public:
    cuda_corner_turn(const parameters& p, int device)
        : d_p(p), d_device(device), d_ports(p.ports), d_clamped(p.inputs())
    {
    }

    std::string implementation() const override { return "cuda"; }

    std::vector<uint64_t> clamped() const override { return d_clamped.read(); }

    void execute(
        const void* const* spectra, void* block, int first, int count, stream& s) override
    {
        if (count == 0)
            return;
        const device_guard guard(d_device);
        d_ports.set(spectra, native(s));
        const extents x{
            d_p.channels,          d_p.inputs_per_port, d_p.times, d_p.first_channel,
            d_p.selected_channels, d_p.inputs(),        first,     count
        };
        const dim3 grid(blocks_for(d_p.selected_channels, tile),
                        blocks_for(count, tile),
                        unsigned(d_p.inputs()));
        turn<<<grid, threads, 0, native(s)>>>(
            d_ports.data(), static_cast<voltage*>(block), d_clamped.data(), x);
        check_launch("corner turn");
        if (sizeof(voltage) == sizeof(sc8))
            d_clamped.publish(native(s));
    }

private:
    const parameters d_p;
    const int d_device;
    uploaded_array<const void*> d_ports;
    counters d_clamped;
};

} // namespace

std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p,
                                              int device)
{
    const device_guard guard(device);
    // what a grid can count
    require_range("inputs", p.inputs(), 1, 65535);
    require_range("times", p.times, 1, 65535 * tile);
    require(p.type != sample_type::sc4, "type", "sc4", "sc8 or fc32 on a GPU");
    if (p.type == sample_type::sc8)
        return std::make_unique<cuda_corner_turn<sc8>>(p, device);
    return std::make_unique<cuda_corner_turn<float2>>(p, device);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
