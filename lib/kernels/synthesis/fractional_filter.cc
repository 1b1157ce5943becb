/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/kaiser.h"
#include "kernels/synthesis/fractional_filter.h"
#include <utility>

namespace gr::aperture::kernels {

namespace {

__extension__ typedef __int128 wide;

/*!
 * Returns the simplest fraction, with terms below 2^31, that is as near to a ratio of
 * doubles as these are to what they stand for: one of its continued fraction's.
 */
std::pair<int64_t, int64_t> fraction_of(long double ratio)
{
    constexpr long double limit = 1LL << 31, rounding = 3e-16L;
    int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    for (long double rest = ratio;; rest = 1 / (rest - std::floor(rest))) {
        const long double whole = std::floor(rest);
        const long double p = whole * p1 + p0, q = whole * q1 + q0;
        if (!(p < limit && q < limit))
            break;
        p0 = std::exchange(p1, int64_t(p));
        q0 = std::exchange(q1, int64_t(q));
        if (std::fabs((long double)p1 / q1 - ratio) <= rounding * ratio || rest == whole)
            break;
    }
    return { p1, q1 };
}

} // namespace

double fractional_filter::taps_for(double pass, double stop)
{
    return 16 * std::ceil(kaiser_length(attenuation, stop - pass) / 16);
}

fractional_filter fractional_filter::of(double pass, double stop, double gain)
{
    fractional_filter made;
    made.taps = int(taps_for(pass, stop));
    made.rows.resize(size_t(phases + 1) * made.taps);
    const double beta = kaiser_beta(attenuation),
                 cutoff = pass + stop; // twice the middle
    for (int phase = 0; phase <= phases; phase++)
        for (int tap = 0; tap < made.taps; tap++) {
            const double x = double(phase) / phases + made.taps / 2 - 1 - tap;
            const double angle = M_PI * cutoff * x;
            const double sinc = angle == 0 ? 1 : std::sin(angle) / angle;
            made.rows[size_t(phase) * made.taps + tap] =
                float(gain * cutoff * sinc * kaiser_window(x / (made.taps / 2.), beta));
        }
    return made;
}

output_places output_places::from(int64_t output) const
{
    const wide all = wide(output) * step + gone;
    wide whole = all / steps, rest = all % steps;
    if (rest < 0) {
        rest += steps;
        whole -= 1;
    }
    return { first + int64_t(whole), fraction, int64_t(rest), step, steps };
}

int64_t output_places::first_from(int64_t sample) const
{
    // (sample - first) steps <= fraction steps + gone + output step, rounded up
    const wide needed = wide(sample - first) * steps - gone;
    int64_t output = int64_t(needed / step) - 2 - steps / step;
    while (from(output).of(0).sample < sample)
        output++;
    return output;
}

output_places output_places::at_rates(double samples_rate,
                                      double outputs_rate,
                                      int64_t first,
                                      double fraction)
{
    const auto [step, steps] = fraction_of((long double)samples_rate / outputs_rate);
    return { first, fraction, 0, step, steps };
}

} // namespace gr::aperture::kernels
