/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_BEAM_SETTING_H
#define INCLUDED_APERTURE_CONTROL_BEAM_SETTING_H

#include "kernels/common/types.h"
#include <pmt/pmt.h>
#include <memory>
#include <vector>

namespace gr::aperture {

//! What settings have to fit: how many beams are made of how much.
struct beam_setting_extents {
    int channels, inputs, spectra_per_frame;
    int beams;      //!< with weights and gains
    int incoherent; //!< behind those; with masks only
    int all_beams() const { return beams + incoherent; }
};

//! What one call or one message sets; what is empty stays as it is. There may be a
//! gigabyte of weights: copies share them.
struct beam_setting {
    std::shared_ptr<std::vector<cfloat>> weights;
    std::vector<float> gains; // one, or one for each beam
    std::vector<uint8_t> masks;
    int beam = -1; // -1: all

    //! \throws std::invalid_argument if it does not fit such beams
    void check(const beam_setting_extents& e) const;
};

//! Of all beams, as a block's parameters have it. \throws std::invalid_argument
beam_setting first_setting(const std::vector<cfloat>& weights,
                           const std::vector<float>& gains,
                           const std::vector<int>& masks);

//! A message of the port `weights`, but for its time; it is checked.
//! \throws std::exception if it is not understood
beam_setting setting_of(const pmt::pmt_t& message, const beam_setting_extents& e);

//! \throws std::invalid_argument if there are other numbers than 0 and 1
std::vector<uint8_t> as_masks(const std::vector<int>& numbers);

/*!
 * Weights, gains and masks of all beams. Copies share what is the same in both, and know
 * that it is.
 */
class beam_settings
{
public:
    //! Zeros; ones; all inputs.
    explicit beam_settings(const beam_setting_extents& e);

    //! \param s has been checked
    void apply(const beam_setting& s);

    const std::vector<cfloat>& weights() const { return *d_weights; }
    const std::vector<float>& gains() const { return *d_gains; }
    const std::vector<uint8_t>& masks() const { return *d_masks; }
    const uint8_t* incoherent_masks() const
    {
        return d_masks->data() + size_t(d_e.beams) * d_e.inputs;
    }

    bool shares_weights(const beam_settings& o) const { return d_weights == o.d_weights; }
    bool shares_gains(const beam_settings& o) const { return d_gains == o.d_gains; }
    bool shares_masks(const beam_settings& o) const { return d_masks == o.d_masks; }

    //! The weights, with zeros where the masks are.
    std::shared_ptr<const std::vector<cfloat>> masked_weights() const;
    //! Inputs that each beam uses in any channel.
    std::vector<std::vector<int>> used_inputs() const;

private:
    beam_setting_extents d_e;
    std::shared_ptr<std::vector<cfloat>> d_weights; // [channel][beam][input]
    std::shared_ptr<std::vector<float>> d_gains;    // [beam]
    // [beam][input], the incoherent ones, too
    std::shared_ptr<std::vector<uint8_t>> d_masks;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_BEAM_SETTING_H */
