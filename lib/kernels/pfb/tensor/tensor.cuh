/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH

#include "kernels/common/cell_sums.h"
#include "kernels/gpu/pipeline.cuh"
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
 * The unit of work is a line of 1024 samples. With fewer channels a line has several
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
 * each take the slots alternately. What a lane has of the first product's sums is, after
 * the twiddles, its part of an operand of the second: nothing goes through memory between
 * them.
 *
 * Here is what the parts share: sizes, what a call is told, what a thread block works
 * on, and its shared memory.
 */

constexpr int points = 1024, radix = 32; // size of a line, of the first product
// All numbers of spectra below are those of each segment.
constexpr int group = 8; // spectra that the filter makes of lines that arrive together
constexpr int line_bytes = 2 * points; // bytes of samples, and of results
constexpr int group_bytes = group * line_bytes;
constexpr int pair = 2;  // spectra of a matrix product
constexpr int pairs = 2; // pairs of a slot
constexpr int slot_spectra = pairs * pair;
constexpr int consumers = 2;
constexpr int filter_warps = 8, consumer_warps = 4;
constexpr int consumer_threads = 32 * consumer_warps;
constexpr int threads = consumers * consumer_threads + 32 * filter_warps;
constexpr int loading_thread = consumers * consumer_threads; // the first that filters
//! Registers of a producer thread, which filters, and of a consumer thread, which
//! transforms; the compiler allots 128 to each thread, and setmaxnreg moves them.
constexpr int filter_registers = 136, consumer_registers = 256 - filter_registers;
constexpr int filtered_bytes = 4 * points; // bytes of a line, in half precision
constexpr int matrix_row = 2 * radix * int(sizeof(__half));
constexpr int steps = 2 * radix / 16; // steps of a matrix product
constexpr int matrix_bytes = 2 * radix * matrix_row;
// Bytes between two rows of results, so that rows which warps write at the same time
// begin at different banks of shared memory.
constexpr int result_gap = 32;

/*
 * Results are stored in two ways. Spectra: the warps of a consumer store one line of a
 * slot each, or some segments of all lines. Frames [channel][input][time]: what a warp of
 * one consumer has made of two groups of spectra, and the warp of the other consumer with
 * the same channels, is one sector (32 bytes) of memory for each channel. The copy engine
 * stores both.
 */

//! True if the lanes of a warp read their samples together by ldmatrix: in a cluster,
//! samples of two bytes whose addresses are known at compile time.
template <class Call>
inline constexpr bool reads_together = Call::ranks > 1 && !Call::delayed && !Call::sc4;
constexpr int copy_unit = 16; // bytes
// Pipeline stages of samples that are loaded ahead of the one in use.
constexpr int ahead = 2;

//! Depth of the two pipelines: slots of filtered samples between producers and consumers,
//! and stages of samples (each one group of lines) between the copy engine and the
//! producers.
struct depth {
    int slots, stages;
};
//! The depths that were fastest. The less the producers are ahead of the consumers, the
//! less is left to do after the last samples; with several segments, and with 1024
//! channels and delays, consumers that wait cost more than that. Sums of voltages take
//! room from both where there are delays.
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
        return { !delayed ? 2 : Call::summed ? 3 : many, 3 };
    case 2:
        return { 2, frames && delayed ? 2 : 3 };
    case 4:
        return { frames && delayed && !Call::summed ? 3 : 2, delayed ? 2 : 3 };
    default:
        return { 2, frames && !(delayed && Call::summed) ? 3 : 2 };
    }
}
template <store Store, class Call>
inline constexpr int slots = depth_of<Store, Call>().slots;
template <store Store, class Call>
inline constexpr int stages = depth_of<Store, Call>().stages;

// Layout in shared memory of a set of times, which is stored into a frame at once:
// sectors [warp][half of its channels][d][channel]. The two halves of a sector are
// swapped where d is odd, as the copy engine swizzles them, so that the words of two
// pairs that a warp writes at a time meet a bank twice at most. Of real samples sectors
// are [warp][half of its channels][odd D][D / 2][channel], of channel 32 D + C; those of
// even D and of odd D are boxes of their own.
constexpr int set_times = 2 * group;
constexpr int sector = 2 * set_times;
constexpr int warp_channels = radix / consumer_warps;
constexpr int box_channels = warp_channels / 2;
constexpr int sector_row = box_channels * sector;
constexpr int box_rows = radix;
constexpr int box_bytes = box_rows * sector_row;
constexpr int set_bytes = radix / box_channels * box_bytes;
constexpr int sets = 2; // number of sets that there is room for

/*!
 * The arrangement of spectra of Channels channels in lines of 1024 samples. The second
 * product makes elements e = R segment + d of a line, so that the spectra of all segments
 * follow each other. Real samples are explained in pfb/tensor/real.cuh.
 */
template <int Channels, sample_type Input, int Taps>
struct arrangement {
    static constexpr int most_taps = Taps;
    //! Pipeline stages that hold the lines before the first spectrum of a piece.
    static constexpr int stages_before = most_taps / group;
    static constexpr bool real = Input == sample_type::s8;
    static constexpr bool sc4 = Input == sample_type::sc4;
    static constexpr int channels = Channels;
    static constexpr int step = real ? 2 * channels : channels; // samples
    static constexpr int sample_bytes = real || sc4 ? 1 : 2;
    static constexpr int input_bytes = step * sample_bytes; // bytes of a spectrum
    static constexpr int ranks = channels <= points ? 1 : channels / points;
    static constexpr int segments = points * ranks / channels;
    static constexpr int second_radix = channels / ranks / radix; // R
    static constexpr int channels_apart = ranks * radix; // from one d to the next
    static constexpr int spectrum_bytes = 2 * channels;
    // In a cluster, each thread block (rank) copies as many pieces of a line as there are
    // ranks. In a stage the pieces begin at different banks of shared memory; behind each
    // there is room for the bytes that are copied besides where samples are delayed.
    static constexpr int points_bytes = points * sample_bytes;
    static constexpr int piece_bytes = points_bytes / ranks;
    static constexpr int piece_pitch = piece_bytes + (ranks > 1 ? copy_unit : 0);
    static constexpr int line_pitch = ranks > 1 ? ranks* piece_pitch : input_bytes;
    //! Bytes of a segment's lines in a stage. The lines of different segments begin at
    //! different banks of shared memory.
    static constexpr int segment_bytes =
        group * line_pitch + (segments == 1  ? 0
                              : segments < 8 ? 128 / segments
                                             : copy_unit);
    //! Words of two gains that a consumer thread reads; its other elements e have the
    //! same gains.
    static constexpr int gain_words = second_radix < 8 ? 1 : second_radix / 8;
    //! Threads that gains are stored for. Of real samples, the threads of c = 0 multiply
    //! by 0, because their elements are not wanted; the gains of c = 0 come last, see
    //! first_row.
    static constexpr int gain_threads = consumer_threads + (real ? 4 : 0);

    // Layout in shared memory of the spectra of a slot. The copy engine is slow with
    // small pieces: where spectra are short, those of a segment follow each other, as
    // they do in memory if a port has one input. Longer ones are lines.
    static constexpr bool in_a_row = channels <= 128;
    static constexpr int result_pitch = // from one spectrum to the next
        in_a_row ? spectrum_bytes : line_bytes + result_gap;
    static constexpr int segment_pitch =
        in_a_row ? slot_spectra * spectrum_bytes + result_gap : spectrum_bytes;
    static constexpr int result_bytes =
        in_a_row ? segments * segment_pitch : slot_spectra * result_pitch;
    static constexpr int segments_of_warp =
        in_a_row ? segments / consumer_warps : segments;

    // Bytes of a slot that a rank filters for one rank: for itself or for another.
    static constexpr int part_bytes = slot_spectra * filtered_bytes / ranks;
    //! Bytes of a slot with room for what is on its way to other ranks.
    static constexpr int slot_bytes =
        slot_spectra * filtered_bytes + (ranks - 1) * part_bytes;
    //! Returns how many samples a producer thread's k-th sample of a spectrum is after
    //! its first one.
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
    //! Returns whether element e of real samples belongs to a channel of the upper half
    //! of the band, where it is the conjugate of what the second product makes.
    __host__ __device__ static constexpr bool mirrored(int e)
    {
        return real && d_of(e) >= second_radix / 2;
    }
    //! Returns the channel of element e of the threads that have c, for rank 0 of a
    //! cluster. Inverted real samples are explained in pfb/tensor/real.cuh.
    __host__ __device__ static constexpr int channel_of(int c, int e, bool inverted)
    {
        const int k = frequency_of(c, e);
        return real ? (k - int(inverted)) & (channels - 1) : k;
    }

private:
    __host__ __device__ static constexpr int frequency_of(int c, int e)
    {
        const int d = d_of(e);
        if (mirrored(e)) // elements of c = 0 are channels that have no other place
            return 2 * radix * (second_radix - d) - (c > 0 ? c : radix);
        return ranks * c + (real ? 2 : 1) * channels_apart * d;
    }
};

//! A column of filtered samples as an operand of the first product: those samples R a + b
//! of a segment that have one b.
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
    const int rows = second_radix / 4; // rows of a segment
    return { row / rows, row % rows * 4 + step };
}
//! Returns which a word `word` of a column holds. With second_radix = 2 a thread filters
//! two neighbouring a.
constexpr int a_of_word(int word, int second_radix)
{
    return second_radix == 2 ? word / 8 * 8 + word % 4 * 2 + word / 4 % 2 : word;
}

//! The same for a rank of a cluster, where words arrive from other ranks.
constexpr int a_of_word(int word, int second_radix, int rank, int ranks)
{
    if (ranks == 1)
        return a_of_word(word, second_radix);
    return ranks == 8 ? word ^ (rank & 2) : word;
}

//! Bytes of a slot's results that one rank stores.
constexpr int collected_bytes = slot_spectra * line_bytes;

struct exchange_memory {
    //! Data that have been sent to this rank.
    alignas(copy_unit) char collected[consumers][2][collected_bytes];
    uint64_t arrived[consumers][2], room[consumers][2];
};

struct nothing {
};

//! The arguments of a kernel, besides those that fused kernels have. Of these the
//! prototype is [most_taps][channel], later taps belonging to later lines; twiddles are
//! [steps][consumer_threads][2], gains [input][gain_words][gain_threads][2].
struct call : filter_call {
    bool boxed;                // true if the frame is stored in boxes; see box_map()
    const uint4* matrices;     // matrices as memory has them
    int groups;                // groups of spectra of an input
    int64_t pitch;             // bytes from one spectrum of an input to its next
    int groups_each, more;     // groups of a thread block; so many blocks have one more
    int harmless_squares;      // sum of squares of results; see quantise()
    int segment, last_segment; // spectrum that the second one and the last one begin with
    int frames;                // in a row that are stored, whole ones if several
    bool inverted;             // see residue_of()
};

//! The arguments that kernels of real samples have besides.
struct real_call {
    const uint4* first_rows; // see make_first_rows()
};
struct complex_call {
};

//! The arguments that kernels have besides which sum voltages.
struct sums_call {
    cell_sums sums;
};
struct no_sums_call {
};
//! Vectors of 16 bytes that the sums of a consumer thread are: of eight elements, 32 bits
//! of |x|^2 and 64 of |x|^4.
constexpr int vectors_of_sums = 6;

//! An input of one of several successive frames.
struct input_of_frame {
    int input, frame;
};

constexpr int most_inputs = 1024;

//! All arguments of a kernel. The lists of inputs are part of them: to copy lists to the
//! GPU first would take longer than a call of many inputs can spare. Calls with delays
//! have a kernel of their own.
template <bool Delayed, class Shape, bool Summed = false>
struct input_call : call,
                    Shape,
                    std::conditional_t<Delayed, delay_call, nothing>,
                    std::conditional_t<Shape::real, real_call, complex_call>,
                    std::conditional_t<Summed, sums_call, no_sums_call> {
    using shape = Shape;
    static constexpr bool delayed = Delayed;
    static constexpr bool summed = Summed;
    // The inputs of each frame, if several are made, count as inputs of their own.
    pfb::source sources[most_inputs];
    union {
        void* spectra_of[most_inputs];
        input_of_frame of_frame[most_inputs]; // input for calls that store frames
    };
};

//! Returns which channels k a rank of a cluster has: those with k mod ranks = residue. Of
//! inverted samples the conjugates are transformed, but the sums over ranks are made
//! before.
constexpr int residue_of(int rank, int ranks, bool inverted)
{
    return inverted ? (ranks - rank) % ranks : rank;
}

//! Returns the input whose gains and counters input `input` of a call uses.
template <store Store, class Call>
__device__ __forceinline__ int input_of(int input, const Call& c)
{
    if constexpr (Store == store::frames && !Call::delayed)
        return c.of_frame[input].input;
    else
        return input;
}

//! Returns how many spectra a call with delays makes before its first one, to begin where
//! a slot begins.
template <class Call>
__device__ __forceinline__ int lead_of(const Call& c)
{
    if constexpr (Call::delayed)
        return c.lead;
    else
        return 0;
}

//! True if the channels of a thread are equally far apart and all of one spectrum, so
//! that their phasors are one series.
template <class Call>
inline constexpr bool has_one_series = Call::segments == 1 && !Call::real;

//! Returns the first spectrum of a segment, counted from the first of the call.
template <class Call>
__device__ __forceinline__ int first_spectrum(int segment, const Call& c)
{
    if constexpr (Call::segments == 1)
        return 0;
    else
        return segment * c.segment;
}

//! A piece of work: successive groups of spectra of one input, the same groups in each
//! segment.
struct piece {
    int input;
    int groups;
    int first; // spectrum of the first segment
};

/*!
 * Which pieces a thread block, or a cluster, works on: a part of all groups that is as
 * large as those of the others, of as few inputs as possible. Inputs whose samples were
 * lost are left out.
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
    //! Takes the next piece.
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
    int d_next; // next of the groups of all inputs
};

constexpr int first_row_bytes = 512; // bytes; see first_row
//! The shared memory of a thread block. Operands of the tensor cores have to begin at
//! multiples of 1024 bytes.
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
    pipeline<slots<Store, Call>> filtered_pipeline;
    pipeline<stages<Store, Call>> samples_pipeline;
    // The number of producer warps that have written their words of a slot.
    unsigned written[Call::ranks > 1 ? slots<Store, Call> : 1];
    // Barriers of sets of times: `kept` completes when the warps of both consumers that
    // have the same channels have written a set, `stored` when it has left shared memory.
    // With real samples the first barrier of each is for all warps.
    uint64_t kept[sets][consumer_warps], stored[sets][consumer_warps];
    struct first_row_memory {
        alignas(16) char of[consumers][2][first_row_bytes]; // alternating buffers
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
    struct sums_memory {
        uint4 of[consumers][vectors_of_sums][consumer_threads];
    };
    std::conditional_t<Call::summed, sums_memory, nothing> sums;
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_CUH */
