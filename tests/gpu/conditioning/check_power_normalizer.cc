/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the power normalizer on the GPU with the host's. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/conditioning/power_normalizer.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace gr::aperture;
using kernels::power_normalizer;

namespace {

//! Noise, a narrow and a wide interference, a bad channel, and powers that are none.
std::vector<float> powers_of(const power_normalizer::parameters& p, int items, int turn)
{
    std::gamma_distribution<float> power(32, 3);
    std::vector<float> made(items * p.cells());
    for (auto& x : made)
        x = power(random_bits);
    for (int beam = 0; beam < p.beams; beam++) {
        const auto at = [&](int item, int k) -> float& {
            return made[(size_t(item % items) * p.beams + beam) * p.channels +
                        k % p.channels];
        };
        at(3 + turn, 7 + beam) += 3000;
        at(4, 11) = NAN;
        at(5, 0) = INFINITY;
        for (int k = 0; k < p.channels; k++)
            at(9 + beam, k) += turn % 3 == 1 ? 40 : 0;
        for (int item = 0; item < items; item++)
            at(item, p.channels / 2) += 100;
    }
    return made;
}

void check(const power_normalizer::parameters& p, bool gaps, const std::string& what)
{
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto expected = kernels::host::make<kernels::power_normalizer>(p);
    delay_default_stream();
    const auto kernel = cuda::make<power_normalizer>(p, 0);
    for (int turn = 0; turn < 11; turn++) {
        if (turn == 7) {
            expected->forget(on_host);
            kernel->forget(s);
        }
        const int items = turn == 6 || turn == 10 ? p.segment / 2 + 1 : p.segment;
        const auto powers = powers_of(p, items, turn);
        std::vector<uint8_t> present(items * p.beams, 1);
        for (auto& there : present)
            there = !gaps || random_bits() % 5 != 0;
        const uint8_t* flags = gaps ? present.data() : nullptr;
        std::vector<char> wanted(items * p.item_bytes());
        expected->execute(powers.data(), wanted.data(), items, flags, on_host);
        const guarded in(powers), out(wanted.size());
        kernel->execute(
            static_cast<const float*>(in.data()), out.data(), items, flags, s);
        s.synchronize();
        expect(out.untouched_around(), what + ", guards");
        const auto made = out.values<char>();
        size_t wrong = 0;
        double most = 0;
        for (size_t i = 0; i < items * p.cells(); i++) {
            float a, b;
            if (p.integers) {
                a = int8_t(made[i]);
                b = int8_t(wanted[i]);
            } else {
                std::memcpy(&a, made.data() + 4 * i, 4);
                std::memcpy(&b, wanted.data() + 4 * i, 4);
            }
            // sums in another order, relative to large ones; of integers one step where a
            // value is between two
            const double off =
                std::fabs(a - b) / (p.integers ? 1.f : std::max(1.f, std::fabs(b)));
            most = std::max(most, off);
            wrong += p.integers ? off > 0 : off > 1e-4;
        }
        expect(p.integers ? wrong < 2 + items * p.cells() / 1000 && most <= 1
                          : wrong == 0,
               what + ", turn " + std::to_string(turn) + ": " + std::to_string(wrong) +
                   " of " + std::to_string(items * p.cells()) + ", by " +
                   std::to_string(most));
    }
    auto counts = kernel->counts(), right = expected->counts();
    for (size_t i = power_normalizer::clamped; i < counts.size();
         i += power_normalizer::counts_of_beam)
        counts[i] = right[i] = 0; // by roundings
    expect(counts == right, what + ", counts");
    kernel->clear(s);
    s.synchronize();
    for (const uint64_t n : kernel->counts())
        expect(n == 0, what + ", cleared");
}

void check_all()
{
    for (const bool integers : { false, true })
        for (const bool zero_dm : { false, true })
            for (const int channels : { 1, 33, 255, 1000, 3001, 4097 })
                for (const int beams : { 1, 3 }) {
                    power_normalizer::parameters p;
                    p.channels = channels;
                    p.beams = beams;
                    p.segment = channels == 33 ? 250 : 17;
                    p.segments = 5;
                    p.integers = integers;
                    p.cell_threshold = channels == 255 ? 0 : 20;
                    p.channel_threshold = 8;
                    p.spectrum_threshold = 8;
                    p.zero_dm = zero_dm;
                    p.bad_channels = { 0, channels - 1 };
                    if (channels == 1)
                        p.bad_channels.clear();
                    check(p,
                          beams == 3,
                          "channels=" + std::to_string(channels) +
                              " beams=" + std::to_string(beams) +
                              (integers ? " s8" : " f32") + (zero_dm ? " zero_dm" : ""));
                }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_power_normalizer: the power normalizer of a GPU against the host's",
        { { "power_normalizer", "", [](bool) { check_all(); } } });
}
