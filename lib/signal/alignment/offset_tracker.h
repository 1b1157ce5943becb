/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_OFFSET_TRACKER_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_OFFSET_TRACKER_H

#include "signal/alignment/cross_spectra.h"
#include <memory>
#include <vector>

namespace gr::aperture::kernels::alignment {

/*!
 * Watches inputs that were lined up: takes their samples piece by piece, and after every
 * `interval` samples tells how far each one is from the reference by the running
 * cross-spectrum, and whether it slipped.
 *
 * A slip of the reference itself shows as the same slip of all other inputs.
 */
class offset_tracker
{
public:
    struct parameters {
        int inputs;
        int reference = 0;
        //! Of the spectra, a power of two; slips of up to half as many samples are
        //! recognised, longer ones as `lost`.
        int channels = 1024;
        int64_t interval; //!< samples from one state to the next
        //! Each interval counts this much less than the next one, 0 to below 1. 0: each
        //! one stands for itself.
        double memory = 0;
        //! The probability that an interval of noise is said to correlate.
        double false_alarms = 1e-6;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! Of one input, relative to what it should be. Delay and phase are what has to be
    //! added.
    struct state {
        bool found = false;   //!< it correlates; what follows holds only then
        bool lost = false;    //!< it did in the interval before, and no longer does
        bool slipped = false; //!< its lag has jumped by half a sample or more
        double delay = 0, phase = 0;             //!< samples, radians
        double sigma_delay = 0, sigma_phase = 0; //!< by the Cramer-Rao bound
        double coherence = 0, signal_to_noise = 0;
    };

    //! \throws std::invalid_argument
    explicit offset_tracker(const parameters&);

    /*!
     * By how many samples and radians an input is known to be off (what is not mended in
     * the samples, but further on), and how that goes on: states are relative to it.
     * \param line its samples count from the next one that is added
     */
    void expect(int input, const alignment_line& line);

    /*!
     * Takes samples [input][count] that follow those before.
     * \returns how many intervals were completed; states() is of the last one, but `lost`
     * and `slipped` are of any
     */
    int add(const std::vector<const cfloat*>& samples, int64_t count);

    //! [input]
    const std::vector<state>& states() const { return d_states; }
    //! Samples that the running spectra have of the interval that is not complete.
    int64_t pending() const { return d_pending; }

    //! Forgets the samples: what comes next does not follow them. The states are as at
    //! first.
    void restart();

private:
    void complete();

    const parameters d_parameters;
    cross_spectra d_spectra;
    std::vector<alignment_line> d_expected;  // [input]
    std::vector<std::vector<cfloat>> d_held; // [input], less than an interval
    int64_t d_pending = 0;
    std::vector<state> d_states;
    double d_threshold;
};

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_OFFSET_TRACKER_H */
