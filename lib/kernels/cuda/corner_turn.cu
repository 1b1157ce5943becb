/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/corner_turn.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/warp.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int few = 64; // ports whose list travels with the call

using sc8 = uint16_t; // both bytes of a voltage move together
using sc4 = uint8_t;  // and both nibbles

//! Whether either byte is -128; makes it -127.
__device__ bool clamp(sc8& v)
{
    const bool low = (v & 0xff) == 0x80, high = v >> 8 == 0x80;
    v += (low ? 1 : 0) + (high ? 0x100 : 0);
    return low || high;
}
//! The same of -8 and -7.
__device__ bool clamp(sc4& v)
{
    const bool low = (v & 0xf) == 8, high = v >> 4 == 8;
    v += (low ? 1 : 0) + (high ? 0x10 : 0);
    return low || high;
}
__device__ bool clamp(float2&) { return false; }

/*!
 * A thread turns squares of side x side voltages in registers: it reads 16 bytes of
 * channels of each time, and writes 16 bytes of times of each channel. Lanes lie so that
 * a warp reads 64 and writes 128 bytes in a row.
 */
template <class voltage>
struct tile {
    using vector = std::conditional_t<sizeof(voltage) == 1, uint2, uint4>;
    static constexpr int side = sizeof(vector) / sizeof(voltage);
    static constexpr int squares =
        8 / side; // of a thread, one after the other in channels
    static constexpr int lanes_of_channels = 4, lanes_of_times = 8;
    static constexpr int channels_of_warp = lanes_of_channels * side * squares;
    static constexpr int channels = channels_of_warp * warps; // of a block of threads
    static constexpr int times = lanes_of_times * side;
};

struct turn_call {
    const void* few_ports[few];
    const void* const* ports; // nullptr: the few
    void* block;
    unsigned long long* clamped;
    int channels, inputs_per_port, times, first_channel, selected, inputs;
    int first, count; // times of the block that are written
    bool whole_reads; // of vectors, as far as ports are concerned
    bool whole_writes;
};

template <class voltage>
union square {
    static constexpr int side = tile<voltage>::side;
    typename tile<voltage>::vector words[side];
    voltage values[side][side];
    __device__ square() {}
};

//! Rows of two-byte voltages into columns: two of each word at a time.
__device__ __forceinline__ void transpose(const square<sc8>& from, square<sc8>& to)
{
    const auto* in = reinterpret_cast<const uint32_t*>(from.words);
    auto* out = reinterpret_cast<uint32_t*>(to.words);
#pragma unroll
    for (int c = 0; c < 8; c++)
#pragma unroll
        for (int t = 0; t < 8; t += 2)
            out[c * 4 + t / 2] = __byte_perm(
                in[t * 4 + c / 2], in[(t + 1) * 4 + c / 2], c % 2 ? 0x7632 : 0x5410);
}
//! Blocks of four times four bytes.
__device__ __forceinline__ void transpose(const square<sc4>& from, square<sc4>& to)
{
    const auto* in = reinterpret_cast<const uint32_t*>(from.words);
    auto* out = reinterpret_cast<uint32_t*>(to.words);
#pragma unroll
    for (int c = 0; c < 8; c++)
#pragma unroll
        for (int t = 0; t < 8; t += 4) {
            uint32_t pairs[2];
#pragma unroll
            for (int k = 0; k < 2; k++)
                pairs[k] = __byte_perm(in[(t + 2 * k) * 2 + c / 4],
                                       in[(t + 2 * k + 1) * 2 + c / 4],
                                       c % 4 + 16 * (4 + c % 4));
            out[c * 2 + t / 4] = __byte_perm(pairs[0], pairs[1], 0x5410);
        }
}
__device__ __forceinline__ void transpose(const square<float2>& from, square<float2>& to)
{
#pragma unroll
    for (int c = 0; c < 2; c++)
#pragma unroll
        for (int t = 0; t < 2; t++)
            to.values[c][t] = from.values[t][c];
}

//! Whether a number may be the lowest: negative, and no longer when 1 is subtracted.
//! Where there is one, there always may be.
template <class voltage>
__device__ __forceinline__ bool may_be_lowest(const square<voltage>& v)
{
    if constexpr (sizeof(voltage) > 2)
        return false;
    constexpr uint32_t ones = sizeof(voltage) == 1 ? 0x11111111 : 0x01010101;
    uint32_t suspects = 0;
#pragma unroll
    for (size_t i = 0; i < sizeof(v) / 4; i++) {
        const uint32_t word = reinterpret_cast<const uint32_t*>(&v)[i];
        suspects |= word & ~(word - ones);
    }
    return suspects & 8 * ones * (sizeof(voltage) == 1 ? 1 : 16);
}

//! Grid: channels, times, inputs. A port of nullptr gives zeros.
template <class voltage>
__global__ void __launch_bounds__(threads) turn(const __grid_constant__ turn_call x)
{
    using shape = tile<voltage>;
    using vector = typename shape::vector;
    constexpr int side = shape::side;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int input = blockIdx.z, port = input / x.inputs_per_port;
    const int time = blockIdx.y * shape::times + lane / shape::lanes_of_channels * side;
    const int first_channel = blockIdx.x * shape::channels +
                              warp * shape::channels_of_warp +
                              lane % shape::lanes_of_channels * side;
    const auto* from =
        static_cast<const voltage*>(x.ports ? x.ports[port] : x.few_ports[port]);
    const int64_t row = int64_t(x.inputs_per_port) * x.channels;
    const int64_t column = int64_t(x.inputs) * x.times;
    const voltage* in = from + time * row +
                        int64_t(input % x.inputs_per_port) * x.channels + x.first_channel;
    auto* out =
        static_cast<voltage*>(x.block) + int64_t(input) * x.times + x.first + time;
    const bool reads =
        x.whole_reads && reinterpret_cast<uintptr_t>(from) % sizeof(vector) == 0;
    int found = 0;
    square<voltage> v[shape::squares];
#pragma unroll
    for (int s = 0; s < shape::squares; s++) {
        const int channel = first_channel + s * shape::lanes_of_channels * side;
        const bool whole = from && reads && channel + side <= x.selected;
#pragma unroll
        for (int t = 0; t < side; t++) {
            if (whole && time + t < x.count) {
                v[s].words[t] = *reinterpret_cast<const vector*>(in + t * row + channel);
            } else {
#pragma unroll
                for (int c = 0; c < side; c++)
                    v[s].values[t][c] =
                        from && channel + c < x.selected && time + t < x.count
                            ? in[t * row + channel + c]
                            : voltage{};
            }
        }
    }
#pragma unroll
    for (int s = 0; s < shape::squares; s++) {
        const int channel = first_channel + s * shape::lanes_of_channels * side;
        if (may_be_lowest(v[s])) {
#pragma unroll
            for (int t = 0; t < side; t++)
#pragma unroll
                for (int c = 0; c < side; c++)
                    found += clamp(v[s].values[t][c]);
        }
        square<voltage> turned;
        transpose(v[s], turned);
        const bool whole = x.whole_writes && time + side <= x.count;
#pragma unroll
        for (int c = 0; c < side; c++) {
            if (channel + c >= x.selected)
                break;
            voltage* to = out + (channel + c) * column;
            if (whole) {
                *reinterpret_cast<vector*>(to) = turned.words[c];
            } else {
#pragma unroll
                for (int t = 0; t < side; t++)
                    if (time + t < x.count)
                        to[t] = turned.values[c][t];
            }
        }
    }
    add_of_warp(x.clamped + input, found);
}

template <class voltage>
class cuda_corner_turn : public corner_turn
{
public:
    cuda_corner_turn(const parameters& p, int device)
        : d_p(p), d_device(device), d_clamped(p.inputs())
    {
        if (p.ports > few)
            d_ports = std::make_unique<uploaded_array<const void*>>(p.ports);
        load(turn<voltage>);
    }

    std::string implementation() const override { return "cuda"; }

    std::vector<uint64_t> clamped() const override { return d_clamped.read(); }

    void execute(
        const void* const* spectra, void* block, int first, int count, stream& s) override
    {
        if (count == 0)
            return;
        const device_guard guard(d_device);
        constexpr int side = tile<voltage>::side;
        turn_call x{};
        if (d_ports) {
            d_ports->set(spectra, native(s));
            x.ports = d_ports->data();
        } else {
            std::copy(spectra, spectra + d_p.ports, x.few_ports);
        }
        x.block = block;
        x.clamped = d_clamped.data();
        x.channels = d_p.channels;
        x.inputs_per_port = d_p.inputs_per_port;
        x.times = d_p.times;
        x.first_channel = d_p.first_channel;
        x.selected = d_p.selected_channels;
        x.inputs = d_p.inputs();
        x.first = first;
        x.count = count;
        x.whole_reads = (d_p.channels | d_p.first_channel) % side == 0;
        x.whole_writes =
            (d_p.times | first) % side == 0 &&
            reinterpret_cast<uintptr_t>(block) % sizeof(typename tile<voltage>::vector) ==
                0;
        const dim3 grid(blocks_for(d_p.selected_channels, tile<voltage>::channels),
                        blocks_for(count, tile<voltage>::times),
                        unsigned(d_p.inputs()));
        turn<voltage><<<grid, threads, 0, native(s)>>>(x);
        check_launch("corner turn");
        if (sizeof(voltage) <= sizeof(sc8))
            d_clamped.publish(native(s));
    }

private:
    const parameters d_p;
    const int d_device;
    std::unique_ptr<uploaded_array<const void*>> d_ports; // of many ports
    counters d_clamped;
};

} // namespace

std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p,
                                              int device)
{
    const device_guard guard(device);
    // what a grid can count
    require_range("inputs", p.inputs(), 1, 65535);
    require_range(
        "times",
        p.times,
        1,
        65535 * (p.type == sample_type::fc32 ? tile<float2>::times : tile<sc8>::times));
    switch (p.type) {
    case sample_type::sc8:
        return std::make_unique<cuda_corner_turn<sc8>>(p, device);
    case sample_type::sc4:
        return std::make_unique<cuda_corner_turn<sc4>>(p, device);
    default:
        return std::make_unique<cuda_corner_turn<float2>>(p, device);
    }
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
