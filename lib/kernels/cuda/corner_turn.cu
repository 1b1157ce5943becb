/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/corner_turn.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/turned_square.cuh"
#include "kernels/cuda/turning_tile.cuh"
#include "kernels/cuda/warp.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int few = 64; // ports whose list travels with the call

//! Makes -128 (-8) -127 (-7) in a word of voltages; how many voltages that were.
template <class voltage>
__device__ __forceinline__ int clamp(uint32_t& word)
{
    if constexpr (sizeof(voltage) > 2) {
        return 0;
    } else {
        constexpr int bits = 4 * sizeof(voltage); // of a number
        constexpr uint32_t highest = bits == 4 ? 0x88888888 : 0x80808080;
        const uint32_t other = word ^ highest; // not 0 where another number is
        const uint32_t found = ~(((other & ~highest) + ~highest) | other) & highest;
        word += found >> (bits - 1);
        return __popc((found | found << bits) & (bits == 4 ? 0x80808080 : 0x80008000));
    }
}

struct turn_call {
    const void* few_ports[few];
    const void* const* ports; // nullptr: the few
    void* block;
    unsigned long long* clamped;
    int channels, inputs_per_port, times, first_channel, selected, inputs;
    int first, count; // times of the block that are written

    //! Of time 0 and the first channel that is wanted; nullptr if the port was lost.
    template <class voltage>
    __device__ const voltage* source(int input) const
    {
        const int port = input / inputs_per_port;
        const void* from = ports ? ports[port] : few_ports[port];
        if (!from)
            return nullptr;
        return static_cast<const voltage*>(from) +
               int64_t(input % inputs_per_port) * channels + first_channel;
    }
    //! From one time to the next.
    __host__ __device__ int64_t row() const
    {
        return int64_t(inputs_per_port) * channels;
    }
    //! From one channel to the next.
    __host__ __device__ int64_t column() const { return int64_t(inputs) * times; }
    template <class voltage>
    __device__ voltage* target(int input) const
    {
        return static_cast<voltage*>(block) + int64_t(input) * times + first;
    }
};

// ---------------------------------------------------------------------------------------
// Where vectors of 16 bytes lie at multiples of 16 bytes on both sides

/*!
 * A thread turns squares of side x side voltages in registers: it reads 16 bytes of
 * channels of each time, and writes 16 bytes of times of each channel. Lanes lie so that
 * a warp reads 128 and writes 64 bytes in a row, and a block of threads twice as much.
 */
template <class voltage>
struct tile {
    static constexpr int side = turned_square<voltage>::side;
    static constexpr int squares = side == 2 ? 4 : 1; // one after the other in channels
    static constexpr int lanes_of_channels = 8, lanes_of_times = 4;
    static constexpr int warps_of_channels = 2, warps_of_times = 2;
    static constexpr int threads = 32 * warps_of_channels * warps_of_times;
    static constexpr int blocks = 4; // of a multiprocessor
    static constexpr int channels_of_warp = lanes_of_channels * side * squares;
    static constexpr int times_of_warp = lanes_of_times * side;
    static constexpr int channels = channels_of_warp * warps_of_channels;
    static constexpr int times = times_of_warp * warps_of_times;
};

//! Grid: channels, times, inputs.
template <class voltage>
__global__ void __launch_bounds__(tile<voltage>::threads, tile<voltage>::blocks)
    turn(const __grid_constant__ turn_call x)
{
    using shape = tile<voltage>;
    constexpr int side = shape::side;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int input = blockIdx.z;
    const int time = blockIdx.y * shape::times +
                     warp / shape::warps_of_channels * shape::times_of_warp +
                     lane / shape::lanes_of_channels * side;
    const int first_channel = blockIdx.x * shape::channels +
                              warp % shape::warps_of_channels * shape::channels_of_warp +
                              lane % shape::lanes_of_channels * side;
    const int64_t row = x.row(), column = x.column();
    const auto* from = x.source<voltage>(input);
    const voltage* in = from + time * row;
    voltage* out = x.target<voltage>(input) + time;
    int found = 0;
    turned_square<voltage> v[shape::squares];
#pragma unroll
    for (int s = 0; s < shape::squares; s++) {
        const int channel = first_channel + s * shape::lanes_of_channels * side;
#pragma unroll
        for (int t = 0; t < side; t++) {
            if (from && channel + side <= x.selected && time + t < x.count) {
                v[s].rows[t] =
                    __ldcs(reinterpret_cast<const uint4*>(in + t * row + channel));
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
#pragma unroll
        for (int i = 0; i < side * turned_square<voltage>::row_words; i++)
            found += clamp<voltage>(v[s].words[i]);
        turned_square<voltage> turned;
        transpose(v[s], turned);
#pragma unroll
        for (int c = 0; c < side; c++) {
            if (channel + c >= x.selected)
                break;
            voltage* to = out + (channel + c) * column;
            if (time + side <= x.count) {
                __stcs(reinterpret_cast<uint4*>(to), turned.rows[c]);
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

// ---------------------------------------------------------------------------------------
// Anywhere

//! Grid: times, groups of channels, inputs.
template <class voltage>
__global__ void __launch_bounds__(tile_cut::threads, tile_cut::blocks)
    turn_anywhere(const __grid_constant__ turn_call x,
                  const __grid_constant__ tile_cut cut)
{
    constexpr int bits = 8 * sizeof(voltage);
    extern __shared__ row_place shared[];
    const int input = blockIdx.z, time = blockIdx.x * cut.times;
    const int first = blockIdx.y * cut.columns;
    turning_tile<bits> tile(
        shared, cut, min(cut.columns, x.selected - first), [&](int row) {
            const voltage* to =
                x.target<voltage>(input) + (first + row) * x.column() + time;
            return row_place{ 8 * reinterpret_cast<uint64_t>(to),
                              0,
                              cut.of_tile(x.count - time) };
        });
    // of a port that was lost, nothing may be read, and zeros are fetched
    const voltage* from = x.source<voltage>(input);
    const voltage* end = from ? from + (x.count - 1) * x.row() + x.selected : nullptr;
    tile.fetch(reinterpret_cast<const char*>(from),
               reinterpret_cast<const char*>(from),
               reinterpret_cast<const char*>(end),
               time,
               first);
    int found = 0;
    const auto touch = [&](auto& v) {
        if constexpr (sizeof(voltage) <= sizeof(sc8)) {
            uint32_t word = v;
            found += clamp<voltage>(word);
            v = word;
        }
    };
    if (blockIdx.x == 0)
        tile.store_starts(touch);
    tile.store(touch);
    add_of_warp(x.clamped + input, found);
}

template <class voltage>
class cuda_corner_turn : public corner_turn
{
public:
    cuda_corner_turn(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_cut(tile_cut::make<8 * sizeof(voltage)>(p.selected_channels,
                                                    p.inputs_per_port * p.channels)),
          d_clamped(p.inputs())
    {
        if (p.ports > few)
            d_ports = std::make_unique<uploaded_array<const void*>>(p.ports);
        load(turn<voltage>);
        load(turn_anywhere<voltage>, d_cut.shared_bytes());
    }

    std::string implementation() const override { return "cuda"; }

    std::vector<uint64_t> clamped() const override { return d_clamped.read(); }

    void execute(
        const void* const* spectra, void* block, int first, int count, stream& s) override
    {
        if (count == 0)
            return;
        const device_guard guard(d_device);
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
        const unsigned inputs = unsigned(d_p.inputs());
        if (is_aligned(spectra, block, first)) {
            using shape = tile<voltage>;
            const dim3 grid(blocks_for(d_p.selected_channels, shape::channels),
                            blocks_for(count, shape::times),
                            inputs);
            turn<voltage><<<grid, shape::threads, 0, native(s)>>>(x);
        } else {
            const dim3 grid(
                blocks_for(count, d_cut.times), unsigned(d_cut.groups), inputs);
            turn_anywhere<voltage>
                <<<grid, tile_cut::threads, d_cut.shared_bytes(), native(s)>>>(x, d_cut);
        }
        check_launch("corner turn");
    }

private:
    //! All vectors of channels and of times.
    bool is_aligned(const void* const* spectra, const void* block, int first) const
    {
        uintptr_t addresses = reinterpret_cast<uintptr_t>(block);
        for (int port = 0; port < d_p.ports; port++)
            addresses |= reinterpret_cast<uintptr_t>(spectra[port]);
        const int extents = d_p.channels | d_p.first_channel | d_p.times | first;
        return addresses % sizeof(uint4) == 0 && extents % tile<voltage>::side == 0;
    }

    const parameters d_p;
    const int d_device;
    const tile_cut d_cut;
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
