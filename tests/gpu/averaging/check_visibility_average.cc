/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares averages of visibilities on the GPU with the host's: counts are equal, values
 * differ by roundings of fp32. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/averaging/visibility_average.h"
#include "kernels/common/makers.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <cmath>
#include <limits>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

void check_average(const visibility_average::parameters& p, bool cells, bool by_product)
{
    const int items = std::min(7, p.most_items());
    const std::string what = "averages of " + std::to_string(p.inputs) + " inputs, " +
                             std::to_string(p.channels) + " channels, " +
                             std::to_string(p.centers) + " centres, " +
                             std::to_string(p.gates) + " gates";
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    delay_default_stream();
    const auto host = host::make<visibility_average>(p),
               gpu = cuda::make<visibility_average>(p, 0);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<double> cycles(-1, 1);
    for (int run = 0; run < 2; run++) {
        for (int call = 0; call < 3; call++) {
            std::vector<cfloat> v(size_t(items) * p.channels * p.all());
            for (auto& x : v)
                x = random_bits() % 50
                        ? cfloat(normal(random_bits), normal(random_bits))
                        : cfloat(std::numeric_limits<float>::quiet_NaN(), 0);
            std::vector<uint32_t> counts(v.size()), counted(items * p.all());
            for (auto* numbers : { &counts, &counted })
                for (auto& n : *numbers)
                    n = random_bits() % 3 ? random_bits() % 5000 : 0;
            std::vector<uint8_t> used(items * p.sums());
            for (auto& u : used)
                u = random_bits() % 2;
            std::vector<visibility_average::rotation> rotations(size_t(items) *
                                                                p.centers * p.inputs);
            for (auto& r : rotations)
                r = { cycles(random_bits), cycles(random_bits) };
            const visibility_average::items some{ items,
                                                  counted.data(),
                                                  by_product,
                                                  used.data(),
                                                  p.centers ? rotations.data()
                                                            : nullptr };
            const guarded in(v), cells_in(counts);
            host->accumulate(v.data(), cells ? counts.data() : nullptr, some, on_host);
            gpu->accumulate(static_cast<const cfloat*>(in.data()),
                            cells ? static_cast<const uint32_t*>(cells_in.data())
                                  : nullptr,
                            some,
                            *own_stream);
            own_stream->synchronize(); // before the input goes
        }
        for (int sum = 0; sum < p.sums(); sum++) {
            std::vector<cfloat> expected(p.cells());
            std::vector<uint32_t> totals(p.cells());
            const guarded out(p.cells() * sizeof(cfloat)),
                counts(p.cells() * sizeof(uint32_t));
            host->dump(sum, expected.data(), totals.data(), on_host);
            gpu->dump(sum,
                      static_cast<cfloat*>(out.data()),
                      static_cast<uint32_t*>(counts.data()),
                      *own_stream);
            own_stream->synchronize();
            expect(counts.values<uint32_t>() == totals, what + ", counts");
            const auto found = out.values<cfloat>();
            // roundings of phasors, of values of about 1; sums are of some hundred
            const double most = p.mean ? 2e-6 : 2e-5;
            bool same = true;
            for (size_t i = 0; i < found.size(); i++)
                same = same && (std::isnan(expected[i].real())
                                    ? std::isnan(found[i].real())
                                    : std::abs(found[i] - expected[i]) <= most);
            expect(same, what + ", values");
            expect(out.untouched_around() && counts.untouched_around(),
                   what + ", guards");
        }
    }
}

void check_averages()
{
    std::vector<std::pair<int, int>> all;
    for (int a = 0; a < 33; a++)
        for (int b = 0; b <= a; b++)
            all.emplace_back(a, b);
    for (const bool cells : { false, true })
        for (const bool by_product : { false, true }) {
            check_average({ 6, 33, 1, all, 0, 1, true }, cells, by_product);
            check_average({ 6, 33, 3, all, 2, 3, true }, cells, by_product);
            check_average({ 15, 3, 5, { { 2, 1 }, { 0, 2 }, { 1, 1 } }, 1, 2, false },
                          cells,
                          by_product);
        }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_visibility_average: averages of visibilities of a GPU against the host's",
        { { "averages", "", [](bool) { check_averages(); } } });
}
