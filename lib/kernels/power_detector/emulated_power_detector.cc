/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/detection/emulated_detector.h"
#include "kernels/power_detector/emulated_power_detector.h"
#include "kernels/power_detector/host_power_detector.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_detector : public power_detector
{
public:
    explicit emulated_power_detector(const parameters& p)
        : d_detector(host::make_power_detector(p),
                     size_t(p.channels) * p.beams * p.spectra_per_frame *
                         size_of(p.input),
                     p.detect.powers(p.channels, p.beams, p.spectra_per_frame))
    {
    }

    std::string implementation() const override { return d_detector.implementation(); }
    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) override
    {
        d_detector.execute(voltages, powers, frames, scales, s);
    }
    void accumulate(const void* voltages, int frames, stream& s) override
    {
        d_detector.accumulate(voltages, frames, s);
    }
    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        d_detector.dump(powers, scales, s);
    }
    void clear(stream& s) override { d_detector.clear(s); }

private:
    const emulated_detector d_detector;
};

} // namespace

std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p)
{
    return std::make_unique<emulated_power_detector>(p);
}

} // namespace gr::aperture::kernels::emulated
