/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/corner_turn.h"
#include "kernels/emulated/corner_turn.h"
#include "kernels/host/corner_turn.h"
#ifdef APERTURE_CUDA
#include "kernels/cuda/corner_turn.h"
#endif

namespace gr {
namespace aperture {
namespace kernels {

void corner_turn::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("ports", ports, 1, 65536);
    require_range("inputs_per_port", inputs_per_port, 1, 65536);
    require_range("times", times, 1, 1 << 30);
    require_range("first_channel", first_channel, 0, channels - 1);
    require_range("selected_channels", selected_channels, 1, channels - first_channel);
    require(type == sample_type::sc8 || type == sample_type::sc4 ||
                type == sample_type::fc32,
            "type",
            name_of(type),
            "sc8, sc4 or fc32");
}

std::unique_ptr<corner_turn> corner_turn::make(const parameters& p, const device& d)
{
    p.check();
    if (d.type() == device::kind::emulated)
        return emulated::make_corner_turn(p);
#ifdef APERTURE_CUDA
    if (d.type() == device::kind::cuda)
        return cuda::make_corner_turn(p, d.index());
#endif
    return host::make_corner_turn(p);
}

} // namespace kernels
} // namespace aperture
} // namespace gr
