/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/simd.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/dedispersion/sub_bands.h"
#include <type_traits>
#include <algorithm>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

// Each sum is taken in the order of its terms, so that f32 has the same bits whatever the
// vectors' length, and on the GPU.

APERTURE_SIMD void add(float* __restrict sum, const float* a, int count)
{
    for (int i = 0; i < count; ++i)
        sum[i] += a[i];
}
APERTURE_SIMD void add(int16_t* __restrict sum, const int16_t* a, int count)
{
    for (int i = 0; i < count; ++i)
        sum[i] = int16_t(sum[i] + a[i]);
}
APERTURE_SIMD void add(float* __restrict sum,
                       const float* a,
                       const float* b,
                       const float* c,
                       const float* d,
                       int count)
{
    for (int i = 0; i < count; ++i)
        sum[i] = (((sum[i] + a[i]) + b[i]) + c[i]) + d[i];
}
APERTURE_SIMD void add(int16_t* __restrict sum,
                       const int16_t* a,
                       const int16_t* b,
                       const int16_t* c,
                       const int16_t* d,
                       int count)
{
    for (int i = 0; i < count; ++i)
        sum[i] = int16_t(sum[i] + a[i] + b[i] + c[i] + d[i]);
}
APERTURE_SIMD void add(int32_t* __restrict sum, const int16_t* a, int count)
{
    for (int i = 0; i < count; ++i)
        sum[i] += a[i];
}
APERTURE_SIMD void convert(float* __restrict to, const int32_t* from, int count)
{
    for (int i = 0; i < count; ++i)
        to[i] = float(from[i]);
}

//! Sums rows; at(i) is where row i begins.
template <class Value, class At>
void add_rows(Value* sum, int rows, int count, const At& at)
{
    int i = 0;
    for (; i + 4 <= rows; i += 4)
        add(sum, at(i), at(i + 1), at(i + 2), at(i + 3), count);
    for (; i < rows; ++i)
        add(sum, at(i), count);
}

constexpr int tile = 1024; // times of sums that stay in the first cache
constexpr int64_t most_times =
    1 << 13; // about the times of the input that are done at once

/*!
 * Dedisperses the trials of one decimation, one beam at a time.
 * \tparam Value element of rows: float, or int16_t where sums of a sub-band always fit
 */
template <class Value>
class sub_band_sums
{
public:
    sub_band_sums(const dedisperser::parameters& p, const sub_band_plan& plan)
        : d_p(p),
          d_plan(plan),
          d_longest(plan.longest_delay(p.band.channels)),
          d_offsets(p.trials.offsets())
    {
        const int most = 32767 / (p.type == power_type::u8 ? 255 : 128);
        d_narrow = std::max(1, most / (plan.width * plan.decimation));
    }

    //! \param powers, items from the first time of the input on
    //! \param first, times first output time, and how many there are, counted in the
    //! input
    template <class Power>
    void
    execute(const Power* powers, float* items, int64_t first, int64_t times, int beam)
    {
        const int64_t count = times / d_plan.decimation;
        if (count == 0)
            return;
        d_input_row = count + d_longest;
        d_input.resize(size_t(d_p.band.channels) * d_input_row);
        d_places.resize(d_plan.paths.size());
        size_t size = 0;
        for (size_t path = 0; path < d_plan.paths.size(); ++path) {
            d_places[path] = size;
            size += count + d_plan.paths[path].last - d_plan.paths[path].first;
        }
        d_rows.resize(size);
        // starting threads costs some microseconds
        const bool worth_threads = double(count) * d_p.band.channels > 65536;
        const int64_t tiles = (count + tile - 1) / tile;
#pragma omp parallel if (worth_threads)
        {
#pragma omp for schedule(dynamic)
            for (int b = 0; b < d_plan.sub_bands; ++b) {
                read(powers + first * stride(), beam, b);
                for (int path = d_plan.first_path[b]; path < d_plan.first_path[b + 1];
                     ++path)
                    sum_path(path, b, count);
            }
#pragma omp for collapse(2) schedule(static)
            for (int64_t i = 0; i < tiles; ++i)
                for (int trial = 0; trial < int(d_plan.trials.size()); ++trial)
                    sum_trial(trial,
                              beam,
                              i * tile,
                              int(std::min<int64_t>(tile, count - i * tile)),
                              first / d_plan.decimation,
                              items);
        }
    }

private:
    size_t stride() const { return size_t(d_p.trials.beams) * d_p.band.channels; }

    //! Makes rows of times of the decimated powers of a sub-band.
    template <class Power>
    void read(const Power* powers, int beam, int sub_band)
    {
        const int first = sub_band * d_plan.width;
        const int channels = d_plan.channels_of(sub_band, d_p.band.channels);
        const Power* in = powers + size_t(beam) * d_p.band.channels + first;
        Value* to = &d_input[size_t(first) * d_input_row];
        for (int64_t t = 0; t < d_input_row; ++t) {
            for (int k = 0; k < channels; ++k)
                to[k * d_input_row + t] = Value(Value(0) + in[k]); // no -0
            in += stride();
            for (int i = 1; i < d_plan.decimation; ++i, in += stride())
                for (int k = 0; k < channels; ++k)
                    to[k * d_input_row + t] = Value(to[k * d_input_row + t] + in[k]);
        }
    }

    void sum_path(int path, int sub_band, int64_t count)
    {
        const auto& about = d_plan.paths[path];
        const int32_t* delays = &d_plan.path_delays[size_t(path) * d_plan.width];
        const int channels = d_plan.channels_of(sub_band, d_p.band.channels);
        const int64_t length = count + about.last - about.first;
        Value* row = &d_rows[d_places[path]];
        const Value* in =
            &d_input[size_t(sub_band) * d_plan.width * d_input_row] + about.first;
        for (int64_t t = 0; t < length; t += tile) {
            const int part = int(std::min<int64_t>(tile, length - t));
            std::copy_n(in + delays[0] + t, part, row + t);
            add_rows(row + t, channels - 1, part, [&](int k) {
                return in + (k + 1) * d_input_row + delays[k + 1] + t;
            });
        }
    }

    void
    sum_trial(int trial, int beam, int64_t t, int count, int64_t before, float* items)
    {
        const int32_t* paths = &d_plan.path_of[size_t(trial) * d_plan.sub_bands];
        const int32_t* offsets = &d_plan.offset_of[size_t(trial) * d_plan.sub_bands];
        const auto at = [&](int b) {
            return static_cast<const Value*>(&d_rows[d_places[paths[b]]]) + t +
                   (offsets[b] - d_plan.paths[paths[b]].first);
        };
        float sums[tile];
        if constexpr (std::is_same_v<Value, float>) {
            std::copy_n(at(0), count, sums);
            add_rows(sums, d_plan.sub_bands - 1, count, [&](int b) { return at(b + 1); });
        } else {
            int32_t wide[tile] = {};
            int16_t narrow[tile];
            for (int b = 0; b < d_plan.sub_bands; b += d_narrow) {
                std::copy_n(at(b), count, narrow);
                add_rows(narrow,
                         std::min(d_narrow, d_plan.sub_bands - b) - 1,
                         count,
                         [&](int i) { return at(b + i + 1); });
                add(wide, narrow, count);
            }
            convert(sums, wide, count);
        }
        const int place = d_plan.trials[trial];
        const int64_t each = d_p.trials.times(place);
        for (int done = 0; done < count;) {
            const int64_t time = before + t + done, within = time % each;
            const int part = int(std::min<int64_t>(count - done, each - within));
            std::copy_n(sums + done,
                        part,
                        items + time / each * d_p.trials.beams * d_offsets.back() +
                            beam * d_offsets.back() + d_offsets[place] + within);
            done += part;
        }
    }

    const dedisperser::parameters& d_p;
    const sub_band_plan& d_plan;
    const int64_t d_longest;
    const std::vector<int64_t> d_offsets;
    int d_narrow; // sub-bands whose sum fits into int16_t

    int64_t d_input_row = 0;
    std::vector<Value> d_input;   // [channel][time]
    std::vector<Value> d_rows;    // rows of each path
    std::vector<size_t> d_places; // places where they begin
};

class host_dedisperser : public dedisperser
{
public:
    explicit host_dedisperser(const parameters& p)
        : d_p(p),
          d_plans(plan_sub_bands(p)),
          d_longest(longest_delay_of(d_plans, p.band.channels))
    {
        const int largest = p.type == power_type::u8 ? 255 : 128;
        for (const auto& plan : d_plans) {
            d_most_decimation = std::max(d_most_decimation, plan.decimation);
            if (p.type != power_type::f32 &&
                int64_t(plan.width) * plan.decimation * largest <= 32767)
                d_narrow.emplace_back(d_p, plan);
            else
                d_plain.emplace_back(d_p, plan);
        }
    }

    std::string implementation() const override { return "host"; }
    int64_t longest_delay() const override { return d_longest; }
    std::vector<int64_t> delays() const override { return delays_of(d_plans, d_p); }

    void execute(const void* powers, float* items, int64_t times, stream&) override
    {
        if (times == 0)
            return;
        const int64_t each = d_p.trials.times_per_item;
        if (times % each)
            std::memset(items + times / each * d_p.trials.values(),
                        0,
                        d_p.trials.values() * sizeof(float));
        switch (d_p.type) {
        case power_type::f32:
            return execute_as(static_cast<const float*>(powers), items, times);
        case power_type::s8:
            return execute_as(static_cast<const int8_t*>(powers), items, times);
        case power_type::u8:
            return execute_as(static_cast<const uint8_t*>(powers), items, times);
        }
    }

private:
    template <class Power>
    void execute_as(const Power* powers, float* items, int64_t times)
    {
        const int64_t part =
            (most_times + d_most_decimation - 1) / d_most_decimation * d_most_decimation;
        for (int64_t first = 0; first < times; first += part)
            for (int beam = 0; beam < d_p.trials.beams; ++beam) {
                const int64_t count = std::min(part, times - first);
                for (auto& sums : d_narrow)
                    sums.execute(powers, items, first, count, beam);
                for (auto& sums : d_plain)
                    sums.execute(powers, items, first, count, beam);
            }
    }

    const parameters d_p;
    const std::vector<sub_band_plan> d_plans;
    const int64_t d_longest;
    int d_most_decimation = 1;
    std::vector<sub_band_sums<int16_t>> d_narrow;
    std::vector<sub_band_sums<float>> d_plain;
};

} // namespace

template <>
std::unique_ptr<dedisperser> make(const dedisperser::parameters& p, const std::string&)
{
    return std::make_unique<host_dedisperser>(p);
}

} // namespace gr::aperture::kernels::host
