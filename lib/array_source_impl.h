/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ARRAY_SOURCE_IMPL_H
#define INCLUDED_APERTURE_ARRAY_SOURCE_IMPL_H

#include "signal/simulator/array_simulator.h"
#include <gnuradio/aperture/array_source.h>
#include <gnuradio/aperture/device/device.h>
#include <atomic>

namespace gr::aperture {

class array_source_impl : public array_source
{
public:
    array_source_impl(const parameters& p, const kernels::array_simulator::parameters& k);

    std::vector<uint64_t> clamped() const override { return d_simulator->clamped(); }
    void finish() override { d_finish = true; }

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    void add_first_tags();
    void warn_of_hidden_sources();
    //! Computes the samples of the stretch that begins at d_position.
    void fill();
    int64_t samples_left() const;

    const parameters d_p;
    const std::unique_ptr<stream> d_stream;
    const std::unique_ptr<kernels::array_simulator> d_simulator;
    const size_t d_item_size;
    std::vector<std::vector<char>> d_stretch; //!< [port][time][input]
    std::vector<void*> d_ports;               //!< pointers to them
    int64_t d_position = 0;                   //!< samples that were sent
    std::atomic<bool> d_finish{ false };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ARRAY_SOURCE_IMPL_H */
