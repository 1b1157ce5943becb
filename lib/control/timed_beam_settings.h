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
 * Weights, gains and masks of beams, and settings that wait for their time: what
 * beamformer and beam_power share.
 *
 * A thread of its own understands settings, puts them together and prepares weights for
 * the kernel, those that wait for their time ahead of it. update(), of the thread that
 * makes beams, only exchanges what is ready. It waits for
 *
 *     a timed setting that is due now and not ready: it came too shortly before its time
 *     anything there is, at the first frame and where there are few weights: then the
 *     order of frames and messages is kept, and it takes less than a millisecond
 *
 * What has no time, or comes too late, else holds from the frame on that finds it ready.
 */
class timed_beam_settings
{
public:
    struct callbacks {
        std::function<kernels::prepared_weights_sptr(const cfloat*)> prepare;
        //! Of incoherent beams. \throws std::invalid_argument
        std::function<void(const uint8_t* masks)> check_masks;
    };

    //! \throws std::invalid_argument
    timed_beam_settings(const beam_setting_extents& e,
                        const beam_setting& first,
                        callbacks c);
    ~timed_beam_settings();

    int inputs() const { return d_e.inputs; }

    //! Of a beam, or of all with -1. What is empty is as at first. These wait until the
    //! next frame has it; any thread but that of update() may call them.
    //! \throws std::invalid_argument
    void set_weights(const std::vector<cfloat>& weights, int beam);
    void set_gains(const std::vector<float>& gains, int beam);
    void set_masks(const std::vector<uint8_t>& masks, int beam);
    //! A message of the port `weights`. \throws std::exception if it has none of its form
    void receive(const pmt::pmt_t& message);

    //! [channel][input], without the mask
    std::vector<cfloat> of(int beam) const;
    std::vector<float> gains() const;

    /*!
     * Why messages were refused, since the last call. The own thread must not say so: a
     * message that another thread sends while the flowgraph is started or locked makes
     * GNU Radio 3.10 crash. \param all those that have come by now, for which this waits
     */
    std::vector<std::string> take_refused(bool all);

    //! Frames begin: the next one waits for all that has come. What failed before is
    //! forgotten.
    void start();

    //! What a kernel has to be told; nullptr: nothing new.
    struct changes {
        kernels::prepared_weights_sptr weights; // with zeros where the mask is
        const float* gains;                     // [beam]
        const uint8_t* masks;                   // of the incoherent beams
    };
    /*!
     * Makes the weights those of a frame.
     * \param late is told by how many frames a timed setting comes too late
     * \returns for how many frames from this one on they hold
     */
    int64_t update(int64_t frame,
                   const item_clock& frames,
                   const std::function<void(int64_t)>& late,
                   const std::function<void(const changes&)>& use);

    //! Inputs of each beam, as the last update() has set them: those with weights in any
    //! channel, or, of incoherent beams, in the mask.
    const std::vector<std::vector<int>>& used() const { return d_held->used; }
    //! Of the beams that the last update() has set: where all inputs that a beam uses are
    //! lost (of a beam that uses none: all there are). \param lost of each input
    std::vector<intervals::interval> lost_of(int beam,
                                             const std::vector<intervals>& lost,
                                             int64_t first,
                                             int64_t end) const;

private:
    //! A setting on its way.
    struct job {
        pmt::pmt_t message; // until it is understood
        std::optional<timestamp> time;
        beam_setting setting;
        bool called;             // no message: a call waits for it
        bool holds;              // it has no time, or that has come
        bool understood = false; // the setting is there
        bool done = false;       // the next frame has it, or it is refused
        std::exception_ptr problem = nullptr;
    };
    using job_sptr = std::shared_ptr<job>;
    using jobs = std::vector<job_sptr>;

    //! All that holds at a time.
    struct ready {
        beam_settings settings;
        kernels::prepared_weights_sptr weights;
        std::vector<std::vector<int>> used; // inputs of each beam
    };
    using ready_sptr = std::shared_ptr<const ready>;

    void set(beam_setting s);

    // of the own thread, which leaves the lock where it takes long
    using lock = std::unique_lock<std::mutex>;
    void work();
    void let_go(lock&);
    void understand(lock&);
    void apply(lock&);
    void look_ahead(lock&, const jobs& next);
    ready_sptr make_ready(const beam_settings& s, const ready_sptr& last) const;
    void check_masks(const beam_settings& now, const beam_setting& s) const;

    // of both threads, with the lock
    bool take_ahead(const jobs& now);
    jobs next_ahead() const; // whose time comes next, unless they are ready or not to be
    bool settled() const;
    void finish(job& j, std::exception_ptr problem = nullptr);
    void refuse(job& j, std::exception_ptr problem);
    void leave(jobs& those);
    void leave(ready_sptr& it);

    const beam_setting_extents d_e;
    const callbacks d_callbacks;
    const bool d_few;

    mutable std::mutex d_mutex; // of all up to the blank line
    std::condition_variable d_changed;
    std::deque<job_sptr> d_jobs; // that are not understood yet
    jobs d_now;                  // that hold, in their order
    timed_settings<job_sptr> d_timed;
    bool d_working = false; // on a job of the first two
    beam_settings d_settings;
    int64_t d_version = 0; // of the settings
    ready_sptr d_ready;    // for the next update()
    ready_sptr d_held;     // of the last one
    struct {
        jobs of;
        int64_t version; // of what they were put on
        ready_sptr made; // nullptr: not yet, or that failed
    } d_ahead{};
    // What nobody needs any more. To give memory of hundreds of megabytes back to the
    // system takes some 10 ms: the own thread does it, and without the lock.
    std::vector<std::shared_ptr<const void>> d_left;
    bool d_using = false; // update() exchanges, and leaves what it had
    std::vector<std::string> d_refused;
    std::exception_ptr d_error;
    bool d_starting = true, d_quit = false;

    std::thread d_thread;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_TIMED_BEAM_SETTINGS_H */
