/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H
#define INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H

#include "formats/coding.h"
#include "formats/recordings/piece_reader.h"
#include "formats/recordings/pieces.h"
#include "formats/recordings/recorded_files.h"
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
 * missing, and all its channels are zeros.
 *
 * Windows of some spectra are read at a time, so that rows of a file are long; their
 * bytes are unpacked and transposed in tiles that stay in the second-level cache.
 */
class channel_reader : public piece_reader
{
public:
    //! \param most_gap spectra: a longer time without any is passed over
    channel_reader(const channel_layout& layout,
                   std::shared_ptr<recorded_files> files,
                   std::shared_ptr<pieces> where,
                   int64_t most_gap);

    void restart(int64_t spectrum) override;
    int64_t position() const override { return d_position; }
    //! \param ports for each, where its items go: [spectrum][input of the port][channel]
    result read(const std::vector<char*>& ports, int64_t spectra, int64_t end) override;
    const std::string& error() const override { return d_error; }

private:
    // Places whose samples are read together.
    struct bundle {
        int set;
        // Each channel has samples in a row of its own, in which those of the places
        // alternate; else all channels of all places are in one stretch of bytes.
        bool rows;
        std::vector<int> places; // indices in the layout
    };
    // Part of a window in a piece, or without one.
    struct part {
        std::optional<piece> from;
        int64_t skipped;        // spectra of the piece before the part
        int64_t first, spectra; // place in the window
    };
    // Bytes that were read, and the sample of the piece that the first of them begins
    // with.
    struct stretch {
        size_t at; // in d_bytes
        int64_t begin;
    };
    struct run {
        int64_t first, end;
    };

    std::vector<bundle> bundles_of() const;
    int64_t window_of() const;
    const channel_place& first_of(const bundle& b) const
    {
        return d_layout.places[size_t(b.places.front())];
    }
    std::vector<part> parts_of(int set, int64_t spectra);
    // Reads the window that begins at the position, of at most so many spectra.
    void read_window(int64_t spectra);
    // Reads samples [first, end) of a piece. Returns how many of them were there.
    int64_t read_stretch(const piece& p, int64_t first, int64_t end, stretch& to);
    // Reads what a bundle has in a part: a stretch for each channel, or one. Returns the
    // spectra that were there.
    int64_t read_part(const bundle& b, const part& p, std::vector<stretch>& to);
    // Finds what is missing in the window.
    void note_missing();
    // Writes spectra [first, end) of the window to the items.
    void emit(int64_t first, int64_t end);
    // Writes spectra [t, t + count) of a part to the items, from spectrum `to` of the
    // window.
    void emit_rows(const bundle& b,
                   const part& p,
                   const std::vector<stretch>& from,
                   int64_t t,
                   int64_t count,
                   int64_t to);
    void emit_times(const bundle& b,
                    const part& p,
                    const std::vector<stretch>& from,
                    int64_t t,
                    int64_t count,
                    int64_t to);
    // Returns samples as they are in memory: those of the bytes, or in a buffer.
    const char* unpacked(const stretch& s, int64_t sample, int64_t count);
    // Returns the place of a channel of an input in the call's items.
    char* item_of(int input, int channel, int64_t spectrum);
    void clear(int input, int64_t first, int64_t end);
    // Clears what is missing or no number in spectra [first, end), and notes it.
    void find_gaps(int64_t first, int64_t end, result& r);
    void find_not_numbers(int64_t first, int64_t end, result& r);

    const channel_layout d_layout;
    const std::shared_ptr<recorded_files> d_files;
    const std::shared_ptr<pieces> d_pieces;
    const int64_t d_most_gap;
    const int64_t d_element; // bytes of a sample in memory
    const int64_t d_item;    // bytes of an item of a port
    const std::vector<bundle> d_bundles;
    const int64_t d_window; // spectra that are read at a time
    int64_t d_position = 0;
    std::string d_error;

    // The window: its spectra, those that were sent, and what ends reading behind it.
    int64_t d_found = 0, d_sent = 0;
    std::string d_error_behind;
    std::vector<std::vector<part>> d_parts;                     // [bundle]
    std::vector<std::vector<std::vector<stretch>>> d_stretches; // [bundle][part]
    std::vector<std::vector<run>> d_missing; // [input], spectra of the window, in order
    size_t d_used = 0;                       // bytes of d_bytes
    std::vector<char> d_bytes, d_unpacked, d_tile;
    // The call: where its items go, and the spectrum of the window that comes first.
    std::vector<char*> d_ports;
    int64_t d_origin = 0;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_CHANNEL_READER_H */
