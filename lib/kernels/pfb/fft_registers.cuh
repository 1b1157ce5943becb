/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FFT_REGISTERS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FFT_REGISTERS_CUH

#include <utility>

namespace gr::aperture::kernels::cuda {

//! Returns cos(2 pi k / 32).
constexpr double cosine_32(int k)
{
    constexpr double first_quarter[] = { 1,
                                         0.98078528040323044913,
                                         0.92387953251128675613,
                                         0.83146961230254523708,
                                         0.70710678118654752440,
                                         0.55557023301960222474,
                                         0.38268343236508977173,
                                         0.19509032201612826785,
                                         0 };
    k = k < 0 ? -k % 32 : k % 32;
    k = k > 16 ? 32 - k : k;
    return k > 8 ? -first_quarter[16 - k] : first_quarter[k];
}

constexpr int reversed_bits(int i, int count)
{
    int r = 0;
    for (int bit = 1; bit < count; bit *= 2) {
        r = 2 * r + i % 2;
        i /= 2;
    }
    return r;
}

// Products are fused with sums explicitly: the compiler's choice would differ from one
// copy of the same source to the next, and so would the last bits.

__device__ __forceinline__ float2 times(float2 a, float2 b)
{
    return { __fmaf_rn(-a.y, b.y, __fmul_rn(a.x, b.x)),
             __fmaf_rn(a.y, b.x, __fmul_rn(a.x, b.y)) };
}

//! Returns a + factor b.
__device__ __forceinline__ float2 sum(float2 a, float factor, float2 b)
{
    return { __fmaf_rn(factor, b.x, a.x), __fmaf_rn(factor, b.y, a.y) };
}

/*!
 * Does a butterfly: a, b -> a + w b, a - w b with w = exp(-2 pi i J / Length). A general
 * w costs six fused multiply-adds: the smaller component of w is divided by the larger
 * one, and the larger one is a factor in the sum and the difference.
 */
template <int Length, int J>
__device__ __forceinline__ void butterfly(float2& a, float2& b)
{
    constexpr double re = cosine_32(J * (32 / Length));
    constexpr double im = -cosine_32(J * (32 / Length) - 8);
    const float2 x = a;
    if constexpr (J == 0) {
        a = { x.x + b.x, x.y + b.y };
        b = { x.x - b.x, x.y - b.y };
    } else if constexpr (4 * J == Length) {
        a = { x.x + b.y, x.y - b.x };
        b = { x.x - b.y, x.y + b.x };
    } else {
        constexpr bool real_larger = (re < 0 ? -re : re) >= -im;
        constexpr float larger = float(real_larger ? re : im);
        constexpr float ratio = float(real_larger ? im / re : re / im);
        const float2 rotated{ -b.y, b.x };
        const float2 t = real_larger ? sum(b, ratio, rotated) : sum(rotated, ratio, b);
        a = sum(x, larger, t);
        b = sum(x, -larger, t);
    }
}

template <int Points, int Length, int... I>
__device__ __forceinline__ void stage(float2 (&v)[Points],
                                      std::integer_sequence<int, I...>)
{
    constexpr int half = Length / 2;
    (butterfly<Length, I % half>(v[I / half * Length + I % half],
                                 v[I / half * Length + I % half + half]),
     ...);
}

/*!
 * Does the same with w = cos (1 + i tan), or -i times that: six fused multiply-adds.
 * \param w cos and tan
 */
template <bool Rotated>
__device__ __forceinline__ void butterfly_by(float2& a, float2& b, float2 w)
{
    const float2 x = a;
    const float2 t = sum(b, w.y, { -b.y, b.x });
    const float2 u = Rotated ? make_float2(t.y, -t.x) : t;
    a = sum(x, w.x, u);
    b = sum(x, -w.x, u);
}

template <int Points, int Length, int... I>
__device__ __forceinline__ void stage_by(float2 (&v)[Points],
                                         const float2 (&w)[Points / 2],
                                         std::integer_sequence<int, I...>)
{
    constexpr int half = Length / 2, quarter = Length > 2 ? Length / 4 : 1;
    constexpr int first = Length / 4; // index of its factors in w
    (butterfly_by<(I % half >= quarter)>(v[I / half * Length + I % half],
                                         v[I / half * Length + I % half + half],
                                         w[first + I % half % quarter]),
     ...);
}

template <int Points, int... I>
__device__ __forceinline__ void
reorder(const float2* from, float2 (&to)[Points], std::integer_sequence<int, I...>)
{
    ((to[I] = from[reversed_bits(I, Points)]), ...);
}

/*!
 * Forward transform of up to 32 points, in place and in order; everything is unrolled, so
 * that `values` stay in registers.
 */
template <int Points>
__device__ __forceinline__ void transform(float2* values)
{
    static_assert(Points == 2 || Points == 4 || Points == 8 || Points == 16 ||
                  Points == 32);
    using all = std::make_integer_sequence<int, Points>;
    using pairs = std::make_integer_sequence<int, Points / 2>;
    float2 v[Points];
    reorder(values, v, all());
    stage<Points, 2>(v, pairs());
    if constexpr (Points >= 4)
        stage<Points, 4>(v, pairs());
    if constexpr (Points >= 8)
        stage<Points, 8>(v, pairs());
    if constexpr (Points >= 16)
        stage<Points, 16>(v, pairs());
    if constexpr (Points >= 32)
        stage<Points, 32>(v, pairs());
#pragma unroll
    for (int i = 0; i < Points; i++)
        values[i] = v[i];
}

/*!
 * Transforms values[r] z^r: that costs no further multiplication if the factors of all
 * butterflies are known. Those are, as cos and tan of an angle, w[0] = z^(Points/2) and
 * w[L/4 + j] = z^(Points/L) exp(-2 pi i j/L), j < L/4 and L = 4 to Points.
 */
template <int Points>
__device__ __forceinline__ void transform_by(float2* values,
                                             const float2 (&w)[Points / 2])
{
    static_assert(Points == 8 || Points == 16 || Points == 32);
    using all = std::make_integer_sequence<int, Points>;
    using pairs = std::make_integer_sequence<int, Points / 2>;
    float2 v[Points];
    reorder(values, v, all());
    stage_by<Points, 2>(v, w, pairs());
    stage_by<Points, 4>(v, w, pairs());
    stage_by<Points, 8>(v, w, pairs());
    if constexpr (Points >= 16)
        stage_by<Points, 16>(v, w, pairs());
    if constexpr (Points >= 32)
        stage_by<Points, 32>(v, w, pairs());
#pragma unroll
    for (int i = 0; i < Points; i++)
        values[i] = v[i];
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FFT_REGISTERS_CUH */
