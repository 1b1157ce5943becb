/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_MEANS_H
#define INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_MEANS_H

#include "kernels/detection/detection.h"
#include "kernels/masks/mask.h"
#include "kernels/masks/missing_spectra.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Makes integrated powers from sums in which flagged and missing voltages are zero: each
 * part of a row (|beam|^2, or |x|^2, |y|^2 and x y* of a pair) is divided by the count of
 * its own spectra, channel by channel, and these counts are a second output.
 *
 * A beam is made of sources, which have masks: it lacks a spectrum where all of them do.
 * x y* lacks a spectrum where x or y does.
 *
 * The sums are those that a detecting_kernel writes, not scaled, of summed().
 */
class power_means
{
public:
    struct parameters {
        mask_layout mask; //!< masks of the sources
        int beams;        //!< beams that are detected
        detection detect; //!< detection of the output
        bool mean;        //!< means, or sums
        int rows() const { return detect.rows(beams); }
        //! Returns the channels of the output.
        int channels() const { return mask.channels / detect.summed_channels; }
        //! Returns the detection of the sums: for pairs, the coherency.
        detection summed() const;
        //! Returns the integrations that end in a frame, or 1.
        int integrations() const;
        //! Returns the counts of an integration, [row][channel].
        size_t counts() const { return size_t(rows()) * channels(); }
        size_t powers() const { return counts() * detect.product_count(); }
        size_t sums() const { return counts() * summed().product_count(); }
        //! Returns how many frames the memory of sums() is for.
        int most_frames() const;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<power_means> make(const parameters&, const device&);
    virtual ~power_means() = default;

    //! Returns memory, on the device, for the sums of most_frames() frames, or of one
    //! integration of several.
    virtual float* sums() = 0;

    //! Sets the sources of each beam, for all frames from the next call on; none: all. At
    //! first, beam i is made of source i.
    virtual void set_sources(const std::vector<std::vector<int>>& of_beams, stream&) = 0;

    /*!
     * Makes integrations that are not longer than a frame: sums() -> powers
     * [frame][integration][row][product][channel], counts
     * [frame][integration][row][channel].
     * \param masks [frame][channel][source][byte]
     * \param missing missing spectra of these frames, or empty; may be freed when this
     * returns
     */
    virtual void execute(const void* masks,
                         int frames,
                         const missing_spectra& missing,
                         float* powers,
                         uint32_t* counts,
                         stream&) = 0;

    //! Adds spectra of frames to the running counts of an integration of several.
    virtual void accumulate(const void* masks,
                            int frames,
                            const missing_spectra& missing,
                            stream&) = 0;
    //! Converts sums() to powers [row][product][channel] and accumulated counts
    //! [row][channel]; then the running counts are zero.
    virtual void dump(float* powers, uint32_t* counts, stream&) = 0;
    //! Sets the running counts to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_POWER_MEANS_POWER_MEANS_H */
