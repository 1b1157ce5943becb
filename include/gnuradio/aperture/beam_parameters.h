/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_PARAMETERS_H
#define INCLUDED_APERTURE_BEAM_PARAMETERS_H

#include <gnuradio/aperture/parameter.h>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

//! \brief Parameters of blocks that weight inputs for beams: beamformer and beam_power.
struct weighting_parameters {
    std::vector<std::complex<float>> weights = {};
    std::vector<float> gains = {};
    std::vector<int> masks = {};
};

/*!
 * \brief Describes the weighting_parameters of a block.
 * \tparam Parameters the block's parameters, derived from weighting_parameters, with
 * `inputs`
 */
template <class Parameters>
auto describe_weighting(const char* meaning_of_masks)
{
    return std::make_tuple(
        parameter<Parameters, std::vector<std::complex<float>>>(
            "weights",
            &Parameters::weights,
            "first weights of all beams, in the shapes of set_weights(); zeros if empty",
            &Parameters::inputs)
            .can_be_set(),
        parameter<Parameters, std::vector<float>>(
            "gains",
            &Parameters::gains,
            "factors of the voltages, one for each beam; ones if empty")
            .called("Gain per Beam")
            .can_be_set(),
        parameter<Parameters, std::vector<int>>(
            "masks", &Parameters::masks, meaning_of_masks, &Parameters::inputs));
}

//! \brief Parameters of blocks that detect beams: power_detector and beam_power.
struct detection_parameters {
    std::string products = "power";
    std::string basis = "linear";
    int64_t spectra = 256;
    int summed_channels = 1;
    bool mean = true;

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("products",
                      &detection_parameters::products,
                      "power, I, IQUV or coherency")
                .one_of("power", "I", "IQUV", "coherency"),
            parameter("basis",
                      &detection_parameters::basis,
                      "polarisations of the pairs, linear (x, y) or circular (r, l)")
                .one_of("linear", "circular")
                .called("Polarisations"),
            parameter("spectra",
                      &detection_parameters::spectra,
                      "spectra in an integration: a divisor of spectra_per_frame, or a "
                      "multiple")
                .range(1)
                .called("Spectra per Integration"),
            parameter("summed_channels",
                      &detection_parameters::summed_channels,
                      "neighbouring channels that become one; a divisor of channels")
                .range(1, 1 << 24)
                .called("Channels Summed"),
            parameter("mean",
                      &detection_parameters::mean,
                      "divide each sum by its count of spectra and by summed_channels"));
    }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAM_PARAMETERS_H */
