/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_PFB_H
#define INCLUDED_APERTURE_KERNELS_PFB_PFB_H

#include "kernels/common/not_numbers.h"
#include "kernels/common/types.h"
#include "kernels/pfb/delay.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <vector>

namespace gr::aperture::kernels {

//! Polyphase filter bank, gain and conversion; the formula is at pfb_channelizer.
class pfb
{
public:
    struct parameters {
        int channels;
        int taps;
        int ports;
        int inputs_per_port;
        sample_type input;
        sample_type output; //!< fc32 or sc8
        bool inverted;
        std::vector<float> prototype; //!< [taps][length()]
        //! Samples from one spectrum to the next; 0: length(), critically sampled.
        int oversampled_hop = 0;
        //! Channels that are written, from this one on; 0: all. Gains are theirs.
        int first_kept = 0, kept = 0;
        //! Returns the number of channels that are written.
        int kept_channels() const { return kept ? kept : channels; }
        //! Returns the points of a transform, which are the samples of a tap.
        int length() const { return is_complex(input) ? channels : 2 * channels; }
        //! Returns the samples from one spectrum to the next.
        int hop() const { return oversampled_hop ? oversampled_hop : length(); }
        bool oversampled() const { return hop() != length(); }
        //! Returns the samples under the prototype in so many spectra.
        int64_t span(int64_t spectra) const
        {
            return (spectra - 1) * hop() + int64_t(taps) * length();
        }
        //! Returns the samples that a spectrum shares with the next one.
        int64_t shared() const { return span(1) - hop(); }
        int inputs() const { return ports * inputs_per_port; }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! Clamped samples, as they are counted for each input.
    struct counts {
        std::vector<uint64_t> output;  //!< output samples that did not fit into sc8
        std::vector<uint64_t> samples; //!< 8-bit samples of -128, 4-bit ones of -8
    };

    //! Checks the channels of an F-engine; a prototype can be computed only for allowed
    //! ones. The kernels themselves take any number from 2 on, of real samples an even
    //! one.
    //! \throws std::invalid_argument
    static void check_channels(int channels);

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<pfb> make(const parameters&, const device&);
    virtual ~pfb() = default;
    virtual std::string implementation() const = 0;

    //! Sets gains [input][channel] of the channels that are written, for all spectra from
    //! the next call on.
    virtual void set_gains(const cfloat* gains, stream&) = 0;

    /*!
     * Sets the delays of all inputs from the next call on, [input]; nullptr: none, as at
     * first, which costs nothing.
     */
    virtual void set_delays(const delay* delays, stream&) = 0;

    //! The samples of a port that execute() reads.
    struct source {
        //! [time][input]: span(spectra) samples of each input; where inputs
        //! of this port are delayed those that lie as many samples earlier, from where
        //! the largest delay begins to where the least one ends. nullptr if the samples
        //! were lost: the spectra are zeros then
        const void* samples;
        //! Samples (of each input) at the start that an earlier call has counted.
        size_t counted;
    };

    /*!
     * Sets, from the next call of execute() on, spectra of samples that are NaN or
     * infinite to zero and adds them to `found`; nullptr: they are left as they are, as
     * at first. On devices other than the CPU, whose results the host does not wait for,
     * they are always left.
     */
    virtual void clear_not_numbers(std::vector<spectrum_of_input>* /* found */) {}

    /*!
     * Says which spectrum of its timeline the next call of execute() begins with; later
     * ones follow. Only oversampled spectra depend on it: their phases count from the
     * timeline's first sample.
     */
    virtual void set_position(int64_t /* spectrum */, stream&) {}

    //! Returns the rest of a port's source when `spectra` spectra of it are done.
    static source later(const parameters&, const source&, size_t spectra);

    //! Makes spectra [port][spectrum][input][channel] of sources [port], of the channels
    //! that are written.
    virtual void
    execute(const source* sources, void* const* spectra, size_t count, stream&) = 0;

    //! Returns the clamped samples so far.
    virtual counts clamped() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PFB_PFB_H */
