/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the pulse search of a GPU with the host's. Sums are rounded in another order,
 * and so is the baseline, of which each value of a boxcar has the same error: S/N agree
 * to 2e-4, 2e-5 of them, and sqrt(width) times a float's resolution of the level. What is
 * so near to the threshold, or to a better cell beside it, may be listed by one of them
 * only.
 */

#include "../check_cuda.h"
#include "kernels/pulses/cuda_pulse_search.h"
#include "kernels/pulses/host_pulse_search.h"
#include "runtime/host_stream.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

using cell = pulse_search::cell;
constexpr int segment = 32; // ends of boxcars of which the best one is listed

constexpr float rms = 3;

bool agree(float a, float b, int width, double level)
{
    return std::abs(a - b) <=
           2e-4f + 2e-5f * std::abs(a) +
               std::sqrt(float(width)) * std::abs(level) * 2.4e-7 / rms;
}

//! Whether all of a that are clearly above the threshold are in b.
int without_match(const std::vector<cell>& a,
                  const std::vector<cell>& b,
                  const std::vector<boxcar>& boxcars,
                  double threshold,
                  double level)
{
    int without = 0;
    for (const auto& x : a) {
        const int width = boxcars[x.boxcar].width;
        const int near = segment << boxcars[x.boxcar].level;
        const bool met = std::any_of(b.begin(), b.end(), [&](const cell& y) {
            return y.series == x.series && std::abs(y.end - x.end) <= near &&
                   agree(x.snr, y.snr, width, level);
        });
        without += !met && !agree(x.snr, float(threshold), width, level);
    }
    return without;
}

std::vector<float> powers_of(const trial_layout& t, int item, double level)
{
    std::normal_distribution<float> normal;
    std::vector<float> v(t.values());
    for (auto& x : v)
        x = float(level) + rms * normal(random_bits);
    // pulses, some across items, and what is no number
    for (int i = 0; i < 12; i++) {
        const size_t width = 1 << random_bits() % 9;
        const size_t begin = random_bits() % v.size();
        for (size_t k = begin; k < std::min(v.size(), begin + width); k++)
            v[k] += 40 / std::sqrt(float(width));
    }
    v[random_bits() % v.size()] = std::numeric_limits<float>::quiet_NaN();
    v[random_bits() % v.size()] = std::numeric_limits<float>::infinity();
    if (item % 5 == 3) {
        const size_t begin = random_bits() % v.size();
        std::fill(v.begin() + begin, v.begin() + std::min(v.size(), begin + 700), 0.f);
    }
    return v;
}

void check(const std::string& what, const pulse_search::parameters& p, double level)
{
    const auto all = boxcars(p.widest, p.growth);
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    host_stream on_host;
    const auto host = host::make_pulse_search(p);
    delay_default_stream();
    const auto gpu = cuda::make_pulse_search(p, 0);
    for (int round = 0; round < 2; round++) { // as after a restart
        host->reset(on_host);
        gpu->reset(s);
        std::vector<pulse_search::result> expected, found;
        const auto collect = [&](bool last) {
            for (auto& r : host->collect(true))
                expected.push_back(std::move(r));
            for (auto& r : gpu->collect(last))
                found.push_back(std::move(r));
        };
        for (int item = 0; item < 9; item++) {
            const auto values = powers_of(p.trials, item, level);
            // not aligned where the numbers of values are odd
            const guarded in(values, item % 2 ? 4 : 0);
            host->search(values.data(), on_host);
            gpu->search(static_cast<const float*>(in.data()), s);
            if (item == 5) {
                host->flush(on_host);
                gpu->flush(s);
            }
            collect(false);
            s.synchronize();
        }
        host->flush(on_host);
        gpu->flush(s);
        collect(true);
        expect(found.size() == expected.size(), what + ": results");
        size_t listed = 0, unmatched = 0;
        for (size_t i = 0; i < std::min(found.size(), expected.size()); i++) {
            const auto &e = expected[i], &f = found[i];
            const std::string where = what + ", result " + std::to_string(i);
            listed += e.cells.size();
            // in a large level a float resolves wide boxcars worse than their neighbours
            // differ
            unmatched += without_match(e.cells, f.cells, all, p.threshold, level) +
                         without_match(f.cells, e.cells, all, p.threshold, level);
            expect(f.left_out == 0 && e.left_out == 0, where + ": left out");
            for (size_t b = 0; b < all.size(); b++) {
                const double n = double(e.above[b]), m = double(f.above[b]);
                expect(std::abs(n - m) <= 2 + 1e-3 * n, where + ": number of cells");
            }
        }
        expect(unmatched <= (level > 1e3 ? 2 + listed / 200 : 0),
               what + ": cells of one of them only");
        expect(listed > 5, what + ": there were pulses");
    }
}

void check_pulse_search(bool quick)
{
    // as many values as tiles have, and odd numbers; a level that eats bits of a float
    check("small",
          { { 3, 1000, { 0, 7, 3 }, { 1, 2, 4 } }, 1e-3, 3, 300, 1.2, 6, 2000 },
          0);
    check("few", { { 2, 90, { 5, 1, 2 }, {} }, 1e-3, 1, 60, 1.07, 6, 2000 }, 100);
    if (quick)
        return;
    check("tiles",
          { { 2, 8192, { 0, 1, 2 }, { 1, 1, 8 } }, 1e-3, 9, 4096, 1.15, 6, 4000 },
          3e3);
    check("odd", { { 1, 9437, { 0, 1, 2 }, {} }, 1e-3, 30, 4096, 1.2, 6, 4000 }, -50);
    check("narrow", { { 2, 5000, { 1, 2 }, {} }, 1e-3, 5, 1, 1.2, 5, 4000 }, 10);
}

//! Of a list that is full it is known how many cells there were.
void check_full()
{
    pulse_search::parameters p{ { 2, 4096, { 0 }, {} }, 1e-3, 4, 8, 1.2, 3, 5 };
    std::normal_distribution<float> normal;
    std::vector<float> values(p.trials.values());
    for (auto& x : values)
        x = normal(random_bits);
    const guarded in(values);
    const auto own_stream = device::select("cuda").make_stream();
    host_stream on_host;
    const auto host = host::make_pulse_search(p);
    const auto gpu = cuda::make_pulse_search(p, 0);
    host->search(values.data(), on_host);
    gpu->search(static_cast<const float*>(in.data()), *own_stream);
    const auto expected = host->collect(true), found = gpu->collect(true);
    expect(found.size() == 1 && found[0].cells.size() == 10, "full: cells");
    expect(expected[0].left_out > 5 &&
               std::abs(double(found[0].left_out) - double(expected[0].left_out)) <= 2,
           "full: left out");
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_pulse_search: the pulse search of a GPU against the host's",
                       { { "pulse_search", "", check_pulse_search },
                         { "full", "", [](bool) { check_full(); } } });
}
