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
#include "formats/recordings/channel_reader.h"
#include "formats/recordings/recording_reader.h"
#include "kernels/common/types.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/recording_source.h>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace gr::aperture {

//! A recording of any format: its files, where samples are in them, and when and at what
//! frequency they were taken.
struct recording {
    std::shared_ptr<formats::recorded_files> files;
    std::shared_ptr<formats::pieces> pieces;
    formats::recording_layout layout;
    //! The layout of what was channelised before it was recorded, in the place of that of
    //! samples; what is called a sample here is then a spectrum.
    std::optional<formats::channel_layout> channelised;
    double width = 0; //!< Hz, of one of these channels
    formats::ratio rate{ 1, 1 };
    formats::exact_time start; //!< time of sample 0
    double center_frequency = 0;
    bool inverted = false;
    bool approximate = false; //!< start is a guess
    int64_t begin = 0;
    int64_t samples = 0; //!< samples in a pass
    bool repeat = false;
    int readers = 0; //!< threads that read; 0: as many as there are cores, at most 16

    int inputs() const
    {
        return channelised ? channelised->inputs : int(layout.inputs.size());
    }
    int inputs_per_port() const
    {
        return channelised ? channelised->inputs_per_port : layout.inputs_per_port;
    }
    int ports() const { return inputs() / inputs_per_port(); }
    sample_type type() const { return channelised ? channelised->type() : layout.type(); }
    bool complex() const { return channelised || layout.complex; }
    int channels() const { return channelised ? channelised->channels : 1; }
    size_t item_bytes() const
    {
        return size_t(inputs_per_port()) * size_t(channels()) * size_of(type());
    }
    gr::io_signature::sptr output_signature() const;
};

/*!
 * Makes the pieces of rows of a parameter: (file, byte, samples, first sample, set), and,
 * where they may have them, samples of a row of the block.
 *
 * \param sets how many there may be
 * \param bytes returns the bytes from the beginning of a piece of a set to behind what is
 * read of it, or nothing if there are more than can be counted
 * \throws std::invalid_argument naming the row and what is allowed
 */
std::shared_ptr<formats::listed_pieces>
pieces_of(const std::vector<std::vector<int64_t>>& rows,
          int sets,
          const formats::recorded_files& files,
          bool with_row,
          const std::function<std::optional<int64_t>(const formats::piece&, int)>& bytes);

//! Returns a text for the row of a table, "(1, 2, 3)", for errors.
std::string text_of_row(const std::vector<int64_t>& row);

//! \throws std::invalid_argument if it is no rate from 1e-18 to 1e18 Hz
formats::ratio rate_of(const std::pair<int64_t, int64_t>& rate);
//! Takes the length of a pass, where pieces and `begin` are known; 0: all there are.
//! \throws std::invalid_argument
void set_length(recording& r, int64_t samples);

/*!
 * Takes the parameters that all sources of recordings have: files, rate, times,
 * frequency, begin, repetition. The layout's inputs must be known.
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 * \throws std::runtime_error if a file cannot be read
 */
template <class Parameters>
void set_common(recording& r, const Parameters& p, const formats::ratio& rate)
{
    const int inputs = r.inputs();
    const int each = p.inputs_per_port ? p.inputs_per_port : inputs;
    require(each > 0 && inputs % each == 0,
            "inputs_per_port",
            std::to_string(p.inputs_per_port),
            "a divisor of the number of inputs, " + std::to_string(inputs) +
                ", or 0 for all of them");
    (r.channelised ? r.channelised->inputs_per_port : r.layout.inputs_per_port) = each;
    require(!p.files.empty(), "files", "an empty list", "at least one name");
    require_time("start_time", p.start_time);
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
    (r.channelised ? r.channelised->conjugated : r.layout.conjugated) =
        p.inverted && r.complex();
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

    int inputs() const override { return d_r.inputs(); }
    int inputs_per_port() const override { return d_r.inputs_per_port(); }
    std::string type() const override { return name_of(d_r.type()); }
    double sample_rate() const override { return d_r.rate.to_double(); }
    double center_frequency() const override { return d_r.center_frequency; }
    double bandwidth() const override
    {
        return d_r.channelised ? d_r.width * d_r.channels()
                               : sample_rate() / (d_r.complex() ? 1 : 2);
    }
    bool inverted() const override { return d_r.inverted && !d_r.complex(); }
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

protected:
    int64_t samples_wanted() const { return d_reader->samples_wanted(); }

private:
    // Tags an item on all ports with a sample's time, the frequency and the rate.
    void tag_clock(int64_t sample, uint64_t item);
    void tag_missing(const formats::piece_reader::gap& gap);
    //! Counts samples that are NaN or infinite, and warns once.
    void note_not_numbers(const formats::piece_reader::gap& some);
    void fail(const std::string& error);

    const recording d_r;
    const std::unique_ptr<formats::piece_reader> d_reader;
    int64_t d_passes = 0; // passes that are over
    std::atomic<bool> d_finish{ false };
    std::vector<std::atomic<uint64_t>> d_clamped, d_missing, d_not_numbers;
    bool d_told = false; // a warning about NaN was logged
    mutable std::mutex d_error_mutex;
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECORDING_SOURCE_IMPL_H */
