/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/averaging/visibility_average.h"
#include "kernels/common/makers.h"
#include "kernels/common/simd.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture::kernels::host {

namespace {

constexpr double two_pi = 6.283185307179586476925286766559;

/*!
 * Adds a row of products to running sums, re and im apart. Conditions are selections, so
 * that loops become vectors.
 * \param weights of each product; nullptr: all weigh `weight`
 * \param mean whether products are multiplied by their weights
 */
APERTURE_SIMD void add_row(const float* __restrict__ row,
                           const uint32_t* __restrict__ weights,
                           uint32_t weight,
                           bool mean,
                           size_t products,
                           double* __restrict__ re,
                           double* __restrict__ im,
                           uint32_t* __restrict__ counts)
{
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto add = [&](size_t p, uint32_t count) {
        const float x = row[2 * p], y = row[2 * p + 1];
        // the difference is 0 of numbers only
        const bool number = x - x == 0.f && y - y == 0.f;
        const double factor = mean ? double(count) : 1.;
        const double before_re = counts[p] ? re[p] : 0., more_re = factor * double(x);
        const double before_im = counts[p] ? im[p] : 0., more_im = factor * double(y);
        // a product that is not a number is remembered until one comes that is
        const double bad_re = counts[p] ? re[p] : none, bad_im = counts[p] ? im[p] : none;
        const double new_re = number ? before_re + more_re : bad_re;
        const double new_im = number ? before_im + more_im : bad_im;
        re[p] = count ? new_re : re[p];
        im[p] = count ? new_im : im[p];
        counts[p] += number ? count : 0;
    };
    if (weights)
        for (size_t p = 0; p < products; p++)
            add(p, weights[p]);
    else if (weight)
        for (size_t p = 0; p < products; p++)
            add(p, weight);
}

class host_visibility_average : public visibility_average
{
public:
    explicit host_visibility_average(const parameters& p)
        : d_p(p), d_re(p.sums() * p.cells()), d_im(d_re.size()), d_counts(d_re.size())
    {
        d_in_order = int64_t(p.products.size()) == p.all();
        for (const auto& [a, b] : p.products) {
            const int64_t high = std::max(a, b), low = std::min(a, b);
            const int64_t place = high * (high + 1) / 2 + low;
            d_in_order = d_in_order && a >= b && place == int64_t(d_places.size());
            d_places.push_back(place);
        }
    }

    std::string implementation() const override { return "host"; }

    void accumulate(const cfloat* visibilities,
                    const uint32_t* counts,
                    const items& some,
                    stream&) override
    {
        const bool worth_threads =
            double(some.count) * d_p.channels * double(d_places.size()) > 3e4;
#pragma omp parallel if (worth_threads)
        {
            rows r(d_p);
#pragma omp for schedule(static)
            for (int to = 0; to < d_p.channels_out(); to++)
                for (int item = 0; item < some.count; item++)
                    for (int i = 0; i < d_p.summed_channels; i++)
                        add(visibilities,
                            counts,
                            some,
                            item,
                            to * d_p.summed_channels + i,
                            to,
                            r);
        }
    }

    void dump(int sum, cfloat* average, uint32_t* counts, stream&) override
    {
        const size_t cells = d_p.cells(), first = sum * cells;
        for (size_t i = 0; i < cells; i++) {
            const uint32_t count = d_counts[first + i];
            const double scale = d_p.mean && count ? 1. / count : 1;
            average[i] = { float(d_re[first + i] * scale),
                           float(d_im[first + i] * scale) };
            if (counts)
                counts[i] = count;
        }
        for (auto* sums : { &d_re, &d_im })
            std::fill_n(sums->begin() + first, cells, 0.);
        std::fill_n(d_counts.begin() + first, cells, 0);
    }

    void clear(stream&) override
    {
        std::fill(d_re.begin(), d_re.end(), 0.);
        std::fill(d_im.begin(), d_im.end(), 0.);
        std::fill(d_counts.begin(), d_counts.end(), 0);
    }

private:
    //! Rows of one channel of an item.
    struct rows {
        explicit rows(const parameters& p)
            : chosen(p.products.size()),
              rotated(p.centers > 0 ? p.products.size() : 0),
              weights(p.products.size()),
              phasors(p.centers > 0 ? p.inputs : 0)
        {
        }
        std::vector<cfloat> chosen, rotated; // [product]
        std::vector<uint32_t> weights;       // [product]
        std::vector<cfloat> phasors;         // [input]
    };

    void add(const cfloat* visibilities,
             const uint32_t* counts,
             const items& some,
             int item,
             int channel,
             int to,
             rows& r)
    {
        const int64_t all = d_p.all();
        const size_t products = d_places.size();
        const int sums = d_p.sums();
        const uint8_t* used = some.used + int64_t(item) * sums;
        if (std::all_of(used, used + sums, [](uint8_t u) { return u == 0; }))
            return;
        const int64_t row = (int64_t(item) * d_p.channels + channel) * all;
        const cfloat* in = visibilities + row;
        const uint32_t* weights = counts            ? counts + row
                                  : some.by_product ? some.counted + item * all
                                                    : nullptr;
        if (!d_in_order) {
            for (size_t p = 0; p < products; p++) {
                const cfloat v = in[d_places[p]];
                const auto [a, b] = d_p.products[p];
                r.chosen[p] = a < b ? std::conj(v) : v;
            }
            in = r.chosen.data();
            if (weights) {
                for (size_t p = 0; p < products; p++)
                    r.weights[p] = weights[d_places[p]];
                weights = r.weights.data();
            }
        }
        const int centers = std::max(d_p.centers, 1);
        for (int center = 0; center < centers; center++) {
            const uint8_t* gates = used + center * d_p.gates;
            if (std::all_of(gates, gates + d_p.gates, [](uint8_t u) { return u == 0; }))
                continue;
            const cfloat* from = in;
            if (some.rotations) {
                rotate(in,
                       some.rotations + (int64_t(item) * centers + center) * d_p.inputs,
                       channel - d_p.channels / 2,
                       r);
                from = r.rotated.data();
            }
            for (int gate = 0; gate < d_p.gates; gate++)
                if (gates[gate]) {
                    const size_t place =
                        (size_t(center * d_p.gates + gate) * d_p.channels_out() + to) *
                        products;
                    add_row(reinterpret_cast<const float*>(from),
                            weights,
                            weights ? 0 : some.counted[item],
                            d_p.mean,
                            products,
                            d_re.data() + place,
                            d_im.data() + place,
                            d_counts.data() + place);
                }
        }
    }

    //! Rotates the products of a channel, counted from the one in the middle.
    void rotate(const cfloat* in, const rotation* of_inputs, int channel, rows& r) const
    {
        for (int i = 0; i < d_p.inputs; i++) {
            double cycles = of_inputs[i].start + channel * of_inputs[i].slope;
            cycles -= std::round(cycles);
            r.phasors[i] = { float(std::cos(two_pi * cycles)),
                             float(std::sin(two_pi * cycles)) };
        }
        for (size_t p = 0; p < d_places.size(); p++) {
            const auto [a, b] = d_p.products[p];
            const cfloat v = in[p], x = r.phasors[a], y = r.phasors[b];
            // x conj(y), and v times it, without the checks of std::complex
            const float re = x.real() * y.real() + x.imag() * y.imag();
            const float im = x.imag() * y.real() - x.real() * y.imag();
            r.rotated[p] = { v.real() * re - v.imag() * im,
                             v.real() * im + v.imag() * re };
        }
    }

    const parameters d_p;
    std::vector<int64_t> d_places; // places in an item of the X-engine
    bool d_in_order;               // all products, in the X-engine's order
    // [phase centre][gate][channel][product]
    std::vector<double> d_re, d_im;
    std::vector<uint32_t> d_counts;
};

} // namespace

template <>
std::unique_ptr<visibility_average> make(const visibility_average::parameters& p,
                                         const std::string&)
{
    return std::make_unique<host_visibility_average>(p);
}

} // namespace gr::aperture::kernels::host
