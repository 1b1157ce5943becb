/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures averages of visibilities: bytes of the input a second, of all products.
 *
 * bench_averages [DEVICE [ITEMS]]
 *
 * ITEMS: items in a call (default 8). On the CPU times are those of the processors, which
 * other programs do not lengthen, but threads that wait for others do: OMP_NUM_THREADS=1
 * measures one. A figure is the median of 7 runs.
 */

#include "kernels/averaging/visibility_average.h"
#include "timing.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace gr::aperture;
using kernels::visibility_average;

int main(int argc, char** argv)
{
    const auto d = device::select(argc > 1 ? argv[1] : "cpu");
    const int items = argc > 2 ? std::atoi(argv[2]) : 8;
    const auto s = d.make_stream();
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::printf(
        "%s %s, %d items a call\n", d.name().c_str(), d.description().c_str(), items);
    std::printf("inputs channels  summed centres  counts    GB/s\n");
    for (int inputs : { 2, 16, 64, 256 })
        for (int kind = 0; kind < 4; kind++) {
            std::vector<std::pair<int, int>> products;
            for (int a = 0; a < inputs; a++)
                for (int b = 0; b <= a; b++)
                    products.emplace_back(a, b);
            const int channels = std::max(4, 1 << 20 >> 3) / int(products.size()) / 4 * 4;
            const visibility_average::parameters p{ std::max(4, channels),
                                                    inputs,
                                                    kind == 1 ? 4 : 1,
                                                    products,
                                                    kind == 3,
                                                    1,
                                                    true };
            const auto kernel = visibility_average::make(p, d);
            const int together = std::min(items, p.most_items());
            const size_t count = size_t(together) * p.channels * p.all();
            std::vector<cfloat> v(count);
            for (auto& x : v)
                x = { normal(random), normal(random) };
            const std::vector<uint32_t> cells(count, 900);
            const auto in = d.allocate(count * sizeof(cfloat)),
                       counts = d.allocate(count * sizeof(uint32_t));
            s->copy(
                in.get(), v.data(), count * sizeof(cfloat), direction::host_to_device);
            s->copy(counts.get(),
                    cells.data(),
                    count * sizeof(uint32_t),
                    direction::host_to_device);
            const std::vector<uint32_t> counted(together, 1000);
            const std::vector<uint8_t> used(together * p.sums(), 1);
            std::vector<visibility_average::rotation> rotations(together * inputs);
            for (auto& r : rotations)
                r = { normal(random), normal(random) };
            const visibility_average::items some{ together,
                                                  counted.data(),
                                                  false,
                                                  used.data(),
                                                  kind == 3 ? rotations.data()
                                                            : nullptr };
            const double seconds = seconds_of(d, *s, [&] {
                kernel->accumulate(
                    reinterpret_cast<const cfloat*>(in.get()),
                    kind == 2 ? reinterpret_cast<const uint32_t*>(counts.get()) : nullptr,
                    some,
                    *s);
            });
            const double bytes = double(count) * (kind == 2 ? 12 : 8);
            std::printf("%6d %8d %7d %7d %7s %7.2f\n",
                        inputs,
                        p.channels,
                        p.summed_channels,
                        p.centers,
                        kind == 2 ? "yes" : "no",
                        1e-9 * bytes / seconds);
        }
    return 0;
}
