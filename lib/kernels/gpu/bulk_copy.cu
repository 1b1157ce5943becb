/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/bulk_copy.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

//! Finds the driver's function at run time: nothing links to the driver.
auto find_encoder()
{
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion(
              "cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
          "looking for cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess)
        throw std::runtime_error("CUDA: the driver has no cuTensorMapEncodeTiled; it "
                                 "must be of CUDA 12 or later");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

CUtensorMapSwizzle swizzle_of(box_order order, uint32_t row_bytes)
{
    switch (order) {
    case box_order::plain:
        return CU_TENSOR_MAP_SWIZZLE_NONE;
    case box_order::half_swapped:
        return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
        return row_bytes == box_row ? CU_TENSOR_MAP_SWIZZLE_128B
                                    : CU_TENSOR_MAP_SWIZZLE_64B;
    }
}

} // namespace

CUtensorMap make_tensor_map(const void* bytes, const box_shape& shape, box_order order)
{
    static const auto encode = find_encoder();
    const cuuint32_t every[5] = { 1, 1, 1, 1, 1 };
    CUtensorMap map;
    const auto status = encode(&map,
                               CU_TENSOR_MAP_DATA_TYPE_UINT8,
                               shape.dimensions,
                               const_cast<void*>(bytes),
                               shape.extents,
                               shape.steps,
                               shape.box,
                               every,
                               CU_TENSOR_MAP_INTERLEAVE_NONE,
                               swizzle_of(order, shape.box[0]),
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw std::runtime_error("CUDA: cuTensorMapEncodeTiled: error " +
                                 std::to_string(status) +
                                 " (voltages must start at a multiple of 16 bytes)");
    return map;
}

CUtensorMap make_tensor_map(const void* voltages,
                            const voltage_shape& shape,
                            int box_bytes,
                            int box_inputs,
                            int box_channels,
                            box_order order)
{
    const auto row = uint64_t(shape.row_bytes), channel = row * shape.inputs;
    return make_tensor_map(
        voltages,
        { { row,
            uint64_t(shape.inputs),
            uint64_t(shape.channels),
            uint64_t(shape.frames) },
          { row, channel, channel * shape.channels },
          { uint32_t(box_bytes), uint32_t(box_inputs), uint32_t(box_channels), 1 } },
        order);
}

} // namespace gr::aperture::kernels::cuda
