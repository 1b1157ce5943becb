/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_POWER_H
#define INCLUDED_APERTURE_BEAM_POWER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/beam_parameters.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Forms beams and detects them in one kernel: the beams' voltages never reach
 * memory.
 * \ingroup aperture
 *
 * Coherent beams are those of beamformer (with fc32) and power_detector. Incoherent beams
 * are numbered behind them: each is the sum of the powers of the inputs in its mask. In a
 * pair of incoherent beams, the k-th input of one mask and the k-th of the other are one
 * antenna.
 *
 * In: frames `[channel][input][time]` from corner_turn. Out: one f32 item
 * `[beam or pair][product][channel]` for each integration. Products, tags and the last,
 * partial integration are those of power_detector, and message port `weights` is that of
 * beamformer.
 *
 * With `spectra_per_slice`, input port 1 takes the masks of the frames from flagger, one
 * `[channel][input][(slices + 7) / 8]` of u8 for each frame, and output port 1 gives the
 * counts, as those of power_detector. Flagged inputs are zero in a beam's sum, as missing
 * ones are: a spectrum counts for a beam while any input that the beam uses (with a
 * weight in any channel, or in its mask) is there and not flagged.
 */
class APERTURE_API beam_power : virtual public block_on_device
{
public:
    typedef std::shared_ptr<beam_power> sptr;

    struct parameters : weighting_parameters, detection_parameters {
        int channels = 1024;
        int inputs = 2;
        int beams = 1;
        int incoherent_beams = 0;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        int spectra_per_slice = 0;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::tuple_cat(
            std::make_tuple(
                parameter("channels", &parameters::channels, "of a frame")
                    .range(1, 1 << 24),
                parameter("inputs", &parameters::inputs, "of a frame").range(1, 65536),
                parameter("beams", &parameters::beams, "coherent ones, 0 to 4096")
                    .range(0, 4096),
                parameter("incoherent_beams", &parameters::incoherent_beams, "0 to 4096")
                    .range(0, 4096),
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame")
                    .range(1, 1 << 30),
                parameter("type", &parameters::type, "of the voltages, fc32, sc8 or sc4")
                    .one_of("fc32", "sc8", "sc4")),
            describe_weighting<parameters>(
                "[beam][input], 0 for inputs that a beam leaves out, the "
                "incoherent beams behind the coherent ones; ones if empty, which "
                "incoherent pairs may not be"),
            detection_parameters::describe(),
            std::make_tuple(
                parameter("spectra_per_slice",
                          &parameters::spectra_per_slice,
                          "spectra of a bit of the masks of inputs that come in on port "
                          "1, a divisor of spectra_per_frame; 0: there are no masks, and "
                          "no counts")
                    .range(0, 1 << 30),
                device_parameter<parameters>(),
                latency_parameter<parameters>()));
    }

    static sptr make(const parameters& p);

    //! Returns the number of inputs of a frame.
    virtual int inputs() const = 0;
    /*!
     * Sets the weights of a beam ([channel][input], or [input] for all channels alike),
     * or of all beams with -1 ([channel][beam][input], or [beam][input]), from the next
     * frame on. Empty weights are zeros.
     */
    virtual void set_weights(const std::vector<std::complex<float>>& weights,
                             int beam = -1) = 0;
    //! Returns the weights of a beam, [channel][input].
    virtual std::vector<std::complex<float>> weights(int beam) const = 0;
    //! Sets the factors of the voltages: with `beam` -1 one for each beam, or one for
    //! all; otherwise that of the one beam. Empty gains are ones.
    virtual void set_gains(const std::vector<float>& gains, int beam = -1) = 0;
    //! Returns the gain of each beam.
    virtual std::vector<float> gains() const = 0;
    //! Sets which inputs a beam has ([input]), or all beams with -1 ([beam][input]):
    //! those with 0 are left out, whatever their weights are. An empty mask is ones.
    virtual void set_mask(const std::vector<int>& mask, int beam = -1) = 0;
    //! Returns how many settings with a time came after it since the start, and held from
    //! when they came. It may be called while the flowgraph runs.
    virtual uint64_t late_settings() const = 0;
    //! Returns the name of the implementation, for example "host avx512 vnni".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAM_POWER_H */
