/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_GAIN_SETTINGS_H
#define INCLUDED_APERTURE_CONTROL_GAIN_SETTINGS_H

#include "control/timed_models.h"
#include "kernels/common/types.h"
#include <pmt/pmt.h>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace gr::aperture {

/*!
 * The gain of each input and channel of an F-engine, of several models whose gains are
 * multiplied, and settings that wait for their time. May be set from any thread.
 */
class gain_settings
{
public:
    gain_settings(int inputs, int channels, double first);

    //! Both for all channels of an input; -1: of all inputs. Of the model "".
    //! \throws std::invalid_argument
    void set(cfloat gain, int input);
    void set(const std::vector<cfloat>& gains, int input);
    //! One for each channel.
    std::vector<cfloat> of(int input) const;
    //! All models and those that wait, of an input or of all with -1.
    //! \throws std::invalid_argument
    std::vector<gain_setting> settings(int input) const;

    /*!
     * A message of the port `gains`.
     * \throws std::exception if it is not understood
     */
    void receive(const pmt::pmt_t& message);

    //! A run begins.
    void start();

    /*!
     * Makes the gains those of a spectrum.
     * \param late is told by how many spectra a timed setting comes too late
     * \param use gets gains [input][channel] where they changed
     * \returns for how many spectra from this one on they hold
     */
    int64_t update(int64_t spectrum,
                   const item_clock& c,
                   const std::function<void(int64_t)>& late,
                   const std::function<void(const cfloat*)>& use);

private:
    //! One, or one for each channel; inputs and settings share them.
    using values = std::shared_ptr<const std::vector<cfloat>>;

    void set(const setting_target& target, std::vector<cfloat> gains);
    void multiply(int input, cfloat* product) const;

    const int d_inputs, d_channels;
    mutable std::mutex d_mutex; // of all below
    timed_models<values> d_models;
    std::vector<cfloat> d_gains; // [input][channel], of the last update()
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_GAIN_SETTINGS_H */
