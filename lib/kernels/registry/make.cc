/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/emulated_beam_power.h"
#include "kernels/beam_power/host_beam_power.h"
#include "kernels/beamformer/emulated_beamformer.h"
#include "kernels/beamformer/host_beamformer.h"
#include "kernels/conditioning/emulated_power_normalizer.h"
#include "kernels/conditioning/host_power_normalizer.h"
#include "kernels/corner_turn/emulated_corner_turn.h"
#include "kernels/corner_turn/host_corner_turn.h"
#include "kernels/dedispersion/emulated_dedisperser.h"
#include "kernels/dedispersion/host_dedisperser.h"
#include "kernels/exchange/emulated_exchange.h"
#include "kernels/exchange/host_exchange.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/flagging/emulated_flagging.h"
#include "kernels/flagging/host_flagging.h"
#include "kernels/mask_counts/emulated_mask_counts.h"
#include "kernels/mask_counts/host_mask_counts.h"
#include "kernels/pfb/emulated_pfb.h"
#include "kernels/pfb/host_pfb.h"
#include "kernels/power_detector/emulated_power_detector.h"
#include "kernels/power_detector/host_power_detector.h"
#include "kernels/power_means/emulated_power_means.h"
#include "kernels/power_means/host_power_means.h"
#include "kernels/pulses/emulated_pulse_search.h"
#include "kernels/pulses/host_pulse_search.h"
#include "kernels/registry/cuda_kernels.h"
#include "kernels/select/host_product_select.h"
#include "kernels/xengine/emulated_xengine.h"
#include "kernels/xengine/host_xengine.h"
#include <gnuradio/aperture/device/device.h>

namespace gr::aperture::kernels {

namespace {

/*!
 * Returns the kernel for a device.
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

} // namespace

// Each operation's make() has host::make_X, emulated::make_X and the member X of
// cuda_kernels.
#define APERTURE_MAKE(kernel)                                                  \
    std::unique_ptr<kernel> kernel::make(const parameters& p, const device& d) \
    {                                                                          \
        return make_on<kernel>(                                                \
            d,                                                                 \
            p,                                                                 \
            [](const parameters& x) { return host::make_##kernel(x); },        \
            emulated::make_##kernel,                                           \
            &cuda_kernels::kernel);                                            \
    }
APERTURE_MAKE(beam_power)
APERTURE_MAKE(beamformer)
APERTURE_MAKE(corner_turn)
APERTURE_MAKE(dedisperser)
APERTURE_MAKE(exchange)
APERTURE_MAKE(flagging)
APERTURE_MAKE(mask_counts)
APERTURE_MAKE(pfb)
APERTURE_MAKE(power_detector)
APERTURE_MAKE(power_means)
APERTURE_MAKE(power_normalizer)
APERTURE_MAKE(pulse_search)
APERTURE_MAKE(xengine)
#undef APERTURE_MAKE

std::unique_ptr<product_select> product_select::make(const parameters& p, const device& d)
{
    // it copies products and flips signs: of masked memory it makes masked memory
    return make_on<product_select>(d,
                                   p,
                                   host::make_product_select,
                                   host::make_product_select,
                                   &cuda_kernels::product_select);
}

std::unique_ptr<f_engine> f_engine::make(const parameters& p, const device& d)
{
    const auto compose = [&d](const parameters& x) { return make_composed(x, d); };
    auto made = make_on<f_engine>(d, p, compose, compose, &cuda_kernels::f_engine);
    return made ? std::move(made) : compose(p);
}

} // namespace gr::aperture::kernels
