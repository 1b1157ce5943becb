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
#include <gnuradio/aperture/f_engine.h>

namespace gr::aperture {

class f_engine_impl : public filtering_impl<f_engine, frame_writer, kernels::f_engine>
{
public:
    f_engine_impl(const parameters& p,
                  const kernels::f_engine::parameters& k,
                  const device& d);

    std::vector<uint64_t> missing() const override { return missing_spectra(); }

private:
    spectra_facts facts() const override;
    int64_t prepare(int64_t spectrum) override { return update_settings(spectrum); }
    void write(const timeline::run& run,
               const std::vector<const char*>& starts,
               void* frame,
               int first,
               int count) override;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_F_ENGINE_IMPL_H */
