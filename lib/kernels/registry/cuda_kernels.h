/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA__H
#define INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA__H

#include "kernels/averaging/visibility_average.h"
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
#include "kernels/select/input_select.h"
#include "kernels/select/product_select.h"
#include "kernels/synthesis/synthesizer.h"
#include "kernels/xengine/xengine.h"
#include "kernels/zoom/zoom.h"
#include "runtime/plugin.h"
#include <memory>
#include <string>

namespace gr::aperture::kernels {

//! Calls kernel(name) for all kernels that are made for a device, but for f_engine, which
//! is made of two of them where a device has none of its own.
#define APERTURE_EACH_KERNEL(kernel)                                                 \
    kernel(beam_power) kernel(beamformer) kernel(corner_turn) kernel(dedisperser)    \
        kernel(exchange) kernel(flagging) kernel(input_select) kernel(mask_counts)   \
            kernel(pfb) kernel(power_detector) kernel(power_means)                   \
                kernel(power_normalizer) kernel(product_select) kernel(pulse_search) \
                    kernel(synthesizer) kernel(visibility_average) kernel(xengine)   \
                        kernel(zoom)

//! The function that makes a kernel for a GPU of this index; see kernels/common/makers.h.
template <class Kernel>
using cuda_maker = std::unique_ptr<Kernel> (*)(const typename Kernel::parameters&,
                                               int,
                                               const std::string&);

//! The makers of kernels that the library of CUDA kernels, a plugin, has.
struct cuda_kernels {
    const char* version;
    cuda_maker<kernels::f_engine> f_engine; //!< may return nullptr
#define APERTURE_MAKER(kernel) cuda_maker<kernels::kernel> kernel;
    APERTURE_EACH_KERNEL(APERTURE_MAKER)
#undef APERTURE_MAKER
};

extern const plugin_kind cuda_kernels_kind;

/*!
 * The library of CUDA kernels, loaded by the first call.
 * \throws std::runtime_error if it is not there, or is of another build
 */
const cuda_kernels& the_cuda_kernels();

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_REGISTRY_CUDA__H */
