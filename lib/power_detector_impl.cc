/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "power_detector_impl.h"

namespace gr::aperture {

kernels::power_detector::parameters
power_detector_impl::kernel_parameters(const parameters& p)
{
    kernels::power_detector::parameters k;
    k.channels = p.channels;
    k.beams = p.beams;
    k.spectra_per_frame = p.spectra_per_frame;
    k.input = parse_sample_type("type", p.type, { sample_type::fc32, sample_type::sc8 });
    k.detect = detection_of(p);
    k.check();
    return k;
}

power_detector::sptr power_detector::make(const parameters& p)
{
    check_parameters<power_detector>(p);
    auto k = power_detector_impl::kernel_parameters(p);
    const detecting_block::parameters detecting{ k.channels, k.beams,
                                                 k.beams,    k.spectra_per_frame,
                                                 k.detect,   p.mean,
                                                 p.latency,  p.spectra_per_slice };
    k.detect = detecting.summed();
    return gnuradio::make_block_sptr<power_detector_impl>(
        k, detecting, device::select(p.device));
}

power_detector_impl::power_detector_impl(const kernels::power_detector::parameters& k,
                                         const detecting_block::parameters& p,
                                         const device& d)
    : gr::block(
          "power_detector",
          input_signature_of(d,
                             p,
                             item_size("frame",
                                       { { "channels", k.channels },
                                         { "beams", k.beams },
                                         { "spectra_per_frame", k.spectra_per_frame } },
                                       size_of(k.input))),
          output_signature_of(d, p)),
      detecting_block(d, p),
      d_kernel(kernels::power_detector::make(k, d))
{
}

} // namespace gr::aperture
