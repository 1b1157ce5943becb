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

//! The extents that settings have to fit: numbers of channels, beams and inputs.
struct beam_setting_extents {
    int channels, inputs, spectra_per_frame;
    int beams;      //!< beams with weights and gains
    int incoherent; //!< beams behind those, which have masks only
    int all_beams() const { return beams + incoherent; }
};

//! The settings of one call or one message; empty ones stay as they are. There may be a
//! gigabyte of weights: copies share them.
struct beam_setting {
    std::shared_ptr<std::vector<cfloat>> weights;
    std::vector<float> gains; // one, or one for each beam
    std::vector<uint8_t> masks;
    int beam = -1; // -1: all
    //! The setting for a `settings` tag, without its time; nullptr: nobody is told
    pmt::pmt_t about = nullptr;

    //! Notes what it is, for a `settings` tag.
    //! \param directions of a message, where the beams look; nullptr: not known
    void describe(const pmt::pmt_t& directions);
    //! \throws std::invalid_argument if it does not fit such beams
    void check(const beam_setting_extents& e) const;
};

//! Makes the setting of all beams from a block's parameters. \throws
//! std::invalid_argument
beam_setting first_setting(const std::vector<cfloat>& weights,
                           const std::vector<float>& gains,
                           const std::vector<int>& masks);

//! Reads a message of the port `weights`, but for its time, and checks it.
//! \throws std::exception if it is not understood
beam_setting setting_of(const pmt::pmt_t& message, const beam_setting_extents& e);

//! Makes masks. \throws std::invalid_argument if there are other elements than 0 and 1
std::vector<uint8_t> as_masks(const std::vector<int>& numbers);

/*!
 * Weights, gains and masks of all beams. Copies share the parts that are the same in
 * both, and know which these are.
 */
class beam_settings
{
public:
    //! Makes zero weights, gains of one, and masks of all inputs.
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

    //! Returns the weights, with zeros where the masks are 0.
    std::shared_ptr<const std::vector<cfloat>> masked_weights() const;
    //! Returns the inputs that each beam uses in any channel.
    std::vector<std::vector<int>> used_inputs() const;

private:
    beam_setting_extents d_e;
    std::shared_ptr<std::vector<cfloat>> d_weights; // [channel][beam][input]
    std::shared_ptr<std::vector<float>> d_gains;    // [beam]
    // [beam][input], for the incoherent beams, too
    std::shared_ptr<std::vector<uint8_t>> d_masks;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_BEAM_SETTING_H */
