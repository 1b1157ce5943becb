/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H

#include "kernels/common/emulated_kernel.h"
#include "kernels/detection/detection.h"

namespace gr::aperture::kernels::emulated {

//! The part of power_detector and beam_power that both have. See detecting_kernel.
template <class Kernel>
class emulated_detector : public emulated_kernel<Kernel>
{
    struct kept_scales : kept<float> {
        explicit kept_scales(const detection_scales& s)
            : kept(s.values, s.count), count(s.count)
        {
        }
        detection_scales plain() const { return { kept::plain(), count }; }
        size_t count;
    };

public:
    //! \param frame_bytes of the voltages of a frame
    //! \param powers values that come out of a frame, or of dump()
    emulated_detector(const typename Kernel::parameters& p,
                      size_t frame_bytes,
                      size_t powers)
        : emulated_kernel<Kernel>(p), d_frame_bytes(frame_bytes), d_powers(powers)
    {
    }

    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) override
    {
        this->run(s,
                  &detecting_kernel::execute,
                  span(voltages, frames * d_frame_bytes),
                  span(powers, frames * d_powers),
                  frames,
                  kept_scales(scales));
    }
    void accumulate(const void* voltages, int frames, stream& s) override
    {
        this->run(s,
                  &detecting_kernel::accumulate,
                  span(voltages, frames * d_frame_bytes),
                  frames);
    }
    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        this->run(
            s, &detecting_kernel::dump, span(powers, d_powers), kept_scales(scales));
    }
    void clear(stream& s) override { this->run(s, &detecting_kernel::clear); }

private:
    const size_t d_frame_bytes, d_powers;
};

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_EMULATED_DETECTOR_H */
