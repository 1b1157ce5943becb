/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TESTS_SOAPY_PLAYED_SIGNAL_H
#define TESTS_SOAPY_PLAYED_SIGNAL_H

#include "noise_source.h"
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace aperture_test {

/*!
 * The signal of a channel, as a function of time on the clock that all receivers share,
 * counted in samples; mean power 1 of noise, and a file as it is.
 */
class played_signal
{
public:
    /*!
     * Plays noise: the square of `coherence` is the fraction of its power that comes from
     * the common source; the rest is its own, by the number `own`. `noise` is the same
     * while a switched source is on; 0: there is none.
     */
    played_signal(double coherence,
                  uint64_t own,
                  double noise = 0,
                  const noise_source* source = nullptr);
    //! Plays a file of fc32. \throws std::runtime_error
    played_signal(const std::string& file, bool loop);

    //! Returns the number of samples; 2^62 for a signal without end.
    int64_t length() const { return d_length; }

    //! Plays `count` samples from `position` on, `step` apart.
    void play(double position, double step, std::complex<float>* out, size_t count) const;

private:
    void samples(int64_t first, std::complex<float>* out, size_t count) const;

    std::vector<std::complex<float>> d_file;
    int64_t d_length = int64_t(1) << 62;
    struct shares {
        explicit shares(double coherence = 1);
        float common, alone; //!< amplitudes
    };
    shares d_off, d_on;
    const noise_source* d_source = nullptr; //!< null where there is none
    uint64_t d_own = 0;
    bool d_loop = false;
};

} // namespace aperture_test

#endif /* TESTS_SOAPY_PLAYED_SIGNAL_H */
