/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CLUSTERS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CLUSTERS_CUH

#include "kernels/pfb/tensor/tensor.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

/*
 * More than 1024 channels, by the R thread blocks of a cluster. With N = 1024 R, channel
 * R m + r of the filtered spectrum z is
 *
 *   y[R m + r] = sum_n<1024 wN^(n (R m + r)) u_r[n],
 *   u_r[n] = sum_j<R wR^(j r) z[n + 1024 j],
 *
 * which is a transform as that of 1024 channels, with other matrices and twiddles. It is
 * made by rank r; each rank filters the samples of a range of n for all j, adds them up
 * to u_r[n] in registers, and sends each rank what is its.
 *
 * A slot has, of one rank after the other, what this one has filtered: words of row b
 * and column a, n = 32 a + b, as [four a][spectrum][eight b][b][a], so that what a warp
 * writes at a time lies in a row, and what a rank sends, too. The slot's own part is
 * written where it is wanted, others behind the slot, from where the copy engine takes
 * them to the other ranks' slots.
 */

//! Loads two matrices of 8 x 8 samples, transposed (ldmatrix): a lane gets, of column
//! lane / 4, rows 2 (lane % 4) and the next. Lane 8 m + r of the first 16 gives the
//! address of row r of matrix m.
__device__ __forceinline__ void load_transposed(uint2& words, uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words.x), "=r"(words.y)
                 : "r"(address)
                 : "memory");
}

//! wait_for() for a whole warp, whose lanes go on at the same time: instructions that a
//! warp executes together, such as ldmatrix, need all lanes.
__device__ __forceinline__ void wait_together(uint64_t* barrier, int parity)
{
    int done;
    do {
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.s32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!__all_sync(~0u, done));
}

//! copy_bytes() by one elected thread of a warp, all threads of which call it with the
//! same arguments.
__device__ __forceinline__ void
copy_bytes_together(uint32_t to, const void* from, uint64_t* barrier, int bytes)
{
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "@one cp.async.bulk.shared::cluster.global.mbarrier"
                 "::complete_tx::bytes [%0], [%1], %2, [%3];\n"
                 "}" ::"r"(to),
                 "l"(from),
                 "r"(bytes),
                 "r"(shared_address(barrier))
                 : "memory");
}

//! Returns the address in the cluster of what lies at `address` in the shared memory of
//! another rank.
__device__ __forceinline__ uint32_t address_at(uint32_t address, uint32_t rank)
{
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

//! Copies from shared memory to that of another rank of the cluster, whose barrier counts
//! the bytes. Destination and barrier are addresses in the cluster.
__device__ __forceinline__ void
send_bytes(uint32_t to, uint32_t from, uint32_t barrier, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "r"(from),
                 "r"(bytes),
                 "r"(barrier)
                 : "memory");
}

constexpr int core_bytes = 128;                           // eight b by four a
constexpr int core_spectrum = radix / 8 * core_bytes;     // bytes of a spectrum, four a
constexpr int core_column = slot_spectra * core_spectrum; // four a

//! Matrix descriptor by which the tensor cores find filtered samples in this order.
class cores_matrix
{
public:
    __device__ __forceinline__ explicit cores_matrix(uint32_t address)
        : d_low((address & 0x3ffff) >> 4 | (core_column >> 4) << 16)
    {
    }
    //! Returns the matrix of the spectra that begin `bytes` bytes later.
    __device__ __forceinline__ cores_matrix after(int bytes) const
    {
        cores_matrix matrix(*this);
        matrix.d_low += bytes >> 4;
        return matrix;
    }
    //! Returns the descriptor of the columns that begin `bytes` bytes later.
    __device__ __forceinline__ uint64_t descriptor(int bytes) const
    {
        return uint64_t(core_bytes >> 4) << 32 | (d_low + (bytes >> 4));
    }

private:
    uint32_t d_low;
};

__device__ __forceinline__ float2 operator+(float2 a, float2 b)
{
    return { __fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y) };
}
__device__ __forceinline__ float2 operator-(float2 a, float2 b)
{
    return { __fsub_rn(a.x, b.x), __fsub_rn(a.y, b.y) };
}
__device__ __forceinline__ float2 times_minus_i(float2 a) { return { a.y, -a.x }; }

//! Transforms four points: z_0 to z_3 become u_0 to u_3.
__device__ __forceinline__ void add_four(float2 (&z)[4])
{
    const float2 a = z[0] + z[2], b = z[0] - z[2];
    const float2 c = z[1] + z[3], d = times_minus_i(z[1] - z[3]);
    z[0] = a + c, z[1] = b + d, z[2] = a - c, z[3] = b - d;
}

//! Returns the value of the other lane of a pair.
__device__ __forceinline__ float2 exchanged(float2 a)
{
    return { __shfl_xor_sync(~0u, a.x, 1), __shfl_xor_sync(~0u, a.y, 1) };
}

/*!
 * The four samples of a spectrum that a producer thread of a cluster filters: with 2048
 * channels two n by two j; with 4096 four j; with 8192 four even or four odd j, while the
 * other lane of the pair has the others.
 */
template <class Call>
class cluster_place
{
    static constexpr int ranks = Call::ranks;
    const int d_rank = int(rank_in_cluster());
    const int d_lane = threadIdx.x % 32;
    const int d_warp = threadIdx.x / 32 - loading_thread / 32;

    //! Returns the first sample, among those of the rank, that a lane with b and `other`
    //! filters.
    __device__ __forceinline__ int first_of(int b, int other) const
    {
        const int row = d_warp % 4 * 8 + b;
        if constexpr (ranks == 8) // other: two a by even and odd j
            return other % 2 * points + (d_warp / 4 * 2 + other / 2) * radix + row;
        else
            return (d_warp / 4 * 4 + other) * radix + row;
    }
    //! Returns the place of a sample of a line in a stage, in bytes.
    __device__ __forceinline__ static constexpr int bytes_to(int sample)
    {
        return sample / points * Call::piece_pitch + sample % points * Call::sample_bytes;
    }

public:
    static constexpr int segment = 0;
    //! Index of the first sample in its spectrum.
    __device__ __forceinline__ int in_spectrum() const
    {
        return first_of(d_lane / 4, d_lane % 4) + d_rank * (points / ranks);
    }
    //! Returns what load() reads, as a place in a stage in bytes.
    __device__ __forceinline__ int in_stage() const
    {
        if constexpr (!reads_together<Call>)
            return bytes_to(first_of(d_lane / 4, d_lane % 4));
        // Lane 8 m + 2 t + i gives the address of eight b of sample 2 m + i.
        const int sample = d_lane / 8 % 2 * 2 + d_lane % 2;
        return bytes_to(first_of(0, d_lane % 8 / 2)) + bytes_to(Call::samples_on(sample));
    }
    //! Loads four samples. Called by all lanes of a warp.
    __device__ __forceinline__ static uint2 load(uint32_t address)
    {
        if constexpr (reads_together<Call>) {
            uint2 v;
            load_transposed(v, address);
            return v;
        } else {
            uint32_t each[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint32_t from = address + bytes_to(Call::samples_on(k));
                each[k] = Call::sc4 ? load_byte(from) : load_short(from);
            }
            if constexpr (Call::sc4)
                return { __byte_perm(__byte_perm(each[0], each[1], 0x0040),
                                     __byte_perm(each[2], each[3], 0x0040),
                                     0x5410),
                         0 };
            else
                return { __byte_perm(each[0], each[1], 0x5410),
                         __byte_perm(each[2], each[3], 0x5410) };
        }
    }
    //! Finds where the words of this thread begin in a slot; the address of the slot is
    //! to be added.
    __device__ __forceinline__ void find_words(uint32_t (&words)[4]) const
    {
        const int other = d_lane % 4, row = d_warp % 4 * core_bytes + d_lane / 4 * 16;
#pragma unroll
        for (int k = 0; k < 4; k++)
            if constexpr (ranks == 2)
                words[k] = part(k % 2) + (d_warp / 4 + k / 2 * 2) * core_column + row +
                           other * 4;
            else if constexpr (ranks == 4)
                words[k] = part(k) + d_warp / 4 * core_column + row + other * 4;
            else // odd lanes' ranks have their a in another order: other banks
                words[k] = part(other % 2 * 2 + k / 2 + k % 2 * 4) + row +
                           ((d_warp / 4 * 2 + other / 2) ^ other % 2 * 2) * 4;
    }
    //! Adds up a thread's samples (the transform over ranks) and writes the words of a
    //! spectrum.
    __device__ __forceinline__ void
    store(const uint32_t (&words)[4], int spectrum, const float (&filtered)[8]) const
    {
        float2 z[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            z[k] = { filtered[2 * k], filtered[2 * k + 1] };
        if constexpr (ranks == 2) {
            const float2 u[] = { z[0] + z[1], z[0] - z[1], z[2] + z[3], z[2] - z[3] };
#pragma unroll
            for (int k = 0; k < 4; k++)
                z[k] = u[k];
        } else {
            add_four(z);
        }
        if constexpr (ranks == 8) {
            // Even lanes have sums of even j for r = 0, 1, 2, 3, odd ones sums of odd j
            // for 2, 3, 0, 1: see sign(). Each makes four u of the first two.
            const bool odd = d_lane % 2;
            const float h = odd ? 0.70710678f : 0.f;
            const float one = odd ? 0.f : 1.f;
            const float2 swapped = times_minus_i(z[0]);
            z[0] = odd ? swapped : z[0];
            z[1] = rotated(z[1], { one - h, -h }); // w8^3
            z[3] = rotated(z[3], { one + h, -h }); // w8
            const float2 x = exchanged(z[2]), y = exchanged(z[3]);
            const float2 u[] = { z[0] + x, z[0] - x, z[1] + y, z[1] - y };
#pragma unroll
            for (int k = 0; k < 4; k++)
                z[k] = u[k];
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            store_word(words[k] + spectrum * core_spectrum, halves(z[k].x, z[k].y));
    }
    //! Returns the sign of the coefficients of sample k: the sums of odd lanes begin with
    //! r = 2.
    __device__ __forceinline__ float sign(int k) const
    {
        return ranks == 8 && d_lane % 2 && k % 2 ? -1 : 1;
    }

private:
    //! Returns where in a slot lies what is filtered for a rank.
    __device__ __forceinline__ int part(int rank) const
    {
        const int behind = (rank - d_rank + ranks) % ranks;
        return behind == 0
                   ? d_rank * Call::part_bytes
                   : slot_spectra * filtered_bytes + (behind - 1) * Call::part_bytes;
    }
    __device__ __forceinline__ static float2 rotated(float2 a, float2 by)
    {
        return { __fmaf_rn(a.x, by.x, -__fmul_rn(a.y, by.y)),
                 __fmaf_rn(a.x, by.y, __fmul_rn(a.y, by.x)) };
    }
};

//! Tells that a warp has written its words of a slot. Called by the first lane of each
//! warp; that of the last warp sends the parts of the other ranks.
template <store Store, class Call>
__device__ __forceinline__ void leave_words(memory<Store, Call>& m, int slot)
{
    constexpr int ranks = Call::ranks;
    // With the arrival of each warp, a part of the bytes that other ranks send is
    // expected.
    arrive_expecting(m.filtered_pipeline.full(slot),
                     (ranks - 1) * Call::part_bytes / filter_warps);
    if (count_around(&m.written[slot], filter_warps) < filter_warps - 1)
        return;
    const uint32_t own = shared_address(m.filtered[slot]);
    const uint32_t full = shared_address(m.filtered_pipeline.full(slot));
    const uint32_t rank = rank_in_cluster();
#pragma unroll
    for (int behind = 1; behind < ranks; behind++) {
        const uint32_t to = (rank + behind) % ranks;
        send_bytes(address_at(own + rank * Call::part_bytes, to),
                   own + slot_spectra * filtered_bytes + (behind - 1) * Call::part_bytes,
                   address_at(full, to),
                   Call::part_bytes);
    }
}

/*!
 * Exchange of results in a cluster that makes spectra. Each rank has every R-th channel
 * of a slot's spectra, and sends the other ranks what these store: with 2048 channels
 * each rank stores two spectra, with 4096 one, with 8192 half of one. What has arrived is
 * stored when the next slot of the consumer has been sent.
 */
template <store Store, class Call>
class spectra_exchange
{
    static constexpr int ranks = Call::ranks;
    static constexpr int part = collected_bytes / ranks;
    static constexpr int piece = part < line_bytes ? part : line_bytes; // bytes
    static constexpr int pieces = part / piece;
    static constexpr int rounds = collected_bytes / 16 / consumer_threads;

    memory<Store, Call>& m;
    const Call& c;
    const int d_consumer, d_thread, d_rank;
    const uint32_t d_results; // address of the consumer's results
    fixed_stage_place<2> d_at{};
    // The place where the slot that was sent last is to be stored, and which of its
    // spectra are wanted.
    char* d_to = nullptr;
    int d_begin = 0, d_end = 0;

public:
    __device__ __forceinline__ spectra_exchange(memory<Store, Call>& of,
                                                const Call& call,
                                                int consumer,
                                                int thread,
                                                int rank,
                                                uint32_t results)
        : m(of),
          c(call),
          d_consumer(consumer),
          d_thread(thread),
          d_rank(rank),
          d_results(results)
    {
    }
    //! Waits until the results of the slot before the last one have left shared memory.
    __device__ __forceinline__ void wait_for_room()
    {
        wait_for(&m.exchange.room[d_consumer][d_at.stage()], d_at.parity() ^ 1);
    }
    //! Sends the results of a slot, which all threads of the consumer have written.
    //! \param to the first spectrum of the slot
    //! \param begin, end spectra that are wanted
    __device__ __forceinline__ void send(char* to, int begin, int end)
    {
        if (d_thread == 0) {
            uint64_t* arrived = &m.exchange.arrived[d_consumer][d_at.stage()];
            arrive_expecting(arrived, (ranks - 1) * part);
            const uint32_t there =
                shared_address(m.exchange.collected[d_consumer][d_at.stage()]) +
                d_rank * part;
#pragma unroll
            for (int i = pieces; i < ranks * pieces; i++) {
                const uint32_t rank = (d_rank + i / pieces) % ranks;
                const int first = int(rank) * part + i % pieces * piece;
                send_bytes(address_at(there + i % pieces * piece, rank),
                           result(d_at.stage(), first),
                           address_at(shared_address(arrived), rank),
                           piece);
            }
        }
        char* const before = d_to;
        const int begin_before = d_begin, end_before = d_end;
        d_to = to, d_begin = begin, d_end = end;
        const auto at = d_at;
        d_at.advance();
        if (before)
            store({ at.stage() ^ 1, at.stage() ? at.parity() : at.parity() ^ 1 },
                  before,
                  begin_before,
                  end_before);
    }
    //! Stores the last slot.
    __device__ __forceinline__ void finish()
    {
        if (d_to)
            store({ d_at.stage() ^ 1, d_at.stage() ? d_at.parity() : d_at.parity() ^ 1 },
                  d_to,
                  d_begin,
                  d_end);
    }

private:
    // These are read anew whenever spectra are stored: values computed from them would
    // not stay in registers, and to reload them from memory takes the consumer longer.
    __device__ __forceinline__ static int thread_now()
    {
        int thread;
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        return thread % consumer_threads;
    }
    __device__ __forceinline__ static int rank_now()
    {
        int rank;
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        return rank;
    }

    //! Returns the address of byte `place` of all results of a slot.
    __device__ __forceinline__ uint32_t result(int buffer, int place) const
    {
        return d_results + buffer * Call::result_bytes +
               place / line_bytes * Call::result_pitch + place % line_bytes;
    }
    __device__ __forceinline__ void
    store(fixed_stage_place<2> at, char* to, int begin, int end)
    {
        wait_for(&m.exchange.arrived[d_consumer][at.stage()], at.parity());
        const int thread = thread_now(), rank = rank_now();
        const uint32_t from =
            shared_address(m.exchange.collected[d_consumer][at.stage()]);
#pragma unroll
        for (int i = 0; i < rounds; i++) {
            const int place = i * consumer_threads + thread; // index of 16 bytes
            const int spectrum =
                (rank * part + i * (collected_bytes / rounds / ranks)) / line_bytes;
            constexpr int rounds_of_piece = rounds / pieces;
            const uint32_t own =
                result(at.stage(), rank * part + i / rounds_of_piece * piece) +
                (i % rounds_of_piece * consumer_threads + thread) * (16 / ranks);
            const uint4 words = interleaved(from + place * (16 / ranks), own, rank);
            const int in_spectrum =
                (rank * collected_bytes + place * 16) % Call::spectrum_bytes;
            if (spectrum >= begin && spectrum < end)
                __stcg(reinterpret_cast<uint4*>(to + spectrum * c.pitch + in_spectrum),
                       words);
        }
        if (thread % 32 < ranks)
            arrive_at(&m.exchange.room[d_consumer][at.stage()], thread % 32);
    }
    //! Returns eight successive channels.
    //! \param from what rank 0 has sent
    //! \param own the same of this rank
    __device__ __forceinline__ uint4 interleaved(uint32_t from,
                                                 uint32_t own,
                                                 int own_rank) const
    {
        const auto of = [&](int residue) {
            const int rank = residue_of(residue, ranks, c.inverted);
            return rank == own_rank ? own : from + rank * part;
        };
        const auto low = [](uint32_t a, uint32_t b) { return __byte_perm(a, b, 0x5410); };
        const auto high = [](uint32_t a, uint32_t b) {
            return __byte_perm(a, b, 0x7632);
        };
        if constexpr (ranks == 2) {
            const uint2 a = load_eight_bytes(of(0)), b = load_eight_bytes(of(1));
            return { low(a.x, b.x), high(a.x, b.x), low(a.y, b.y), high(a.y, b.y) };
        } else if constexpr (ranks == 4) {
            const uint32_t a = load_word(of(0)), b = load_word(of(1));
            const uint32_t d = load_word(of(2)), e = load_word(of(3));
            return { low(a, b), low(d, e), high(a, b), high(d, e) };
        } else {
            uint32_t v[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                v[k] = low(load_short(of(2 * k)), load_short(of(2 * k + 1)));
            return { v[0], v[1], v[2], v[3] };
        }
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CLUSTERS_CUH */
