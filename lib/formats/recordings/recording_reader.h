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
#include "formats/recordings/thread_pool.h"
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
    bool conjugated = false; //!< complex samples are conjugated
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
 *
 * A call is cut into blocks, which several threads read, unpack, conjugate and put to
 * their places in the output, each block while it is in the cache. Results do not depend
 * on the number of threads: what was found in each block is gathered in order.
 */
class recording_reader : public piece_reader
{
public:
    //! \param most_gap samples: a longer time without any samples is passed over
    //! \param threads that read; 0: as many as a thread_pool has by default
    recording_reader(const recording_layout& layout,
                     std::shared_ptr<recorded_files> files,
                     std::shared_ptr<pieces> where,
                     int64_t most_gap,
                     int threads = 1);

    int threads() const override { return d_pool.threads(); }

    void restart(int64_t sample) override;
    int64_t position() const override { return d_position; }
    //! \param ports for each, where its items go: [sample][input of the port]
    result read(const std::vector<char*>& ports, int64_t samples, int64_t end) override;
    const std::string& error() const override { return d_error; }

    //! Bytes of a file that the next call will probably want.
    struct ahead {
        int file;
        int64_t from, bytes;
    };
    //! Returns what the newest call let the system begin to read: nothing, as long as no
    //! read had to wait for a disk.
    const std::vector<ahead>& read_ahead() const { return d_ahead; }

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
        // True if they are that, or those of one input in a row: what is unpacked, or
        // read where nothing has to be unpacked, needs no other place before.
        bool whole() const { return direct || (stride == 1 && inputs.size() == 1); }
    };
    // The part of a set in a block.
    struct part {
        std::optional<piece> from; // piece of the part; nothing: it is a gap
        int64_t skipped;           // samples of the piece before the part
        int64_t first, samples;    // place in the block
    };
    // Samples that a thread reads at a time, and what it found.
    struct block {
        int64_t first, samples;               // place in the call
        std::vector<std::vector<part>> parts; // [set]

        int64_t good; // samples that were read
        std::string error;
        std::vector<gap> gaps, not_numbers; // counted from the first sample of the block
        std::vector<std::pair<int, uint64_t>> clamped;
    };
    // Bytes of a part in its file.
    struct reading {
        const stretch* s;
        const part* p;
        int64_t from;
        int64_t bytes;
        char* at; // their place in memory
        int64_t got;
        std::string error;
    };
    // Memory of a thread.
    struct scratch {
        std::vector<char> file, unpacked;
        std::vector<char> planes; // [input][sample of the block]
        std::vector<reading> readings;
        std::vector<reading*> sorted;
        std::vector<char*> columns;
    };

    std::vector<stretch> stretches_of() const;
    int64_t samples_of_block() const;
    std::vector<part> parts_of(int set, int64_t samples);
    // Finds the parts of all sets in a block, of at most so many samples: there are fewer
    // where no set has any behind them, so that a long gap begins a block.
    void find_parts(block& b, int64_t samples);
    // Finds the blocks of a call. Returns how many there are; `ends` gets whether no
    // samples can follow.
    size_t find_blocks(int64_t samples, int64_t end, result& r, bool& ends);

    // The place of a sample of an input, counted from the beginning of the block: in its
    // port, or, where that has several inputs, in a plane.
    char* place(const block& b,
                const std::vector<char*>& ports,
                scratch& m,
                int input,
                int64_t sample) const;
    // The place of an item of a port, counted from the beginning of the block.
    char*
    item(const block& b, const std::vector<char*>& ports, int port, int64_t sample) const;
    void read_block(block& b, const std::vector<char*>& ports, scratch& m) const;
    // Reads the bytes of all parts.
    void read_files(block& b, const std::vector<char*>& ports, scratch& m) const;
    // Reads parts that lie beside each other in a file at once.
    void read_together(scratch& m) const;
    // Brings samples of a part to their place; returns how many there were.
    int64_t unpack_part(block& b,
                        const reading& bytes,
                        const std::vector<char*>& ports,
                        scratch& m) const;
    // Sets samples of a part to zero that are NaN or infinite.
    void clear_part(block& b,
                    const stretch& s,
                    const part& p,
                    int64_t samples,
                    const std::vector<char*>& ports,
                    scratch& m) const;
    void clear_gap(block& b,
                   const stretch& s,
                   const part& p,
                   const std::vector<char*>& ports,
                   scratch& m) const;
    // Interleaves planes into the items of a port, unless they are there already.
    void interleave_port(const block& b, int port, char* items, scratch& m) const;
    void conjugate_port(block& b, int port, char* items) const;
    // Finds what the next call will probably want: as many bytes behind the last ones of
    // each stretch as this call has of them.
    void find_ahead(size_t blocks);
    // Adds what was found in a block to the result.
    void gather(block& b, result& r);
    void add_gap(const gap& g, result& r);

    const recording_layout d_layout;
    const std::shared_ptr<recorded_files> d_files;
    const std::shared_ptr<pieces> d_pieces;
    const int64_t d_most_gap;
    const int64_t d_element; // bytes of a sample in the output
    const std::vector<stretch> d_stretches;
    const int64_t d_block;           // samples of a block
    const int64_t d_plane;           // bytes from one plane to the next
    std::vector<bool> d_interleaved; // [port] whether it is made of planes
    int64_t d_position = 0;
    std::string d_error;
    std::vector<size_t> d_newest_gap; // index of each input's gap in a result, plus 1
    std::vector<block> d_blocks;      // blocks of a call; they keep their memory
    std::vector<ahead> d_ahead;       // bytes of the newest call
    std::vector<scratch> d_scratch;   // [thread]
    thread_pool d_pool;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_RECORDING_READER_H */
