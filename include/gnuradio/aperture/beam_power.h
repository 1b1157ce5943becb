/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_POWER_H
#define INCLUDED_APERTURE_BEAM_POWER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief beamformer and power_detector in one: the beams' voltages never reach memory.
 * \ingroup aperture
 *
 * The same as beamformer (with fc32) and power_detector, and incoherent beams beside the
 * coherent ones, numbered behind them: the sum of the powers of the inputs in its mask.
 * Of a pair, the k-th input of one mask and the k-th of the other are an antenna.
 *
 * Products: `power` |y|^2 of each beam; of the pairs 2m, 2m+1 (x, y or r, l) `I`; `IQUV`;
 * `coherency` XX, YY, Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*,
 * V = 2 Im XY*; circular: I = RR + LL, Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.
 *
 * In: frames `[channel][input][time]` from corner_turn. Out: one f32 item
 * `[beam or pair][product][channel]` for each integration of a number of spectra,
 * with the tags `rx_time` (of its first spectrum), `spectra` (its length) and `counted`
 * (what was summed, without missing spectra: one number for all, or one for each beam or
 * pair and product), and `partial` if the input ended within it. It is the last one: no
 * integration is made of the zeros alone that fill the last frame.
 *
 * Message port `weights`: dictionary of `weights` (c32vector, shapes as in
 * set_weights()), `gain` (number) or `mask` (u8vector), or several of them, optionally
 * `beam` (all without it) and `time` (as rx_time: they hold from the first frame that
 * starts at or after it; those that come late hold at once, and `status` says so). What
 * one message says takes effect at once, and never within a frame.
 *
 * Weights are made ready beside the frames, which go on with the old ones. So more than
 * 65536 of them hold, without a time, from the first frame that finds them ready; fewer
 * from the next one. Those with a time are made ready ahead of it; only the frame that
 * they hold from waits, if they came too shortly before.
 */
class APERTURE_API beam_power : virtual public block_on_device
{
public:
    typedef std::shared_ptr<beam_power> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int beams = 1;
        int incoherent_beams = 0;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        std::vector<std::complex<float>> weights = {};
        std::vector<float> gains = {};
        std::vector<int> masks = {};
        std::string products = "power";
        std::string basis = "linear";
        int64_t spectra = 256;
        int summed_channels = 1;
        bool mean = true;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! What the parameters mean.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of a frame"),
            parameter("inputs", &parameters::inputs, "of a frame"),
            parameter("beams", &parameters::beams, "coherent ones, 0 to 4096"),
            parameter("incoherent_beams", &parameters::incoherent_beams, "0 to 4096"),
            parameter("spectra_per_frame",
                      &parameters::spectra_per_frame,
                      "spectra in a frame"),
            parameter("type", &parameters::type, "of the voltages, fc32, sc8 or sc4"),
            parameter("weights",
                      &parameters::weights,
                      "first weights of all beams, as of set_weights(); zeros if empty",
                      &parameters::inputs),
            parameter(
                "gains",
                &parameters::gains,
                "what voltages are multiplied with, one for each beam; ones if empty"),
            parameter("masks",
                      &parameters::masks,
                      "[beam][input], 0 for inputs that a beam leaves out, the "
                      "incoherent beams behind the coherent ones; ones if empty, which "
                      "incoherent pairs may not be",
                      &parameters::inputs),
            parameter("products", &parameters::products, "power, I, IQUV or coherency"),
            parameter("basis",
                      &parameters::basis,
                      "of the pairs, linear (x, y) or circular (r, l)"),
            parameter("spectra",
                      &parameters::spectra,
                      "in an integration: a divisor of spectra_per_frame, or a multiple"),
            parameter("summed_channels",
                      &parameters::summed_channels,
                      "neighbouring channels that become one; a divisor of channels"),
            parameter("mean",
                      &parameters::mean,
                      "divide by what was counted and by summed_channels; or else sums"),
            parameter("device", &parameters::device, meaning_of_device),
            parameter("latency", &parameters::latency, meaning_of_latency));
    }

    static sptr make(const parameters& p);

    //! Of a frame.
    virtual int inputs() const = 0;
    /*!
     * Sets the weights of a beam ([channel][input], or [input] for all channels alike),
     * or of all beams with -1 ([channel][beam][input], or [beam][input]), from the next
     * frame on. Zeros if empty.
     */
    virtual void set_weights(const std::vector<std::complex<float>>& weights,
                             int beam = -1) = 0;
    //! Weights of a beam, [channel][input].
    virtual std::vector<std::complex<float>> weights(int beam) const = 0;
    //! Sets what voltages are multiplied with: one number for a beam, or for all with -1
    //! one or one each. Ones if empty.
    virtual void set_gains(const std::vector<float>& gains, int beam = -1) = 0;
    //! One for each beam.
    virtual std::vector<float> gains() const = 0;
    //! Sets which inputs a beam has ([input]), or all beams with -1 ([beam][input]):
    //! those with 0 are left out, whatever their weights are. Ones if empty.
    virtual void set_mask(const std::vector<int>& mask, int beam = -1) = 0;
    //! What computes, for example "host avx512 vnni".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAM_POWER_H */
