/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAMFORMER_IMPL_H
#define INCLUDED_APERTURE_BEAMFORMER_IMPL_H

#include "control/weighted_block.h"
#include "kernels/beamformer/beamformer.h"
#include "stream/frame_reader.h"
#include <gnuradio/aperture/beamformer.h>

namespace gr::aperture {

class beamformer_impl
    : public weighted_block<beamformer, frame_reader, kernels::beamformer>
{
public:
    beamformer_impl(const parameters& p,
                    const kernels::beamformer::parameters& k,
                    const device& d);

    std::vector<uint64_t> clamped() const override { return d_kernel->clamped(); }

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void tag_frame(uint64_t item, int64_t frame);

    const kernels::beamformer::parameters d_p;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAMFORMER_IMPL_H */
