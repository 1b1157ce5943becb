/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_RING_PLACE_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_RING_PLACE_CUH

namespace gr::aperture::kernels::cuda {

//! The place of a warp in a ring of stages, and the next phase of their barriers: in one
//! register, of which there are few.
class ring_place
{
public:
    ring_place() = default;
    //! The place after so many steps; with a constant `stages` this takes no register.
    __device__ ring_place(unsigned step, int stages)
        : d_place(step % stages | (step / stages % 2) << 8)
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
    //! Returns the phase that it had there.
    __device__ int parity_before() const { return parity() ^ (stage() == 0); }

private:
    unsigned d_place = 0;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_RING_PLACE_CUH */
