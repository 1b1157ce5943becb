/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SELECT_IMPL_H
#define INCLUDED_APERTURE_SELECT_IMPL_H

#include "kernels/select/product_select.h"
#include <gnuradio/aperture/select.h>
#include <gnuradio/aperture/stream_states.h>
#include <mutex>

namespace gr::aperture {

class select_impl : public select
{
public:
    explicit select_impl(const kernels::product_select::parameters& p);

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    void set_products(const std::vector<std::pair<int, int>>& products) override;
    std::vector<std::pair<int, int>> products() const override;

private:
    //! Passes tags of some items on; `counted` becomes that of each port's own product.
    void pass_tags(int items);
    //! Says `counted` on an item, of each port's own product.
    void say_counted(uint64_t item, const pmt::pmt_t& counted);

    mutable std::mutex d_mutex; // guards all below
    kernels::product_select::parameters d_p;
    const device d_device;
    const std::unique_ptr<stream> d_stream;
    std::unique_ptr<kernels::product_select> d_kernel;
    stream_states d_states;
    bool d_chosen = false; // other products were chosen: their counts are to be said
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SELECT_IMPL_H */
