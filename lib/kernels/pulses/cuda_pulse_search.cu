/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/gpu/warp.cuh"
#include "kernels/pulses/pulse_search.h"
#include <math_constants.h>
#include <array>
#include <cfloat>
#include <cmath>
#include <deque>
#include <utility>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr unsigned all_lanes = ~0u;
constexpr int own_groups = tile_groups / warps; // groups of a warp
constexpr int lane_values = group_values / 32;
constexpr int chunk = 4; // segments that a warp looks at together
static_assert(tile_groups == 32 && lane_values == 4 && most_units == 64);
constexpr int history_values = (most_levels * most_units + threads - 1) / threads;

//! The series of a trial: its shape and that of its window.
struct series_shape {
    int64_t offset; // values of a beam before it
    int times;
    int groups, bins; // numbers for the window
    float median;     // median_of_variance()
};

//! State of a series that is kept from call to call; waiting values and bins follow.
struct series_header {
    int left;              // values that wait for the rest of their group
    int bins, next;        // bins that there are; the one that is overwritten next
    int seen, there;       // groups of the bin that is being filled
    double mean, variance; // their sums
};
constexpr int header_floats = 12;

struct boxcar_entry {
    int units;
    float scale; // 1 / sqrt(width)
    int level;
    int unused;
};
constexpr int most_boxcars = 256; // enough: least_growth makes 162

struct search_arguments {
    const float* item; // nullptr: flush
    char* states;
    size_t state_bytes;
    const series_shape* shapes;
    const boxcar_entry* boxcars;
    int boxcar_count, levels, trials;
    int64_t beam_values;
    float threshold;
    int most_cells;
    unsigned long long* listed; // number for each beam
    unsigned long long* above;  // number for each boxcar
    pulse_search::cell* cells;  // [beam][most_cells], of the host
};

//! The memory of a series.
struct series_state {
    series_header* header;
    float *waiting, *history, *means, *variances;

    static constexpr size_t bytes(int levels)
    {
        return sizeof(float) *
               (header_floats + group_values + levels * most_units + 2 * most_bins);
    }
    __device__ series_state(char* memory, int levels)
        : header(reinterpret_cast<series_header*>(memory)),
          waiting(reinterpret_cast<float*>(memory) + header_floats),
          history(waiting + group_values),
          means(history + levels * most_units),
          variances(means + most_bins)
    {
    }
};
static_assert(sizeof(series_header) <= header_floats * sizeof(float));

//! Floats between the sums of two levels: the history of the next one, and what is read
//! behind the last ones, as a chunk is always whole.
constexpr int between_levels = most_units + 32 * chunk;

//! Returns the place of number 0 of the sums of a level in shared memory: behind the
//! history, and such that number 1 is at a multiple of 16 bytes.
__host__ __device__ constexpr int sums_place(int level)
{
    return most_units + 3 + 2 * tile_values - (2 * tile_values >> level) +
           level * between_levels;
}
constexpr int sums_floats(int levels) { return sums_place(levels); }

//! Returns the sums of a level, by their number: 0 is where the tile begins.
__device__ __forceinline__ float* sums_of(float* shared, int level)
{
    return shared + sums_place(level);
}

struct shared_memory {
    float group_means[tile_groups], group_variances[tile_groups]; // 0: missing
    float totals[tile_groups];
    float bins[2][most_bins + 1];       // means, variances
    float middle[2][2];                 // the two in the middle
    float largest[2 * tile_groups * 4]; // S/N of segments, level by level
    series_header header;
    int first_boxcar[most_levels + 1]; // first boxcar of each level
    boxcar_entry boxcars[most_boxcars];
};

//! Returns the place where the segments of a level begin in `largest`.
__device__ __forceinline__ int segment_place(int level) { return 256 - (256 >> level); }

//! One thread: adds the tile's groups to the bins.
__device__ void add_groups(shared_memory& m,
                           const series_state& state,
                           int groups,
                           const series_shape& shape)
{
    series_header h = m.header;
#pragma unroll 4
    for (int g = 0; g < groups; g++) {
        const float mean = m.group_means[g], variance = m.group_variances[g];
        if (variance > 0) {
            h.mean += mean;
            h.variance += variance;
            h.there++;
        }
        if (++h.seen < shape.groups)
            continue;
        if (2 * h.there >= h.seen) {
            const int to = h.bins < shape.bins ? h.bins : h.next;
            if (h.bins < shape.bins)
                h.bins++;
            else
                h.next = to + 1 == shape.bins ? 0 : to + 1;
            m.bins[0][to] = state.means[to] = float(h.mean / h.there);
            m.bins[1][to] = state.variances[to] = float(h.variance / h.there);
        }
        h.mean = h.variance = 0;
        h.seen = h.there = 0;
    }
    if (h.there) {
        m.bins[0][h.bins] = float(h.mean / h.there);
        m.bins[1][h.bins] = float(h.variance / h.there);
    }
    m.header = h;
}

//! One warp: finds those in the middle of `count` values.
__device__ void find_middle(const float* values, int count, int lane, float* middle)
{
    constexpr int each = (most_bins + 1 + 31) / 32;
    float own[each];
    int rank[each] = {};
#pragma unroll
    for (int k = 0; k < each; k++)
        own[k] = lane + 32 * k < count ? values[lane + 32 * k] : 0;
#pragma unroll 8
    for (int j = 0; j < count; j++) {
        const float other = values[j];
#pragma unroll
        for (int k = 0; k < each; k++)
            rank[k] += other < own[k] || (other == own[k] && j < lane + 32 * k);
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
        if (lane + 32 * k < count && rank[k] == (count - 1) / 2)
            middle[0] = own[k];
        if (lane + 32 * k < count && rank[k] == count / 2)
            middle[1] = own[k];
    }
}

//! A warp: finds the largest S/N of each of a chunk's segments, if it is above the
//! threshold.
__device__ __forceinline__ bool search_chunk(const shared_memory& m,
                                             float threshold,
                                             const float* sums,
                                             int level,
                                             int first,
                                             int ends,
                                             int lane,
                                             float* largest)
{
    const float* at = sums + 1 + first * 32 + lane;
    float end[chunk], best[chunk];
#pragma unroll
    for (int i = 0; i < chunk; i++) {
        end[i] = at[32 * i];
        best[i] = 0;
    }
    const int last = m.first_boxcar[level + 1];
#pragma unroll 4
    for (int w = m.first_boxcar[level]; w < last; w++) {
        const int units = m.boxcars[w].units;
        const float scale = m.boxcars[w].scale;
        const float* begin = at - units;
#pragma unroll
        for (int i = 0; i < chunk; i++)
            best[i] = fmaxf(best[i], (end[i] - begin[32 * i]) * scale);
    }
    bool found = false;
#pragma unroll
    for (int i = 0; i < chunk; i++) {
        const bool above = best[i] > threshold && (first + i) * 32 + lane < ends;
        if (!__any_sync(all_lanes, above))
            continue;
        float most = above ? best[i] : 0;
        for (int other = 16; other > 0; other /= 2)
            most = fmaxf(most, __shfl_xor_sync(all_lanes, most, other));
        if (lane == 0)
            largest[first + i] = most;
        found = true;
    }
    return found;
}

//! A warp: lists the best cell of a segment, unless there is a better one around it.
__device__ void list_segment(const search_arguments& a,
                             shared_memory& m,
                             const float* sums,
                             int level,
                             int segment,
                             int groups,
                             int first,
                             int series,
                             int lane)
{
    const float best = m.largest[segment_place(level) + segment];
    const int ends = groups * group_values >> level;
    const int e = segment * 32 + lane + 1;
    int boxcar = -1, end = 0;
    for (int w = m.first_boxcar[level]; w < m.first_boxcar[level + 1]; w++) {
        const boxcar_entry b = m.boxcars[w];
        const float snr = e <= ends ? (sums[e] - sums[e - b.units]) * b.scale : 0;
        const unsigned above = __ballot_sync(all_lanes, snr > a.threshold);
        const unsigned at = __ballot_sync(all_lanes, snr >= best);
        if (lane == 0 && above)
            atomicAdd(a.above + w, (unsigned long long)(__popc(above)));
        if (at && boxcar < 0) {
            boxcar = w;
            end = segment * 32 + __ffs(at);
        }
    }
    bool better = boxcar < 0;
    for (int l = level + 1; l < a.levels; l++)
        better |= m.largest[segment_place(l) + (segment >> (l - level))] > best;
    for (int l = 0; l < level; l++) {
        const int begin = segment << (level - l), count = 1 << (level - l);
        for (int s = lane; s < count; s += 32)
            better |= m.largest[segment_place(l) + begin + s] >= best;
    }
    if (__any_sync(all_lanes, better) || lane != 0)
        return;
    const int beam = series / a.trials;
    const unsigned long long place = atomicAdd(a.listed + beam, 1ull);
    if (place < a.most_cells)
        a.cells[size_t(beam) * a.most_cells + place] = {
            series, boxcar, first + (end << level), best
        };
}

//! A thread's values of a tile: those of its warp's groups.
using tile_values_of_thread = float[own_groups][lane_values];

//! The work of a thread block: the values of a series from one call.
struct series_work {
    int series;
    series_shape shape;
    series_state state;
    bool flush;
    const float* values; // values of this call; nullptr if it is a flush
    int count;           // number of these
    int left;            // values that have waited since the call before

    __device__ __forceinline__ explicit series_work(const search_arguments& a)
        : series(blockIdx.x),
          shape(a.shapes[series % a.trials]),
          state(a.states + series * a.state_bytes, a.levels),
          flush(a.item == nullptr),
          values(flush ? nullptr
                       : a.item + series / a.trials * a.beam_values + shape.offset),
          count(flush ? 0 : shape.times),
          left(state.header->left)
    {
    }
};

//! Tells the place of a thread.
struct thread_place {
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
};

//! All threads: load what a series keeps from call to call, and the boxcars.
__device__ __forceinline__ void load_series(const search_arguments& a,
                                            const series_work& w,
                                            shared_memory& m,
                                            float* sums_memory,
                                            int thread)
{
    if (thread == 0)
        m.header = *w.state.header;
    for (int i = thread; i < a.boxcar_count; i += threads) {
        const boxcar_entry b = a.boxcars[i];
        m.boxcars[i] = b;
        if (i == 0)
            m.first_boxcar[0] = 0;
        else if (b.level > a.boxcars[i - 1].level)
            m.first_boxcar[b.level] = i;
        if (i + 1 == a.boxcar_count)
            m.first_boxcar[b.level + 1] = i + 1;
    }
    for (int i = thread; i < 2 * most_bins; i += threads)
        m.bins[i / most_bins][i % most_bins] = w.state.means[i];
    for (int i = thread; i < a.levels * most_units; i += threads)
        sums_of(sums_memory, i / most_units)[i % most_units - most_units] =
            w.state.history[i];
    if (thread < a.levels)
        sums_of(sums_memory, thread)[0] = 0;
}

//! A warp: loads a lane's values of a group.
//! \param at index of the first of them, among the values of the call
//! \param first the same of the group
__device__ __forceinline__ void
load_values(float (&x)[lane_values], const series_work& w, int at, int first)
{
    const float* from = w.values + at;
    if (first >= 0 && !w.flush && reinterpret_cast<size_t>(from) % sizeof(float4) == 0) {
        const float4 four = __ldcs(reinterpret_cast<const float4*>(from));
        x[0] = four.x;
        x[1] = four.y;
        x[2] = four.z;
        x[3] = four.w;
    } else {
#pragma unroll
        for (int v = 0; v < lane_values; v++)
            x[v] = at + v < 0         ? w.state.waiting[at + v + w.left]
                   : at + v < w.count ? w.values[at + v]
                                      : CUDART_NAN_F;
    }
}

//! A warp: finds mean and variance of a group's finite values.
__device__ __forceinline__ void
measure_group(const float (&x)[lane_values], shared_memory& m, int g, int lane)
{
    int finite = 0, there = 0;
    bool ok[lane_values];
#pragma unroll
    for (int v = 0; v < lane_values; v++) {
        ok[v] = fabsf(x[v]) <= FLT_MAX;
        finite += __popc(__ballot_sync(all_lanes, ok[v]));
        there += __popc(__ballot_sync(all_lanes, ok[v] && x[v] != 0));
    }
    const float one = __shfl_sync(all_lanes, x[0], 0);
    const float pivot = fabsf(one) <= FLT_MAX ? one : 0;
    float sum = 0, square = 0;
#pragma unroll
    for (int v = 0; v < lane_values; v++)
        sum += ok[v] ? x[v] - pivot : 0;
    const float mean = pivot + sum_of_warp(sum) / max(finite, 1);
#pragma unroll
    for (int v = 0; v < lane_values; v++) {
        const float off = ok[v] ? x[v] - mean : 0;
        square += off * off;
    }
    square = sum_of_warp(square);
    if (lane == 0) {
        const bool known =
            there >= least_values && fabsf(mean) <= FLT_MAX && square <= FLT_MAX;
        m.group_means[g] = mean;
        m.group_variances[g] = known ? square / (finite - 1) : 0;
    }
}

//! A warp: returns the sum of a value of the lanes up to each.
__device__ __forceinline__ float running_sum(float value, int lane)
{
    for (int other = 1; other < 32; other *= 2) {
        const float below = __shfl_up_sync(all_lanes, value, other);
        value += lane >= other ? below : 0;
    }
    return value;
}

//! The level of the window, from which values are counted in standard deviations.
struct window_level {
    float baseline, factor; // 1 / standard deviation
    bool known;
};

//! All threads: add the tile's groups to the window, and find its level.
__device__ __forceinline__ window_level level_of_window(shared_memory& m,
                                                        const series_work& w,
                                                        int groups,
                                                        const thread_place& own)
{
    __syncthreads();
    if (own.thread == 0)
        add_groups(m, w.state, groups, w.shape);
    __syncthreads();
    const int bins = m.header.bins + (m.header.there > 0);
    if (own.warp < 2)
        find_middle(m.bins[own.warp], bins, own.lane, m.middle[own.warp]);
    __syncthreads();
    const float baseline = (m.middle[0][0] + m.middle[0][1]) / 2;
    const float variance = (m.middle[1][0] + m.middle[1][1]) / 2 / w.shape.median;
    return { baseline, 1 / sqrtf(variance), bins > 0 };
}

//! A warp: replaces a group's values, in standard deviations, by their running sums, and
//! leaves their total.
__device__ __forceinline__ void sum_group(
    float (&x)[lane_values], shared_memory& m, const window_level& of, int g, int lane)
{
    const bool there = of.known && m.group_variances[g] > 0;
    float total = 0;
#pragma unroll
    for (int v = 0; v < lane_values; v++) {
        const float off = (x[v] - of.baseline) * of.factor;
        const float within = fminf(fmaxf(off, -most_sigma), most_sigma);
        total += there && fabsf(x[v]) <= FLT_MAX ? within : 0;
        x[v] = total;
    }
    float before = running_sum(total, lane);
    if (lane == 31)
        m.totals[g] = before;
    before -= total;
#pragma unroll
    for (int v = 0; v < lane_values; v++)
        x[v] += before;
}

//! A lane: stores its running sums, of numbers 4 n + 1 to 4 n + 4 of level 0, in all
//! levels.
__device__ __forceinline__ void
store_sums(const float (&x)[lane_values], float* sums_memory, int n, int levels)
{
    *reinterpret_cast<float4*>(sums_of(sums_memory, 0) + 4 * n + 1) =
        make_float4(x[0], x[1], x[2], x[3]);
    if (levels > 1) {
        float* to = sums_of(sums_memory, 1) + 2 * n + 1;
        to[0] = x[1];
        to[1] = x[3];
    }
    if (levels > 2)
        sums_of(sums_memory, 2)[n + 1] = x[3];
    for (int level = 3; level < levels; level++)
        if ((n + 1) % (1 << (level - 2)) == 0)
            sums_of(sums_memory, level)[(n + 1) >> (level - 2)] = x[3];
}

//! All threads: make the running sums of a tile in all levels.
__device__ __forceinline__ void make_sums(tile_values_of_thread& x,
                                          shared_memory& m,
                                          float* sums_memory,
                                          const window_level& of,
                                          int groups,
                                          int levels,
                                          const thread_place& own)
{
#pragma unroll
    for (int i = 0; i < own_groups; i++) {
        const int g = own.warp + warps * i;
        if (g >= groups)
            continue;
        sum_group(x[i], m, of, g, own.lane);
    }
    __syncthreads();
    const float before =
        running_sum(own.lane < groups ? m.totals[own.lane] : 0, own.lane);
    const float at_groups = __shfl_up_sync(all_lanes, before, 1);
#pragma unroll
    for (int i = 0; i < own_groups; i++) {
        const int g = own.warp + warps * i;
        const float offset = __shfl_sync(all_lanes, at_groups, max(g, 1));
        if (g >= groups)
            continue;
#pragma unroll
        for (int v = 0; v < lane_values; v++)
            x[i][v] += g ? offset : 0;
        store_sums(x[i], sums_memory, g * 32 + own.lane, levels);
    }
    __syncthreads();
}

//! All threads: search the tile with all boxcars, and list what is above the threshold.
//! \param first index of the tile's first value
__device__ __forceinline__ void search_tile(const search_arguments& a,
                                            shared_memory& m,
                                            float* sums_memory,
                                            int groups,
                                            int first,
                                            int series,
                                            const thread_place& own)
{
    bool found = false;
    int next = own.warp; // A warp goes on where the level before has ended.
    for (int level = 0; level < a.levels; level++) {
        const int ends = groups * group_values >> level;
        const int chunks = (ends + 32 * chunk - 1) / (32 * chunk);
        for (; next < chunks; next += warps)
            found |= search_chunk(m,
                                  a.threshold,
                                  sums_of(sums_memory, level),
                                  level,
                                  next * chunk,
                                  ends,
                                  own.lane,
                                  m.largest + segment_place(level));
        next -= chunks;
    }
    if (!__syncthreads_or(found))
        return;
    for (int level = 0; level < a.levels; level++) {
        const int ends = groups * group_values >> level;
        for (int s = own.warp; s < (ends + 31) / 32; s += warps)
            if (m.largest[segment_place(level) + s] > 0)
                list_segment(a,
                             m,
                             sums_of(sums_memory, level),
                             level,
                             s,
                             groups,
                             first,
                             series,
                             own.lane);
    }
}

//! All threads: move the last sums of a tile to where the next tile finds them; those of
//! the last tile are kept for the next call.
__device__ __forceinline__ void keep_history(const series_work& w,
                                             float* sums_memory,
                                             int levels,
                                             int groups,
                                             bool ends,
                                             int thread)
{
    __syncthreads();
    float last[history_values];
#pragma unroll
    for (int i = 0; i < history_values; i++) {
        const int number = thread + i * threads;
        if (number >= levels * most_units)
            continue;
        const int level = number / most_units;
        const float* end = sums_of(sums_memory, level) + (groups * group_values >> level);
        last[i] = end[number % most_units - most_units] - end[0];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < history_values; i++) {
        const int number = thread + i * threads;
        if (number >= levels * most_units)
            continue;
        sums_of(sums_memory, number / most_units)[number % most_units - most_units] =
            last[i];
        if (ends)
            w.state.history[number] = w.flush ? 0 : last[i];
    }
}

/*!
 * The kernel. A thread block searches one series: the values of a trial of a beam, in
 * tiles of whole groups. Values of a group that is not whole wait for the next call.
 */
__global__ void __launch_bounds__(threads, 4) search_series(const search_arguments a)
{
    extern __shared__ __align__(16) float sums_memory[];
    __shared__ shared_memory m;
    const series_work w(a);
    const thread_place own;
    int remaining = w.flush ? w.left > 0 : (w.left + w.count) / group_values; // groups
    if (remaining == 0 && !w.flush) {
        for (int i = own.thread; i < w.count; i += threads)
            w.state.waiting[w.left + i] = w.values[i];
        __syncthreads();
        if (own.thread == 0)
            w.state.header->left = w.left + w.count;
        return;
    }

    load_series(a, w, m, sums_memory, own.thread);
    int first = -w.left;
    while (remaining > 0) {
        const int groups = min(remaining, tile_groups);
        m.largest[own.thread] = 0;
        tile_values_of_thread x;
#pragma unroll
        for (int i = 0; i < own_groups; i++) {
            const int g = own.warp + warps * i;
            if (g >= groups)
                continue;
            load_values(x[i],
                        w,
                        first + g * group_values + own.lane * lane_values,
                        first + g * group_values);
            measure_group(x[i], m, g, own.lane);
        }
        const window_level of = level_of_window(m, w, groups, own);
        make_sums(x, m, sums_memory, of, groups, a.levels, own);
        search_tile(a, m, sums_memory, groups, first, w.series, own);
        keep_history(w, sums_memory, a.levels, groups, remaining == groups, own.thread);
        first += groups * group_values;
        remaining -= groups;
    }
    if (w.flush && w.left == 0)
        for (int i = own.thread; i < a.levels * most_units; i += threads)
            w.state.history[i] = 0;
    __syncthreads();
    // All of what waited has been read.
    const int rest = w.flush ? 0 : w.count - first;
    for (int i = own.thread; i < rest; i += threads)
        w.state.waiting[i] = w.values[first + i];
    if (own.thread == 0) {
        m.header.left = rest;
        *w.state.header = m.header;
    }
}

class cuda_pulse_search : public pulse_search
{
public:
    cuda_pulse_search(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_boxcars(boxcars(p.widest, p.growth)),
          d_levels(d_boxcars.back().level + 1),
          d_series(p.trials.beams * p.trials.trials()),
          d_state_bytes(series_state::bytes(d_levels)),
          d_shared(int(sums_floats(d_levels) * sizeof(float))),
          d_states(d_state_bytes * d_series),
          d_shapes(p.trials.trials()),
          d_entries(d_boxcars.size()),
          d_counts(p.trials.beams + d_boxcars.size())
    {
        std::vector<series_shape> shapes;
        const auto offsets = p.trials.offsets();
        for (int t = 0; t < p.trials.trials(); t++) {
            const auto w = bins_of(p.window, p.sample_time * p.trials.decimation(t));
            shapes.push_back({ offsets[t],
                               p.trials.times(t),
                               w.groups,
                               w.bins,
                               float(median_of_variance(w.groups)) });
        }
        start_with(d_shapes.data(), shapes);
        std::vector<boxcar_entry> entries;
        for (const auto& b : d_boxcars)
            entries.push_back(
                { b.units, float(1 / std::sqrt(double(b.width))), b.level, 0 });
        start_with(d_entries.data(), entries);
        start_with_zeros(d_states.data(), d_states.size());
        for (int i = 0; i < 4; i++)
            d_slots.emplace_back(size_t(p.trials.beams) * p.most_cells, d_counts.size());
        load(search_series, d_shared);
    }

    std::string implementation() const override { return "cuda"; }

    void reset(stream& s) override
    {
        collect(true);
        const device_guard guard(d_device);
        check(cudaMemsetAsync(d_states.data(), 0, d_states.bytes(), native(s)),
              "clearing GPU memory");
    }
    void search(const float* item, stream& s) override { launch(item, s); }
    void flush(stream& s) override { launch(nullptr, s); }

    std::vector<result> collect(bool all) override
    {
        const device_guard guard(d_device);
        while (!d_busy.empty() && (all || d_busy.front()->done.done()))
            take_oldest();
        return std::exchange(d_results, {});
    }

private:
    struct slot {
        slot(size_t cell_count, size_t count_count)
            : cells(cell_count), counts(count_count)
        {
        }
        pinned_array<cell> cells;
        pinned_array<unsigned long long> counts; // listed of each beam, above
        event done;
    };

    void launch(const float* item, stream& s)
    {
        const device_guard guard(d_device);
        if (d_busy.size() == d_slots.size())
            take_oldest();
        slot& to = d_slots[d_next];
        d_next = (d_next + 1) % d_slots.size();
        const auto native_stream = native(s);
        check(cudaMemsetAsync(d_counts.data(), 0, d_counts.bytes(), native_stream),
              "clearing counters");
        search_arguments a{};
        a.item = item;
        a.states = d_states.data();
        a.state_bytes = d_state_bytes;
        a.shapes = d_shapes.data();
        a.boxcars = d_entries.data();
        a.boxcar_count = int(d_boxcars.size());
        a.levels = d_levels;
        a.trials = d_p.trials.trials();
        a.beam_values = d_p.trials.beam_values();
        a.threshold = float(d_p.threshold);
        a.most_cells = d_p.most_cells;
        a.listed = d_counts.data();
        a.above = d_counts.data() + d_p.trials.beams;
        a.cells = to.cells.data();
        search_series<<<d_series, threads, d_shared, native_stream>>>(a);
        check_launch("searching for pulses");
        check(cudaMemcpyAsync(to.counts.data(),
                              d_counts.data(),
                              d_counts.bytes(),
                              cudaMemcpyDeviceToHost,
                              native_stream),
              "copying counters from the GPU");
        to.done.record(native_stream);
        d_busy.push_back(&to);
    }

    //! Waits for the oldest of the calls of which the results have not been taken.
    void take_oldest()
    {
        const slot& from = *d_busy.front();
        d_busy.pop_front();
        from.done.wait();
        result r;
        const int beams = d_p.trials.beams;
        for (int beam = 0; beam < beams; beam++) {
            const uint64_t listed = from.counts.data()[beam];
            const uint64_t fit = std::min<uint64_t>(listed, d_p.most_cells);
            const cell* first = from.cells.data() + size_t(beam) * d_p.most_cells;
            r.cells.insert(r.cells.end(), first, first + fit);
            r.left_out += listed - fit;
        }
        r.above.assign(from.counts.data() + beams, from.counts.data() + d_counts.size());
        d_results.push_back(std::move(r));
    }

    const parameters d_p;
    const int d_device;
    const std::vector<boxcar> d_boxcars;
    const int d_levels, d_series;
    const size_t d_state_bytes;
    const int d_shared;
    const device_array<char> d_states;
    const device_array<series_shape> d_shapes;
    const device_array<boxcar_entry> d_entries;
    const device_array<unsigned long long> d_counts;
    std::deque<slot> d_slots;
    size_t d_next = 0;
    std::deque<slot*> d_busy; // oldest first
    std::vector<result> d_results;
};

} // namespace

/*!
 * A thread block for each series reads its values once, tile by tile; sums of a tile stay
 * in shared memory. The lists are in pinned memory of the host, which the kernel writes
 * to: they are short, and nothing is copied that is not there.
 */
template <>
std::unique_ptr<pulse_search>
make(const pulse_search::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_pulse_search>(p, device);
}

} // namespace gr::aperture::kernels::cuda
