/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_BEAMS_MISSING_H
#define INCLUDED_APERTURE_KERNELS_CUDA_BEAMS_MISSING_H

#include "kernels/beam_power.h"
#include "kernels/beamformer.h"
#include "kernels/power_detector.h"
#include <stdexcept>

/*!
 * Stands in for kernels/cuda/{beamformer,power_detector,beam_power}.h until there are
 * kernels for GPUs.
 */
namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

[[noreturn]] inline void refuse_beams()
{
    throw std::invalid_argument("device: 'cuda' is not allowed; there are no kernels for "
                                "beams on a GPU yet: take 'cpu'");
}

inline std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters&, int)
{
    refuse_beams();
}

inline std::unique_ptr<power_detector>
make_power_detector(const power_detector::parameters&, int)
{
    refuse_beams();
}

inline std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters&, int)
{
    refuse_beams();
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_BEAMS_MISSING_H */
