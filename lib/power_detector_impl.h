/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_POWER_DETECTOR_IMPL_H
#define INCLUDED_APERTURE_POWER_DETECTOR_IMPL_H

#include "kernels/power_detector/power_detector.h"
#include "stream/detecting_block.h"
#include <gnuradio/aperture/power_detector.h>

namespace gr::aperture {

class power_detector_impl : public power_detector, public detecting_block
{
public:
    using parameters = power_detector::parameters;

    static kernels::power_detector::parameters kernel_parameters(const parameters& p);

    power_detector_impl(const kernels::power_detector::parameters& k,
                        const detecting_block::parameters& p,
                        const device& d);

    std::string implementation() const override { return d_kernel->implementation(); }

private:
    kernels::detecting_kernel& kernel() override { return *d_kernel; }

    const std::unique_ptr<kernels::power_detector> d_kernel;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_POWER_DETECTOR_IMPL_H */
