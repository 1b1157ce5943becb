/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_OFFSET_JOB_H
#define INCLUDED_APERTURE_STREAM_OFFSET_JOB_H

#include "kernels/common/types.h"
#include "signal/alignment/cross_spectra.h"
#include <gnuradio/aperture/measure_offsets.h>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture {

//! Samples of some inputs in which offsets are looked for, in a thread of its own.
class offset_job
{
public:
    //! What is looked for, and what the samples are.
    struct task {
        std::vector<std::vector<cfloat>> samples; //!< [input][sample]
        offset_search search;
        int64_t first = 0;          //!< tick of the first sample
        int generation = 0;         //!< of the places of the ports
        bool holds = false;         //!< the output waits for the answer
        std::vector<bool> compared; //!< [input] the others are not looked at
        double cycles = 0;          //!< of the sky frequency in a sample; 0: not known
        /*!
         * Only slips are looked for: these are the delays and phases, [input], that the
         * inputs are known to have, by the number of the sample. Empty: everything is
         * measured.
         */
        std::vector<kernels::alignment::alignment_line> known;
    };
    struct answer {
        task asked; //!< without its samples
        receiver_offsets offsets;
        //! [input] millionths by which the clocks of the input and of the reference
        //! differ, where that is why it was not found on a common one
        std::vector<std::optional<double>> ppm;
        double most_ppm =
            0;             //!< by which they may differ on a clock that is called common
        std::string error; //!< why nothing was measured; empty if something was
    };

    //! \param done is called in that thread, when the answer can be had
    void start(task&& t, const std::function<void()>& done);
    bool running() const { return d_running; }
    //! There is an answer.
    bool ready() const { return d_ready; }
    //! The answer, if there is one by then.
    std::optional<answer> wait(std::chrono::milliseconds time);
    //! Ends the search, which takes a tenth of a second or so, and forgets it.
    void cancel();

private:
    std::future<answer> d_future;
    std::atomic<bool> d_running{ false }, d_ready{ false }, d_cancelled{ false };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_OFFSET_JOB_H */
