/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/detection/emulated_detector.h"
#include "runtime/host_stream.h"
#include <vector>

namespace gr::aperture::kernels::emulated {

namespace {

std::vector<float> kept(const detection_scales& scales)
{
    return { scales.values, scales.values + scales.count };
}

} // namespace

emulated_detector::emulated_detector(std::shared_ptr<detecting_kernel> host,
                                     size_t frame_bytes,
                                     size_t powers)
    : d_host(std::move(host)), d_frame_bytes(frame_bytes), d_powers(powers)
{
}

std::string emulated_detector::implementation() const
{
    return "emulated, " + d_host->implementation();
}

void emulated_detector::execute(const void* voltages,
                                float* powers,
                                int frames,
                                const detection_scales& scales,
                                stream& s) const
{
    run_on(s,
           [=,
            scales = kept(scales),
            host = d_host,
            in = frames * d_frame_bytes,
            count = frames * d_powers] {
               host_stream own;
               std::vector<float> plain(count);
               host->execute(unmasked(voltages, in).data(),
                             plain.data(),
                             frames,
                             { scales.data(), scales.size() },
                             own);
               copy_masked(powers, plain.data(), count * sizeof(float));
           });
}

void emulated_detector::accumulate(const void* voltages, int frames, stream& s) const
{
    run_on(s, [=, host = d_host, in = frames * d_frame_bytes] {
        host_stream own;
        host->accumulate(unmasked(voltages, in).data(), frames, own);
    });
}

void emulated_detector::dump(float* powers,
                             const detection_scales& scales,
                             stream& s) const
{
    run_on(s, [=, scales = kept(scales), host = d_host, count = d_powers] {
        host_stream own;
        std::vector<float> plain(count);
        host->dump(plain.data(), { scales.data(), scales.size() }, own);
        copy_masked(powers, plain.data(), count * sizeof(float));
    });
}

void emulated_detector::clear(stream& s) const
{
    run_on(s, [host = d_host] {
        host_stream own;
        host->clear(own);
    });
}

} // namespace gr::aperture::kernels::emulated
