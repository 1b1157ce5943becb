/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CUH

#include "kernels/cuda/beamformer_wgmma.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/pfb_fused.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/wgmma.cuh"
#include <cuda_fp16.h>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*
 * Filter bank of 1024 channels from 8-bit samples to 8-bit spectra, transformed by tensor
 * cores. With sample n = 32 a + b of the filtered line z and channel k = c + 32 d,
 *
 *   y[c + 32 d] = sum_b w32^(b d) w1024^(b c) sum_a w32^(a c) z[32 a + b]
 *
 * are two products with a matrix of 32 x 32, in half precision with single-precision
 * sums, and twiddles in single precision between them. Real and imaginary parts are rows
 * or columns of their own: the matrices have 64 x 64 real numbers.
 *
 * A block of threads works on its own, from one piece of an input to the next. Eight
 * warps filter: a thread has four samples of the line, its coefficients and the window of
 * the last lines in registers, reads and converts each sample once, and leaves filtered
 * ones in slots of shared memory, as the tensor cores want them. Crews of four warps each
 * take the slots in turn. What a lane has of the first product's sums is, after the
 * twiddles, its part of an operand of the second: nothing goes through memory between
 * them.
 */
namespace tensor {

constexpr int channels = 1024, radix = 32;
constexpr int most_taps = 8;
constexpr int group = 8; // spectra that the filter makes of lines that arrive together
constexpr int line_bytes = 2 * channels; // of samples, and of what comes out
constexpr int group_bytes = group * line_bytes;
constexpr int pair = 2; // spectra of a matrix product
constexpr int slot_spectra = 2 * pair;
constexpr int crews = 2, slots = 6;
constexpr int filter_warps = 8, crew_warps = 4;
constexpr int crew_threads = 32 * crew_warps;
constexpr int threads = crews * crew_threads + 32 * filter_warps;
// registers of a thread: what the compiler gives to each, and what they make of it
constexpr int filter_registers = 136, crew_registers = 120;
constexpr int filtered_bytes = 4 * channels; // of a spectrum, in half precision
constexpr int matrix_row = 2 * radix * int(sizeof(__half));
constexpr int steps = 2 * radix / 16; // of a matrix product
constexpr int matrix_bytes = 2 * radix * matrix_row;
// two lines that warps write together begin at banks that the other leaves free
constexpr int result_pitch = line_bytes + 32;

/*!
 * How results are stored. Spectra: a crew makes slots in turn, and its warps a line each.
 * Blocks [channel][input][time]: it makes `set` slots in a row, 16 times, which are a
 * sector of memory.
 */
enum class store { spectra, blocks };
template <store Store>
inline constexpr int set = Store == store::blocks ? 4 : 1;
//! Of groups of lines that arrive.
template <store Store>
inline constexpr int stages = Store == store::blocks ? 2 : 3;
constexpr int ahead = 2; // that are on their way when a piece begins
// words of a thread for the times of a channel, two in each, follow in steps of
// crew_threads; those of the second 8 times begin at a bank that the first leave free
constexpr int set_times = set<store::blocks> * slot_spectra;
constexpr int second_half = set_times / 4 * crew_threads + 1;
constexpr int turned_channel = set_times / 2 * crew_threads + 32;
template <store Store>
inline constexpr int result_bytes = Store == store::blocks
                                        ? 8 * turned_channel * 4
                                        : 2 * (slot_spectra * result_pitch);

//! A place in a ring, and how often it was gone around.
template <int Length>
struct ring_place {
    int index, parity;
    __device__ void advance(int by = 1)
    {
        index += by;
        if (index >= Length) {
            index -= Length;
            parity ^= 1;
        }
    }
};

//! Shared memory. The tensor cores want theirs at multiples of 1024.
template <store Store>
struct memory {
    char filtered[slots][slot_spectra * filtered_bytes];
    char matrices[2][matrix_bytes];
    float4 twiddles[steps][crew_threads];
    char samples[stages<Store>][group_bytes];
    char results[crews][result_bytes<Store>];
    uint64_t full[slots], empty[slots];                             // filtered
    uint64_t stage_full[stages<Store>], stage_empty[stages<Store>]; // samples
    // of the thread that brings samples; here, for others have no registers to spare
    struct {
        const char* from;
        int64_t lines;
        int groups;
        ring_place<stages<Store>> at;
    } loader;
};

//! What a call is told besides what fused kernels are; of them: prototype [most_taps]
//! [channel], later taps in later lines; twiddles [steps][crew_threads][2], gains [input]
//! likewise.
struct call : fused_call {
    const uint4* matrices; // as memory has them
    int64_t groups;        // of spectra of an input
    int run;               // of blocks: groups that a piece has at most
};

//! Groups of spectra in a row of one input.
struct piece {
    int input;
    int groups;
    int64_t first; // spectrum
};

/*!
 * What a block of threads works on. Of spectra an even share, of as few inputs as
 * possible; of blocks short pieces in turn, so that all together fill rows of times
 * before these leave the cache. Inputs whose samples were lost are left out.
 */
template <store Store>
class pieces
{
public:
    __device__ explicit pieces(const call& c)
    {
        if constexpr (Store == store::blocks) {
            d_next = blockIdx.x;
            d_end = (c.groups + c.run - 1) / c.run * c.inputs;
        } else {
            d_next = c.groups * c.inputs * blockIdx.x / gridDim.x;
            d_end = c.groups * c.inputs * (blockIdx.x + 1) / gridDim.x;
        }
    }
    //! \return whether there was one
    __device__ bool take(piece& p, const call& c)
    {
        while (d_next < d_end) {
            if constexpr (Store == store::blocks) {
                const int64_t before = d_next / c.inputs * c.run;
                p = { int(d_next % c.inputs),
                      int(min(int64_t(c.run), c.groups - before)),
                      before * group };
                d_next += gridDim.x;
            } else {
                const int input = int(d_next / c.groups);
                const int64_t before = d_next - input * c.groups;
                p = { input,
                      int(min(c.groups - before, d_end - d_next)),
                      before * group };
                d_next += p.groups;
            }
            if (c.source_of(p.input).samples)
                return true;
        }
        return false;
    }

private:
    int64_t d_next, d_end;
};

// ---------------------------------------------------------------------------------------
// Filter

__device__ __forceinline__ uint2 load_eight_bytes(uint32_t address)
{
    uint2 v;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address)
                 : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_word(uint32_t address)
{
    uint32_t word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

__device__ __forceinline__ void store_word(uint32_t address, uint32_t word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

//! In half precision, x in the lower half.
__device__ __forceinline__ uint32_t halves(float x, float y)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
    return word;
}

//! The highest bit of bytes that are -128.
__device__ __forceinline__ uint32_t lowest_bytes(uint32_t v)
{
    return v & ~((v & 0x7f7f7f7f) + 0x7f7f7f7f) & 0x80808080;
}

//! Four samples with -128 as -127.
__device__ __forceinline__ uint2 clamped_samples(uint2 v)
{
    return { v.x | lowest_bytes(v.x) >> 7, v.y | lowest_bytes(v.y) >> 7 };
}

//! Samples that are clamped. \param number of the first of the four; those from `counted`
//! on before `end` count
__device__ __noinline__ int
count_clamped(uint2 v, int64_t number, int64_t counted, int64_t end)
{
    const uint32_t words[] = { lowest_bytes(v.x), lowest_bytes(v.y) };
    int found = 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
        found += (words[k / 2] >> k % 2 * 16 & 0xffff) != 0 && number + k >= counted &&
                 number + k < end;
    return found;
}

__device__ __forceinline__ void unpack_samples(float (&x)[8], uint2 v)
{
    const float4 low = byte_samples<true>::unpack(v.x);
    const float4 high = byte_samples<true>::unpack(v.y);
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

//! The next group of lines, if there is one; of the last groups some lines may lack.
template <store Store>
__device__ __forceinline__ void load_group(memory<Store>& m)
{
    auto& l = m.loader;
    if (l.groups == 0)
        return;
    const int i = l.at.index;
    const int bytes = int(max(int64_t(0), min(l.lines, int64_t(group)))) * line_bytes;
    wait_for(&m.stage_empty[i], l.at.parity ^ 1);
    arrive_expecting(&m.stage_full[i], bytes);
    if (bytes > 0)
        copy_bytes(shared_address(m.samples[i]), l.from, &m.stage_full[i], bytes);
    l.at.advance();
    l.from += group_bytes;
    l.lines -= group;
    l.groups--;
}

/*!
 * Sample 32 a + b of spectrum s of a slot is word a of row 32 s + b / 4 + 8 (b % 4); rows
 * have 128 bytes and are swizzled. A warp has four a, a thread b to b + 3: it reads them
 * in a row, and the 32 words that a warp writes at a time lie in different banks.
 */
template <store Store>
__device__ __forceinline__ void filter(memory<Store>& m, const call& c)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 - crews * crew_warps;
    const int row = lane % 8, a = 4 * warp + lane / 8;
    const int place = radix * a + 4 * row; // in the line
    const uint32_t word = row * matrix_row + ((a / 4) ^ row) * 16 + a % 4 * 4;
    float h[most_taps][4];
#pragma unroll
    for (int t = 0; t < most_taps; t++) {
        const float4 v =
            *reinterpret_cast<const float4*>(c.prototype + t * channels + place);
        h[t][0] = v.x, h[t][1] = v.y, h[t][2] = v.z, h[t][3] = v.w;
    }
    const bool loads = threadIdx.x == crews * crew_threads;
    ring_place<stages<Store>> stage{};
    ring_place<slots> slot{};
    if (loads)
        m.loader.at = {};
    const int64_t end = (c.spectra + c.taps - 1) * channels; // of samples
    pieces<Store> all(c);
    piece p;
#pragma unroll 1
    while (all.take(p, c)) {
        const auto& source = c.source_of(p.input);
        const int64_t counted = int64_t(source.counted);
        const char* lines =
            static_cast<const char*>(source.samples) + p.first * line_bytes;
        if (loads) {
            m.loader.from = lines + (c.taps - 1) * line_bytes;
            m.loader.lines = c.spectra - p.first;
            m.loader.groups = p.groups;
            for (int i = 0; i < ahead; i++)
                load_group(m);
        }
        __syncwarp();
        int found = 0;
        // the last lines; the first spectrum's first tap is tap most_taps - taps here
        float x[most_taps][8];
#pragma unroll
        for (int i = 0; i < most_taps - 1; i++) {
            uint2 raw{};
            const int line = i - (most_taps - c.taps);
            if (line >= 0) {
                raw = __ldg(reinterpret_cast<const uint2*>(lines + line * line_bytes +
                                                           2 * place));
                // of later pieces, those before have counted these
                if (p.first == 0)
                    found += count_clamped(raw, line * channels + place, counted, end);
            }
            unpack_samples(x[i], clamped_samples(raw));
        }
        int64_t number = (p.first + c.taps - 1) * channels + place;
#pragma unroll 1
        for (int g = 0; g < p.groups; g++) {
            if (loads && g > 0)
                load_group(m);
            __syncwarp();
            wait_for(&m.stage_full[stage.index], stage.parity);
#pragma unroll
            for (int part = 0; part < group; part += slot_spectra) {
                const uint32_t from = shared_address(m.samples[stage.index]) +
                                      part * line_bytes + 2 * place;
                uint2 raw[slot_spectra];
                uint32_t suspects = 0;
#pragma unroll
                for (int s = 0; s < slot_spectra; s++) {
                    raw[s] = load_eight_bytes(from + s * line_bytes);
                    suspects |= byte_samples<true>::suspects(raw[s].x) |
                                byte_samples<true>::suspects(raw[s].y);
                }
                if (part + slot_spectra == group) {
                    __syncwarp();
                    if (lane == 0)
                        arrive(&m.stage_empty[stage.index]);
                }
                if (suspects & byte_samples<true>::suspect) {
#pragma unroll
                    for (int s = 0; s < slot_spectra; s++) {
                        found += count_clamped(
                            raw[s], number + (part + s) * channels, counted, end);
                        raw[s] = clamped_samples(raw[s]);
                    }
                }
                wait_for(&m.empty[slot.index], slot.parity ^ 1);
                const uint32_t to = shared_address(m.filtered[slot.index]) + word;
#pragma unroll
                for (int s = 0; s < slot_spectra; s++) {
                    constexpr int window = most_taps;
                    unpack_samples(x[(part + s + window - 1) % window], raw[s]);
                    float z[8];
#pragma unroll
                    for (int k = 0; k < 8; k++) {
                        z[k] = __fmul_rn(h[0][k / 2], x[(part + s) % window][k]);
#pragma unroll
                        for (int t = 1; t < window; t++)
                            z[k] = __fmaf_rn(
                                h[t][k / 2], x[(part + s + t) % window][k], z[k]);
                    }
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        store_word(to + s * filtered_bytes + k * 8 * matrix_row,
                                   halves(z[2 * k], z[2 * k + 1]));
                }
                fence_async();
                __syncwarp();
                if (lane == 0)
                    arrive(&m.full[slot.index]);
                slot.advance();
            }
            stage.advance();
            number += group * channels;
        }
        add_of_warp(c.lowest + p.input, found);
    }
}

// ---------------------------------------------------------------------------------------
// Transform. Lane 4 g + t of warp w of a crew has channels with c = 8 w + g. Of the first
// product, row 16 w + g is the real and row 16 w + g + 8 the imaginary part of its c, and
// a column is a row of filtered samples; of the second, these rows are its c of the first
// and of the second spectrum, and column 8 i + 2 t (+ 1) is the real (imaginary) part of
// d = 4 i + t.

//! First product: sums [64][64] of a matrix [64][16] and filtered samples [64][16], both
//! in shared memory; as wgmma_half() otherwise.
__device__ __forceinline__ void
multiply_shared(float (&s)[32], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
                 "%30, %31}, %32, %33, add, 1, 1, 0, 0;\n}"
                 : "+f"(s[0]),
                   "+f"(s[1]),
                   "+f"(s[2]),
                   "+f"(s[3]),
                   "+f"(s[4]),
                   "+f"(s[5]),
                   "+f"(s[6]),
                   "+f"(s[7]),
                   "+f"(s[8]),
                   "+f"(s[9]),
                   "+f"(s[10]),
                   "+f"(s[11]),
                   "+f"(s[12]),
                   "+f"(s[13]),
                   "+f"(s[14]),
                   "+f"(s[15]),
                   "+f"(s[16]),
                   "+f"(s[17]),
                   "+f"(s[18]),
                   "+f"(s[19]),
                   "+f"(s[20]),
                   "+f"(s[21]),
                   "+f"(s[22]),
                   "+f"(s[23]),
                   "+f"(s[24]),
                   "+f"(s[25]),
                   "+f"(s[26]),
                   "+f"(s[27]),
                   "+f"(s[28]),
                   "+f"(s[29]),
                   "+f"(s[30]),
                   "+f"(s[31])
                 : "l"(a), "l"(b), "r"(int(add)));
}

using rows = rows_matrix<8 * matrix_row>;
//! From columns to the ones that are a k16 step further on.
constexpr int step_bytes = 16 * int(sizeof(__half));

//! Twiddles: those of group `step` of eight columns are of 2 t and 2 t + 1.
__device__ __forceinline__ void
twiddle(uint32_t (&operand)[steps][4], const float (&sums)[32], const float4 (&w)[steps])
{
#pragma unroll
    for (int step = 0; step < steps; step++)
#pragma unroll
        for (int spectrum = 0; spectrum < pair; spectrum++) {
            const float* s = sums + 16 * spectrum + 4 * step;
            const float2 a = times(float2{ s[0], s[2] }, float2{ w[step].x, w[step].y });
            const float2 b = times(float2{ s[1], s[3] }, float2{ w[step].z, w[step].w });
            operand[step][spectrum] = halves(a.x, a.y);
            operand[step][2 + spectrum] = halves(b.x, b.y);
        }
}

//! When this is called, neither before nor later.
__device__ __forceinline__ float4 load_numbers(const float4* from)
{
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}
//! Likewise, from shared memory.
__device__ __forceinline__ float4 load_numbers(uint32_t from)
{
    const uint4 v = load_shared(from);
    return { __uint_as_float(v.x),
             __uint_as_float(v.y),
             __uint_as_float(v.z),
             __uint_as_float(v.w) };
}

/*!
 * Gains and conversion: bytes[i] has d = 4 i + t of the first spectrum and, in the upper
 * half, of the second. \param gains of two i in a row each \param valid spectra of the
 * pair that are wanted \return how many numbers of these were clamped
 */
__device__ __forceinline__ int quantise(uint32_t (&bytes)[8],
                                        const float (&sums)[32],
                                        const float4 (&gains)[4],
                                        int valid)
{
    const auto amplify = [&](int i, int spectrum) {
        const float* y = sums + 4 * i + 2 * spectrum;
        const float4 g = gains[i / 2];
        return amplified({ y[0], y[1] }, i % 2 ? float2{ g.z, g.w } : float2{ g.x, g.y });
    };
    float most = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 a = amplify(i, 0), b = amplify(i, 1);
        most = larger(most, larger(largest(a), largest(b)));
        bytes[i] = rounded(a, rounded(b, 0));
    }
    if (most <= most_fitting)
        return 0;
    int found = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 a = amplify(i, 0), b = amplify(i, 1);
        found += (valid > 0 && !(largest(a) <= most_fitting)) +
                 (valid > 1 && !(largest(b) <= most_fitting));
        bytes[i] = rounded(fitting(a), rounded(fitting(b)));
    }
    return found;
}

//! Four matrices of 8 x 8 halves of words; lane 8 i + r gives the place of column r of
//! matrix i.
__device__ __forceinline__ void store_columns(uint32_t address, const uint32_t* words)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
            address),
        "r"(words[0]),
        "r"(words[1]),
        "r"(words[2]),
        "r"(words[3])
        : "memory");
}

//! A line of shared memory to memory, by one thread.
__device__ __forceinline__ void store_line(char* to, uint32_t from)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from),
                 "n"(line_bytes)
                 : "memory");
}

//! Up to eight times.
__device__ __noinline__ void store_times(uint16_t* to, uint4 words, int wanted)
{
    const uint32_t list[] = { words.x, words.y, words.z, words.w };
#pragma unroll
    for (int t = 0; t < 8; t++)
        if (t < wanted)
            to[t] = uint16_t(list[t / 2] >> 16 * (t % 2));
}

/*!
 * Times of a set into the block. Two lanes store a sector, first that of the one's
 * channel, then that of the other's. \param from the crew's results \param row of the
 * block, with the set's first time \param wanted how many times there are
 */
__device__ __forceinline__ void
store_set(uint32_t from, int thread, uint16_t* row, int wanted, const call& c)
{
    const int half = thread % 2, lane = thread % 32;
    const int channel = thread / 32 * 8 + lane / 4 + lane % 4 / 2 * 2 * radix;
    const int place = channel - c.first_channel;
    const int64_t step = int64_t(radix) * c.inputs * c.times;
    const int times = set_times / 2;
    const bool whole = (c.times | c.first_time) % times == 0 &&
                       reinterpret_cast<uintptr_t>(c.block) % 16 == 0 &&
                       times * (half + 1) <= wanted;
    uint16_t* to = row + int64_t(place) * c.inputs * c.times + times * half;
    from += (half * second_half + thread / 2 * 2) * 4;
#pragma unroll 2
    for (int i = 0; i < 2 * 8; i++) { // the even one's, the odd one's, and two of others
        uint4 words;
        words.x = load_word(from);
        words.y = load_word(from + crew_threads * 4);
        words.z = load_word(from + 2 * crew_threads * 4);
        words.w = load_word(from + 3 * crew_threads * 4);
        if (unsigned(place + radix * (i / 2 * 4 + i % 2)) < unsigned(c.selected)) {
            if (whole)
                __stcg(reinterpret_cast<uint4*>(to), words);
            else
                store_times(to, words, wanted - times * half);
        }
        to += i % 2 == 0 ? step : 3 * step;
        from += i % 2 == 0 ? 4 : (turned_channel - 1) * 4;
    }
}

template <store Store>
__device__ __forceinline__ void transform(memory<Store>& m, const call& c)
{
    constexpr bool turned = Store == store::blocks;
    const int crew = threadIdx.x / crew_threads, thread = threadIdx.x % crew_threads;
    const int lane = thread % 32, warp = thread / 32;
    int leads = lane == 0; // its warp; kept, or it would be found out again and again
    asm volatile("" : "+r"(leads));
    const rows first_matrix(shared_address(m.matrices[0]));
    const rows second_matrix(shared_address(m.matrices[1]));
    // of spectra: column 2 t + spectrum of matrix i has d = 4 i + t
    const uint32_t column = turned ? thread * 4
                                   : lane % 2 * result_pitch +
                                         (lane / 8 * 4 + lane % 8 / 2) * radix * 2 +
                                         warp * 16;
    ring_place<slots> slot{};
    slot.advance(crew * set<Store>);
    piece p;
    int sets = 0;
    for (pieces<Store> all(c); all.take(p, c);)
        sets += p.groups * (group / slot_spectra) / set<Store>;
    int left = (sets - crew + crews - 1) / crews * set<Store>; // slots of this crew
    if (left <= 0)
        return;
    const auto start_first = [&](float(&sums)[32], int first) {
        const rows filtered(shared_address(m.filtered[slot.index]) +
                            first * filtered_bytes);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            multiply_shared(sums,
                            first_matrix.descriptor(i * step_bytes),
                            filtered.descriptor(i * step_bytes),
                            i > 0);
        wgmma_commit();
    };
    // factors come when they are wanted, and leave registers to others before and after
    const auto start_second = [&](float(&sums)[32]) {
        float4 twiddles[steps];
#pragma unroll
        for (int i = 0; i < steps; i++)
            twiddles[i] = load_numbers(shared_address(&m.twiddles[i][thread]));
        wgmma_wait<0>();
        uint32_t operand[steps][4];
        twiddle(operand, sums, twiddles);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            wgmma_half<2 * radix>(
                sums, operand[i], second_matrix.descriptor(i * step_bytes), i > 0);
        wgmma_commit();
    };
    // two pairs in turn: while one is stored, the first product of the next is under way
    float even[32], odd[32];
    wait_for(&m.full[slot.index], slot.parity);
    start_first(even, 0);
    int buffer = 0;  // of spectra, for a slot's results
    int next = crew; // set of the piece
    pieces<Store> all(c);
#pragma unroll 1
    while (all.take(p, c)) {
        const auto* gains =
            reinterpret_cast<const float4*>(c.gains + int64_t(p.input) * channels) +
            thread;
        constexpr int together = set<Store> * slot_spectra;
        const int count = p.groups * group / together;
        char* to = nullptr; // of the next set
        if (turned)
            to = static_cast<char*>(c.block) +
                 2 * (int64_t(p.input) * c.times + c.first_time + p.first);
        else
            to =
                static_cast<char*>(c.spectra_of(p.input)) + (p.first + warp) * line_bytes;
        constexpr int time_bytes = turned ? 2 : line_bytes;
        to += next * together * time_bytes;
        int wanted =
            int(min(c.spectra - p.first, int64_t(count) * together)) - next * together;
        int found = 0;
#pragma unroll 1
        for (; next < count; next += crews) {
#pragma unroll 1
            for (int in_set = 0; in_set < set<Store>; in_set++) {
                const uint32_t results = shared_address(m.results[crew]);
                const auto finish = [&](const float(&sums)[32], int first) {
                    float4 factors[4];
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        factors[i] = load_numbers(gains + i * crew_threads);
                    wgmma_wait<1>();
                    uint32_t bytes[8];
                    found += quantise(
                        bytes, sums, factors, wanted - in_set * slot_spectra - first);
                    if constexpr (turned) {
                        const uint32_t at =
                            results + column +
                            (in_set / 2 * second_half +
                             (in_set % 2 * pair + first / pair) * crew_threads) *
                                4;
#pragma unroll
                        for (int i = 0; i < 8; i++)
                            store_word(at + i * turned_channel * 4, bytes[i]);
                    } else {
                        const uint32_t at =
                            results + column +
                            (buffer * slot_spectra + first) * result_pitch;
#pragma unroll
                        for (int i = 0; i < 8; i += 4)
                            store_columns(at + i * 4 * radix * 2, bytes + i);
                    }
                };
                start_second(even);
                start_first(odd, pair);
                finish(even, 0);
                start_second(odd);
                if (leads)
                    arrive(&m.empty[slot.index]);
                slot.advance(in_set + 1 < set<Store> ? 1 : (crews - 1) * set<Store> + 1);
                if (--left > 0)
                    wait_for(&m.full[slot.index], slot.parity);
                start_first(even, 0); // of what was there before, if none is left
                finish(odd, pair);
            }
            if constexpr (turned) {
                __syncwarp();
                store_set(shared_address(m.results[crew]),
                          thread,
                          reinterpret_cast<uint16_t*>(to),
                          wanted,
                          c);
                __syncwarp();
            } else {
                fence_async();
                // Each warp stores a line: tensor cores wait for the slowest one. The
                // line before, of the other results, has left when all are here.
                if (leads)
                    wait_for_stores();
                asm volatile("bar.sync %0, %1;" ::"r"(1 + crew), "n"(crew_threads)
                             : "memory");
                if (leads && warp < wanted)
                    store_line(to,
                               shared_address(m.results[crew]) +
                                   (buffer * slot_spectra + warp) * result_pitch);
                buffer ^= 1;
            }
            to += crews * together * time_bytes;
            wanted -= crews * together;
        }
        next -= count;
        add_of_warp(c.clamped + p.input, found);
    }
    wgmma_wait<0>();
    if (!turned && leads)
        wait_for_stores();
}

} // namespace tensor

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CUH */
