/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_DELAY_SETTINGS_H
#define INCLUDED_APERTURE_CONTROL_DELAY_SETTINGS_H

#include "control/timed_models.h"
#include "kernels/pfb/delay.h"
#include <pmt/pmt.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gr::aperture {

//! What a model says of an input: at a time t behind the model's own the delay is delay +
//! delay_rate t, and the phase phase + phase_rate t. In seconds and radians.
struct delay_model {
    double delay = 0, delay_rate = 0, phase = 0, phase_rate = 0;
};

/*!
 * The delays of the inputs of an F-engine, of several models which add up, and settings
 * that wait for their time. May be set from any thread; what the samples' tags say comes
 * from the thread that makes spectra.
 *
 * The kernel gets the sum of the models as the nearest whole number of samples and the
 * rest. Where rates let the whole number change, and at every multiple of
 * `spectra_together`, it is told anew: the rest stays within half a sample, and what it
 * adds up by itself does not lose accuracy. Both depend on the number of the spectrum
 * only, and not on how calls cut the stream.
 */
class delay_settings
{
public:
    //! How the inputs' samples are cut into spectra.
    struct extents {
        int inputs;
        int inputs_per_port;
        int64_t samples; //!< from one spectrum to the next
        int64_t ticks;   //!< of the clock of items, likewise
        double middle;   //!< ticks, from the first one of a spectrum to its time
        bool inverted;   //!< what is delayed is the conjugate of the samples
    };
    //! Model of what tags on samples say.
    static constexpr char of_tags[] = "tags";
    static constexpr int64_t spectra_together = 65536;

    explicit delay_settings(const extents& e);

    /*!
     * Sets a model, from a time on or from the next spectrum on.
     * \param delays one of each input, or one for all; the others likewise, or none:
     * zeros \throws std::invalid_argument
     */
    void set(const setting_target& target,
             const std::vector<double>& delays,
             const std::vector<double>& delay_rates,
             const std::vector<double>& phases,
             const std::vector<double>& phase_rates);
    /*!
     * A message of the port `delays`.
     * \throws std::exception if it is not understood
     */
    void receive(const pmt::pmt_t& message);
    //! All models and those that wait, of an input or of all with -1.
    //! \throws std::invalid_argument
    std::vector<delay_setting> settings(int input) const;

    /*!
     * A tag on the sample at a tick of a port. It holds for the spectra whose windows
     * begin there or later. Its phases are those of the samples as they come: of inverted
     * ones the model has the opposite.
     * \returns false if it is none of these tags
     * \throws std::invalid_argument if it is one that is not right
     */
    bool
    read_tag(int port, int64_t tick, const std::string& key, const pmt::pmt_t& value);

    //! A run begins.
    void start();
    //! The kernel does not know which spectrum is the next one.
    void begin();
    //! All ticks of what was read so far moved.
    void shift(int64_t ticks);

    //! What goes to the kernel.
    struct change {
        //! [input], from this spectrum on
        const std::vector<kernels::delay>& delays;
        bool any; //!< false: all are 0
        //! [input]: the delay is more than the samples that are there, so that there is
        //! no spectrum
        const std::vector<bool>& out_of_range;
    };
    struct callbacks {
        //! by how many spectra a timed setting comes too late
        std::function<void(int64_t)> late;
        //! why a setting, or the delay of an input that has run too far, is not used
        std::function<void(const std::string&)> refuse;
        std::function<void(const change&)> use; //!< where they changed
    };
    /*!
     * Makes the delays those of a spectrum.
     * \param most samples that an input may be delayed by or ahead at most
     * \returns for how many spectra from this one on the kernel has what it needs
     */
    int64_t update(int64_t spectrum,
                   const item_clock& c,
                   int64_t most,
                   const callbacks& callbacks);

private:
    //! Of one input, at a spectrum: samples and turns, and both for each spectrum on.
    struct sum {
        long double delay = 0, delay_rate = 0, turns = 0, turn_rate = 0;
    };
    struct waiting_tag {
        int port;
        double delay_model::*part;
        std::vector<double> values; // of the port's inputs
    };

    //! Why a setting is refused that holds from a time on; empty if it is not, or nobody
    //! can know yet.
    std::string problem_of(const timed_models<delay_model>::setting& s,
                           const std::optional<timestamp>& holds_from) const;
    //! \returns how many spectra, with this one, share what tags say
    int64_t take_tags(int64_t spectrum, const item_clock& c);
    sum sum_of(int input, int64_t spectrum, const item_clock& c) const;
    //! \returns for how many spectra the whole samples stay
    int64_t divide(int input, const sum& s, const callbacks& callbacks);

    const extents d_e;

    mutable std::mutex d_mutex; // of all up to the blank line
    timed_models<delay_model> d_models;
    bool d_begun = false; // what follows is known
    double d_rate = 0;    // samples a second; 0: nobody said
    int64_t d_most = 0;

    std::multimap<int64_t, waiting_tag> d_tags; // by their ticks
    bool d_anew = true;                         // the kernel has to be told
    bool d_moving = false;                      // there are rates
    int64_t d_until = 0;  // spectrum at which it has to be told again
    item_clock d_clock{}; // of the last update()
    std::vector<kernels::delay> d_delays;
    std::vector<bool> d_out_of_range;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_DELAY_SETTINGS_H */
