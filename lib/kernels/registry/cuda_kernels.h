/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA_KERNELS_H
#define INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA_KERNELS_H

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/beamformer.h"
#include "kernels/conditioning/power_normalizer.h"
#include "kernels/corner_turn/corner_turn.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/exchange/exchange.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/flagging/flagging.h"
#include "kernels/mask_counts/mask_counts.h"
#include "kernels/pfb/pfb.h"
#include "kernels/power_detector/power_detector.h"
#include "kernels/power_means/power_means.h"
#include "kernels/pulses/pulse_search.h"
#include "kernels/select/product_select.h"
#include "kernels/xengine/xengine.h"
#include "runtime/plugin.h"
#include <memory>

namespace gr::aperture::kernels {

//! What makes a kernel for a GPU of this index.
template <class Kernel>
using cuda_maker = std::unique_ptr<Kernel> (*)(const typename Kernel::parameters&, int);

//! What the library of CUDA kernels offers, a plugin: the makers of the kernels.
struct cuda_kernels {
    const char* version;
    cuda_maker<kernels::beam_power> beam_power;
    cuda_maker<kernels::beamformer> beamformer;
    cuda_maker<kernels::corner_turn> corner_turn;
    cuda_maker<kernels::dedisperser> dedisperser;
    cuda_maker<kernels::exchange> exchange;
    cuda_maker<kernels::f_engine> f_engine; //!< may return nullptr
    cuda_maker<kernels::mask_counts> mask_counts;
    cuda_maker<kernels::flagging> flagging;
    cuda_maker<kernels::pfb> pfb;
    cuda_maker<kernels::power_detector> power_detector;
    cuda_maker<kernels::power_means> power_means;
    cuda_maker<kernels::power_normalizer> power_normalizer;
    cuda_maker<kernels::product_select> product_select;
    cuda_maker<kernels::pulse_search> pulse_search;
    cuda_maker<kernels::xengine> xengine;
};

extern const plugin_kind cuda_kernels_kind;

/*!
 * The library of CUDA kernels, loaded by the first call.
 * \throws std::runtime_error if it is not there, or is of another build
 */
const cuda_kernels& the_cuda_kernels();

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA_KERNELS_H */
