/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/select/product_select.h"
#include <algorithm>

namespace gr::aperture::kernels::host {

namespace {

class host_product_select : public product_select
{
public:
    explicit host_product_select(const parameters& p) : d_p(p) {}

    void execute(const cfloat* visibilities,
                 cfloat* const* selected,
                 int items,
                 stream&) override
    {
        const int64_t products = int64_t(d_p.inputs) * (d_p.inputs + 1) / 2;
        const int64_t rows = int64_t(items) * d_p.channels;
        for (size_t p = 0; p < d_p.products.size(); p++) {
            const auto [a, b] = d_p.products[p];
            const int64_t high = std::max(a, b), low = std::min(a, b);
            const cfloat* in = visibilities + high * (high + 1) / 2 + low;
            for (int64_t row = 0; row < rows; row++) {
                const cfloat v = in[row * products];
                selected[p][row] = a < b ? std::conj(v) : v;
            }
        }
    }

private:
    const parameters d_p;
};

} // namespace

//! A plain gather.
template <>
std::unique_ptr<product_select> make(const product_select::parameters& p,
                                     const std::string&)
{
    return std::make_unique<host_product_select>(p);
}

} // namespace gr::aperture::kernels::host

namespace gr::aperture::kernels::emulated {

//! The kernel of the host copies products and flips signs: of masked memory it makes
//! masked memory.
template <>
std::unique_ptr<product_select> make(const product_select::parameters& p)
{
    return host::make<product_select>(p);
}

} // namespace gr::aperture::kernels::emulated
