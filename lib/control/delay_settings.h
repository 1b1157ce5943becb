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

//! The model of an input: at a time t behind the model's own the delay is delay +
//! delay_rate t, and the phase phase + phase_rate t, in seconds and radians.
struct delay_model {
    double delay = 0, delay_rate = 0, phase = 0, phase_rate = 0;
};

using delay_models = timed_models<delay_model>;

/*!
 * Makes a setting of delays.
 * \param delays one for each of so many inputs, or one for all; the others are as many,
 * or none: zeros \throws std::invalid_argument
 */
delay_models::setting setting_of_delays(const setting_target& target,
                                        const std::vector<double>& delays,
                                        const std::vector<double>& delay_rates,
                                        const std::vector<double>& phases,
                                        const std::vector<double>& phase_rates,
                                        int inputs);
//! Makes a setting of a message of the port `delays`. \throws std::exception
delay_models::setting setting_of_delays(const pmt::pmt_t& message, int inputs);

//! The sum of models: seconds, seconds a second, cycles, which may be less whole ones,
//! and cycles a second.
struct delay_sum {
    long double delay = 0, delay_rate = 0, cycles = 0, cycle_rate = 0;
    //! \param now nothing where time does not run: then of phases without their rates
    static delay_sum of(const delay_models::models& models,
                        const std::optional<timestamp>& now);
};

/*!
 * The delays of the inputs of an F-engine, of several models which add up, and settings
 * that wait for their time. Any thread may set them; the samples' tags come from the
 * thread that makes spectra.
 *
 * The kernel gets the sum of the models as the nearest whole number of samples and the
 * rest. Where rates let the whole number change, and at every multiple of
 * `spectra_together`, it gets them anew: the rest stays within half a sample, and the
 * kernel's own sums do not lose accuracy. Both depend on the number of the spectrum only,
 * and not on how calls cut the stream.
 */
class delay_settings
{
public:
    //! The extents of spectra in the inputs' samples.
    struct extents {
        int inputs;
        int inputs_per_port;
        int64_t samples; //!< samples from one spectrum to the next
        int64_t ticks;   //!< ticks of the clock of items from one spectrum to the next
        double middle;   //!< ticks from the first one of a spectrum to its time
        bool inverted;   //!< the conjugate of the samples is delayed
    };
    //! Name of the model of the samples' tags.
    static constexpr char of_tags[] = "tags";
    static constexpr int64_t spectra_together = 65536;

    explicit delay_settings(const extents& e);

    //! Sets a model, from a time on or from the next spectrum on; see
    //! setting_of_delays(). \throws std::invalid_argument
    void set(const setting_target& target,
             const std::vector<double>& delays,
             const std::vector<double>& delay_rates,
             const std::vector<double>& phases,
             const std::vector<double>& phase_rates);
    /*!
     * Takes a message of the port `delays`.
     * \throws std::exception if it is not understood
     */
    void receive(const pmt::pmt_t& message);
    //! Returns all models and those that wait, of an input or of all with -1.
    //! \throws std::invalid_argument
    std::vector<delay_setting> settings(int input) const;

    /*!
     * Takes a tag on the sample at a tick of a port. It holds for the spectra whose
     * windows begin there or later. Its phases are those of the samples as they come: for
     * inverted samples the model has the opposite.
     * \returns false if it is not a tag of delays
     * \throws std::invalid_argument if its value is not valid
     */
    bool
    read_tag(int port, int64_t tick, const std::string& key, const pmt::pmt_t& value);

    //! Begins a run.
    void start();
    //! Makes the kernel get all delays anew: the next spectrum is unknown to it.
    void begin();
    //! Moves all ticks that were read so far.
    void shift(int64_t ticks);

    //! The delays that go to the kernel.
    struct change {
        //! [input], from this spectrum on
        const std::vector<kernels::delay>& delays;
        bool any; //!< false: all are 0
        //! [input] Whether the delay is more than the samples that are there, so that
        //! there is no spectrum.
        const std::vector<bool>& out_of_range;
    };
    struct callbacks {
        //! Gets by how many spectra a timed setting comes too late.
        std::function<void(int64_t)> late;
        //! Gets the reason why a setting, or the delay of an input run too far, is not
        //! used.
        std::function<void(const std::string&)> refuse;
        std::function<void(const change&)> use; //!< gets the delays where they changed
        //! Gets each setting that has come into force, as in a `settings` tag.
        std::function<void(const pmt::pmt_t&)> tell;
    };
    /*!
     * Updates the delays for a spectrum.
     * \param most largest delay of an input, or lead, in samples
     * \param left spectra of the present frame that are still to come, 0: it begins, or
     * there are no frames. Where a model begins to follow another direction, it waits for
     * the next frame, so that no frame has both.
     * \returns for how many spectra from this one on the kernel has its delays
     */
    int64_t update(int64_t spectrum,
                   const item_clock& c,
                   int64_t most,
                   int64_t left,
                   const callbacks& callbacks);

private:
    //! The delay and phase of one input at a spectrum, in samples and cycles, and the
    //! increments of both from a spectrum to the next.
    struct sum {
        long double delay = 0, delay_rate = 0, cycles = 0, cycle_rate = 0;
    };
    struct waiting_tag {
        int port;
        double delay_model::*part;
        std::vector<double> values; // one for each input of the port
    };

    //! Adds a setting. \throws std::invalid_argument
    void add(delay_models::setting s);
    //! Returns why a setting with a time is refused; empty if it is not, or not yet
    //! known.
    std::string problem_of(const delay_models::setting& s,
                           const std::optional<timestamp>& holds_from) const;
    //! Returns whether a setting follows another direction than the one of its name.
    bool turns(const delay_models::setting& s) const;
    //! Applies tags. \returns for how many spectra, with this one, they hold
    int64_t take_tags(int64_t spectrum, const item_clock& c);
    sum sum_of(int input, int64_t spectrum, const item_clock& c) const;
    //! Splits a delay into whole samples and a rest.
    //! \returns for how many spectra the whole samples stay
    int64_t divide(int input, const sum& s, const callbacks& callbacks);

    const extents d_e;

    mutable std::mutex d_mutex; // guards all up to the blank line
    delay_models d_models;
    // settings that are due and wait for the next frame
    std::vector<delay_models::setting> d_turning;
    bool d_begun = false; // the members below are known
    double d_rate = 0;    // samples a second; 0: not known
    int64_t d_most = 0;

    std::multimap<int64_t, waiting_tag> d_tags; // tags by their ticks
    bool d_anew = true;                         // the kernel has to get all delays
    bool d_moving = false;                      // some rates are not 0
    int64_t d_until = 0;  // spectrum at which the kernel has to get them again
    item_clock d_clock{}; // clock of the last update()
    std::vector<kernels::delay> d_delays;
    std::vector<bool> d_out_of_range;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_DELAY_SETTINGS_H */
