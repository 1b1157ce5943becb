/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BEAM_POWER_IMPL_H
#define INCLUDED_APERTURE_BEAM_POWER_IMPL_H

#include "control/weighted_block.h"
#include "kernels/beam_power/beam_power.h"
#include "stream/detecting_block.h"
#include <gnuradio/aperture/beam_power.h>

namespace gr::aperture {

class beam_power_impl
    : public weighted_block<beam_power, detecting_block, kernels::beam_power>
{
public:
    using parameters = beam_power::parameters;

    static kernels::beam_power::parameters kernel_parameters(const parameters& p);

    beam_power_impl(const parameters& p,
                    const kernels::beam_power::parameters& k,
                    const detecting_block::parameters& detecting,
                    const device& d);

private:
    kernels::detecting_kernel& kernel() override { return *d_kernel; }
    int64_t prepare() override { return update_weights(); }
    const std::vector<std::vector<int>>* sources_of_beams() override
    {
        return &d_weights.used();
    }
    void set_incoherent_masks(const uint8_t* masks) override;
    std::vector<intervals::interval> lost_of(int beam,
                                             const std::vector<intervals>& lost,
                                             int64_t first,
                                             int64_t end) override;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BEAM_POWER_IMPL_H */
