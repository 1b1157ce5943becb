/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_VDIF_FRAMES_H
#define INCLUDED_APERTURE_FORMATS_VDIF_FRAMES_H

#include "formats/recordings/pieces.h"
#include "formats/recordings/recorded_files.h"
#include "formats/vdif/vdif_header.h"
#include <array>
#include <atomic>
#include <deque>
#include <memory>

namespace gr::aperture::formats {

//! The properties that all frames of a VDIF recording share.
struct vdif_stream {
    int frame_bytes = 0;  //!< bytes of a frame with its header
    int header_bytes = 0; //!< 32, or 16 of the legacy form
    int log2_channels = 0;
    int bits = 0; //!< bits of a component
    bool complex = false;
    int station = 0;
    int64_t frames_per_second = 0;
    //! The frame from which on samples are read.
    int epoch = 0; //!< in half years since 2000; frames may be of the next one, too
    int64_t second = 0, frame = 0;
    std::vector<int> threads; //!< threads that are read: a set each
    int64_t first = 0;        //!< sample of the clock that this frame begins with
    int first_file = 0;       //!< index of its first file
    int files = 0;            //!< number of its files, which follow each other

    //! Returns the samples of each channel in a frame.
    int64_t samples() const
    {
        return (int64_t(frame_bytes - header_bytes) * 8) /
               (int64_t(bits) * (complex ? 2 : 1) << log2_channels);
    }
};

/*!
 * The frames of VDIF files that follow each other. Headers are read when samples are
 * asked for, never all of them first: by several threads where they are expected, and one
 * by one elsewhere.
 *
 * Frames need not be in order, nor complete: where a thread has no frame for a time, up
 * to `window` later ones are read before it counts as lost. A header that contradicts the
 * others is damaged; if those that follow are not where they should be, the next one is
 * searched for, and the frame before is not used, as it may not be whole. A frame far
 * from those on both sides of it in the file has a damaged time, and is not used.
 */
class vdif_frames : public pieces
{
public:
    static constexpr int window = 64; //!< frames of a thread

    vdif_frames(const vdif_stream& stream, std::shared_ptr<recorded_files> files);

    void restart() override;
    void look_ahead(thread_pool& pool, int64_t wanted) override;
    int64_t end(int64_t wanted) override;
    answer find(int set, int64_t sample) override;
    void release(int64_t sample) override;
    std::string error() const override { return d_error; }

    //! Counts of frames not used since restart(). Any thread can read them at any time.
    struct counts {
        std::atomic<uint64_t> invalid{ 0 };  //!< frames that the recorder marked so
        std::atomic<uint64_t> repeated{ 0 }; //!< frames of a time that there was already
        std::atomic<uint64_t> late{ 0 };     //!< frames behind too many later ones
        std::atomic<uint64_t> damaged{ 0 };  //!< frames whose headers make no sense
        std::atomic<uint64_t> skipped{ 0 };  //!< bytes in which there was no frame
    };
    const counts& counted() const { return d_counts; }

private:
    using header = std::array<uint32_t, 4>;
    struct frame {
        piece where;
        int thread;
        bool invalid;
        int64_t number; // index, counted from that of sample 0
    };

    bool is_ours(const uint32_t* words) const;
    // Returns the seconds from the second of sample 0 to that of a frame.
    int64_t late(const vdif_header& h) const;
    bool has_header(int file, int64_t offset);
    // Reads the header where the next frame should be; returns false after an error.
    bool read_header(header& words);
    // Returns where the next frame begins, at or behind a place of the file, or its end.
    int64_t search(int file, int64_t offset);
    // Drops a frame that ends where the next should begin but does not: it may be cut.
    bool drop_frame_before();
    // Goes on to the next frame from where there is none.
    void find_header();
    std::optional<frame> next_frame();
    // Reads one frame more and puts it into its set; returns false at the end.
    bool walk();
    void take(const frame& f);
    // Returns the sample of the clock with which a frame begins.
    int64_t sample_of(int64_t number) const
    {
        return number * d_samples + d_stream.first;
    }
    int64_t number_of_end() const { return sample_of(d_newest + 1); }

    const vdif_stream d_stream;
    const int64_t d_samples;       // samples of a frame
    const int64_t d_epoch_seconds; // from the beginning of the epoch to that of the next
    const std::shared_ptr<recorded_files> d_files;
    uint32_t d_word_2; // the third word of all headers, for a quick search

    int d_file;       // file of the next header
    int64_t d_offset; // offset of the next header
    // Headers that were read ahead, of frames that follow each other: their file, the
    // place of the first one, and how many were read.
    int d_ahead_file;
    int64_t d_ahead_offset, d_ahead_count;
    std::vector<header> d_ahead;
    int64_t d_frames; // frames that were found
    std::optional<frame>
        d_pending; // frame that was read, and waits for the one behind it
    bool d_begun, d_ended;
    int64_t d_newest;                      // index of the latest frame that was taken
    int64_t d_previous;                    // index of the last one that was taken
    int64_t d_released;                    // sample up to which pieces were released
    std::vector<std::deque<piece>> d_sets; // in order of time
    counts d_counts;
    std::string d_error;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_VDIF_FRAMES_H */
