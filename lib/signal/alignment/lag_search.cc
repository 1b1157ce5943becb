/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "signal/alignment/detection.h"
#include "signal/alignment/interruption.h"
#include "signal/alignment/lag_search.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::alignment {

namespace {

constexpr int64_t longest_part = 1 << 19;
constexpr int64_t most_memory = 1 << 30;

//! Adds a product: sum += a conj(b).
APERTURE_SIMD void add_product(const float* a, const float* b, float* sum, int64_t points)
{
    for (int64_t i = 0; i < 2 * points; i += 2) {
        sum[i] += a[i] * b[i] + a[i + 1] * b[i + 1];
        sum[i + 1] += a[i + 1] * b[i] - a[i] * b[i + 1];
    }
}

//! Returns an input's whitening, linear between channels, at points of a transform.
std::vector<float> whitening_at(const prepared_input& input, size_t points)
{
    const auto& whitening = input.whitening();
    const size_t channels = whitening.size();
    std::vector<float> factors(points);
    for (size_t i = 0; i < points; i++) {
        const double at = double(i) * double(channels) / double(points);
        const auto k = size_t(at);
        const auto part = float(at - double(k));
        factors[i] =
            whitening[k % channels] * (1 - part) + whitening[(k + 1) % channels] * part;
    }
    return factors;
}

/*!
 * Properties of the correlation of noise with the spectra of two inputs, both whitened.
 * They come from periodograms, not from mean spectra: the noise of a correlation comes
 * from the product of the two inputs' spectra at each frequency, to its finest detail.
 */
struct correlated_noise {
    //! Sum of |x|^2 of the whitened samples for one of the original samples.
    double reference_energy = 0, other_energy = 0;
    double independent = 1;   //!< fraction of the samples that are independent
    double rms_bandwidth = 0; //!< cycles per sample
    bool any = false;         //!< true if they have channels in common

    correlated_noise(const prepared_input& reference, const prepared_input& other)
    {
        constexpr int64_t longest = 1 << 14, most_windows = 16;
        int64_t points = 64;
        while (points < longest && points < reference.count())
            points *= 2;
        // all samples if they fit into one window, with zeros after them
        const int64_t length = std::min(points, reference.count());
        const int64_t windows = std::min(most_windows, reference.count() / length);
        const auto of_reference = whitening_at(reference, points);
        const auto of_other = whitening_at(other, points);
        const transform forward(points, -1);
        complex_buffer a(points), b(points);
        double a_raw = 0, b_raw = 0, a_energy = 0, b_energy = 0, separate = 0;
        double both = 0, first = 0, second = 0; // moments of the product over frequency
        for (int64_t w = 0; w < windows; w++) {
            const int64_t at =
                windows == 1 ? 0 : (reference.count() - length) * w / (windows - 1);
            std::memcpy(a.data(), reference.samples() + at, length * sizeof(cfloat));
            std::fill(a.data() + length, a.data() + points, cfloat(0));
            std::memcpy(b.data(), other.samples() + at, length * sizeof(cfloat));
            std::fill(b.data() + length, b.data() + points, cfloat(0));
            forward.execute(a);
            forward.execute(b);
            double a_sum = 0, b_sum = 0;
            for (int64_t i = 0; i < points; i++) {
                const double f = frequency_of(i, points);
                const double a_power = std::norm(a[i]), b_power = std::norm(b[i]);
                const double a_white = a_power * of_reference[i] * of_reference[i];
                const double b_white = b_power * of_other[i] * of_other[i];
                a_raw += a_power;
                b_raw += b_power;
                a_sum += a_white;
                b_sum += b_white;
                const double product = a_white * b_white;
                both += product;
                first += product * f;
                second += product * f * f;
            }
            a_energy += a_sum;
            b_energy += b_sum;
            separate += a_sum * b_sum;
        }
        if (both <= 0)
            return;
        any = true;
        reference_energy = a_energy / a_raw;
        other_energy = b_energy / b_raw;
        independent = separate / (both * double(points));
        rms_bandwidth = std::sqrt(second / both - std::pow(first / both, 2));
    }
};

class search
{
public:
    search(const prepared_input& reference, const prepared_input& other, int64_t most_lag)
        : d_reference(reference),
          d_other(other),
          d_most_lag(most_lag),
          d_noise(reference, other),
          d_part(part_for(reference.count(), most_lag)),
          d_points(2 * d_part),
          d_forward(d_points, -1),
          d_backward(d_points, 1)
    {
    }

    const correlated_noise& noise() const { return d_noise; }

    lag_peak highest()
    {
        const auto of_reference = whitening_at(d_reference, d_points);
        d_whitening = whitening_at(d_other, d_points);
        for (int64_t i = 0; i < d_points; i++)
            d_whitening[i] *= of_reference[i] / float(d_points);
        const int64_t parts = d_most_lag / d_part + 1; // on either side
        // a sum and a spectrum for each part that is in memory
        const int64_t bytes = 2 * d_points * int64_t(sizeof(cfloat));
        const int64_t at_once = std::max<int64_t>(1, most_memory / bytes);
        for (int64_t first = -parts; first < parts; first += at_once)
            search_parts(first, std::min(first + at_once, parts));
        return d_peak;
    }

private:
    static int64_t part_for(int64_t count, int64_t most_lag)
    {
        // long enough for the whitening, whose response is two or three channels' long
        int64_t part = 4 * prepared_input::channels_for(count);
        while (part < longest_part && part <= std::min(most_lag, count - 1))
            part *= 2;
        return part;
    }

    //! Transforms samples of an input from `first` on, zeros where there are none.
    void spectrum_of(const prepared_input& input,
                     int64_t first,
                     int64_t length,
                     complex_buffer& values) const
    {
        const int64_t begin = std::clamp<int64_t>(-first, 0, length);
        const int64_t end = std::clamp<int64_t>(input.count() - first, begin, length);
        std::fill(values.data(), values.data() + begin, cfloat(0));
        if (end > begin)
            std::memcpy(values.data() + begin,
                        input.samples() + first + begin,
                        size_t(end - begin) * sizeof(cfloat));
        std::fill(values.data() + end, values.data() + d_points, cfloat(0));
        d_forward.execute(values);
    }

    /*!
     * Searches parts of the lags: part g has lags from g part to (g + 1) part. With
     * section i of the reference, from i part on, it needs the two sections of the other
     * input from (i - g - 1) part on: no lag wraps.
     */
    void search_parts(int64_t first, int64_t last)
    {
        const int64_t parts = last - first;
        const int64_t pieces = (d_reference.count() + d_part - 1) / d_part;
        std::vector<complex_buffer> sums, others;
        for (int64_t g = 0; g < parts; g++) {
            sums.emplace_back(d_points);
            std::fill(sums[g].data(), sums[g].data() + d_points, cfloat(0));
            others.emplace_back(d_points);
        }
        std::vector<int64_t> held(parts, INT64_MIN);
        complex_buffer piece(d_points);
        for (int64_t i = 0; i < pieces; i++) {
            spectrum_of(d_reference, i * d_part, d_part, piece);
            for (int64_t g = first; g < last; g++) {
                const int64_t j = i - g - 1;
                if (j < -1 || j >= pieces)
                    continue;
                interruption_point();
                const int64_t slot = (j % parts + parts) % parts;
                if (held[slot] != j) {
                    spectrum_of(d_other, j * d_part, d_points, others[slot]);
                    held[slot] = j;
                }
                add_product(reinterpret_cast<const float*>(piece.data()),
                            reinterpret_cast<const float*>(others[slot].data()),
                            reinterpret_cast<float*>(sums[g - first].data()),
                            d_points);
            }
        }
        for (int64_t g = first; g < last; g++) {
            interruption_point();
            auto& sum = sums[g - first];
            volk_32fc_32f_multiply_32fc(
                sum.data(), sum.data(), d_whitening.data(), unsigned(d_points));
            std::memcpy(piece.data(), sum.data(), d_points * sizeof(cfloat));
            look(piece, double(g * d_part));
            half_a_sample_later(sum);
            look(sum, double(g * d_part) + 0.5);
        }
    }

    //! Shifts by half a sample: multiplies by exp(i pi f), f in cycles per sample.
    void half_a_sample_later(complex_buffer& values) const
    {
        constexpr int64_t fine =
            512; // frequencies in a row: a power of two, so that none spans -0.5
        const int64_t points = d_points, step = std::min(fine, points / 2);
        std::vector<cfloat> phasors(step);
        for (int64_t i = 0; i < step; i++)
            phasors[i] = cfloat(std::polar(1., M_PI * double(i) / double(points)));
        for (int64_t first = 0; first < points; first += step) {
            const double f = frequency_of(first, points);
            const auto start = cfloat(std::polar(1., M_PI * f));
            auto* part = values.data() + first;
            volk_32fc_x2_multiply_32fc(part, part, phasors.data(), unsigned(step));
            volk_32fc_s32fc_multiply_32fc(part, part, start, unsigned(step));
        }
    }

    //! Transforms a part of the correlation from lag `start` on; finds its highest point.
    void look(complex_buffer& values, double start)
    {
        d_backward.execute(values);
        const auto count = double(d_reference.count());
        const double most = std::min(double(d_most_lag), count - double(least_overlap));
        const auto first = int64_t(std::ceil(std::max(0., -most - start)));
        const auto last = int64_t(std::floor(std::min(double(d_part - 1), most - start)));
        const double scale = 1 / (d_noise.reference_energy * d_noise.other_energy);
        for (int64_t m = first; m <= last; m++) {
            const double lag = start + double(m);
            const double late = std::max(lag, 0.), early = std::max(-lag, 0.);
            const double energies =
                (d_reference.energy_before(count - early) -
                 d_reference.energy_before(late)) *
                (d_other.energy_before(count - late) - d_other.energy_before(early));
            if (energies <= 0)
                continue;
            const double squared =
                double(std::norm(values[d_part + m])) * scale / energies;
            const double samples = (count - late - early) * d_noise.independent;
            // -log(1 - x) <= 1.4 x up to a half
            if (squared < 0.5 && 1.4 * samples * squared < d_peak.strength)
                continue;
            const double strength = strength_of(squared, samples);
            if (strength > d_peak.strength)
                d_peak = { lag, strength, 0, 0, 0 };
        }
    }

    const prepared_input &d_reference, &d_other;
    const int64_t d_most_lag;
    const correlated_noise d_noise;
    const int64_t d_part, d_points;
    const transform d_forward, d_backward;
    std::vector<float> d_whitening; // factor of both inputs and of the transforms
    lag_peak d_peak{ 0, 0, 0, 0, 0 };
};

} // namespace

lag_peak search_lags(const prepared_input& reference,
                     const prepared_input& other,
                     int64_t most_lag,
                     double false_alarms,
                     int searches)
{
    search correlation(reference, other, most_lag);
    const auto& both = correlation.noise();
    const double lags = double(searches) * double(4 * most_lag + 1);
    const searched_lags noise{ lags, 0.5, both.rms_bandwidth };
    lag_peak peak{ 0, 0, 0, 0, 0 };
    if (both.any)
        peak = correlation.highest();
    peak.threshold = noise.threshold(false_alarms);
    peak.least_signal_to_noise = std::sqrt(peak.threshold);
    peak.independent_lags = noise.independent(peak.threshold);
    return peak;
}

} // namespace gr::aperture::kernels::alignment
