/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CONDITIONING_POWER_NORMALIZER_H
#define INCLUDED_APERTURE_KERNELS_CONDITIONING_POWER_NORMALIZER_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Converts powers of beams to deviations from a running bandpass in units of its rms,
 * with interference set to zero. docs/power-normalizer.md has the formulas.
 *
 * Times come in segments of `segment` items. Each has a mean and a variance for each beam
 * and channel; the bandpass at a segment is what the last `segments` of them, with
 * itself, agree about. The output depends on where segments begin, and on nothing else.
 */
class power_normalizer
{
public:
    struct parameters {
        int channels = 1, beams = 1;
        int segment = 32;      //!< items in a segment, 8 or more
        int segments = 32;     //!< segments that the bandpass is taken from, 4 to 64
        bool integers = false; //!< the output is s8, and not f32
        float steps = 8;       //!< s8: rms in steps
        float cell_threshold =
            0; //!< threshold in units of the rms; 0: none, for all thresholds
        float channel_threshold = 0;
        float spectrum_threshold = 0;
        bool zero_dm = false;          //!< subtract the mean of the channels
        std::vector<int> bad_channels; //!< channels that are always flagged
        //! \throws std::invalid_argument
        void check() const;
        size_t cells() const { return size_t(beams) * channels; }
        size_t item_bytes() const { return cells() * (integers ? 1 : sizeof(float)); }
    };

    //! The reasons why a cell is zero, in the order of the checks, and other counts.
    enum count { missing, channel, spectrum, cell, clamped, counts_of_beam };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<power_normalizer> make(const parameters&, const device&);
    virtual ~power_normalizer() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Normalises a segment.
     * \param powers [item][beam][channel]
     * \param normalised [item][beam][channel], f32 or s8
     * \param items at most parameters::segment
     * \param present [item][beam] in memory of the host, 0 where powers are missing, or
     * nullptr where none are; it may change when this returns
     */
    virtual void execute(const float* powers,
                         void* normalised,
                         int items,
                         const uint8_t* present,
                         stream&) = 0;
    //! Makes the next segment the first one again; counts begin at 0.
    virtual void clear(stream&) = 0;
    //! Makes the next segment the first one again, for instance of another frequency.
    virtual void forget(stream&) = 0;
    //! Returns the cells so far, [beam][count]. Not for work(): it may wait.
    virtual std::vector<uint64_t> counts() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_CONDITIONING_POWER_NORMALIZER_H */
