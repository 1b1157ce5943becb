/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_POWER_IMPL_H
#define INCLUDED_APERTURE_BEAM_POWER_IMPL_H

#include "beam_weights.h"
#include "detecting_block.h"
#include "kernels/beam_power.h"
#include <gnuradio/aperture/beam_power.h>

namespace gr {
namespace aperture {

class beam_power_impl : public beam_power, public detecting_block
{
public:
    using parameters = beam_power::parameters;

    static kernels::beam_power::parameters kernel_parameters(const parameters& p);

    beam_power_impl(const parameters& p,
                    const kernels::beam_power::parameters& k,
                    const detecting_block::parameters& detecting,
                    const device& d);

    bool start() override;
    bool stop() override;
    int inputs() const override { return d_weights.inputs(); }
    void set_weights(const std::vector<std::complex<float>>& weights, int beam) override;
    std::vector<std::complex<float>> weights(int beam) const override;
    void set_gains(const std::vector<float>& gains, int beam) override;
    std::vector<float> gains() const override;
    void set_mask(const std::vector<int>& mask, int beam) override;
    std::string implementation() const override { return d_kernel->implementation(); }

private:
    kernels::detecting_kernel& kernel() override { return *d_kernel; }
    int64_t prepare() override;
    std::vector<intervals::interval> lost_of(int beam,
                                             const std::vector<intervals>& lost,
                                             int64_t first,
                                             int64_t end) override;

    const std::unique_ptr<kernels::beam_power> d_kernel;
    beam_weights d_weights;
};

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_BEAM_POWER_IMPL_H */
