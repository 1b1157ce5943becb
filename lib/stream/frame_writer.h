/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_FRAME_WRITER_H
#define INCLUDED_APERTURE_STREAM_FRAME_WRITER_H

#include "kernels/corner_turn/corner_turn.h"
#include "stream/clocked_block.h"
#include "stream/intervals.h"
#include <atomic>
#include <limits>

namespace gr::aperture {

/*!
 * What GNU Radio blocks share that write blocks [channel][input][time]: alignment,
 * filling call after call, padding at the end, and the tags of a frame.
 *
 * They make a spectrum of each window of clocked_block, number n of the one at tick n
 * step.
 */
class frame_writer : public clocked_block
{
public:
    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    bool writes_windows() const final { return false; } // frames are filled over calls

protected:
    //! \param window, step as of clocked_block; \param align seconds, 0: none
    frame_writer(const device& d,
                 const kernels::corner_turn::parameters& layout,
                 int64_t window,
                 int64_t step,
                 double align);

    //! The spectra that go into the frames. 0: not known
    struct spectra_facts {
        double middle;        //!< ticks from the first item of a spectrum to its time
        double rate;          //!< a second
        double bandwidth;     //!< Hz, of all channels
        int64_t samples;      //!< from one to the next
        double rx_freq_shift; //!< Hz, from the input's rx_freq to channel n/2
    };
    virtual spectra_facts facts() const = 0;
    //! Settings for a spectrum; returns for how many they hold.
    virtual int64_t prepare(int64_t spectrum) = 0;
    /*!
     * Puts spectra of all ports at times first ... first+count-1 of a frame; if it ends
     * before, they go on in the next one, which lies behind it.
     * \param starts where the first one begins on each port; nullptr: zeros
     */
    virtual void write(const timeline::run& run,
                       const std::vector<const char*>& starts,
                       void* frame,
                       int first,
                       int count) = 0;

    //! Whole frames that are filled, at most, before finish() is called.
    virtual int frames_at_once() const { return std::numeric_limits<int>::max(); }
    //! Spectra of which calls had better end at a multiple in a frame.
    virtual int spectra_together() const { return 1; }
    /*!
     * Frames that have become whole, in place, before their tags.
     * \param masks the items of the second output that belong to them; nullptr without
     * \param first number of their first spectrum
     * \param lost spectra that each input lacks
     */
    virtual void finish(void* /* frames */,
                        void* /* masks */,
                        int /* count */,
                        int64_t /* first */,
                        const std::vector<intervals>& /* lost */)
    {
    }

    void on_begin() override;
    void on_moved(int64_t ticks) override;

    //! Marks spectra of an input as missing.
    void miss(int input, int64_t first, int64_t end) { d_lost[input].add(first, end); }
    //! For each input, spectra that were lost (the padding at the end not counted).
    std::vector<uint64_t> missing_spectra() const;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) final;
    int64_t next_spectrum() const { return position() / d_step; }
    timestamp time_of_spectrum(int64_t spectrum) const
    {
        return time_of(double(spectrum) * d_step + facts().middle);
    }
    //! One run of spectra goes to its place, or zeros where a port has none.
    void
    fill(const timeline::run& run, const std::vector<const char*>& starts, void* frame);
    //! \param end spectrum behind the last one of the frame
    //! \param padding spectra at the end that are none
    void tag_frame(uint64_t item, int64_t end, int padding);
    //! Calls finish(). \param padding as of tag_frame(), of the last frame
    void finish_frames(void* frames, void* masks, int64_t count, int padding);

    const kernels::corner_turn::parameters d_layout;
    const int64_t d_step; // ticks
    const double d_align; // seconds

    int64_t d_origin = 0;          // spectrum at which the first frame would begin
    int64_t d_frames = 0;          // that were passed on
    bool d_described = false;      // the stream, since it began or was lined up anew
    int64_t d_filled = 0;          // spectra of the frames that are being filled
    std::vector<intervals> d_lost; // of each input, in spectra
    std::vector<std::atomic<uint64_t>> d_missing;
};

//! \throws std::invalid_argument
void require_align(double align);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_FRAME_WRITER_H */
