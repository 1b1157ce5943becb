/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H

#include "kernels/detection/detection.h"
#include <memory>
#include <string>

namespace gr::aperture::kernels::emulated {

//! The part of power_detector and beam_power that both have, around that of the host. See
//! detecting_kernel.
class emulated_detector
{
public:
    //! \param frame_bytes of the voltages of a frame
    //! \param powers values that come out of a frame, or of dump()
    emulated_detector(std::shared_ptr<detecting_kernel> host,
                      size_t frame_bytes,
                      size_t powers);

    std::string implementation() const;
    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) const;
    void accumulate(const void* voltages, int frames, stream& s) const;
    void dump(float* powers, const detection_scales& scales, stream& s) const;
    void clear(stream& s) const;

private:
    const std::shared_ptr<detecting_kernel> d_host; // work that is not done yet holds it
    const size_t d_frame_bytes, d_powers;
};

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H */
