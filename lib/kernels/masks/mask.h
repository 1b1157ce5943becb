/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASKS_MASK_H
#define INCLUDED_APERTURE_KERNELS_MASKS_MASK_H

#include "kernels/common/types.h"
#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels {

/*!
 * The layout of the flags of a frame `[channel][input][time]`: a mask
 * `[channel][input][byte]`.
 *
 * A slice is `spectra_per_slice` spectra in a row, aligned to the frame; slice s is bit
 * s % 8, counted from the lowest, of byte s / 8 of its channel and input, and is set
 * where the slice is flagged. Bits behind the last slice are 0. An "input" is a beam
 * where the frames hold beams.
 */
struct mask_layout {
    int channels, inputs, spectra_per_frame, spectra_per_slice;

    //! Returns the slices of a frame.
    int slices() const { return spectra_per_frame / spectra_per_slice; }
    //! Returns the bytes of one channel and input.
    int bytes_per_input() const { return (slices() + 7) / 8; }
    //! Returns the bytes of the mask of a frame.
    int64_t item_bytes() const { return int64_t(channels) * inputs * bytes_per_input(); }
    //! Returns the byte at which the flags of a channel and input begin.
    int64_t offset(int channel, int input) const
    {
        return (int64_t(channel) * inputs + input) * bytes_per_input();
    }

    bool flagged(const uint8_t* mask, int channel, int input, int slice) const
    {
        return mask[offset(channel, input) + slice / 8] >> slice % 8 & 1;
    }
    void set(uint8_t* mask, int channel, int input, int slice) const
    {
        mask[offset(channel, input) + slice / 8] |= uint8_t(1 << slice % 8);
    }

    //! \throws std::invalid_argument also where a mask is too large for an item
    void check() const
    {
        require_range("channels", channels, 1, 1 << 24);
        require_range("inputs", inputs, 1, 65536);
        require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
        require(spectra_per_slice >= 1 && spectra_per_frame % spectra_per_slice == 0,
                "spectra_per_slice",
                std::to_string(spectra_per_slice),
                "a divisor of spectra_per_frame, which is " +
                    std::to_string(spectra_per_frame));
        item_size("mask",
                  { { "channels", channels },
                    { "inputs", inputs },
                    { "bytes of slices", bytes_per_input() } },
                  1);
    }
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_MASKS_MASK_H */
