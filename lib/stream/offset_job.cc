/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/interruption.h"
#include "signal/alignment/lines.h"
#include "signal/alignment/offset_tracker.h"
#include "stream/offset_job.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <iomanip>
#include <sstream>

namespace gr::aperture {

namespace {

using kernels::alignment::offset_tracker;

//! Returns the inputs that are compared, in order.
std::vector<int> compared_inputs(const offset_job::task& t)
{
    std::vector<int> inputs;
    for (size_t i = 0; i < t.samples.size(); i++)
        if (t.compared[i])
            inputs.push_back(int(i));
    return inputs;
}

/*!
 * Measures the rate at which the phase of an aligned input still changes: a line through
 * the phases of sections, each of which is less than half a cycle from the one before.
 *
 * \param rate known, in radians per sample
 * \param o its phase_rate and sigma_phase_rate are set, the latter to 0 if the sections
 * do not correlate
 */
void measure_rate(const cfloat* reference,
                  const cfloat* other,
                  int64_t count,
                  double rate,
                  receiver_offset& o)
{
    constexpr int sections = 8;
    // a section of independent samples that shows nothing has about 1 sigma
    constexpr double clear = 6;
    const int64_t length = count / sections;
    double power = 0, other_power = 0, sum = 0, phase = 0, slope = 0;
    double phases[sections];
    std::complex<double> before = 1;
    for (int section = 0; section < sections; section++) {
        std::complex<double> product = 0;
        for (int64_t i = section * length; i < (section + 1) * length; i++) {
            product += std::polar(1., rate * double(i)) *
                       std::complex<double>(reference[i] * std::conj(other[i]));
            power += std::norm(reference[i]);
            other_power += std::norm(other[i]);
        }
        phase += std::arg(product * std::conj(before));
        phases[section] = phase;
        before = product;
        sum += std::abs(product);
    }
    const double coherence = sum / std::max(std::sqrt(power * other_power), 1e-300);
    if (coherence * std::sqrt(double(length)) < clear)
        return;
    const double middle = (sections - 1) / 2.;
    const double squares = sections * (sections * sections - 1) / 12.;
    double mean = 0, scatter = 0;
    for (int section = 0; section < sections; section++) {
        slope += (section - middle) * phases[section] / squares;
        mean += phases[section] / sections;
    }
    for (int section = 0; section < sections; section++)
        scatter += std::pow(phases[section] - mean - (section - middle) * slope, 2);
    // by the coherence, and by how far the phases are from their line
    const double noise =
        std::sqrt(std::max(0., 1 - coherence * coherence) / (2 * double(length))) /
        coherence;
    const double sigma = std::max(noise, std::sqrt(scatter / (sections - 2)));
    o.phase_rate = slope / double(length);
    o.sigma_phase_rate = sigma / std::sqrt(squares) / double(length);
}

receiver_offsets look_for_slips(const offset_job::task& t,
                                const std::vector<const cfloat*>& samples,
                                const std::vector<int>& inputs,
                                int reference,
                                int64_t count)
{
    offset_tracker::parameters p;
    p.inputs = int(samples.size());
    p.reference = reference;
    while (p.channels > 16 && 16 * int64_t(p.channels) > count)
        p.channels /= 2;
    p.interval = count;
    p.false_alarms = std::min(1e-6, t.search.false_alarms);
    offset_tracker tracker(p);
    const auto& base = t.known[inputs[reference]];
    for (size_t i = 0; i < inputs.size(); i++) {
        const auto& line = t.known[inputs[i]];
        tracker.expect(int(i),
                       { line.delay - base.delay_at(line.time),
                         line.phase - base.phase_at(line.time),
                         line.delay_rate - base.delay_rate,
                         line.phase_rate - base.phase_rate,
                         line.time });
    }
    // carriers stay in place when an input slips
    std::vector<std::vector<cfloat>> clean(samples.size());
    auto starts = samples;
    for (size_t i = 0; i < samples.size(); i++)
        if (clean[i] = kernels::alignment::without_lines(samples[i], count);
            !clean[i].empty())
            starts[i] = clean[i].data();
    tracker.add(starts, count);
    receiver_offsets found;
    found.reference = reference;
    for (size_t i = 0; i < samples.size(); i++) {
        const auto& s = tracker.states()[i];
        receiver_offset o;
        o.found = s.found;
        o.lag = std::llround(s.delay);
        o.fraction = s.delay - double(o.lag);
        o.phase = s.phase;
        o.coherence = s.coherence;
        o.signal_to_noise = s.signal_to_noise;
        o.sigma_delay = s.sigma_delay;
        o.sigma_phase = s.sigma_phase;
        if (s.found && o.lag == 0 && int(i) != reference)
            measure_rate(starts[reference],
                         starts[i],
                         count,
                         base.phase_rate - t.known[inputs[i]].phase_rate,
                         o);
        found.inputs.push_back(o);
    }
    return found;
}

// Samples in which drifts are searched for, and the largest error of crystals.
constexpr int64_t most_drifting = 1 << 17;
constexpr double most_drift = 1e-4;
// Below this coherence the phase may have run through many cycles.
constexpr double weak = 0.3;

//! Returns a number of ppm with two digits.
std::string ppm_text(double ppm)
{
    std::ostringstream text;
    text << std::setprecision(2) << ppm << " ppm";
    return text.str();
}

//! \returns millionths by which the clock of another input is faster than that of the
//! reference, or nothing if they do not differ, or the first result fits better
std::optional<double> drift_of(const offset_job::task& t,
                               const cfloat* reference,
                               const cfloat* other,
                               int64_t count,
                               const receiver_offset& found)
{
    const int64_t lag = found.found ? found.lag : 0;
    const int64_t common = std::min(count - std::abs(lag), most_drifting);
    offset_search s;
    s.reference = 0;
    s.false_alarms = t.search.false_alarms;
    s.most_delay_rate = most_drift;
    // for a narrow band, phases that fit into it
    s.most_phase_rate =
        std::min(2 * M_PI * most_drift * std::max(t.cycles, 1.), M_PI / 2);
    receiver_offset drifts;
    try {
        drifts = measure_offsets({ reference + std::max<int64_t>(lag, 0),
                                   other + std::max<int64_t>(-lag, 0) },
                                 common,
                                 s)
                     .inputs[1];
    } catch (const std::invalid_argument&) { // too few samples
        return std::nullopt;
    }
    if (!drifts.found || std::abs(drifts.phase_rate) < 6 * drifts.sigma_phase_rate ||
        (found.found && drifts.coherence < 2 * found.coherence))
        return std::nullopt;
    return 1e6 * (t.cycles > 0 ? drifts.phase_rate / (2 * M_PI * t.cycles)
                               : -drifts.delay_rate);
}

/*!
 * Reports the inputs on other clocks, among those that were compared as if they were on
 * one clock and were not found, or only weakly.
 */
void look_for_drifts(offset_job::answer& a,
                     const offset_job::task& t,
                     const std::vector<const cfloat*>& samples,
                     const std::vector<int>& inputs,
                     int reference,
                     int64_t count,
                     receiver_offsets& found)
{
    // half a cycle of the phase, or of the edges of the band
    a.most_ppm = 1e6 * 0.5 / (std::max(t.cycles, 1.) * double(count));
    const std::string limit = ppm_text(a.most_ppm);
    for (size_t i = 0; i < inputs.size(); i++) {
        auto& o = found.inputs[i];
        if (int(i) == reference || (o.found && o.coherence >= weak))
            continue;
        const auto ppm = drift_of(t, samples[reference], samples[i], count, o);
        a.ppm[inputs[i]] = ppm;
        if (ppm) {
            o.found = false;
            o.reason = "these inputs drift apart by " + ppm_text(std::abs(*ppm)) +
                       ", they are on two clocks: offset unknown. Without clock_error "
                       "at most " +
                       limit +
                       " are possible; give both one clock, or "
                       "clock_error, which follows two where they have a strong common "
                       "source";
        } else if (!o.found) {
            o.reason += ". If they are on two clocks, these may differ by " + limit +
                        " at most without clock_error";
        }
    }
}

/*!
 * Reports the inputs whose clocks differ by more than was said, among those that were not
 * found.
 */
void look_beyond(offset_job::answer& a,
                 const offset_job::task& t,
                 const std::vector<const cfloat*>& samples,
                 const std::vector<int>& inputs,
                 int reference,
                 int64_t count,
                 receiver_offsets& found)
{
    a.most_ppm = 1e6 * t.search.most_delay_rate;
    for (size_t i = 0; i < inputs.size(); i++) {
        auto& o = found.inputs[i];
        if (int(i) == reference || o.found || t.search.most_delay_rate >= most_drift)
            continue;
        const auto ppm = drift_of(t, samples[reference], samples[i], count, o);
        if (!ppm || std::abs(*ppm) <= a.most_ppm)
            continue;
        a.ppm[inputs[i]] = ppm;
        o.reason = "the clocks of these inputs differ by " + ppm_text(std::abs(*ppm)) +
                   ", more than the " + ppm_text(a.most_ppm) +
                   " that are followed with clock_error " + ppm_text(a.most_ppm / 2) +
                   ": offset unknown; give a larger clock_error";
    }
}

offset_job::answer solve(offset_job::task& t)
{
    offset_job::answer a;
    const auto inputs = compared_inputs(t);
    std::vector<const cfloat*> samples;
    for (const int i : inputs)
        samples.push_back(t.samples[i].data());
    const auto count = int64_t(t.samples[0].size());
    const int reference =
        int(std::find(inputs.begin(), inputs.end(), t.search.reference) - inputs.begin());
    receiver_offset unknown;
    unknown.reason = "it was not compared";
    a.offsets.inputs.assign(t.samples.size(), unknown);
    a.ppm.resize(t.samples.size());
    try {
        receiver_offsets found;
        if (t.known.empty()) {
            auto search = t.search;
            search.reference = reference;
            found = measure_offsets(samples, count, search);
            if (!search.separate_clocks())
                look_for_drifts(a, t, samples, inputs, reference, count, found);
            else
                look_beyond(a, t, samples, inputs, reference, count, found);
        } else {
            found = look_for_slips(t, samples, inputs, reference, count);
        }
        a.offsets.threshold = found.threshold;
        for (size_t i = 0; i < inputs.size(); i++)
            a.offsets.inputs[inputs[i]] = found.inputs[i];
    } catch (const std::exception& e) {
        a.error = e.what();
    }
    a.offsets.reference = t.search.reference;
    t.samples.clear();
    a.asked = std::move(t);
    return a;
}

} // namespace

void offset_job::start(task&& t, const std::function<void()>& done)
{
    d_cancelled = false;
    d_future = std::async(std::launch::async, [this, t = std::move(t), done]() mutable {
        kernels::alignment::interruptible guard(d_cancelled);
        answer a = solve(t);
        d_ready = true;
        done();
        return a;
    });
    d_running = true;
}

std::optional<offset_job::answer> offset_job::wait(std::chrono::milliseconds time)
{
    if (!running() || d_future.wait_for(time) != std::future_status::ready)
        return std::nullopt;
    answer a = d_future.get();
    d_running = d_ready = false;
    return a;
}

void offset_job::cancel()
{
    d_cancelled = true;
    if (running())
        d_future.get();
    d_running = d_ready = false;
}

} // namespace gr::aperture
