/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/planes.h"
#include "kernels/common/simd.h"
#include "kernels/flagging/flagging.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>

namespace gr::aperture::kernels::host {

namespace {

constexpr int lanes = 16;
typedef float vector __attribute__((vector_size(4 * lanes)));
typedef int32_t numbers __attribute__((vector_size(4 * lanes)));

struct sums {
    double s1, s2;
};

APERTURE_SIMD sums sums_of_sc8(const int8_t* x, int count)
{
    uint64_t s1 = 0, s2 = 0;
    for (int i = 0; i < count; i++) {
        const int32_t re = x[2 * i], im = x[2 * i + 1];
        const uint32_t power = uint32_t(re * re + im * im);
        s1 += power;
        s2 += uint64_t(power) * power;
    }
    return { double(s1), double(s2) };
}

APERTURE_SIMD sums sums_of_sc4(const uint8_t* x, int count)
{
    uint32_t s1 = 0, s2 = 0; // up to 98 and 98^2 for a sample
    uint64_t all2 = 0;
    for (int i = 0; i < count; i += 4096) {
        s2 = 0;
        for (int j = i; j < std::min(count, i + 4096); j++) {
            const int32_t re = std::max(int(int8_t(x[j])) >> 4, -7);
            const int32_t im = std::max(int(int8_t(x[j] << 4)) >> 4, -7);
            const uint32_t power = uint32_t(re * re + im * im);
            s1 += power;
            s2 += power * power;
        }
        all2 += s2;
    }
    return { double(s1), double(all2) };
}

//! Sums 512 times of each lane in single, and these sums in double precision.
APERTURE_SIMD sums sums_of_fc32(const float* x, int count)
{
    sums all{ 0, 0 };
    for (int first = 0; first < count; first += 512 * lanes) {
        float s1[lanes] = {}, s2[lanes] = {};
        const int end = std::min(count, first + 512 * lanes);
        int i = first;
        for (; i + lanes <= end; i += lanes)
            for (int l = 0; l < lanes; l++) {
                const float re = x[2 * (i + l)], im = x[2 * (i + l) + 1];
                const float power = re * re + im * im;
                s1[l] += power;
                s2[l] += power * power;
            }
        for (int l = 0; i + l < end; l++) {
            const float re = x[2 * (i + l)], im = x[2 * (i + l) + 1];
            const float power = re * re + im * im;
            s1[l] += power;
            s2[l] += power * power;
        }
        for (int l = 0; l < lanes; l++) {
            all.s1 += s1[l];
            all.s2 += s2[l];
        }
    }
    return all;
}

sums sums_of(sample_type type, const char* x, int count)
{
    switch (type) {
    case sample_type::sc8:
        return sums_of_sc8(reinterpret_cast<const int8_t*>(x), count);
    case sample_type::sc4:
        return sums_of_sc4(reinterpret_cast<const uint8_t*>(x), count);
    default:
        return sums_of_fc32(reinterpret_cast<const float*>(x), count);
    }
}

//! A window of powers for each lane, no_power where there is none.
struct window {
    vector values[flag_window];
};

inline __attribute__((always_inline)) void exchange(vector& a, vector& b)
{
    const vector low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
}

//! Sorts a window and returns the middle one of the elements below infinity.
inline __attribute__((always_inline)) void
find_median(window& w, const numbers& middle, vector& found)
{
    sort_window(w.values, [](vector& a, vector& b) { exchange(a, b); });
    found = w.values[0];
    for (int i = 1; i < flag_window; i++)
        found = middle == i ? w.values[i] : found;
}

//! Computes medians of the elements in a window, and of their distances from it.
APERTURE_SIMD void medians_of(window& w, vector& median, vector& mad, numbers& count)
{
    const vector infinity = vector{} + std::numeric_limits<float>::infinity();
    count = numbers{};
    for (auto& v : w.values) {
        count -= v >= 0; // true is -1
        v = v >= 0 ? v : infinity;
    }
    const numbers middle = (count - 1) / 2;
    find_median(w, middle, median);
    for (auto& v : w.values)
        v = v < infinity ? (v < median ? median - v : v - median) : infinity;
    find_median(w, middle, mad);
}

class host_flagging : public flagging
{
public:
    explicit host_flagging(const parameters& p)
        : d_p(p),
          d_cells(size_t(p.layout.channels) * p.layout.inputs),
          d_rows(kept_slices + p.layout.slices()),
          d_slices(p.layout.slices()),
          d_powers(d_rows * d_cells),
          d_deviations(d_rows * d_cells),
          d_flags(d_rows * d_cells),
          d_across(d_slices * d_cells),
          d_scratch(d_rows * d_cells),
          d_grown(d_slices * d_cells),
          d_found_inputs(p.layout.inputs),
          d_found_channels(p.layout.channels)
    {
        take(std::make_shared<const tables>(p, p.methods));
        forget();
    }

    std::string implementation() const override { return "host"; }

    void use(const std::shared_ptr<const tables>& t, stream&) override { take(t); }

    void execute(const void* in,
                 void* out,
                 uint8_t* masks,
                 int frames,
                 const int* there,
                 stream&) override
    {
        for (int f = 0; f < frames; f++) {
            const char* from = static_cast<const char*>(in) + f * d_p.frame_bytes();
            char* to = static_cast<char*>(out) + f * d_p.frame_bytes();
            uint8_t* mask = masks + f * d_p.layout.item_bytes();
            d_there = there ? there + size_t(f) * d_p.layout.inputs * d_slices : nullptr;
            measure(from);
            decide();
            write_mask(mask);
            zero(from, to, mask);
            d_first = (d_first + d_slices) % d_rows;
        }
    }

    void clear(stream&) override { forget(); }

    counts found() const override
    {
        return { { d_found_inputs.begin(), d_found_inputs.end() },
                 { d_found_channels.begin(), d_found_channels.end() } };
    }

private:
    //! Returns the row, [channel][input], of a slice; slices below 0 are of earlier
    //! frames.
    size_t row(int slice) const
    {
        return size_t((d_first + kept_slices + slice) % d_rows) * d_cells;
    }
    int there(int input, int slice) const
    {
        return d_there ? d_there[input * d_slices + slice] : d_p.layout.spectra_per_slice;
    }
    float part(int input, int slice) const
    {
        return float(there(input, slice)) / float(d_p.layout.spectra_per_slice);
    }

    void take(const std::shared_ptr<const tables>& t)
    {
        d_tables = t;
        d_rules = t->rules(t->limits.data(), t->nodes.data(), t->bad.data());
    }

    void forget()
    {
        d_first = 0;
        std::fill(d_powers.begin(), d_powers.end(), no_power);
        std::fill(d_deviations.begin(), d_deviations.end(), 0.f);
        std::fill(d_flags.begin(), d_flags.end(), 0);
    }

    void measure(const char* frame)
    {
        const auto& l = d_p.layout;
        const size_t spectrum_bytes = size_of(d_p.type);
#pragma omp parallel for schedule(static) if (worth_threads())
        for (int c = 0; c < l.channels; c++)
            for (int i = 0; i < l.inputs; i++)
                for (int s = 0; s < d_slices; s++) {
                    const size_t x = size_t(c) * l.inputs + i;
                    const auto of = sums_of(
                        d_p.type,
                        frame + (x * l.spectra_per_frame + s * l.spectra_per_slice) *
                                    spectrum_bytes,
                        l.spectra_per_slice);
                    d_flags[row(s) + x] = flagged_by_itself(d_rules,
                                                            of.s1,
                                                            of.s2,
                                                            there(i, s),
                                                            d_rules.bad[c],
                                                            d_powers[row(s) + x]);
                }
    }

    bool worth_threads() const { return d_p.frame_bytes() > (1 << 18); }

    //! Calls put(lane, median, mad, count) for `count` cells from x on.
    template <class Put>
    void compare(window& w, int count, const Put& put)
    {
        vector median, mad;
        numbers counted;
        medians_of(w, median, mad, counted);
        for (int l = 0; l < count; l++)
            put(l, median[l], mad[l], counted[l]);
    }

    float deviation(float power, float median, float mad, int counted, size_t x, int s)
    {
        if (power < 0 || counted < least_flag_window)
            return 0;
        return deviation_of(power,
                            median,
                            mad,
                            std::sqrt(float(d_p.layout.spectra_per_slice)),
                            part(int(x % d_p.layout.inputs), s));
    }

    //! Compares the cells of a slice with the same cells of the slices before.
    void compare_in_time(int s)
    {
#pragma omp parallel for schedule(static) if (worth_threads())
        for (size_t first = 0; first < d_cells; first += lanes) {
            const int count = int(std::min<size_t>(lanes, d_cells - first));
            window w;
            for (int i = 0; i < flag_window; i++) {
                w.values[i] = vector{} + no_power;
                std::memcpy(&w.values[i],
                            &d_powers[row(s - kept_slices + i) + first],
                            count * sizeof(float));
            }
            compare(w, count, [&](int l, float median, float mad, int counted) {
                const size_t x = first + l;
                const float z =
                    deviation(d_powers[row(s) + x], median, mad, counted, x, s);
                d_deviations[row(s) + x] = z;
                if (d_rules.time_sigma > 0 && std::abs(z) > d_rules.time_sigma)
                    d_scratch[x] = 1;
                else
                    d_scratch[x] = 0;
            });
        }
        for (size_t x = 0; x < d_cells; x++)
            d_flags[row(s) + x] |= d_scratch[x];
    }

    //! Compares them with the neighbouring channels.
    void compare_in_frequency(int s)
    {
        const int inputs = d_p.layout.inputs;
        const float* powers = &d_powers[row(s)];
        uint8_t* flags = &d_flags[row(s)];
#pragma omp parallel for schedule(static) if (worth_threads())
        for (size_t first = 0; first < d_cells; first += lanes) {
            const int count = int(std::min<size_t>(lanes, d_cells - first));
            window w;
            for (int i = 0; i < flag_window; i++)
                for (int l = 0; l < lanes; l++) {
                    const int64_t x =
                        int64_t(first) + l + int64_t(i - flag_window / 2) * inputs;
                    const bool is = l < count && x >= 0 && x < int64_t(d_cells);
                    w.values[i][l] = is && !flags[x] ? powers[x] : no_power;
                }
            compare(w, count, [&](int l, float median, float mad, int counted) {
                const size_t x = first + l;
                const float z = deviation(powers[x], median, mad, counted, x, s);
                d_across[s * d_cells + x] = z;
                d_scratch[x] =
                    d_rules.channel_sigma > 0 && std::abs(z) > d_rules.channel_sigma;
            });
        }
        for (size_t x = 0; x < d_cells; x++)
            flags[x] |= d_scratch[x];
    }

    /*!
     * Applies SumThreshold along rows of cells: for each length, flags go to d_scratch,
     * and come back when all rows are done.
     * \param rows number of rows
     * \param cells cells of each
     * \param place(row, cell) place of a flag
     * \param value(row, cell) power of a cell
     */
    template <class Place, class Value>
    void
    sum_along(size_t rows, int cells, float sigma, const Place& place, const Value& value)
    {
#pragma omp parallel for schedule(static) if (worth_threads())
        for (size_t r = 0; r < rows; r++) {
            std::vector<uint8_t> before(cells), after(cells);
            for (int i = 0; i < cells; i++)
                after[i] = d_flags[place(r, i)];
            for (int length = 1; length <= longest_sum && length <= cells; length *= 2) {
                const float limit = sum_limit(sigma, length);
                before = after;
                for (int start = 0; start + length <= cells; start++)
                    if (sum_is_above(
                            start,
                            length,
                            limit,
                            [&](int i) { return value(r, i); },
                            [&](int i) { return before[i]; }))
                        std::fill_n(after.begin() + start, length, 1);
            }
            for (int i = 0; i < cells; i++)
                d_flags[place(r, i)] = after[i];
        }
    }

    void decide()
    {
        const int inputs = d_p.layout.inputs, channels = d_p.layout.channels;
        if (d_rules.in_time())
            for (int s = 0; s < d_slices; s++)
                compare_in_time(s);
        if (d_rules.time_sum_sigma > 0) {
            // earlier slices count, but are not flagged any more
            const int before = longest_sum - 1;
            const auto place = [&](size_t x, int i) { return row(i - before) + x; };
            for (int i = 0; i < before; i++)
                std::copy_n(&d_flags[row(i - before)], d_cells, &d_scratch[i * d_cells]);
            sum_along(d_cells,
                      before + d_slices,
                      d_rules.time_sum_sigma,
                      place,
                      [&](size_t x, int i) { return d_deviations[place(x, i)]; });
            for (int i = 0; i < before; i++)
                std::copy_n(&d_scratch[i * d_cells], d_cells, &d_flags[row(i - before)]);
        }
        if (d_rules.in_frequency())
            for (int s = 0; s < d_slices; s++)
                compare_in_frequency(s);
        if (d_rules.channel_sum_sigma > 0)
            for (int s = 0; s < d_slices; s++)
                sum_along(
                    inputs,
                    channels,
                    d_rules.channel_sum_sigma,
                    [&](size_t i, int c) { return row(s) + c * size_t(inputs) + i; },
                    [&](size_t i, int c) {
                        return d_across[s * d_cells + c * size_t(inputs) + i];
                    });
        grow();
    }

    //! Returns whether a cell has a flag, or one nearby.
    bool near_flag(int s, int c, int i) const
    {
        const int inputs = d_p.layout.inputs, g = d_rules.grown_channels;
        const int low = std::max(0, c - g),
                  high = std::min(d_p.layout.channels - 1, c + g);
        for (int t = s - d_rules.grown_slices;
             t <= std::min(s + d_rules.grown_slices, d_slices - 1);
             t++)
            for (int k = low; k <= high; k++)
                if (d_flags[row(t) + size_t(k) * inputs + i])
                    return true;
        return false;
    }

    void grow()
    {
        const int inputs = d_p.layout.inputs;
        for (int s = 0; s < d_slices; s++)
            for (size_t x = 0; x < d_cells; x++) {
                const int c = int(x / inputs), i = int(x % inputs);
                d_grown[s * d_cells + x] =
                    there(i, s) > 0 && (d_rules.bad[c] || near_flag(s, c, i));
            }
    }

    void write_mask(uint8_t* mask)
    {
        const auto& l = d_p.layout;
        std::memset(mask, 0, l.item_bytes());
        for (int c = 0; c < l.channels; c++)
            for (int i = 0; i < l.inputs; i++) {
                int found = 0;
                for (int s = 0; s < d_slices; s++)
                    if (d_grown[s * d_cells + size_t(c) * l.inputs + i]) {
                        l.set(mask, c, i, s);
                        found++;
                    }
                if (found) {
                    d_found_inputs[i] += found;
                    d_found_channels[c] += found;
                }
            }
    }

    void zero(const char* from, char* to, const uint8_t* mask)
    {
        const auto& l = d_p.layout;
        const size_t slice = l.spectra_per_slice * size_of(d_p.type);
        const size_t row_bytes = l.spectra_per_frame * size_of(d_p.type);
        for (int c = 0; c < l.channels; c++)
            for (int i = 0; i < l.inputs; i++) {
                const size_t at = (size_t(c) * l.inputs + i) * row_bytes;
                if (to != from)
                    std::memcpy(to + at, from + at, row_bytes);
                for (int s = 0; s < d_slices; s++)
                    if (l.flagged(mask, c, i, s))
                        std::memset(to + at + s * slice, 0, slice);
            }
    }

    const parameters d_p;
    const size_t d_cells; // cells of a slice
    const int d_rows;     // rows of slices that are kept, and the frame's
    const int d_slices;
    std::shared_ptr<const tables> d_tables;
    flag_rules d_rules;
    int d_first = 0;              // row of the oldest kept slice
    const int* d_there = nullptr; // spectra of the frame that are not missing
    // rows of slices, as a ring
    std::vector<float> d_powers, d_deviations; // the latter in time
    std::vector<uint8_t> d_flags;              // before they grow
    // rows of a frame
    std::vector<float> d_across; // deviations from the channels nearby
    std::vector<uint8_t> d_scratch, d_grown;
    std::vector<std::atomic<uint64_t>> d_found_inputs, d_found_channels;
};

} // namespace

//! Vector instructions by the compiler; one thread.
template <>
std::unique_ptr<flagging> make(const flagging::parameters& p, const std::string&)
{
    return std::make_unique<host_flagging>(p);
}

} // namespace gr::aperture::kernels::host
