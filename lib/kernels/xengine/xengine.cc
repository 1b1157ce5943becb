/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/xengine/emulated_xengine.h"
#include "kernels/xengine/host_xengine.h"
#include "kernels/xengine/xengine.h"
#ifdef APERTURE_CUDA
#include "kernels/xengine/cuda_xengine.h"
#endif

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
    p.check();
    if (d.type() == device::kind::emulated)
        return emulated::make_xengine(p);
#ifdef APERTURE_CUDA
    if (d.type() == device::kind::cuda)
        return cuda::make_xengine(p, d.index());
#endif
    return host::make_xengine(p, host::xengine_vectors().front());
}

} // namespace gr::aperture::kernels
