/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/simd.h"
#include "kernels/conditioning/host_baseline.h"
#include "kernels/conditioning/power_normalizer.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

namespace gr::aperture::kernels::host {

using namespace conditioning;

namespace {

constexpr int lanes = 16;

struct row_sum {
    float sum;
    float limited; // sum of deviations, each limited to most_of_sum
    bool high;     // some deviation is above the limit, or not usable
};

//! Computes deviations of a spectrum in units of the rms; a deviation that is not usable,
//! or of a channel whose inverse is 0, becomes 0.
APERTURE_SIMD row_sum deviations(const float* __restrict__ x,
                                 const float* __restrict__ mean,
                                 const float* __restrict__ inverse,
                                 int channels,
                                 float limit,
                                 float* __restrict__ y)
{
    float sums[lanes] = {}, limited[lanes] = {};
    int high[lanes] = {};
    const auto one = [&](int k, int lane) {
        const float v = (x[k] - mean[k]) * inverse[k];
        const bool good = std::fabs(v) < 1e15f && inverse[k] > 0;
        const float made = good ? v : 0.f;
        y[k] = made;
        sums[lane] += made;
        limited[lane] += std::min(most_of_sum, std::max(-most_of_sum, made));
        high[lane] |= int(inverse[k] > 0) & (int(!(v <= limit)) | int(!good));
    };
    int k = 0;
    for (; k + lanes <= channels; k += lanes)
        for (int lane = 0; lane < lanes; lane++)
            one(k + lane, lane);
    for (int lane = 0; k < channels; k++, lane++)
        one(k, lane);
    row_sum made{ 0, 0, false };
    for (int lane = 0; lane < lanes; lane++) {
        made.sum += sums[lane];
        made.limited += limited[lane];
        made.high |= high[lane] != 0;
    }
    return made;
}

APERTURE_SIMD void
store(const float* __restrict__ y, const float* inverse, int n, float offset, float* out)
{
    for (int k = 0; k < n; k++)
        out[k] = inverse[k] > 0 ? y[k] - offset : 0.f;
}

//! Stores deviations as integers; returns how many did not fit.
APERTURE_SIMD int store(const float* __restrict__ y,
                        const float* __restrict__ inverse,
                        int n,
                        float offset,
                        float steps,
                        int8_t* __restrict__ out)
{
    int clamped = 0;
    for (int k = 0; k < n; k++) {
        const float v = inverse[k] > 0 ? std::rint((y[k] - offset) * steps) : 0.f;
        const float fits = std::min(127.f, std::max(-127.f, v));
        clamped += v != fits;
        out[k] = int8_t(int(fits));
    }
    return clamped;
}

//! Returns the lower median; changes the order of the values.
float median(std::vector<float>& values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + (values.size() - 1) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

class host_power_normalizer : public power_normalizer
{
public:
    explicit host_power_normalizer(const parameters& p)
        : d_p(p),
          d_limit(p.cell_threshold > 0 ? p.cell_threshold
                                       : 1e15f), // a limit where powers are not usable
          d_bandpass(p.beams, p.channels, p.segment, p.segments),
          d_zero_dm(p.beams, 1, p.segment, p.segments),
          d_bad(p.channels),
          d_mean(p.cells()),
          d_inverse(p.cells()),
          d_good(p.beams),
          d_sums(size_t(p.segment) * p.beams),
          d_counts(size_t(p.beams) * counts_of_beam)
    {
        for (const int bad : p.bad_channels)
            d_bad[bad] = true;
    }

    std::string implementation() const override { return "host"; }

    void execute(const float* powers,
                 void* normalised,
                 int items,
                 const uint8_t* present,
                 stream&) override
    {
        d_bandpass.add(powers, items, present);
        for (int beam = 0; beam < d_p.beams; beam++)
            choose_channels(beam);
        std::vector<float> y(d_p.channels);
        std::vector<int> flagged;
        for (int item = 0; item < items; item++)
            for (int beam = 0; beam < d_p.beams; beam++) {
                const size_t row = size_t(item) * d_p.beams + beam;
                const size_t cell = row * d_p.channels;
                char* out = static_cast<char*>(normalised) +
                            cell * (d_p.integers ? 1 : sizeof(float));
                d_sums[row] = std::numeric_limits<float>::quiet_NaN();
                if (present && !present[row]) {
                    count(beam, missing, d_p.channels);
                    std::memset(out, 0, row_bytes());
                } else {
                    normalise_row(beam, powers + cell, out, d_sums[row], y, flagged);
                }
            }
        d_zero_dm.add(d_sums.data(), items, nullptr);
    }

    void clear(stream& s) override
    {
        forget(s);
        for (auto& c : d_counts)
            c = 0;
    }

    void forget(stream&) override
    {
        d_bandpass.clear();
        d_zero_dm.clear();
    }

    std::vector<uint64_t> counts() const override
    {
        return { d_counts.begin(), d_counts.end() };
    }

private:
    size_t row_bytes() const { return d_p.item_bytes() / d_p.beams; }
    void count(int beam, power_normalizer::count what, uint64_t cells)
    {
        if (cells)
            d_counts[size_t(beam) * counts_of_beam + what] += cells;
    }

    //! Chooses mean and inverse rms of each channel of a beam; 0 for flagged ones.
    void choose_channels(int beam)
    {
        const auto* known = d_bandpass.moments().data() + size_t(beam) * d_p.channels;
        float* mean = d_mean.data() + size_t(beam) * d_p.channels;
        float* inverse = d_inverse.data() + size_t(beam) * d_p.channels;
        for (int k = 0; k < d_p.channels; k++) {
            mean[k] = known[k].mean;
            inverse[k] =
                known[k].variance > 0 && !d_bad[k] ? 1 / std::sqrt(known[k].variance) : 0;
        }
        if (d_p.channel_threshold > 0)
            flag_channels(known, inverse);
        d_good[beam] = int(std::count_if(
            inverse, inverse + d_p.channels, [](float i) { return i > 0; }));
    }

    void flag_channels(const moments* known, float* inverse)
    {
        const int channels = d_p.channels;
        std::vector<float> by_mean(channels), by_rms(channels), near, all;
        for (int k = 0; k < channels; k++) {
            if (!(inverse[k] > 0))
                continue;
            const auto middle = [&](const auto& value) {
                near.clear();
                const int first = std::max(0, k - neighbours),
                          last = std::min(channels - 1, k + neighbours);
                for (int i = first; i <= last; i++)
                    if (inverse[i] > 0)
                        near.push_back(value(known[i]));
                return median(near);
            };
            const float mean = middle([](const moments& m) { return m.mean; });
            const float rms =
                std::sqrt(middle([](const moments& m) { return m.variance; }));
            by_mean[k] = (known[k].mean - mean) / rms;
            by_rms[k] = std::sqrt(known[k].variance) / rms - 1;
        }
        const auto limit_of = [&](const std::vector<float>& deviations) {
            all.clear();
            for (int k = 0; k < channels; k++)
                if (inverse[k] > 0)
                    all.push_back(std::fabs(deviations[k]));
            const float least = 1 / std::sqrt(float(d_bandpass.items()));
            return d_p.channel_threshold * std::max(rms_of_median * median(all), least);
        };
        const float most_mean = limit_of(by_mean), most_rms = limit_of(by_rms);
        for (int k = 0; k < channels; k++)
            if (by_mean[k] > most_mean || by_rms[k] > most_rms)
                inverse[k] = 0;
    }

    //! Normalises a row of a beam.
    //! \param sum the limited sum over channels, of rms 1; NaN where there is none
    //! \param y, flagged scratch
    void normalise_row(int beam,
                       const float* x,
                       char* out,
                       float& sum,
                       std::vector<float>& y,
                       std::vector<int>& flagged)
    {
        const float* mean = d_mean.data() + size_t(beam) * d_p.channels;
        const float* inverse = d_inverse.data() + size_t(beam) * d_p.channels;
        auto row = deviations(x, mean, inverse, d_p.channels, d_limit, y.data());
        flagged.clear();
        if (row.high)
            flag_cells(x, mean, inverse, y, flagged);
        for (const int k : flagged) {
            row.sum -= y[k];
            row.limited -= std::min(most_of_sum, std::max(-most_of_sum, y[k]));
            y[k] = 0;
        }
        const int good = d_good[beam], left = good - int(flagged.size());
        count(beam, channel, d_p.channels - good);
        bool drop = left == 0;
        if (left > 0) {
            sum = row.limited / std::sqrt(float(left));
            drop = is_broad(beam, sum);
        }
        if (drop) {
            count(beam, left > 0 ? spectrum : cell, good);
            std::memset(out, 0, row_bytes());
            return;
        }
        count(beam, cell, flagged.size());
        const float offset = d_p.zero_dm ? row.sum / float(left) : 0;
        for (const int k : flagged)
            y[k] = offset;
        if (d_p.integers)
            count(beam,
                  clamped,
                  store(y.data(),
                        inverse,
                        d_p.channels,
                        offset,
                        d_p.steps,
                        reinterpret_cast<int8_t*>(out)));
        else
            store(y.data(), inverse, d_p.channels, offset, reinterpret_cast<float*>(out));
    }

    //! Flags cells that stand out by themselves, or that have no deviation.
    void flag_cells(const float* x,
                    const float* mean,
                    const float* inverse,
                    const std::vector<float>& y,
                    std::vector<int>& flagged) const
    {
        for (int k = 0; k < d_p.channels; k++) {
            if (!(inverse[k] > 0))
                continue;
            const auto high = [&](int i) {
                return i >= 0 && i < d_p.channels && y[i] > d_limit / 2;
            };
            if (!usable((x[k] - mean[k]) * inverse[k]) ||
                (y[k] > d_limit && !high(k - 1) && !high(k + 1)))
                flagged.push_back(k);
        }
    }

    bool is_broad(int beam, float sum) const
    {
        if (d_p.spectrum_threshold == 0)
            return false;
        const auto m = d_zero_dm.moments()[beam];
        const bool known = m.variance >= 0;
        const float rms = known ? std::max(1.f, std::sqrt(m.variance)) : 1;
        return std::fabs(sum - (known ? m.mean : 0)) > d_p.spectrum_threshold * rms;
    }

    const parameters d_p;
    const float d_limit; // limit of cells
    baseline d_bandpass, d_zero_dm;
    std::vector<bool> d_bad;
    std::vector<float> d_mean, d_inverse; // [beam][channel]
    std::vector<int> d_good;              // channels of a beam that are not flagged
    std::vector<float> d_sums;            // [item][beam]
    std::vector<std::atomic<uint64_t>> d_counts;
};

} // namespace

//! Loops over channels that the compiler makes vector instructions of.
template <>
std::unique_ptr<power_normalizer> make(const power_normalizer::parameters& p,
                                       const std::string&)
{
    return std::make_unique<host_power_normalizer>(p);
}

} // namespace gr::aperture::kernels::host
