/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_FOLDING_PHASE_MODEL_H
#define INCLUDED_APERTURE_SIGNAL_FOLDING_PHASE_MODEL_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gr::aperture::kernels {

//! Time in whole seconds since 1970 and a fraction.
struct exact_seconds {
    int64_t whole = 0;
    double fraction = 0;

    //! Returns the seconds from an earlier time to this one, exact to 1e-12 in a year.
    long double since(const exact_seconds& earlier) const
    {
        return (long double)(whole - earlier.whole) +
               ((long double)(fraction)-earlier.fraction);
    }
};

/*!
 * The phase of a pulsar at the telescope, in cycles: a polynomial of the time for each of
 * several stretches of it, as polyco files of tempo have them.
 *
 *   phase(t) = turns + phase + sum_k coefficients[k] (t - reference)^(k + 1)
 *
 * It is computed in long double; the number of whole cycles is kept apart. With x86's
 * extended precision (64 bits) it is good to 2e-9 cycles for a millisecond pulsar a year
 * from the reference; where a long double is a double, to 4e-6.
 */
class phase_model
{
public:
    struct segment {
        exact_seconds start; //!< the segment holds from here on
        double length;       //!< s; 0: for ever, also before start
        exact_seconds reference;
        int64_t turns;                    //!< whole cycles at the reference
        double phase;                     //!< fraction of a cycle at the reference
        std::vector<double> coefficients; //!< cycles/s, cycles/s^2, ...
    };

    //! \throws std::invalid_argument
    explicit phase_model(std::vector<segment> segments);

    struct value {
        int64_t turns;    //!< whole cycles
        double phase;     //!< 0 to below 1
        double frequency; //!< cycles/s
    };
    //! Returns the phase at a time, or nothing where no segment holds.
    std::optional<value> at(const exact_seconds& time);

private:
    static bool holds(const segment& s, const exact_seconds& time);
    const segment* segment_at(const exact_seconds& time);

    const std::vector<segment> d_segments; // in order of their starts
    size_t d_newest = 0; // index of the newest one: times mostly stay within one
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_FOLDING_PHASE_MODEL_H */
