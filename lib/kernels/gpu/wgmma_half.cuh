/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_WGMMA_HALF_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_WGMMA_HALF_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*!
 * Returns the matrix descriptor of rows of 64 bytes whose 16-byte pieces are swizzled:
 * groups of 8 rows are 512 bytes apart.
 */
__device__ __forceinline__ uint64_t half_rows_descriptor(uint32_t address)
{
    return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 |
           uint64_t(512 >> 4) << 32 | uint64_t(2) << 62;
}

/*!
 * Multiplies: sums [64][Columns] += Sign a [64][16] b [Columns][16] in half precision
 * with single-precision sums (= if not `add`). a is in the registers of the warp group, b
 * in shared memory. In lane 4 g + t of warp w, with row r = 16 w + g: a[0] and a[2] are
 * columns 2 t, 2 t + 1 and 8 more of row r, a[1] and a[3] those of row r + 8; sums[4 j +
 * i] is that of row r (i < 2) or r + 8, column 8 j + 2 t + i % 2.
 */
template <int Columns, int Sign = 1>
__device__ __forceinline__ void
wgmma_half(float (&sums)[Columns / 2], const uint32_t (&a)[4], uint64_t b, bool add);

#define APERTURE_8_SUMS(i)                                                  \
    "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), \
        "+f"(sums[i + 4]), "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define APERTURE_16_SUMS(i) APERTURE_8_SUMS(i), APERTURE_8_SUMS(i + 8)
#define APERTURE_32_SUMS(i) APERTURE_16_SUMS(i), APERTURE_16_SUMS(i + 16)
#define APERTURE_64_SUMS(i) APERTURE_32_SUMS(i), APERTURE_32_SUMS(i + 32)

#define APERTURE_NAMES_16 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define APERTURE_NAMES_32 \
    APERTURE_NAMES_16     \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define APERTURE_NAMES_64                                                                \
    APERTURE_NAMES_32                                                                    \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

#define APERTURE_WGMMA(columns, names, a_names, b_name, add_name, sign_name, sum_list) \
    if constexpr (Columns == columns)                                                  \
    asm volatile(                                                                      \
        "{\n.reg .pred add;\nsetp.ne.b32 add, " add_name ", 0;\n"                      \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.f16.f16 {" names         \
        "}, {" a_names "}, " b_name ", add, " sign_name ", 1, 0;\n}"                   \
        : sum_list                                                                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)), "n"(Sign))

template <int Columns, int Sign>
__device__ __forceinline__ void
wgmma_half(float (&sums)[Columns / 2], const uint32_t (&a)[4], uint64_t b, bool add)
{
    static_assert(Columns == 32 || Columns == 64 || Columns == 128);
    APERTURE_WGMMA(32,
                   APERTURE_NAMES_16,
                   "%16, %17, %18, %19",
                   "%20",
                   "%21",
                   "%22",
                   APERTURE_16_SUMS(0));
    APERTURE_WGMMA(64,
                   APERTURE_NAMES_32,
                   "%32, %33, %34, %35",
                   "%36",
                   "%37",
                   "%38",
                   APERTURE_32_SUMS(0));
    APERTURE_WGMMA(128,
                   APERTURE_NAMES_64,
                   "%64, %65, %66, %67",
                   "%68",
                   "%69",
                   "%70",
                   APERTURE_64_SUMS(0));
}

/*!
 * Loads four matrices of 8 x 8 elements of 16 bits, transposed, one word of each for a
 * lane: of column lane / 4 the rows 2 (lane % 4) and the next. Lane 8 m + r gives the
 * address of row r of matrix m.
 */
__device__ __forceinline__ void load_transposed(uint32_t (&words)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}

#undef APERTURE_WGMMA
#undef APERTURE_NAMES_16
#undef APERTURE_NAMES_32
#undef APERTURE_NAMES_64
#undef APERTURE_8_SUMS
#undef APERTURE_16_SUMS
#undef APERTURE_32_SUMS
#undef APERTURE_64_SUMS

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_WGMMA_HALF_CUH */
