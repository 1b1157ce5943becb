/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_TIMED_BEAM_SETTINGS_H
#define INCLUDED_APERTURE_CONTROL_TIMED_BEAM_SETTINGS_H

#include "control/beam_setting.h"
#include "control/timed_settings.h"
#include "kernels/beamformer/weighted_kernel.h"
#include "stream/intervals.h"
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gr::aperture {

/*!
 * Weights, gains and masks of beams, and settings that wait for their time, of beamformer
 * and beam_power.
 *
 * A thread of its own reads settings, combines them and prepares weights for the kernel,
 * those that wait for their time ahead of it. update(), of the thread that makes beams,
 * only exchanges weights that are ready. It waits for
 *
 *     a timed setting that is due now and not ready: it came too shortly before its time
 *     all settings, at the first frame and where there are few weights: then the
 *     order of frames and messages is kept, and it takes less than a millisecond
 *
 * Otherwise, settings without a time, or that come too late, hold from the first frame
 * that finds them ready.
 */
class timed_beam_settings
{
public:
    struct callbacks {
        std::function<kernels::prepared_weights_sptr(const cfloat*)> prepare;
        //! Checks masks of incoherent beams. \throws std::invalid_argument
        std::function<void(const uint8_t* masks)> check_masks;
    };

    //! \throws std::invalid_argument
    timed_beam_settings(const beam_setting_extents& e,
                        const beam_setting& first,
                        callbacks c);
    ~timed_beam_settings();

    int inputs() const { return d_e.inputs; }

    //! Set the settings of a beam, or of all with -1; empty ones are the initial ones.
    //! They wait until the next frame has it; any thread but that of update() may call
    //! them.
    //! \throws std::invalid_argument
    void set_weights(const std::vector<cfloat>& weights, int beam);
    void set_gains(const std::vector<float>& gains, int beam);
    void set_masks(const std::vector<uint8_t>& masks, int beam);
    //! Takes a message of the port `weights`. \throws std::exception if its form is wrong
    void receive(const pmt::pmt_t& message);

    //! Returns the weights of a beam, [channel][input], without the mask.
    std::vector<cfloat> of(int beam) const;
    std::vector<float> gains() const;

    /*!
     * Returns why messages were refused since the last call. The thread of this class
     * must not send messages: GNU Radio 3.10 crashes where another thread sends one while
     * the flowgraph is started or locked.
     * \param all whether to wait for all messages that have come by now
     */
    std::vector<std::string> take_refused(bool all);

    //! Begins a run: the next frame waits for all settings that have come. Earlier
    //! failures are forgotten.
    void start();

    //! The changes that a kernel has to get; nullptr: none.
    struct changes {
        kernels::prepared_weights_sptr weights; // with zeros where the mask is 0
        const float* gains;                     // [beam]
        const uint8_t* masks;                   // masks of the incoherent beams
        std::vector<pmt::pmt_t> news;           // settings, as in a `settings` tag
    };
    /*!
     * Updates the weights for a frame.
     * \param late gets by how many frames a timed setting comes too late
     * \returns for how many frames from this one on they hold
     */
    int64_t update(int64_t frame,
                   const item_clock& frames,
                   const std::function<void(int64_t)>& late,
                   const std::function<void(const changes&)>& use);

    //! Returns the inputs of each beam, as the last update() has set them: those with
    //! weights in any channel, or, for incoherent beams, in the mask.
    const std::vector<std::vector<int>>& used() const { return d_held->used; }
    //! Returns, for a beam as the last update() has set it, the spectra where all inputs
    //! that it uses are lost (for a beam that uses none, all inputs).
    //! \param lost spectra that each input lacks
    std::vector<intervals::interval> lost_of(int beam,
                                             const std::vector<intervals>& lost,
                                             int64_t first,
                                             int64_t end) const;

private:
    //! A setting on its way.
    struct job {
        pmt::pmt_t message; // message until it is read
        std::optional<timestamp> time;
        beam_setting setting;
        bool called;             // a call, and not a message, set it and waits for it
        bool holds;              // the setting has no time, or that has come
        bool understood = false; // the message was read
        bool done = false;       // the next frame has it, or it is refused
        std::exception_ptr problem = nullptr;
    };
    using job_sptr = std::shared_ptr<job>;
    using jobs = std::vector<job_sptr>;

    //! The settings that hold at a time, ready for the kernel.
    struct ready {
        beam_settings settings;
        kernels::prepared_weights_sptr weights;
        std::vector<std::vector<int>> used; // inputs of each beam
    };
    using ready_sptr = std::shared_ptr<const ready>;

    void set(beam_setting s);

    // a lock of the own thread, which it releases for long work
    using lock = std::unique_lock<std::mutex>;
    void work();
    void let_go(lock&);
    void understand(lock&);
    void apply(lock&);
    void look_ahead(lock&, const jobs& next);
    ready_sptr make_ready(const beam_settings& s, const ready_sptr& last) const;
    void check_masks(const beam_settings& now, const beam_setting& s) const;

    // called by both threads, with the lock
    bool take_ahead(const jobs& now);
    jobs next_ahead() const; // returns the jobs whose time comes next, unless they are
                             // ready or have failed
    bool settled() const;
    void finish(job& j, std::exception_ptr problem = nullptr);
    void refuse(job& j, std::exception_ptr problem);
    void tell(const beam_setting& s); // notes a setting that the next frame has
    void leave(jobs& those);
    void leave(ready_sptr& it);

    const beam_setting_extents d_e;
    const callbacks d_callbacks;
    const bool d_few;

    mutable std::mutex d_mutex; // guards all up to the blank line
    std::condition_variable d_changed;
    std::deque<job_sptr> d_jobs; // jobs that are not read yet
    jobs d_now;                  // jobs that hold, in their order
    timed_settings<job_sptr> d_timed;
    bool d_working = false; // the own thread works on a job of the first two lists
    beam_settings d_settings;
    int64_t d_version = 0; // version of the settings
    ready_sptr d_ready;    // settings for the next update()
    ready_sptr d_held;     // settings of the last update()
    struct {
        jobs of;
        int64_t version; // version of the settings that they were applied to
        ready_sptr made; // nullptr: not made yet, or that failed
    } d_ahead{};
    // Objects to release. It takes some 10 ms to return hundreds of megabytes to the
    // system: the own thread does it, without the lock.
    std::vector<std::shared_ptr<const void>> d_left;
    bool d_using = false; // update() exchanges weights, and leaves the old ones
    std::vector<std::string> d_refused;
    std::vector<pmt::pmt_t> d_news; // settings that the next update() tells of
    pmt::pmt_t d_directions;        // directions that were told last
    std::exception_ptr d_error;
    bool d_starting = true, d_quit = false;

    std::thread d_thread;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_TIMED_BEAM_SETTINGS_H */
