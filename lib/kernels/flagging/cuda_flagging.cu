/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/flagging/flagging.h"
#include "kernels/gpu/memory.h"
#include <algorithm>

/*
 * Compiled without fused multiply-adds, as the code on the host is: sums of integers are
 * exact, and equal sums have equal flags.
 */
namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;

//! The rows of slices, [row][channel][input], as a ring.
struct ring {
    int64_t cells; // cells of a slice
    int rows;
    int first; // row of the oldest kept slice
    //! Returns the row of a slice of the frame; slices below 0 are of earlier frames.
    __device__ __forceinline__ int64_t row(int slice) const
    {
        return int64_t((first + kept_slices + slice) % rows) * cells;
    }
};

//! The sums over a cell.
template <sample_type Type>
struct measured_cell {
    static constexpr bool real = Type == sample_type::fc32;
    using narrow = std::conditional_t<real, float, uint32_t>;
    using wide = std::conditional_t<real, float, uint64_t>;
    narrow s1 = 0;
    wide s2 = 0;

    __device__ __forceinline__ void add_half(uint16_t w)
    {
        if constexpr (Type == sample_type::sc8) {
            const uint32_t p = __dp4a(int(w), int(w), 0);
            s1 += p;
            s2 += uint64_t(p) * p;
        } else {
            add_word_sc4(w, 2);
        }
    }

    //! Adds `count` samples of sc4 in the low bytes.
    __device__ __forceinline__ void add_word_sc4(uint32_t w, int count)
    {
        // 16 times the components, -8 as -7
        const uint32_t re = __vmaxs4(w & 0xf0f0f0f0, 0x90909090);
        const uint32_t im = __vmaxs4((w << 4) & 0xf0f0f0f0, 0x90909090);
        for (int i = 0; i < count; i++) {
            const uint32_t only = 0xffu << (8 * i);
            const uint32_t p =
                uint32_t(__dp4a(
                    int(re & only), int(re), __dp4a(int(im & only), int(im), 0))) >>
                8;
            s1 += p;
            s2 += p * p;
        }
    }

    __device__ __forceinline__ void add_word(uint32_t w)
    {
        if constexpr (Type == sample_type::sc8) {
            const uint32_t a = __dp4a(int(w & 0xffff), int(w), 0);
            const uint32_t both = __dp4a(int(w), int(w), 0);
            const uint32_t b = both - a;
            s1 += both;
            s2 += a * a + b * b; // below 2^31
        } else {
            add_word_sc4(w, 4);
        }
    }

    __device__ __forceinline__ void add(float re, float im)
    {
        const float p = re * re + im * im;
        s1 += p;
        s2 += p * p;
    }

    __device__ __forceinline__ void add(const uint4& v)
    {
        if constexpr (real) {
            add(__uint_as_float(v.x), __uint_as_float(v.y));
            add(__uint_as_float(v.z), __uint_as_float(v.w));
        } else {
            add_word(v.x);
            add_word(v.y);
            add_word(v.z);
            add_word(v.w);
        }
    }
    __device__ __forceinline__ void add(const uint2& v)
    {
        if constexpr (real) {
            add(__uint_as_float(v.x), __uint_as_float(v.y));
        } else {
            add_word(v.x);
            add_word(v.y);
        }
    }
    __device__ __forceinline__ void add(uint32_t v)
    {
        if constexpr (!real)
            add_word(v);
    }
    __device__ __forceinline__ void add(uint16_t v)
    {
        if constexpr (!real)
            add_half(v);
    }
    __device__ __forceinline__ void add(uint8_t v)
    {
        if constexpr (Type == sample_type::sc4)
            add_word_sc4(v, 1);
    }
};

/*!
 * Does what flagged_by_itself() does for whole sums, with the same result. Nearly all
 * cells are so far from the limits of the kurtosis that single precision can tell.
 */
__device__ __forceinline__ bool flagged_by_whole_sums(
    const flag_rules& r, uint32_t s1, uint64_t s2, int count, bool bad, float& power)
{
    const auto exactly = [&] {
        return flagged_by_itself(r, double(s1), double(s2), count, bad, power);
    };
    if (bad || s1 == 0 || !r.kurtosis || 4 * count < r.spectra_per_slice)
        return exactly();
    power = float(double(s1) / double(count));
    if ((r.most_power > 0 && power > r.most_power) || power < r.least_power)
        return true;
    quantised_kurtosis::node q{ 0, 1 };
    if (r.nodes) {
        if (power < 1.f / (1 << -quantised_kurtosis::first_exponent))
            return false;
        q = node_at(r, power);
    }
    const float n = float(count), sum = float(s1);
    const float ratio = __fdividef(n * float(s2), sum * sum);
    const float raw = __fdividef(n + 1, n - 1) * (ratio - 1);
    const float bias = float(q.bias), scale = float(q.scale);
    const float kurtosis = 1 + (raw - 1 - bias) * scale;
    // a hundred times the errors of rounding
    const float error = 1e-4f * (1 + fabsf(scale) * (ratio + 1 + fabsf(bias)));
    const auto limits = r.limits[count];
    const float low = float(limits.low), high = float(limits.high);
    if (kurtosis > low + error && kurtosis < high - error)
        return false;
    if (kurtosis < low - error || kurtosis > high + error)
        return true;
    return exactly();
}

__device__ __forceinline__ int
count_of(const int* there, const flag_rules& rules, int64_t x, int slice)
{
    return there ? there[int(x % rules.inputs) * rules.slices + slice]
                 : rules.spectra_per_slice;
}

/*!
 * Sums the cells of a frame, and judges each by itself. A group of `group` lanes has a
 * cell.
 * \param vectors vectors of a slice
 */
template <sample_type Type, class Vector>
__global__ void __launch_bounds__(threads) measure(const Vector* frame,
                                                   int64_t vectors,
                                                   int group,
                                                   const int* there,
                                                   flag_rules rules,
                                                   ring r,
                                                   float* powers,
                                                   uint8_t* flags)
{
    const int64_t cell = (int64_t(blockIdx.x) * threads + threadIdx.x) / group;
    const int lane = threadIdx.x % group;
    measured_cell<Type> sums;
    const bool is = cell < r.cells * rules.slices;
    if (is) {
        const Vector* at = frame + cell * vectors;
        for (int64_t i = lane; i < vectors; i += group)
            sums.add(at[i]);
    }
    for (int other = group / 2; other > 0; other /= 2) {
        sums.s1 += __shfl_xor_sync(~0u, sums.s1, other);
        sums.s2 += __shfl_xor_sync(~0u, sums.s2, other);
    }
    if (!is || lane > 0)
        return;
    const int64_t x = cell / rules.slices;
    const int slice = int(cell % rules.slices);
    const int channel = int(x / rules.inputs);
    float power;
    const int count = count_of(there, rules, x, slice);
    bool flagged;
    if constexpr (Type == sample_type::fc32)
        flagged = flagged_by_itself(
            rules, double(sums.s1), double(sums.s2), count, rules.bad[channel], power);
    else
        flagged = flagged_by_whole_sums(
            rules, sums.s1, sums.s2, count, rules.bad[channel], power);
    powers[r.row(slice) + x] = power;
    flags[r.row(slice) + x] = flagged;
}

__device__ __forceinline__ void exchange(float& a, float& b)
{
    const float low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
}

__device__ __forceinline__ float find_median(float (&v)[flag_window], int middle)
{
    sort_window(v, exchange);
    float found = v[0];
#pragma unroll
    for (int i = 1; i < flag_window; i++)
        found = middle == i ? v[i] : found;
    return found;
}

//! Returns how far a power is from the middle of its window.
__device__ __forceinline__ float
deviation(float (&v)[flag_window], float power, int there, const flag_rules& rules)
{
    int count = 0;
#pragma unroll
    for (int i = 0; i < flag_window; i++) {
        count += v[i] >= 0;
        v[i] = v[i] >= 0 ? v[i] : INFINITY;
    }
    const int middle = (count - 1) / 2;
    const float median = find_median(v, middle);
#pragma unroll
    for (int i = 0; i < flag_window; i++)
        v[i] =
            v[i] < INFINITY ? (v[i] < median ? median - v[i] : v[i] - median) : INFINITY;
    const float mad = find_median(v, middle);
    if (power < 0 || count < least_flag_window)
        return 0;
    return deviation_of(power,
                        median,
                        mad,
                        sqrtf(float(rules.spectra_per_slice)),
                        float(there) / float(rules.spectra_per_slice));
}

__global__ void __launch_bounds__(128) compare_in_time(flag_rules rules,
                                                       ring r,
                                                       const int* there,
                                                       const float* powers,
                                                       float* deviations,
                                                       uint8_t* flags)
{
    const int64_t x = int64_t(blockIdx.x) * 128 + threadIdx.x;
    const int slice = blockIdx.y;
    if (x >= r.cells)
        return;
    float v[flag_window];
#pragma unroll
    for (int i = 0; i < flag_window; i++)
        v[i] = powers[r.row(slice - kept_slices + i) + x];
    const float z =
        deviation(v, v[flag_window - 1], count_of(there, rules, x, slice), rules);
    deviations[r.row(slice) + x] = z;
    if (rules.time_sigma > 0 && fabsf(z) > rules.time_sigma)
        flags[r.row(slice) + x] = 1;
}

__global__ void __launch_bounds__(128) compare_in_frequency(flag_rules rules,
                                                            ring r,
                                                            const int* there,
                                                            const float* powers,
                                                            const uint8_t* flags,
                                                            float* across,
                                                            uint8_t* found)
{
    const int64_t x = int64_t(blockIdx.x) * 128 + threadIdx.x;
    const int slice = blockIdx.y;
    if (x >= r.cells)
        return;
    const int64_t row = r.row(slice);
    float v[flag_window];
#pragma unroll
    for (int i = 0; i < flag_window; i++) {
        const int64_t at = x + int64_t(i - flag_window / 2) * rules.inputs;
        v[i] = at >= 0 && at < r.cells && !flags[row + at] ? powers[row + at] : no_power;
    }
    const float z =
        deviation(v, powers[row + x], count_of(there, rules, x, slice), rules);
    across[slice * r.cells + x] = z;
    found[slice * r.cells + x] =
        flags[row + x] || (rules.channel_sigma > 0 && fabsf(z) > rules.channel_sigma);
}

//! Writes rows of flags from found [slice].
__global__ void __launch_bounds__(threads)
    put_flags(ring r, const uint8_t* found, uint8_t* flags)
{
    const int64_t x = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (x < r.cells)
        flags[r.row(blockIdx.y) + x] = found[blockIdx.y * r.cells + x];
}

/*!
 * Applies SumThreshold of one length along time, to longest_sum - 1 rows before the frame
 * and the frame's. `from` and `to` are the ring of flags, or scratch memory
 * [place][cell].
 */
__global__ void __launch_bounds__(threads) sum_in_time(ring r,
                                                       int places,
                                                       int length,
                                                       float limit,
                                                       const float* deviations,
                                                       const uint8_t* from,
                                                       bool from_ring,
                                                       uint8_t* to,
                                                       bool to_ring)
{
    const int64_t x = int64_t(blockIdx.x) * threads + threadIdx.x;
    const int place = blockIdx.y;
    constexpr int before = longest_sum - 1;
    if (x >= r.cells || (to_ring && place < before))
        return;
    const auto flag = [&](int i) {
        return from[(from_ring ? r.row(i - before) : i * r.cells) + x] != 0;
    };
    const auto value = [&](int i) { return deviations[r.row(i - before) + x]; };
    bool flagged = flag(place);
    for (int start = max(0, place - length + 1);
         !flagged && start <= min(place, places - length);
         start++)
        flagged = sum_is_above(start, length, limit, value, flag);
    to[(to_ring ? r.row(place - before) : place * r.cells) + x] = flagged;
}

//! Does the same along channels; scratch memory is [slice][cell].
__global__ void __launch_bounds__(threads) sum_in_frequency(flag_rules rules,
                                                            ring r,
                                                            int length,
                                                            float limit,
                                                            const float* across,
                                                            const uint8_t* from,
                                                            bool from_ring,
                                                            uint8_t* to,
                                                            bool to_ring)
{
    const int64_t x = int64_t(blockIdx.x) * threads + threadIdx.x;
    const int slice = blockIdx.y;
    if (x >= r.cells)
        return;
    const int channel = int(x / rules.inputs), input = int(x % rules.inputs);
    const int64_t row = r.row(slice), plain = slice * r.cells;
    const auto flag = [&](int c) {
        return from[(from_ring ? row : plain) + int64_t(c) * rules.inputs + input] != 0;
    };
    const auto value = [&](int c) {
        return across[plain + int64_t(c) * rules.inputs + input];
    };
    bool flagged = flag(channel);
    for (int start = max(0, channel - length + 1);
         !flagged && start <= min(channel, rules.channels - length);
         start++)
        flagged = sum_is_above(start, length, limit, value, flag);
    to[(to_ring ? row : plain) + x] = flagged;
}

//! Grows flags, and makes them a mask. A thread has a byte.
__global__ void __launch_bounds__(threads) write_mask(flag_rules rules,
                                                      ring r,
                                                      const int* there,
                                                      const uint8_t* flags,
                                                      uint8_t* mask,
                                                      unsigned long long* found_inputs,
                                                      unsigned long long* found_channels)
{
    const int bytes = (rules.slices + 7) / 8;
    const int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (at >= r.cells * bytes)
        return;
    const int64_t x = at / bytes;
    const int channel = int(x / rules.inputs), input = int(x % rules.inputs);
    const int low = max(0, channel - rules.grown_channels);
    const int high = min(rules.channels - 1, channel + rules.grown_channels);
    uint32_t bits = 0;
    for (int bit = 0; bit < 8; bit++) {
        const int slice = int(at % bytes) * 8 + bit;
        if (slice >= rules.slices || count_of(there, rules, x, slice) == 0)
            continue;
        bool flagged = rules.bad[channel];
        const int last = min(slice + rules.grown_slices, rules.slices - 1);
        for (int t = slice - rules.grown_slices; !flagged && t <= last; t++)
            for (int c = low; !flagged && c <= high; c++)
                flagged = flags[r.row(t) + int64_t(c) * rules.inputs + input];
        bits |= uint32_t(flagged) << bit;
    }
    mask[at] = uint8_t(bits);
    if (bits) {
        atomicAdd(&found_inputs[input], (unsigned long long)(__popc(bits)));
        atomicAdd(&found_channels[channel], (unsigned long long)(__popc(bits)));
    }
}

//! Sets flagged voltages to zero. A warp has the slices of a channel and input.
template <class Vector>
__global__ void __launch_bounds__(threads) zero(
    Vector* frame, int64_t vectors, const uint8_t* mask, flag_rules rules, int64_t cells)
{
    const int64_t x = (int64_t(blockIdx.x) * threads + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (x >= cells)
        return;
    const int bytes = (rules.slices + 7) / 8;
    for (int byte = 0; byte < bytes; byte++) {
        uint32_t bits = mask[x * bytes + byte];
        for (; bits; bits &= bits - 1) {
            const int slice = byte * 8 + __ffs(int(bits)) - 1;
            Vector* at = frame + (x * rules.slices + slice) * vectors;
            for (int64_t i = lane; i < vectors; i += 32)
                at[i] = Vector{};
        }
    }
}

//! Frames whose sums an F-engine has made.
struct summed_frames {
    cell_sums sums;
    int channels, first_channel; // channels of the filter, and first one of the frames
    int count;                   // frames
};

//! Channels and inputs of a warp of judge_sums().
constexpr int tile_channels = 8, tile_inputs = 4;

/*!
 * Judges the cells of summed frames by themselves, and sets their sums to zero. A thread
 * block has the slices of a byte of the mask, a warp one slice of a tile; blockIdx.y is
 * the frame.
 * \tparam Alone whether all other methods are off: then mask and voltages are done, too
 */
template <bool Alone, class Vector>
__global__ void __launch_bounds__(threads)
    judge_sums(summed_frames from,
               const int* there,
               flag_rules rules,
               ring r,
               float* powers,
               uint8_t* flags,
               uint8_t* masks,
               Vector* frames,
               int64_t vectors, // vectors of a slice
               unsigned long long* found_inputs,
               unsigned long long* found_channels)
{
    static_assert(tile_channels * tile_inputs == 32);
    __shared__ uint32_t found[8]; // for each slice, a bit of each lane
    const unsigned bytes = (rules.slices + 7) / 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int frame = blockIdx.y;
    // Neighbouring blocks have neighbouring channels, as their sums lie in memory.
    const unsigned along = (rules.channels + tile_channels - 1) / tile_channels;
    const unsigned byte = blockIdx.x / along % bytes;
    const unsigned first_channel = blockIdx.x % along * tile_channels;
    const unsigned first_input = blockIdx.x / along / bytes * tile_inputs;
    const int slice = int(byte) * 8 + warp;
    const int input = int(first_input) + lane / tile_channels;
    const int channel = int(first_channel) + lane % tile_channels;
    const int64_t x = int64_t(channel) * rules.inputs + input;
    const bool is = channel < rules.channels && input < rules.inputs;
    bool flagged = false;
    if (is && slice < rules.slices) {
        const int place = (from.sums.first_frame + frame) % from.sums.frames;
        const int64_t at =
            ((int64_t(place) * rules.inputs + input) * rules.slices + slice) *
                from.channels +
            from.first_channel + channel;
        const uint32_t s1 = __ldcg(from.sums.powers + at);
        const auto s2 = uint64_t(
            __ldcg(reinterpret_cast<unsigned long long*>(from.sums.squares) + at));
        const bool bad = rules.bad[channel];
        const int count = count_of(there, rules, x, slice);
        float power;
        flagged = flagged_by_whole_sums(rules, s1, s2, count, bad, power);
        // only the last slices of all these frames have a row
        const int number = frame * rules.slices + slice;
        if (number >= from.count * rules.slices - r.rows) {
            powers[r.row(number) + x] = power;
            flags[r.row(number) + x] = flagged;
        }
        flagged = count > 0 && (flagged || bad);
        // Not before they have been used: a store to data that is being loaded holds up
        // all loads and stores of its multiprocessor, 70 microseconds in all once.
        from.sums.powers[at] = 0;
        from.sums.squares[at] = 0;
    }
    if constexpr (Alone) {
        const uint32_t lanes = __ballot_sync(~0u, flagged);
        if (lane == 0)
            found[warp] = lanes;
        for (uint32_t left = lanes; left; left &= left - 1) {
            const int64_t cell =
                frame * r.cells + __shfl_sync(~0u, x, __ffs(int(left)) - 1);
            Vector* at = frames + (cell * rules.slices + slice) * vectors;
            for (int64_t i = lane; i < vectors; i += 32)
                at[i] = Vector{};
        }
        __syncthreads();
        if (warp > 0 || !is)
            return;
        uint32_t bits = 0;
        for (int i = 0; i < int(blockDim.x / 32); i++)
            bits |= (found[i] >> lane & 1) << i;
        masks[(frame * r.cells + x) * bytes + byte] = uint8_t(bits);
        if (bits) {
            atomicAdd(&found_inputs[input], (unsigned long long)(__popc(bits)));
            atomicAdd(&found_channels[channel], (unsigned long long)(__popc(bits)));
        }
    }
}

class cuda_flagging : public flagging
{
public:
    cuda_flagging(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_slice_bytes(p.layout.spectra_per_slice * size_of(p.type)),
          d_ring{ int64_t(p.layout.channels) * p.layout.inputs,
                  kept_slices + p.layout.slices(),
                  0 },
          d_powers(d_ring.cells * d_ring.rows),
          d_deviations(d_ring.cells * d_ring.rows),
          d_flags(d_ring.cells * d_ring.rows),
          d_across(d_ring.cells * p.layout.slices()),
          d_scratch{ device_array<uint8_t>(d_ring.cells * places()),
                     device_array<uint8_t>(d_ring.cells * places()) },
          d_found_inputs(p.layout.inputs),
          d_found_channels(p.layout.channels),
          d_there(size_t(p.layout.inputs) * p.layout.slices(), 32),
          d_limits(p.layout.spectra_per_slice + 1, 2),
          d_nodes(std::max<size_t>(1, quantised_kurtosis::of(p.type).nodes.size()), 2),
          d_bad(p.layout.channels, 2)
    {
        const tables first(p, p.methods);
        std::vector<kurtosis_limits> limits = first.limits;
        start_with(d_limits.data(), limits);
        if (!first.nodes.empty())
            start_with(d_nodes.data(), first.nodes);
        start_with(d_bad.data(), first.bad);
        d_rules = first.rules(d_limits.data(), d_nodes.data(), d_bad.data());
        start_with(d_powers.data(),
                   std::vector<float>(d_ring.cells * d_ring.rows, no_power));
        start_with_zeros(d_deviations.data(), d_deviations.size());
        start_with_zeros(d_flags.data(), d_flags.size());
        load_all();
    }

    std::string implementation() const override { return "cuda"; }

    void use(const std::shared_ptr<const tables>& t, stream& s) override
    {
        const device_guard guard(d_device);
        d_limits.set(t->limits.data(), native(s));
        if (!t->nodes.empty())
            d_nodes.set(t->nodes.data(), t->nodes.size(), native(s));
        d_bad.set(t->bad.data(), native(s));
        d_rules = t->rules(d_limits.data(), d_nodes.data(), d_bad.data());
    }

    void execute(const void* in,
                 void* out,
                 uint8_t* masks,
                 int frames,
                 const int* there,
                 stream& s) override
    {
        const device_guard guard(d_device);
        if (in != out)
            check(cudaMemcpyAsync(out,
                                  in,
                                  frames * d_p.frame_bytes(),
                                  cudaMemcpyDeviceToDevice,
                                  native(s)),
                  "copying frames");
        for (int f = 0; f < frames; f++) {
            const int* counts = nullptr;
            if (there) {
                d_there.set(there + f * counts_of_frame(), native(s));
                counts = d_there.data();
            }
            uint8_t* frame = static_cast<uint8_t*>(out) + f * d_p.frame_bytes();
            uint8_t* mask = masks + f * d_p.layout.item_bytes();
            measure_frame(frame, counts, native(s));
            decide(counts, native(s));
            finish(frame, mask, counts, native(s));
            pass(1);
        }
        if (d_sums.frames > 0)
            for (int f = 0; f < frames; f++, pass_sums(1))
                clear_sums(d_sums.first_frame, 1, native(s));
    }

    bool prepare_sums(int frames, int channels, int first_channel) override
    {
        if (d_p.type != sample_type::sc8)
            return false;
        const device_guard guard(d_device);
        d_filter_channels = channels;
        d_first_channel = first_channel;
        const size_t all = sums_of_frame() * frames;
        d_sums_of_powers = device_array<uint32_t>(all);
        d_sums_of_squares = device_array<uint64_t>(all);
        start_with_zeros(d_sums_of_powers.data(), all);
        start_with_zeros(d_sums_of_squares.data(), all);
        d_sums = { d_sums_of_powers.data(), d_sums_of_squares.data(),    frames, 0,
                   d_p.layout.slices(),     d_p.layout.spectra_per_slice };
        with_vectors([&](auto, auto vector) {
            load(judge_sums<false, decltype(vector)>);
            load(judge_sums<true, decltype(vector)>);
        });
        return true;
    }

    cell_sums sums() const override { return d_sums; }

    void execute_summed(
        void* frames, uint8_t* masks, int count, const int* there, stream& s) override
    {
        const device_guard guard(d_device);
        const bool alone = !d_rules.in_time() && !d_rules.in_frequency() &&
                           d_rules.grown_slices == 0 && d_rules.grown_channels == 0;
        // All frames together where only their own cells matter.
        const int each = alone && !there ? count : 1;
        for (int f = 0; f < count; f += each) {
            const int* counts = nullptr;
            if (there) {
                d_there.set(there + f * counts_of_frame(), native(s));
                counts = d_there.data();
            }
            uint8_t* frame = static_cast<uint8_t*>(frames) + f * d_p.frame_bytes();
            uint8_t* mask = masks + f * d_p.layout.item_bytes();
            judge(frame, mask, each, counts, alone, native(s));
            if (!alone) {
                decide(counts, native(s));
                finish(frame, mask, counts, native(s));
            }
            pass(each);
            pass_sums(each);
        }
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        // any number below 0 stands for no power
        check(cudaMemsetAsync(d_powers.data(), 0xbf, d_powers.bytes(), native(s)),
              "forgetting powers");
        check(cudaMemsetAsync(d_deviations.data(), 0, d_deviations.bytes(), native(s)),
              "forgetting powers");
        check(cudaMemsetAsync(d_flags.data(), 0, d_flags.bytes(), native(s)),
              "forgetting flags");
        d_ring.first = 0;
        if (d_sums.frames > 0)
            clear_sums(0, d_sums.frames, native(s));
        d_sums.first_frame = 0;
    }

    counts found() const override
    {
        return { d_found_inputs.read(), d_found_channels.read() };
    }

private:
    int places() const { return longest_sum - 1 + d_p.layout.slices(); }
    size_t counts_of_frame() const
    {
        return size_t(d_p.layout.inputs) * d_p.layout.slices();
    }
    size_t sums_of_frame() const
    {
        return size_t(d_p.layout.inputs) * d_p.layout.slices() * d_filter_channels;
    }
    void pass(int frames)
    {
        d_ring.first =
            int((d_ring.first + int64_t(frames) * d_rules.slices) % d_ring.rows);
    }
    void pass_sums(int frames)
    {
        d_sums.first_frame = (d_sums.first_frame + frames) % d_sums.frames;
    }
    void clear_sums(int first, int frames, cudaStream_t s) const
    {
        const size_t at = first * sums_of_frame(), count = frames * sums_of_frame();
        check(cudaMemsetAsync(d_sums.powers + at, 0, count * sizeof(uint32_t), s),
              "forgetting sums");
        check(cudaMemsetAsync(d_sums.squares + at, 0, count * sizeof(uint64_t), s),
              "forgetting sums");
    }
    dim3 grid(int block, int rows) const
    {
        return { blocks_for(d_ring.cells, block), unsigned(rows), 1 };
    }

    //! Calls a function with the samples' type and the widest vector of a slice.
    template <class Then>
    void with_vectors(const Then& then) const
    {
        const auto vector = [&](auto type) {
            constexpr sample_type t = decltype(type)::value;
            if (d_slice_bytes % 16 == 0)
                then(type, uint4{});
            else if (t == sample_type::fc32 || d_slice_bytes % 8 == 0)
                then(type, uint2{});
            else if (d_slice_bytes % 4 == 0)
                then(type, uint32_t{});
            else if (t == sample_type::sc8 || d_slice_bytes % 2 == 0)
                then(type, uint16_t{});
            else
                then(type, uint8_t{});
        };
        switch (d_p.type) {
        case sample_type::sc8:
            return vector(std::integral_constant<sample_type, sample_type::sc8>{});
        case sample_type::sc4:
            return vector(std::integral_constant<sample_type, sample_type::sc4>{});
        default:
            return vector(std::integral_constant<sample_type, sample_type::fc32>{});
        }
    }

    void load_all() const
    {
        with_vectors([&](auto type, auto vector) {
            load(measure<decltype(type)::value, decltype(vector)>);
            load(zero<decltype(vector)>);
        });
        load(compare_in_time);
        load(compare_in_frequency);
        load(put_flags);
        load(sum_in_time);
        load(sum_in_frequency);
        load(write_mask);
    }

    void measure_frame(const uint8_t* frame, const int* counts, cudaStream_t s)
    {
        with_vectors([&](auto type, auto vector) {
            using v = decltype(vector);
            const int64_t vectors = d_slice_bytes / sizeof(v);
            int group = 1; // about four loads a lane
            while (group < 32 && group * 4 < vectors)
                group *= 2;
            measure<decltype(type)::value, v>
                <<<blocks_for(d_ring.cells * d_rules.slices * group, threads),
                   threads,
                   0,
                   s>>>(reinterpret_cast<const v*>(frame),
                        vectors,
                        group,
                        counts,
                        d_rules,
                        d_ring,
                        d_powers.data(),
                        d_flags.data());
        });
        check_launch("sums of slices");
    }

    //! \param alone whether it also makes masks and voltages
    void judge(void* frames,
               uint8_t* masks,
               int count,
               const int* counts,
               bool alone,
               cudaStream_t s)
    {
        with_vectors([&](auto, auto vector) {
            using v = decltype(vector);
            const auto& l = d_p.layout;
            const int64_t tiles =
                int64_t((l.channels + tile_channels - 1) / tile_channels) *
                ((l.inputs + tile_inputs - 1) / tile_inputs);
            const dim3 blocks(unsigned(tiles * l.bytes_per_input()), unsigned(count));
            const auto kernel = alone ? judge_sums<true, v> : judge_sums<false, v>;
            kernel<<<blocks, 32 * std::min(8, l.slices()), 0, s>>>(
                { d_sums, d_filter_channels, d_first_channel, count },
                counts,
                d_rules,
                d_ring,
                d_powers.data(),
                d_flags.data(),
                masks,
                static_cast<v*>(frames),
                int64_t(d_slice_bytes / sizeof(v)),
                d_found_inputs.data(),
                d_found_channels.data());
        });
        check_launch("sums of an F-engine");
    }

    void decide(const int* counts, cudaStream_t s)
    {
        if (d_rules.in_time())
            compare_in_time<<<grid(128, d_rules.slices), 128, 0, s>>>(d_rules,
                                                                      d_ring,
                                                                      counts,
                                                                      d_powers.data(),
                                                                      d_deviations.data(),
                                                                      d_flags.data());
        if (d_rules.time_sum_sigma > 0)
            each_length(places(), [&](int length, const step& at) {
                sum_in_time<<<grid(threads, places()), threads, 0, s>>>(
                    d_ring,
                    places(),
                    length,
                    sum_limit(d_rules.time_sum_sigma, length),
                    d_deviations.data(),
                    at.from,
                    at.from_ring,
                    at.to,
                    at.to_ring);
            });
        if (d_rules.in_frequency()) {
            compare_in_frequency<<<grid(128, d_rules.slices), 128, 0, s>>>(
                d_rules,
                d_ring,
                counts,
                d_powers.data(),
                d_flags.data(),
                d_across.data(),
                d_scratch[0].data());
            put_flags<<<grid(threads, d_rules.slices), threads, 0, s>>>(
                d_ring, d_scratch[0].data(), d_flags.data());
        }
        if (d_rules.channel_sum_sigma > 0)
            each_length(d_rules.channels, [&](int length, const step& at) {
                sum_in_frequency<<<grid(threads, d_rules.slices), threads, 0, s>>>(
                    d_rules,
                    d_ring,
                    length,
                    sum_limit(d_rules.channel_sum_sigma, length),
                    d_across.data(),
                    at.from,
                    at.from_ring,
                    at.to,
                    at.to_ring);
            });
        check_launch("flags");
    }

    //! The flags before and after a length of SumThreshold.
    struct step {
        const uint8_t* from;
        bool from_ring;
        uint8_t* to;
        bool to_ring;
    };
    //! Applies lengths from the ring of flags, by way of scratch memory, back to it.
    template <class Then>
    void each_length(int cells, const Then& then)
    {
        const int longest = std::min(longest_sum, cells);
        int at = 0;
        for (int length = 1; length <= longest; length *= 2, at++) {
            const bool first = length == 1, last = 2 * length > longest;
            then(length,
                 step{ first ? d_flags.data() : d_scratch[(at + 1) % 2].data(),
                       first,
                       last ? d_flags.data() : d_scratch[at % 2].data(),
                       last });
        }
    }

    void finish(uint8_t* frame, uint8_t* mask, const int* counts, cudaStream_t s)
    {
        write_mask<<<blocks_for(d_p.layout.item_bytes(), threads), threads, 0, s>>>(
            d_rules,
            d_ring,
            counts,
            d_flags.data(),
            mask,
            d_found_inputs.data(),
            d_found_channels.data());
        with_vectors([&](auto, auto vector) {
            using v = decltype(vector);
            zero<v><<<blocks_for(d_ring.cells * 32, threads), threads, 0, s>>>(
                reinterpret_cast<v*>(frame),
                int64_t(d_slice_bytes / sizeof(v)),
                mask,
                d_rules,
                d_ring.cells);
        });
        check_launch("flagged voltages");
    }

    const parameters d_p;
    const int d_device;
    const size_t d_slice_bytes;
    ring d_ring;
    flag_rules d_rules;
    device_array<float> d_powers, d_deviations;
    device_array<uint8_t> d_flags;
    device_array<float> d_across;
    device_array<uint8_t> d_scratch[2];
    counters d_found_inputs, d_found_channels;
    uploaded_array<int> d_there;
    uploaded_array<kurtosis_limits> d_limits;
    uploaded_array<quantised_kurtosis::node> d_nodes;
    uploaded_array<uint8_t> d_bad;
    cell_sums d_sums{}; // empty, unless an F-engine makes them
    int d_filter_channels = 0, d_first_channel = 0;
    device_array<uint32_t> d_sums_of_powers;
    device_array<uint64_t> d_sums_of_squares;
};

} // namespace

template <>
std::unique_ptr<flagging>
make(const flagging::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_flagging>(p, device);
}

} // namespace gr::aperture::kernels::cuda
