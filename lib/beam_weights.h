/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_WEIGHTS_H
#define INCLUDED_APERTURE_BEAM_WEIGHTS_H

#include "intervals.h"
#include "kernels/types.h"
#include "timed_settings.h"
#include <pmt/pmt.h>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace gr {
namespace aperture {

/*!
 * Weights, gains and masks of beams, and settings that wait for their time: what
 * beamformer and beam_power share. May be set from any thread.
 */
class beam_weights
{
public:
    struct extents {
        int channels, inputs, times;
        int beams;      //!< with weights and gains
        int incoherent; //!< behind those; with masks only
        int all_beams() const { return beams + incoherent; }
    };

    //! What one call or one message sets; what is empty stays as it is.
    struct setting {
        std::vector<cfloat> weights;
        std::vector<float> gains; // one, or one for each beam
        std::vector<uint8_t> masks;
        int beam = -1; // -1: all
    };

    //! Weights and gains as they are for `first` where it is empty: zeros and ones.
    //! \throws std::invalid_argument
    beam_weights(const extents& e,
                 const setting& first,
                 std::function<void(const uint8_t* masks)> check_masks = {});

    int inputs() const { return d_e.inputs; }

    //! Of a beam, or of all with -1. What is empty is as at first.
    //! \throws std::invalid_argument
    void set_weights(const std::vector<cfloat>& weights, int beam);
    void set_gains(const std::vector<float>& gains, int beam);
    void set_masks(const std::vector<uint8_t>& masks, int beam);
    //! A message of the port `weights`. \throws std::exception if it is not understood
    void receive(const pmt::pmt_t& message);

    //! [channel][input], without the mask
    std::vector<cfloat> of(int beam) const;
    std::vector<float> gains() const;

    //! What a kernel has to be told; nullptr: nothing new.
    struct changes {
        const cfloat* weights; // [channel][beam][input], zeros where the mask is
        const float* gains;    // [beam]
        const uint8_t* masks;  // of the incoherent beams
    };
    /*!
     * Makes the weights those of a block.
     * \param late is told by how many blocks a timed setting comes too late
     * \returns for how many blocks from this one on they hold
     */
    int64_t update(int64_t block,
                   const item_clock& blocks,
                   const std::function<void(int64_t)>& late,
                   const std::function<void(const changes&)>& use);

    //! Of the beams that the last update() has set: where all inputs that a beam uses are
    //! lost. \param lost of each input
    std::vector<intervals::interval>
    lost_of(int beam, const std::vector<intervals>& lost, int64_t first, int64_t end);

private:
    void set(setting s);
    void check(const setting& s) const;
    void check_masks(const setting& s) const; // with the lock
    void store(setting s);
    std::vector<cfloat>& own_weights();
    void find_used();

    const extents d_e;
    const std::function<void(const uint8_t*)> d_check_masks;

    mutable std::mutex d_mutex; // of all up to the blank line
    // [channel][beam][input]: there may be a gigabyte of them, so that who sets all hands
    // them over, and what update() has used is changed in a copy
    std::shared_ptr<std::vector<cfloat>> d_weights;
    std::vector<float> d_gains;   // [beam]
    std::vector<uint8_t> d_masks; // [beam][input], the incoherent ones, too
    bool d_new_weights = true, d_new_gains = true, d_new_masks = true;
    timed_settings<setting> d_timed;

    // of the thread that calls update()
    std::shared_ptr<std::vector<cfloat>> d_masked; // weights, with zeros where masks are
    std::vector<uint8_t> d_held_masks;
    std::vector<std::vector<int>> d_used; // inputs of each beam; empty: not found yet
};

//! \throws std::invalid_argument if there are other numbers than 0 and 1
std::vector<uint8_t> as_masks(const std::vector<int>& numbers);

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_BEAM_WEIGHTS_H */
