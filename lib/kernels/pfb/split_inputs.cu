/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/split_inputs.h"
#include "kernels/pfb/transposing_tile.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int few = 64; // ports whose list travels with the call

struct split_call {
    const void* few_ports[few];
    const pfb::source* ports; // nullptr: the few
    char* rows;
    int64_t row_bytes;
    const int64_t* shifts; // [input], or nullptr
    int inputs_per_port;
    int64_t samples;              // samples of a row, which fill whole words
    int64_t first_time;           // first sample of the first tile
    int64_t begin_bits, end_bits; // bits of a port that may be read
    tile_cut cut;
};

//! Splits inputs. Grid: times, groups of inputs, ports.
template <int Bits>
__global__ void __launch_bounds__(tile_cut::threads, tile_cut::blocks)
    split(const __grid_constant__ split_call x)
{
    extern __shared__ row_place shared[];
    const int port = blockIdx.z;
    const auto* source =
        static_cast<const char*>(x.ports ? x.ports[port].samples : x.few_ports[port]);
    if (!source)
        return;
    const int64_t time = x.first_time + int64_t(blockIdx.x) * x.cut.times;
    const int first = blockIdx.y * x.cut.columns;
    const int64_t first_row = int64_t(port) * x.inputs_per_port + first;
    const int inputs = min(x.cut.columns, x.inputs_per_port - first);
    transposing_tile<Bits> tile(shared, x.cut, inputs, [&](int row) {
        // the sample of the row at the tile's first time
        const int64_t start = time + (x.shifts ? x.shifts[first_row + row] : 0);
        const auto to =
            reinterpret_cast<uint64_t>(x.rows + (first_row + row) * x.row_bytes);
        return row_place{ to * 8 + start * Bits,
                          x.cut.of_tile(-start),
                          x.cut.of_tile(x.samples - start) };
    });
    tile.fetch(source,
               source + (x.begin_bits >> 3),
               source + ((x.end_bits + 7) >> 3),
               time,
               first);
    tile.store();
}

using split_kernel = void (*)(split_call);

template <int Bits>
std::pair<split_kernel, tile_cut> kernel_of(int inputs)
{
    return { split<Bits>, tile_cut::make<Bits>(inputs, inputs) };
}

//! Returns the kernel for some parameters, and the cut of its tiles.
std::pair<split_kernel, tile_cut> kernel_for(const pfb::parameters& p)
{
    switch (bits_of(p.input)) {
    case 8:
        return kernel_of<8>(p.inputs_per_port);
    case 10:
        return kernel_of<10>(p.inputs_per_port);
    case 12:
        return kernel_of<12>(p.inputs_per_port);
    case 16:
        return kernel_of<16>(p.inputs_per_port);
    case 32:
        return kernel_of<32>(p.inputs_per_port);
    default:
        return kernel_of<64>(p.inputs_per_port);
    }
}

//! Rounds samples up to as many as fill whole words.
int64_t whole_words(int64_t samples) { return (samples + 15) / 16 * 16; }

} // namespace

input_splitter::input_splitter(const pfb::parameters& p, int64_t samples)
    : d_p(p),
      d_row_bytes((bytes_of(p.input, whole_words(samples), 1) + 127) / 128 * 128),
      d_rows(d_row_bytes * p.inputs()),
      d_shifts(p.inputs(), 3)
{
    if (p.ports > few)
        d_sources = std::make_unique<uploaded_array<pfb::source>>(p.ports);
    const auto [kernel, cut] = kernel_for(p);
    load(kernel, cut.shared_bytes());
}

void input_splitter::set_shifts(const delay* delays, cudaStream_t s)
{
    d_shifted = delays;
    d_least_shift = d_most_shift = 0;
    if (!delays)
        return;
    std::vector<int64_t> shifts;
    for (int input = 0; input < d_p.inputs(); input++)
        shifts.push_back(delays[input].samples);
    const auto [least, most] = std::minmax_element(shifts.begin(), shifts.end());
    d_least_shift = *least;
    d_most_shift = *most;
    d_shifts.set(shifts.data(), s);
}

void input_splitter::execute(const pfb::source* sources, int64_t samples, cudaStream_t s)
{
    const auto [kernel, cut] = kernel_for(d_p);
    split_call x{};
    if (d_sources) {
        d_sources->set(sources, s);
        x.ports = d_sources->data();
    } else {
        for (int port = 0; port < d_p.ports; port++)
            x.few_ports[port] = sources[port].samples;
    }
    x.rows = d_rows.data();
    x.row_bytes = d_row_bytes;
    x.shifts = d_shifted ? d_shifts.data() : nullptr;
    x.inputs_per_port = d_p.inputs_per_port;
    x.samples = whole_words(samples);
    x.first_time = -d_most_shift;
    x.begin_bits = -d_most_shift * cut.pitch_bits;
    x.end_bits = (samples - d_least_shift) * cut.pitch_bits;
    x.cut = cut;
    const int64_t times = x.samples - d_least_shift + d_most_shift;
    const dim3 grid(blocks_for(times, cut.times), cut.groups, d_p.ports);
    kernel<<<grid, tile_cut::threads, cut.shared_bytes(), s>>>(x);
    check_launch("splitting inputs");
}

} // namespace gr::aperture::kernels::cuda
