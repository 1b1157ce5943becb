/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_MAKE_ON_H
#define INCLUDED_APERTURE_KERNELS_COMMON_MAKE_ON_H

#include "kernels/common/cuda_kernels.h"
#include <gnuradio/aperture/device/device.h>

namespace gr::aperture::kernels {

/*!
 * The kernel for a device: what every Kernel::make() is.
 * \param host, emulated called with p where the device is of that kind
 * \param cuda which of the CUDA library's makers is called on a GPU
 * \throws std::invalid_argument naming the parameter
 * \throws std::runtime_error if the library of CUDA kernels is wanted and not there
 */
template <class Kernel, class Host, class Emulated>
std::unique_ptr<Kernel> make_on(const device& d,
                                const typename Kernel::parameters& p,
                                const Host& host,
                                const Emulated& emulated,
                                cuda_maker<Kernel> cuda_kernels::*cuda)
{
    p.check();
    switch (d.type()) {
    case device::kind::emulated:
        return emulated(p);
    case device::kind::cuda:
        return (the_cuda_kernels().*cuda)(p, d.index());
    default:
        return host(p);
    }
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_MAKE_ON_H */
