/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_ENGINE_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_ENGINE_H

#include "kernels/beamformer/beamformer.h"
#include "kernels/gpu/gpu_facts.h"
#include "kernels/gpu/memory.h"
#include <cuda_fp16.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

//! The extents of voltages [frame][channel][input][time], and the number of beams.
struct beam_extents {
    int channels, inputs, beams, times;
    sample_type input;
};

/*!
 * The output that is made of the beams while they are still in registers.
 *
 *     fc32, sc8   written, [frame][channel][beam][time]
 *     intensity   |x|^2 + |y|^2 of the beams 2m, 2m+1 of a pair: one component a pair
 *     powers      |beam|^2: one component a beam
 *     coherency   |x|^2, |y|^2, Re xy*, Im xy*: four components a pair
 *
 * The last three are summed over stretches (pieces) of the time and written as
 * [frame][channel][piece][component].
 */
struct beam_target {
    enum class kind { fc32, sc8, intensity, powers, coherency };

    kind what;
    void* to;
    unsigned long long* clamped; //!< sc8: count of clamped samples for each beam
    int piece;                   //!< times of a sum: 1, 16 or 64

    int pieces(int times) const { return (times + piece - 1) / piece; }
};

//! Returns the components of all beams in one stretch of a channel.
constexpr int components_of(beam_target::kind what, int beams)
{
    return what == beam_target::kind::intensity   ? beams / 2
           : what == beam_target::kind::coherency ? 2 * beams
                                                  : beams;
}

constexpr int beam_chunk = 32; //!< inputs

/*!
 * The way in which complex products are made of real ones, and weights are packed for
 * that: [channel][tile of beams][chunk of inputs][form][beam][32 inputs], zeros where
 * there is no beam or no input. The 16-byte vector p of row r is at place p ^ (r / 2 %
 * 4), so that a column of vectors is read without bank conflicts.
 */
struct weight_packing {
    int tile; //!< beams of a tile; 0: weights are not packed
    int forms;
    bool crossed = false; //!< the beams 2m and 2m+1 of the first form are exchanged

    /*!
     * Uses three products: with p0 = wr (xr + xi), p1 = (wi - wr) xr and p2 = -(wr + wi)
     * xi the real part is p0 + p2, the imaginary part p0 + p1. It saves the tensor cores
     * a quarter of their work; the sum of two 8-bit integers is exact in half precision.
     */
    static constexpr weight_packing three(int tile, bool crossed = false)
    {
        return { tile, 3, crossed };
    }
    //! Uses four products, with wr and wi: less work around the tensor cores.
    static constexpr weight_packing four(int tile) { return { tile, 2 }; }

    int tiles(int beams) const { return (beams + tile - 1) / tile; }
    int chunks(int inputs) const { return (inputs + beam_chunk - 1) / beam_chunk; }
};
constexpr int beam_forms = weight_packing::three(0).forms;

//! Weights in half precision, times a power of two that makes the largest about 2^14.
struct packed_weights {
    const __half* values;
    const float* factor; //!< the inverse of that power of two
};

//! Pointers to the weights and gains of all beams in device memory.
struct device_weights {
    const cfloat* values; //!< [channel][beam][input]
    const float* gains;   //!< [beam]
    packed_weights packed;
};

//! One implementation of beams.
class beam_former
{
public:
    virtual ~beam_former() = default;
    virtual weight_packing packing() const = 0;
    //! Returns whether it can sum over stretches of so many times.
    virtual bool sums_over(int piece) const = 0;
    //! Loads the kernels that form() launches for a target, in constructors.
    virtual void load(const beam_target& target) = 0;
    virtual void form(const void* voltages,
                      int frames,
                      const device_weights& weights,
                      const beam_target& target,
                      cudaStream_t) = 0;
};

//! Makes "wgmma f16": warp-group matrix instructions in half precision; Hopper.
std::unique_ptr<beam_former> make_wgmma_former(const beam_extents&, gpu_facts);
//! Makes "mma f16": mma.sync in half precision; from Turing on.
std::unique_ptr<beam_former> make_mma_former(const beam_extents&, gpu_facts);
//! Makes "fp32": single precision.
std::unique_ptr<beam_former> make_fp32_former(const beam_extents&, gpu_facts);

//! Returns the implementations of a GPU, fastest first: "wgmma f16", "mma f16", "fp32".
std::vector<std::string> beam_former_names(const beam_extents& x, int device);

//! An implementation of beams and its weights, on the GPU that is current.
class beam_engine
{
public:
    //! \param name one of beam_former_names(); empty: the first one
    beam_engine(const beam_extents& x, int device, const std::string& name);

    std::string implementation() const { return d_implementation; }
    bool sums_over(int piece) const { return d_former->sums_over(piece); }

    //! Loads kernels, in constructors, for each target that form() will be given: its
    //! kind, and the times of a sum.
    void load(beam_target::kind what, int piece);

    prepared_weights_sptr prepare(const cfloat* weights);
    void use(const prepared_weights_sptr& weights, cudaStream_t s);
    void set_gains(const float* gains, cudaStream_t s);
    void
    form(const void* voltages, int frames, const beam_target& target, cudaStream_t s);

private:
    const beam_extents d_x;
    std::string d_implementation;
    std::unique_ptr<beam_former> d_former;
    exchanged_array<cfloat> d_weights;
    uploaded_array<float> d_gains;
    device_array<__half> d_packed;
    device_array<float> d_factor; // factor, and the largest weight, as an integer
    bool d_changed = true;        // weights or gains changed since they were packed

    void pack(cudaStream_t s);
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_ENGINE_H */
