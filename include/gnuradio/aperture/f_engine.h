/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_H
#define INCLUDED_APERTURE_F_ENGINE_H

#include <gnuradio/aperture/pfb_channelizer.h>

namespace gr::aperture {

/*!
 * \brief F-engine that writes frames: pfb_channelizer and corner_turn in one.
 * \ingroup aperture
 *
 * Gives what corner_turn makes of the spectra of pfb_channelizer, bit by bit and tag by
 * tag, without the spectra in between: on a GPU they need not reach its memory. How far
 * sc8 agrees between devices is said there.
 *
 * Ports in: inputs/inputs_per_port, items as those of pfb_channelizer. Port out: an item
 * is a frame `[channel][input][time]`. Message ports `gains`, `delays` and `status`, and
 * tags with delays, as those of pfb_channelizer.
 */
class APERTURE_API f_engine : virtual public block_on_device
{
public:
    typedef std::shared_ptr<f_engine> sptr;

    //! Those of the filter bank, and what makes frames of its spectra.
    struct parameters : pfb_channelizer::parameters {
        int spectra_per_frame = 256;
        int first_channel = 0;
        int selected_channels = 0;
        double align = 0;
    };

    //! What the parameters mean: first those of the filter bank.
    static auto describe()
    {
        return std::tuple_cat(
            pfb_channelizer::describe(),
            std::make_tuple(
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame; frames of 1 to 128 MB work best"),
                parameter("first_channel",
                          &parameters::first_channel,
                          "first channel that goes into frames"),
                parameter("selected_channels",
                          &parameters::selected_channels,
                          "how many do; 0: all from the first on"),
                parameter("align",
                          &parameters::align,
                          "seconds; drop spectra until the first at or after a multiple "
                          "of it since 1970")));
    }

    static sptr make(const parameters& p);

    //! Sets the gain of all channels of an input (-1: of all inputs) from the next
    //! spectrum on.
    virtual void set_gain(std::complex<float> gain, int input = -1) = 0;
    //! Sets one gain for each channel of an input (-1: of all inputs).
    virtual void set_gains(const std::vector<std::complex<float>>& gains,
                           int input = -1) = 0;
    //! Gains of an input, one for each of `channels`.
    virtual std::vector<std::complex<float>> gains(int input) const = 0;

    //! All gains of an input, or of all with -1: those in force and those that wait for
    //! their time. gains() gives the product of those in force.
    virtual std::vector<gain_setting> gain_settings(int input = -1) const = 0;

    /*!
     * Sets a model of the delays of the inputs, in place of the one of that name. Those
     * of several names add up. At a time t the delay is delay + delay_rate (t - time),
     * the phase phase + phase_rate (t - time), and channel k is multiplied by exp(i
     * (phase - 2 pi (f_k - f_c) delay)), with f_c the frequency of channel n/2.
     *
     * \param delays seconds, for each input or one for all; a positive one delays the
     * input \param delay_rates seconds a second; these and the next two as many as
     * delays, or none \param phases radians \param phase_rates radians a second \param
     * input which one; -1: all \param time that rates count from; holds from the first
     * spectrum at or after it. Without one from the next spectrum on, and counts from its
     * time \param model the name \throws std::invalid_argument if there is no such input,
     * or, once samples have told their rate, a delay is longer than `most_delay`
     */
    virtual void set_delays(const std::vector<double>& delays,
                            const std::vector<double>& delay_rates = {},
                            const std::vector<double>& phases = {},
                            const std::vector<double>& phase_rates = {},
                            int input = -1,
                            const std::optional<setting_time>& time = {},
                            const std::string& model = "") = 0;
    //! All delay models of an input, or of all with -1: those in force, with that of tags
    //! on the samples under the name "tags", and those that wait for their time.
    virtual std::vector<delay_setting> delays(int input = -1) const = 0;

    //! For each input, output values that did not fit into 8 bits and were clamped, of
    //! all channels, selected or not.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! For each input, 8-bit samples of -128 (4-bit: -8) that were read as -127 (-7).
    virtual std::vector<uint64_t> clamped_samples() const = 0;
    //! For each input, spectra that were zeros because samples were lost (the padding at
    //! the end not counted).
    virtual std::vector<uint64_t> missing() const = 0;
    //! What computes, for example "host + host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_F_ENGINE_H */
