/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_X86_BEAM_TILES_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_X86_BEAM_TILES_H

#include "kernels/beamformer/beam_tiles.h"
#include "kernels/common/x86_vectors.h"

namespace gr::aperture::kernels::host {

//! Operations on voltages and weights as pairs (re, im) of 16 bits, with exact sums, for
//! make_beam_kernel().
template <class Vectors>
struct x86_integer_beams {
    using element = int32_t;
    using voltages = typename Vectors::integers;
    using sum = typename Vectors::integers;
    struct weight {
        typename Vectors::integers re, im;
    };
    static constexpr int lanes = Vectors::lanes, elements = lanes;
    static sum zero() { return Vectors::zero_integers(); }
    static voltages load(const element* p) { return Vectors::load_integers(p); }
    static weight load_weight(const element* p)
    {
        return { Vectors::all(p[0]), Vectors::all(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w)
    {
        return Vectors::add_dot(s, x, w.re);
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return Vectors::add_dot(s, x, w.im);
    }
    static void store(float* to, sum s, float scale)
    {
        Vectors::store(to, Vectors::multiply(Vectors::to_reals(s), Vectors::all(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        Vectors::store(to,
                       Vectors::multiply_add(
                           Vectors::load(to), Vectors::to_reals(s), Vectors::all(scale)));
    }
};

//! Operations on voltages, weights and sums in single precision, for make_beam_kernel().
template <class Vectors>
struct x86_real_beams {
    using element = float;
    struct voltages {
        typename Vectors::reals re, im;
    };
    using sum = typename Vectors::reals;
    struct weight {
        typename Vectors::reals re, im;
    };
    static constexpr int lanes = Vectors::lanes, elements = 2 * lanes;
    static sum zero() { return Vectors::zero_reals(); }
    static voltages load(const element* p)
    {
        return { Vectors::load(p), Vectors::load(p + lanes) };
    }
    static weight load_weight(const element* p)
    {
        return { Vectors::all(p[0]), Vectors::all(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w)
    {
        return Vectors::multiply_subtract(
            Vectors::multiply_add(s, x.re, w.re), x.im, w.im);
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return Vectors::multiply_add(Vectors::multiply_add(s, x.re, w.im), x.im, w.re);
    }
    static void store(float* to, sum s, float scale)
    {
        Vectors::store(to, Vectors::multiply(s, Vectors::all(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        Vectors::store(to,
                       Vectors::multiply_add(Vectors::load(to), s, Vectors::all(scale)));
    }
};

//! Kernels that make Beams beams of Panels vectors of time at once.
template <class Vectors, int Beams, int Panels>
constexpr beam_kernels x86_beam_kernels(const char* name)
{
    return { name,
             Vectors::supported,
             make_beam_kernel<x86_integer_beams<Vectors>, Beams, Panels>(),
             make_beam_kernel<x86_real_beams<Vectors>, Beams, Panels>() };
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_X86_BEAM_TILES_H */
