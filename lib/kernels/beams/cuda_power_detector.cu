/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beams/cuda_power_detector.h"
#include "kernels/beams/power_detector_sums.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr size_t most_scratch = 64 << 20; // bytes, unless one block needs more

class cuda_power_detector : public power_detector
{
public:
    cuda_power_detector(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_pieces(signal_pieces(p.detect.spectra, p.spectra_per_frame)),
          d_numbers(numbers_of(p.detect).front()),
          d_block(size_t(p.channels) * d_pieces * rows() * d_numbers),
          d_most_blocks(int(std::clamp<size_t>(most_scratch / (4 * d_block), 1, 256))),
          d_scratch(d_block * d_most_blocks),
          d_sums(p.detect, p.channels, p.spectra_per_frame, rows(), d_most_blocks)
    {
        for (const int numbers : numbers_of(p.detect))
            load_signal_sums(p.input,
                             p.detect.spectra,
                             p.spectra_per_frame,
                             numbers,
                             p.detect.of_pairs());
    }

    std::string implementation() const override { return "cuda"; }

    void execute(const void* voltages,
                 float* powers,
                 int blocks,
                 const detection_scales& scales,
                 stream& s) override
    {
        const device_guard guard(d_device);
        // one scale for both polarisations: their sum will do
        const int numbers = d_numbers == 2 && scales.count == 1 ? 1 : d_numbers;
        const size_t block_rows =
            size_t(d_p.detect.integrations(d_p.spectra_per_frame)) * rows();
        const size_t block_powers = block_rows * d_p.detect.product_count() *
                                    (d_p.channels / d_p.detect.summed_channels);
        const size_t block_scales = block_rows * d_p.detect.parts();
        in_groups(voltages, blocks, numbers, s, [&](int first, int count) {
            const float* uploaded =
                scales.count > 1 ? d_sums.upload(scales.values + first * block_scales,
                                                 count * block_scales,
                                                 native(s))
                                 : nullptr;
            d_sums.write(pieces(numbers),
                         count,
                         powers + first * block_powers,
                         uploaded,
                         scales.values[0],
                         native(s));
        });
    }

    void accumulate(const void* voltages, int blocks, stream& s) override
    {
        const device_guard guard(d_device);
        in_groups(voltages, blocks, d_numbers, s, [&](int, int count) {
            d_sums.add(pieces(d_numbers), count, native(s));
        });
    }

    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        const device_guard guard(d_device);
        d_sums.dump(d_numbers, powers, scales, native(s));
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        d_sums.clear(native(s));
    }

private:
    const parameters d_p;
    const int d_device;
    const int d_pieces;   // of a block
    const int d_numbers;  // of a row
    const size_t d_block; // numbers of a block
    const int d_most_blocks;
    device_array<float> d_scratch;
    power_sums d_sums;

    int rows() const { return d_p.detect.rows(d_p.beams); }
    power_pieces pieces(int numbers) const
    {
        return { d_scratch.data(), d_pieces, numbers, 0, rows() };
    }

    //! Sums pieces of as many blocks as there is scratch for, and calls then(first,
    //! count).
    template <class Then>
    void
    in_groups(const void* voltages, int blocks, int numbers, stream& s, const Then& then)
    {
        const size_t block_bytes =
            size_of(d_p.input) * d_p.channels * d_p.beams * d_p.spectra_per_frame;
        for (int first = 0; first < blocks; first += d_most_blocks) {
            const int count = std::min(d_most_blocks, blocks - first);
            sum_signals(static_cast<const uint8_t*>(voltages) + first * block_bytes,
                        count,
                        { d_p.channels, d_p.beams, d_p.spectra_per_frame, d_p.input },
                        { nullptr, nullptr, rows() },
                        d_p.detect.spectra,
                        numbers,
                        d_p.detect.of_pairs(),
                        d_scratch.data(),
                        native(s));
            then(first, count);
        }
    }
};

} // namespace

std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p,
                                                    int device)
{
    const device_guard guard(device);
    return std::make_unique<cuda_power_detector>(p, device);
}

} // namespace gr::aperture::kernels::cuda
