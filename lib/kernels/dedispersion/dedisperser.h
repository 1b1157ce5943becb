/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_DEDISPERSER_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_DEDISPERSER_H

#include "kernels/common/power_type.h"
#include "kernels/dedispersion/dispersion.h"
#include "kernels/dedispersion/trials.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Sums powers over channels along the delays of trials: incoherent dedispersion. For an
 * output time j of a trial of decimation d, whose delays are D_k (whole multiples of d),
 *
 *     out[j] = sum over channels k and i < d of in[d j + i + D_k][k]
 *
 * Sums of 8-bit powers are exact (up to 2^24, what an f32 holds); those of f32 have the
 * same bits on every device, as they are taken in the same order.
 */
class dedisperser
{
public:
    struct parameters {
        dispersed_band band;
        double sample_time; //!< seconds from one item of powers to the next
        trial_layout trials;
        power_type type;
        /*!
         * Largest error of a delay K DM (f_k^-2 - f_ref^-2), in samples of the trial.
         * 0.5: delays are rounded. A larger one lets trials share sums of sub-bands.
         */
        double tolerance = 1;

        //! \throws std::invalid_argument
        void check() const;
        //! Returns the bytes of the powers of a time, [beam][channel].
        size_t time_bytes() const;
        //! Returns the same bytes; a time is an item, whose size has to fit into int.
        int checked_time_bytes() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<dedisperser> make(const parameters&, const device&);

    virtual ~dedisperser() = default;
    virtual std::string implementation() const = 0;

    //! Returns how many later times of the input the longest delay needs.
    virtual int64_t longest_delay() const = 0;
    //! Returns the delays in times of the input, [trial][channel].
    virtual std::vector<int64_t> delays() const = 0;

    /*!
     * \param powers [time][beam][channel] of times + longest_delay() times
     * \param items [item][beam][trial][time], as many as `times` begin; behind the times
     * (and behind the last whole decimation) the last one is 0
     */
    virtual void execute(const void* powers, float* items, int64_t times, stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_DEDISPERSER_H */
