/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RECORDING_SOURCE_IMPL_H
#define INCLUDED_APERTURE_RECORDING_SOURCE_IMPL_H

#include "common/number_text.h"
#include "formats/exact_time.h"
#include "formats/recordings/recording_reader.h"
#include "kernels/common/types.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/recording_source.h>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>

namespace gr::aperture {

//! A recording of any format: its files, where samples are in them, and when and at what
//! frequency they were taken.
struct recording {
    std::shared_ptr<formats::recorded_files> files;
    std::shared_ptr<formats::pieces> pieces;
    formats::recording_layout layout;
    formats::ratio rate{ 1, 1 };
    formats::exact_time start; //!< time of sample 0
    double center_frequency = 0;
    bool inverted = false;
    bool approximate = false; //!< start is a guess
    int64_t begin = 0;
    int64_t samples = 0; //!< samples in a pass
    bool repeat = false;

    size_t item_bytes() const
    {
        return size_t(layout.inputs_per_port) * size_of(layout.type());
    }
    gr::io_signature::sptr output_signature() const;
};

/*!
 * Takes the parameters that all sources of recordings have: files, rate, times,
 * frequency, begin, repetition. The layout's inputs must be known.
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 * \throws std::runtime_error if a file cannot be read
 */
template <class Parameters>
void set_common(recording& r, const Parameters& p, const formats::ratio& rate)
{
    const int inputs = int(r.layout.inputs.size());
    r.layout.inputs_per_port = p.inputs_per_port ? p.inputs_per_port : inputs;
    require(r.layout.inputs_per_port > 0 && inputs % r.layout.inputs_per_port == 0,
            "inputs_per_port",
            std::to_string(p.inputs_per_port),
            "a divisor of the number of inputs, " + std::to_string(inputs) +
                ", or 0 for all of them");
    require(!p.files.empty(), "files", "an empty list", "at least one name");
    require(p.start_time.first < timestamp::end_of_time && p.start_time.second >= 0 &&
                p.start_time.second < 1,
            "start_time",
            std::to_string(p.start_time.first) + " s and " +
                text_of(p.start_time.second) + " s",
            "whole seconds before the year 10000 and a fraction of 0 to below 1");
    require(std::isfinite(p.center_frequency),
            "center_frequency",
            text_of(p.center_frequency),
            "finite");
    r.files = std::make_shared<formats::recorded_files>(p.files);
    r.rate = rate;
    r.start = { int64_t(p.start_time.first),
                std::llround(p.start_time.second * formats::exact_time::per_second) };
    r.center_frequency = p.center_frequency;
    r.inverted = p.inverted;
    r.begin = p.begin;
    r.repeat = p.repeat;
}

/*!
 * Base of all sources of recordings: reading, tags, conjugation, repetition, the end, and
 * errors.
 */
class recording_source_impl : virtual public recording_source
{
public:
    //! The class that is made constructs gr::sync_block, with
    //! recording::output_signature().
    explicit recording_source_impl(recording r);

    int inputs() const override { return int(d_r.layout.inputs.size()); }
    int inputs_per_port() const override { return d_r.layout.inputs_per_port; }
    std::string type() const override { return name_of(d_r.layout.type()); }
    double sample_rate() const override { return d_r.rate.to_double(); }
    double center_frequency() const override { return d_r.center_frequency; }
    double bandwidth() const override
    {
        return sample_rate() / (d_r.layout.complex ? 1 : 2);
    }
    bool inverted() const override { return d_r.inverted && !d_r.layout.complex; }
    int64_t samples() const override { return d_r.samples; }
    std::pair<uint64_t, double> start_time() const override;
    std::string error() const override;
    std::vector<uint64_t> clamped() const override;
    std::vector<uint64_t> missing() const override;
    std::vector<uint64_t> not_numbers() const override;
    void finish() override { d_finish = true; }

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    // Tags an item on all ports with a sample's time, the frequency and the rate.
    void tag_clock(int64_t sample, uint64_t item);
    void tag_missing(const formats::recording_reader::gap& gap);
    //! Counts samples that are NaN or infinite, and warns once.
    void note_not_numbers(const formats::recording_reader::gap& some);
    void fail(const std::string& error);
    // Conjugates items in place, if the band is inverted.
    void conjugate(int port, void* items, int64_t count);

    const recording d_r;
    formats::recording_reader d_reader;
    int64_t d_passes = 0; // passes that are over
    std::atomic<bool> d_finish{ false };
    std::vector<std::atomic<uint64_t>> d_clamped, d_missing, d_not_numbers;
    bool d_told = false; // a warning about NaN was logged
    mutable std::mutex d_error_mutex;
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECORDING_SOURCE_IMPL_H */
