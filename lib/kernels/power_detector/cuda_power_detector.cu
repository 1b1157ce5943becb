/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/detection/power_detector_sums.h"
#include "kernels/power_detector/power_detector.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr size_t most_scratch = 64 << 20; // bytes, unless one frame needs more

class cuda_power_detector : public power_detector
{
public:
    cuda_power_detector(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_pieces(signal_pieces(p.detect.spectra, p.spectra_per_frame)),
          d_components(components_of(p.detect).front()),
          d_frame(size_t(p.channels) * d_pieces * rows() * d_components),
          d_most_frames(int(std::clamp<size_t>(most_scratch / (4 * d_frame), 1, 256))),
          d_scratch(d_frame * d_most_frames),
          d_sums(p.detect, p.channels, p.spectra_per_frame, rows(), d_most_frames)
    {
        for (const int components : components_of(p.detect))
            load_signal_sums(p.input,
                             p.detect.spectra,
                             p.spectra_per_frame,
                             components,
                             p.detect.of_pairs());
    }

    std::string implementation() const override { return "cuda"; }

    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) override
    {
        const device_guard guard(d_device);
        // one scale for both polarisations: their sum will do
        const int components = d_components == 2 && scales.count == 1 ? 1 : d_components;
        const size_t frame_rows =
            size_t(d_p.detect.integrations(d_p.spectra_per_frame)) * rows();
        const size_t frame_powers = frame_rows * d_p.detect.product_count() *
                                    (d_p.channels / d_p.detect.summed_channels);
        const size_t frame_scales = frame_rows * d_p.detect.parts();
        in_groups(voltages, frames, components, s, [&](int first, int count) {
            const float* uploaded =
                scales.count > 1 ? d_sums.upload(scales.values + first * frame_scales,
                                                 count * frame_scales,
                                                 native(s))
                                 : nullptr;
            d_sums.write(pieces(components),
                         count,
                         powers + first * frame_powers,
                         uploaded,
                         scales.values[0],
                         native(s));
        });
    }

    void accumulate(const void* voltages, int frames, stream& s) override
    {
        const device_guard guard(d_device);
        in_groups(voltages, frames, d_components, s, [&](int, int count) {
            d_sums.add(pieces(d_components), count, native(s));
        });
    }

    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        const device_guard guard(d_device);
        d_sums.dump(d_components, powers, scales, native(s));
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        d_sums.clear(native(s));
    }

private:
    const parameters d_p;
    const int d_device;
    const int d_pieces;     // number in a frame
    const int d_components; // number in a row
    const size_t d_frame;   // components of a frame
    const int d_most_frames;
    device_array<float> d_scratch;
    power_sums d_sums;

    int rows() const { return d_p.detect.rows(d_p.beams); }
    power_pieces pieces(int components) const
    {
        return { d_scratch.data(), d_pieces, components, 0, rows() };
    }

    //! Sums pieces of as many frames as there is scratch for, and calls then(first,
    //! count).
    template <class Then>
    void in_groups(
        const void* voltages, int frames, int components, stream& s, const Then& then)
    {
        const size_t frame_bytes =
            size_of(d_p.input) * d_p.channels * d_p.beams * d_p.spectra_per_frame;
        for (int first = 0; first < frames; first += d_most_frames) {
            const int count = std::min(d_most_frames, frames - first);
            sum_signals(static_cast<const uint8_t*>(voltages) + first * frame_bytes,
                        count,
                        { d_p.channels, d_p.beams, d_p.spectra_per_frame, d_p.input },
                        { nullptr, nullptr, rows() },
                        d_p.detect.spectra,
                        components,
                        d_p.detect.of_pairs(),
                        d_scratch.data(),
                        native(s));
            then(first, count);
        }
    }
};

} // namespace

template <>
std::unique_ptr<power_detector>
make(const power_detector::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_power_detector>(p, device);
}

} // namespace gr::aperture::kernels::cuda
