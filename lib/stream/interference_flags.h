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
 * The flagging of a block: the kernel, its settings, which any thread may change, and its
 * counts.
 */
class interference_flags
{
public:
    //! \param spectra_per_slice replaces that of p. \throws std::invalid_argument
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
     * Makes room for the sums over the spectra of an F-engine, of `channels`, of which
     * the frames have those from `first_channel` on.
     * \return how many frames may be summed before they are flagged; 0: it cannot be done
     */
    int prepare_sums(int channels, int first_channel);
    //! Returns where these sums are. \pre prepare_sums() has returned more than 0
    kernels::cell_sums sums() const { return d_kernel->sums(); }
    //! Notes that some times of the frames that are flagged next, counted from the first
    //! one, are written, and whether their powers were summed.
    void note_times(int first, int count, bool summed);

    //! Does the work of before_first_call().
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

    //! Returns the dictionary that is published. It may wait for the device.
    pmt::pmt_t status();

private:
    //! Returns the spectra that are not missing, as the kernel takes them; empty: all.
    std::vector<int>
    there(int frames, int64_t first, const std::vector<intervals>& lost) const;

    const kernels::flagging::parameters d_p;
    const std::unique_ptr<kernels::flagging> d_kernel;
    std::vector<std::atomic<uint64_t>> d_cells;
    std::deque<bool> d_summed; // frames to come, as many as the sums have room for

    mutable std::mutex d_mutex; // guards the members below
    flagging_parameters d_settings;
    std::shared_ptr<const kernels::flagging::tables> d_next; // not used yet
    // counts of the last status()
    std::vector<uint64_t> d_told_cells, d_told_flagged;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_INTERFERENCE_FLAGS_H */
