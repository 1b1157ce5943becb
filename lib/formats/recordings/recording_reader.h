/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_RECORDING_READER_H
#define INCLUDED_APERTURE_FORMATS_RECORDING_READER_H

#include "formats/coding.h"
#include "formats/recordings/piece_reader.h"
#include "formats/recordings/pieces.h"
#include "formats/recordings/recorded_files.h"
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::formats {

//! The place of an input's samples in the pieces of a set, counted in samples (re and im
//! are one) from the piece's first byte: sample t is at offset + t stride.
struct input_place {
    int set;
    int64_t offset, stride;
};

//! The coding of the pieces of a recording.
struct recording_layout {
    coding written = coding::s8;
    bool complex = true;
    std::vector<input_place> inputs;
    int inputs_per_port =
        1; //!< inputs that are interleaved sample by sample in the output

    int ports() const { return int(inputs.size()) / inputs_per_port; }
    //! Returns the bytes of a sample of the output.
    sample_type type() const { return type_of(written, complex); }
    int components() const { return complex ? 2 : 1; }
    //! Returns the bytes of a sample in files.
    int bits_of_sample() const { return bits_of(written) * components(); }
};

/*!
 * Reads the samples of a recording: one of each input, time after time. Samples that are
 * in no piece, or NaN or infinite, become zeros.
 */
class recording_reader : public piece_reader
{
public:
    //! \param most_gap samples: a longer time without any samples is passed over
    recording_reader(const recording_layout& layout,
                     std::shared_ptr<recorded_files> files,
                     std::shared_ptr<pieces> where,
                     int64_t most_gap);

    void restart(int64_t sample) override;
    int64_t position() const override { return d_position; }
    //! \param ports for each, where its items go: [sample][input of the port]
    result read(const std::vector<char*>& ports, int64_t samples, int64_t end) override;
    const std::string& error() const override { return d_error; }

private:
    // Inputs whose samples alternate in the pieces of a set: they are read together.
    struct stretch {
        int set;
        int64_t offset; // samples from the piece's beginning to the first column
        int64_t stride;
        std::vector<int64_t> columns; // column of each of its inputs
        std::vector<int> inputs;
        // True if its unpacked samples are the items of a port as they are.
        bool direct;
    };
    // The part of a set in a block.
    struct part {
        std::optional<piece> from; // piece of the part; nothing: it is a gap
        int64_t skipped;           // samples of the piece before the part
        int64_t first, samples;    // place in the block
    };

    std::vector<stretch> stretches_of() const;
    // Returns the sample up to which no input has any, if that is far away.
    std::optional<int64_t> end_of_long_gap();
    std::vector<part> parts_of(int set, int64_t samples);
    // Finds the parts of all sets in a block, d_parts. Returns its samples: fewer than
    // asked for where no set has any behind them, so that a long gap begins a block.
    int64_t find_parts(int64_t samples);
    // Reads samples of a part to their place; returns how many there were. `good` gets
    // whether all are finite.
    int64_t unpack_part(const stretch& s, const part& p, char* port, bool& good);
    // Sets samples of a part to zero that are NaN or infinite.
    void
    clear_part(const stretch& s, const part& p, int64_t samples, char* port, result& r);
    void add_gap(int input, int64_t first, int64_t count, result& r);
    char* plane(int input) { return d_planes.data() + input * d_block * d_element; }
    // Interleaves planes into the items of a port, unless they are there already.
    void interleave_port(int port, int64_t samples, char* items);
    // Reads a block behind the samples of the result, and adds its gaps there.
    int64_t read_block(const std::vector<char*>& ports, int64_t samples, result& r);

    const recording_layout d_layout;
    const std::shared_ptr<recorded_files> d_files;
    const std::shared_ptr<pieces> d_pieces;
    const int64_t d_most_gap;
    const int64_t d_element; // bytes of a sample in the output
    const std::vector<stretch> d_stretches;
    int64_t d_block; // samples that are read at a time
    int64_t d_position = 0;
    std::string d_error;
    std::vector<std::vector<part>> d_parts; // [set] parts of the block
    std::vector<char> d_file_bytes, d_unpacked;
    std::vector<char> d_planes;       // [input][sample of the block]
    std::vector<size_t> d_newest_gap; // index of each input's gap in a result, plus 1
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_RECORDING_READER_H */
