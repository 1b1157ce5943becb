/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_WGMMA_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_WGMMA_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*!
 * The descriptor by which tensor cores find rows of 128 bytes that the copy engine has
 * swizzled: rows follow each other, groups of 8 rows are GroupBytes apart (fields are in
 * units of 16 bytes).
 */
template <int GroupBytes>
class rows_matrix
{
public:
    __device__ __forceinline__ explicit rows_matrix(uint32_t address)
        : d_low((address & 0x3ffff) >> 4 | 1 << 16)
    {
    }
    //! Returns the matrix that begins so many bytes later.
    __device__ __forceinline__ rows_matrix after(int bytes) const
    {
        rows_matrix matrix(*this);
        matrix.d_low += bytes >> 4;
        return matrix;
    }
    //! Returns the descriptor of the matrix that begins so many bytes later.
    __device__ __forceinline__ uint64_t descriptor(int bytes) const
    {
        constexpr uint32_t high = GroupBytes >> 4 | 1 << 30;
        return uint64_t(high) << 32 | (d_low + (bytes >> 4));
    }

private:
    uint32_t d_low;
};

//! Fences registers that wgmma uses: they may be changed before this, not after it.
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//! Waits until all groups but the last `Pending` are done.
template <int Pending>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/*!
 * Multiplies: sums [64][Columns] += a [64][32] b [Columns][32] in 8-bit integers with
 * (int8_t) or without (uint8_t) a sign (= if not `add`: sums that other instructions set
 * to zero could not stay with the tensor cores). a is in the registers of the warp group,
 * b in shared memory. In lane 4 g + t of warp w, with row r = 16 w + g: a0 and a2 are
 * bytes 4 t to 4 t + 3 and 16 more of row r, a1 and a3 those of row r + 8; sums[4 j + i]
 * is that of row r (i < 2) or r + 8, column 8 j + 2 t + i % 2.
 */
template <class Number, int Columns>
__device__ void wgmma(int (&sums)[Columns / 2],
                      uint32_t a0,
                      uint32_t a1,
                      uint32_t a2,
                      uint32_t a3,
                      uint64_t b,
                      bool add);

#define APERTURE_WGMMA_OF(number, type, columns, names, a, b_name, add_name, ...)   \
    template <>                                                                     \
    __device__ __forceinline__ void wgmma<number, columns>(int(&sums)[columns / 2], \
                                                           uint32_t a0,             \
                                                           uint32_t a1,             \
                                                           uint32_t a2,             \
                                                           uint32_t a3,             \
                                                           uint64_t b,              \
                                                           bool add)                \
    {                                                                               \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_name ", 0;\n"      \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32." type   \
                     "." type " {" names "}, {" a "}, " b_name ", add;\n}"          \
                     : __VA_ARGS__                                                  \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(int(add)));  \
    }
#define APERTURE_WGMMA(...)                      \
    APERTURE_WGMMA_OF(int8_t, "s8", __VA_ARGS__) \
    APERTURE_WGMMA_OF(uint8_t, "u8", __VA_ARGS__)

#define APERTURE_8_SUMS(first)                                               \
    "+r"(sums[first]), "+r"(sums[first + 1]), "+r"(sums[first + 2]),         \
        "+r"(sums[first + 3]), "+r"(sums[first + 4]), "+r"(sums[first + 5]), \
        "+r"(sums[first + 6]), "+r"(sums[first + 7])

#define APERTURE_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define APERTURE_NAMES_32 APERTURE_NAMES_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define APERTURE_NAMES_48 APERTURE_NAMES_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define APERTURE_NAMES_64 APERTURE_NAMES_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define APERTURE_NAMES_80 APERTURE_NAMES_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define APERTURE_NAMES_96 APERTURE_NAMES_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define APERTURE_NAMES_112 APERTURE_NAMES_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define APERTURE_NAMES_128 APERTURE_NAMES_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define APERTURE_NAMES_144 APERTURE_NAMES_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define APERTURE_NAMES_160 APERTURE_NAMES_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define APERTURE_NAMES_176 APERTURE_NAMES_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define APERTURE_NAMES_192 APERTURE_NAMES_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define APERTURE_NAMES_208 \
    APERTURE_NAMES_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define APERTURE_NAMES_224 \
    APERTURE_NAMES_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define APERTURE_NAMES_240 \
    APERTURE_NAMES_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define APERTURE_NAMES_256 \
    APERTURE_NAMES_240 ", %120, %121, %122, %123, %124, %125, %126, %127"

#define APERTURE_SUMS_16 APERTURE_8_SUMS(0)
#define APERTURE_SUMS_32 APERTURE_SUMS_16, APERTURE_8_SUMS(8)
#define APERTURE_SUMS_48 APERTURE_SUMS_32, APERTURE_8_SUMS(16)
#define APERTURE_SUMS_64 APERTURE_SUMS_48, APERTURE_8_SUMS(24)
#define APERTURE_SUMS_80 APERTURE_SUMS_64, APERTURE_8_SUMS(32)
#define APERTURE_SUMS_96 APERTURE_SUMS_80, APERTURE_8_SUMS(40)
#define APERTURE_SUMS_112 APERTURE_SUMS_96, APERTURE_8_SUMS(48)
#define APERTURE_SUMS_128 APERTURE_SUMS_112, APERTURE_8_SUMS(56)
#define APERTURE_SUMS_144 APERTURE_SUMS_128, APERTURE_8_SUMS(64)
#define APERTURE_SUMS_160 APERTURE_SUMS_144, APERTURE_8_SUMS(72)
#define APERTURE_SUMS_176 APERTURE_SUMS_160, APERTURE_8_SUMS(80)
#define APERTURE_SUMS_192 APERTURE_SUMS_176, APERTURE_8_SUMS(88)
#define APERTURE_SUMS_208 APERTURE_SUMS_192, APERTURE_8_SUMS(96)
#define APERTURE_SUMS_224 APERTURE_SUMS_208, APERTURE_8_SUMS(104)
#define APERTURE_SUMS_240 APERTURE_SUMS_224, APERTURE_8_SUMS(112)
#define APERTURE_SUMS_256 APERTURE_SUMS_240, APERTURE_8_SUMS(120)

APERTURE_WGMMA(16, APERTURE_NAMES_16, "%8, %9, %10, %11", "%12", "%13", APERTURE_SUMS_16)
APERTURE_WGMMA(
    32, APERTURE_NAMES_32, "%16, %17, %18, %19", "%20", "%21", APERTURE_SUMS_32)
APERTURE_WGMMA(
    48, APERTURE_NAMES_48, "%24, %25, %26, %27", "%28", "%29", APERTURE_SUMS_48)
APERTURE_WGMMA(
    64, APERTURE_NAMES_64, "%32, %33, %34, %35", "%36", "%37", APERTURE_SUMS_64)
APERTURE_WGMMA(
    80, APERTURE_NAMES_80, "%40, %41, %42, %43", "%44", "%45", APERTURE_SUMS_80)
APERTURE_WGMMA(
    96, APERTURE_NAMES_96, "%48, %49, %50, %51", "%52", "%53", APERTURE_SUMS_96)
APERTURE_WGMMA(
    112, APERTURE_NAMES_112, "%56, %57, %58, %59", "%60", "%61", APERTURE_SUMS_112)
APERTURE_WGMMA(
    128, APERTURE_NAMES_128, "%64, %65, %66, %67", "%68", "%69", APERTURE_SUMS_128)
APERTURE_WGMMA(
    144, APERTURE_NAMES_144, "%72, %73, %74, %75", "%76", "%77", APERTURE_SUMS_144)
APERTURE_WGMMA(
    160, APERTURE_NAMES_160, "%80, %81, %82, %83", "%84", "%85", APERTURE_SUMS_160)
APERTURE_WGMMA(
    176, APERTURE_NAMES_176, "%88, %89, %90, %91", "%92", "%93", APERTURE_SUMS_176)
APERTURE_WGMMA(
    192, APERTURE_NAMES_192, "%96, %97, %98, %99", "%100", "%101", APERTURE_SUMS_192)
APERTURE_WGMMA(
    208, APERTURE_NAMES_208, "%104, %105, %106, %107", "%108", "%109", APERTURE_SUMS_208)
APERTURE_WGMMA(
    224, APERTURE_NAMES_224, "%112, %113, %114, %115", "%116", "%117", APERTURE_SUMS_224)
APERTURE_WGMMA(
    240, APERTURE_NAMES_240, "%120, %121, %122, %123", "%124", "%125", APERTURE_SUMS_240)
APERTURE_WGMMA(
    256, APERTURE_NAMES_256, "%128, %129, %130, %131", "%132", "%133", APERTURE_SUMS_256)

#undef APERTURE_WGMMA
#undef APERTURE_WGMMA_OF
#undef APERTURE_8_SUMS
#undef APERTURE_NAMES_16
#undef APERTURE_NAMES_32
#undef APERTURE_NAMES_48
#undef APERTURE_NAMES_64
#undef APERTURE_NAMES_80
#undef APERTURE_NAMES_96
#undef APERTURE_NAMES_112
#undef APERTURE_NAMES_128
#undef APERTURE_NAMES_144
#undef APERTURE_NAMES_160
#undef APERTURE_NAMES_176
#undef APERTURE_NAMES_192
#undef APERTURE_NAMES_208
#undef APERTURE_NAMES_224
#undef APERTURE_NAMES_240
#undef APERTURE_NAMES_256
#undef APERTURE_SUMS_16
#undef APERTURE_SUMS_32
#undef APERTURE_SUMS_48
#undef APERTURE_SUMS_64
#undef APERTURE_SUMS_80
#undef APERTURE_SUMS_96
#undef APERTURE_SUMS_112
#undef APERTURE_SUMS_128
#undef APERTURE_SUMS_144
#undef APERTURE_SUMS_160
#undef APERTURE_SUMS_176
#undef APERTURE_SUMS_192
#undef APERTURE_SUMS_208
#undef APERTURE_SUMS_224
#undef APERTURE_SUMS_240
#undef APERTURE_SUMS_256

/*!
 * Loads matrices of 8 rows of 16 bytes, one word of each for a lane: of row lane / 4,
 * bytes 4 (lane % 4) on. Lane 8 m + r gives the address of row r of matrix m.
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

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_WGMMA_CUH */
