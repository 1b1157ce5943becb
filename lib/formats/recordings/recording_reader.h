/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_RECORDING_READER_H
#define INCLUDED_APERTURE_FORMATS_RECORDING_READER_H

#include "formats/coding.h"
#include "formats/recordings/block_reader.h"
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
 * in no piece, or NaN or infinite, become zeros. Items of a port are [input of the port].
 *
 * A block is a job: a thread reads, unpacks and conjugates it and puts it to its place in
 * the output while it is in the cache.
 */
class recording_reader : public block_reader
{
public:
    //! \param most_gap samples: a longer time without any samples is passed over
    //! \param threads that read; 0: as many as a thread_pool has by default
    recording_reader(const recording_layout& layout,
                     std::shared_ptr<recorded_files> files,
                     std::shared_ptr<pieces> where,
                     int64_t most_gap,
                     int threads = 1);

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

    static std::vector<stretch> stretches_of(const recording_layout& layout);
    static int64_t block_of(const recording_layout& layout);

    void
    do_job(block& b, int64_t job, const std::vector<char*>& ports, int thread) override;
    std::vector<ahead> find_ahead(size_t blocks) const override;

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
    // Reads the bytes of all parts.
    void read_files(block& b, const std::vector<char*>& ports, scratch& m) const;
    // Reads parts that lie beside each other in a file at once.
    void read_together(scratch& m) const;
    // Returns how many samples of a part were read.
    int64_t samples_of(const reading& bytes) const;
    // Brings so many samples of a part to their place.
    void unpack_part(block& b,
                     const reading& bytes,
                     int64_t samples,
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
                   int64_t samples,
                   const std::vector<char*>& ports,
                   scratch& m) const;
    // Interleaves so many samples of planes into the items of a port, unless they are
    // there already.
    void interleave_port(int64_t samples, int port, char* items, scratch& m) const;
    void conjugate_port(block& b, int64_t samples, int port, char* items) const;

    const recording_layout d_layout;
    const int64_t d_element; // bytes of a sample in the output
    const std::vector<stretch> d_stretches;
    const int64_t d_plane;           // bytes from one plane to the next
    std::vector<bool> d_interleaved; // [port] whether it is made of planes
    std::vector<scratch> d_scratch;  // [thread]
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_RECORDING_READER_H */
