/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the selection of products on the GPU with the host's: the same bits. Needs no
 * GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/select/product_select.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

void check_product_select()
{
    const product_select::parameters p{ 33,
                                        5,
                                        { { 0, 0 }, { 4, 1 }, { 1, 4 }, { 3, 3 } } };
    const int items = 7;
    std::vector<cfloat> v(items * p.channels * 15);
    std::normal_distribution<float> normal;
    for (auto& x : v)
        x = cfloat(normal(random_bits), normal(random_bits));
    const guarded in(v);
    std::vector<std::vector<cfloat>> expected;
    std::vector<guarded> out;
    std::vector<cfloat*> to, gpu_to;
    for (size_t i = 0; i < p.products.size(); i++) {
        expected.emplace_back(items * p.channels);
        out.emplace_back(items * p.channels * sizeof(cfloat));
    }
    for (size_t i = 0; i < p.products.size(); i++) {
        to.push_back(expected[i].data());
        gpu_to.push_back(static_cast<cfloat*>(out[i].data()));
    }
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    host::make<product_select>(p)->execute(v.data(), to.data(), items, on_host);
    const auto kernel = cuda::make<product_select>(p, 0);
    kernel->execute(static_cast<const cfloat*>(in.data()), gpu_to.data(), items, s);
    s.synchronize();
    for (size_t i = 0; i < p.products.size(); i++) {
        expect(same_bits(out[i].values<cfloat>(), expected[i]), "product selection");
        expect(out[i].untouched_around(), "product selection, guards");
    }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_product_select: the selection of products of a GPU against the host's",
        { { "product_select", "", [](bool) { check_product_select(); } } });
}
