/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "kernels/dedispersion/dispersion.h"
#include "signal/simulator/pulsed_source.h"
#include <cmath>

namespace gr::aperture::kernels {

namespace {

//! Largest sweep of a dispersed pulse in samples: its transform has twice as many points.
constexpr double longest_sweep = 1 << 24;
//! Largest number of periods over which the tail of a scattered pulse is seen.
constexpr double most_overlap = 1000;

//! NaN is in no interval.
void require_between(const std::string& parameter,
                     double value,
                     double low,
                     double high,
                     const std::string& rule)
{
    require(value >= low && value <= high, parameter, text_of(value), rule);
}

void check_width(const std::string& parameter, double width, double sample_rate)
{
    require_between(parameter,
                    width,
                    2 / sample_rate,
                    1e4,
                    "two samples, " + text_of(2 / sample_rate) + " s, to 1e4 s");
}

} // namespace

double pulsed_source::scattering_time_at(double frequency) const
{
    return scattering_time == 0
               ? 0
               : scattering_time *
                     std::pow(frequency / scattering_frequency, scattering_index);
}

void pulsed_source::check(const std::string& place,
                          double sample_rate,
                          double center_frequency) const
{
    const double low = center_frequency - sample_rate / 2, high = low + sample_rate;
    require_between(place + "dm", dispersion_measure, 0, 1e6, "0 to 1e6 pc/cm^3");
    require_between(
        place + "scattering_time", scattering_time, 0, 1e3, "0 to 1e3 seconds");
    if (dispersion_measure > 0 || scattering_time > 0)
        require(low > 0,
                "center_frequency",
                text_of(center_frequency) + " Hz",
                "above half the sample rate, where a source is dispersed or scattered");
    if (scattering_time > 0) {
        require_between(place + "scattering_frequency",
                        scattering_frequency,
                        1,
                        1e15,
                        "1 to 1e15 Hz where a scattering time is given");
        require_between(
            place + "scattering_index", scattering_index, -20, 20, "-20 to 20");
        require_between(place + "scattering_time",
                        scattering_time_at(scattering_index < 0 ? low : high),
                        0,
                        1e3,
                        "such that it is up to 1e3 seconds all over the band");
    }
    if (dispersion_measure > 0) {
        const double sweep = dispersion_delay(dispersion_measure, low, high);
        require(sweep * sample_rate <= longest_sweep,
                place + "dm",
                text_of(dispersion_measure) + " (a delay of " + text_of(sweep) +
                    " s over the band)",
                "such that that is up to " + text_of(longest_sweep) + " samples, " +
                    text_of(longest_sweep / sample_rate) + " s");
    }
    for (size_t i = 0; i < pulsars.size(); i++) {
        const auto& p = pulsars[i];
        const auto part = place + "pulsars[" + std::to_string(i) + "].";
        check_width(part + "width", p.width, sample_rate);
        require_between(part + "mean_flux",
                        p.fluence * double(p.frequency),
                        0,
                        1e15,
                        "0 to 1e15 times the power of the receiver noise");
        const double tail =
            3 * p.width + 20 * std::max(scattering_time_at(std::max(low, 1.0)),
                                        scattering_time_at(high));
        require(tail * double(p.frequency) <= most_overlap,
                part + "period",
                text_of(double(1 / p.frequency)),
                "such that no more than 1000 pulses are seen at a time (width and "
                "scattering time)");
    }
    for (size_t i = 0; i < pulses.size(); i++) {
        const auto part = place + "pulses[" + std::to_string(i) + "].";
        check_width(part + "width", pulses[i].width, sample_rate);
        require_between(part + "fluence",
                        pulses[i].fluence,
                        0,
                        1e15,
                        "0 to 1e15 s times the power of the receiver noise");
    }
}

} // namespace gr::aperture::kernels
