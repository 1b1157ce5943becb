/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_FRAME_READER_H
#define INCLUDED_APERTURE_STREAM_FRAME_READER_H

#include "kernels/masks/missing_spectra.h"
#include "stream/clocked_block.h"
#include "stream/intervals.h"
#include <optional>
#include <utility>

namespace gr::aperture {

/*!
 * Base of blocks that read frames `[channel][source][time]` from one port, the sources
 * being inputs or beams: it knows which spectra of which source are lost, and where the
 * input ended. A tick is a frame; spectra count from the start of the stream.
 */
class frame_reader : public clocked_block
{
public:
    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

protected:
    //! \param masks whether port 1 has the masks of the frames, one for each
    frame_reader(const device& d, int sources, int times, bool masks = false);

    //! Marks the next frames as lost, for all sources.
    void lose(int64_t frames);
    //! Returns whether a source lacks any of some spectra.
    bool any_lost(int64_t first, int64_t end) const;
    //! Returns the spectra that each source lacks.
    const std::vector<intervals>& lost() const { return d_lost; }
    //! Returns the missing spectra of the next so many frames.
    kernels::missing_spectra missing_of(int64_t frames) const;
    //! Forgets losses before a spectrum.
    void forget_before(int64_t spectrum);
    //! Returns true once for each time that the stream began or was aligned anew: the
    //! next item of the output needs tags.
    bool take_begin() { return std::exchange(d_begins, false); }
    //! Returns the frame within which the input ended, or -1.
    int64_t input_end() const { return d_input_end; }
    //! Returns the spectrum within that frame which the input does not have any more: the
    //! rest of the frame is zeros, which all sources lack.
    int64_t end_of_input() const;
    //! Returns `first_spectrum` of a frame, if any was said.
    std::optional<int64_t> first_spectrum(int64_t frame) const
    {
        return first_spectrum_of(frame);
    }
    void on_tag(int port, const gr::tag_t& tag) override;

private:
    void on_begin() override;
    int64_t spectra_of_item() const override { return d_times; }

    const int64_t d_times; // spectra of a frame
    int64_t d_input_end = -1;
    bool d_begins = false;
    std::vector<intervals> d_lost;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_FRAME_READER_H */
