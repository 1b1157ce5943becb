/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_NOISE_CYCLE_H
#define INCLUDED_APERTURE_STREAM_NOISE_CYCLE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace gr::aperture {

/*!
 * The order of events around a noise source that is switched: on, measure, off. Nobody
 * knows when a switch acts, as samples wait in drivers and on buses. The source counts as
 * on from when it is asked for, and as off from when the coherence of the inputs has
 * fallen, in two windows in a row. A source that does not answer ends the cycle, too.
 *
 * Times are ticks, the indices of samples. The cycle knows neither samples nor messages:
 * its calls return what is to be done.
 */
class noise_cycle
{
public:
    enum class stage {
        off,       //!< the samples are those of the antennas
        searching, //!< the source was switched on, and the inputs are to be measured
        gauging,   //!< the coherence with the source is to be known
        held,      //!< somebody holds it on by hand
        falling,   //!< the source was switched off, and the coherence is to fall
    };
    struct outcome {
        std::optional<bool> switch_to; //!< the source is to be switched on or off
        bool silent = false;   //!< nothing correlated, though the source was switched on
        bool stays = false;    //!< the coherence has not fallen since it was switched off
        bool answered = false; //!< the coherence has fallen
        bool ended = false;    //!< from this tick on, samples are those of the antennas
        bool again = false;    //!< only a part of what was searched had the source
    };
    //! A coherence below this part of that with the source has fallen: the samples of a
    //! window of which half has the source lie between the two.
    static constexpr double fallen = 0.7;
    //! Windows in a row that have to say so: the source may have gone within the first.
    static constexpr int windows = 2;
    //! Inputs whose coherence in a search was below this part of that with the source
    //! came before the source in a part of the samples, and are searched once more.
    static constexpr double whole = 0.9;

    //! \param settle ticks from switching on to the first sample that is measured
    //! \param patience ticks in which a switch has to act
    void set_lengths(int64_t settle, int64_t patience);

    //! Begins a cycle, or begins it anew. \param by_hand the source stays on until end()
    outcome begin(int64_t tick, bool by_hand);
    //! Ends what was begun by hand.
    outcome end(int64_t tick);
    //! Takes the result of a search among samples of wants_search(): the coherence of
    //! each input that was found; not a number where it was not, and of the reference.
    outcome measured(int64_t tick, std::vector<double> coherence);
    //! Takes the coherence of each input in a window that ends at a tick; not a number
    //! where it is not known.
    outcome gauge(int64_t tick, const std::vector<double>& coherence);
    //! Lets time pass.
    outcome pass(int64_t tick);

    stage now() const { return d_stage; }
    //! Returns whether samples may have the source in them.
    bool active() const { return d_stage != stage::off; }
    bool wants_search(int64_t tick) const
    {
        return d_stage == stage::searching && tick >= d_since + d_settle;
    }
    bool wants_coherence() const
    {
        return d_stage == stage::gauging ||
               (d_stage == stage::falling && !d_reference.empty());
    }

private:
    outcome enter(stage s, int64_t tick);
    outcome enter(stage s, int64_t tick, outcome o);
    //! Has the source switched off, or waits for the hand that does so.
    outcome end_gauging(int64_t tick);

    int64_t d_settle = 0, d_patience = 0;
    stage d_stage = stage::off;
    int64_t d_since = 0; // tick at which the stage began
    bool d_by_hand = false, d_complained = false;
    std::vector<double> d_searched;  // coherence in the samples that were searched
    bool d_again = false;            // a second search was begun
    std::vector<double> d_reference; // coherence with the source; empty: not known
    int d_low = 0;                   // windows in a row whose coherence has fallen
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_NOISE_CYCLE_H */
