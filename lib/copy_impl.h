/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_COPY_IMPL_H
#define INCLUDED_APERTURE_COPY_IMPL_H

#include <gnuradio/aperture/copy.h>
#include <gnuradio/aperture/device/device_block.h>

namespace gr::aperture {

class copy_impl : public copy, public device_block
{
public:
    copy_impl(const parameters& p, const device& d);

    void forecast(int noutput_items, gr_vector_int& required) override;

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_COPY_IMPL_H */
