/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/conditioning/conditioning.h"
#include "kernels/conditioning/power_normalizer.h"
#include "kernels/gpu/memory.h"
#include "kernels/gpu/warp.cuh"
#include <algorithm>
#include <limits>

namespace gr::aperture::kernels::cuda {

using namespace conditioning;

namespace {

constexpr int threads = 256;
constexpr int64_t enough_threads = 1 << 18; // to read memory at its rate
constexpr int most_groups = 1024;           // groups of the items of a segment

//! Columns of powers [item][column], `each` of one beam in a row.
struct columns_of_beams {
    int64_t columns;
    int each, beams;
    __device__ int beam_of(int64_t column) const { return int(column / each); }
};

//! Returns whether a beam has powers at a time; present may be nullptr.
__device__ bool
is_there(const uint8_t* present, int item, columns_of_beams c, int64_t column)
{
    return !present || present[int64_t(item) * c.beams + c.beam_of(column)];
}

//! Makes references of columns that have no bandpass yet. Grid: columns.
__global__ void first_references(const float* __restrict__ values,
                                 const uint8_t* __restrict__ present,
                                 int items,
                                 columns_of_beams c,
                                 reference* __restrict__ references)
{
    const int64_t column = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (column >= c.columns || references[column].limit >= 0)
        return;
    float first[first_values];
    int count = 0;
    for (int t = 0; t < items && count < first_values; t++) {
        const float v = values[t * c.columns + column];
        if (usable(v) && is_there(present, t, c, column))
            first[count++] = v;
    }
    references[column].value =
        count ? median_of(count, [&](int i) { return first[i]; }) : 0;
}

//! Sums groups of items, [group][column]. Grid: columns, groups.
__global__ void sum_groups(const float* __restrict__ values,
                           const uint8_t* __restrict__ present,
                           int items,
                           int group,
                           columns_of_beams c,
                           const reference* __restrict__ references,
                           both_sums* __restrict__ partial)
{
    const int64_t column = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (column >= c.columns)
        return;
    const reference r = references[column];
    const int first = blockIdx.y * group, end = min(items, first + group);
    both_sums s;
#pragma unroll 8
    for (int t = first; t < end; t++) {
        const float d = values[t * c.columns + column] - r.value;
        const bool good = usable(d) && is_there(present, t, c, column);
        s.all.add(d, good);
        s.inner.add(d, good && fabsf(d) <= r.limit);
    }
    partial[blockIdx.y * c.columns + column] = s;
}

//! Makes the segment's moments, and those that segments agree about. Grid: columns.
__global__ void agree(const both_sums* __restrict__ partial,
                      int groups,
                      int segment,
                      int64_t columns,
                      moments* __restrict__ history, // [segment][column]
                      int slot,
                      int known,
                      moments* __restrict__ bandpass,
                      reference* __restrict__ references)
{
    const int64_t column = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (column >= columns)
        return;
    both_sums s;
    for (int g = 0; g < groups; g++)
        s.add(partial[g * columns + column]);
    const moments newest = moments_of(s, references[column].value, segment);
    history[slot * columns + column] = newest;
    moments past[64];
    int valid = 0;
    for (int i = 0; i < known; i++) {
        const moments m = i == slot ? newest : history[i * columns + column];
        if (m.variance >= 0)
            past[valid++] = m;
    }
    const moments agreed = agreement_of(valid, segment, [&](int i) { return past[i]; });
    bandpass[column] = agreed;
    references[column] = reference_of(agreed);
}

__global__ void forget_all(reference* references, moments* bandpass, int64_t columns)
{
    const int64_t column = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (column < columns) {
        references[column] = { 0, -1 };
        bandpass[column] = { 0, -1 };
    }
}

//! Mean and variance of columns, as host::baseline has them.
class baseline
{
public:
    baseline(int beams, int each, int segment, int segments)
        : d_c{ int64_t(beams) * each, each, beams },
          d_segment(segment),
          d_segments(segments),
          d_groups(int(std::clamp<int64_t>(
              enough_threads / d_c.columns, 1, std::min(segment / 8, most_groups)))),
          d_references(d_c.columns),
          d_bandpass(d_c.columns),
          d_history(d_c.columns * segments),
          d_partial(d_c.columns * d_groups)
    {
        load(first_references);
        load(sum_groups);
        load(agree);
        load(forget_all);
        start_with(d_references.data(),
                   std::vector<reference>(d_c.columns, reference{ 0, -1 }));
        start_with(d_bandpass.data(),
                   std::vector<moments>(d_c.columns, moments{ 0, -1 }));
    }

    void add(const float* values, int items, const uint8_t* present, cudaStream_t s)
    {
        const unsigned blocks = blocks_for(d_c.columns, threads);
        const int group = (items + d_groups - 1) / d_groups;
        const int groups = (items + group - 1) / group;
        first_references<<<blocks, threads, 0, s>>>(
            values, present, items, d_c, d_references.data());
        sum_groups<<<dim3(blocks, groups), threads, 0, s>>>(
            values, present, items, group, d_c, d_references.data(), d_partial.data());
        const int slot = int(d_added % d_segments);
        d_added++;
        agree<<<blocks, threads, 0, s>>>(d_partial.data(),
                                         groups,
                                         d_segment,
                                         d_c.columns,
                                         d_history.data(),
                                         slot,
                                         int(std::min<int64_t>(d_added, d_segments)),
                                         d_bandpass.data(),
                                         d_references.data());
        check_launch("bandpass");
    }

    void forget(cudaStream_t s)
    {
        d_added = 0;
        forget_all<<<blocks_for(d_c.columns, threads), threads, 0, s>>>(
            d_references.data(), d_bandpass.data(), d_c.columns);
        check_launch("bandpass");
    }

    const moments* data() const { return d_bandpass.data(); }
    int64_t items() const { return std::min<int64_t>(d_added, d_segments) * d_segment; }

private:
    const columns_of_beams d_c;
    const int d_segment, d_segments, d_groups;
    int64_t d_added = 0;
    device_array<reference> d_references;
    device_array<moments> d_bandpass, d_history;
    device_array<both_sums> d_partial;
};

//! The conversion of a channel of a beam: (x - mean) * inverse; inverse 0: flagged.
struct coefficient {
    float mean, inverse;
};

//! Sums over all threads of a block; all get the sum. \param scratch [threads / 32]
template <class number>
__device__ number sum_of_block(number value, number* scratch)
{
    value = sum_of_warp(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value;
    __syncthreads();
    number sum = 0;
    for (int warp = 0; warp < threads / 32; warp++)
        sum += scratch[warp];
    return sum;
}

//! Returns a number that is not negative as bits that are in the same order.
__device__ unsigned bits_of(float deviation) { return __float_as_uint(fabsf(deviation)); }

/*!
 * Returns the lower median of the absolute values of the good ones of n values, digit by
 * digit: it counts each value of a digit among those that begin with the digits that are
 * known. \param histogram [256], scratch of the block
 */
__device__ float median_of_block(
    const float* values, const coefficient* chosen, int n, int good, int* histogram)
{
    __shared__ unsigned known;
    __shared__ int left;
    if (threadIdx.x == 0) {
        known = 0;
        left = (good - 1) / 2;
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int digit = threadIdx.x; digit < 256; digit += blockDim.x)
            histogram[digit] = 0;
        __syncthreads();
        const unsigned begin = known;
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            const unsigned bits = bits_of(values[k]);
            if (chosen[k].inverse > 0 && (shift == 24 || bits >> (shift + 8) == begin))
                atomicAdd(histogram + (bits >> shift & 255), 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 0;
            while (digit < 255 && left >= histogram[digit])
                left -= histogram[digit++];
            known = known << 8 | unsigned(digit);
        }
        __syncthreads();
    }
    const float found = __uint_as_float(known);
    __syncthreads(); // otherwise the next one would begin before all have read it
    return found;
}

//! Makes mean and inverse rms of channels; the inverse is 0 for bad ones. Grid: cells.
__global__ void know_channels(const moments* __restrict__ bandpass,
                              const uint8_t* __restrict__ bad,
                              int channels,
                              int64_t cells,
                              coefficient* __restrict__ chosen)
{
    const int64_t cell = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (cell >= cells)
        return;
    const moments m = bandpass[cell];
    const bool known = m.variance > 0 && !bad[cell % channels];
    chosen[cell] = { m.mean, known ? 1 / sqrtf(m.variance) : 0 };
}

/*!
 * Compares mean and rms of channels with the medians of their neighbours.
 * \param off [beam][2][channel]. Grid: channels, beams.
 */
__global__ void compare_channels(const moments* __restrict__ bandpass,
                                 const coefficient* __restrict__ chosen,
                                 int channels,
                                 float* __restrict__ off)
{
    constexpr int span = threads + 2 * neighbours;
    __shared__ float means[span],
        variances[span]; // infinite for channels that are not good
    bandpass += blockIdx.y * int64_t(channels);
    chosen += blockIdx.y * int64_t(channels);
    off += blockIdx.y * 2 * int64_t(channels);
    const int first = blockIdx.x * threads - neighbours;
    for (int i = threadIdx.x; i < span; i += threads) {
        const int k = first + i;
        const bool good = k >= 0 && k < channels && chosen[k].inverse > 0;
        means[i] = good ? bandpass[k].mean : INFINITY;
        variances[i] = good ? bandpass[k].variance : INFINITY;
    }
    __syncthreads();
    const int k = blockIdx.x * threads + threadIdx.x;
    if (k >= channels)
        return;
    float by_mean = 0, by_rms = 0;
    const int own = threadIdx.x + neighbours;
    if (chosen[k].inverse > 0) {
        constexpr int window = 2 * neighbours + 1;
        const float *near_means = means + threadIdx.x, *near = variances + threadIdx.x;
        int there = 0;
        for (int i = 0; i < window; i++)
            there += near[i] < INFINITY;
        const int rank = (there - 1) / 2;
        const float mean = of_rank(rank, window, [&](int i) { return near_means[i]; });
        const float rms = sqrtf(of_rank(rank, window, [&](int i) { return near[i]; }));
        by_mean = (means[own] - mean) / rms;
        by_rms = sqrtf(variances[own]) / rms - 1;
    }
    off[k] = by_mean;
    off[channels + k] = by_rms;
}

constexpr int choosers = 1024; // threads of choose_channels

//! Flags channels that are too far off, if threshold is positive, and counts the good
//! ones of a beam. Grid: beams.
__global__ void __launch_bounds__(choosers)
    choose_channels(const float* __restrict__ off,
                    int channels,
                    float threshold,
                    float items,
                    coefficient* __restrict__ chosen,
                    int* __restrict__ good)
{
    __shared__ int histogram[256];
    __shared__ int count;
    chosen += blockIdx.x * int64_t(channels);
    off += blockIdx.x * 2 * int64_t(channels);
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int own = 0;
    for (int k = threadIdx.x; k < channels; k += choosers)
        own += chosen[k].inverse > 0;
    atomicAdd(&count, own);
    __syncthreads();
    const int all = count;
    if (threshold > 0 && all > 0) {
        const float least = 1 / sqrtf(items);
        const float middle_mean = median_of_block(off, chosen, channels, all, histogram);
        const float middle_rms =
            median_of_block(off + channels, chosen, channels, all, histogram);
        const float most_mean = threshold * fmaxf(rms_of_median * middle_mean, least);
        const float most_rms = threshold * fmaxf(rms_of_median * middle_rms, least);
        int flagged = 0;
        for (int k = threadIdx.x; k < channels; k += choosers)
            if (chosen[k].inverse > 0 &&
                (off[k] > most_mean || off[channels + k] > most_rms)) {
                chosen[k].inverse = 0;
                flagged++;
            }
        atomicAdd(&count, -flagged);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        good[blockIdx.x] = count;
}

struct row_arguments {
    const float* powers; // [item][beam][channel]
    const uint8_t* present;
    const coefficient* chosen; // [beam][channel]
    const int* good;           // [beam]
    const moments* sums_before;
    float* sums; // [item][beam]
    unsigned long long* counts;
    int items, channels, beams, group;
    float cell_limit, spectrum_threshold, steps;
    bool zero_dm;
};

__device__ float deviation(const float* x, const coefficient* chosen, int channels, int k)
{
    if (k < 0 || k >= channels || !(chosen[k].inverse > 0))
        return 0;
    const float v = (x[k] - chosen[k].mean) * chosen[k].inverse;
    return usable(v) ? v : 0;
}

//! A cell's output, and whether it is flagged.
struct judged {
    float value;
    bool flagged;
};
__device__ judged judge(const float* x,
                        const coefficient* chosen,
                        coefficient own,
                        const row_arguments& a,
                        int k)
{
    if (!(own.inverse > 0))
        return { 0, false }; // the channel is flagged
    const float v = (x[k] - own.mean) * own.inverse;
    if (!usable(v))
        return { 0, true };
    if (v > a.cell_limit &&
        !(deviation(x, chosen, a.channels, k - 1) > a.cell_limit / 2 ||
          deviation(x, chosen, a.channels, k + 1) > a.cell_limit / 2))
        return { 0, true };
    return { v, false };
}

__device__ void put(float* to, float value, float, int&) { *to = value; }
__device__ void put(int8_t* to, float value, float steps, int& clamped)
{
    const float v = rintf(value * steps);
    const float fits = fminf(127.f, fmaxf(-127.f, v));
    clamped += v != fits;
    *to = int8_t(int(fits));
}

/*!
 * Normalises rows of one beam, `group` of them for each thread block, each of `held`
 * channels, whose deviations a thread keeps; 0: any number, and they are computed twice.
 * Grid: groups of items, beams.
 */
template <class Out, int held>
__global__ void __launch_bounds__(threads)
    normalise_rows(const row_arguments a, Out* __restrict__ out)
{
    __shared__ float partial[threads / 32];
    __shared__ int counted[threads / 32];
    const int beam = blockIdx.y;
    const coefficient* chosen = a.chosen + int64_t(beam) * a.channels;
    const int good = a.good[beam];
    coefficient own[held > 0 ? held : 1];
    if constexpr (held > 0)
#pragma unroll
        for (int i = 0; i < held; i++) {
            const int k = i * threads + threadIdx.x;
            own[i] = k < a.channels ? chosen[k] : coefficient{ 0, 0 };
        }
    const moments before = a.sums_before[beam];
    const float middle = before.variance >= 0 ? before.mean : 0;
    const float most =
        a.spectrum_threshold * (before.variance > 1 ? sqrtf(before.variance) : 1.f);
    long long dropped = 0, cells = 0, lost = 0, channels_off = 0;
    int clamped = 0;
    const int end = min(a.items, int(blockIdx.x + 1) * a.group);
    for (int item = blockIdx.x * a.group; item < end; item++) {
        const int64_t row = int64_t(item) * a.beams + beam;
        const float* x = a.powers + row * a.channels;
        Out* to = out + row * a.channels;
        const bool there = !a.present || a.present[row];
        float sum = 0, limited = 0;
        int flagged = 0;
        float y[held > 0 ? held : 1];
        unsigned bad = 0;
        if (there) {
            if constexpr (held > 0) {
#pragma unroll
                for (int i = 0; i < held; i++) {
                    const int k = i * threads + threadIdx.x;
                    const judged j = k < a.channels ? judge(x, chosen, own[i], a, k)
                                                    : judged{ 0, false };
                    y[i] = j.value;
                    sum += j.value;
                    limited += fminf(most_of_sum, fmaxf(-most_of_sum, j.value));
                    bad |= unsigned(j.flagged) << i;
                }
                flagged = __popc(bad);
            } else {
                for (int k = threadIdx.x; k < a.channels; k += threads) {
                    const judged j = judge(x, chosen, chosen[k], a, k);
                    sum += j.value;
                    limited += fminf(most_of_sum, fmaxf(-most_of_sum, j.value));
                    flagged += j.flagged;
                }
            }
            limited = sum_of_block(limited, partial);
            if (a.zero_dm)
                sum = sum_of_block(sum, partial);
            flagged = sum_of_block(flagged, counted);
        }
        const int left = good - flagged;
        const bool empty = !there || left == 0;
        const float scaled = empty ? 0 : limited / sqrtf(float(left));
        const bool broad =
            !empty && a.spectrum_threshold > 0 && fabsf(scaled - middle) > most;
        const bool drop = empty || broad;
        const float offset = a.zero_dm && !drop ? sum / float(left) : 0;
        if (threadIdx.x == 0) {
            a.sums[row] = empty ? nanf("") : scaled;
            lost += there ? 0 : a.channels;
            channels_off += there ? a.channels - good : 0;
            dropped += broad ? good : 0;
            cells += !there || broad ? 0 : empty ? good : flagged;
        }
        if constexpr (held > 0) {
#pragma unroll
            for (int i = 0; i < held; i++) {
                const int k = i * threads + threadIdx.x;
                const bool zero = drop || !(own[i].inverse > 0) || (bad >> i & 1);
                if (k < a.channels)
                    put(to + k, zero ? 0 : y[i] - offset, a.steps, clamped);
            }
        } else {
            for (int k = threadIdx.x; k < a.channels; k += threads) {
                const coefficient c = chosen[k];
                bool zero = drop || !(c.inverse > 0);
                float value = 0;
                if (!zero) {
                    const judged j = judge(x, chosen, c, a, k);
                    zero = j.flagged;
                    value = j.value - offset;
                }
                put(to + k, zero ? 0 : value, a.steps, clamped);
            }
        }
    }
    clamped = sum_of_block(clamped, counted);
    if (threadIdx.x == 0) {
        unsigned long long* counts = a.counts + beam * power_normalizer::counts_of_beam;
        const auto count = [&](int what, long long n) {
            if (n > 0)
                atomicAdd(counts + what, (unsigned long long)(n));
        };
        count(power_normalizer::missing, lost);
        count(power_normalizer::channel, channels_off);
        count(power_normalizer::spectrum, dropped);
        count(power_normalizer::cell, cells);
        count(power_normalizer::clamped, clamped);
    }
}

template <class Out>
using row_kernel = void (*)(row_arguments, Out*);

//! Returns the kernel that holds the fewest channels, of those that hold so many.
template <class Out>
row_kernel<Out> row_kernel_for(int channels)
{
    if (channels <= threads)
        return normalise_rows<Out, 1>;
    if (channels <= 4 * threads)
        return normalise_rows<Out, 4>;
    if (channels <= 16 * threads)
        return normalise_rows<Out, 16>;
    return normalise_rows<Out, 0>;
}

class cuda_power_normalizer : public power_normalizer
{
public:
    cuda_power_normalizer(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_bandpass(p.beams, p.channels, p.segment, p.segments),
          d_zero_dm(p.beams, 1, p.segment, p.segments),
          d_bad(p.channels),
          d_off(2 * p.cells()),
          d_chosen(p.cells()),
          d_good(p.beams),
          d_sums(size_t(p.segment) * p.beams),
          d_present(size_t(p.segment) * p.beams),
          d_counts(size_t(p.beams) * counts_of_beam),
          d_floats(row_kernel_for<float>(p.channels)),
          d_integers(row_kernel_for<int8_t>(p.channels))
    {
        std::vector<uint8_t> bad(p.channels);
        for (const int k : p.bad_channels)
            bad[k] = 1;
        start_with(d_bad.data(), bad);
        load(know_channels);
        load(compare_channels);
        load(choose_channels);
        if (p.integers)
            load(d_integers);
        else
            load(d_floats);
    }

    std::string implementation() const override { return "cuda"; }

    void execute(const float* powers,
                 void* normalised,
                 int items,
                 const uint8_t* present,
                 stream& s) override
    {
        const device_guard guard(d_device);
        const cudaStream_t to = native(s);
        if (present)
            d_present.set(present, size_t(items) * d_p.beams, to);
        const uint8_t* there = present ? d_present.data() : nullptr;
        d_bandpass.add(powers, items, there, to);
        know_channels<<<blocks_for(d_p.cells(), threads), threads, 0, to>>>(
            d_bandpass.data(), d_bad.data(), d_p.channels, d_p.cells(), d_chosen.data());
        if (d_p.channel_threshold > 0)
            compare_channels<<<dim3(blocks_for(d_p.channels, threads), d_p.beams),
                               threads,
                               0,
                               to>>>(
                d_bandpass.data(), d_chosen.data(), d_p.channels, d_off.data());
        choose_channels<<<d_p.beams, choosers, 0, to>>>(d_off.data(),
                                                        d_p.channels,
                                                        d_p.channel_threshold,
                                                        float(d_bandpass.items()),
                                                        d_chosen.data(),
                                                        d_good.data());
        check_launch("channels of a bandpass");
        row_arguments a;
        a.powers = powers;
        a.present = there;
        a.chosen = d_chosen.data();
        a.good = d_good.data();
        a.sums_before = d_zero_dm.data();
        a.sums = d_sums.data();
        a.counts = d_counts.data();
        a.items = items;
        a.channels = d_p.channels;
        a.beams = d_p.beams;
        a.group =
            int(std::clamp<int64_t>(int64_t(items) * d_p.beams / most_blocks, 1, 16));
        a.cell_limit = d_p.cell_threshold > 0 ? d_p.cell_threshold : 1e15f;
        a.spectrum_threshold = d_p.spectrum_threshold;
        a.steps = d_p.steps;
        a.zero_dm = d_p.zero_dm;
        const dim3 grid((items + a.group - 1) / a.group, d_p.beams);
        if (d_p.integers)
            d_integers<<<grid, threads, 0, to>>>(a, static_cast<int8_t*>(normalised));
        else
            d_floats<<<grid, threads, 0, to>>>(a, static_cast<float*>(normalised));
        check_launch("normalised powers");
        d_zero_dm.add(d_sums.data(), items, nullptr, to);
    }

    void clear(stream& s) override
    {
        forget(s);
        const device_guard guard(d_device);
        check(cudaMemsetAsync(d_counts.data(),
                              0,
                              size_t(d_p.beams) * counts_of_beam * sizeof(uint64_t),
                              native(s)),
              "clearing counters");
    }

    void forget(stream& s) override
    {
        const device_guard guard(d_device);
        d_bandpass.forget(native(s));
        d_zero_dm.forget(native(s));
    }

    std::vector<uint64_t> counts() const override { return d_counts.read(); }

private:
    static constexpr int64_t most_blocks = 4096; // with more rows, they take several each

    const parameters d_p;
    const int d_device;
    baseline d_bandpass, d_zero_dm;
    device_array<uint8_t> d_bad;
    device_array<float> d_off;
    device_array<coefficient> d_chosen;
    device_array<int> d_good;
    device_array<float> d_sums;
    uploaded_array<uint8_t> d_present;
    counters d_counts;
    const row_kernel<float> d_floats;
    const row_kernel<int8_t> d_integers;
};

} // namespace

//! Statistics of all columns, the bandpass, flags of channels, and then row by row.
template <>
std::unique_ptr<power_normalizer>
make(const power_normalizer::parameters& p, int device, const std::string&)
{
    require_range("beams", p.beams, 1, 65535); // thread blocks of a grid
    const device_guard guard(device);
    return std::make_unique<cuda_power_normalizer>(p, device);
}

} // namespace gr::aperture::kernels::cuda
