/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_X86_TILES_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_X86_TILES_H

#include "kernels/common/x86_vectors.h"
#include "kernels/xengine/xengine_tiles.h"

namespace gr::aperture::kernels::host {

//! Operations on components of 16 bits with exact sums, for make_tile_kernel().
template <class Vectors>
struct x86_integer_products {
    using element = int16_t;
    using sum = int32_t;
    using vector = typename Vectors::integers;
    static constexpr int lanes = 2 * Vectors::lanes;
    static vector zero() { return Vectors::zero_integers(); }
    static vector load(const element* p) { return Vectors::load_integers(p); }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return Vectors::add_dot(s, a, b);
    }
    static sum total(vector v) { return Vectors::total(v); }
};

//! Operations on components and sums in single precision, for make_tile_kernel().
template <class Vectors>
struct x86_real_products {
    using element = float;
    using sum = float;
    using vector = typename Vectors::reals;
    static constexpr int lanes = Vectors::lanes;
    static vector zero() { return Vectors::zero_reals(); }
    static vector load(const element* p) { return Vectors::load(p); }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return Vectors::multiply_add(s, a, b);
    }
    static sum total(vector v) { return Vectors::total(v); }
};

//! Kernels that multiply A inputs with B inputs at once.
template <class Vectors, int A, int B>
constexpr tile_kernels x86_tile_kernels(const char* name)
{
    return { name,
             Vectors::supported,
             make_tile_kernel<x86_integer_products<Vectors>, A, B>(),
             make_tile_kernel<x86_real_products<Vectors>, A, B>() };
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_X86_TILES_H */
