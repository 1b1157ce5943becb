/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_DECISION_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_DECISION_H

#include "kernels/flagging/kurtosis.h"
#include <cmath>
#include <cstdint>
#include <cstring>

/*!
 * \file
 * Decides on flags with the same code on the host and on a GPU, so that equal sums have
 * equal flags. It is compiled without fused multiply-adds.
 */
#ifdef __CUDACC__
#define APERTURE_ON_BOTH __host__ __device__ __forceinline__
#define APERTURE_UNROLL _Pragma("unroll")
#else
#define APERTURE_ON_BOTH inline __attribute__((always_inline))
#define APERTURE_UNROLL
#endif

namespace gr::aperture::kernels {

//! Slices, or channels, among which a power is compared; the sorting network's size.
constexpr int flag_window = 32;
//! Least number of them to compare with.
constexpr int least_flag_window = 8;
//! Slices of earlier frames that are kept.
constexpr int kept_slices = flag_window - 1;
//! Longest row of cells that SumThreshold sums, a power of two.
constexpr int longest_sum = 16;
//! Power of a cell that is not judged.
constexpr float no_power = -1;

//! The rules by which a cell is flagged. Tables are in the memory of the device.
struct flag_rules {
    int channels, inputs, slices, spectra_per_slice;
    float least_power, most_power;                                      //!< 0: none
    float time_sigma, channel_sigma, time_sum_sigma, channel_sum_sigma; //!< 0: off
    int grown_slices, grown_channels;
    bool kurtosis;
    int node_count;                        //!< number of `nodes`
    const kurtosis_limits* limits;         //!< [spectra of a slice + 1]
    const quantised_kurtosis::node* nodes; //!< nullptr: no integers
    const uint8_t* bad;                    //!< [channel]

    APERTURE_ON_BOTH bool in_time() const { return time_sigma > 0 || time_sum_sigma > 0; }
    APERTURE_ON_BOTH bool in_frequency() const
    {
        return channel_sigma > 0 || channel_sum_sigma > 0;
    }
};

//! Returns bias and scale at a mean power: see quantised_kurtosis.
APERTURE_ON_BOTH quantised_kurtosis::node node_at(const flag_rules& r, float power)
{
    constexpr int shift = 23 - quantised_kurtosis::bits;
    constexpr int first = (127 + quantised_kurtosis::first_exponent)
                          << quantised_kurtosis::bits;
    int32_t word;
    memcpy(&word, &power, sizeof word);
    const int at = (word >> shift) - first;
    if (at >= r.node_count - 1)
        return r.nodes[r.node_count - 1];
    const double part = double(word & ((1 << shift) - 1)) / (1 << shift);
    const auto a = r.nodes[at], b = r.nodes[at + 1];
    return { a.bias + part * (b.bias - a.bias), a.scale + part * (b.scale - a.scale) };
}

/*!
 * Judges a cell by itself.
 * \param s1, s2 sums of |x|^2 and |x|^4 over the spectra that are not missing
 * \param count number of these
 * \param power gets the mean of |x|^2, or no_power
 */
APERTURE_ON_BOTH bool flagged_by_itself(
    const flag_rules& r, double s1, double s2, int count, bool bad, float& power)
{
    power = no_power;
    if (bad || count == 0 || 4 * count < r.spectra_per_slice)
        return false; // too few spectra; bad channels are flagged at the end
    const double n = count;
    const float mean = float(s1 / n);
    if (!(mean <= 3e38f))
        return true; // not finite
    power = mean;
    if ((r.most_power > 0 && mean > r.most_power) || mean < r.least_power)
        return true;
    if (!r.kurtosis || !(s1 > 0) ||
        (r.nodes && mean < 1.f / (1 << -quantised_kurtosis::first_exponent)))
        return false;
    double kurtosis = (n + 1) / (n - 1) * (n * s2 / (s1 * s1) - 1);
    if (r.nodes) {
        const auto q = node_at(r, mean);
        kurtosis = 1 + (kurtosis - 1 - q.bias) * q.scale;
    }
    const auto limits = r.limits[count];
    return !(kurtosis >= limits.low && kurtosis <= limits.high);
}

/*!
 * Returns how many standard deviations a power lies above the median of its window.
 * \param mad median of the absolute deviations from the median
 * \param part fraction of the slice's spectra that are not missing
 *
 * The standard deviation is 1.4826 times the mad, but not less than the radiometer
 * equation's, median / sqrt(spectra).
 */
APERTURE_ON_BOTH float
deviation_of(float power, float median, float mad, float root_spectra, float part)
{
    const float robust = 1.4826f * mad, least = median / root_spectra;
    const float sigma = robust > least ? robust : least;
    if (!(sigma > 0))
        return 0;
    return (power - median) / sigma * sqrtf(part);
}

//! Sorts flag_window elements: Batcher's odd-even merge. `Exchange` sorts two.
template <int P = 1, int K = 1, class Value, class Exchange>
APERTURE_ON_BOTH void sort_window(Value (&v)[flag_window], const Exchange& exchange)
{
    APERTURE_UNROLL
    for (int i = 0; i + K < flag_window; i++)
        if (i >= K % P && (i - K % P) % (2 * K) < K && i / (2 * P) == (i + K) / (2 * P))
            exchange(v[i], v[i + K]);
    if constexpr (K > 1)
        sort_window<P, K / 2>(v, exchange);
    else if constexpr (2 * P < flag_window)
        sort_window<2 * P, 2 * P>(v, exchange);
}

/*!
 * Applies SumThreshold of one length (Offringa et al., MNRAS 405, 155 (2010)): returns
 * whether a row of `length` cells that begins at `start` is flagged. Cells that are
 * flagged already do not count.
 * \param value, flag functions of a place in the row
 */
template <class Value, class Flag>
APERTURE_ON_BOTH bool
sum_is_above(int start, int length, float limit, const Value& value, const Flag& flag)
{
    float sum = 0;
    int count = 0;
    for (int i = start; i < start + length; i++)
        if (!flag(i)) {
            sum += value(i);
            count++;
        }
    return count > 0 && fabsf(sum) > limit * float(count);
}

//! Returns the threshold of a mean of so many cells: 1.5 times less at each doubling.
APERTURE_ON_BOTH float sum_limit(float sigma, int length)
{
    for (; length > 1; length /= 2)
        sigma /= 1.5f;
    return sigma;
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_DECISION_H */
