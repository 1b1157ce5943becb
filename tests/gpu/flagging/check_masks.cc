/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the counts by masks on the GPU with the host's, which must be equal, and the
 * means of powers. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/mask_counts/mask_counts.h"
#include "kernels/power_means/power_means.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! Makes masks of frames: a third is flagged, a channel is not, and an input is in one.
std::vector<uint8_t> masks_of(const mask_layout& m, int frames)
{
    std::vector<uint8_t> masks(frames * m.item_bytes());
    for (int frame = 0; frame < frames; frame++)
        for (int channel = 1; channel < m.channels; channel++)
            for (int input = 0; input < m.inputs; input++)
                for (int slice = 0; slice < m.slices(); slice++)
                    if (random_bits() % 3 == 0 || (channel == 2 && input == 0))
                        m.set(
                            masks.data() + frame * m.item_bytes(), channel, input, slice);
    return masks;
}

missing_spectra missing_of(const mask_layout& m, int frames, bool whole)
{
    missing_spectra missing(frames, m.inputs, m.spectra_per_frame);
    const int64_t slice = whole ? m.spectra_per_slice : 1;
    missing.set(0, m.spectra_per_frame, m.spectra_per_frame + 3 * slice);
    missing.set(m.inputs - 1, 2 * slice, int64_t(m.spectra_per_frame) + slice);
    return missing;
}

void check_counts(const mask_layout& m, int frames, int kind, bool products)
{
    const mask_counts::parameters p{ m, products };
    const auto masks = masks_of(m, frames);
    const guarded in(masks);
    const auto missing = kind ? missing_of(m, frames, kind == 1) : missing_spectra();
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    const auto host = host::make<mask_counts>(p), gpu = cuda::make<mask_counts>(p, 0);
    std::vector<uint32_t> expected(p.size());
    const guarded out(p.size() * sizeof(uint32_t));
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < 2; i++) {
            host->accumulate(masks.data(), frames, missing, on_host);
            gpu->accumulate(in.data(), frames, missing, *own_stream);
        }
        host->dump(expected.data(), on_host);
        gpu->dump(static_cast<uint32_t*>(out.data()), *own_stream);
        own_stream->synchronize();
        const std::string what = "counts of " + std::to_string(m.inputs) + " inputs, " +
                                 std::to_string(m.slices()) + " slices, missing " +
                                 std::to_string(kind);
        expect(out.values<uint32_t>() == expected, what);
        expect(out.untouched_around(), what + ", guards");
    }
}

void check_means(const mask_layout& m, int frames, int64_t spectra, const char* products)
{
    const int beams = 4;
    const power_means::parameters p{
        m,
        beams,
        { parse_products(products), detection::feeds::circular, spectra, 2 },
        true
    };
    p.check();
    const bool within = spectra <= m.spectra_per_frame;
    const size_t items = within ? frames * p.integrations() : 1;
    const auto masks = masks_of(m, frames);
    const guarded in(masks);
    const auto missing = missing_of(m, frames, false);
    const std::vector<std::vector<int>> sources{ { 0, 1 }, { 2 }, {}, { 1, 2 } };
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto host = host::make<power_means>(p), gpu = cuda::make<power_means>(p, 0);
    std::vector<float> sums(items * p.sums());
    std::normal_distribution<float> normal;
    for (auto& x : sums)
        x = normal(random_bits);
    std::copy(sums.begin(), sums.end(), host->sums());
    cuda::start_with(gpu->sums(), sums);
    std::vector<float> powers(items * p.powers());
    std::vector<uint32_t> counts(items * p.counts());
    const guarded to(powers.size() * sizeof(float)), numbers(counts.size() * 4);
    auto* gpu_powers = static_cast<float*>(to.data());
    auto* gpu_counts = static_cast<uint32_t*>(numbers.data());
    host->set_sources(sources, on_host);
    gpu->set_sources(sources, s);
    if (within) {
        host->execute(
            masks.data(), frames, missing, powers.data(), counts.data(), on_host);
        gpu->execute(in.data(), frames, missing, gpu_powers, gpu_counts, s);
    } else {
        host->accumulate(masks.data(), frames, missing, on_host);
        host->dump(powers.data(), counts.data(), on_host);
        gpu->accumulate(in.data(), frames, missing, s);
        gpu->dump(gpu_powers, gpu_counts, s);
    }
    s.synchronize();
    const std::string what =
        std::string("means of ") + products + " over " + std::to_string(spectra);
    expect(numbers.values<uint32_t>() == counts, what + ", counts");
    const auto found = to.values<float>();
    bool close = true;
    for (size_t i = 0; i < found.size(); i++)
        close = close && std::abs(found[i] - powers[i]) <= 1e-6f;
    expect(close, what);
    expect(to.untouched_around() && numbers.untouched_around(), what + ", guards");
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_masks: what is counted by masks on a GPU against the host's",
        { { "counts",
            "",
            [](bool) {
                for (int inputs : { 1, 3, 64, 65, 130 })
                    for (int slices : { 1, 8, 9, 36 })
                        for (int kind : { 0, 1, 2 })
                            check_counts(
                                { 3, inputs, 72, 72 / slices }, 5, kind, inputs != 3);
                check_counts({ 2, 5, 32, 4 }, 200, 0, true);
            } },
          { "means", "", [](bool) {
               for (const char* products : { "power", "I", "IQUV", "coherency" })
                   for (int64_t spectra : { 12, 72, 360 })
                       check_means({ 6, 3, 72, 8 }, 5, spectra, products);
           } } });
}
