/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/detection.h"
#include "signal/alignment/interruption.h"
#include "signal/alignment/phase_line.h"
#include "signal/alignment/rate_search.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::alignment {

namespace {

constexpr int64_t longest_piece = 1024;
constexpr int64_t shortest_piece = 64;
//! Strength of a section that is surely not noise: one in 10^5 within a few lags.
constexpr double sure = 15;

int64_t piece_for(int64_t samples, double most_delay_rate)
{
    int64_t piece = longest_piece;
    while (piece > shortest_piece &&
           (double(piece) * most_delay_rate > 0.5 || piece * 4 > samples))
        piece /= 2;
    return piece;
}

//! Returns the fraction of the samples that is independent, in noise of these spectra.
double independent_share(const prepared_input& a, const prepared_input& b)
{
    double both = 0;
    const size_t channels = a.spectrum().size();
    for (size_t k = 0; k < channels; k++)
        both += a.spectrum()[k] * b.spectrum()[k];
    return a.power() * b.power() * double(channels) / both;
}

class search
{
public:
    search(const prepared_input& reference,
           const prepared_input& other,
           int64_t most_lag,
           double most_delay_rate,
           double most_phase_rate)
        : d_reference(reference),
          d_other(other),
          d_most_lag(most_lag),
          d_count(reference.count()),
          d_piece(piece_for(d_count, most_delay_rate)),
          d_points(8 * d_piece),
          d_bins(int64_t(std::ceil(most_phase_rate / M_PI * double(d_piece)))),
          d_share(independent_share(reference, other)),
          d_forward(d_points, -1),
          d_backward(d_points, 1)
    {
        // sections of the reference that overlap every lag
        if (2 * most_lag <= d_count - d_piece)
            d_places = { (d_count - d_piece) / 2 };
        else
            d_places = { 0, d_count - d_piece };
    }

    double places_searched() const { return d_searched; }
    int64_t piece() const { return d_piece; }

    rate_peak highest()
    {
        for (const auto place : d_places)
            look_from(place);
        return d_peak;
    }

private:
    //! Returns a difference of frequency to try, a multiple of half a cycle in a section.
    double phase_rate_of(int64_t bin) const { return M_PI * double(bin) / d_piece; }

    void look_from(int64_t place)
    {
        std::vector<complex_buffer> pieces;
        for (int64_t bin = -d_bins; bin <= d_bins; bin++) {
            pieces.emplace_back(d_points);
            auto* piece = pieces.back().data();
            std::fill(piece + d_piece, piece + d_points, cfloat(0));
            cfloat phasor(1);
            volk_32fc_s32fc_x2_rotator_32fc(piece,
                                            d_reference.samples() + place,
                                            cfloat(std::polar(1., -phase_rate_of(bin))),
                                            &phasor,
                                            unsigned(d_piece));
            d_forward.execute(pieces.back());
        }
        const double energy = d_reference.energy_before(double(place + d_piece)) -
                              d_reference.energy_before(double(place));
        const int64_t first = std::max<int64_t>(0, place - d_most_lag);
        const int64_t last = std::min(d_count - d_piece, place + d_most_lag);
        const int64_t step = d_points - d_piece + 1;
        complex_buffer part(d_points), product(d_points);
        for (int64_t at = first; at <= last; at += step) {
            interruption_point();
            const int64_t length = std::min(d_points, d_count - at);
            std::memcpy(
                part.data(), d_other.samples() + at, size_t(length) * sizeof(cfloat));
            std::fill(part.data() + length, part.data() + d_points, cfloat(0));
            d_forward.execute(part);
            const int64_t lags = std::min(step, last - at + 1);
            d_searched += double(lags) * double(2 * d_bins + 1);
            std::vector<double> scales(lags);
            for (int64_t m = 0; m < lags; m++) {
                const double other = d_other.energy_before(double(at + m + d_piece)) -
                                     d_other.energy_before(double(at + m));
                scales[m] = other > 0 ? 1 / (energy * other) : 0;
            }
            for (int64_t bin = -d_bins; bin <= d_bins; bin++) {
                volk_32fc_x2_multiply_conjugate_32fc(product.data(),
                                                     part.data(),
                                                     pieces[bin + d_bins].data(),
                                                     unsigned(d_points));
                d_backward.execute(product);
                const double factor = 1 / (double(d_points) * double(d_points));
                for (int64_t m = 0; m < lags; m++) {
                    const double squared =
                        double(std::norm(product[m])) * factor * scales[m];
                    if (squared > d_best) {
                        d_best = squared;
                        d_peak.strength = strength_of(squared, double(d_piece) * d_share);
                        d_peak.line = { double(place - at - m),
                                        0,
                                        0,
                                        phase_rate_of(bin),
                                        double(place) + double(d_piece - 1) / 2 };
                    }
                }
            }
        }
    }

    const prepared_input &d_reference, &d_other;
    const int64_t d_most_lag, d_count, d_piece, d_points, d_bins;
    const double d_share;
    const transform d_forward, d_backward;
    std::vector<int64_t> d_places;
    double d_searched = 0, d_best = 0;
    rate_peak d_peak{};
};

//! Measures the error of a line in short sections, and corrects it.
class follower
{
public:
    follower(const prepared_input& reference, const prepared_input& other, int64_t piece)
        : d_samples{ reference.samples(), other.samples() },
          d_count(reference.count()),
          d_piece(piece),
          d_spectra(2, int(std::max<int64_t>(16, piece / 4)))
    {
    }

    //! \returns false if it lost the line
    bool follow(alignment_line& line)
    {
        d_line = line;
        const double start = d_line.time;
        phase_line missed;
        if (!measure(start, missed))
            return false;
        d_line.phase += missed.phase;
        d_line.delay += missed.delay;
        for (double distance = double(d_piece); distance < double(d_count);
             distance *= 2) {
            double step = distance;
            if (!fits(start + step))
                step = -distance;
            if (!fits(start + step))
                break;
            if (!measure(start + step, missed))
                return false;
            d_line.phase_rate += missed.phase / step;
            d_line.delay_rate += missed.delay / step;
        }
        line = d_line;
        return true;
    }

private:
    int64_t first_of(double middle) const
    {
        return std::llround(middle - double(d_piece - 1) / 2);
    }

    bool fits(double middle) const
    {
        const double first = double(first_of(middle)), last = first + double(d_piece);
        const double delay = d_line.delay_at(middle);
        return first >= 0 && last <= double(d_count) && first - delay >= 2 &&
               last - delay <= double(d_count) - 2;
    }

    bool measure(double middle, phase_line& missed)
    {
        const int64_t first = first_of(middle);
        d_spectra.clear();
        d_spectra.add(d_samples, d_count, { {}, d_line }, first, first + d_piece);
        const double reach = d_spectra.channels() / 4.;
        missed = fit_phase_line(d_spectra.coherences(0, 1),
                                d_spectra.used(0, 1),
                                d_spectra.samples(0, 1),
                                reach);
        return missed.strength > sure;
    }

    const std::vector<const cfloat*> d_samples;
    const int64_t d_count, d_piece;
    cross_spectra d_spectra;
    alignment_line d_line;
};

} // namespace

bool rate_peak::faint() const
{
    // The strength is the square of an amplitude whose noise is 0.7: three times the sure
    // strength leaves four standard deviations.
    return strength < 3 * sure;
}

rate_peak search_rates(const prepared_input& reference,
                       const prepared_input& other,
                       int64_t most_lag,
                       double most_delay_rate,
                       double most_phase_rate,
                       double false_alarms,
                       int searches)
{
    search correlation(reference, other, most_lag, most_delay_rate, most_phase_rate);
    auto peak = correlation.highest();
    // every lag and frequency counts in full, which is a little too much
    const double full_bandwidth = 1 / std::sqrt(12.);
    const searched_lags noise{ searches * correlation.places_searched(),
                               1,
                               full_bandwidth };
    peak.threshold = noise.threshold(false_alarms);
    peak.least_signal_to_noise = std::sqrt(peak.threshold);
    peak.independent_lags = noise.independent(peak.threshold);
    peak.followed = false;
    if (peak.strength > peak.threshold)
        peak.followed = follower(reference, other, correlation.piece()).follow(peak.line);
    return peak;
}

} // namespace gr::aperture::kernels::alignment
