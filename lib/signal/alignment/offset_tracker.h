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
 * Watches inputs that were aligned: takes their samples, and after every `interval`
 * samples gives the offset of each one from the reference by the running cross-spectrum,
 * and whether it slipped.
 *
 * A slip of the reference itself shows as the same slip of all other inputs.
 */
class offset_tracker
{
public:
    struct parameters {
        int inputs;
        int reference = 0;
        //! Channels of the spectra, a power of two; slips of up to half as many samples
        //! are recognised, longer ones as `lost`.
        int channels = 1024;
        int64_t interval; //!< samples from one state to the next
        //! Factor of each interval to the next one, 0 to below 1. 0: each stands for
        //! itself.
        double memory = 0;
        //! The probability that an interval of noise appears to correlate.
        double false_alarms = 1e-6;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! The state of one input, relative to the expected one: values have to be added.
    struct state {
        bool found =
            false; //!< the input correlates; the members below are valid only then
        bool lost =
            false; //!< the input correlated in the interval before, and no longer does
        bool slipped = false;        //!< the lag has jumped by half a sample or more
        double delay = 0, phase = 0; //!< samples, radians
        double sigma_delay = 0,
               sigma_phase = 0; //!< standard deviations by the Cramer-Rao bound
        double coherence = 0, signal_to_noise = 0;
    };

    //! \throws std::invalid_argument
    explicit offset_tracker(const parameters&);

    /*!
     * Sets the known offset of an input in samples and radians (which is not corrected in
     * the samples, but later), and its rates: states are relative to it.
     * \param line its samples count from the next one that is added
     */
    void expect(int input, const alignment_line& line);

    /*!
     * Takes samples [input][count] that follow those before.
     * \returns how many intervals were completed; states() is of the last one, but `lost`
     * and `slipped` are of any
     */
    int add(const std::vector<const cfloat*>& samples, int64_t count);

    //! Returns the states [input].
    const std::vector<state>& states() const { return d_states; }
    //! Returns the samples in the running spectra of the interval that is not complete.
    int64_t pending() const { return d_pending; }

    //! Forgets the samples: later ones do not follow them. The states are as at first.
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
