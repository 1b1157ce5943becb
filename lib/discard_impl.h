/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DISCARD_IMPL_H
#define INCLUDED_APERTURE_DISCARD_IMPL_H

#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/discard.h>
#include <atomic>

namespace gr::aperture {

class discard_impl : public discard, public device_block
{
public:
    discard_impl(int item_size, const device& d);

    bool start() override;

    uint64_t items() const override { return d_items; }

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;

    std::atomic<uint64_t> d_items{ 0 };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DISCARD_IMPL_H */
