/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAMFORMER_IMPL_H
#define INCLUDED_APERTURE_BEAMFORMER_IMPL_H

#include "block_reader.h"
#include "kernels/beamformer.h"
#include "weighted_block.h"
#include <gnuradio/aperture/beamformer.h>

namespace gr {
namespace aperture {

class beamformer_impl
    : public weighted_block<beamformer, block_reader, kernels::beamformer>
{
public:
    beamformer_impl(const parameters& p,
                    const kernels::beamformer::parameters& k,
                    const device& d);

    std::vector<uint64_t> clamped() const override { return d_kernel->clamped(); }

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void tag_block(uint64_t item, int64_t block);

    const kernels::beamformer::parameters d_p;
};

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_BEAMFORMER_IMPL_H */
