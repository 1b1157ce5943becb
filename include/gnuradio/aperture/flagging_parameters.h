/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FLAGGING_PARAMETERS_H
#define INCLUDED_APERTURE_FLAGGING_PARAMETERS_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Parameters of blocks that find interference: flagger, and f_engine where it
 * flags.
 *
 * A cell is a slice of spectra_per_slice spectra of one input and channel. Each method is
 * off where its parameter is 0. Cells of which more than three quarters of the spectra
 * are missing are not judged.
 */
struct flagging_parameters {
    int spectra_per_slice = 0;
    double kurtosis_false_alarms = 0.0027;
    double least_power = 0;
    double most_power = 0;
    double time_sigma = 0;
    double channel_sigma = 0;
    double time_sum_sigma = 0;
    double channel_sum_sigma = 0;
    std::vector<int> bad_channels = {};
    int grown_slices = 0;
    int grown_channels = 0;

    /*!
     * Describes the parameters.
     * \tparam Parameters the block's parameters, derived from these
     */
    template <class Parameters>
    static auto describe(const char* meaning_of_slices)
    {
        return std::make_tuple(
            parameter<Parameters, int>(
                "spectra_per_slice", &Parameters::spectra_per_slice, meaning_of_slices)
                .range(0, 65536),
            parameter<Parameters, double>(
                "kurtosis_false_alarms",
                &Parameters::kurtosis_false_alarms,
                "spectral kurtosis: the fraction of cells of noise that are flagged, "
                "half of them below and half above its limits; needs slices of at least "
                "64 spectra. 0: off, as for all parameters that follow")
                .can_be_set()
                .range(0, 0.5)
                .called("Kurtosis: False Alarms"),
            parameter<Parameters, double>(
                "least_power",
                &Parameters::least_power,
                "a cell is flagged where its mean |x|^2 is below this")
                .can_be_set()
                .range(0, 1e30),
            parameter<Parameters, double>(
                "most_power",
                &Parameters::most_power,
                "a cell is flagged where its mean |x|^2 is above this")
                .can_be_set()
                .range(0, 1e30),
            parameter<Parameters, double>(
                "time_sigma",
                &Parameters::time_sigma,
                "a cell is flagged where its mean power is so many standard deviations "
                "from "
                "the median of the last 32 slices, itself included")
                .can_be_set()
                .range(0, 1e30)
                .called("Threshold along Time (sigma)"),
            parameter<Parameters, double>(
                "channel_sigma",
                &Parameters::channel_sigma,
                "the same, from the median of the 32 channels around it")
                .can_be_set()
                .range(0, 1e30)
                .called("Threshold along Channels (sigma)"),
            parameter<Parameters, double>(
                "time_sum_sigma",
                &Parameters::time_sum_sigma,
                "SumThreshold along time, over 1, 2, 4, 8 and 16 slices: the first "
                "threshold, in the standard deviations of time_sigma")
                .can_be_set()
                .range(0, 1e30)
                .called("SumThreshold along Time (sigma)"),
            parameter<Parameters, double>("channel_sum_sigma",
                                          &Parameters::channel_sum_sigma,
                                          "the same along channels")
                .can_be_set()
                .range(0, 1e30)
                .called("SumThreshold along Channels (sigma)"),
            parameter<Parameters, std::vector<int>>(
                "bad_channels",
                &Parameters::bad_channels,
                "channels of the frames that are always flagged")
                .can_be_set(),
            parameter<Parameters, int>(
                "grown_slices",
                &Parameters::grown_slices,
                "slices before and after a flagged one that are flagged, too; before it "
                "only within its frame")
                .can_be_set()
                .range(0, 31)
                .called("Flags Grow by Slices"),
            parameter<Parameters, int>(
                "grown_channels",
                &Parameters::grown_channels,
                "channels on each side of a flagged one that are flagged, too")
                .can_be_set()
                .range(0, 1024)
                .called("Flags Grow by Channels"));
    }
};

/*!
 * \brief Interface of blocks that find interference.
 * \ingroup aperture
 */
class APERTURE_API flagging_block
{
public:
    virtual ~flagging_block() = default;

    /*!
     * Sets how interference is found, from the next frame on that is examined.
     * \throws std::invalid_argument also where spectra_per_slice would change
     */
    virtual void set_flagging(const flagging_parameters& p) = 0;
    virtual flagging_parameters flagging() const = 0;

    //! Returns, for each input, the cells so far; those without any data are not counted.
    virtual std::vector<uint64_t> cells() const = 0;
    //! Returns, for each input, the cells that were flagged so far.
    virtual std::vector<uint64_t> flagged_of_inputs() const = 0;
    //! Returns, for each channel, the cells of all inputs that were flagged so far.
    virtual std::vector<uint64_t> flagged_of_channels() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FLAGGING_PARAMETERS_H */
