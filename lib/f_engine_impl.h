/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_IMPL_H
#define INCLUDED_APERTURE_F_ENGINE_IMPL_H

#include "control/filtering_impl.h"
#include "kernels/f_engine/f_engine.h"
#include "stream/frame_writer.h"
#include "stream/interference_flags.h"
#include <gnuradio/aperture/f_engine.h>
#include <mutex>
#include <optional>

namespace gr::aperture {

class f_engine_impl : public filtering_impl<f_engine, frame_writer, kernels::f_engine>
{
public:
    f_engine_impl(const parameters& p,
                  const kernels::f_engine::parameters& k,
                  const std::optional<kernels::flagging::parameters>& flagging,
                  const device& d);

    std::vector<uint64_t> missing() const override { return missing_spectra(); }

    void set_flagging(const flagging_parameters& p) override;
    flagging_parameters flagging() const override;
    std::vector<uint64_t> cells() const override;
    std::vector<uint64_t> flagged_of_inputs() const override;
    std::vector<uint64_t> flagged_of_channels() const override;
    std::string implementation() const override;

private:
    spectra_facts facts() const override;
    int64_t prepare(int64_t spectrum) override
    {
        return update_settings(spectrum, left_in_frame());
    }
    void write(const timeline::run& run,
               const std::vector<const char*>& starts,
               void* frame,
               int first,
               int count) override;
    int frames_at_once() const override { return d_frames_at_once; }
    int spectra_together() const override { return d_spectra_together; }
    void finish(void* frames,
                void* masks,
                int count,
                int64_t first,
                const std::vector<intervals>& lost) override;
    void before_first_call() override;
    void publish_more() override;

    mutable std::mutex d_mutex;        // guards the members below
    flagging_parameters d_not_flagged; // settings, where nothing is flagged
    std::optional<interference_flags> d_flags;
    int d_frames_at_once, d_spectra_together = 1;
    bool d_sums = false; // the kernel sums the powers for flagging
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_F_ENGINE_IMPL_H */
