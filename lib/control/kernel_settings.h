/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_KERNEL_SETTINGS_H
#define INCLUDED_APERTURE_CONTROL_KERNEL_SETTINGS_H

#include "control/delay_settings.h"
#include "control/gain_settings.h"
#include "runtime/stream.h"
#include <algorithm>

namespace gr::aperture {

/*!
 * Gains and delays of the inputs of an F-engine, and how its kernel gets them.
 */
struct kernel_settings {
    gain_settings gains;
    delay_settings delays;

    struct callbacks {
        //! by how many spectra a timed setting comes too late
        std::function<void(int64_t)> late;
        //! why something is not used
        std::function<void(const std::string&)> refuse;
        //! from the next spectrum on, where they changed
        std::function<void(const delay_settings::change&)> delayed;
    };

    //! A run begins.
    void start()
    {
        gains.start();
        delays.start();
    }

    /*!
     * Gives the kernel what it needs for a spectrum.
     * \param most samples that an input may be delayed by or ahead at most
     * \returns for how many spectra from this one on that holds
     */
    template <class filter_bank>
    int64_t update(int64_t spectrum,
                   const item_clock& c,
                   int64_t most,
                   const callbacks& callbacks,
                   filter_bank& kernel,
                   stream& s)
    {
        const int64_t same_gains =
            gains.update(spectrum, c, callbacks.late, [&](const cfloat* values) {
                kernel.set_gains(values, s);
            });
        const int64_t same_delays = delays.update(
            spectrum,
            c,
            most,
            { callbacks.late, callbacks.refuse, [&](const delay_settings::change& now) {
                 kernel.set_delays(now.any ? now.delays.data() : nullptr, s);
                 callbacks.delayed(now);
             } });
        return std::min(same_gains, same_delays);
    }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_KERNEL_SETTINGS_H */
