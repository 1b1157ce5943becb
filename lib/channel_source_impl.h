/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CHANNEL_SOURCE_IMPL_H
#define INCLUDED_APERTURE_CHANNEL_SOURCE_IMPL_H

#include "recording_source_impl.h"
#include <gnuradio/aperture/channel_source.h>
#include <mutex>
#include <vector>

namespace gr::aperture {

class channel_source_impl : public channel_source, public recording_source_impl
{
public:
    channel_source_impl(const recording& r, const parameters& p);

    int channels() const override { return d_channels; }
    std::string type() const override { return name_of(d_type); }
    void set_gain(std::complex<float> gain, int input) override;
    std::vector<std::complex<float>> gains() const override;
    std::vector<uint64_t> clamped() const override;

    bool start() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    // Writes items of a port as they were read to its output, as `type` and gains say.
    void convert(int port, const void* items, int64_t count, void* out);

    const int d_channels;
    const sample_type d_recorded, d_type;
    mutable std::mutex d_gain_mutex;
    std::vector<std::complex<float>> d_gains;         // [input]
    std::vector<std::atomic<uint64_t>> d_not_fitting; // [input]
    std::vector<std::vector<char>> d_items;           // [port], as they were read
    std::vector<float> d_spectrum;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CHANNEL_SOURCE_IMPL_H */
