/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/make_on.h"
#include "kernels/xengine/emulated_xengine.h"
#include "kernels/xengine/host_xengine.h"
#include "kernels/xengine/xengine.h"

namespace gr::aperture::kernels {

void xengine::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require(type == sample_type::sc8 || type == sample_type::sc4 ||
                type == sample_type::fc32,
            "type",
            name_of(type),
            "sc8, sc4 or fc32");
}

std::unique_ptr<xengine> xengine::make(const parameters& p, const device& d)
{
    return make_on<xengine>(
        d,
        p,
        [](const parameters& x) {
            return host::make_xengine(x, host::xengine_vectors().front());
        },
        emulated::make_xengine,
        &cuda_kernels::xengine);
}

} // namespace gr::aperture::kernels
