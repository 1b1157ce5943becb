/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH

#include "kernels/pfb/fused/results.cuh"
#include "kernels/pfb/tensor/delays.cuh"
#include "kernels/pfb/tensor/filter_banks.h"
#include <cuda_fp16.h>

namespace gr::aperture::kernels::cuda::tensor {

/*
 * Filter bank of 64 to 1024 channels (more: pfb/tensor/clusters.cuh) from samples of few
 * bits to 8-bit spectra, transformed by tensor cores; samples are complex (real ones:
 * pfb/tensor/real.cuh). With N = 32 R channels, sample n = R a + b of the filtered
 * spectrum z and channel k = c + 32 d,
 *
 *   y[c + 32 d] = sum_b wR^(b d) wN^(b c) sum_a w32^(a c) z[R a + b]
 *
 * are, for N = 1024, two products with a matrix of 32 x 32, in half precision with
 * single-precision sums, and twiddles in single precision between them. Real and
 * imaginary parts are rows or columns of their own: the matrices have 64 x 64 real
 * numbers.
 *
 * What is worked on is a line of 1024 samples. Of fewer channels a line has several
 * spectra, from times far apart: the spectra of a call are parted into as many segments,
 * and line t is spectrum t of each. So a filtering thread still has the same samples of a
 * spectrum of the same segment all the time. The products stay as large; the second
 * matrix then has a matrix of R x R for each segment, and zeros elsewhere.
 *
 * A thread block works on its own, from one piece of an input to the next. Eight
 * warps filter: a thread has four samples of the line, its coefficients and the window of
 * the last lines in registers, reads each sample once, and leaves filtered ones in slots
 * of shared memory, as the tensor cores want them. It filters them
 * as whole numbers (pfb/tensor/dots.cuh). Consumers of four warps
 * each take the slots in turn. What a lane has of the first product's sums is, after the
 * twiddles, its part of an operand of the second: nothing goes through memory between
 * them.
 *
 * Here is what the parts share: sizes, what a call is told, what a thread block works
 * on, and its shared memory.
 */

constexpr int points = 1024, radix = 32; // of a line, of the first product
// Spectra: of each segment.
constexpr int group = 8; // spectra that the filter makes of lines that arrive together
constexpr int line_bytes = 2 * points; // of samples, and of what comes out
constexpr int group_bytes = group * line_bytes;
constexpr int pair = 2;  // spectra of a matrix product
constexpr int pairs = 2; // of a slot
constexpr int slot_spectra = pairs * pair;
constexpr int consumers = 2;
constexpr int filter_warps = 8, consumer_warps = 4;
constexpr int consumer_threads = 32 * consumer_warps;
constexpr int threads = consumers * consumer_threads + 32 * filter_warps;
constexpr int loading_thread = consumers * consumer_threads; // the first that filters
//! Registers of a thread that filters, where the compiler gives 128 to each.
constexpr int filter_registers = 136, consumer_registers = 256 - filter_registers;
constexpr int filtered_bytes = 4 * points; // of a line, in half precision
constexpr int matrix_row = 2 * radix * int(sizeof(__half));
constexpr int steps = 2 * radix / 16; // of a matrix product
constexpr int matrix_bytes = 2 * radix * matrix_row;
// what warps write together begins at banks that the other leaves free
constexpr int result_gap = 32;

/*
 * How results are stored. Spectra: the warps of a consumer store a line of a slot each,
 * or some segments of all lines. Frames [channel][input][time]: what a warp of one
 * consumer has of two groups, and that of the other which has the same channels, is a
 * sector of memory for each channel. The copy engine stores them.
 */

//! Whether the lanes of a warp of a cluster read their samples together (ldmatrix): those
//! of two bytes, at addresses that are known beforehand.
template <class Call>
inline constexpr bool reads_together = Call::ranks > 1 && !Call::delayed && !Call::sc4;
constexpr int copy_unit = 16; // bytes
// Groups of lines that are on their way or here, besides the one in use or with the one
// that all have left.
constexpr int ahead = 2;

//! Slots of filtered samples, and stages of samples: groups of lines.
struct depth {
    int slots, stages;
};
//! Those that were fastest. The less the filter is ahead of the consumers, the less is
//! left to do when it has come to the end; of several segments, and of 1024 channels with
//! delays, consumers that wait cost more than that.
template <store Store, class Call>
constexpr depth depth_of()
{
    constexpr bool frames = Store == store::frames, delayed = Call::delayed;
    constexpr int many = frames ? 5 : 6;
    if (Call::real && !delayed)
        return { Call::segments > 1 ? many - 1 : 3, 3 };
    if (Call::real)
        return { Call::segments > 1 ? 3 : 2, 3 };
    if (Call::segments > 1)
        return { many, 3 };
    switch (Call::ranks) {
    case 1:
        return { delayed ? many : 2, 3 };
    case 2:
        return { 2, frames && delayed ? 2 : 3 };
    case 4:
        return { frames && delayed ? 3 : 2, delayed ? 2 : 3 };
    default:
        return { 2, frames ? 3 : 2 };
    }
}
template <store Store, class Call>
inline constexpr int slots = depth_of<Store, Call>().slots;
template <store Store, class Call>
inline constexpr int stages = depth_of<Store, Call>().stages;

// Of a set of times: sectors [warp][half of its channels][d][channel], their halves
// swapped where d is odd, as the copy engine swizzles them. So the words of two pairs
// that a warp stores at a time meet the same banks no more than twice. Of real samples
// sectors are [warp][half of its channels][odd D][D / 2][channel], of channel 32 D + C,
// and those whose D is even or odd are boxes of their own.
constexpr int set_times = 2 * group;
constexpr int sector = 2 * set_times;
constexpr int warp_channels = radix / consumer_warps;
constexpr int box_channels = warp_channels / 2;
constexpr int sector_row = box_channels * sector;
constexpr int box_rows = radix;
constexpr int box_bytes = box_rows * sector_row;
constexpr int set_bytes = radix / box_channels * box_bytes;
constexpr int sets = 2; // that there is room for

/*!
 * How spectra lie in lines. What comes out of the second product is number e = R segment
 * + d, so that spectra of all segments follow each other. Of real samples see
 * pfb/tensor/real.cuh.
 */
template <int Channels, sample_type Input, int Taps>
struct arrangement {
    static constexpr int most_taps = Taps;
    //! Stages of lines before a piece.
    static constexpr int stages_before = most_taps / group;
    static constexpr bool real = Input == sample_type::s8;
    static constexpr bool sc4 = Input == sample_type::sc4;
    static constexpr int channels = Channels;
    static constexpr int step = real ? 2 * channels : channels; // samples
    static constexpr int sample_bytes = real || sc4 ? 1 : 2;
    static constexpr int input_bytes = step * sample_bytes; // of a spectrum
    static constexpr int ranks = channels <= points ? 1 : channels / points;
    static constexpr int segments = points * ranks / channels;
    static constexpr int second_radix = channels / ranks / radix; // R
    static constexpr int channels_apart = ranks * radix; // from one d to the next
    static constexpr int spectrum_bytes = 2 * channels;
    // Of a line of samples a thread block of a cluster has as many pieces as there are
    // ranks. In a stage they begin at banks that the others leave free; there is room for
    // what is copied besides where samples are delayed.
    static constexpr int points_bytes = points * sample_bytes;
    static constexpr int piece_bytes = points_bytes / ranks;
    static constexpr int piece_pitch = piece_bytes + (ranks > 1 ? copy_unit : 0);
    static constexpr int line_pitch = ranks > 1 ? ranks* piece_pitch : input_bytes;
    //! A segment's lines of a stage begin at banks that those of others leave free.
    static constexpr int segment_bytes =
        group * line_pitch + (segments == 1  ? 0
                              : segments < 8 ? 128 / segments
                                             : copy_unit);
    //! Words of two gains that a thread of a consumer reads: its other numbers have the
    //! same.
    static constexpr int gain_words = second_radix < 8 ? 1 : second_radix / 8;
    //! What there are gains for. Of real samples, threads of c = 0 multiply by 0, as
    //! their numbers are not wanted, and its gains come last; see first_row.
    static constexpr int gain_threads = consumer_threads + (real ? 4 : 0);

    // Results of a slot as spectra. The copy engine is slow with little at a time: the
    // slot's short spectra of a segment are in a row, as in memory where a port has one
    // input. Others are in lines.
    static constexpr bool in_a_row = channels <= 128;
    static constexpr int result_pitch = // from one spectrum to the next
        in_a_row ? spectrum_bytes : line_bytes + result_gap;
    static constexpr int segment_pitch =
        in_a_row ? slot_spectra * spectrum_bytes + result_gap : spectrum_bytes;
    static constexpr int result_bytes =
        in_a_row ? segments * segment_pitch : slot_spectra * result_pitch;
    static constexpr int segments_of_warp =
        in_a_row ? segments / consumer_warps : segments;

    // What a rank filters of a slot for itself or another.
    static constexpr int part_bytes = slot_spectra * filtered_bytes / ranks;
    //! Of a slot, with what is on its way to other ranks.
    static constexpr int slot_bytes =
        slot_spectra * filtered_bytes + (ranks - 1) * part_bytes;
    //! From a thread's first sample of a spectrum to its k-th one.
    __host__ __device__ static constexpr int samples_on(int k)
    {
        return real         ? k % 4 + k / 4 * channels
               : ranks == 1 ? k
               : ranks == 2 ? k / 2 * (points / 4) + k % 2 * points
                            : k * ranks / 4 * points;
    }

    __host__ __device__ static constexpr int result_place(int e)
    {
        return segment_of(e) * segment_pitch + d_of(e) * radix * 2;
    }
    __host__ __device__ static constexpr int segment_of(int e)
    {
        return segments == 1 ? 0 : e / second_radix;
    }
    __host__ __device__ static constexpr int d_of(int e)
    {
        return segments == 1 ? e : e % second_radix;
    }
    //! Of real samples, whether a number is of a channel of the upper half, mirrored.
    __host__ __device__ static constexpr bool mirrored(int e)
    {
        return real && d_of(e) >= second_radix / 2;
    }
    //! Channel of a number e of threads that have c, of the cluster's first rank. Of
    //! inverted real samples see pfb/tensor/real.cuh.
    __host__ __device__ static constexpr int channel_of(int c, int e, bool inverted)
    {
        const int k = frequency_of(c, e);
        return real ? (k - int(inverted)) & (channels - 1) : k;
    }

private:
    __host__ __device__ static constexpr int frequency_of(int c, int e)
    {
        const int d = d_of(e);
        if (mirrored(e)) // of c = 0, channels that have no other place
            return 2 * radix * (second_radix - d) - (c > 0 ? c : radix);
        return ranks * c + (real ? 2 : 1) * channels_apart * d;
    }
};

//! A column of filtered samples: those with one b of a segment.
struct column {
    int segment, b;
};
constexpr column column_of(int n, int second_radix, int ranks = 1)
{
    if (ranks > 1)
        return { 0, n };
    const int row = n % 8, step = n / 8;
    if (second_radix == 2)
        return { row + step / 2 * 8, step % 2 };
    const int rows = second_radix / 4; // of a segment
    return { row / rows, row % rows * 4 + step };
}
//! The a of a word of a column; with two b a thread filters two a in a row.
constexpr int a_of_word(int word, int second_radix)
{
    return second_radix == 2 ? word / 8 * 8 + word % 4 * 2 + word / 4 % 2 : word;
}

//! The same of what arrives at a rank.
constexpr int a_of_word(int word, int second_radix, int rank, int ranks)
{
    if (ranks == 1)
        return a_of_word(word, second_radix);
    return ranks == 8 ? word ^ (rank & 2) : word;
}

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

//! A slot's results that a rank stores.
constexpr int collected_bytes = slot_spectra * line_bytes;

struct exchange_memory {
    alignas(copy_unit) char collected[consumers][2]
                                     [collected_bytes]; // what has been sent to this rank
    uint64_t arrived[consumers][2], room[consumers][2];
};

struct nothing {
};

//! What a call is told besides what fused kernels are; of them: prototype [most_taps]
//! [channel], later taps in later lines; twiddles [steps][consumer_threads][2], gains
//! [input] [gain_words][gain_threads][2].
struct call : filter_call {
    bool boxed;                // whether the frame is stored in boxes; see box_map()
    const uint4* matrices;     // as memory has them
    int groups;                // of spectra of an input
    int64_t pitch;             // bytes from one spectrum of an input to its next
    int groups_each, more;     // of a thread block; so many blocks have one more
    int harmless_squares;      // of results; see quantise()
    int segment, last_segment; // spectrum that the second one and the last one begin with
    int frames;                // in a row that are stored, whole ones if several
    bool inverted;             // see residue_of()
};

//! What a call of real samples is told besides.
struct real_call {
    const uint4* first_rows; // see make_first_rows()
};
struct complex_call {
};

//! An input, of one of the frames in a row.
struct input_of_frame {
    int input, frame;
};

constexpr int most_inputs = 1024;

//! The arguments of a kernel. Its lists of inputs travel with it: to copy them in a
//! stream would take longer than what a call of many inputs can spare. Calls without
//! delays have kernels of their own.
template <bool Delayed, class Shape>
struct input_call : call,
                    Shape,
                    std::conditional_t<Delayed, delay_call, nothing>,
                    std::conditional_t<Shape::real, real_call, complex_call> {
    using shape = Shape;
    static constexpr bool delayed = Delayed;
    // Of several frames, each is made as of inputs of its own.
    pfb::source sources[most_inputs];
    union {
        void* spectra_of[most_inputs];
        input_of_frame of_frame[most_inputs]; // of calls that store frames
    };
};

//! Channels of a rank of the cluster: ranks m + residue. What is transformed of inverted
//! samples are their conjugates, but what is added up before is not.
constexpr int residue_of(int rank, int ranks, bool inverted)
{
    return inverted ? (ranks - rank) % ranks : rank;
}

//! Which one has its gains and counters.
template <store Store, class Call>
__device__ __forceinline__ int input_of(int input, const Call& c)
{
    if constexpr (Store == store::frames && !Call::delayed)
        return c.of_frame[input].input;
    else
        return input;
}

//! Spectra that a call makes besides, before its first one.
template <class Call>
__device__ __forceinline__ int lead_of(const Call& c)
{
    if constexpr (Call::delayed)
        return c.lead;
    else
        return 0;
}

//! Whether channels of a thread, all of one time, are equally far apart.
template <class Call>
inline constexpr bool has_one_series = Call::segments == 1 && !Call::real;

//! What a segment begins with.
template <class Call>
__device__ __forceinline__ int first_spectrum(int segment, const Call& c)
{
    if constexpr (Call::segments == 1)
        return 0;
    else
        return segment * c.segment;
}

//! Groups of spectra in a row of one input, the same ones of each segment.
struct piece {
    int input;
    int groups;
    int first; // spectrum of the first segment
};

/*!
 * What a thread block, or a cluster, works on: an even part, of as few inputs as
 * possible. Inputs whose samples were lost are left out.
 */
class pieces
{
public:
    template <class Call>
    __device__ explicit pieces(const Call& c)
        : d_next(c.groups_each * (blockIdx.x / Call::ranks) +
                 min(int(blockIdx.x / Call::ranks), c.more))
    {
    }
    //! \return whether there was one
    template <class Call>
    __device__ bool take(piece& p, const Call& c)
    {
        const int next_block = blockIdx.x / Call::ranks + 1;
        const int end = c.groups_each * next_block + min(next_block, c.more);
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

constexpr int first_row_bytes = 512; // what a consumer keeps of c = 0; see first_row
//! Shared memory. The tensor cores want theirs at multiples of 1024.
template <store Store, class Call>
struct memory {
    static constexpr bool delayed = Call::delayed;
    char filtered[slots<Store, Call>][Call::slot_bytes];
    char matrices[2][matrix_bytes];
    float4 twiddles[steps][consumer_threads];
    char results[Store == store::frames ? sets * set_bytes
                                        : consumers * 2 * Call::result_bytes];
    char samples[stages<Store, Call>]
                [Call::segments * Call::segment_bytes + (delayed ? copy_unit : 0)];
    uint64_t full[slots<Store, Call>], empty[slots<Store, Call>]; // filtered
    uint64_t stage_full[stages<Store, Call>], stage_empty[stages<Store, Call>]; // samples
    // filtering warps that have written theirs of a slot
    unsigned written[Call::ranks > 1 ? slots<Store, Call> : 1];
    // sets of times: what both warps of some channels have is here, and has left; of real
    // samples the first is for all warps
    uint64_t kept[sets][consumer_warps], stored[sets][consumer_warps];
    struct first_row_memory {
        alignas(16) char of[consumers][2][first_row_bytes]; // of slots by turns
    };
    std::conditional_t<Call::real, first_row_memory, nothing> first_rows;
    std::conditional_t<!delayed,
                       nothing,
                       std::conditional_t<has_one_series<Call>,
                                          slot_phases<consumers * consumer_threads>,
                                          segment_phases<typename Call::shape,
                                                         consumers * consumer_warps>>>
        phases;
    static constexpr bool exchanged = Store == store::spectra && Call::ranks > 1;
    std::conditional_t<exchanged, exchange_memory, nothing> exchange;
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH */
