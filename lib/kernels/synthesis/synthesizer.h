/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIZER_H
#define INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIZER_H

#include "kernels/common/types.h"
#include "kernels/synthesis/fractional_filter.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Synthesis filter bank: channels of beams to samples in time, and a resampler to real
 * ones.
 *
 * Samples are counted as the filter bank counts those that it reads, at its rate of
 * points a spacing: spectrum m was made of samples mD to mD + (taps of the F-engine) N.
 * Sample s is the sum over the spectra m with 0 <= s - mD + lead < length, and the
 * channels k, of g[s - mD + lead] y_k[m] exp(2 pi i (k - c) s / N), c = channels / 2
 * rounded down. Spectrum m thus completes the samples mD - lead to mD - lead + D, if
 * those before it were added.
 *
 * The kernel keeps the samples of its last calls of add(), after they were multiplied by
 * a phasor, of which write() makes its output.
 */
class synthesizer
{
public:
    struct parameters {
        int channels = 1, beams = 1, spectra_per_frame = 1;
        sample_type input = sample_type::fc32; //!< fc32 or sc8
        int points = 1;                        //!< N
        int hop = 1;                           //!< D
        int lead = 0;
        std::vector<float> prototype; //!< g
        fractional_filter filter;     //!< taps 0: complex samples are written
        int most_spectra = 1;         //!< in a call of add()

        //! \throws std::invalid_argument
        void check() const;
        bool real() const { return filter.taps > 0; }
        //! Returns the spectra that a sample is made of, at most.
        int depth() const { return int((prototype.size() + hop - 1) / hop); }
        //! Returns the samples of a beam that the kernel has room for.
        int64_t room() const { return int64_t(most_spectra) * hop + most_kept(); }
        //! Returns the samples that a call of add() can keep, at most.
        int64_t most_kept() const { return real() ? filter.taps + 2 : 0; }
        size_t output_bytes() const { return beams * (real() ? 4 : 8); }
        size_t frame_bytes() const
        {
            return size_t(channels) * beams * spectra_per_frame * size_of(input);
        }
    };

    //! The phasors exp(2 pi i (start + (sample + s) slope)) of the samples s that a call
    //! completes.
    struct mixing {
        double start = 0, slope = 0; //!< cycles
        int64_t sample = 0;
    };
    //! Outputs of a beam in a row, which become zeros.
    struct zeros {
        int beam;
        int64_t first, end;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<synthesizer> make(const parameters&, const device&);
    virtual ~synthesizer() = default;
    virtual std::string implementation() const = 0;

    //! Forgets all spectra and samples.
    virtual void clear(stream&) = 0;

    /*!
     * Adds spectra of a frame, which follow on those of the last call.
     * \param frame [channel][beam][time]; nullptr: zeros
     * \param first, count times in the frame, at most most_spectra
     * \param spectrum number of the first one
     * \param keep the samples of earlier calls that are kept, at most most_kept()
     */
    virtual void add(const void* frame,
                     int first,
                     int count,
                     int64_t spectrum,
                     const mixing& m,
                     int keep,
                     stream&) = 0;

    /*!
     * Writes output [time][beam].
     *
     * Complex samples are those from places.first on. Real ones are at the places: u
     * being the filtered samples there, output q is the real part of u i^(q + quarters).
     * \param places sample numbers count from the first kept one
     */
    virtual void write(void* output,
                       int64_t count,
                       const output_places& places,
                       int quarters,
                       const std::vector<zeros>& empty,
                       stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIZER_H */
