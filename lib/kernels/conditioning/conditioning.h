/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CONDITIONING_CONDITIONING_H
#define INCLUDED_APERTURE_KERNELS_CONDITIONING_CONDITIONING_H

#include <cmath>

#ifdef __CUDACC__
#define APERTURE_EVERYWHERE __host__ __device__
#else
#define APERTURE_EVERYWHERE
#endif

/*!
 * \file
 * The constants and formulas of the power normalizer on every device. A column is a beam
 * and a channel, or the sums over channels of a beam.
 */
namespace gr::aperture::kernels::conditioning {

//! Powers this far from the bandpass before, in units of its rms, are left out of the
//! statistics of a segment, unless they are most of it.
constexpr float outlier = 10;
//! Powers that a column begins with: their median stands for its mean.
constexpr int first_values = 5;
//! Segments' means may differ by so many of their own errors.
constexpr float segment_agreement = 4;
//! Segments' variances may exceed their median by this factor over the square root of
//! the items of a segment. Twelve suffices for powers of one spectrum, whose variance has
//! a relative error of sqrt(8 / items).
constexpr float variance_agreement = 12;
//! Powers in the sum over channels that finds broad interference are limited to this, in
//! units of the rms: a bright pulse is in some channels at a time, broad interference in
//! all.
constexpr float most_of_sum = 3;
//! Channels on each side to which a channel is compared.
constexpr int neighbours = 16;
//! Ratio of the rms to the median of deviations, for Gaussian noise.
constexpr float rms_of_median = 1.4826f;

//! Returns whether sums and squares of a deviation are meaningful: it is neither
//! infinite, nor NaN, nor absurdly large.
APERTURE_EVERYWHERE inline bool usable(float deviation)
{
    return std::fabs(deviation) < 1e15f;
}

//! Mean and variance; a variance below 0 stands for none.
struct moments {
    float mean, variance;
};

//! Origin of a column's deviations: a value near the mean, and the distance from which on
//! powers are outliers. A limit below 0: there is no bandpass yet.
struct reference {
    float value, limit;
};

//! Sums over the items of a segment of deviations from the reference.
struct sums {
    float count = 0, sum = 0, squares = 0;
    APERTURE_EVERYWHERE void add(float deviation, bool counts)
    {
        count += counts ? 1 : 0;
        sum += counts ? deviation : 0;
        squares += counts ? deviation * deviation : 0;
    }
    APERTURE_EVERYWHERE void add(const sums& other)
    {
        count += other.count;
        sum += other.sum;
        squares += other.squares;
    }
};

//! The sums over a segment of a column: all usable powers, and those without outliers.
struct both_sums {
    sums all, inner;
    APERTURE_EVERYWHERE void add(const both_sums& other)
    {
        all.add(other.all);
        inner.add(other.inner);
    }
};

//! \param segment items of a whole segment: a quarter of them is enough for a variance
APERTURE_EVERYWHERE inline moments
moments_of(const both_sums& both, float value, int segment)
{
    const sums& s = 2 * both.inner.count >= both.all.count ? both.inner : both.all;
    if (s.count < 2 || 4 * s.count < segment)
        return { 0, -1 };
    const float mean = s.sum / s.count;
    const float variance = (s.squares - mean * s.sum) / (s.count - 1);
    return { value + mean, variance > 0 ? variance : 0 };
}

//! Returns the one of count values that has the rank, from 0; makes count^2 comparisons.
//! \param value (i) -> float
template <class Value>
APERTURE_EVERYWHERE float of_rank(int rank, int count, const Value& value)
{
    for (int i = 0; i < count; i++) {
        const float v = value(i);
        int less = 0, equal = 0;
        for (int k = 0; k < count; k++) {
            const float other = value(k);
            less += other < v;
            equal += other == v;
        }
        if (less <= rank && rank < less + equal)
            return v;
    }
    return 0;
}

//! Returns the lower median in the same way.
template <class Value>
APERTURE_EVERYWHERE float median_of(int count, const Value& value)
{
    return of_rank((count - 1) / 2, count, value);
}

/*!
 * Returns the moments that segments of a column agree about: the mean of those that are
 * near the medians.
 * \param valid number of segments with a variance of 0 or more
 * \param segment items of a segment
 * \param at (i) -> moments of the i-th of those
 */
template <class At>
APERTURE_EVERYWHERE moments agreement_of(int valid, int segment, const At& at)
{
    if (valid == 0)
        return { 0, -1 };
    const moments middle = { median_of(valid, [&](int i) { return at(i).mean; }),
                             median_of(valid, [&](int i) { return at(i).variance; }) };
    const float root = std::sqrt(float(segment));
    const float most_off = segment_agreement * std::sqrt(middle.variance) / root;
    const float most_variance = middle.variance * (1 + variance_agreement / root);
    float kept = 0, off = 0, variance = 0;
    for (int i = 0; i < valid; i++) {
        const moments m = at(i);
        const float deviation = m.mean - middle.mean;
        if (std::fabs(deviation) <= most_off && m.variance <= most_variance) {
            kept++;
            off += deviation;
            variance += m.variance;
        }
    }
    if (kept == 0)
        return middle;
    return { middle.mean + off / kept, variance / kept };
}

APERTURE_EVERYWHERE inline reference reference_of(const moments& m)
{
    if (!(m.variance > 0))
        return { 0, -1 };
    return { m.mean, outlier * std::sqrt(m.variance) };
}

} // namespace gr::aperture::kernels::conditioning

#endif /* INCLUDED_APERTURE_KERNELS_CONDITIONING_CONDITIONING_H */
