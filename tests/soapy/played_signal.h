/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TESTS_SOAPY_PLAYED_SIGNAL_H
#define TESTS_SOAPY_PLAYED_SIGNAL_H

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
     * the common source; the rest is its own, by the number `own`.
     */
    played_signal(double coherence, uint64_t own);
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
    float d_common = 0, d_alone = 0;
    uint64_t d_own = 0;
    bool d_loop = false;
};

} // namespace aperture_test

#endif /* TESTS_SOAPY_PLAYED_SIGNAL_H */
