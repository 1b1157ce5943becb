/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAMFORMER_H
#define INCLUDED_APERTURE_BEAMFORMER_H

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
 * \brief Forms many beams at once, as weighted sums of the inputs.
 * \ingroup aperture
 *
 * y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel; nothing is conjugated. One
 * polarisation of a beam is one beam here: 2m and 2m+1 are the polarisations of a pair.
 *
 * In: frames `[channel][input][time]` from corner_turn. Out: frames
 * `[channel][beam][time]`. A spectrum of a beam is tagged `missing` (with the number of
 * the beam as `input`) where all inputs that the beam has weights for are missing; for a
 * beam without weights, where all inputs are.
 *
 * Message port `weights` takes a dictionary of `weights` (c32vector, shapes as in
 * set_weights()), `gain` (number) or `mask` (u8vector), or several of them, optionally
 * `beam` (all without it) and `time` (as rx_time: the settings hold from the first frame
 * that starts at or after it; late ones hold at once, and `status` says so). All settings
 * of one message take effect together, and never within a frame.
 *
 * Weights are prepared while frames go on with the old ones. More than 65536 weights
 * without a time hold from the first frame that finds them ready; fewer hold from the
 * next one. Weights with a time are prepared ahead of it; the frame that they hold from
 * waits for them if they came too shortly before.
 */
class APERTURE_API beamformer : virtual public block_on_device
{
public:
    typedef std::shared_ptr<beamformer> sptr;

    struct parameters : weighting_parameters {
        int channels = 1024;
        int inputs = 2;
        int beams = 1;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        std::string output_type = "fc32";
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
                parameter("beams", &parameters::beams, "1 to 4096").range(1, 4096),
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame")
                    .range(1, 1 << 30),
                parameter("type", &parameters::type, "of the voltages, fc32, sc8 or sc4")
                    .one_of("fc32", "sc8", "sc4"),
                parameter(
                    "output_type",
                    &parameters::output_type,
                    "fc32, or sc8 (rounded half to even, clamped to +-127 and counted)")
                    .one_of("fc32", "sc8")),
            describe_weighting<parameters>(
                "[beam][input], 0 for inputs that a beam leaves out; ones if empty"),
            std::make_tuple(device_parameter<parameters>(),
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
    //! Returns, for each beam, the samples that were clamped to fit into sc8.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns how many settings with a time came after it since the start, and held from
    //! when they came. It may be called while the flowgraph runs.
    virtual uint64_t late_settings() const = 0;
    //! Returns the name of the implementation, for example "host avx512 vnni".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAMFORMER_H */
