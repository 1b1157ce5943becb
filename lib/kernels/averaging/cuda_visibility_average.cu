/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/averaging/visibility_average.h"
#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;

using rotation = visibility_average::rotation;

//! One product of the average: its inputs, and its place in an item of the X-engine.
struct pick {
    int a, b;
    int64_t place;
};

//! The input of a call, in memory of the GPU.
struct call {
    const float2* visibilities; // [item][channel][product of the X-engine]
    const uint32_t* counts;     // the same, or nullptr
    const uint32_t* counted;    // [item] or [item][product of the X-engine]
    const uint8_t* used;        // [item][sum]
    const rotation* rotations;  // [item][phase centre][input], or nullptr
    const pick* picks;          // [product]
    int items, channels, summed, inputs, centers, gates, products;
    int64_t all; // products of the X-engine
    bool by_product, mean;
};

/*!
 * Adds the items of a call to the sums. A thread has one product of one channel of the
 * average, neighbours having neighbouring products. Grid: threads for all cells of
 * `sums`.
 * \param sums, totals [sum][channel][product]
 */
__global__ void __launch_bounds__(threads)
    add_items(call c, double2* __restrict__ sums, uint32_t* __restrict__ totals)
{
    const int channels_out = c.channels / c.summed;
    const int sum_count = max(c.centers, 1) * c.gates;
    const int64_t cell = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (cell >= int64_t(sum_count) * channels_out * c.products)
        return;
    const int64_t row = cell / c.products; // [sum][channel]
    const pick p = c.picks[cell % c.products];
    const int sum = int(row / channels_out), to = int(row % channels_out);
    const int center = sum / c.gates;
    double2 total = sums[cell];
    uint32_t counted = totals[cell];
    for (int item = 0; item < c.items; item++) {
        if (!c.used[int64_t(item) * sum_count + sum])
            continue;
        double start = 0, slope = 0;
        if (c.rotations) {
            const rotation* of =
                c.rotations + (int64_t(item) * c.centers + center) * c.inputs;
            start = of[p.a].start - of[p.b].start;
            slope = of[p.a].slope - of[p.b].slope;
        }
        const uint32_t all_channels =
            c.by_product ? c.counted[item * c.all + p.place] : c.counted[item];
        for (int i = 0; i < c.summed; i++) {
            const int channel = to * c.summed + i;
            const int64_t at = (int64_t(item) * c.channels + channel) * c.all + p.place;
            const uint32_t count = c.counts ? c.counts[at] : all_channels;
            if (count == 0)
                continue;
            float2 v = c.visibilities[at];
            if (!isfinite(v.x) || !isfinite(v.y)) {
                // remembered until one comes that is a number
                if (counted == 0)
                    total = { nan(""), nan("") };
                continue;
            }
            if (p.a < p.b)
                v.y = -v.y;
            if (c.rotations) {
                double cycles = start + (channel - c.channels / 2) * slope;
                cycles -= rint(cycles);
                float sine, cosine;
                sincospif(float(2 * cycles), &sine, &cosine);
                v = { v.x * cosine - v.y * sine, v.x * sine + v.y * cosine };
            }
            if (counted == 0)
                total = { 0, 0 };
            const double factor = c.mean ? double(count) : 1.;
            total.x += factor * v.x;
            total.y += factor * v.y;
            counted += count;
        }
    }
    sums[cell] = total;
    totals[cell] = counted;
}

//! Writes the average of a sum, and sets it to zero.
__global__ void __launch_bounds__(threads) write_average(double2* __restrict__ sums,
                                                         uint32_t* __restrict__ totals,
                                                         int64_t cells,
                                                         bool mean,
                                                         float2* __restrict__ average,
                                                         uint32_t* __restrict__ counts)
{
    const int64_t cell = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (cell >= cells)
        return;
    const double2 total = sums[cell];
    const uint32_t count = totals[cell];
    const double scale = mean && count ? 1. / count : 1;
    average[cell] = { float(total.x * scale), float(total.y * scale) };
    if (counts)
        counts[cell] = count;
    sums[cell] = { 0, 0 };
    totals[cell] = 0;
}

class cuda_visibility_average : public visibility_average
{
public:
    cuda_visibility_average(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_picks(p.products.size()),
          d_sums(p.sums() * p.cells()),
          d_totals(d_sums.size()),
          d_counted(size_t(p.most_items()) * p.all(), slots),
          d_used(size_t(p.most_items()) * p.sums(), slots),
          d_rotations(size_t(p.most_items()) * p.centers * p.inputs, slots)
    {
        std::vector<pick> picks;
        for (const auto& [a, b] : p.products) {
            const int64_t high = std::max(a, b), low = std::min(a, b);
            picks.push_back({ a, b, high * (high + 1) / 2 + low });
        }
        start_with(d_picks.data(), picks);
        start_with_zeros(d_sums.data(), d_sums.size());
        start_with_zeros(d_totals.data(), d_totals.size());
        load(add_items);
        load(write_average);
    }

    std::string implementation() const override { return "cuda"; }

    void accumulate(const cfloat* visibilities,
                    const uint32_t* counts,
                    const items& some,
                    stream& s) override
    {
        if (some.count == 0)
            return;
        const device_guard guard(d_device);
        const auto on = native(s);
        const size_t count = some.count;
        d_counted.set(some.counted, count * (some.by_product ? d_p.all() : 1), on);
        d_used.set(some.used, count * d_p.sums(), on);
        if (some.rotations)
            d_rotations.set(some.rotations, count * d_p.centers * d_p.inputs, on);
        call c{};
        c.visibilities = reinterpret_cast<const float2*>(visibilities);
        c.counts = counts;
        c.counted = d_counted.data();
        c.used = d_used.data();
        c.rotations = some.rotations ? d_rotations.data() : nullptr;
        c.picks = d_picks.data();
        c.items = some.count;
        c.channels = d_p.channels;
        c.summed = d_p.summed_channels;
        c.inputs = d_p.inputs;
        c.centers = d_p.centers;
        c.gates = d_p.gates;
        c.products = int(d_p.products.size());
        c.all = d_p.all();
        c.by_product = some.by_product;
        c.mean = d_p.mean;
        add_items<<<blocks_for(int64_t(d_sums.size()), threads), threads, 0, on>>>(
            c, d_sums.data(), d_totals.data());
        check_launch("averages of visibilities");
    }

    void dump(int sum, cfloat* average, uint32_t* counts, stream& s) override
    {
        const device_guard guard(d_device);
        const int64_t cells = d_p.cells(), first = sum * cells;
        write_average<<<blocks_for(cells, threads), threads, 0, native(s)>>>(
            d_sums.data() + first,
            d_totals.data() + first,
            cells,
            d_p.mean,
            reinterpret_cast<float2*>(average),
            counts);
        check_launch("averages of visibilities, dump");
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        check(cudaMemsetAsync(d_sums.data(), 0, d_sums.bytes(), native(s)),
              "clearing averages");
        check(cudaMemsetAsync(d_totals.data(), 0, d_totals.bytes(), native(s)),
              "clearing averages");
    }

private:
    static constexpr int slots = 4; // calls whose uploads may wait for their stream

    const parameters d_p;
    const int d_device;
    device_array<pick> d_picks;
    device_array<double2> d_sums;    // [sum][channel][product]
    device_array<uint32_t> d_totals; // the same
    uploaded_array<uint32_t> d_counted;
    uploaded_array<uint8_t> d_used;
    uploaded_array<rotation> d_rotations;
};

} // namespace

template <>
std::unique_ptr<visibility_average>
make(const visibility_average::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    require(int64_t(p.sums()) * int64_t(p.cells()) / threads < (int64_t(1) << 31) - 1,
            "products",
            std::to_string(p.products.size()) + " products of " +
                std::to_string(p.channels_out()) + " channels in " +
                std::to_string(p.sums()) + " sums",
            "fewer than a GPU has thread blocks for");
    return std::make_unique<cuda_visibility_average>(p, device);
}

} // namespace gr::aperture::kernels::cuda
