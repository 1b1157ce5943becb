/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the synthesizer on the GPU with the host's. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/synthesis/synthesizer.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <algorithm>
#include <array>
#include <cmath>

using namespace gr::aperture;
using kernels::synthesizer;

namespace {

std::vector<char> frame_of(const synthesizer::parameters& p)
{
    std::vector<char> made(p.frame_bytes());
    std::normal_distribution<float> normal;
    if (p.input == sample_type::sc8) {
        for (auto& component : made)
            component = char(std::lround(20 * normal(random_bits)));
        return made;
    }
    auto* to = reinterpret_cast<float*>(made.data());
    for (size_t i = 0; i < made.size() / sizeof(float); i++)
        to[i] = normal(random_bits);
    return made;
}

//! Gives both kernels the same calls: chunks of frames, a missing one, outputs in parts.
void check(const synthesizer::parameters& p, const std::string& what)
{
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto expected = kernels::host::make<synthesizer>(p);
    delay_default_stream();
    const auto kernel = cuda::make<synthesizer>(p, 0);
    const size_t components = p.real() ? 1 : 2;
    for (int turn = 0; turn < 2; turn++) {
        expected->clear(on_host);
        kernel->clear(s);
        int64_t spectrum = turn ? 1234567 : 3;
        int64_t held = 0;
        for (int frame = 0; frame < 4; frame++) {
            const auto voltages = frame_of(p);
            const guarded in(voltages);
            const bool missing = frame == 2;
            for (int first = 0; first < p.spectra_per_frame; first += p.most_spectra) {
                const int count = std::min(p.most_spectra, p.spectra_per_frame - first);
                const int keep = int(std::min<int64_t>(held, p.most_kept()));
                const synthesizer::mixing m{ 0.3,
                                             p.real() ? -0.123456789 : 0,
                                             int64_t(first) * p.hop };
                expected->add(missing ? nullptr : voltages.data(),
                              first,
                              count,
                              spectrum,
                              m,
                              keep,
                              on_host);
                kernel->add(
                    missing ? nullptr : in.data(), first, count, spectrum, m, keep, s);
                spectrum += count;
                held = keep + int64_t(count) * p.hop;
                kernels::output_places places{ p.real() ? p.filter.taps / 2 : 0, 0.37 };
                places.step = p.real() ? 7919 : 1;
                places.steps = p.real() ? 5003 : 1;
                int64_t outputs = held;
                if (p.real())
                    outputs = places.first_from(held - p.filter.taps / 2);
                if (outputs <= 0)
                    continue;
                const std::vector<synthesizer::zeros> empty{
                    { p.beams - 1, 0, outputs / 3 }
                };
                std::vector<float> wanted(size_t(outputs) * p.beams * components, NAN);
                expected->write(wanted.data(), outputs, places, 3, empty, on_host);
                const guarded out(wanted.size() * sizeof(float));
                kernel->write(out.data(), outputs, places, 3, empty, s);
                s.synchronize();
                expect(out.untouched_around(), what + ", guards");
                const auto made = out.values<float>();
                double most = 0, largest = 0;
                for (size_t i = 0; i < made.size(); i++) {
                    const double off = std::fabs(made[i] - wanted[i]);
                    most = off <= most ? most : off; // not where off is NaN
                    largest = std::max(largest, double(std::fabs(wanted[i])));
                }
                // sums of some hundred products in another order
                expect(most <= 1e-5 * std::max(largest, 1.),
                       what + ": off by " + std::to_string(most) + " of " +
                           std::to_string(largest));
            }
        }
    }
}

void check_all()
{
    std::normal_distribution<float> normal;
    for (const auto input : { sample_type::fc32, sample_type::sc8 })
        for (const bool real : { false, true })
            for (const auto& [channels, points, hop, taps] :
                 { std::array{ 32, 32, 27, 28 },
                   std::array{ 33, 64, 54, 9 },
                   std::array{ 5, 5, 5, 3 },
                   std::array{ 1000, 1024, 864, 12 } })
                for (const int beams : { 1, 3 }) {
                    synthesizer::parameters p;
                    p.channels = channels;
                    p.beams = beams;
                    p.spectra_per_frame = 37;
                    p.input = input;
                    p.points = points;
                    p.hop = hop;
                    p.lead = 2 * points;
                    p.prototype.resize(size_t(points) * taps);
                    for (auto& c : p.prototype)
                        c = normal(random_bits) / 16;
                    p.most_spectra = beams == 1 ? 37 : 10;
                    if (real)
                        p.filter = kernels::fractional_filter::of(0.2, 0.26, 1);
                    p.check();
                    check(p,
                          name_of(input) + (real ? ", real, " : ", complex, ") +
                              std::to_string(channels) + " channels, " +
                              std::to_string(beams) + " beams");
                }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_synthesizer: the synthesizer of a GPU against the host's",
                       { { "synthesizer", "", [](bool) { check_all(); } } });
}
