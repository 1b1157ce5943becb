/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares dedispersion on the GPU with the host's: the same bits, of f32 as well. Needs
 * no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/dedispersion/dedisperser.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! \param times output times
void compare(const std::string& name, const dedisperser::parameters& p, int64_t times)
{
    const auto host_kernel = host::make<dedisperser>(p);
    const auto kernel = cuda::make<dedisperser>(p, 0);
    expect(host_kernel->longest_delay() == kernel->longest_delay(), name + ", delay");
    expect(host_kernel->delays() == kernel->delays(), name + ", delays");
    const size_t in = size_t(times + kernel->longest_delay()) * p.time_bytes();
    std::vector<char> powers;
    if (p.type == power_type::f32) {
        std::vector<float> values(in / sizeof(float));
        std::normal_distribution<float> normal(1, 100);
        for (auto& v : values)
            v = normal(random_bits);
        powers.resize(in);
        std::memcpy(powers.data(), values.data(), in);
    } else {
        powers = random_values<char>(in);
    }
    const int64_t each = p.trials.times_per_item;
    const size_t out = size_t((times + each - 1) / each) * p.trials.values();
    std::vector<float> expected(out, 1e30f);
    host_stream on_host;
    host_kernel->execute(powers.data(), expected.data(), times, on_host);

    const guarded from(powers), to(out * sizeof(float));
    const auto own_stream = device::select("cuda").make_stream();
    kernel->execute(from.data(), static_cast<float*>(to.data()), times, *own_stream);
    own_stream->synchronize();
    const auto found = to.values<float>();
    expect(same_bits(found, expected), name);
    expect(to.untouched_around(), name + ", guards");
    for (size_t i = 0; i < out; ++i)
        if (found[i] != expected[i]) {
            std::printf("%s: first difference at value %zu of %zu: %g, expected %g\n",
                        name.c_str(),
                        i,
                        out,
                        found[i],
                        expected[i]);
            break;
        }
}

void check_dedisperser(bool quick)
{
    struct band_case {
        const char* name;
        dispersed_band band;
        double sample_time, step;
        int trials, beams, times_per_item, times;
        std::vector<int> decimations; // decimations of the trials, cyclically
    };
    const std::vector<band_case> cases{
        { "narrow", { 130, 408e6, 20e6 }, 409.6e-6, 0.1, 120, 3, 100, 250, {} },
        { "decimated", { 77, 600e6, 200e6 }, 256e-6, 0.75, 41, 2, 56, 1000, { 1, 4, 8 } },
        { "steps", { 64, 400e6, 100e6 }, 1e-3, 40, 33, 2, 64, 777, { 1, 2 } },
        { "few channels", { 3, 400e6, 1e6 }, 1e-5, 1, 20, 5, 10, 95, {} },
        { "much decimated", { 96, 500e6, 50e6 }, 1e-4, 3, 50, 1, 1024, 3000, { 64, 16 } },
        { "long", { 48, 408e6, 20e6 }, 51.2e-6, 1.3, 40, 1, 4096, 40000, { 1, 2, 4 } },
        { "one trial", { 256, 150e6, 30e6 }, 1e-3, 57, 1, 4, 128, 300, {} },
    };
    for (const auto& c : cases)
        for (const auto type : { power_type::s8, power_type::u8, power_type::f32 })
            for (const double tolerance : { 1., 0.5, 8. }) {
                if (quick && tolerance != 1)
                    continue;
                dedisperser::parameters p{ c.band,
                                           c.sample_time,
                                           { c.beams, c.times_per_item, {}, {} },
                                           type,
                                           tolerance };
                for (int i = 0; i < c.trials; ++i) {
                    p.trials.dms.push_back((i * 7 % c.trials) * c.step + c.step);
                    if (!c.decimations.empty())
                        p.trials.decimations.push_back(
                            c.decimations[i % c.decimations.size()]);
                }
                compare(c.name + std::string(", type ") + std::to_string(int(type)) +
                            ", tolerance " + std::to_string(tolerance),
                        p,
                        c.times);
            }
    // BEST-2's trials
    for (const auto type : { power_type::s8, power_type::f32 }) {
        dedisperser::parameters p{
            { 1024, 408e6, 20e6 }, 51.2e-6, { 2, 2048, {}, {} }, type, 1
        };
        for (int i = 0; i < 864; ++i) {
            p.trials.dms.push_back(i * 0.1);
            p.trials.decimations.push_back(i < 345 ? 1 : i < 819 ? 2 : 4);
        }
        compare("BEST-2, type " + std::to_string(int(type)), p, 2 * 2048 + 100);
    }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_dedisperser: dedispersion on a GPU against the host's",
        { { "dedisperser", "", [](bool quick) { check_dedisperser(quick); } } });
}
