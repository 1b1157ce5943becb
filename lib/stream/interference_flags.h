/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_INTERFERENCE_FLAGS_H
#define INCLUDED_APERTURE_STREAM_INTERFERENCE_FLAGS_H

#include "kernels/flagging/flagging.h"
#include "stream/intervals.h"
#include <gnuradio/aperture/flagging_parameters.h>
#include <pmt/pmt.h>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace gr::aperture {

/*!
 * What blocks share that flag frames: the kernel, its settings, which may change in any
 * thread, and what it has found.
 */
class interference_flags
{
public:
    //! \param spectra_per_slice that is meant by p's. \throws std::invalid_argument
    static kernels::flagging::parameters kernel_parameters(const flagging_parameters& p,
                                                           int spectra_per_slice,
                                                           int channels,
                                                           int inputs,
                                                           int spectra_per_frame,
                                                           sample_type type);

    interference_flags(const flagging_parameters& p,
                       const kernels::flagging::parameters& k,
                       const device& d);

    /*!
     * Makes room for sums of what an F-engine makes, of `channels`, of which the frames
     * have those from `first_channel` on.
     * \return how many frames may be summed before they are flagged; 0: it cannot be done
     */
    int prepare_sums(int channels, int first_channel);
    //! Where they are added up. \pre prepare_sums() has said more than 0
    kernels::cell_sums sums() const { return d_kernel->sums(); }
    //! Of the frames that are to be flagged next: times from the first one's on were put
    //! there, and summed or not.
    void note_times(int first, int count, bool summed);

    //! The work of before_first_call().
    void begin(stream& s);

    void set(const flagging_parameters& p);
    flagging_parameters settings() const;

    /*!
     * Flags some frames, as the kernel does.
     * \param first number of their first spectrum
     * \param lost spectra that each input lacks
     */
    void execute(const void* in,
                 void* out,
                 uint8_t* masks,
                 int frames,
                 int64_t first,
                 const std::vector<intervals>& lost,
                 stream& s);

    std::vector<uint64_t> cells() const;
    kernels::flagging::counts found() const { return d_kernel->found(); }
    std::string implementation() const { return d_kernel->implementation(); }

    //! The dictionary that is published. It may wait for the device.
    pmt::pmt_t status();

private:
    //! Spectra that are there, as the kernel wants them; empty: all are.
    std::vector<int>
    there(int frames, int64_t first, const std::vector<intervals>& lost) const;

    const kernels::flagging::parameters d_p;
    const std::unique_ptr<kernels::flagging> d_kernel;
    std::vector<std::atomic<uint64_t>> d_cells;
    std::deque<bool> d_summed; // frames to come, as many as the sums have room for

    mutable std::mutex d_mutex; // of what follows
    flagging_parameters d_settings;
    std::shared_ptr<const kernels::flagging::tables> d_next; // not used yet
    // of the last status()
    std::vector<uint64_t> d_told_cells, d_told_flagged;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_INTERFERENCE_FLAGS_H */
