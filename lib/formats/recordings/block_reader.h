/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_BLOCK_READER_H
#define INCLUDED_APERTURE_FORMATS_BLOCK_READER_H

#include "formats/recordings/piece_reader.h"
#include "formats/recordings/pieces.h"
#include "formats/recordings/recorded_files.h"
#include "formats/recordings/thread_pool.h"
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Base of what reads a recording with several threads. A call is cut into blocks, and
 * each block into jobs, which the threads share. Results do not depend on the number of
 * threads: what was found in each block is gathered in order.
 */
class block_reader : public piece_reader
{
public:
    int threads() const override { return d_pool.threads(); }
    void restart(int64_t sample) override;
    int64_t position() const override { return d_position; }
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

protected:
    //! The part of a set in a block.
    struct part {
        std::optional<piece> from; //!< piece of the part; nothing: it is a gap
        int64_t skipped;           //!< samples of the piece before the part
        int64_t first, samples;    //!< place in the block
    };
    //! The result of a job.
    struct outcome {
        int64_t good;      //!< samples of the block before the first that was not there
        std::string error; //!< says why that was not there
    };
    //! Samples in a row of a call, and what was found in them.
    struct block {
        int64_t first, samples;               //!< place in the call
        std::vector<std::vector<part>> parts; //!< [set]
        std::vector<outcome> outcomes;        //!< [job]

        int64_t good; //!< samples that all jobs found
        //! Counted from the first sample of the block, before `good`.
        std::vector<gap> gaps, not_numbers;
        std::vector<std::pair<int, uint64_t>> clamped;
    };

    static constexpr int64_t line_bytes = 64; //!< bytes of a line of the cache

    //! Returns the bytes of as many whole cache lines as hold so many.
    static int64_t whole_lines(int64_t bytes)
    {
        return (bytes + line_bytes - 1) / line_bytes * line_bytes;
    }

    //! Makes memory larger where it is too small.
    template <class Memory>
    static void make_room(Memory& m, int64_t size)
    {
        if (int64_t(m.size()) < size)
            m.resize(size_t(size));
    }

    //! Returns the sets of inputs or places, each once.
    template <class Places>
    static std::vector<int> sets_of(const Places& places)
    {
        std::set<int> sets;
        for (const auto& p : places)
            sets.insert(p.set);
        return { sets.begin(), sets.end() };
    }

    //! \param sets those whose pieces are read
    //! \param block samples of a block
    //! \param jobs of each block
    //! \param whole_pieces whether blocks, and calls, end with pieces where they can
    block_reader(std::shared_ptr<recorded_files> files,
                 std::shared_ptr<pieces> where,
                 std::vector<int> sets,
                 int64_t block,
                 int64_t jobs,
                 bool whole_pieces,
                 int64_t most_gap,
                 int threads);

    //! Does a job of a block, and notes its outcome, which is that all is there before.
    virtual void
    do_job(block& b, int64_t job, const std::vector<char*>& ports, int thread) = 0;
    //! Returns whether finish() has anything to do.
    virtual bool is_unfinished(const block&) const { return false; }
    //! Does what needs all jobs of a block to be done.
    virtual void finish(block&, const std::vector<char*>&) {}
    //! Returns what the next call will probably want, behind so many blocks.
    virtual std::vector<ahead> find_ahead(size_t) const { return {}; }

    const recorded_files& files() const { return *d_files; }
    //! Returns a block of the newest call.
    const block& block_of_call(size_t i) const { return d_blocks[i]; }
    int64_t samples_of_block() const { return d_block; }

private:
    std::vector<part> parts_of(int set, int64_t samples);
    // Finds the parts of all sets in a block, of at most so many samples: there are fewer
    // where no set has any behind them, so that a long gap begins a block.
    void find_parts(block& b, int64_t samples);
    // Finds the blocks of a call. Returns how many there are; `ends` gets whether no
    // samples can follow.
    size_t find_blocks(int64_t samples, int64_t end, result& r, bool& ends);
    // Does the jobs of the call's blocks.
    void read_blocks(size_t blocks, const std::vector<char*>& ports);
    // Adds what was found in a block to the result.
    void gather(const block& b, result& r);

    const std::shared_ptr<recorded_files> d_files;
    const std::shared_ptr<pieces> d_pieces;
    const std::vector<int> d_sets;
    const int64_t d_block, d_jobs;
    const bool d_whole_pieces;
    const int64_t d_most_gap;
    int64_t d_position = 0;
    std::string d_error;
    std::vector<size_t> d_newest_gap; // index of each input's gap in a result, plus 1
    std::vector<block> d_blocks;      // blocks of a call; they keep their memory
    std::vector<ahead> d_ahead;       // bytes of the newest call
    thread_pool d_pool;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_BLOCK_READER_H */
