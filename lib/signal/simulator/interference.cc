/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "signal/simulator/interference.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace gr::aperture::kernels {

namespace {

using cdouble = std::complex<double>;

//! Returns a number of [0, 1) from a seed and some names: FNV-1a, mixed.
double fraction_of(uint64_t seed, const std::string& a, const std::string& b)
{
    uint64_t hash = 0xcbf29ce484222325 ^ seed;
    for (const char c : a + '\n' + b)
        hash = (hash ^ uint8_t(c)) * 0x100000001b3;
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
    return double(hash >> 11) / double(uint64_t(1) << 53);
}

cdouble phasor_of(double cycles)
{
    return std::polar(1.0, 2 * M_PI * (cycles - std::floor(cycles)));
}

//! The samples of one pulse, during all of which the carrier is on.
struct carrier {
    const transmitter& t;
    double rate, offset, cycles;
    float amplitude;

    void add(int64_t first, int64_t end, float* voltages) const
    {
        const double sweep_time =
            t.sweep > 0 && t.drift != 0 ? t.sweep / std::abs(t.drift) : 0;
        for (int64_t at = first; at < end;) {
            // seconds since the start, or since the present sweep began
            double seconds = double(at) / rate - t.start;
            int64_t next = std::min(end, at + 64);
            if (sweep_time > 0) {
                const double sweeps = std::floor(seconds / sweep_time + 1e-12);
                seconds = std::max(0., seconds - sweeps * sweep_time);
                const double left = std::ceil((sweep_time - seconds) * rate - 1e-6);
                next = std::min(next, at + std::max<int64_t>(1, int64_t(left)));
            }
            const double now = offset + t.drift * seconds;
            cdouble phasor =
                phasor_of(cycles + offset * seconds + t.drift * seconds * seconds / 2);
            cdouble step = phasor_of(now / rate + t.drift / (2 * rate * rate));
            const cdouble bend = phasor_of(t.drift / (rate * rate));
            for (int64_t n = at; n < next; n++) {
                // nothing is received outside the band
                if (std::abs(now + t.drift * double(n - at) / rate) < rate / 2) {
                    voltages[2 * (n - first)] += amplitude * float(phasor.real());
                    voltages[2 * (n - first) + 1] += amplitude * float(phasor.imag());
                }
                phasor *= step;
                step *= bend;
            }
            at = next;
        }
    }
};

} // namespace

void check(const std::vector<transmitter>& transmitters,
           size_t inputs,
           double sample_rate)
{
    for (size_t i = 0; i < transmitters.size(); i++) {
        const auto& t = transmitters[i];
        const auto number =
            [&](const char* name, double value, bool ok, const char* rule) {
                require(std::isfinite(value) && ok,
                        "interference[" + std::to_string(i) + "]." + name,
                        text_of(value),
                        rule);
            };
        number("frequency", t.frequency, true, "a number of Hz");
        number("drift", t.drift, std::abs(t.drift) <= 1e15, "Hz/s, within +-1e15");
        number("sweep", t.sweep, t.sweep >= 0, "0 or a number of Hz");
        number("start", t.start, t.start >= 0, "seconds, at least 0");
        number("end", t.end, t.end == 0 || t.end >= t.start, "0 or at least the start");
        number("period",
               t.period,
               t.period == 0 || t.period * sample_rate >= 2,
               "0 or seconds, at least two samples");
        number("duty", t.duty, t.duty >= 0 && t.duty <= 1, "0 to 1");
        require(t.power.size() == 1 || t.power.size() == inputs,
                "interference[" + std::to_string(i) + "].power",
                std::to_string(t.power.size()) + " numbers",
                "one number, or one for each of the " + std::to_string(inputs) +
                    " inputs");
        for (const double power : t.power)
            number("power", power, power >= 0 && power <= 1e12, "0 to 1e12");
    }
}

void add_transmitter(const transmitter& t,
                     size_t input,
                     const std::string& input_name,
                     uint64_t seed,
                     double sample_rate,
                     double center_frequency,
                     int64_t first,
                     size_t count,
                     float* voltages)
{
    const double power = t.power[t.power.size() == 1 ? 0 : input];
    const carrier c{ t,
                     sample_rate,
                     t.frequency - center_frequency,
                     fraction_of(seed, t.name, input_name),
                     float(std::sqrt(power)) };
    if (power == 0)
        return;
    // the first sample at or after a time
    const auto sample_at = [&](double seconds) {
        return int64_t(std::ceil(std::min(seconds * sample_rate - 1e-6, 9e18)));
    };
    const int64_t begin = std::max(first, sample_at(t.start));
    const int64_t end =
        std::min(first + int64_t(count),
                 t.end > 0 ? sample_at(t.end) : std::numeric_limits<int64_t>::max());
    if (t.period <= 0 || t.duty == 1) {
        if (begin < end)
            c.add(begin, end, voltages + 2 * (begin - first));
        return;
    }
    const double pulses = std::floor((double(begin) / sample_rate - t.start) / t.period);
    for (double pulse = std::max(0., pulses - 1);; pulse++) {
        const int64_t on = sample_at(t.start + pulse * t.period);
        const int64_t off = sample_at(t.start + (pulse + t.duty) * t.period);
        if (on >= end)
            break;
        const int64_t from = std::max(on, begin), to = std::min(off, end);
        if (from < to)
            c.add(from, to, voltages + 2 * (from - first));
    }
}

} // namespace gr::aperture::kernels
