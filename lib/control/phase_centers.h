/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_PHASE_CENTERS_H
#define INCLUDED_APERTURE_CONTROL_PHASE_CENTERS_H

#include "control/delay_settings.h"
#include "kernels/averaging/visibility_average.h"
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace gr::aperture {

/*!
 * The delays of inputs towards several phase centres, and those that the F-engine has
 * already, which are taken out. Any thread may set them.
 */
class phase_centers
{
public:
    using rotation = kernels::visibility_average::rotation;
    static constexpr int tracked = -1; //!< the number of the F-engine's own delays

    phase_centers(int centers, int inputs);

    //! Sets a model, from its time on or from the next item on.
    //! \throws std::invalid_argument
    void set(int center, delay_models::setting s);
    //! Takes a message as of the port `delays` of an F-engine. \throws std::exception
    void receive(int center, const pmt::pmt_t& message);
    //! Begins a run.
    void start();

    struct callbacks {
        //! Gets by how many items a timed setting of a centre comes too late.
        std::function<void(int, int64_t)> late;
        //! Gets each setting of a centre that has come into force, as in a `settings`
        //! tag.
        std::function<void(int, const pmt::pmt_t&)> tell;
    };
    //! Applies the settings that are due at an item.
    void update(int64_t item, const item_clock& clock, const callbacks& c);
    //! Returns whether all inputs have a delay towards a centre.
    bool knows(int center) const;
    /*!
     * Appends the rotations [centre][input] of an item to a list.
     * \param middle time of the middle of its integration
     * \param spacing distance of its channels in Hz
     */
    void append(const timestamp& middle, double spacing, std::vector<rotation>& to) const;

private:
    delay_models& of(int center)
    {
        return center == tracked ? d_tracked : d_centers[center];
    }

    const int d_inputs;
    mutable std::mutex d_mutex; // guards all below
    std::deque<delay_models> d_centers;
    delay_models d_tracked;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_PHASE_CENTERS_H */
