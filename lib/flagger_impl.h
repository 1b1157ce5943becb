/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FLAGGER_IMPL_H
#define INCLUDED_APERTURE_FLAGGER_IMPL_H

#include "stream/frame_reader.h"
#include "stream/interference_flags.h"
#include "stream/periodic_call.h"
#include <gnuradio/aperture/flagger.h>

namespace gr::aperture {

class flagger_impl : public flagger, public frame_reader
{
public:
    using parameters = flagger::parameters;

    flagger_impl(const parameters& p,
                 const kernels::flagging::parameters& k,
                 const device& d);

    bool start() override;
    bool stop() override;

    void set_flagging(const flagging_parameters& p) override { d_flags.set(p); }
    flagging_parameters flagging() const override { return d_flags.settings(); }
    std::vector<uint64_t> cells() const override { return d_flags.cells(); }
    std::vector<uint64_t> flagged_of_inputs() const override
    {
        return d_flags.found().inputs;
    }
    std::vector<uint64_t> flagged_of_channels() const override
    {
        return d_flags.found().channels;
    }
    std::string implementation() const override { return d_flags.implementation(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override { d_flags.begin(work_stream()); }
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_moved(int64_t ticks) override;
    void tag_frame(uint64_t item, int64_t frame);
    void publish();

    const kernels::mask_layout d_layout;
    interference_flags d_flags;
    std::vector<gr::tag_t> d_others; // tags that are passed on; offsets are ticks
    periodic_call d_publishing;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FLAGGER_IMPL_H */
