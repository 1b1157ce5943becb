/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/implementations.h"
#include "kernels/gpu/memory.h"
#include "kernels/xengine/integer_xengine.h"
#include "kernels/xengine/real_xengine.h"
#include "kernels/xengine/xengine.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr unsigned sc8 = 1, sc4 = 2;

//! An implementation, and the voltages, GPUs and numbers of inputs that it is for. The
//! first one that fits is the fastest.
struct choice {
    const char* name;
    unsigned types;
    architectures gpus;
    int least_inputs, most_inputs;
    std::unique_ptr<integer_xengine> (*make)(const xengine::parameters&, gpu_facts);
};

constexpr choice choices[] = {
#if defined(APERTURE_CUDA_SM_90A)
    { "bulk mma s8", sc4, { 90, 90 }, 16, 16, make_bulk_mma_xengine },
    { "row mma s8", sc8 | sc4, { 90, 90 }, 1, 16, make_row_mma_xengine },
    { "bulk mma s8", sc8 | sc4, { 90, 90 }, 17, 64, make_bulk_mma_xengine },
    { "wgmma u8", sc4, { 90, 90 }, 1, any, make_wgmma_sc4_xengine },
    { "wgmma s8", sc8, { 90, 90 }, 1, any, make_wgmma_sc8_xengine },
#endif
    { "mma s8", sc8 | sc4, { 80, any }, 1, any, make_mma_xengine },
    { "turing mma s8", sc8 | sc4, { 75, any }, 1, any, make_turing_xengine },
};

bool fits(const choice& c, const xengine::parameters& p, gpu_facts gpu)
{
    return (c.types & (p.type == sample_type::sc8 ? sc8 : sc4)) != 0 &&
           c.gpus.have(gpu) && p.inputs >= c.least_inputs && p.inputs <= c.most_inputs;
}

//! Makes the X-engine of fc32 voltages. On GPUs where tf32 is not listed, three products
//! in tf32 take longer than one in single precision.
struct real_choice {
    const char* name;
    architectures gpus;
    std::unique_ptr<real_xengine> (*make)(const xengine::parameters&, gpu_facts);
};

constexpr real_choice real_choices[] = {
    { "tf32", { 80, 80 }, make_tf32_xengine },
    { "tf32", { 90, 100 }, make_tf32_xengine },
    { "fp32", { 0, any }, make_fp32_xengine },
};

// 64-bit atomic additions exist for unsigned integers only; in two's complement they are
// the same.
__device__ double value_of(unsigned long long sum) { return double((long long)(sum)); }
__device__ double value_of(double sum) { return sum; }

//! Writes the sums [channel][product][re, im] as visibilities, multiplied by their
//! scales, and sets the sums to zero.
template <class sum>
__global__ void dump_sums(sum* sums,
                          float2* visibilities,
                          int64_t count,
                          int64_t products,
                          const double* scales, // nullptr: one for all
                          double scale,
                          const uint32_t* counts) // counts of each product, or nullptr
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= count)
        return;
    const double factor = counts   ? counts[i] ? 1. / counts[i] : 0.
                          : scales ? scales[i % products]
                                   : scale;
    visibilities[i] = make_float2(float(value_of(sums[2 * i]) * factor),
                                  float(value_of(sums[2 * i + 1]) * factor));
    sums[2 * i] = 0;
    sums[2 * i + 1] = 0;
}

//! An X-engine on a GPU: holds the running sums and adds the products of frames to them
//! by `multiplier`, an integer_xengine or a real_xengine.
template <class sum, class multiplier>
class cuda_xengine : public xengine
{
public:
    cuda_xengine(const parameters& p,
                 int device,
                 const std::string& name,
                 std::unique_ptr<multiplier> made)
        : d_p(p),
          d_device(device),
          d_architecture(facts_of(device).architecture),
          d_name(name),
          d_multiplier(std::move(made)),
          d_sums(2 * p.products() * p.channels),
          d_scales(p.products(), 2)
    {
        load(dump_sums<sum>);
        start_with_zeros(d_sums.data(), d_sums.size());
    }

    std::string implementation() const override
    {
        return "cuda sm_" + std::to_string(d_architecture) + " " + d_name;
    }

    void accumulate(const void* voltages, int frames, stream& s) override
    {
        const device_guard guard(d_device);
        if (frames > 0)
            d_multiplier->accumulate(voltages, frames, d_sums.data(), native(s));
    }

    void dump(cfloat* visibilities,
              const double* scales,
              size_t scale_count,
              stream& s) override
    {
        const device_guard guard(d_device);
        if (scale_count > 1)
            d_scales.set(scales, native(s));
        const int64_t count = d_p.products() * d_p.channels;
        dump_sums<<<blocks_for(count, 256), 256, 0, native(s)>>>(
            d_sums.data(),
            reinterpret_cast<float2*>(visibilities),
            count,
            d_p.products(),
            scale_count > 1 ? d_scales.data() : nullptr,
            scales[0],
            nullptr);
        check_launch("X-engine, dump");
    }

    void dump_means(cfloat* visibilities, const uint32_t* counts, stream& s) override
    {
        const device_guard guard(d_device);
        const int64_t count = d_p.products() * d_p.channels;
        dump_sums<<<blocks_for(count, 256), 256, 0, native(s)>>>(
            d_sums.data(),
            reinterpret_cast<float2*>(visibilities),
            count,
            d_p.products(),
            nullptr,
            1.,
            counts);
        check_launch("X-engine, dump of means");
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        check(cudaMemsetAsync(d_sums.data(), 0, d_sums.bytes(), native(s)),
              "clearing sums");
    }

private:
    const parameters d_p;
    const int d_device, d_architecture;
    const std::string d_name;
    const std::unique_ptr<multiplier> d_multiplier;
    device_array<sum> d_sums; // [channel][product][re, im]
    uploaded_array<double> d_scales;
};

} // namespace

/*!
 * Returns the implementations that GPU `device` has for these parameters, the fastest
 * first: of sc8 and sc4 "row mma s8", "bulk mma s8", "wgmma s8" (sc8), "wgmma u8" (sc4),
 * "mma s8" and "turing mma s8"; of fc32 "tf32" and "fp32".
 * \throws std::invalid_argument for parameters that none can do
 */
template <>
std::vector<std::string> implementations<xengine>(const xengine::parameters& p,
                                                  int device)
{
    const auto gpu = facts_of(device);
    if (p.type == sample_type::fc32)
        return names_of(real_choices, [&](const auto& c) { return c.gpus.have(gpu); });
    require(p.spectra_per_frame % 16 == 0,
            "spectra_per_frame",
            std::to_string(p.spectra_per_frame),
            "a multiple of 16 for sc8 and sc4 on a GPU");
    const auto names = names_of(choices, [&](const auto& c) { return fits(c, p, gpu); });
    require_any(names, gpu);
    return names;
}

template <>
std::unique_ptr<xengine>
make(const xengine::parameters& p, int device, const std::string& implementation)
{
    const device_guard guard(device);
    const auto name = chosen_name(implementations<xengine>(p, device), implementation);
    const auto gpu = facts_of(device);
    if (p.type == sample_type::fc32)
        return std::make_unique<cuda_xengine<double, real_xengine>>(
            p, device, name, entry_of(real_choices, name).make(p, gpu));
    return std::make_unique<cuda_xengine<unsigned long long, integer_xengine>>(
        p, device, name, entry_of(choices, name).make(p, gpu));
}

} // namespace gr::aperture::kernels::cuda
