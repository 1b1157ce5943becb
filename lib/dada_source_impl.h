/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DADA_SOURCE_IMPL_H
#define INCLUDED_APERTURE_DADA_SOURCE_IMPL_H

#include "formats/dada.h"
#include <gnuradio/aperture/dada_source.h>
#include <atomic>
#include <mutex>

namespace gr::aperture {

class dada_source_impl : public dada_source
{
public:
    dada_source_impl(const parameters& p, const formats::dada_file& file);
    ~dada_source_impl() override;

    std::map<std::string, std::string> header() const override { return d_file.header; }
    int inputs() const override { return int(d_file.inputs); }
    std::string type() const override;
    double sample_rate() const override { return d_file.rate.to_double(); }
    double center_frequency() const override { return d_file.center; }
    double bandwidth() const override;
    bool inverted() const override { return d_file.inverted() && !d_file.complex(); }
    int64_t samples() const override { return d_samples; }
    std::pair<uint64_t, double> start_time() const override;
    std::string warning() const override;
    std::string error() const override;
    std::vector<uint64_t> clamped() const override;
    void finish() override { d_finish = true; }

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    void add_first_tags();
    // Fills `items` items from position d_position on; less where the file ends too
    // early.
    int64_t read(char* out, int64_t items);
    void fail(const std::string& error);
    // Conjugates in place what read() gave, if the band is inverted.
    void conjugate(void* items, int64_t count);

    const formats::dada_file d_file;
    const int64_t d_begin;
    const int64_t d_samples;
    const bool d_repeat;
    int d_descriptor = -1;
    int64_t d_position = 0; // samples of this pass that were sent
    std::atomic<bool> d_finish{ false };
    std::vector<std::atomic<uint64_t>> d_clamped;
    mutable std::mutex d_error_mutex;
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DADA_SOURCE_IMPL_H */
