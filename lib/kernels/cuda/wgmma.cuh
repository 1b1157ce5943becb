/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_WGMMA_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_WGMMA_CUH

#include <cstdint>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*!
 * How the tensor cores find rows of 128 bytes that the copy engine has swizzled: rows
 * follow each other, groups of 8 rows are GroupBytes apart (fields are in 16 bytes).
 */
template <int GroupBytes>
class rows_matrix
{
public:
    __device__ __forceinline__ explicit rows_matrix(uint32_t address)
        : d_low((address & 0x3ffff) >> 4 | 1 << 16)
    {
    }
    //! The matrix that begins so many bytes later.
    __device__ __forceinline__ rows_matrix after(int bytes) const
    {
        rows_matrix matrix(*this);
        matrix.d_low += bytes >> 4;
        return matrix;
    }
    //! Of the matrix that begins so many bytes later.
    __device__ __forceinline__ uint64_t descriptor(int bytes) const
    {
        constexpr uint32_t high = GroupBytes >> 4 | 1 << 30;
        return uint64_t(high) << 32 | (d_low + (bytes >> 4));
    }

private:
    uint32_t d_low;
};

//! Registers that wgmma uses may be changed before this, not after it.
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//! Until all groups but the last `Pending` are done.
template <int Pending>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/*!
 * sums [64][32 Units] += a [64][32] b [32 Units][32] in 8-bit integers (= if not `add`:
 * sums that other instructions set to zero could not stay with the tensor cores). a lies
 * in the registers of the warp group, b in shared memory. Of lane 4 g + t of warp w, with
 * row r = 16 w + g: a0 and a2 are bytes 4 t to 4 t + 3 and 16 more of row r, a1 and a3
 * those of row r + 8; sums[4 j + i] is that of row r (i < 2) or r + 8, column 8 j + 2 t +
 * i % 2.
 */
template <int Units>
__device__ void wgmma(int (&sums)[16 * Units],
                      uint32_t a0,
                      uint32_t a1,
                      uint32_t a2,
                      uint32_t a3,
                      uint64_t b,
                      bool add);
//! The same of numbers without a sign.
template <int Units>
__device__ void wgmma_unsigned(int (&sums)[16 * Units],
                               uint32_t a0,
                               uint32_t a1,
                               uint32_t a2,
                               uint32_t a3,
                               uint64_t b,
                               bool add);

#define APERTURE_16_SUMS(first)                                                 \
    "+r"(sums[first]), "+r"(sums[first + 1]), "+r"(sums[first + 2]),            \
        "+r"(sums[first + 3]), "+r"(sums[first + 4]), "+r"(sums[first + 5]),    \
        "+r"(sums[first + 6]), "+r"(sums[first + 7]), "+r"(sums[first + 8]),    \
        "+r"(sums[first + 9]), "+r"(sums[first + 10]), "+r"(sums[first + 11]),  \
        "+r"(sums[first + 12]), "+r"(sums[first + 13]), "+r"(sums[first + 14]), \
        "+r"(sums[first + 15])

#define APERTURE_WGMMA_OF(name, type, units, columns, names, a, b_name, add_name, ...) \
    template <>                                                                        \
    __device__ __forceinline__ void name<units>(int(&sums)[16 * units],                \
                                                uint32_t a0,                           \
                                                uint32_t a1,                           \
                                                uint32_t a2,                           \
                                                uint32_t a3,                           \
                                                uint64_t b,                            \
                                                bool add)                              \
    {                                                                                  \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_name ", 0;\n"         \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32." type      \
                     " {" names "}, {" a "}, " b_name ", add;\n}"                      \
                     : __VA_ARGS__                                                     \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(int(add)));     \
    }

#define APERTURE_WGMMA(...)                        \
    APERTURE_WGMMA_OF(wgmma, "s8.s8", __VA_ARGS__) \
    APERTURE_WGMMA_OF(wgmma_unsigned, "u8.u8", __VA_ARGS__)

#define APERTURE_NAMES_1 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define APERTURE_NAMES_2 \
    APERTURE_NAMES_1     \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define APERTURE_NAMES_3 \
    APERTURE_NAMES_2     \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define APERTURE_NAMES_4 \
    APERTURE_NAMES_3     \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define APERTURE_NAMES_5 \
    APERTURE_NAMES_4     \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define APERTURE_NAMES_6 \
    APERTURE_NAMES_5     \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define APERTURE_NAMES_7                                                                 \
    APERTURE_NAMES_6                                                                     \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, " \
    "%110, %111"
#define APERTURE_NAMES_8                                                               \
    APERTURE_NAMES_7                                                                   \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, " \
    "%125, %126, %127"

#define APERTURE_SUMS_1 APERTURE_16_SUMS(0)
#define APERTURE_SUMS_2 APERTURE_SUMS_1, APERTURE_16_SUMS(16)
#define APERTURE_SUMS_3 APERTURE_SUMS_2, APERTURE_16_SUMS(32)
#define APERTURE_SUMS_4 APERTURE_SUMS_3, APERTURE_16_SUMS(48)
#define APERTURE_SUMS_5 APERTURE_SUMS_4, APERTURE_16_SUMS(64)
#define APERTURE_SUMS_6 APERTURE_SUMS_5, APERTURE_16_SUMS(80)
#define APERTURE_SUMS_7 APERTURE_SUMS_6, APERTURE_16_SUMS(96)
#define APERTURE_SUMS_8 APERTURE_SUMS_7, APERTURE_16_SUMS(112)

APERTURE_WGMMA(
    1, 32, APERTURE_NAMES_1, "%16, %17, %18, %19", "%20", "%21", APERTURE_SUMS_1)
APERTURE_WGMMA(
    2, 64, APERTURE_NAMES_2, "%32, %33, %34, %35", "%36", "%37", APERTURE_SUMS_2)
APERTURE_WGMMA(
    3, 96, APERTURE_NAMES_3, "%48, %49, %50, %51", "%52", "%53", APERTURE_SUMS_3)
APERTURE_WGMMA(
    4, 128, APERTURE_NAMES_4, "%64, %65, %66, %67", "%68", "%69", APERTURE_SUMS_4)
APERTURE_WGMMA(
    5, 160, APERTURE_NAMES_5, "%80, %81, %82, %83", "%84", "%85", APERTURE_SUMS_5)
APERTURE_WGMMA(
    6, 192, APERTURE_NAMES_6, "%96, %97, %98, %99", "%100", "%101", APERTURE_SUMS_6)
APERTURE_WGMMA(
    7, 224, APERTURE_NAMES_7, "%112, %113, %114, %115", "%116", "%117", APERTURE_SUMS_7)
APERTURE_WGMMA(
    8, 256, APERTURE_NAMES_8, "%128, %129, %130, %131", "%132", "%133", APERTURE_SUMS_8)

#undef APERTURE_WGMMA
#undef APERTURE_WGMMA_OF
#undef APERTURE_16_SUMS
#undef APERTURE_NAMES_1
#undef APERTURE_NAMES_2
#undef APERTURE_NAMES_3
#undef APERTURE_NAMES_4
#undef APERTURE_NAMES_5
#undef APERTURE_NAMES_6
#undef APERTURE_NAMES_7
#undef APERTURE_NAMES_8
#undef APERTURE_SUMS_1
#undef APERTURE_SUMS_2
#undef APERTURE_SUMS_3
#undef APERTURE_SUMS_4
#undef APERTURE_SUMS_5
#undef APERTURE_SUMS_6
#undef APERTURE_SUMS_7
#undef APERTURE_SUMS_8

/*!
 * Matrices of 8 rows of 16 bytes, one word of each a lane: of row lane / 4, bytes
 * 4 (lane % 4) on. Lane 8 m + r gives the address of row r of matrix m.
 */
__device__ __forceinline__ void load_matrices(uint32_t (&words)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}
__device__ __forceinline__ void load_matrices(uint32_t (&words)[2], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address)
                 : "memory");
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_WGMMA_CUH */
