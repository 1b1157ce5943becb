/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "signal/alignment/detection.h"
#include "signal/alignment/offset_tracker.h"
#include "signal/alignment/phase_line.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {
//! Samples are held until there are so many windows: windows at the ends of added samples
//! are cut, and show less of a lag.
constexpr int64_t windows_at_once = 64;
constexpr double slip = 0.5; // samples
} // namespace

void offset_tracker::parameters::check() const
{
    require_range("inputs", inputs, 2, 1024);
    require_range("reference", reference, 0, inputs - 1);
    require_range("channels", channels, 16, 1 << 16);
    require((channels & (channels - 1)) == 0,
            "channels",
            std::to_string(channels),
            "a power of two");
    require_range("interval", interval, 16 * int64_t(channels), INT64_MAX);
    require(memory >= 0 && memory < 1,
            "memory",
            text_of(memory),
            "at least 0 and less than 1");
    require(false_alarms > 0 && false_alarms < 1,
            "false_alarms",
            text_of(false_alarms),
            "more than 0 and less than 1");
}

offset_tracker::offset_tracker(const parameters& p)
    : d_parameters((p.check(), p)),
      d_spectra(p.inputs, p.channels),
      d_expected(p.inputs),
      d_held(p.inputs),
      d_states(p.inputs)
{
    // the lags of the spectra's transform, eight to a sample
    const searched_lags noise{ 8. * p.channels, 1. / 8, 1 / std::sqrt(12.) };
    d_threshold = noise.threshold(p.false_alarms);
}

void offset_tracker::expect(int input, const alignment_line& line)
{
    auto& expected = d_expected.at(input);
    expected = line;
    // counted from the first sample that is held
    expected.time += double(d_held[0].size());
}

void offset_tracker::restart()
{
    d_spectra.clear();
    d_pending = 0;
    for (auto& held : d_held)
        held.clear();
    d_states.assign(d_states.size(), {});
}

int offset_tracker::add(const std::vector<const cfloat*>& samples, int64_t count)
{
    const int64_t at_once =
        std::min(d_parameters.interval, windows_at_once * d_parameters.channels);
    for (auto& state : d_states)
        state.lost = state.slipped = false;
    int completed = 0;
    for (int64_t done = 0; done < count;) {
        const auto held = int64_t(d_held[0].size());
        const int64_t left = d_parameters.interval - d_pending;
        const int64_t wanted = left < 2 * at_once ? left : at_once;
        const int64_t taken = std::min(wanted - held, count - done);
        for (size_t i = 0; i < d_held.size(); i++)
            d_held[i].insert(
                d_held[i].end(), samples[i] + done, samples[i] + done + taken);
        done += taken;
        if (held + taken < wanted)
            break;
        std::vector<const cfloat*> pieces;
        for (const auto& piece : d_held)
            pieces.push_back(piece.data());
        d_spectra.add(pieces, wanted, d_expected, 0, wanted);
        for (auto& line : d_expected) // the line goes on in the next samples
            line.time -= double(wanted);
        for (auto& piece : d_held)
            piece.clear();
        d_pending += wanted;
        if (d_pending == d_parameters.interval) {
            complete();
            completed++;
        }
    }
    return completed;
}

void offset_tracker::complete()
{
    d_pending = 0;
    bool slipped = false;
    const int reference = d_parameters.reference;
    for (int i = 0; i < d_parameters.inputs; i++) {
        if (i == reference)
            continue;
        const int a = std::min(i, reference), b = std::max(i, reference);
        const auto line = fit_phase_line(d_spectra.coherences(a, b),
                                         d_spectra.used(a, b),
                                         d_spectra.samples(a, b),
                                         d_parameters.channels / 2 - 1);
        auto& state = d_states[i];
        const bool found = line.strength > d_threshold;
        state.lost = state.lost || (state.found && !found);
        state.found = found;
        state.coherence = line.coherence;
        state.signal_to_noise = line.signal_to_noise();
        if (!found)
            continue;
        const double delay = i == b ? line.delay : -line.delay;
        if (std::abs(delay - state.delay) >= slip)
            slipped = state.slipped = true;
        state.delay = delay;
        state.phase = i == b ? line.phase : -line.phase;
        const auto& known = line.known;
        const double determinant = known[0] * known[2] - known[1] * known[1];
        state.sigma_phase = std::sqrt(known[2] / determinant);
        state.sigma_delay = std::sqrt(known[0] / determinant);
    }
    // spectra from before a slip would only hide the present ones
    if (slipped || d_parameters.memory == 0)
        d_spectra.clear();
    else
        d_spectra.fade(d_parameters.memory);
}

} // namespace gr::aperture::kernels::alignment
