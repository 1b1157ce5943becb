/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAM_TILES_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAM_TILES_H

#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels::host {

/*!
 * Forms the beams of a tile over a panel of time: out[b][t] (+)= scale[b] sum_i w[b,i]
 * x_i(t).
 *
 * A panel holds `width` times of each input. An integer element is the pair (re, im) of a
 * time, in the halves of an int32: one instruction multiplies it with (re w, -im w) or
 * (im w, re w) and adds. With floats, the real parts of the vector lie before the
 * imaginary ones. In both cases, a weight is two elements.
 */
template <class element>
struct beam_kernel {
    int beams; //!< beams of a tile; even, so that pairs are not split
    int width; //!< times of a panel
    int lanes; //!< times of a vector
    //! Multiplies panel [input][elements] with weights [input][beam][2] -> re
    //! [beam][stride], im [beam][stride].
    //! \param add whether to add to the elements that are there
    void (*run)(const element* panel,
                const element* weights,
                int inputs,
                const float* scales,
                bool add,
                float* re,
                float* im,
                size_t stride);
};

//! The kernels for one kind of vector instructions.
struct beam_kernels {
    const char* name;
    bool (*supported)();
    beam_kernel<int32_t> integer; //!< exact for up to 256 inputs of 8 bits
    beam_kernel<float> real;
};

// each compiled for its own instructions; only those that are supported may be run
extern const beam_kernels generic_beams;
#if defined(__x86_64__)
extern const beam_kernels avx2_beams, avx512_beams;
#endif

/*!
 * The loop of all of them. `vectors` defines the vectors: types element, voltages, weight
 * and sum; lanes, elements (in memory, of a vector of voltages); load(), load_weight(),
 * add_re() and add_im() of a product, store(), add_to(). No other header with code in it
 * may be included where this is compiled for special instructions: see xengine_tiles.h.
 */
template <class vectors, int Beams, int Count>
void beam_tile(const typename vectors::element* panel,
               const typename vectors::element* weights,
               int inputs,
               const float* scales,
               bool add,
               float* re,
               float* im,
               size_t stride)
{
    // one index, beams slowest: with nested loops GCC leaves the sums in memory
    constexpr int sums = Beams * Count;
    typename vectors::sum sum_re[sums], sum_im[sums];
#pragma GCC unroll 16
    for (int n = 0; n < sums; n++)
        sum_re[n] = sum_im[n] = vectors::zero();
    for (int i = 0; i < inputs; i++) {
        typename vectors::voltages x[Count];
#pragma GCC unroll 16
        for (int v = 0; v < Count; v++)
            x[v] = vectors::load(panel + v * vectors::elements);
#pragma GCC unroll 16
        for (int n = 0; n < sums; n++) {
            const typename vectors::weight w =
                vectors::load_weight(weights + 2 * (n / Count));
            sum_re[n] = vectors::add_re(sum_re[n], x[n % Count], w);
            sum_im[n] = vectors::add_im(sum_im[n], x[n % Count], w);
        }
        panel += Count * vectors::elements;
        weights += 2 * Beams;
    }
#pragma GCC unroll 16
    for (int n = 0; n < sums; n++) {
        const size_t at = n / Count * stride + n % Count * vectors::lanes;
        const float scale = scales[n / Count];
        if (add) {
            vectors::add_to(re + at, sum_re[n], scale);
            vectors::add_to(im + at, sum_im[n], scale);
        } else {
            vectors::store(re + at, sum_re[n], scale);
            vectors::store(im + at, sum_im[n], scale);
        }
    }
}

template <class vectors, int Beams, int Count>
constexpr beam_kernel<typename vectors::element> make_beam_kernel()
{
    static_assert(Beams % 2 == 0, "pairs of beams are in one tile");
    return {
        Beams, Count * vectors::lanes, vectors::lanes, beam_tile<vectors, Beams, Count>
    };
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAM_TILES_H */
