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
#include "kernels/cuda/pfb_tensor_delays.cuh"
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
constexpr int pair = 2;  // spectra of a matrix product
constexpr int pairs = 2; // of a slot
constexpr int slot_spectra = pairs * pair;
constexpr int crews = 2;
constexpr int filter_warps = 8, crew_warps = 4;
constexpr int crew_threads = 32 * crew_warps;
constexpr int threads = crews * crew_threads + 32 * filter_warps;
constexpr int loading_thread = crews * crew_threads; // the first that filters
// registers of a thread: what the compiler gives to each, and what they make of it
constexpr int filter_registers = 136, crew_registers = 120;
constexpr int filtered_bytes = 4 * channels; // of a spectrum, in half precision
constexpr int matrix_row = 2 * radix * int(sizeof(__half));
constexpr int steps = 2 * radix / 16; // of a matrix product
constexpr int matrix_bytes = 2 * radix * matrix_row;
// two lines that warps write together begin at banks that the other leaves free
constexpr int result_pitch = line_bytes + 32;

/*!
 * How results are stored. Spectra: the warps of a crew store a line of a slot each.
 * Blocks [channel][input][time]: what a warp of one crew has of two groups, and that of
 * the other which has the same channels, is a sector of memory for each channel. The copy
 * engine stores them.
 */
enum class store { spectra, blocks };
template <store Store>
inline constexpr int slots = Store == store::blocks ? 5 : 6;
constexpr int copy_unit = 16; // bytes
constexpr int stages = 3;     // of groups of lines that arrive
constexpr int ahead = 2;      // that are on their way or here, besides the one in use
// Of a set of times: sectors [warp][half of its channels][d][channel], their halves
// swapped where d is odd, as the copy engine swizzles them. So the words of two pairs
// that a warp stores at a time meet the same banks no more than twice.
constexpr int set_times = 2 * group;
constexpr int sector = 2 * set_times;
constexpr int warp_channels = radix / crew_warps;
constexpr int box_channels = warp_channels / 2;
constexpr int sector_row = box_channels * sector;
constexpr int box_bytes = radix * sector_row;
constexpr int set_bytes = radix / box_channels * box_bytes;
constexpr int sets = 2; // that there is room for
template <store Store>
inline constexpr int result_bytes = Store == store::blocks
                                        ? (sets* set_bytes)
                                        : crews * 2 * (slot_spectra * result_pitch);

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

//! What a call is told besides what fused kernels are; of them: prototype [most_taps]
//! [channel], later taps in later lines; twiddles [steps][crew_threads][2], gains [input]
//! likewise.
struct call : filter_call {
    bool boxed;            // whether the block is stored in boxes; see box_map()
    const uint4* matrices; // as memory has them
    int groups;            // of spectra of an input
    int64_t pitch;         // bytes from one spectrum of an input to its next
    int share, more;       // groups of a block of threads; so many have one more
    int harmless_squares;  // of results; see quantise()
};

struct no_delays {
};

//! Its lists of inputs travel with it: to copy them in a stream would take longer than
//! what a call of many can spare. Those without delays have kernels of their own.
template <int Inputs, turning Turning>
struct input_call : call,
                    std::conditional_t<Turning == turning::none, no_delays, delay_call> {
    static constexpr turning how = Turning;
    static constexpr bool delayed = Turning != turning::none;
    pfb::source sources[Inputs];
    void* spectra_of[Inputs];
};
constexpr int few_inputs = 64, most_inputs = 1024;

//! Spectra that a call makes besides, before its first one.
template <class Call>
__device__ __forceinline__ int lead_of(const Call& c)
{
    if constexpr (Call::delayed)
        return c.lead;
    else
        return 0;
}

//! Groups of spectra in a row of one input.
struct piece {
    int input;
    int groups;
    int first; // spectrum
};

/*!
 * What a block of threads works on: an even share, of as few inputs as possible. Inputs
 * whose samples were lost are left out.
 */
class pieces
{
public:
    __device__ explicit pieces(const call& c)
        : d_next(c.share * blockIdx.x + min(int(blockIdx.x), c.more))
    {
    }
    //! \return whether there was one
    template <class Call>
    __device__ bool take(piece& p, const Call& c)
    {
        const int next_block = blockIdx.x + 1;
        const int end = c.share * next_block + min(next_block, c.more);
        while (d_next < end) {
            const int input = d_next / c.groups, before = d_next - input * c.groups;
            p = { input,
                  min(c.groups - before, end - d_next),
                  before * group - lead_of(c) };
            d_next += p.groups;
            if (c.sources[p.input].samples)
                return true;
        }
        return false;
    }

private:
    int d_next; // of the groups of all inputs
};

//! Times of a block that are stored together.
struct time_set {
    int input, time; // of the block
    int first, end;  // those of the set that there are
};

//! Shared memory. The tensor cores want theirs at multiples of 1024.
template <store Store, turning Turning>
struct memory {
    char filtered[slots<Store>][slot_spectra * filtered_bytes];
    char matrices[2][matrix_bytes];
    float4 twiddles[steps][crew_threads];
    char results[result_bytes<Store>];
    char samples[stages][group_bytes + (Turning == turning::none ? 0 : copy_unit)];
    uint64_t full[slots<Store>], empty[slots<Store>]; // filtered
    uint64_t stage_full[stages], stage_empty[stages]; // samples
    // sets of times: what both warps of some channels have is here, and has left
    uint64_t kept[sets][crew_warps], stored[sets][crew_warps];
    std::conditional_t<Turning == turning::none,
                       no_delays,
                       slot_phases<crews * crew_threads>>
        phases;
};

//! Until what other calls of the stream have read and written is so for this one.
__device__ __forceinline__ void wait_for_calls_before()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

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
    uint32_t v;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}

//! From an even address.
__device__ __forceinline__ uint2 load_eight_unaligned(uint32_t address)
{
    const uint32_t aligned = address & ~3u, shift = address * 8; // modulo 32
    const uint32_t middle = load_word(aligned + 4);
    return { __funnelshift_r(load_word(aligned), middle, shift),
             __funnelshift_r(middle, load_word(aligned + 8), shift) };
}

template <bool Delayed>
__device__ __forceinline__ uint2 load_samples(uint32_t address)
{
    if constexpr (Delayed)
        return load_eight_unaligned(address);
    else
        return load_eight_bytes(address);
}

__device__ __forceinline__ void store_word(uint32_t address, uint32_t word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
__device__ __forceinline__ void store_words(uint32_t address, uint32_t a, uint32_t b)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b)
                 : "memory");
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

//! The same of lines of shared memory.
template <bool Delayed>
__device__ __noinline__ int
count_clamped(uint32_t from, int lines, int64_t number, int64_t counted, int64_t end)
{
    int found = 0;
    for (int line = 0; line < lines; line++)
        found += count_clamped(load_samples<Delayed>(from + line * line_bytes),
                               number + line * channels,
                               counted,
                               end);
    return found;
}

__device__ __forceinline__ uint32_t suspects(uint2 v)
{
    return byte_samples<true>::suspects(v.x) | byte_samples<true>::suspects(v.y);
}

__device__ __forceinline__ void unpack_samples(float (&x)[8], uint2 v)
{
    const float4 low = byte_samples<true>::unpack(v.x);
    const float4 high = byte_samples<true>::unpack(v.y);
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

//! Where the samples of a piece begin, with the lines before it that its first spectra
//! need, too.
template <class Call>
__device__ __forceinline__ const char* samples_of(const piece& p, const Call& c)
{
    const char* from = static_cast<const char*>(c.sources[p.input].samples);
    if constexpr (Call::delayed)
        from -= c.shifts[p.input] * (line_bytes / channels);
    return from + int64_t(p.first) * line_bytes;
}

//! Bytes before the first sample of a stage: what is copied begins and ends at multiples
//! of copy_unit, with bytes of other samples before and behind, if need be.
template <class Call>
__device__ __forceinline__ int skew_of(const piece& p, const Call& c)
{
    if constexpr (Call::delayed)
        return int(reinterpret_cast<uintptr_t>(samples_of(p, c)) % copy_unit);
    else
        return 0;
}

/*!
 * A stage's lines of a piece. \param part 0: those before the piece, otherwise its
 * groups, counted from 1; of the last group some lines may lack
 */
template <store Store, class Call>
__device__ __forceinline__ void load_lines(memory<Store, Call::how>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           ring_place<stages> at)
{
    const int before = c.taps - 1;
    const int first = part == 0 ? 0 : before + (part - 1) * group;
    const int lines =
        min(part == 0 ? before : group, int(c.spectra - p.first) + before - first);
    const int skew = skew_of(p, c);
    // those before a call's first sample are not read
    const int lacking = Call::delayed ? min(max(0, -p.first - first), lines) : 0;
    const int bytes = (lines - lacking) * line_bytes;
    const int with_skew = bytes > 0 && skew > 0 ? bytes + copy_unit : bytes;
    wait_for(&m.stage_empty[at.index], at.parity ^ 1);
    arrive_expecting(&m.stage_full[at.index], with_skew);
    if (bytes > 0)
        copy_bytes(shared_address(m.samples[at.index]) + lacking * line_bytes,
                   samples_of(p, c) + int64_t(first + lacking) * line_bytes - skew,
                   &m.stage_full[at.index],
                   with_skew);
}

//! The lines that come `ahead` stages behind a part of a piece, maybe of the piece that
//! comes next, if there is one. \param at stage of the part
template <store Store, class Call>
__device__ __forceinline__ void load_ahead(memory<Store, Call::how>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           pieces others,
                                           ring_place<stages> at)
{
    at.advance(ahead);
    if (part + ahead <= p.groups) {
        load_lines(m, c, p, part + ahead, at);
        return;
    }
    piece next;
    if (others.take(next, c))
        load_lines(m, c, next, part + ahead - p.groups - 1, at);
}

//! Before the first lines.
template <store Store, class Call>
__device__ __forceinline__ void start_loading(memory<Store, Call::how>& m, const Call& c)
{
    pieces all(c);
    piece p;
    if (!all.take(p, c))
        return;
    ring_place<stages> at{};
    for (int part = 0; part < ahead; part++, at.advance())
        load_lines(m, c, p, part, at);
}

/*!
 * Sample 32 a + b of spectrum s of a slot is word a of row 32 s + b / 4 + 8 (b % 4); rows
 * have 128 bytes and are swizzled. A warp has four a, a thread b to b + 3: it reads them
 * in a row, and the 32 words that a warp writes at a time lie in different banks.
 */
struct filter_place {
    int row = threadIdx.x % 8, a = threadIdx.x / 8 - crews * crew_threads / 8;
    int in_line = radix * a + 4 * row;
    uint32_t word = row * matrix_row + ((a / 4) ^ row) * 16 + a % 4 * 4;
};

//! Of a thread that filters.
__device__ __forceinline__ void load_coefficients(float (&h)[most_taps][4], const call& c)
{
    const int place = filter_place().in_line;
#pragma unroll
    for (int t = 0; t < most_taps; t++) {
        const float4 v =
            *reinterpret_cast<const float4*>(c.prototype + t * channels + place);
        h[t][0] = v.x, h[t][1] = v.y, h[t][2] = v.z, h[t][3] = v.w;
    }
}

template <store Store, class Call>
__device__ __forceinline__ void
filter(memory<Store, Call::how>& m, const float (&h)[most_taps][4], const Call& c)
{
    const int lane = threadIdx.x % 32;
    const filter_place at;
    const int place = at.in_line;
    ring_place<stages> stage{};
    ring_place<slots<Store>> slot{};
    int skew = 0;
    const auto samples = [&] {
        return shared_address(m.samples[stage.index]) + 2 * place + skew;
    };
    // each thread for itself: racecheck does not see one that arrives for its warp
    const auto leave_samples = [&] { arrive(&m.stage_empty[stage.index]); };
    const int64_t end = (c.spectra + c.taps - 1) * channels; // of samples
    pieces all(c);
    piece p;
    // by all warps in turn, or others wait for the one that has this to do, too
    const auto load_later_ones = [&](int part) {
        if (threadIdx.x == loading_thread + part % filter_warps * 32)
            load_ahead(m, c, p, part, all, stage);
        __syncwarp();
    };
#pragma unroll 1
    while (all.take(p, c)) {
        int found = 0;
        // found out when it is wanted, as that is rare, and registers are, too
        const auto counted = [&] { return int64_t(c.sources[p.input].counted); };
        const auto number_of = [&](int line) { // of the piece and those before it
            return int64_t(p.first + line) * channels + place;
        };
        skew = skew_of(p, c);
        // the last lines; the first spectrum's first tap is tap `skipped` here
        float x[most_taps][8];
        const int skipped = most_taps - c.taps;
        wait_for(&m.stage_full[stage.index], stage.parity);
        uint32_t suspect = 0;
#pragma unroll
        for (int i = 0; i < most_taps - 1; i++) {
            uint2 raw{};
            if (i >= skipped)
                raw = load_samples<Call::delayed>(samples() + (i - skipped) * line_bytes);
            suspect |= suspects(raw);
            unpack_samples(x[i], clamped_samples(raw));
        }
        // of later pieces, those before have counted these
        if (p.first == -lead_of(c) && suspect & byte_samples<true>::suspect)
            found += count_clamped<Call::delayed>(
                samples(), c.taps - 1, number_of(0), counted(), end);
        leave_samples();
        load_later_ones(0);
        stage.advance();
#pragma unroll 1
        for (int g = 0; g < p.groups; g++) {
            wait_for(&m.stage_full[stage.index], stage.parity);
#pragma unroll
            for (int part = 0; part < group; part += slot_spectra) {
                const uint32_t from = samples() + part * line_bytes;
                uint2 raw[slot_spectra];
                uint32_t suspect = 0;
#pragma unroll
                for (int s = 0; s < slot_spectra; s++) {
                    raw[s] = load_samples<Call::delayed>(from + s * line_bytes);
                    suspect |= suspects(raw[s]);
                }
                if (part + slot_spectra == group)
                    leave_samples();
                if (suspect & byte_samples<true>::suspect) {
#pragma unroll
                    for (int s = 0; s < slot_spectra; s++) {
                        found +=
                            count_clamped(raw[s],
                                          number_of(c.taps - 1 + g * group + part + s),
                                          counted(),
                                          end);
                        raw[s] = clamped_samples(raw[s]);
                    }
                }
                wait_for(&m.empty[slot.index], slot.parity ^ 1);
                const uint32_t to = shared_address(m.filtered[slot.index]) + at.word;
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
                // when all have left the stage that these will fill
                if (part == 0)
                    load_later_ones(g + 1);
            }
            stage.advance();
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

//! Twiddles of a step: those of its eight columns are of 2 t and 2 t + 1.
__device__ __forceinline__ void
twiddle(uint32_t (&operand)[4], const float (&sums)[32], int step, float4 w)
{
#pragma unroll
    for (int spectrum = 0; spectrum < pair; spectrum++) {
        const float* s = sums + 16 * spectrum + 4 * step;
        const float2 a = times(float2{ s[0], s[2] }, float2{ w.x, w.y });
        const float2 b = times(float2{ s[1], s[3] }, float2{ w.z, w.w });
        operand[spectrum] = halves(a.x, a.y);
        operand[2 + spectrum] = halves(b.x, b.y);
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
 * Gains and conversion: words[i] has d = 4 i + t of the first spectrum and, in the upper
 * half, of the second. \param gains of two i in a row each \param begin, end spectra of
 * the pair that are wanted \param harmless_squares up to which sums of squares of two
 * words say that no number was clamped \return how many numbers of the spectra wanted
 * were
 */
__device__ __forceinline__ int quantise(uint32_t (&words)[8],
                                        const float (&sums)[32],
                                        const float4 (&gains)[4],
                                        int begin,
                                        int end,
                                        int harmless_squares)
{
    const auto amplify = [&](int i, int spectrum) {
        const float* y = sums + 4 * i + 2 * spectrum;
        const float4 g = gains[i / 2];
        return amplified({ y[0], y[1] }, i % 2 ? float2{ g.z, g.w } : float2{ g.x, g.y });
    };
#pragma unroll
    for (int i = 0; i < 8; i++)
        words[i] = rounded(amplify(i, 0), rounded(amplify(i, 1)));
    // Most often this is enough.
    int squares = 0;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const int a = int(words[i]), b = int(words[i + 1]);
        squares = max(squares, __dp4a(a, a, __dp4a(b, b, 0)));
    }
    if (squares <= harmless_squares)
        return 0;
    float most = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        most = larger(most, larger(largest(amplify(i, 0)), largest(amplify(i, 1))));
    if (most <= most_fitting)
        return 0;
    int found = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 a = amplify(i, 0), b = amplify(i, 1);
        found += (begin <= 0 && end > 0 && !(largest(a) <= most_fitting)) +
                 (begin <= 1 && end > 1 && !(largest(b) <= most_fitting));
        words[i] = rounded(fitting(a), rounded(fitting(b)));
    }
    return found;
}

/*!
 * The same of both pairs of a slot, where the gains of each spectrum have phases of their
 * own. \param gains in memory, each two \param series calling it begins those of the
 * slot \param begin, end spectra of the slot that are wanted \param put_words is told
 * those of i, i + 1, ... of both pairs as soon as they are there
 */
template <class Series, class Put>
__device__ __forceinline__ int quantise_turned(const float (&low)[32],
                                               const float (&high)[32],
                                               const float4* gains,
                                               Series series,
                                               int begin,
                                               int end,
                                               int harmless_squares,
                                               Put put_words)
{
    constexpr int together = 4; // numbers that are looked at and stored
    // calls put(i, y) with number i of all spectra
    const auto amplify = [&](slot_series& phases, int from, auto put) {
        float4 g;
#pragma unroll
        for (int i = from; i < from + together; i++) {
            const float *y = low + 4 * i, *z = high + 4 * i;
            if (i % 2 == 0)
                g = load_numbers(gains + i / 2 * crew_threads);
            const float2 gain = i % 2 ? float2{ g.z, g.w } : float2{ g.x, g.y };
            const float2 a = amplified(phases.first.take(), gain);
            const float2 b = amplified(phases.second.take(), gain);
            const float twice_cosine = phases.twice_cosines.take();
            const float2 c = reflected(a, b, twice_cosine);
            const float2 d = reflected(b, c, twice_cosine);
            const float2 all[slot_spectra] = { amplified({ y[0], y[1] }, a),
                                               amplified({ y[2], y[3] }, b),
                                               amplified({ z[0], z[1] }, c),
                                               amplified({ z[2], z[3] }, d) };
            put(i, all);
        }
    };
    int found = 0;
    slot_series phases = series();
#pragma unroll
    for (int from = 0; from < 8; from += together) {
        uint32_t words[pairs][together];
        int squares = 0;
        amplify(phases, from, [&](int i, const float2(&y)[slot_spectra]) {
#pragma unroll
            for (int k = 0; k < pairs; k++)
                words[k][i - from] = rounded(y[2 * k], rounded(y[2 * k + 1]));
            const int a = int(words[0][i - from]), b = int(words[1][i - from]);
            squares = max(squares, __dp4a(a, a, __dp4a(b, b, 0)));
        });
        if (squares > harmless_squares) {
            slot_series again = series();
#pragma unroll
            for (int i = 0; i < from; i++)
                again.first.take(), again.second.take(), again.twice_cosines.take();
            amplify(again, from, [&](int i, const float2(&y)[slot_spectra]) {
#pragma unroll
                for (int s = 0; s < slot_spectra; s++)
                    found += s >= begin && s < end && !(largest(y[s]) <= most_fitting);
#pragma unroll
                for (int k = 0; k < pairs; k++)
                    words[k][i - from] =
                        rounded(fitting(y[2 * k]), rounded(fitting(y[2 * k + 1])));
            });
        }
        __syncwarp();
        put_words(from, words);
    }
    return found;
}

//! Gains of a thread, each two, times phasors.
__device__ __forceinline__ void turn(float4 (&gains)[4], phase_series<float2> phasors)
{
#pragma unroll
    for (float4& g : gains) {
        const float2 a = amplified(phasors.take(), { g.x, g.y });
        const float2 b = amplified(phasors.take(), { g.z, g.w });
        g = { a.x, a.y, b.x, b.y };
    }
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

//! Up to eight times, those wanted; from `first` on if that is given.
template <class... First>
__device__ __noinline__ void
store_times(uint16_t* to, uint4 words, int wanted, First... first)
{
    const uint32_t list[] = { words.x, words.y, words.z, words.w };
#pragma unroll
    for (int t = 0; t < 8; t++)
        if (t < wanted && (true && ... && (t >= first)))
            to[t] = uint16_t(list[t / 2] >> 16 * (t % 2));
}

/*!
 * Half of the channels of a set into the block, where boxes do not fit. Two lanes store a
 * sector, first that of the one's channel, then that of the other's. \param from sectors
 * of the set
 */
template <class Call>
__device__ __forceinline__ void
store_sectors(uint32_t from, int crew, int thread, const time_set& set, const Call& c)
{
    constexpr int own = radix / crews; // numbers d
    const int half = thread % 2, lane = thread % 32;
    const int in_warp = lane / 4, d = lane % 4 / 2 * 2 + crew * own;
    const int place = thread / 32 * warp_channels + in_warp + d * radix - c.first_channel;
    const int64_t pitch = int64_t(c.inputs) * c.times;
    const int wanted = set.end - group * half;
    // those that a call makes before its first time belong to another
    const int unwanted = Call::delayed ? max(0, set.first - group * half) : 0;
    if (wanted <= 0 || (Call::delayed ? unwanted >= group : set.first > group * half))
        return;
    const bool whole = (c.times | (c.first_time - lead_of(c))) % group == 0 &&
                       reinterpret_cast<uintptr_t>(c.block) % 16 == 0 &&
                       wanted >= group && unwanted == 0;
    uint16_t* to = static_cast<uint16_t*>(c.block) + place * pitch +
                   int64_t(set.input) * c.times + set.time + group * half;
    from += (thread / 32 * 2 + in_warp / box_channels) * box_bytes + d * sector_row +
            in_warp % box_channels * sector;
#pragma unroll 2
    for (int i = 0; i < own / 2; i++) { // the even one's, the odd one's, and others
        const int next = i / 2 * 4 + i % 2;
        if (unsigned(place + radix * next) < unsigned(c.selected)) {
            const uint4 words =
                load_shared(from + next * sector_row + (half ^ i % 2) * (sector / 2));
            if (whole)
                __stcg(reinterpret_cast<uint4*>(to + next * radix * pitch), words);
            else if constexpr (Call::delayed)
                store_times(to + next * radix * pitch, words, wanted, unwanted);
            else
                store_times(to + next * radix * pitch, words, wanted);
        }
    }
}

//! By the crews.
template <store Store, class Call>
__device__ __forceinline__ void load_tables(memory<Store, Call::how>& m, const Call& c)
{
    constexpr int all = crews * crew_threads;
    for (int i = threadIdx.x; i < int(sizeof m.matrices / sizeof(uint4)); i += all)
        reinterpret_cast<uint4*>(m.matrices)[i] = c.matrices[i];
    for (int i = threadIdx.x; i < steps * crew_threads; i += all)
        m.twiddles[0][i] = reinterpret_cast<const float4*>(c.twiddles)[i];
    fence_async();
}

//! \param boxes of the block, if it is stored in boxes
template <store Store, class Call>
__device__ __forceinline__ void
transform(memory<Store, Call::how>& m, const Call& c, const CUtensorMap& boxes)
{
    constexpr bool turned = Store == store::blocks;
    const int crew = uniform(int(threadIdx.x / crew_threads));
    const int thread = threadIdx.x % crew_threads;
    const int lane = thread % 32, warp = uniform(thread / 32);
    int leads = lane == 0; // its warp; kept, or it would be found out again and again
    asm volatile("" : "+r"(leads));
    const rows first_matrix(shared_address(m.matrices[0]));
    const rows second_matrix(shared_address(m.matrices[1]));
    const uint32_t results =
        shared_address(m.results) + (turned ? 0 : crew * 2 * slot_spectra * result_pitch);
    // of spectra: column 2 t + spectrum of matrix i has d = 4 i + t
    uint32_t column = turned
                          ? (warp * 2 + lane / 16) * box_bytes + lane % 4 * sector_row +
                                lane / 4 % box_channels * sector +
                                lane % 2 * (sector / 2) + crew * slot_spectra * 2
                          : lane % 2 * result_pitch +
                                (lane / 8 * 4 + lane % 8 / 2) * radix * 2 + warp * 16;
    asm volatile("" : "+r"(column)); // kept, too
    uint32_t twiddles = shared_address(&m.twiddles[0][thread]);
    asm volatile("" : "+r"(twiddles));
    const int first_channel = thread / 4 + thread % 4 * radix; // of this thread
    constexpr int channel_step = 4 * radix;
    ring_place<slots<Store>> slot{};
    slot.advance(crew);
    const auto start_first = [&](float(&sums)[32], rows filtered) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            multiply_shared(sums,
                            first_matrix.descriptor(i * step_bytes),
                            filtered.descriptor(i * step_bytes),
                            i > 0);
        wgmma_commit();
    };
    const auto start_second = [&](float(&sums)[32], const uint32_t(&operand)[steps][4]) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            wgmma_half<2 * radix>(
                sums, operand[i], second_matrix.descriptor(i * step_bytes), i > 0);
        wgmma_commit();
    };
    const auto load_twiddles = [&](int step) {
        return load_numbers(twiddles + step % steps * int(sizeof m.twiddles[0]));
    };
    int buffer = 0;       // of spectra, for a slot's results
    ring_place<sets> set; // of times
    set = {};
    bool leaving = false; // the set before is being stored
    const auto store_set = [&](const time_set& times) {
        const bool boxed = c.boxed && times.first == 0 && times.end == set_times;
        fence_async();
        arrive(&m.kept[set.index][warp]);
        if (boxed && crew < crews - 1)
            return;
        // of a group, this crew's spectra are the last
        wait_for(&m.kept[set.index][warp], set.parity);
        const uint32_t from = results + set.index * set_bytes;
        if (!boxed)
            store_sectors(from, crew, thread, times, c);
        else if (leads)
#pragma unroll
            for (int box = 2 * warp; box < 2 * warp + 2; box++)
                store_box(&boxes,
                          from + box * box_bytes,
                          2 * times.time,
                          box * box_channels,
                          0,
                          times.input);
    };
    pieces all(c);
    piece p;
#pragma unroll 1
    while (all.take(p, c)) {
        uint32_t gains_place = uint32_t(p.input) * (channels / 2) + thread;
        char* to = nullptr; // of the crew's next spectrum
        if (!turned)
            to = static_cast<char*>(c.spectra_of[p.input]) +
                 (p.first + crew * slot_spectra + warp) * c.pitch;
        int time = p.first;
        const int end = time + p.groups * group;
        // halves of the first set that the piece lacks, and times of the next half
        int lacking = unsigned(c.first_time + time) % set_times / group;
        int unwanted = Call::delayed ? max(0, -time) : 0;
        int found = 0;
#pragma unroll 1
        for (; time < end; time += group) {
            const int half = unsigned(c.first_time + time) % set_times / group;
            const int wanted = int(c.spectra) - time - crew * slot_spectra;
            const int slot_time = time + crew * slot_spectra;
            float low[32], high[32]; // of the slot's pairs
            const rows filtered(shared_address(m.filtered[slot.index]));
            wait_for(&m.full[slot.index], slot.parity);
            start_first(low, filtered);
            start_first(high, filtered.after(pair * filtered_bytes));
            if constexpr (Call::how == turning::by_spectrum)
                m.phases.keep(c.turns + p.input,
                              c.number + uint64_t(int64_t(slot_time)),
                              threadIdx.x,
                              first_channel,
                              channel_step);
            if constexpr (Call::how == turning::by_slot)
                m.phases.keep_middle(c.turns + p.input,
                                     c.number + uint64_t(int64_t(slot_time)),
                                     threadIdx.x,
                                     first_channel,
                                     channel_step);
            // Registers are scarce: each step's twiddles come when they are wanted,
            // twice, and most of the second operand when the first one has been used.
            uint32_t even[steps][4], odd[steps][4];
            float4 now = load_twiddles(0), next = load_twiddles(1);
            const auto twiddle_step =
                [&](uint32_t(&operand)[steps][4], const float(&sums)[32], int i) {
                    twiddle(operand[i], sums, i, now);
                    now = next;
                    next = load_twiddles(i + 2);
                };
            wgmma_wait<0>();
            if (leads)
                arrive(&m.empty[slot.index]);
#pragma unroll
            for (int i = 0; i < steps; i++)
                twiddle_step(even, low, i);
            start_second(low, even);
            twiddle_step(odd, high, 0);
            wgmma_wait<0>();
#pragma unroll
            for (int i = 1; i < steps; i++)
                twiddle_step(odd, high, i);
            start_second(high, odd);
            slot.advance(crews);
            if constexpr (turned) {
                if (leaving) // what was there
                    wait_for(&m.stored[set.index][warp], set.parity ^ 1);
            }
            asm volatile("" : "+r"(gains_place)); // so that no register has the address
            const auto* gains = reinterpret_cast<const float4*>(c.gains) + gains_place;
            const auto place_of = [&](int k) { // of a pair's words
                if constexpr (turned)
                    return results + set.index * set_bytes +
                           (column ^ half * (sector / 2));
                else
                    return results + column +
                           (buffer * slot_spectra + k * pair) * result_pitch;
            };
            if constexpr (Call::how == turning::by_spectrum) {
                wgmma_wait<0>();
                __syncwarp(); // all know what the warp keeps
                found += quantise_turned(
                    low,
                    high,
                    gains,
                    [&] {
                        return m.phases.series(threadIdx.x, first_channel, channel_step);
                    },
                    -slot_time,
                    wanted,
                    c.harmless_squares,
                    [&](int from, const uint32_t(&words)[pairs][4]) {
#pragma unroll
                        for (int i = 0; i < 4 && turned; i++)
                            store_words(place_of(0) + (from + i) * 4 * sector_row,
                                        words[0][i],
                                        words[1][i]);
#pragma unroll
                        for (int k = 0; k < pairs && !turned; k++)
                            store_columns(place_of(k) + from * 4 * radix * 2, words[k]);
                    });
            } else {
                float4 factors[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    factors[i] = load_numbers(gains + i * crew_threads);
                if constexpr (Call::how == turning::by_slot)
                    turn(factors, m.phases.middle(threadIdx.x));
                uint32_t words[pairs][8];
                const auto put = [&](int k) { // of blocks, once both pairs are here
                    const uint32_t at = place_of(k);
#pragma unroll
                    for (int i = 0; i < 8 && turned && k > 0; i++)
                        store_words(at + i * 4 * sector_row, words[0][i], words[1][i]);
#pragma unroll
                    for (int i = 0; i < 8 && !turned; i += 4)
                        store_columns(at + i * 4 * radix * 2, words[k] + i);
                };
                wgmma_wait<0>();
                const int begin = Call::delayed ? -slot_time : 0;
                found +=
                    quantise(words[0], low, factors, begin, wanted, c.harmless_squares);
                put(0);
                found += quantise(words[1],
                                  high,
                                  factors,
                                  Call::delayed ? begin - pair : 0,
                                  wanted - pair,
                                  c.harmless_squares);
                put(1);
            }
            if constexpr (turned) {
                if (leaving) {
                    if (leads)
                        wait_for_stores();
                    arrive(&m.stored[set.index ^ 1][warp]);
                    leaving = false;
                }
                if (half == 1 || time + group >= end) {
                    store_set({ p.input,
                                c.first_time + time - half * group,
                                lacking * group + unwanted,
                                half * group + min(group, int(c.spectra) - time) });
                    set.advance();
                    leaving = true;
                    lacking = 0;
                    unwanted = 0;
                }
            } else {
                fence_async();
                // Each warp stores a line: tensor cores wait for the slowest one. The
                // line before, of the other results, has left when all are here.
                if (leads)
                    wait_for_stores();
                asm volatile("bar.sync %0, %1;" ::"r"(1 + crew), "n"(crew_threads)
                             : "memory");
                if (leads && warp < wanted && (!Call::delayed || warp >= -slot_time))
                    store_line(to,
                               results + (buffer * slot_spectra + warp) * result_pitch);
                buffer ^= 1;
                to += group * c.pitch;
            }
        }
        add_of_warp(c.clamped + p.input, found);
    }
    if (leads)
        wait_for_stores();
}

} // namespace tensor

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CUH */
