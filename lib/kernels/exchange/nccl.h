/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_NCCL_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_NCCL_H

#include <cuda_runtime.h>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

/*!
 * NCCL communicators of some GPUs. The library is loaded when it is asked for: it has 200
 * MB, many systems do not have it, and programs linked to it would not start there.
 */
class nccl
{
public:
    //! Returns why NCCL cannot be used; empty if it can.
    static std::string problem();

    /*!
     * \param gpus each GPU once; their indices are the ranks
     * \throws std::runtime_error
     */
    static std::unique_ptr<nccl> make(const std::vector<int>& gpus);
    virtual ~nccl() = default;
    //! Returns the version, for example "2.28.3".
    virtual std::string version() const = 0;

    //! Begins a group: all sends and receives up to end() are done at the same time.
    virtual void begin() = 0;
    virtual void end() = 0;
    virtual void send(const void* from, size_t bytes, int self, int to, cudaStream_t) = 0;
    virtual void receive(void* to, size_t bytes, int self, int from, cudaStream_t) = 0;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_NCCL_H */
