/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/registry/cuda_kernels.h"
#include <gnuradio/aperture/device/device.h>

namespace gr::aperture::kernels {

// Each kernel's make() checks the parameters and picks the maker for the device.
#define APERTURE_MAKE(kernel)                                                  \
    std::unique_ptr<kernel> kernel::make(const parameters& p, const device& d) \
    {                                                                          \
        p.check();                                                             \
        if (d.type() == device::kind::cuda)                                    \
            return the_cuda_kernels().kernel(p, d.index(), {});                \
        if (d.type() == device::kind::emulated)                                \
            return emulated::make<kernel>(p);                                  \
        return host::make<kernel>(p);                                          \
    }
APERTURE_EACH_KERNEL(APERTURE_MAKE)
#undef APERTURE_MAKE

std::unique_ptr<f_engine> f_engine::make(const parameters& p, const device& d)
{
    p.check();
    std::unique_ptr<f_engine> made;
    if (d.type() == device::kind::cuda)
        made = the_cuda_kernels().f_engine(p, d.index(), {});
    return made ? std::move(made) : make_composed(p, d);
}

} // namespace gr::aperture::kernels
