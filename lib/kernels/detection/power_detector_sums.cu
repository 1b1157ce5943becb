/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/detection/power_detector_sums.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int64_t longest_piece = 2048;

template <class T>
struct products_of {
    T values[4]; // components of a row, as the output has them
};

struct recipe {
    detection::product_set products;
    detection::feeds basis;
    int count; // number of products
    int parts; // number of parts that have a scale each
};

recipe recipe_of(const detection& d)
{
    return { d.products, d.basis, d.product_count(), d.parts() };
}

//! scale(part)
template <int Components, class T, class Scale>
__device__ __forceinline__ void make_products(const recipe& r,
                                              const T (&v)[Components],
                                              const Scale& scale,
                                              float (&out)[4])
{
    if constexpr (Components == 1)
        out[0] = float(v[0] * scale(0));
    else if constexpr (Components == 2)
        out[0] = float(v[0] * scale(0) + v[1] * scale(1));
    else {
        const T xx = v[0] * scale(0), yy = v[1] * scale(1);
        const T re = v[2] * scale(2), im = v[3] * scale(2);
        if (r.products == detection::product_set::coherency) {
            out[0] = float(xx);
            out[1] = float(yy);
            out[2] = float(re);
            out[3] = float(im);
        } else {
            const bool linear = r.basis == detection::feeds::linear;
            const float difference = float(xx - yy);
            out[0] = float(xx + yy);
            out[1] = linear ? difference : float(2 * re);
            out[2] = linear ? float(2 * re) : float(2 * im);
            out[3] = linear ? float(2 * im) : difference;
        }
    }
}

//! Products of a row and a channel into powers [row][product][channel].
//! \param scales [row][part]; nullptr: all are `scale`
template <int Components, class T>
__device__ __forceinline__ void store_products(float* __restrict__ powers,
                                               const recipe& r,
                                               const T (&v)[Components],
                                               const float* __restrict__ scales,
                                               float scale,
                                               int64_t row,
                                               int channels,
                                               int64_t channel)
{
    float out[4];
    make_products<Components>(
        r,
        v,
        [&](int part) { return scales ? scales[row * r.parts + part] : scale; },
        out);
#pragma unroll
    for (int p = 0; p < 4; p++)
        if (p < r.count)
            powers[(row * r.count + p) * channels + channel] = out[p];
}

struct extents {
    int channels, summed; // in, and how many become one
    int pieces;           // number in a frame
    int integrations;     // number in a frame; in all frames together for sums that go on
    int pieces_each;      // number in an integration
    int first_row, rows, all_rows;
    int frames; // frames that are added up: 1, or all for sums that go on
    int channels_out() const { return channels / summed; }
};

constexpr int tile = 32; // rows, and channels

/*!
 * A thread block: 32 rows and 32 channels of an integration. Grid: channels, rows,
 * frame * integration.
 * \param out powers; or sums, to add to
 */
template <int Components, bool Add>
__global__ void __launch_bounds__(threads) finish(const float* __restrict__ pieces,
                                                  float* __restrict__ powers,
                                                  double* sums,
                                                  const float* __restrict__ scales,
                                                  float scale,
                                                  const recipe r,
                                                  const extents x)
{
    __shared__ double totals[Components][tile][tile + 1]; // [component][channel][row]
    const int lane = threadIdx.x % tile, group = threadIdx.x / tile;
    const int first_channel = blockIdx.x * tile, first_row = blockIdx.y * tile;
    const int frame = blockIdx.z / x.integrations;
    const int integration = blockIdx.z % x.integrations;
    const int channels_out = x.channels / x.summed;
    const int row = first_row + lane;
    for (int c = group; c < tile; c += threads / tile) {
        const int channel = first_channel + c;
        double total[Components] = {};
        if (channel < channels_out && row < x.rows)
            for (int b = frame; b < frame + x.frames; b++)
                for (int k = 0; k < x.summed; k++) {
                    const int64_t from =
                        (int64_t(b) * x.channels + channel * x.summed + k) * x.pieces +
                        integration * x.pieces_each;
                    const float* at = pieces + (from * x.rows + row) * Components;
                    for (int i = 0; i < x.pieces_each; i++)
#pragma unroll
                        for (int n = 0; n < Components; n++)
                            total[n] += at[int64_t(i) * x.rows * Components + n];
                }
#pragma unroll
        for (int n = 0; n < Components; n++)
            totals[n][c][lane] = total[n];
    }
    __syncthreads();
    const int channel = first_channel + lane;
    if (channel >= channels_out)
        return;
    for (int i = group; i < tile && first_row + i < x.rows; i += threads / tile) {
        const int64_t out_row = x.first_row + first_row + i;
        double v[Components];
#pragma unroll
        for (int n = 0; n < Components; n++)
            v[n] = totals[n][lane][i];
        if constexpr (Add) {
#pragma unroll
            for (int n = 0; n < Components; n++)
                sums[(out_row * Components + n) * channels_out + channel] += v[n];
        } else {
            const int64_t at = int64_t(blockIdx.z) * x.all_rows + out_row;
            store_products<Components>(
                powers, r, v, scales, scale, at, channels_out, channel);
        }
    }
}

/*!
 * finish() where nothing is to be added up: a piece is an integration, a channel is one.
 * A thread block: 32 rows and 32 channels of an integration. Grid: as finish().
 */
template <int Components>
__global__ void __launch_bounds__(threads) transpose(const float* __restrict__ pieces,
                                                     float* __restrict__ powers,
                                                     const float* __restrict__ scales,
                                                     float scale,
                                                     const recipe r,
                                                     const extents x)
{
    constexpr int each = tile * tile / threads;
    __shared__ float values[Components][tile][tile + 1]; // [component][channel][row]
    const int lane = threadIdx.x % tile, group = threadIdx.x / tile;
    const int first_channel = blockIdx.x * tile, first_row = blockIdx.y * tile;
    const int frame = blockIdx.z / x.pieces, piece = blockIdx.z % x.pieces;
    const float* from =
        pieces + ((int64_t(frame) * x.channels * x.pieces + piece) * x.rows + first_row) *
                     Components;
    const int components = min(tile, x.rows - first_row) * Components; // all components
    float loaded[each][Components];
#pragma unroll
    for (int k = 0; k < each; k++)
#pragma unroll
        for (int n = 0; n < Components; n++) {
            const int channel = first_channel + group + k * (threads / tile);
            const int component = lane + n * tile;
            if (channel < x.channels && component < components)
                loaded[k][n] = __ldcs(
                    from + int64_t(channel) * x.pieces * x.rows * Components + component);
        }
#pragma unroll
    for (int k = 0; k < each; k++)
#pragma unroll
        for (int n = 0; n < Components; n++) {
            const int component = lane + n * tile;
            values[component % Components][group + k * (threads / tile)]
                  [component / Components] = loaded[k][n];
        }
    __syncthreads();
    const int channel = first_channel + lane;
    if (channel >= x.channels)
        return;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int row = group + k * (threads / tile);
        if (first_row + row >= x.rows)
            break;
        const int64_t at =
            int64_t(blockIdx.z) * x.all_rows + x.first_row + first_row + row;
        float v[Components];
#pragma unroll
        for (int n = 0; n < Components; n++)
            v[n] = values[n][lane][row];
        store_products<Components>(powers, r, v, scales, scale, at, x.channels, channel);
    }
}

//! sums -> powers, and zeros. A thread: a row and a channel.
template <int Components>
__global__ void __launch_bounds__(threads) dump_sums(double* sums,
                                                     float* __restrict__ powers,
                                                     const float* __restrict__ scales,
                                                     float scale,
                                                     const recipe r,
                                                     int rows,
                                                     int channels_out)
{
    const int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (i >= int64_t(rows) * channels_out)
        return;
    const int64_t row = i / channels_out, channel = i % channels_out;
    double v[Components];
#pragma unroll
    for (int n = 0; n < Components; n++) {
        double& sum = sums[(row * Components + n) * channels_out + channel];
        v[n] = sum;
        sum = 0;
    }
    store_products<Components>(powers, r, v, scales, scale, row, channels_out, channel);
}

//! run(std::integral_constant) with 1, 2 or 4
template <class Run>
void with_components(int components, const Run& run)
{
    switch (components) {
    case 1:
        return run(std::integral_constant<int, 1>{});
    case 2:
        return run(std::integral_constant<int, 2>{});
    default:
        return run(std::integral_constant<int, 4>{});
    }
}

//! |x|^2, |y|^2, Re xy*, Im xy*, or as many of them as there are components, and one.
//! \tparam Both whether there is y
template <int Components, bool Both>
__device__ __forceinline__ void add_powers(float (&v)[Components], float2 x, float2 y)
{
    v[0] += x.x * x.x + x.y * x.y;
    if constexpr (Both)
        v[Components > 1 ? 1 : 0] += y.x * y.x + y.y * y.y;
    if constexpr (Components == 4) {
        v[2] += x.x * y.x + x.y * y.y;
        v[3] += x.y * y.x - x.x * y.y;
    }
}

__device__ float2 value_of(float2 voltage) { return voltage; }
__device__ float2 value_of(char2 voltage) { return make_float2(voltage.x, voltage.y); }
__device__ float2 value_of(signed char packed)
{
    const int z = packed;
    return make_float2(max(z >> 4, -7), max(int(uint32_t(z) << 28) >> 28, -7));
}

//! Voltages of `Times` times that follow each other, loaded at once, and their powers.
template <class voltage, int Times>
struct signal {
    struct alignas(sizeof(voltage) * Times) pack {
        voltage v[Times];
    };
    template <int Components, bool Both>
    static __device__ void add(float (&v)[Components], const pack& x, const pack& y)
    {
#pragma unroll
        for (int k = 0; k < Times; k++)
            add_powers<Components, Both>(v, value_of(x.v[k]), value_of(y.v[k]));
    }
};
//! Multiplies integers: two times in one instruction.
template <>
struct signal<char2, 8> {
    struct alignas(16) pack {
        int v[4];
    };
    template <int Components, bool Both>
    static __device__ void add(float (&v)[Components], const pack& x, const pack& y)
    {
        int sums[Components] = {};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int a = x.v[k], b = y.v[k];
            sums[0] = __dp4a(a, a, sums[0]);
            if constexpr (Both)
                sums[Components > 1 ? 1 : 0] = __dp4a(b, b, sums[Components > 1 ? 1 : 0]);
            if constexpr (Components == 4) {
                const int swapped = int(__byte_perm(b, 0, 0x2301));
                sums[2] = __dp4a(a, b, sums[2]);
                sums[3] = __dp4a(int(a & 0xff00ff00), swapped, sums[3]) -
                          __dp4a(int(a & 0x00ff00ff), swapped, 0);
            }
        }
#pragma unroll
        for (int n = 0; n < Components; n++)
            v[n] += float(sums[n]);
    }
};
struct signal_shape {
    int channels, signals, times, rows;
    int pieces, pieces_each; // number in a frame, in an integration
    int64_t spectra, piece;  // times of an integration, of a piece
    int lanes_log;           // logarithm of the number of lanes that sum a piece together
    unsigned count;          // number of all sums
};

constexpr int pieces_together = 4;

/*!
 * Some lanes of a warp: `Pieces` pieces of a row, whose voltages are all under way at
 * once. Neighbours have pieces that follow each other; the next pieces of a lane follow
 * those of its whole warp.
 * \tparam Both whether a row has x and y
 */
template <class Signal, int Times, int Components, bool Both, int Pieces>
__global__ void __launch_bounds__(threads) sum_pieces(const uint8_t* __restrict__ signals,
                                                      const int* __restrict__ starts,
                                                      const int2* __restrict__ pairs,
                                                      float* __restrict__ sums,
                                                      const signal_shape x)
{
    using pack = typename Signal::pack;
    const int lanes = 1 << x.lanes_log, lane = threadIdx.x % lanes;
    const int neighbours = 32 >> x.lanes_log; // in a warp
    const unsigned warp = blockIdx.x * (threads / 32) + threadIdx.x / 32;
    const unsigned i = warp * Pieces * neighbours + threadIdx.x % 32 / lanes;
    const int piece = int(i % x.pieces); // this piece and some more of the same row
    const int row = int(i / x.pieces % x.rows);
    const int64_t frame_channel = i / x.pieces / x.rows;
    const int64_t signal_packs = x.times / Times;
    const pack* channel =
        reinterpret_cast<const pack*>(signals) + frame_channel * x.signals * signal_packs;
    const pack* first[Pieces];
    int packs[Pieces];
#pragma unroll
    for (int p = 0; p < Pieces; p++) {
        const int own = piece + p * neighbours;
        const int64_t before = own % x.pieces_each * x.piece; // times before it
        first[p] = channel + (own / x.pieces_each * x.spectra + before) / Times;
        packs[p] = i < x.count ? int(min(x.piece, x.spectra - before) / Times) : 0;
    }
    float v[Pieces][Components] = {};
    const auto add_pair = [&](int a, int b) {
        const int64_t xs = a * signal_packs, ys = b * signal_packs;
#pragma unroll 4 / Pieces
        for (int at = lane; at < packs[0]; at += lanes) {
            pack px[Pieces], py[Pieces];
#pragma unroll
            for (int p = 0; p < Pieces; p++) {
                px[p] = first[p][xs + at];
                py[p] = Both ? first[p][ys + at] : px[p];
            }
#pragma unroll
            for (int p = 0; p < Pieces; p++)
                Signal::template add<Components, Both>(v[p], px[p], py[p]);
        }
    };
    if (!starts)
        add_pair(Both ? 2 * row : row, Both ? 2 * row + 1 : row);
    else
        for (int k = starts[row]; k < starts[row + 1]; k++)
            add_pair(pairs[k].x, pairs[k].y);
    for (int distance = lanes / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int p = 0; p < Pieces; p++)
#pragma unroll
            for (int n = 0; n < Components; n++)
                v[p][n] += __shfl_xor_sync(~0u, v[p][n], distance);
    if (lane == 0 && i < x.count)
#pragma unroll
        for (int p = 0; p < Pieces; p++)
#pragma unroll
            for (int n = 0; n < Components; n++)
                sums[((frame_channel * x.pieces + piece + p * neighbours) * x.rows +
                      row) *
                         Components +
                     n] = v[p][n];
}

struct signal_sum {
    void (*kernel)(const uint8_t*, const int*, const int2*, float*, signal_shape);
    int times;     // times that it loads at once
    int lanes_log; // logarithm of the number of lanes that sum a piece together
    int pieces;    // pieces that a lane works on
    int neighbours() const { return 32 >> lanes_log; }
};

//! The powers to be summed: a row has as many components, of x and y if `both`.
struct signal_task {
    sample_type type;
    int64_t spectra; // spectra of an integration, in a frame
    int times;       // times of a frame
    int components;
    bool both;
};

template <class voltage, int Times>
signal_sum signal_sum_of(const signal_task& task)
{
    using of_signal = signal<voltage, Times>;
    const auto with_pieces = [&](auto pieces) {
        constexpr int count = pieces;
        if (task.components == 4)
            return sum_pieces<of_signal, Times, 4, true, count>;
        if (task.components == 2)
            return sum_pieces<of_signal, Times, 2, true, count>;
        if (task.both)
            return sum_pieces<of_signal, Times, 1, true, count>;
        return sum_pieces<of_signal, Times, 1, false, count>;
    };
    const int64_t piece = signal_piece(task.spectra, task.times);
    signal_sum sum{ nullptr, Times, 0, pieces_together };
    while (sum.lanes_log < 5 && (int64_t(2) << sum.lanes_log) * Times <= piece)
        sum.lanes_log++;
    // short pieces of one length, and a whole number of times as many of them as a warp
    // has at once
    const bool together =
        task.spectra % piece == 0 && piece <= 2 * 32 * Times &&
        signal_pieces(task.spectra, task.times) % (sum.neighbours() * sum.pieces) == 0;
    if (!together)
        sum.pieces = 1;
    sum.kernel = together ? with_pieces(std::integral_constant<int, pieces_together>{})
                          : with_pieces(std::integral_constant<int, 1>{});
    return sum;
}

signal_sum signal_sum_for(const signal_task& task)
{
    // 16 bytes at once, where all pieces begin and end with such
    switch (task.type) {
    case sample_type::fc32:
        return task.spectra % 2 == 0 ? signal_sum_of<float2, 2>(task)
                                     : signal_sum_of<float2, 1>(task);
    case sample_type::sc8:
        return task.spectra % 8 == 0 ? signal_sum_of<char2, 8>(task)
                                     : signal_sum_of<char2, 1>(task);
    default:
        return task.spectra % 16 == 0 ? signal_sum_of<signed char, 16>(task)
                                      : signal_sum_of<signed char, 1>(task);
    }
}

} // namespace

std::vector<int> components_of(const detection& d)
{
    switch (d.products) {
    case detection::product_set::power:
        return { 1 };
    case detection::product_set::intensity:
        return { 2, 1 };
    default:
        return { 4 };
    }
}

power_sums::power_sums(
    const detection& d, int channels, int times, int rows, int most_frames)
    : d_detect(d),
      d_channels(channels),
      d_times(times),
      d_rows(rows),
      d_sums(d.integrations(times) == 1 || d.spectra >= times
                 ? size_t(rows) * 4 * (channels / d.summed_channels)
                 : 0),
      d_scales(
          size_t(std::max(1, d.integrations(times))) * most_frames * rows * d.parts(), 4)
{
    for (const int components : components_of(d))
        with_components(components, [](auto n) {
            load(finish<n.value, false>);
            load(transpose<n.value>);
        });
    if (d_sums.size() == 0)
        return;
    start_with_zeros(d_sums.data(), d_sums.size());
    with_components(components_of(d).front(), [](auto n) {
        load(finish<n.value, true>);
        load(dump_sums<n.value>);
    });
}

const float* power_sums::upload(const float* scales, size_t count, cudaStream_t s)
{
    d_scales.set(scales, count, s);
    return d_scales.data();
}

void power_sums::write(const power_pieces& from,
                       int frames,
                       float* powers,
                       const float* scales,
                       float scale,
                       cudaStream_t s)
{
    extents x;
    x.channels = d_channels;
    x.summed = d_detect.summed_channels;
    x.pieces = from.pieces;
    x.integrations = d_detect.integrations(d_times);
    x.pieces_each = from.pieces / x.integrations;
    x.first_row = from.first_row;
    x.rows = from.rows;
    x.all_rows = d_rows;
    x.frames = 1;
    // a grid counts to 65535 in its third direction
    const int most = std::max(1, 65535 / x.integrations);
    for (int first = 0; first < frames; first += most) {
        const int count = std::min(most, frames - first);
        const dim3 grid(blocks_for(x.channels_out(), tile),
                        blocks_for(x.rows, tile),
                        unsigned(count * x.integrations));
        const int64_t before = int64_t(first) * x.integrations * d_rows;
        with_components(from.components, [&](auto components) {
            const float* pieces = from.values + int64_t(first) * d_channels *
                                                    from.pieces * from.rows *
                                                    from.components;
            float* to = powers + before * d_detect.product_count() * x.channels_out();
            const float* part_scales =
                scales ? scales + before * d_detect.parts() : nullptr;
            const auto r = recipe_of(d_detect);
            if (x.pieces_each == 1 && x.summed == 1)
                transpose<components.value>
                    <<<grid, threads, 0, s>>>(pieces, to, part_scales, scale, r, x);
            else
                finish<components.value, false><<<grid, threads, 0, s>>>(
                    pieces, to, nullptr, part_scales, scale, r, x);
        });
        check_launch("power sums");
    }
}

void power_sums::add(const power_pieces& from, int frames, cudaStream_t s)
{
    extents x;
    x.channels = d_channels;
    x.summed = d_detect.summed_channels;
    x.pieces = x.pieces_each = from.pieces;
    x.integrations = 1;
    x.first_row = from.first_row;
    x.rows = from.rows;
    x.all_rows = d_rows;
    x.frames = frames;
    const dim3 grid(blocks_for(x.channels_out(), tile), blocks_for(x.rows, tile));
    with_components(from.components, [&](auto components) {
        finish<components.value, true><<<grid, threads, 0, s>>>(
            from.values, nullptr, d_sums.data(), nullptr, 0, recipe_of(d_detect), x);
    });
    check_launch("power sums");
}

void power_sums::dump(int components,
                      float* powers,
                      const detection_scales& scales,
                      cudaStream_t s)
{
    const int channels_out = d_channels / d_detect.summed_channels;
    const float* uploaded =
        scales.count > 1 ? upload(scales.values, scales.count, s) : nullptr;
    with_components(components, [&](auto n) {
        dump_sums<n.value>
            <<<blocks_for(int64_t(d_rows) * channels_out, threads), threads, 0, s>>>(
                d_sums.data(),
                powers,
                uploaded,
                scales.values[0],
                recipe_of(d_detect),
                d_rows,
                channels_out);
    });
    check_launch("power sums, dump");
}

void power_sums::clear(cudaStream_t s)
{
    check(cudaMemsetAsync(d_sums.data(), 0, d_sums.bytes(), s), "clearing sums");
}

int64_t signal_piece(int64_t spectra, int times)
{
    return std::min({ spectra, int64_t(times), longest_piece });
}

int signal_pieces(int64_t spectra, int times)
{
    const int64_t whole = std::min<int64_t>(spectra, times);
    const int64_t piece = signal_piece(spectra, times);
    return int(times / whole * ((whole + piece - 1) / piece));
}

void load_signal_sums(
    sample_type type, int64_t spectra, int times, int components, bool both)
{
    const auto length = std::min<int64_t>(spectra, times);
    load(signal_sum_for({ type, length, times, components, both }).kernel);
}

void sum_signals(const void* signals,
                 int frames,
                 const signal_extents& e,
                 const signal_rows& rows,
                 int64_t spectra,
                 int components,
                 bool both,
                 float* pieces,
                 cudaStream_t s)
{
    signal_shape x;
    x.channels = e.channels;
    x.signals = e.signals;
    x.times = e.times;
    x.rows = rows.rows;
    x.spectra = std::min<int64_t>(spectra, e.times);
    x.piece = signal_piece(spectra, e.times);
    x.pieces = signal_pieces(spectra, e.times);
    x.pieces_each = int(x.pieces / (e.times / x.spectra));
    const int64_t count = int64_t(frames) * e.channels * rows.rows * x.pieces;
    require(count < int64_t(1) << 31,
            "frame",
            std::to_string(count) + " sums of powers in a call",
            "fewer than 2^31: take longer integrations, or fewer times a frame");
    x.count = unsigned(count);
    const auto sum = signal_sum_for({ e.type, x.spectra, e.times, components, both });
    x.lanes_log = sum.lanes_log;
    sum.kernel<<<blocks_for(count / sum.pieces << sum.lanes_log, threads),
                 threads,
                 0,
                 s>>>(
        static_cast<const uint8_t*>(signals), rows.starts, rows.pairs, pieces, x);
    check_launch("powers of signals");
}

} // namespace gr::aperture::kernels::cuda
