/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CORNER_TURN_IMPL_H
#define INCLUDED_APERTURE_CORNER_TURN_IMPL_H

#include "kernels/corner_turn/corner_turn.h"
#include "stream/frame_writer.h"
#include <gnuradio/aperture/corner_turn.h>

namespace gr::aperture {

class corner_turn_impl : public corner_turn, public frame_writer
{
public:
    corner_turn_impl(const parameters& p,
                     const kernels::corner_turn::parameters& k,
                     const device& d);

    std::vector<uint64_t> clamped() const override;
    std::vector<uint64_t> missing() const override;
    std::string implementation() const override;

private:
    void on_tag(int port, const gr::tag_t& tag) override;
    spectra_facts facts() const override;
    int64_t prepare(int64_t spectrum) override;
    void write(const timeline::run& run,
               const std::vector<const char*>& starts,
               void* frame,
               int first,
               int count) override;

    const kernels::corner_turn::parameters d_p;
    const std::unique_ptr<kernels::corner_turn> d_kernel;
    std::vector<kernels::spectrum_of_input> d_not_numbers; // spectra of the newest call
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CORNER_TURN_IMPL_H */
