/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASKS_MISSING_SPECTRA_H
#define INCLUDED_APERTURE_KERNELS_MASKS_MISSING_SPECTRA_H

#include "kernels/masks/lost_bits.h"
#include "kernels/masks/mask.h"
#include <algorithm>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * The missing spectra of each input in some frames: bits [frame][input][spectrum] in
 * words_of(spectra_per_frame) words of each input. Empty: none is.
 */
class missing_spectra
{
public:
    missing_spectra() = default;
    missing_spectra(int frames, int inputs, int spectra_per_frame)
        : d_inputs(inputs),
          d_spectra(spectra_per_frame),
          d_bits(size_t(frames) * inputs * words_of(spectra_per_frame))
    {
    }

    bool empty() const { return d_bits.empty(); }
    //! Marks spectra from one to before another, which count from the first frame on.
    void set(int input, int64_t first, int64_t end)
    {
        while (first < end) {
            const int64_t frame = first / d_spectra;
            const int at = int(first % d_spectra);
            const int64_t in_frame = std::min<int64_t>(d_spectra - at, end - first);
            const int count = int(std::min<int64_t>(32 - at % 32, in_frame));
            d_bits[row(int(frame), input) + at / 32] |= low_bits(count) << at % 32;
            first += count;
        }
    }
    //! Returns where the words of an input in a frame begin.
    size_t row(int frame, int input) const
    {
        return (size_t(frame) * d_inputs + input) * words_of(d_spectra);
    }
    const std::vector<uint32_t>& words() const { return d_bits; }

    /*!
     * Returns the same as a mask of one channel [frame][input][byte], if no slice is
     * missing in part; else an empty vector.
     */
    std::vector<uint8_t> as_slices(const mask_layout& m) const
    {
        const int frames = int(d_bits.size() / words_of(d_spectra) / d_inputs);
        std::vector<uint8_t> slices(size_t(frames) * d_inputs * m.bytes_per_input());
        for (int row = 0; row < frames * d_inputs; row++) {
            const uint32_t* bits = d_bits.data() + size_t(row) * words_of(d_spectra);
            uint8_t* to = slices.data() + size_t(row) * m.bytes_per_input();
            for (int slice = 0; slice < m.slices(); slice++) {
                int missing = 0;
                const int end = (slice + 1) * m.spectra_per_slice;
                for (int t = slice * m.spectra_per_slice; t < end;) {
                    const int count = std::min(32 - t % 32, end - t);
                    missing += set_bits(bits[t / 32] >> t % 32 & low_bits(count));
                    t += count;
                }
                if (missing == m.spectra_per_slice)
                    to[slice / 8] |= uint8_t(1 << slice % 8);
                else if (missing > 0)
                    return {};
            }
        }
        return slices;
    }

private:
    int d_inputs = 0, d_spectra = 1;
    std::vector<uint32_t> d_bits;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_MASKS_MISSING_SPECTRA_H */
