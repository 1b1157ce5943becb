/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/bulk_copy.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

//! Looked up at run time: nothing links to the driver.
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

} // namespace

CUtensorMap make_tensor_map(const void* voltages,
                            const voltage_shape& shape,
                            int box_bytes,
                            int box_inputs,
                            int box_channels,
                            box_order order)
{
    static const auto encode = find_encoder();
    const auto row = uint64_t(shape.row_bytes);
    const cuuint64_t extents[4] = {
        row, uint64_t(shape.inputs), uint64_t(shape.channels), uint64_t(shape.blocks)
    };
    const cuuint64_t strides[3] = { row,
                                    row * shape.inputs,
                                    row * shape.inputs * shape.channels };
    const cuuint32_t box[4] = {
        cuuint32_t(box_bytes), cuuint32_t(box_inputs), cuuint32_t(box_channels), 1
    };
    const cuuint32_t steps[4] = { 1, 1, 1, 1 };
    CUtensorMap map;
    const auto swizzle = order == box_order::plain ? CU_TENSOR_MAP_SWIZZLE_NONE
                         : box_bytes == box_row    ? CU_TENSOR_MAP_SWIZZLE_128B
                                                   : CU_TENSOR_MAP_SWIZZLE_64B;
    const auto status = encode(&map,
                               CU_TENSOR_MAP_DATA_TYPE_UINT8,
                               4,
                               const_cast<void*>(voltages),
                               extents,
                               strides,
                               box,
                               steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE,
                               swizzle,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw std::runtime_error("CUDA: cuTensorMapEncodeTiled: error " +
                                 std::to_string(status) +
                                 " (voltages must start at a multiple of 16 bytes)");
    return map;
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
