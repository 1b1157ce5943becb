/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_BULK_COPY_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_BULK_COPY_CUH

#include "kernels/gpu/memory.h"
#include <cuda.h>
#include <cstdint>

namespace gr::aperture::kernels::cuda {

//! Bytes of a row of a box, on which the swizzle of shared memory works.
constexpr int box_row = 128;

//! Shape of the voltages [frame][channel][input][byte] that boxes are copied from.
struct voltage_shape {
    int64_t row_bytes;
    int inputs, channels, frames;
};

//! The place in shared memory of the 16-byte vector p of row r of a box.
enum class box_order {
    plain, //!< place p of the row
    //! Place p ^ (r % 8) of rows of box_row bytes, p ^ (r / 2 % 4) of rows of half as
    //! many, so that a warp reads a column of vectors without bank conflicts.
    swizzled,
    //! Rows of 32 bytes, with halves exchanged where r / 4 is odd.
    half_swapped
};

//! The shape of a box of bytes in four or five dimensions; strides in bytes.
struct box_shape {
    uint64_t extents[5], steps[4];
    uint32_t box[5];
    uint32_t dimensions = 4;
};
CUtensorMap make_tensor_map(const void* bytes, const box_shape& shape, box_order order);

/*!
 * Makes the map by which the copy engine finds boxes [channel][input][box_bytes]. Bytes
 * outside the voltages arrive as zeros. In shared memory the rows of a box follow each
 * other.
 */
CUtensorMap make_tensor_map(const void* voltages,
                            const voltage_shape& shape,
                            int box_bytes,
                            int box_inputs,
                            int box_channels,
                            box_order order = box_order::swizzled);

__device__ __forceinline__ uint32_t shared_address(const void* p)
{
    return uint32_t(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ uint4 load_shared(uint32_t address)
{
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(v.x),
                 "r"(v.y),
                 "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void init_barrier(uint64_t* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

//! Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void fence_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

//! Makes writes of threads to shared memory known to copy engine and tensor cores.
__device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//! \param barrier its address in shared memory
__device__ __forceinline__ void arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive(uint64_t* barrier)
{
    arrive(shared_address(barrier));
}

/*!
 * Arrives when `known` is there, which depends on all that was read. Without that, an
 * arrival overtakes pending loads of shared memory, and now and then these read later
 * data of the copy engine.
 */
__device__ __forceinline__ void arrive_after(uint64_t* barrier, uint32_t known)
{
    asm volatile("{\n"
                 ".reg .pred any;\n"
                 "setp.ne.u32 any, %1, 0;\n"
                 "@any mbarrier.arrive.shared::cta.b64 _, [%0];\n"
                 "@!any mbarrier.arrive.shared::cta.b64 _, [%0];\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(known)
                 : "memory");
}

//! Arrives at the same barrier of another thread block of the cluster.
__device__ __forceinline__ void arrive_at(uint64_t* barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(rank)
                 : "memory");
}

//! Arrives, and makes the barrier wait for `bytes` of copies.
__device__ __forceinline__ void arrive_expecting(uint64_t* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

//! Waits for the end of phase `parity` of the barrier at an address in shared memory.
__device__ __forceinline__ void wait_for(uint32_t barrier, int parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
__device__ __forceinline__ void wait_for(uint64_t* barrier, int parity)
{
    wait_for(shared_address(barrier), parity);
}

//! Copies one box from byte, input, channel, frame on; the barrier counts its bytes.
__device__ __forceinline__ void copy_box(uint32_t to, // in shared memory
                                         const CUtensorMap* map,
                                         uint64_t* barrier,
                                         int byte,
                                         int input,
                                         int channel,
                                         int frame)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(map),
        "r"(shared_address(barrier)),
        "r"(byte),
        "r"(input),
        "r"(channel),
        "r"(frame)
        : "memory");
}

//! Copies as copy_box() does, to the same place in each thread block of the cluster whose
//! bit is set; the barrier of each counts the bytes that it gets.
__device__ __forceinline__ void copy_box_to_all(uint32_t to,
                                                const CUtensorMap* map,
                                                uint64_t* barrier,
                                                int byte,
                                                int input,
                                                int channel,
                                                int frame,
                                                uint16_t mask)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
        "l"(map),
        "r"(shared_address(barrier)),
        "r"(byte),
        "r"(input),
        "r"(channel),
        "r"(frame),
        "h"(mask)
        : "memory");
}

//! The policy that createpolicy makes for evict_last.
constexpr uint64_t evict_last = 0x14F0000000000000;

//! Stores a box of shared memory from byte, input, channel, frame on, by the calling
//! thread; parts outside are left out.
__device__ __forceinline__ void store_box(
    const CUtensorMap* map, uint32_t from, int byte, int input, int channel, int frame)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group"
                 " [%0, {%2, %3, %4, %5}], [%1];\n"
                 "cp.async.bulk.commit_group;" ::"l"(map),
                 "r"(from),
                 "r"(byte),
                 "r"(input),
                 "r"(channel),
                 "r"(frame)
                 : "memory");
}

//! Stores a box that stays in the second-level cache as long as other lines can be
//! evicted. To be followed by commit_stores().
__device__ __forceinline__ void
store_staying_box(const CUtensorMap* map, uint32_t from, int byte, int b, int c, int d)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint"
                 " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),
                 "r"(from),
                 "r"(byte),
                 "r"(b),
                 "r"(c),
                 "r"(d),
                 "l"(evict_last)
                 : "memory");
}

__device__ __forceinline__ void store_staying_box(
    const CUtensorMap* map, uint32_t from, int byte, int b, int c, int d, int e)
{
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group.L2::cache_hint"
                 " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
                 "r"(from),
                 "r"(byte),
                 "r"(b),
                 "r"(c),
                 "r"(d),
                 "r"(e),
                 "l"(evict_last)
                 : "memory");
}

//! Adds numbers of 64 bits in shared memory to those in memory, by the thread that calls;
//! addresses and bytes are multiples of 16. To be followed by commit_stores().
__device__ __forceinline__ void add_bulk(unsigned long long* to, uint32_t from, int bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64"
                 " [%0], [%1], %2;" ::"l"(to),
                 "r"(from),
                 "r"(bytes)
                 : "memory");
}

//! Makes a group of the stores of this thread since the last one, which may be none.
__device__ __forceinline__ void commit_stores()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

//! Waits until the stores and additions of this thread, except for the last `Pending`
//! groups, have left shared memory.
template <int Pending = 0>
__device__ __forceinline__ void wait_for_stores()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

//! Returns the rank of this thread block in its cluster.
__device__ __forceinline__ uint32_t rank_in_cluster()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

//! Waits until all threads of the cluster are here.
__device__ __forceinline__ void sync_cluster()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::
                     : "memory");
}

//! Prefetches `bytes` of memory to the second-level cache, as for copy_bytes().
__device__ __forceinline__ void prefetch_bytes(const void* from, int bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes)
                 : "memory");
}

//! Copies `bytes` in a row, a multiple of 16, as the addresses are.
__device__ __forceinline__ void
copy_bytes(uint32_t to, const void* from, uint64_t* barrier, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from),
                 "r"(bytes),
                 "r"(shared_address(barrier))
                 : "memory");
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_BULK_COPY_CUH */
