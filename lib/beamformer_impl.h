/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAMFORMER_IMPL_H
#define INCLUDED_APERTURE_BEAMFORMER_IMPL_H

#include "beam_weights.h"
#include "block_reader.h"
#include "kernels/beamformer.h"
#include <gnuradio/aperture/beamformer.h>

namespace gr {
namespace aperture {

class beamformer_impl : public beamformer, public block_reader
{
public:
    beamformer_impl(const parameters& p,
                    const kernels::beamformer::parameters& k,
                    const device& d);

    bool start() override;
    bool stop() override;
    int inputs() const override { return d_weights.inputs(); }
    void set_weights(const std::vector<std::complex<float>>& weights, int beam) override;
    std::vector<std::complex<float>> weights(int beam) const override;
    void set_gains(const std::vector<float>& gains, int beam) override;
    std::vector<float> gains() const override;
    void set_mask(const std::vector<int>& mask, int beam) override;
    std::vector<uint64_t> clamped() const override;
    std::string implementation() const override;

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    //! Blocks from the next one on that have its weights.
    int64_t update_weights();
    void tag_block(uint64_t item, int64_t block);

    const kernels::beamformer::parameters d_p;
    const std::unique_ptr<kernels::beamformer> d_kernel;
    beam_weights d_weights;
};

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_BEAMFORMER_IMPL_H */
