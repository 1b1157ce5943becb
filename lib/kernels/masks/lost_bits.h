/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASKS_LOST_BITS_H
#define INCLUDED_APERTURE_KERNELS_MASKS_LOST_BITS_H

#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels {

//! Returns the words of 32 bits with a bit for each spectrum of a frame, lowest first.
constexpr int words_of(int spectra) { return (spectra + 31) / 32; }

//! Returns a word whose lowest bits are set, 0 to 32 of them.
constexpr uint32_t low_bits(int count)
{
    return count >= 32 ? ~uint32_t(0) : (uint32_t(1) << count) - 1;
}

constexpr int set_bits(uint32_t word)
{
#ifdef __CUDA_ARCH__
    return __popc(word);
#else
    return __builtin_popcount(word);
#endif
}

/*!
 * Returns spectra first ... first + count - 1 of a frame, at most 32, as bits that are
 * set where the slice of a spectrum is flagged.
 * \param flags bytes of a channel and input in a mask
 */
constexpr uint32_t
flagged_spectra(const uint8_t* flags, int spectra_per_slice, int first, int count)
{
    uint32_t bits = 0;
    for (int done = 0; done < count;) {
        const int slice = (first + done) / spectra_per_slice;
        const int left = (slice + 1) * spectra_per_slice - first - done;
        const int here = left < count - done ? left : count - done;
        if (flags[slice / 8] >> slice % 8 & 1)
            bits |= low_bits(here) << done;
        done += here;
    }
    return bits;
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_MASKS_LOST_BITS_H */
