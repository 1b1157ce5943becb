/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_FILTER_WINDOWS_H
#define INCLUDED_APERTURE_STREAM_FILTER_WINDOWS_H

#include "kernels/pfb/pfb.h"
#include "stream/timeline.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/types.h>

namespace gr::aperture {

//! What the filter bank's kernel needs to know, out of what a user gave.
//! \throws std::invalid_argument
kernels::pfb::parameters filter_parameters(const pfb_channelizer::parameters& p);
//! Bytes of an item of samples of a port.
int sample_item_size(const kernels::pfb::parameters& p);

/*!
 * How an F-engine cuts the items of its ports into spectra. An item holds a sample of
 * each input of the port, or as many as fill whole bytes.
 */
class filter_windows
{
public:
    explicit filter_windows(const kernels::pfb::parameters& p);

    //! Items that a spectrum is made of.
    int64_t length() const { return d_p.taps * step(); }
    //! Items from one spectrum to the next.
    int64_t step() const { return d_p.step() / d_samples; }
    //! Items from the first one of a spectrum to its time.
    double middle() const;
    //! Hz, of all channels. `item_rate`: items a second
    double bandwidth(double item_rate) const;
    //! Hz, from the middle of the samples' band to the middle of channel n/2.
    double frequency_shift(double item_rate) const;
    //! Samples from one spectrum to the next.
    int64_t samples() const { return d_p.step(); }

    //! Forgets what was counted.
    void reset();
    //! What the kernel reads in a run. `items`: the first one on each port, or nullptr
    const std::vector<kernels::pfb::source>&
    sources(const timeline::run& run, const std::vector<const char*>& items);

private:
    const kernels::pfb::parameters d_p;
    const int d_samples; // of each input in an item
    std::vector<kernels::pfb::source> d_sources;
    std::vector<int64_t> d_counted; // items of each port in which -128 was counted
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_FILTER_WINDOWS_H */
