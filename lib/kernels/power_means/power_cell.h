/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_CELL_H
#define INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_CELL_H

#include "kernels/detection/detection.h"
#include "kernels/masks/lost_bits.h"

// The work of power_means on one row and channel, on the host and on a GPU.

namespace gr::aperture::kernels {

//! The spectra that the sources of one channel of a frame lack.
struct lost_of_channel {
    const uint8_t* flags;    //!< [source][byte]
    const uint32_t* missing; //!< [source][word]; nullptr: none is missing
    int bytes, words, sources;
    int spectra_per_frame, spectra_per_slice;
};

//! The sources that a beam is made of; none: all.
struct sources_of_beam {
    const int* numbers;
    int count;
};

//! The counts of spectra that x, y, and either of them lack; for a single beam, x only.
struct part_counts {
    uint32_t x = 0, y = 0, either = 0;
};

//! Returns the spectra from `first` on, at most 32 within a word, that a beam lacks.
constexpr uint32_t lost_spectra_of(const lost_of_channel& lost,
                                   const sources_of_beam& beam,
                                   int first,
                                   int count)
{
    uint32_t bits = low_bits(count);
    const int sources = beam.count > 0 ? beam.count : lost.sources;
    for (int i = 0; i < sources && bits; i++) {
        const int source = beam.count > 0 ? beam.numbers[i] : i;
        uint32_t lacks = flagged_spectra(lost.flags + int64_t(source) * lost.bytes,
                                         lost.spectra_per_slice,
                                         first,
                                         count);
        if (lost.missing)
            lacks |=
                lost.missing[int64_t(source) * lost.words + first / 32] >> first % 32;
        bits &= lacks;
    }
    return bits;
}

//! Returns whether a source of the beam has no flags, and no spectrum is missing.
constexpr bool lacks_nothing(const lost_of_channel& lost, const sources_of_beam& beam)
{
    if (lost.missing)
        return false;
    const int sources = beam.count > 0 ? beam.count : lost.sources;
    for (int i = 0; i < sources; i++) {
        const int source = beam.count > 0 ? beam.numbers[i] : i;
        const uint8_t* flags = lost.flags + int64_t(source) * lost.bytes;
        int at = 0;
        while (at < lost.bytes && flags[at] == 0)
            at++;
        if (at == lost.bytes)
            return true;
    }
    return false;
}

//! Adds the spectra that a row lacks, from one to before another. \param y of pairs
constexpr void add_lost(const lost_of_channel& lost,
                        const sources_of_beam& x,
                        const sources_of_beam* y,
                        int first,
                        int end,
                        part_counts& to)
{
    if (lacks_nothing(lost, x) && (!y || lacks_nothing(lost, *y)))
        return;
    for (int at = first; at < end;) {
        const int word = 32 - at % 32;
        const int count = word < end - at ? word : end - at;
        const uint32_t of_x = lost_spectra_of(lost, x, at, count);
        to.x += set_bits(of_x);
        if (y) {
            const uint32_t of_y = lost_spectra_of(lost, *y, at, count);
            to.y += set_bits(of_y);
            to.either += set_bits(of_x | of_y);
        }
        at += count;
    }
}

/*!
 * Converts sums to powers of one row and channel.
 * \param sums [product] of power, or of coherency
 * \param stride elements between these, and between powers
 * \param counts spectra that were summed, of each part; nullptr: no means
 */
constexpr void write_powers(detection::product_set products,
                            detection::feeds basis,
                            const float* sums,
                            int64_t stride,
                            const part_counts* counts,
                            float* powers)
{
    const auto mean = [&](int number, uint32_t count) {
        const float sum = sums[number * stride];
        return !counts ? sum : count ? float(double(sum) / count) : 0.f;
    };
    const float x = mean(0, counts ? counts->x : 0);
    if (products == detection::product_set::power) {
        powers[0] = x;
        return;
    }
    const float y = mean(1, counts ? counts->y : 0);
    powers[0] = products == detection::product_set::coherency ? x : x + y;
    if (products == detection::product_set::intensity)
        return;
    const uint32_t both = counts ? counts->either : 0;
    const float re = mean(2, both), im = mean(3, both);
    if (products == detection::product_set::coherency) {
        powers[stride] = y;
        powers[2 * stride] = re;
        powers[3 * stride] = im;
    } else if (basis == detection::feeds::linear) {
        powers[stride] = x - y;
        powers[2 * stride] = 2 * re;
        powers[3 * stride] = 2 * im;
    } else {
        powers[stride] = 2 * re;
        powers[2 * stride] = 2 * im;
        powers[3 * stride] = x - y;
    }
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_CELL_H */
