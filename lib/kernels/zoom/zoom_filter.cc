/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/fftw.h"
#include "kernels/zoom/zoom_filter.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace gr::aperture::kernels {

namespace {

//! The attenuation, in dB, that the stages are designed for, and the least that they
//! have: Kaiser's formulas are good to about one, but for filters of few taps, which get
//! more.
constexpr double designed = 82.5, least_attenuation = 81;
//! A result of a stage costs as much as so many taps beyond its own.
constexpr double taps_of_result = 8;

/*!
 * The extents of one stage, by rates in units of the output's: what it lets pass, and
 * what it has to take away, which is what aliases into the passband at its own output.
 */
struct extents {
    double rate; //!< samples a second of the stage's input
    int decimation;
    double passband;

    double edge() const { return passband / 2 / rate; } //!< in cycles a sample
    int taps() const
    {
        const double transition = 1. / decimation - passband / rate;
        const int order = int(std::ceil((designed - 7.95) / (14.36 * transition)));
        return order + 1 + order % 2;
    }
};

std::vector<float> kaiser_filter(int decimation, int taps)
{
    const double beta = 0.1102 * (designed - 8.7);
    const int half = taps / 2;
    std::vector<double> h;
    double sum = 0;
    for (int k = -half; k <= half; k++) {
        const double u = double(k) / (half + 1), t = M_PI * k / decimation;
        h.push_back((k == 0 ? 1 : std::sin(t) / t) *
                    std::cyl_bessel_i(0., beta * std::sqrt(1 - u * u)));
        sum += h.back();
    }
    for (double& v : h)
        v /= sum;
    return { h.begin(), h.end() };
}

//! Returns the gain at a frequency in cycles a sample, by Clenshaw's recurrence.
double gain_at(const std::vector<float>& taps, double frequency)
{
    const size_t half = taps.size() / 2;
    const double cosine = std::cos(2 * M_PI * frequency);
    double next = 0, after = 0;
    for (size_t k = half; k > 0; k--) {
        const double one = 2. * double(taps[half + k]) + 2 * cosine * next - after;
        after = next;
        next = one;
    }
    return double(taps[half]) + cosine * next - after;
}

//! Returns the largest gain, absolute, of what aliases into the passband at the output.
double largest_alias(const std::vector<float>& taps, const extents& x)
{
    // several points in each of the side lobes
    size_t points = 8;
    while (points < 8 * taps.size())
        points *= 2;
    host::make_planner_thread_safe();
    auto in = host::make_fft_buffer(points);
    auto out = host::make_fft_buffer(2 * (points / 2 + 1));
    const host::plan_ptr plan(
        fftwf_plan_dft_r2c_1d(int(points),
                              in.get(),
                              reinterpret_cast<fftwf_complex*>(out.get()),
                              FFTW_ESTIMATE));
    std::fill_n(in.get(), points, 0.f);
    std::copy(taps.begin(), taps.end(), in.get());
    fftwf_execute(plan.get());
    const auto* gains = reinterpret_cast<const std::complex<float>*>(out.get());
    double largest = std::abs(gain_at(taps, 1. / x.decimation - x.edge()));
    for (size_t k = 0; k <= points / 2; k++) {
        const double place = double(k) / double(points) * x.decimation;
        const double image = std::round(place);
        if (image >= 1 && std::abs(place - image) <= x.edge() * x.decimation)
            largest = std::max(largest, double(std::abs(gains[k])));
    }
    return largest;
}

//! The decimations of stages, which do the work of one.
class choice
{
public:
    choice(int decimation, double passband) : d_passband(passband)
    {
        try_stages(decimation, {}, 0, decimation);
    }
    std::vector<extents> best;

private:
    //! \param left decimation that the next stages share \param rate of the next one's
    //! input
    void
    try_stages(double rate, const std::vector<extents>& before, double cost, int left)
    {
        for (int d = 2; d <= left; d++) {
            if (left % d != 0 || (before.size() == 2 && d != left))
                continue;
            auto stages = before;
            stages.push_back({ rate, d, d_passband });
            const double results = rate / d; // for each one of the output
            const double all = cost + results * (stages.back().taps() + taps_of_result);
            if (all >= d_least)
                continue;
            if (d < left) {
                try_stages(results, stages, all, left / d);
            } else {
                d_least = all;
                best = stages;
            }
        }
    }

    const double d_passband;
    double d_least = std::numeric_limits<double>::infinity();
};

} // namespace

zoom_filter design_zoom_filter(int decimation, double passband)
{
    const choice chosen(decimation, passband);
    zoom_filter made{ {}, 0, std::numeric_limits<double>::infinity() };
    for (const auto& x : chosen.best) {
        int taps = x.taps();
        auto h = kaiser_filter(x.decimation, taps);
        double attenuation = -20 * std::log10(largest_alias(h, x));
        while (attenuation < least_attenuation) {
            h = kaiser_filter(x.decimation, taps += 2);
            attenuation = -20 * std::log10(largest_alias(h, x));
        }
        made.stages.push_back({ x.decimation, std::move(h) });
        made.attenuation = std::min(made.attenuation, attenuation);
    }
    // several points in each ripple of the steepest filter
    const auto& last = chosen.best.back();
    const int steps = 8 * (1 + int(last.taps() * passband / last.decimation));
    double least = 1, most = 1;
    for (int step = 1; step <= steps; step++) {
        double gain = 1;
        for (size_t i = 0; i < made.stages.size(); i++)
            gain *= gain_at(made.stages[i].taps, chosen.best[i].edge() * step / steps);
        least = std::min(least, gain);
        most = std::max(most, gain);
    }
    made.ripple = 20 * std::log10(most / least);
    // a stage's alias passes the others, which may amplify it as they do the passband
    made.attenuation -= made.ripple;
    return made;
}

} // namespace gr::aperture::kernels
