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
 * multiplied, and settings that wait for their time. Any thread may set them.
 */
class gain_settings
{
public:
    gain_settings(int inputs, int channels, double first);

    //! Set the gains of the model "" for an input, or all inputs with -1: one for all
    //! channels, or one for each.
    //! \throws std::invalid_argument
    void set(cfloat gain, int input);
    void set(const std::vector<cfloat>& gains, int input);
    //! Returns the gain of each channel of an input.
    std::vector<cfloat> of(int input) const;
    //! Returns all models and those that wait, of an input or of all with -1.
    //! \throws std::invalid_argument
    std::vector<gain_setting> settings(int input) const;

    /*!
     * Takes a message of the port `gains`.
     * \throws std::exception if it is not understood
     */
    void receive(const pmt::pmt_t& message);

    //! Begins a run.
    void start();

    /*!
     * Updates the gains for a spectrum.
     * \param late gets by how many spectra a timed setting comes too late
     * \param use gets gains [input][channel] where they changed
     * \param tell gets each setting that has come into force, as in a `settings` tag
     * \returns for how many spectra from this one on they hold
     */
    int64_t update(int64_t spectrum,
                   const item_clock& c,
                   const std::function<void(int64_t)>& late,
                   const std::function<void(const cfloat*)>& use,
                   const std::function<void(const pmt::pmt_t&)>& tell);

private:
    //! One gain, or one for each channel; inputs and settings share them.
    using values = std::shared_ptr<const std::vector<cfloat>>;

    //! \param told whether a `settings` tag tells of it
    void set(const setting_target& target, std::vector<cfloat> gains, bool told = true);
    void multiply(int input, cfloat* product) const;

    const int d_inputs, d_channels;
    mutable std::mutex d_mutex; // guards all below
    timed_models<values> d_models;
    std::vector<cfloat> d_gains; // [input][channel] of the last update()
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_GAIN_SETTINGS_H */
