/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/flagging/kurtosis.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture::kernels {

kurtosis_moments moments_of_kurtosis(int spectra)
{
    const double m = spectra, below = m - 1;
    const double four = (m + 2) * (m + 3), six = four * (m + 4) * (m + 5);
    kurtosis_moments moments;
    moments.second = 4 * m * m / (below * four);
    moments.third = 16 * m * m * m * (5 * m - 7) / (below * below * six);
    moments.fourth = 48 * std::pow(m, 4) * (m * m * m + 98 * m * m - 185 * m + 78) /
                     (below * below * below * six * (m + 6) * (m + 7));
    return moments;
}

namespace {

/*!
 * A Pearson distribution of mean 0 and variance 1: p'/p = -(x + b1)/(b0 + b1 x + b2 x^2).
 * It is integrated in this form, so that all types (IV from 24 spectra on, I, III and VI)
 * are treated alike.
 */
class pearson
{
public:
    explicit pearson(const kurtosis_moments& m)
    {
        const double beta1 = m.third * m.third / std::pow(m.second, 3);
        const double beta2 = m.fourth / (m.second * m.second);
        const double all = 10 * beta2 - 12 * beta1 - 18;
        d_b0 = (4 * beta2 - 3 * beta1) / all;
        d_b1 = std::sqrt(beta1) * (beta2 + 3) / all;
        d_b2 = (2 * beta2 - 3 * beta1 - 6) / all;
        integrate(-1, d_below);
        integrate(1, d_above);
        const double total = d_below.back() + d_above.back();
        for (auto* side : { &d_below, &d_above })
            for (double& sum : *side)
                sum /= total;
    }

    //! Return the points with a probability below, and above them.
    double lower(double probability) const
    {
        return -d_b1 - place(d_below, d_below.back() - probability);
    }
    double upper(double probability) const
    {
        return -d_b1 + place(d_above, d_above.back() - probability);
    }

private:
    static constexpr double step = 1 / 256.;

    double slope(double x) const { return -(x + d_b1) / (d_b0 + x * (d_b1 + d_b2 * x)); }

    //! Makes sums[i], the integral of p over i steps from the mode.
    void integrate(int side, std::vector<double>& sums) const
    {
        double x = -d_b1, log_p = 0, p = 1;
        sums = { 0 };
        while (p > 1e-18 && sums.size() < 200 / step) {
            // Simpson's rule for the logarithm, and for p
            const double h = side * step;
            if (!(d_b0 + (x + h) * (d_b1 + d_b2 * (x + h)) > 0))
                break; // the distribution ends here
            const double a = slope(x), c = slope(x + h / 2), e = slope(x + h);
            const double f = slope(x + h / 4);
            const double middle = std::exp(log_p + h / 12 * (a + 4 * f + c));
            log_p += h / 6 * (a + 4 * c + e);
            const double end = std::exp(log_p);
            sums.push_back(sums.back() + step / 6 * (p + 4 * middle + end));
            p = end;
            x += h;
        }
    }

    static double place(const std::vector<double>& sums, double wanted)
    {
        const auto at = std::lower_bound(sums.begin() + 1, sums.end() - 1, wanted);
        const double before = *(at - 1);
        return step * (double(at - 1 - sums.begin()) +
                       std::clamp((wanted - before) / (*at - before), 0., 1.));
    }

    double d_b0, d_b1, d_b2;
    std::vector<double> d_below, d_above;
};

} // namespace

kurtosis_limits limits_of_kurtosis(int spectra, double false_alarms)
{
    const auto moments = moments_of_kurtosis(spectra);
    const pearson distribution(moments);
    const double width = std::sqrt(moments.second);
    return { 1 + width * distribution.lower(false_alarms / 2),
             1 + width * distribution.upper(false_alarms / 2) };
}

std::vector<kurtosis_limits> kurtosis_limit_table(int most, double false_alarms)
{
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<kurtosis_limits> table(most + 1, { -infinity, infinity });
    // smooth in 1/sqrt(M): nodes a sixteenth apart, and a parabola through each three
    std::vector<int> nodes;
    for (int m = least_kurtosis_spectra; m < most; m += std::max(1, m / 16))
        nodes.push_back(m);
    if (most >= least_kurtosis_spectra)
        nodes.push_back(most);
    std::vector<kurtosis_limits> at(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
        const auto limits = limits_of_kurtosis(nodes[i], false_alarms);
        const double root = std::sqrt(double(nodes[i]));
        at[i] = { (limits.low - 1) * root, (limits.high - 1) * root };
        table[nodes[i]] = limits;
    }
    for (size_t i = 0; i + 1 < nodes.size(); i++)
        for (int m = nodes[i] + 1; m < nodes[i + 1]; m++) {
            // linear in 1/sqrt(M), in which the limits are nearly straight
            const double root = std::sqrt(double(m));
            const double a = 1 / std::sqrt(double(nodes[i]));
            const double b = 1 / std::sqrt(double(nodes[i + 1]));
            const double part = (a - 1 / root) / (a - b);
            table[m] = { 1 + (at[i].low + part * (at[i + 1].low - at[i].low)) / root,
                         1 + (at[i].high + part * (at[i + 1].high - at[i].high)) / root };
        }
    return table;
}

namespace {

//! Moments 2, 4, 6, 8 of a Gaussian variable that is rounded and clamped to +-limit.
struct quantised_moments {
    double m2 = 0, m4 = 0, m6 = 0, m8 = 0;

    quantised_moments(double rms, int limit)
    {
        const auto above = [=](double x) { return std::erfc(x / rms * M_SQRT1_2); };
        for (int q = 1; q <= limit; q++) {
            // both signs
            const double probability = above(q - 0.5) - (q < limit ? above(q + 0.5) : 0.);
            const double square = double(q) * q;
            m2 += probability * square;
            m4 += probability * std::pow(square, 2);
            m6 += probability * std::pow(square, 3);
            m8 += probability * std::pow(square, 4);
        }
    }
};

quantised_kurtosis::node node_of(double rms, int limit)
{
    const quantised_moments q(rms, limit);
    // moments of the power, the sum of two independent squares
    const double p1 = 2 * q.m2, p2 = 2 * q.m4 + 2 * q.m2 * q.m2;
    const double p3 = 2 * q.m6 + 6 * q.m4 * q.m2;
    const double p4 = 2 * q.m8 + 8 * q.m6 * q.m2 + 6 * q.m4 * q.m4;
    // the variance of S2/S1^2 times M, for large M; that of noise is 4
    const double variance = (p4 - p2 * p2) / std::pow(p1, 4) +
                            4 * p2 * p2 * (p2 - p1 * p1) / std::pow(p1, 6) -
                            4 * p2 * (p3 - p1 * p2) / std::pow(p1, 5);
    return { p2 / (p1 * p1) - 2, 2 / std::sqrt(variance) };
}

} // namespace

const quantised_kurtosis& quantised_kurtosis::of(sample_type type)
{
    static const quantised_kurtosis sc8(127), sc4(7), none(0);
    return type == sample_type::sc8 ? sc8 : type == sample_type::sc4 ? sc4 : none;
}

quantised_kurtosis::quantised_kurtosis(int limit)
{
    const auto power = [=](double rms) { return 2 * quantised_moments(rms, limit).m2; };
    for (int i = 0; limit > 0; i++) {
        const int exponent = first_exponent + (i >> bits);
        const double wanted =
            std::ldexp(1 + (i & ((1 << bits) - 1)) / double(1 << bits), exponent);
        if (wanted > power(limit))
            break;
        double low = 1e-2, high = limit;
        for (int n = 0; n < 40; n++) {
            const double middle = (low + high) / 2;
            (power(middle) < wanted ? low : high) = middle;
        }
        nodes.push_back(node_of(low, limit));
    }
    nodes.push_back({ 0, 1 });
}

} // namespace gr::aperture::kernels
