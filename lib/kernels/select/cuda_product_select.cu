/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/select/product_select.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;

struct pick {
    int64_t product;
    bool conjugate;
};

//! Selects products. Grid: rows [item][channel], pairs.
__global__ void select(const float2* __restrict__ visibilities,
                       float2* const* __restrict__ selected,
                       const pick* __restrict__ picks,
                       int64_t rows,
                       int64_t products)
{
    const int64_t row = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (row >= rows)
        return;
    const pick& p = picks[blockIdx.y];
    float2 v = visibilities[row * products + p.product];
    if (p.conjugate)
        v.y = -v.y;
    selected[blockIdx.y][row] = v;
}

class cuda_product_select : public product_select
{
public:
    cuda_product_select(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_picks(p.products.size()),
          d_selected(p.products.size())
    {
        std::vector<pick> picks;
        for (const auto& [a, b] : p.products) {
            const int64_t high = std::max(a, b), low = std::min(a, b);
            picks.push_back({ high * (high + 1) / 2 + low, a < b });
        }
        start_with(d_picks.data(), picks);
        load(select);
    }

    void execute(const cfloat* visibilities,
                 cfloat* const* selected,
                 int items,
                 stream& s) override
    {
        if (items == 0)
            return;
        const device_guard guard(d_device);
        d_selected.set(selected, native(s));
        const int64_t rows = int64_t(items) * d_p.channels;
        const dim3 grid(blocks_for(rows, threads), unsigned(d_picks.size()));
        select<<<grid, threads, 0, native(s)>>>(
            reinterpret_cast<const float2*>(visibilities),
            reinterpret_cast<float2* const*>(d_selected.data()),
            d_picks.data(),
            rows,
            int64_t(d_p.inputs) * (d_p.inputs + 1) / 2);
        check_launch("product selection");
    }

private:
    const parameters d_p;
    const int d_device;
    device_array<pick> d_picks;
    uploaded_array<cfloat*> d_selected;
};

} // namespace

template <>
std::unique_ptr<product_select>
make(const product_select::parameters& p, int device, const std::string&)
{
    require_range(
        "products", int64_t(p.products.size()), 1, 65535); // thread blocks of a grid
    const device_guard guard(device);
    return std::make_unique<cuda_product_select>(p, device);
}

} // namespace gr::aperture::kernels::cuda
