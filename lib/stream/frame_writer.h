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
#include <optional>

namespace gr::aperture {

/*!
 * Base of GNU Radio blocks that write frames [channel][input][time]: alignment, filling
 * call after call, padding at the end, and the tags of a frame.
 *
 * They make a spectrum of each window of clocked_block: spectrum n is that of the window
 * at tick n * hop.
 */
class frame_writer : public clocked_block
{
public:
    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    bool writes_windows() const final { return false; } // frames are filled over calls

protected:
    //! \param window, hop as those of clocked_block
    //! \param align seconds; 0: none
    frame_writer(const device& d,
                 const kernels::corner_turn::parameters& layout,
                 int64_t window,
                 int64_t hop,
                 double align);

    //! Facts about the spectra that go into the frames. 0: not known
    struct spectra_facts {
        double middle;        //!< ticks from the first item of a spectrum to its time
        double rate;          //!< spectra a second
        double bandwidth;     //!< bandwidth of all channels, Hz
        int64_t samples;      //!< samples from one spectrum to the next
        double rx_freq_shift; //!< difference from the input's rx_freq to channel n/2, Hz
        //! Difference of the tag `first_spectrum` from the spectra of this block;
        //! nothing: there is no such tag.
        std::optional<int64_t> numbered_from = {};
    };
    virtual spectra_facts facts() const = 0;
    //! Prepares the settings for a spectrum; returns for how many spectra they hold.
    virtual int64_t prepare(int64_t spectrum) = 0;
    /*!
     * Writes spectra of all ports to times first ... first+count-1 of a frame; behind its
     * end they go on in the next one, which lies behind it.
     * \param starts beginning of the first spectrum on each port; nullptr: zeros
     */
    virtual void write(const timeline::run& run,
                       const std::vector<const char*>& starts,
                       void* frame,
                       int first,
                       int count) = 0;

    //! Returns how many whole frames are filled at most before finish() is called.
    virtual int frames_at_once() const { return std::numeric_limits<int>::max(); }
    //! Returns the number of spectra at multiples of which, in a frame, calls should end.
    virtual int spectra_together() const { return 1; }
    /*!
     * Finishes frames that have become whole, in place, before they are tagged.
     * \param masks their items of the second output; nullptr: there is none
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

    //! Returns how many spectra of the present frame are still to come; 0: one begins.
    int64_t left_in_frame() const
    {
        const int64_t length = d_layout.spectra_per_frame;
        return (length - d_filled % length) % length;
    }
    //! Marks spectra of an input as missing.
    void miss(int input, int64_t first, int64_t end) { d_lost[input].add(first, end); }
    //! Returns, for each input, the lost spectra, without the padding at the end.
    std::vector<uint64_t> missing_spectra() const;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) final;
    int64_t next_spectrum() const { return position() / d_hop; }
    timestamp time_of_spectrum(int64_t spectrum) const
    {
        return time_of(double(spectrum) * d_hop + facts().middle);
    }
    //! Writes one run of spectra to its place, or zeros where a port has none.
    void
    fill(const timeline::run& run, const std::vector<const char*>& starts, void* frame);
    //! \param end spectrum behind the last one of the frame
    //! \param padding spectra of padding at the end
    void tag_frame(uint64_t item, int64_t end, int padding);
    //! Calls finish(). \param padding as of tag_frame(), of the last frame
    void finish_frames(void* frames, void* masks, int64_t count, int padding);

    const kernels::corner_turn::parameters d_layout;
    const int64_t d_hop;  // ticks
    const double d_align; // seconds

    int64_t d_origin = 0; // spectrum at which the first frame would begin
    int64_t d_frames = 0; // frames that were passed on
    bool d_described =
        false; // true if the output was tagged since the stream began or was aligned anew
    int64_t d_filled = 0;          // spectra of the frames that are being filled
    std::vector<intervals> d_lost; // lost spectra of each input
    std::vector<std::atomic<uint64_t>> d_missing;
};

//! \throws std::invalid_argument
void require_align(double align);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_FRAME_WRITER_H */
