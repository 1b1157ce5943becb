/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "copy_impl.h"
#include "kernels/common/types.h"
#include <algorithm>
#include <limits>

namespace gr::aperture {

copy::sptr copy::make(const parameters& p)
{
    check_parameters<copy>(p);
    return gnuradio::make_block_sptr<copy_impl>(p, device::select(p.device));
}

copy_impl::copy_impl(const parameters& p, const device& d)
    : gr::block("copy", signature_on(d, 1, p.item_size), signature_on(d, 1, p.item_size)),
      device_block(d)
{
    set_latency(p.latency);
}

void copy_impl::forecast(int, gr_vector_int& required)
{
    // all items that there are: GNU Radio halves the items of a call until it has enough
    std::fill(required.begin(), required.end(), 1);
}

int copy_impl::process(int noutput_items,
                       gr_vector_int& ninput_items,
                       gr_vector_const_void_star& input_items,
                       gr_vector_void_star& output_items)
{
    const int items = std::min(noutput_items, ninput_items[0]);
    work_stream().copy(output_items[0],
                       input_items[0],
                       size_t(items) * input_signature()->sizeof_stream_item(0),
                       direction::within_device);
    consume_each(items);
    return items;
}

} // namespace gr::aperture
