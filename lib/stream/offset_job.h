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

//! Searches samples of some inputs for offsets, in a thread of its own.
class offset_job
{
public:
    //! A search, and the facts about the samples.
    struct task {
        std::vector<std::vector<cfloat>> samples; //!< [input][sample]
        offset_search search;
        int64_t first = 0;  //!< tick of the first sample
        int generation = 0; //!< value that counts the changes of the ports' places
        bool holds = false; //!< the output waits for the answer
        std::vector<bool> compared; //!< [input] whether it is compared
        double cycles = 0; //!< cycles of the sky frequency in a sample; 0: not known
        /*!
         * The delays and phases, [input], that the inputs are known to have, by the index
         * of the sample: only slips are searched for. Empty: everything is measured.
         */
        std::vector<kernels::alignment::alignment_line> known;
    };
    struct answer {
        task asked; //!< task without its samples
        receiver_offsets offsets;
        //! [input] Millionths by which the clock of the input is faster than that of the
        //! reference, where that is why it was not found.
        std::vector<std::optional<double>> ppm;
        double most_ppm =
            0;             //!< by which they may differ on a clock that is called common
        std::string error; //!< reason why nothing was measured; empty if there is none
    };

    //! \param done is called in that thread when the result is there
    void start(task&& t, const std::function<void()>& done);
    bool running() const { return d_running; }
    //! Returns whether there is a result.
    bool ready() const { return d_ready; }
    //! Returns the result, if there is one by then.
    std::optional<answer> wait(std::chrono::milliseconds time);
    //! Ends the search, which takes a tenth of a second or so, and forgets it.
    void cancel();

private:
    std::future<answer> d_future;
    std::atomic<bool> d_running{ false }, d_ready{ false }, d_cancelled{ false };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_OFFSET_JOB_H */
