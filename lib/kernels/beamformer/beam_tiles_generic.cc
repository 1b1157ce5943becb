/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beam_tiles.h"

namespace gr::aperture::kernels::host {

namespace {

// four floats: vectors of 16 bytes are what every 64-bit processor has
typedef float four_floats __attribute__((vector_size(16)));
typedef int32_t four_integers __attribute__((vector_size(16)));

template <class number, class vector>
vector load_four(const number* p)
{
    vector v;
    for (int i = 0; i < 4; i++)
        v[i] = p[i];
    return v;
}

template <class vector>
void store_four(float* to, vector s, float scale, bool add)
{
    for (int i = 0; i < 4; i++)
        to[i] = (add ? to[i] : 0) + float(s[i]) * scale;
}

//! Returns a half of an int32 as a signed number.
int32_t low(int32_t v) { return int16_t(v); }
four_integers low(four_integers v) { return (v << 16) >> 16; }
int32_t high(int32_t v) { return v >> 16; }
four_integers high(four_integers v) { return v >> 16; }

struct integers {
    using element = int32_t;
    using voltages = four_integers;
    using sum = four_integers;
    struct weight {
        int32_t re, im; // two halves each
    };
    static constexpr int lanes = 4, elements = 4;
    static sum zero() { return sum{}; }
    static voltages load(const element* p) { return load_four<element, voltages>(p); }
    static weight load_weight(const element* p) { return { p[0], p[1] }; }
    static sum add_re(sum s, voltages x, weight w)
    {
        return s + low(x) * low(w.re) + high(x) * high(w.re);
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return s + low(x) * low(w.im) + high(x) * high(w.im);
    }
    static void store(float* to, sum s, float scale) { store_four(to, s, scale, false); }
    static void add_to(float* to, sum s, float scale) { store_four(to, s, scale, true); }
};

struct reals {
    using element = float;
    struct voltages {
        four_floats re, im;
    };
    using sum = four_floats;
    struct weight {
        float re, im;
    };
    static constexpr int lanes = 4, elements = 8;
    static sum zero() { return sum{}; }
    static voltages load(const element* p)
    {
        return { load_four<element, sum>(p), load_four<element, sum>(p + lanes) };
    }
    static weight load_weight(const element* p) { return { p[0], p[1] }; }
    static sum add_re(sum s, voltages x, weight w)
    {
        return s + x.re * w.re - x.im * w.im;
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return s + x.re * w.im + x.im * w.re;
    }
    static void store(float* to, sum s, float scale) { store_four(to, s, scale, false); }
    static void add_to(float* to, sum s, float scale) { store_four(to, s, scale, true); }
};

bool always() { return true; }

// Sums, voltages and weights lie in registers: there are 32 on ARM, and 16 elsewhere.
#ifdef __aarch64__
constexpr int beams = 4, vectors = 2;
#else
constexpr int beams = 2, vectors = 1;
#endif

} // namespace

const beam_kernels generic_beams = { "generic",
                                     always,
                                     make_beam_kernel<integers, beams, vectors>(),
                                     make_beam_kernel<reals, beams, vectors>() };

} // namespace gr::aperture::kernels::host
