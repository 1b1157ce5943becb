/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_H
#define INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_H

#include "kernels/common/not_numbers.h"
#include "kernels/common/types.h"
#include "kernels/zoom/oscillator.h"
#include "kernels/zoom/zoom_filter.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! Mixes, filters and decimates samples; the formula is at the block zoom.
class zoom
{
public:
    struct parameters {
        int ports;
        int inputs_per_port;
        sample_type input;
        sample_type output; //!< fc32 or sc8
        bool conjugated;    //!< the conjugate of the samples is mixed
        std::vector<zoom_stage> stages;

        int inputs() const { return ports * inputs_per_port; }
        int hop() const { return decimation_of(stages); }
        //! Returns the samples under the filter of so many samples of the output.
        int64_t span(int64_t count) const
        {
            return (count - 1) * hop() + length_of(stages);
        }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! Clamped samples, as they are counted for each input.
    struct counts {
        std::vector<uint64_t> output;  //!< output samples that did not fit into sc8
        std::vector<uint64_t> samples; //!< 8-bit samples of -128, 4-bit ones of -8
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<zoom> make(const parameters&, const device&);
    virtual ~zoom() = default;
    virtual std::string implementation() const = 0;

    //! Sets the oscillator that samples are multiplied with the conjugate of, from the
    //! next call on.
    virtual void set_oscillator(const oscillator& o, stream&) = 0;

    //! The samples of a port that execute() reads.
    struct source {
        //! [time][input]: span(count) samples of each input. nullptr if they were lost:
        //! the output is zeros then
        const void* samples;
        //! Samples (of each input) at the start that an earlier call has counted.
        size_t counted;
        //! The samples go on where those of the call before ended, so that what was
        //! computed of the ones that both share holds.
        bool follows;
    };

    /*!
     * Sets, from the next call of execute() on, output samples of samples that are NaN or
     * infinite to zero and adds them to `found`; nullptr: they are NaN, as at first.
     */
    virtual void clear_not_numbers(std::vector<spectrum_of_input>* /* found */) {}

    /*!
     * Makes output [port][time][input] of sources [port].
     * \param first number of the first output sample: it begins hop() times as many
     * samples after the one that the oscillator's phase counts from
     */
    virtual void execute(const source* sources,
                         void* const* output,
                         int64_t first,
                         size_t count,
                         stream&) = 0;

    //! Returns the clamped samples so far.
    virtual counts clamped() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_H */
