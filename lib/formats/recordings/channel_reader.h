/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H
#define INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H

#include "formats/coding.h"
#include "formats/recordings/block_reader.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture::formats {

/*!
 * The place of some channels of an input in the pieces of a set, counted in samples (re
 * and im are one) from the piece's first byte. Sample t of channel first_channel + c is
 * at
 *
 *     offset + c channel_stride + t time_stride + row (offset_rows + c channel_rows),
 *
 * where `row` is the piece's: samples of a channel in the block that it is of. Channels
 * that alternate sample by sample have 1 in channel_stride, those whose samples lie in
 * rows, one behind the other, have 1 in channel_rows (or as many as polarisations
 * alternate there). Strides of channels are negative where the sky frequency falls.
 */
struct channel_place {
    int set, input;
    int first_channel, channels;
    int64_t offset, channel_stride, time_stride;
    int64_t offset_rows = 0, channel_rows = 0;

    //! Returns the place of a sample of channel first_channel + c.
    int64_t at(int64_t c, int64_t t, int64_t row) const
    {
        return offset + c * channel_stride + t * time_stride +
               row * (offset_rows + c * channel_rows);
    }
};

//! The layout of a recording of channels.
struct channel_layout {
    coding written = coding::s8;
    int inputs = 1, channels = 1;
    std::vector<channel_place> places; //!< each channel of each input is in one of them
    int inputs_per_port = 1; //!< inputs whose spectra follow each other in an item
    bool conjugated = false; //!< voltages are conjugated

    sample_type type() const { return type_of(written, true); }
    int bits_of_sample() const { return 2 * bits_of(written); }
    int ports() const { return inputs / inputs_per_port; }

    //! Says which channel of which input is in no place, or in two; empty: none is.
    std::string problem() const;
    //! Returns the bytes from the beginning of a piece of a set to behind the last sample
    //! that is read of it; nothing if they cannot be counted, or begin before the piece.
    std::optional<int64_t> bytes_of(const piece& p, int set) const;
};

/*!
 * Reads a recording of channels: of each input a spectrum, time after time, transposed
 * where a file has time as a faster axis. A spectrum of which no piece has a channel is
 * missing, and all its channels are zeros. Items of a port are [input][channel].
 *
 * A block has so many spectra that rows of a file are long. Some of its rows are a job: a
 * thread reads, unpacks and transposes them while they are in the second-level cache.
 * Calls that ask for much less than a block get what was read for several of them.
 */
class channel_reader : public block_reader
{
public:
    //! \param most_gap spectra: a longer time without any is passed over
    //! \param threads that read; 0: as many as a thread_pool has by default
    channel_reader(const channel_layout& layout,
                   std::shared_ptr<recorded_files> files,
                   std::shared_ptr<pieces> where,
                   int64_t most_gap,
                   int threads = 1);

    int64_t samples_wanted() const override { return samples_of_block(); }
    void restart(int64_t spectrum) override;
    int64_t position() const override
    {
        return block_reader::position() - (d_kept.samples - d_sent);
    }
    result read(const std::vector<char*>& ports, int64_t spectra, int64_t end) override;
    const std::string& error() const override;

private:
    // Places whose samples are read together.
    struct bundle {
        int set;
        // Each channel has samples in a row of its own, in which those of the places
        // alternate; else all channels of all places are in one stretch of bytes.
        bool rows;
        std::vector<int> places; // indices in the layout
    };
    // Some channels of a bundle, of rows; else all of them.
    struct channels_of_bundle {
        size_t bundle;
        int64_t first, channels;
    };
    // Bytes of a row, and the sample of the piece that the first of them begins with.
    struct row {
        const char* bytes;
        int64_t begin;
    };
    struct run {
        int64_t first, end; // spectra of a block
    };
    // Memory of a thread.
    struct scratch {
        std::vector<char> file, unpacked;
        std::vector<char> planes; // [place][channel][spectrum] of a tile
        std::vector<row> rows;
        std::vector<int64_t> columns; // [place] of a row
        std::vector<char*> to;        // [place]
    };

    static std::vector<bundle> bundles_of(const channel_layout& layout);
    static std::vector<channels_of_bundle> jobs_of(const channel_layout& layout,
                                                   const std::vector<bundle>& bundles);
    static int64_t block_of(const channel_layout& layout,
                            const std::vector<bundle>& bundles);
    channel_reader(const channel_layout& layout,
                   const std::vector<bundle>& bundles,
                   std::shared_ptr<recorded_files> files,
                   std::shared_ptr<pieces> where,
                   int64_t most_gap,
                   int threads);

    const channel_place& first_of(const bundle& b) const
    {
        return d_layout.places[size_t(b.places.front())];
    }
    void
    do_job(block& b, int64_t job, const std::vector<char*>& ports, int thread) override;
    bool is_unfinished(const block& b) const override;
    void finish(block& b, const std::vector<char*>& ports) override;

    // Reads what a job has in a part. Returns the spectra that were there.
    int64_t read_part(const channels_of_bundle& j,
                      const part& p,
                      scratch& m,
                      std::string& error) const;
    // Writes what was read to the items of the block.
    void emit_rows(const block& b,
                   const channels_of_bundle& j,
                   const part& p,
                   int64_t spectra,
                   const std::vector<char*>& ports,
                   scratch& m) const;
    void emit_times(const block& b,
                    const channels_of_bundle& j,
                    const part& p,
                    int64_t spectra,
                    const std::vector<char*>& ports,
                    scratch& m) const;
    // Returns samples as they are in memory: those of the bytes, or in a buffer.
    const char* unpacked(const row& r, int64_t sample, int64_t count, scratch& m) const;
    // Returns the place of a channel of an input in a block's items.
    char* item_of(const block& b,
                  const std::vector<char*>& ports,
                  int input,
                  int channel,
                  int64_t spectrum) const;
    // Finds spectra of a block in which an input has no piece of some channel, or NaN or
    // infinite values.
    std::vector<run> missing_of(const block& b, int input) const;
    std::vector<run>
    not_numbers_of(const block& b, const std::vector<char*>& ports, int input) const;
    // Clears both, and notes them.
    void clear_gaps(block& b, const std::vector<char*>& ports) const;
    void
    clear(const block& b, const std::vector<char*>& ports, int input, const run& r) const;
    void conjugate_items(block& b, const std::vector<char*>& ports) const;
    // Gives a call some of the spectra that were kept.
    result send_kept(const std::vector<char*>& ports, int64_t spectra);

    const channel_layout d_layout;
    const int64_t d_element; // bytes of a sample in memory
    const int64_t d_item;    // bytes of an item of a port
    const std::vector<bundle> d_bundles;
    const std::vector<channels_of_bundle> d_jobs;
    std::vector<scratch> d_scratch; // [thread]
    // A block that was read for calls that want less, and how many were sent of it.
    result d_kept{ 0, false, {}, {}, {} };
    int64_t d_sent = 0;
    std::vector<std::vector<char>> d_kept_items; // [port]
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H */
