/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_FILTER_WINDOWS_H
#define INCLUDED_APERTURE_CONTROL_FILTER_WINDOWS_H

#include "control/delay_settings.h"
#include "kernels/pfb/pfb.h"
#include "stream/timeline.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/types.h>
#include <optional>
#include <string>
#include <utility>

namespace gr::aperture {

//! Returns P and Q of an oversampling `P/Q`, or `P`, in lowest terms. \throws
//! std::invalid_argument
std::pair<int64_t, int64_t> oversampling_of(const std::string& text);
//! Returns the gain of a parameter, of which 0 means 1. \throws std::invalid_argument
double checked_gain(double gain, sample_type input, sample_type output);
//! Makes the parameters of the filter bank's kernel from those of the block. \throws
//! std::invalid_argument
kernels::pfb::parameters filter_parameters(const pfb_channelizer::parameters& p);
//! Returns a warning of what oversampled channels let alias into their middle, or
//! nothing.
std::string warning_of_aliases(const kernels::pfb::parameters& p);
/*!
 * Returns the items that a ring of spectra in host memory should have at least. GNU
 * Radio's default of 64 KiB holds only some spectra, which are made in less time than it
 * takes to wake up their reader.
 */
int64_t spectra_of_ring(int64_t spectrum_bytes, int ports);
//! Returns the bytes of an item of samples of a port.
int sample_item_size(const kernels::pfb::parameters& p);

/*!
 * The windows of an F-engine on the items of its ports. An item holds a sample of each
 * input of the port, or as many as fill whole bytes.
 */
class filter_windows
{
public:
    //! \param most_delay samples, as in the blocks' parameters
    //! \throws std::invalid_argument
    filter_windows(const kernels::pfb::parameters& p,
                   int64_t most_delay,
                   const device& d);

    //! Returns the items that a spectrum is made of.
    int64_t length() const { return d_p.span(1) / d_samples; }
    //! Returns the items from one spectrum to the next.
    int64_t hop() const { return d_p.hop() / d_samples; }
    //! Returns the items from the first one of a spectrum to its time.
    double middle() const;
    //! Returns the bandwidth of all channels in Hz.
    //! \param item_rate items a second
    double bandwidth(double item_rate) const;
    //! Returns the frequency of the middle of channel n/2 above that of the band, in Hz.
    double frequency_shift(double item_rate) const;
    //! Returns whether the phases of channels depend on where spectra are counted from.
    bool oversampled() const { return d_p.oversampled(); }
    //! Returns the samples from one spectrum to the next.
    int64_t samples() const { return d_p.hop(); }

    //! Clears the counts.
    void reset();
    //! Returns how far a port is read earlier or later, by the whole samples of the
    //! delays of its inputs.
    timeline::reach reach_of(int port, const delay_settings::change& delays) const;
    //! Returns the items before the next window, or behind it, that delays may need, at a
    //! rate of items a second; the most of all rates without one.
    int64_t room_for_delays(std::optional<double> item_rate = {}) const;
    //! Returns the block's set_history(), for the size of the buffer before it.
    int history() const;
    //! Returns the samples of an input in so many items.
    int64_t samples_of(int64_t items) const { return items * d_samples; }
    //! Returns the extents that delays count by.
    delay_settings::extents extents() const
    {
        return { d_p.inputs(), d_p.inputs_per_port, samples(), hop(),
                 middle(),     d_p.inverted };
    }

    //! Returns what the kernel reads in a run.
    //! \param items the first one on each port, or nullptr
    const std::vector<kernels::pfb::source>&
    sources(const timeline::run& run, const std::vector<const char*>& items);

private:
    const kernels::pfb::parameters d_p;
    const int d_samples;        // samples of each input in an item
    const int64_t d_most_delay; // samples, 0: none was given
    const int64_t d_room;       // items
    std::vector<kernels::pfb::source> d_sources;
    std::vector<int64_t> d_counted; // items of each port in which -128 was counted
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_FILTER_WINDOWS_H */
