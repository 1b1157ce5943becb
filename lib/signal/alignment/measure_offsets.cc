/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/float_environment.h"
#include "signal/alignment/baselines.h"
#include "signal/alignment/lag_search.h"
#include "signal/alignment/rate_search.h"
#include <gnuradio/aperture/measure_offsets.h>
#include <algorithm>
#include <cmath>
#include <memory>

namespace gr::aperture {

using namespace kernels::alignment;

namespace {

const char* const do_not_correlate = "these inputs do not correlate: offset unknown";
const char* const too_faint =
    "these inputs correlate, but too faintly for oscillators of "
    "their own to be followed: offset unknown";
const char* const not_followed = "these inputs correlate, but their oscillators wander "
                                 "too much to be followed: offset "
                                 "unknown";
const char* const is_zero = "this input is zero throughout: offset unknown";
const char* const has_lines_only =
    "this input is nothing but narrow lines, carriers: offset unknown";

//! A group of inputs, each of which correlates with another one.
struct group {
    std::vector<int> members;
    std::vector<int> parents;          //!< index among the members, or -1
    std::vector<alignment_line> lines; //!< relative to the first member
};

//! Combines b relative to a, and c relative to b, to c relative to a.
alignment_line through(const alignment_line& b, const alignment_line& c)
{
    // sample n of a is sample n - b.delay_at(n) of b
    const double slope = 1 - b.delay_rate;
    const double time = b.time;
    const double time_of_b = time - b.delay;
    return { b.delay + c.delay_at(time_of_b),
             b.phase + c.phase_at(time_of_b),
             b.delay_rate + c.delay_rate * slope,
             b.phase_rate + c.phase_rate * slope,
             time };
}

class measurement
{
public:
    measurement(const std::vector<const cfloat*>& samples,
                int64_t count,
                const offset_search& search)
        : d_count(count),
          d_search(search),
          d_most_lag(search.most_lag ? search.most_lag
                                     : std::min(count / 2, count - least_overlap))
    {
        d_result.inputs.resize(samples.size());
        for (size_t i = 0; i < samples.size(); i++) {
            d_inputs.push_back(std::make_unique<prepared_input>(samples[i], count));
            require(d_inputs[i]->finite(),
                    "samples of input " + std::to_string(i),
                    "NaN or infinite",
                    "finite numbers");
            if (d_inputs[i]->zero())
                d_result.inputs[i].reason =
                    d_inputs[i]->without_lines() ? has_lines_only : is_zero;
            else
                d_inputs_left.push_back(int(i));
        }
    }

    receiver_offsets result()
    {
        find_groups();
        const group* best = nullptr;
        for (const auto& g : d_groups) {
            if (g.members.size() < 2)
                continue;
            if (g.members.front() == d_search.reference) {
                best = &g;
                break;
            }
            if (!best || g.members.size() > best->members.size())
                best = &g;
        }
        if (best)
            measure(*best);
        for (auto& input : d_result.inputs)
            if (!input.found && input.reason.empty())
                input.reason = do_not_correlate;
        return d_result;
    }

private:
    //! Grows a group from each input that is in no group yet, the reference first.
    void find_groups()
    {
        auto& left = d_inputs_left;
        const auto given = std::find(left.begin(), left.end(), d_search.reference);
        if (given != left.end())
            std::rotate(left.begin(), given, given + 1);
        d_searches = int(left.size()) - 1;
        while (!left.empty()) {
            group g{ { left.front() }, { -1 }, { {} } };
            left.erase(left.begin());
            for (size_t m = 0; m < g.members.size(); m++)
                for (size_t u = 0; u < left.size();) {
                    alignment_line line;
                    if (!look(g.members[m], left[u], line)) {
                        u++;
                        continue;
                    }
                    g.members.push_back(left[u]);
                    g.parents.push_back(int(m));
                    g.lines.push_back(through(g.lines[m], line));
                    left.erase(left.begin() + long(u));
                }
            d_groups.push_back(std::move(g));
        }
    }

    bool look(int reference, int other, alignment_line& line)
    {
        const auto& a = *d_inputs[reference];
        const auto& b = *d_inputs[other];
        if (d_search.separate_clocks()) {
            const auto peak = search_rates(a,
                                           b,
                                           d_most_lag,
                                           d_search.most_delay_rate,
                                           d_search.most_phase_rate,
                                           d_search.false_alarms,
                                           d_searches);
            d_result.threshold = peak.least_signal_to_noise;
            d_result.lags = peak.independent_lags / d_searches;
            if (peak.strength > peak.threshold && !peak.followed)
                d_result.inputs[other].reason = peak.faint() ? too_faint : not_followed;
            line = peak.line;
            return peak.found();
        }
        const auto peak =
            search_lags(a, b, d_most_lag, d_search.false_alarms, d_searches);
        d_result.threshold = peak.least_signal_to_noise;
        d_result.lags = peak.independent_lags / d_searches;
        line.delay = std::floor(peak.lag);
        return peak.found();
    }

    void measure(const group& g)
    {
        const int members = int(g.members.size());
        std::vector<const cfloat*> samples;
        for (const int input : g.members)
            samples.push_back(d_inputs[input]->samples());
        auto lines = g.lines;

        // limits of the first member's samples between which there are two inputs or more
        double most = 0, first = 0, last = double(d_count);
        for (int i = 1; i < members; i++) {
            const auto& line = lines[i];
            const auto& parent = lines[g.parents[i]];
            most = std::max(most, std::abs(line.delay - parent.delay));
            const double begin = line.delay_at(0), end = line.delay_at(double(d_count));
            first = std::min(first, std::floor(begin));
            last = std::max(last, double(d_count) + std::ceil(end));
        }
        const auto overlap = int64_t(double(d_count) - most);
        const int channels = prepared_input::channels_for(overlap);
        cross_spectra spectra(members, channels);
        // the correlation's peak is as broad as the band is narrow
        double used = 1;
        for (const int input : g.members)
            used = std::min(used, d_inputs[input]->used());
        const double reach =
            std::min(channels / 4., 2 + std::ceil(1 / std::max(used, 0.01)));

        if (d_search.separate_clocks()) {
            measure_rates(
                g, samples, lines, spectra, int64_t(first), int64_t(last), reach);
            return;
        }
        // the offsets so far are removed, and the rest is measured once more: the
        // spectra's windows cut off a little of a peak that lies beside their middle
        int reference = place_of(g, d_search.reference);
        input_lines solved;
        for (int round = 0; round < 2; round++) {
            spectra.clear();
            spectra.add(samples, d_count, lines, int64_t(first), int64_t(last));
            if (reference < 0)
                reference = most_coherent(spectra);
            solved = solve_baselines(spectra, reference, g.parents, round ? 1 : reach);
            for (int i = 0; i < members; i++) {
                lines[i].delay += solved.delay[i];
                lines[i].phase += solved.phase[i];
            }
        }
        keep_common(g, solved, reference);
        for (int i = 0; i < members; i++) {
            auto& offset = d_result.inputs[g.members[i]];
            set_delay(offset, lines[i].delay - lines[reference].delay);
            offset.phase =
                std::remainder(lines[i].phase - lines[reference].phase, 2 * M_PI);
            const double begin = std::max(lines[i].delay, lines[reference].delay);
            const double end =
                double(d_count) + std::min(lines[i].delay, lines[reference].delay);
            offset.time = (begin + end) / 2 - lines[reference].delay;
        }
    }

    static int place_of(const group& g, int input)
    {
        const auto found = std::find(g.members.begin(), g.members.end(), input);
        return found == g.members.end() ? -1 : int(found - g.members.begin());
    }

    //! Returns the input that has the largest signal-to-noise with all others together.
    static int most_coherent(const cross_spectra& spectra)
    {
        std::vector<double> sums(spectra.inputs());
        for (int b = 1; b < spectra.inputs(); b++)
            for (int a = 0; a < b; a++) {
                double squares = 0;
                for (const auto& c : spectra.coherences(a, b))
                    squares += std::norm(c) * spectra.samples(a, b);
                sums[a] += squares;
                sums[b] += squares;
            }
        return int(std::max_element(sums.begin(), sums.end()) - sums.begin());
    }

    static void set_delay(receiver_offset& offset, double delay)
    {
        offset.lag = std::llround(delay);
        offset.fraction = delay - double(offset.lag);
    }

    //! Keeps the results that do not depend on whether the clock is common.
    void keep_common(const group& g, const input_lines& solved, int reference)
    {
        d_result.reference = g.members[reference];
        d_result.closure_delay = solved.closure_delay;
        d_result.closure_phase = solved.closure_phase;
        for (size_t i = 0; i < g.members.size(); i++) {
            auto& offset = d_result.inputs[g.members[i]];
            offset.found = true;
            offset.reason.clear();
            offset.gain = solved.gain[i] * d_inputs[g.members[i]]->scale() /
                          d_inputs[d_result.reference]->scale();
            offset.coherence = solved.coherence[i];
            offset.sigma_delay = solved.sigma_delay[i];
            offset.sigma_phase = solved.sigma_phase[i];
            offset.signal_to_noise =
                int(i) == reference ? INFINITY : std::sqrt(0.5) / solved.sigma_phase[i];
        }
    }

    /*!
     * Measures delay and phase in parts of the time, each over all baselines, and fits
     * straight lines through them. The offsets so far are removed first, so that the
     * parts' phases lie near zero; this is done twice.
     */
    void measure_rates(const group& g,
                       const std::vector<const cfloat*>& samples,
                       std::vector<alignment_line>& lines,
                       cross_spectra& spectra,
                       int64_t first,
                       int64_t last,
                       double reach)
    {
        constexpr int64_t most_parts = 64;
        const int members = int(g.members.size());
        // only where all inputs have samples: a part is solved as a whole
        for (const auto& line : lines) {
            first = std::max(first, int64_t(std::ceil(line.delay_at(0))) + 2);
            last = std::min(
                last, d_count + int64_t(std::floor(line.delay_at(double(d_count)))) - 2);
        }
        const int64_t shortest = 16 * spectra.channels();
        const auto parts = std::clamp((last - first) / shortest, int64_t(1), most_parts);
        if (last - first < shortest || parts < 4) {
            for (const int input : g.members)
                d_result.inputs[input].reason =
                    "too few samples overlap to measure rates: offset unknown";
            return;
        }
        input_lines solved;
        for (int round = 0; round < 2; round++) {
            std::vector<line_in_time> phases(members), delays(members);
            double closures[] = { 0, 0 };
            std::vector<double> coherences(members), gains(members);
            for (int64_t part = 0; part < parts; part++) {
                const int64_t begin = first + (last - first) * part / parts;
                const int64_t end = first + (last - first) * (part + 1) / parts;
                spectra.clear();
                spectra.add(samples, d_count, lines, begin, end);
                solved = solve_baselines(spectra, 0, g.parents, reach);
                for (int i = 1; i < members; i++) {
                    const double time = double(begin + end - 1) / 2;
                    phases[i].add(time, solved.phase[i], solved.sigma_phase[i], 2 * M_PI);
                    delays[i].add(time, solved.delay[i], solved.sigma_delay[i], 0);
                    coherences[i] += solved.coherence[i] / double(parts);
                    gains[i] += solved.gain[i] / double(parts);
                }
                closures[0] += std::pow(solved.closure_phase, 2) / double(parts);
                closures[1] += std::pow(solved.closure_delay, 2) / double(parts);
            }
            solved.closure_phase = std::sqrt(closures[0]);
            solved.closure_delay = std::sqrt(closures[1]);
            coherences[0] = gains[0] = 1;
            solved.coherence = coherences;
            solved.gain = gains;
            for (int i = 1; i < members; i++) {
                const auto phase = phases[i].fit(), delay = delays[i].fit();
                auto& line = lines[i];
                const double time = phase.time;
                line = { line.delay_at(time) + delay.value +
                             delay.rate * (time - delay.time),
                         line.phase_at(time) + phase.value,
                         line.delay_rate + delay.rate,
                         line.phase_rate + phase.rate,
                         time };
                solved.sigma_phase[i] = phase.sigma;
                solved.sigma_delay[i] = delay.sigma;
                auto& offset = d_result.inputs[g.members[i]];
                offset.sigma_phase_rate = phase.sigma_rate;
                offset.sigma_delay_rate = delay.sigma_rate;
                offset.phase_wander = phase.wander;
                offset.delay_wander = delay.wander;
            }
        }
        keep_common(g, solved, 0);
        for (int i = 0; i < members; i++) {
            auto& offset = d_result.inputs[g.members[i]];
            set_delay(offset, lines[i].delay);
            offset.phase = std::remainder(lines[i].phase, 2 * M_PI);
            offset.delay_rate = lines[i].delay_rate;
            offset.phase_rate = lines[i].phase_rate;
            offset.time = lines[i].time;
        }
    }

    //! A weighted straight line through values at some times.
    class line_in_time
    {
    public:
        //! \param cycle values are known up to multiples of it, and lie within half of it
        //! from the one before; 0: they are known
        void add(double time, double value, double sigma, double cycle)
        {
            if (cycle != 0 && !d_values.empty())
                value = d_values.back() + std::remainder(value - d_values.back(), cycle);
            d_times.push_back(time);
            d_values.push_back(value);
            d_sigmas.push_back(sigma);
        }

        struct result {
            double time, value, rate; //!< value at the mean time, and its rate
            double sigma, sigma_rate;
            double wander; //!< rms deviation of the values from the line, without their
                           //!< noise
        };

        result fit() const
        {
            double weights = 0, time = 0, value = 0;
            for (size_t i = 0; i < d_times.size(); i++) {
                const double w = weight(i);
                weights += w;
                time += w * d_times[i];
                value += w * d_values[i];
            }
            time /= weights;
            value /= weights;
            double squares = 0, products = 0;
            for (size_t i = 0; i < d_times.size(); i++) {
                squares += weight(i) * std::pow(d_times[i] - time, 2);
                products += weight(i) * (d_times[i] - time) * (d_values[i] - value);
            }
            const double rate = products / squares;
            double excess = 0;
            for (size_t i = 0; i < d_times.size(); i++) {
                const double rest = d_values[i] - value - rate * (d_times[i] - time);
                excess += rest * rest - d_sigmas[i] * d_sigmas[i];
            }
            return { time,
                     value,
                     rate,
                     1 / std::sqrt(weights),
                     1 / std::sqrt(squares),
                     std::sqrt(std::max(excess / double(d_times.size()), 0.)) };
        }

    private:
        double weight(size_t i) const { return 1 / (d_sigmas[i] * d_sigmas[i]); }

        std::vector<double> d_times, d_values, d_sigmas;
    };

    const int64_t d_count;
    const offset_search& d_search;
    const int64_t d_most_lag;
    std::vector<std::unique_ptr<prepared_input>> d_inputs;
    std::vector<int> d_inputs_left; // inputs in no group yet
    std::vector<group> d_groups;
    int d_searches = 1;
    receiver_offsets d_result;
};

} // namespace

void offset_search::check(int inputs, int64_t samples) const
{
    constexpr int64_t least = 4 * least_overlap;
    require_range("inputs", inputs, 2, 1024);
    require_range("samples", samples, least, INT64_MAX);
    require_range("most_lag", most_lag, 0, samples - least_overlap);
    require_range("reference", reference, -1, inputs - 1);
    require(false_alarms > 0 && false_alarms < 1,
            "false_alarms",
            text_of(false_alarms),
            "more than 0 and less than 1");
    require(most_delay_rate >= 0 && most_delay_rate <= 1e-3,
            "most_delay_rate",
            text_of(most_delay_rate),
            "between 0 and 0.001 samples per sample (1000 ppm)");
    require(most_phase_rate >= 0 && most_phase_rate <= M_PI / 2,
            "most_phase_rate",
            text_of(most_phase_rate),
            "between 0 and pi/2 radians per sample (a quarter of the band)");
}

receiver_offsets measure_offsets(const std::vector<const cfloat*>& samples,
                                 int64_t count,
                                 const offset_search& search)
{
    search.check(int(samples.size()), count);
    const kernels::usual_float_environment left_as_it_was;
    return measurement(samples, count, search).result();
}

} // namespace gr::aperture
