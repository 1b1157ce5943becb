/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/cuda_beam_power.h"
#include "kernels/beamformer/cuda_beamformer.h"
#include "kernels/conditioning/cuda_power_normalizer.h"
#include "kernels/corner_turn/cuda_corner_turn.h"
#include "kernels/dedispersion/cuda_dedisperser.h"
#include "kernels/exchange/cuda_exchange.h"
#include "kernels/f_engine/cuda_f_engine.h"
#include "kernels/flagging/cuda_flagging.h"
#include "kernels/mask_counts/cuda_mask_counts.h"
#include "kernels/pfb/cufft/cuda_pfb.h"
#include "kernels/power_detector/cuda_power_detector.h"
#include "kernels/power_means/cuda_power_means.h"
#include "kernels/pulses/cuda_pulse_search.h"
#include "kernels/registry/cuda_kernels.h"
#include "kernels/select/cuda_product_select.h"
#include "kernels/xengine/cuda_xengine.h"

//! The one function that the library of CUDA kernels exports.
extern "C" __attribute__((visibility("default"))) const void* gnuradio_aperture_cuda()
{
    namespace cuda = gr::aperture::kernels::cuda;
    static const gr::aperture::kernels::cuda_kernels all{
        APERTURE_CUDA_VERSION,
        [](const auto& p, int gpu) { return cuda::make_beam_power(p, gpu); },
        [](const auto& p, int gpu) { return cuda::make_beamformer(p, gpu); },
        cuda::make_corner_turn,
        cuda::make_dedisperser,
        cuda::make_exchange,
        cuda::make_f_engine,
        cuda::make_mask_counts,
        cuda::make_flagging,
        cuda::make_pfb,
        cuda::make_power_detector,
        cuda::make_power_means,
        cuda::make_power_normalizer,
        cuda::make_product_select,
        cuda::make_pulse_search,
        [](const auto& p, int gpu) { return cuda::make_xengine(p, gpu); },
    };
    return &all;
}
