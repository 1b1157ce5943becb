/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/dedispersion/sub_band_tiles.h"
#include "kernels/gpu/async_copy.cuh"
#include "kernels/gpu/memory.h"
#include <algorithm>
#include <climits>
#include <deque>
#include <limits>

/*
 * Two kernels for the trials of each decimation: sum_paths reads powers, transposes them
 * on their way into shared memory, and writes the rows of paths; sum_trials reads these
 * rows into shared memory, some sub-bands at a time while it sums those before, and
 * writes the items. In both, lanes are times, and every addition takes one word from
 * shared memory: that is what bounds them. A word is an f32, or, for 8-bit powers, the
 * sums of two times as halves of 16 bits: low + 65536 high, which add without a carry
 * to mend, because each half fits into its 16 bits.
 */

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int stages = 3; // pipeline stages of sum_trials
constexpr int times_of_lane = trial_tiles::times / 32;
constexpr int trials_of_warp = trial_tiles::most_trials / warps;
constexpr int64_t most_times = 1 << 14; // about the times of the input in a call
constexpr int64_t most_row_bytes = int64_t(1) << 30; // for rows of all beams at once

//! A part of a call that the kernels work on; times are decimated.
struct part {
    int64_t available; //!< input times, with those for the longest delay
    int count;         //!< output times
    int words;         //!< words of a trial
    int first;         //!< time of the first output in the items
    int64_t stride;    //!< powers from one time of the input to the next
    int decimation, width;
    int64_t row_size; //!< words of the rows of a beam
    bool fours;       //!< powers of four channels can be read at once
};

//! Adds the powers of a time of Count channels, 1 or 4.
template <int Count, class Sum, class Power>
__device__ __forceinline__ void add_powers(const Power* __restrict__ in, Sum* sums)
{
    if constexpr (Count == 1) {
        sums[0] += Sum(__ldg(in));
    } else if constexpr (sizeof(Power) == 1) {
        const uint32_t four = __ldg(reinterpret_cast<const uint32_t*>(in));
#pragma unroll
        for (int k = 0; k < 4; k++)
            sums[k] += Sum(Power(four >> 8 * k));
    } else {
        const float4 four = __ldg(reinterpret_cast<const float4*>(in));
        sums[0] += four.x;
        sums[1] += four.y;
        sums[2] += four.z;
        sums[3] += four.w;
    }
}

//! Adds the words of a time of Count channels; if they hold two times, the other one is
//! `words` later.
//! \param in powers of time 0
template <int Count, class Word, class Power>
__device__ __forceinline__ void
read_words(const Power* __restrict__ in, int64_t time, const part& p, Word* words)
{
    const int64_t step = p.decimation * p.stride;
#pragma unroll
    for (int k = 0; k < Count; k++)
        words[k] = Word(0);
    if (time < p.available)
        for (int i = 0; i < p.decimation; i++)
            add_powers<Count>(in + time * step + i * p.stride, words);
    if constexpr (std::is_same_v<Word, int>)
        if (time + p.words < p.available) {
            int high[Count] = {};
            for (int i = 0; i < p.decimation; i++)
                add_powers<Count>(in + (time + p.words) * step + i * p.stride, high);
#pragma unroll
            for (int k = 0; k < Count; k++)
                words[k] += high[k] * 65536;
        }
}

//! Brings powers of a sub-band into shared memory.
//! \param in powers of time 0 and of the first channel
template <int Count, class Word, class Power>
__device__ __forceinline__ void read_channels(const Power* __restrict__ in,
                                              const path_tiles::channel* channels,
                                              int count,
                                              int64_t begin,
                                              const part& p,
                                              Word* input)
{
    const int groups = p.width / Count, at_once = threads / groups;
    const int first = threadIdx.x % groups * Count;
    if (threadIdx.x >= at_once * groups || first >= count)
        return;
    path_tiles::channel c[Count];
    int from = INT_MAX, to = 0;
#pragma unroll
    for (int k = 0; k < Count; k++) {
        c[k] = channels[first + k];
        from = min(from, c[k].delay);
        to = max(to, c[k].delay + c[k].words);
    }
#pragma unroll 2
    for (int t = from + threadIdx.x / groups; t < to; t += at_once) {
        Word words[Count];
        read_words<Count>(in + first, begin + t, p, words);
#pragma unroll
        for (int k = 0; k < Count; k++) {
            const int at = t - c[k].delay;
            if (Count == 1 || (at >= 0 && at < c[k].words))
                input[c[k].place + at] = words[k];
        }
    }
}

/*!
 * Sums powers [time][beam][channel] to rows [beam][path][word]. Grid: blocks of
 * path_tiles, beams.
 * \tparam Each words of a lane
 */
template <class Power, class Word, int Each>
__global__ void __launch_bounds__(threads)
    sum_paths(const Power* __restrict__ powers,
              Word* __restrict__ rows,
              const path_tiles::block* __restrict__ blocks,
              const path_tiles::tile* __restrict__ tiles,
              const path_tiles::channel* __restrict__ channels,
              const int* __restrict__ places,
              const path_rows::row* __restrict__ about_rows,
              int times,
              int shared_size,
              int all_channels,
              part p)
{
    extern __shared__ __align__(16) char shared[];
    Word* const input = reinterpret_cast<Word*>(shared);
    int* const path_places = reinterpret_cast<int*>(shared) + shared_size;

    const path_tiles::block block = blocks[blockIdx.x];
    const path_tiles::tile tile = tiles[block.tile];
    if (block.word >= tile.last - tile.first + p.words)
        return;
    const int width = p.width;
    const int begin = tile.first + block.word; // time of the first word
    const int tid = threadIdx.x;

    const int* const from = places + int64_t(tile.first_path) * width;
    for (int i = tid; i < tile.paths * width; i += threads)
        path_places[i] = from[i];

    const Power* const in =
        powers + int64_t(blockIdx.y) * all_channels + tile.sub_band * width;
    if (p.fours)
        read_channels<4>(
            in, channels + block.tile * width, tile.channels, begin, p, input);
    else
        read_channels<1>(
            in, channels + block.tile * width, tile.channels, begin, p, input);
    __syncthreads();

    const int lane = tid % 32, parts = times / (32 * Each);
    Word* const rows_of_beam = rows + blockIdx.y * p.row_size;
    for (int unit = tid / 32; unit < tile.paths * parts; unit += warps) {
        const int path = unit / parts, t = unit % parts * 32 * Each + lane;
        const path_rows::row row = about_rows[tile.first_path + path];
        const int word = begin + t - row.first, length = row.longer + p.words;
        // true for all lanes
        if (word - lane + 32 * Each <= 0 || word - lane >= length)
            continue;
        const int* const place = path_places + path * width;
        Word sums[Each];
        const Word* x = input + place[0] + t;
#pragma unroll
        for (int i = 0; i < Each; i++)
            sums[i] = x[32 * i];
#pragma unroll 3
        for (int c = 1; c < tile.channels; c++) {
            x = input + place[c] + t;
#pragma unroll
            for (int i = 0; i < Each; i++)
                sums[i] += x[32 * i];
        }
        Word* const to = rows_of_beam + row.place;
#pragma unroll
        for (int i = 0; i < Each; i++)
            if (word + 32 * i >= 0 && word + 32 * i < length)
                to[word + 32 * i] = sums[i];
    }
}

//! The tables that sum_trials reads besides rows.
struct trial_tables {
    const trial_tiles::tile* tiles;
    const trial_tiles::piece* pieces;
    const int* first_piece;
    const int* places;
    const int64_t* offsets; //!< offsets of trials in a beam of an item
    int steps, sub_bands, shared_size;
    int narrow; //!< sub-bands whose sum fits into a half of a word
};

//! Writes the words of a trial; those of a lane are 32 times apart.
template <class Sum>
__device__ __forceinline__ void write_sums(float* __restrict__ to,
                                           int64_t item_size,
                                           int each,
                                           int time,
                                           int end,
                                           const Sum* sums)
{
    int item = time / each, within = time - item * each;
#pragma unroll
    for (int i = 0; i < times_of_lane; i++, time += 32) {
        if (time < end)
            __stcs(to + item * item_size + within, float(sums[i]));
        within += 32;
        while (within >= each) {
            within -= each;
            item++;
        }
    }
}

/*!
 * Sums rows [beam][path][word] to items [item][beam][trial][time]. Grid: tiles of trials,
 * tiles of times, beams.
 * \param each samples of a trial in an item
 */
template <class Word>
__global__ void __launch_bounds__(threads) sum_trials(const Word* __restrict__ rows,
                                                      float* __restrict__ items,
                                                      int64_t item_size,
                                                      int64_t beam_size,
                                                      int each,
                                                      trial_tables of,
                                                      part p)
{
    using namespace std;
    constexpr bool two = is_same_v<Word, int>;
    constexpr int places_of_step = trial_tiles::most_trials * trial_tiles::step;
    extern __shared__ __align__(16) char shared[];
    Word* const input = reinterpret_cast<Word*>(shared);
    __shared__ __align__(16) int places[stages][places_of_step];

    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const trial_tiles::tile tile = of.tiles[blockIdx.x];
    const int begin = blockIdx.y * trial_tiles::times;
    const Word* const in = rows + blockIdx.z * p.row_size + begin;

    const auto fetch = [&](int step) {
        if (step < of.steps) {
            const int at = blockIdx.x * of.steps + step, stage = step % stages;
            Word* const to = input + stage * of.shared_size;
            const int last = of.first_piece[at + 1];
            for (int i = of.first_piece[at] + warp; i < last; i += warps) {
                const trial_tiles::piece piece = of.pieces[i];
                for (int w = 4 * lane; w < piece.words; w += 4 * 32)
                    copy_async<16>(to + piece.place + w, in + piece.from + w, true);
            }
            if (tid < places_of_step / 4)
                copy_async<16>(places[stage] + 4 * tid,
                               of.places + int64_t(at) * places_of_step + 4 * tid,
                               true);
        }
        commit_async();
    };
    for (int step = 0; step < stages - 1; step++)
        fetch(step);

    Word sums[trials_of_warp][times_of_lane] = {};
    // sums that do not fit into halves
    int low[two ? trials_of_warp : 1][two ? times_of_lane : 1] = {};
    int high[two ? trials_of_warp : 1][two ? times_of_lane : 1] = {};
    const auto widen = [&] {
        if constexpr (two) {
#pragma unroll
            for (int i = 0; i < trials_of_warp; i++)
#pragma unroll
                for (int j = 0; j < times_of_lane; j++) {
                    const int l = int16_t(sums[i][j]);
                    low[i][j] += l;
                    high[i][j] += (sums[i][j] - l) >> 16;
                    sums[i][j] = 0;
                }
        }
    };
    int summed = 0;
    for (int step = 0; step < of.steps; step++) {
        wait_async<stages - 2>();
        __syncthreads();
        fetch(step + stages - 1);
        const int stage = step % stages;
        const Word* const x = input + stage * of.shared_size + lane;
#pragma unroll
        for (int b = 0; b < trial_tiles::step; b++) {
            const int sub_band = step * trial_tiles::step + b;
            if (sub_band >= of.sub_bands)
                break;
            if (two && summed++ == of.narrow) {
                widen();
                summed = 1;
            }
#pragma unroll
            for (int i = 0; i < trials_of_warp; i++) {
                const Word* const row =
                    x + places[stage][(warp + i * warps) * trial_tiles::step + b];
                if (!two && sub_band == 0) {
#pragma unroll
                    for (int j = 0; j < times_of_lane; j++)
                        sums[i][j] = row[32 * j];
                } else {
#pragma unroll
                    for (int j = 0; j < times_of_lane; j++)
                        sums[i][j] += row[32 * j];
                }
            }
        }
    }
    widen();

    float* const to = items + blockIdx.z * beam_size;
#pragma unroll
    for (int i = 0; i < trials_of_warp; i++) {
        const int trial = warp + i * warps;
        if (trial >= tile.trials)
            continue;
        float* const row = to + of.offsets[tile.first_trial + trial];
        const int time = p.first + begin + lane;
        if constexpr (two) {
            write_sums(row, item_size, each, time, p.first + p.words, low[i]);
            write_sums(row, item_size, each, time + p.words, p.first + p.count, high[i]);
        } else {
            write_sums(row, item_size, each, time, p.first + p.count, sums[i]);
        }
    }
}

template <class T>
device_array<T> uploaded(const std::vector<T>& values)
{
    device_array<T> there(values.size());
    start_with(there.data(), values);
    return there;
}

//! The kernels for the trials of one decimation.
class sub_band_kernels
{
public:
    virtual ~sub_band_kernels() = default;
    //! Returns the bytes of the rows of a beam.
    virtual int64_t row_bytes() const = 0;
    /*!
     * \param powers powers of the first beam and of time `first`
     * \param items items of the first beam
     * \param first,times output times, counted in the input
     * \param available input times
     */
    virtual void execute(const void* powers,
                         float* items,
                         int64_t first,
                         int64_t times,
                         int64_t available,
                         int beams,
                         void* rows,
                         cudaStream_t s) = 0;
};

template <class Power, class Word>
class typed_kernels : public sub_band_kernels
{
    static constexpr bool two = std::is_same_v<Word, int>;
    static int64_t words_of(int64_t count) { return two ? (count + 1) / 2 : count; }

public:
    typed_kernels(const dedisperser::parameters& p,
                  const sub_band_plan& plan,
                  int64_t most)
        : d_band(p.band),
          d_layout(p.trials),
          d_decimation(plan.decimation),
          d_width(plan.width),
          d_sub_bands(plan.sub_bands),
          d_narrow(std::max(1,
                            32767 / (p.type == power_type::u8 ? 255 : 128) /
                                (plan.width * plan.decimation))),
          d_each(p.trials.times_per_item / plan.decimation),
          d_paths(plan, p.band.channels, words_of(most / plan.decimation)),
          d_rows(plan, words_of(most / plan.decimation)),
          d_trials(plan, d_rows),
          d_blocks(uploaded(d_paths.blocks)),
          d_path_tiles(uploaded(d_paths.tiles)),
          d_channels(uploaded(d_paths.channels)),
          d_path_places(uploaded(d_paths.places)),
          d_about_rows(uploaded(d_rows.rows)),
          d_trial_tiles(uploaded(d_trials.tiles)),
          d_pieces(uploaded(d_trials.pieces)),
          d_first_piece(uploaded(d_trials.first_piece)),
          d_trial_places(uploaded(d_trials.places))
    {
        const auto all = p.trials.offsets();
        std::vector<int64_t> offsets;
        for (const int trial : plan.trials)
            offsets.push_back(all[trial]);
        d_offsets = uploaded(offsets);
        load(d_paths.times >= 512 ? sum_paths<Power, Word, 16>
                                  : sum_paths<Power, Word, 8>,
             path_bytes());
        load(sum_trials<Word>, trial_bytes());
    }

    int64_t row_bytes() const override { return d_rows.size * int64_t(sizeof(Word)); }

    void execute(const void* powers,
                 float* items,
                 int64_t first,
                 int64_t times,
                 int64_t available,
                 int beams,
                 void* rows,
                 cudaStream_t s) override
    {
        part p;
        p.count = int(times / d_decimation);
        if (p.count == 0)
            return;
        p.available = available / d_decimation;
        p.words = int(words_of(p.count));
        p.first = int(first / d_decimation);
        p.stride = int64_t(d_layout.beams) * d_band.channels;
        p.decimation = d_decimation;
        p.width = d_width;
        p.row_size = d_rows.size;
        p.fours = d_width % 4 == 0 && d_band.channels % 4 == 0 &&
                  reinterpret_cast<uintptr_t>(powers) % (4 * sizeof(Power)) == 0;
        const auto paths =
            d_paths.times >= 512 ? sum_paths<Power, Word, 16> : sum_paths<Power, Word, 8>;
        paths<<<dim3(unsigned(d_paths.blocks.size()), beams), threads, path_bytes(), s>>>(
            static_cast<const Power*>(powers),
            static_cast<Word*>(rows),
            d_blocks.data(),
            d_path_tiles.data(),
            d_channels.data(),
            d_path_places.data(),
            d_about_rows.data(),
            d_paths.times,
            d_paths.shared_size,
            d_band.channels,
            p);
        check_launch("sums along paths");
        const trial_tables of{
            d_trial_tiles.data(),  d_pieces.data(),      d_first_piece.data(),
            d_trial_places.data(), d_offsets.data(),     d_trials.steps,
            d_sub_bands,           d_trials.shared_size, d_narrow
        };
        const dim3 grid(unsigned(d_trials.tiles.size()),
                        blocks_for(p.words, trial_tiles::times),
                        beams);
        sum_trials<Word><<<grid, threads, trial_bytes(), s>>>(static_cast<Word*>(rows),
                                                              items,
                                                              d_layout.values(),
                                                              d_layout.beam_values(),
                                                              d_each,
                                                              of,
                                                              p);
        check_launch("sums of trials");
    }

private:
    int path_bytes() const
    {
        return int((d_paths.shared_size + d_paths.most_paths * d_width) * sizeof(int));
    }
    int trial_bytes() const { return int(stages * d_trials.shared_size * sizeof(Word)); }

    const dispersed_band d_band;
    const trial_layout d_layout;
    const int d_decimation, d_width, d_sub_bands, d_narrow, d_each;
    const path_tiles d_paths;
    const path_rows d_rows;
    const trial_tiles d_trials;
    const device_array<path_tiles::block> d_blocks;
    const device_array<path_tiles::tile> d_path_tiles;
    const device_array<path_tiles::channel> d_channels;
    const device_array<int> d_path_places;
    const device_array<path_rows::row> d_about_rows;
    const device_array<trial_tiles::tile> d_trial_tiles;
    const device_array<trial_tiles::piece> d_pieces;
    const device_array<int> d_first_piece;
    const device_array<int> d_trial_places;
    device_array<int64_t> d_offsets;
};

class cuda_dedisperser : public dedisperser
{
public:
    cuda_dedisperser(const parameters& p, int device)
        : d_p(p), d_device(device), d_plans(plan_sub_bands(p))
    {
        d_longest = longest_delay_of(d_plans, p.band.channels);
        int most_decimation = 1;
        for (const auto& plan : d_plans)
            most_decimation = std::max(most_decimation, plan.decimation);
        d_most = (most_times + most_decimation - 1) / most_decimation * most_decimation;
        int64_t bytes = 1;
        for (const auto& plan : d_plans) {
            d_kernels.push_back(kernels_for(plan));
            bytes = std::max(bytes, d_kernels.back()->row_bytes());
        }
        d_beams = int(std::clamp<int64_t>(most_row_bytes / bytes, 1, p.trials.beams));
        d_rows = device_array<char>(size_t(bytes) * d_beams);
    }

    std::string implementation() const override { return "cuda sub-bands"; }
    int64_t longest_delay() const override { return d_longest; }
    std::vector<int64_t> delays() const override { return delays_of(d_plans, d_p); }

    void execute(const void* powers, float* items, int64_t times, stream& s) override
    {
        if (times == 0)
            return;
        const device_guard guard(d_device);
        const int64_t each = d_p.trials.times_per_item, size = d_p.trials.values();
        if (times % each)
            check(cudaMemsetAsync(
                      items + times / each * size, 0, size * sizeof(float), native(s)),
                  "clearing an item");
        const int64_t beam_bytes = int64_t(d_p.band.channels) * size_of(d_p.type);
        for (int64_t first = 0; first < times; first += d_most)
            for (int beam = 0; beam < d_p.trials.beams; beam += d_beams)
                for (auto& kernels : d_kernels)
                    kernels->execute(static_cast<const char*>(powers) +
                                         first * int64_t(d_p.time_bytes()) +
                                         beam * beam_bytes,
                                     items + beam * d_p.trials.beam_values(),
                                     first,
                                     std::min(d_most, times - first),
                                     times + d_longest - first,
                                     std::min(d_beams, d_p.trials.beams - beam),
                                     d_rows.data(),
                                     native(s));
    }

private:
    std::unique_ptr<sub_band_kernels> kernels_for(const sub_band_plan& plan) const
    {
        const int largest = d_p.type == power_type::u8 ? 255 : 128;
        const bool narrow = int64_t(plan.width) * plan.decimation * largest <= 32767;
        switch (d_p.type) {
        case power_type::s8:
            if (narrow)
                return make<int8_t, int>(plan);
            return make<int8_t, float>(plan);
        case power_type::u8:
            if (narrow)
                return make<uint8_t, int>(plan);
            return make<uint8_t, float>(plan);
        default:
            return make<float, float>(plan);
        }
    }
    template <class Power, class Word>
    std::unique_ptr<sub_band_kernels> make(const sub_band_plan& plan) const
    {
        return std::make_unique<typed_kernels<Power, Word>>(d_p, plan, d_most);
    }

    const parameters d_p;
    const int d_device;
    const std::vector<sub_band_plan> d_plans;
    int64_t d_longest, d_most;
    int d_beams; // beams whose rows are in memory at once
    std::deque<std::unique_ptr<sub_band_kernels>> d_kernels;
    device_array<char> d_rows;
};

} // namespace

template <>
std::unique_ptr<dedisperser>
make(const dedisperser::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_dedisperser>(p, device);
}

} // namespace gr::aperture::kernels::cuda
