/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_PIPELINE_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_PIPELINE_CUH

#include "kernels/gpu/bulk_copy.cuh"
#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*
 * The pipeline of a kernel is a ring of stages in shared memory between producers, which
 * fill stages, and consumers, which use what is there and release the stage. Each side
 * goes around the ring at its own pace. A stage has two barriers: `full` completes a
 * phase when the stage has been filled, `empty` when it has been released. Phases are
 * counted modulo 2 (parity): the first time around, producers find all stages released.
 */

//! The place of a producer or a consumer in the ring: its next stage, and the parity of
//! how often it has gone around.
class stage_place
{
public:
    stage_place() = default;
    __device__ stage_place(int stage, int parity) : d_stage(stage), d_parity(parity) {}
    __device__ int stage() const { return d_stage; }
    __device__ int parity() const { return d_parity; }
    __device__ void advance(int stages)
    {
        if (++d_stage == stages) {
            d_stage = 0;
            d_parity ^= 1;
        }
    }
    //! Returns the stage before.
    __device__ int before(int stages) const { return (d_stage ? d_stage : stages) - 1; }

protected:
    int d_stage = 0, d_parity = 0;
};

//! The same in a ring whose number of stages is known at compile time.
template <int Stages>
class fixed_stage_place : public stage_place
{
public:
    using stage_place::stage_place;
    //! \param by stages, not more than once around
    __device__ void advance(int by = 1)
    {
        d_stage += by;
        if (d_stage >= Stages) {
            d_stage -= Stages;
            d_parity ^= 1;
        }
    }
};

//! The same in one register, for kernels that have no other one left.
class packed_stage_place
{
public:
    packed_stage_place() = default;
    //! The place after so many steps; where `stages` is a constant it takes no register
    //! at all.
    __device__ packed_stage_place(unsigned steps, int stages)
        : d_place(steps % stages | (steps / stages % 2) << 8)
    {
    }
    __device__ int stage() const { return int(d_place & 0xff); }
    __device__ int parity() const { return int(d_place >> 8); }
    __device__ void advance(int stages)
    {
        d_place = stage() + 1 == stages ? ~d_place & 0x100 : d_place + 1;
    }
    //! Returns the stage before.
    __device__ int before(int stages) const { return (stage() ? stage() : stages) - 1; }
    //! Returns the parity that this place had at the stage before.
    __device__ int parity_before() const { return parity() ^ (stage() == 0); }

private:
    unsigned d_place = 0;
};

/*!
 * The calls of producers and consumers at the barriers of a pipeline. `Barriers` has
 * full(stage) and empty(stage).
 */
template <class Barriers>
class pipeline_calls
{
public:
    //! Producer: waits until the stage has been released.
    template <class Place>
    __device__ __forceinline__ void producer_acquire(const Place& at)
    {
        wait_for(self().empty(at.stage()), at.parity() ^ 1);
    }
    //! Producer: copies of so many bytes are about to fill the stage.
    //! \return the barrier that counts them
    template <class Place>
    __device__ __forceinline__ auto producer_expect(const Place& at, int bytes)
    {
        const auto barrier = self().full(at.stage());
        arrive_expecting(barrier, bytes);
        return barrier;
    }
    //! Producer: the stage has been filled, as far as this thread is concerned.
    template <class Place>
    __device__ __forceinline__ void producer_commit(const Place& at)
    {
        arrive(self().full(at.stage()));
    }
    //! Consumer: waits until the stage has been filled.
    template <class Place>
    __device__ __forceinline__ void consumer_wait(const Place& at)
    {
        wait_for(self().full(at.stage()), at.parity());
    }
    //! Consumer: releases the stage.
    template <class Place>
    __device__ __forceinline__ void consumer_release(const Place& at)
    {
        arrive(self().empty(at.stage()));
    }

private:
    __device__ Barriers& self() { return static_cast<Barriers&>(*this); }
};

//! A pipeline of up to Most stages: its barriers, in shared memory.
template <int Most>
class pipeline : public pipeline_calls<pipeline<Most>>
{
    uint64_t d_full[Most], d_empty[Most];

public:
    __device__ uint64_t* full(int stage) { return d_full + stage; }
    __device__ uint64_t* empty(int stage) { return d_empty + stage; }
    //! Prepares the barriers of a stage, which complete a phase after so many arrivals.
    //! To be followed by fence_barriers() and a barrier of the thread block.
    __device__ __forceinline__ void init(int stage, int filling, int releasing)
    {
        init_barrier(full(stage), filling);
        init_barrier(empty(stage), releasing);
    }
};

//! The same by its address, which is kept in a register (a uniform one, if a warp knows
//! that it is the same in all lanes).
template <int Most>
class pipeline_at : public pipeline_calls<pipeline_at<Most>>
{
    uint32_t d_at;

public:
    __device__ explicit pipeline_at(uint32_t address) : d_at(address) {}
    __device__ uint32_t full(int stage) const { return d_at + stage * sizeof(uint64_t); }
    __device__ uint32_t empty(int stage) const
    {
        return d_at + Most * sizeof(uint64_t) + stage * sizeof(uint64_t);
    }
};

//! Sets the number of registers that each thread of a warp group has from here on: the
//! producers give away what the consumers take. Called by all threads of the warp group.
template <int Registers>
__device__ __forceinline__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_PIPELINE_CUH */
