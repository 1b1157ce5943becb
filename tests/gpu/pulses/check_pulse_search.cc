/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the pulse search of a GPU with the host's, and the cells that both list with a
 * model in double precision. Running sums of a tile are floats, which the two round in
 * another order: an S/N has the error of the largest running sum of its tile, over
 * sqrt(width). The baseline is a float, too, of which each value of a boxcar has the same
 * error: sqrt(width) times a float's resolution of the level. A cell so near to the
 * threshold, or to a better cell beside it, may be listed by one of them only.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/pulses/pulse_search.h"
#include "pulse_search_model.h"
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

//! Returns the allowed difference of S/N; `sum` is the largest of the running sums.
double tolerance(double snr, int width, double level, double sum)
{
    return 2e-4 + 2e-5 * std::abs(snr) +
           std::sqrt(double(width)) * std::abs(level) * 2.4e-7 / rms +
           sum / std::sqrt(double(width)) * 2.4e-7;
}

//! The cells of one call, and the models that they are compared with.
struct compared {
    const std::vector<boxcar>& boxcars;
    const std::vector<pulse_search_model>& models; // model of each series
    const std::vector<size_t>& begins;             // beginning of the item in each series
    double threshold, level;

    double tolerance_of(const cell& c) const
    {
        return tolerance(c.snr,
                         boxcars[c.boxcar].width,
                         level,
                         models[c.series].largest_sum(begins[c.series] + c.end));
    }

    bool near(const cell& c, double snr) const
    {
        return std::abs(c.snr - snr) <= tolerance_of(c);
    }

    int unlike_model(const std::vector<cell>& cells) const
    {
        return int(std::count_if(cells.begin(), cells.end(), [&](const cell& c) {
            return !near(
                c,
                models[c.series].snr(begins[c.series] + c.end, boxcars[c.boxcar].width));
        }));
    }

    //! Returns how many cells of a are clearly above the threshold and not in b.
    int without_match(const std::vector<cell>& a, const std::vector<cell>& b) const
    {
        return int(std::count_if(a.begin(), a.end(), [&](const cell& x) {
            const int segment_length = segment << boxcars[x.boxcar].level;
            return !near(x, threshold) &&
                   std::none_of(b.begin(), b.end(), [&](const cell& y) {
                       return y.series == x.series &&
                              std::abs(y.end - x.end) <= segment_length && near(x, y.snr);
                   });
        }));
    }
};

std::vector<float> powers_of(const trial_layout& t, int item, double level)
{
    std::normal_distribution<float> normal;
    std::vector<float> v(t.values());
    for (auto& x : v)
        x = float(level) + rms * normal(random_bits);
    // pulses, some across items, and NaN
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
    const int trials = p.trials.trials(), series = p.trials.beams * trials;
    const auto offsets = p.trials.offsets();
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    host_stream on_host;
    const auto host = host::make<pulse_search>(p);
    delay_default_stream();
    const auto gpu = cuda::make<pulse_search>(p, 0);
    for (int round = 0; round < 2; round++) { // the second round follows a restart
        host->reset(on_host);
        gpu->reset(s);
        std::vector<pulse_search_model> models;
        for (int i = 0; i < series; i++)
            models.emplace_back(
                bins_of(p.window, p.sample_time * p.trials.decimation(i % trials)));
        std::vector<pulse_search::result> expected, found;
        std::vector<std::vector<size_t>> begins; // beginnings for each result and series
        const auto note_begins = [&] {
            begins.emplace_back();
            for (const auto& m : models)
                begins.back().push_back(m.item());
        };
        const auto collect = [&](bool last) {
            for (auto& r : host->collect(true))
                expected.push_back(std::move(r));
            for (auto& r : gpu->collect(last))
                found.push_back(std::move(r));
        };
        const auto flush = [&] {
            host->flush(on_host);
            gpu->flush(s);
            for (auto& m : models)
                m.flush();
            note_begins();
        };
        for (int item = 0; item < 9; item++) {
            const auto values = powers_of(p.trials, item, level);
            // not aligned where the numbers of values are odd
            const guarded in(values, item % 2 ? 4 : 0);
            host->search(values.data(), on_host);
            gpu->search(static_cast<const float*>(in.data()), s);
            for (int i = 0; i < series; i++)
                models[i].search(values.data() + i / trials * offsets.back() +
                                     offsets[i % trials],
                                 p.trials.times(i % trials));
            note_begins();
            if (item == 5)
                flush();
            collect(false);
            s.synchronize();
        }
        flush();
        collect(true);
        expect(found.size() == expected.size(), what + ": results");
        expect(found.size() == begins.size(), what + ": as many as there were calls");
        size_t listed = 0, unmatched = 0;
        for (size_t i = 0; i < std::min(found.size(), expected.size()); i++) {
            const auto &e = expected[i], &f = found[i];
            const std::string where = what + ", result " + std::to_string(i);
            listed += e.cells.size();
            const compared by{ all, models, begins[i], p.threshold, level };
            expect(by.unlike_model(e.cells) == 0, where + ": S/N of the host");
            expect(by.unlike_model(f.cells) == 0, where + ": S/N of the GPU");
            unmatched +=
                by.without_match(e.cells, f.cells) + by.without_match(f.cells, e.cells);
            expect(f.left_out == 0 && e.left_out == 0, where + ": left out");
            for (size_t b = 0; b < all.size(); b++) {
                const double n = double(e.above[b]), m = double(f.above[b]);
                expect(std::abs(n - m) <= 2 + 1e-3 * n, where + ": number of cells");
            }
        }
        expect(unmatched == 0, what + ": cells of one of them only");
        expect(listed > 5, what + ": there were pulses");
    }
}

void check_pulse_search(bool quick)
{
    // the number of samples of tiles, and odd numbers; a level that takes bits of a float
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

//! Checks a full list: the number of cells is still known.
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
    const auto host = host::make<pulse_search>(p);
    const auto gpu = cuda::make<pulse_search>(p, 0);
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
