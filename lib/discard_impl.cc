/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "discard_impl.h"
#include "kernels/common/types.h"
#include <limits>

namespace gr::aperture {

discard::sptr discard::make(const parameters& p)
{
    check_parameters<discard>(p);
    return gnuradio::make_block_sptr<discard_impl>(p.item_size, device::select(p.device));
}

discard_impl::discard_impl(int item_size, const device& d)
    : gr::block("discard", signature_on(d, 1, item_size), signature_on(d, 0, item_size)),
      device_block(d)
{
}

bool discard_impl::start()
{
    d_items = 0;
    return device_block::start();
}

int discard_impl::process(int,
                          gr_vector_int& ninput_items,
                          gr_vector_const_void_star&,
                          gr_vector_void_star&)
{
    d_items += ninput_items[0];
    consume_each(ninput_items[0]);
    return 0;
}

} // namespace gr::aperture
