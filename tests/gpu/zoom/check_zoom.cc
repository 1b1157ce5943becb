/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the zoom on the GPU with the host's, which tests compare with a model. Needs
 * no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/zoom/zoom.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <cmath>
#include <cstring>
#include <random>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! Returns noise of a type as bytes; of packed types and sc4 any bits are samples.
std::vector<uint8_t> noise(sample_type type, size_t bytes)
{
    if (type != sample_type::fc32 && type != sample_type::f32)
        return random_values<uint8_t>(bytes);
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 100);
    std::vector<uint8_t> made(bytes);
    for (size_t at = 0; at + sizeof(float) <= bytes; at += sizeof(float)) {
        const float v = normal(random);
        std::memcpy(made.data() + at, &v, sizeof v);
    }
    return made;
}

//! \param calls results of each call
void check_zoom(zoom::parameters p, const std::vector<int>& calls, int lost_port = -1)
{
    int count = 0;
    for (const int results : calls)
        count += results;
    const int unit = samples_in_item(p.input, p.inputs_per_port);
    const int64_t samples = (p.span(count) + unit - 1) / unit * unit;
    const size_t result = p.inputs_per_port * size_of(p.output);
    const auto host = host::make<zoom>(p);
    const auto kernel = cuda::make<zoom>(p, 0);
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const oscillator o(123456.7, 1e6, is_complex(p.input) ? 0 : 1);
    host->set_oscillator(o, on_host);
    kernel->set_oscillator(o, s);
    std::vector<std::vector<uint8_t>> data, expected;
    std::vector<guarded> gpu_data, out;
    for (int port = 0; port < p.ports; port++) {
        data.push_back(noise(p.input, bytes_of(p.input, samples, p.inputs_per_port)));
        gpu_data.emplace_back(data.back());
        expected.emplace_back(count * result, guard_value);
        out.emplace_back(count * result);
    }
    const int64_t first = 1234567;
    int done = 0;
    for (const int results : calls) {
        std::vector<zoom::source> from, gpu_from;
        std::vector<void*> to, gpu_to;
        for (int port = 0; port < p.ports; port++) {
            const size_t start =
                bytes_of(p.input, int64_t(done) * p.hop(), p.inputs_per_port);
            const size_t counted = done ? p.span(1) - p.hop() : 0;
            const bool lost = port == lost_port;
            from.push_back(
                { lost ? nullptr : data[port].data() + start, counted, done > 0 });
            gpu_from.push_back(
                { lost ? nullptr : static_cast<uint8_t*>(gpu_data[port].data()) + start,
                  counted,
                  done > 0 });
            to.push_back(expected[port].data() + done * result);
            gpu_to.push_back(static_cast<uint8_t*>(out[port].data()) + done * result);
        }
        host->execute(from.data(), to.data(), first + done, results, on_host);
        kernel->execute(gpu_from.data(), gpu_to.data(), first + done, results, s);
        done += results;
    }
    s.synchronize();
    const std::string what = "zoom, " + name_of(p.input) + " to " + name_of(p.output) +
                             ", " + std::to_string(p.hop()) + " in " +
                             std::to_string(p.stages.size()) + " stages, " +
                             std::to_string(p.inputs()) + " inputs";
    for (int port = 0; port < p.ports; port++) {
        expect(out[port].untouched_around(), what + ", guards");
        const auto made = out[port].values<uint8_t>();
        double power = 0, most = 0;
        size_t steps = 0;
        if (p.output == sample_type::sc8) {
            for (size_t i = 0; i < made.size(); i++) {
                const int off = int8_t(made[i]) - int8_t(expected[port][i]);
                steps += off != 0;
                most = std::max(most, std::abs(double(off)));
            }
            expect(most <= 1 && steps <= 2 + made.size() / 10000, what + ", steps");
            continue;
        }
        for (size_t at = 0; at < made.size(); at += sizeof(float)) {
            float a, b;
            std::memcpy(&a, made.data() + at, sizeof a);
            std::memcpy(&b, expected[port].data() + at, sizeof b);
            power += double(b) * b;
            most = std::max(most, std::abs(double(a) - b));
        }
        const double rms = std::sqrt(power / (made.size() / sizeof(float)));
        // a result has the power of 1/D of the band, and sums round relative to all of it
        expect(most <= 2e-6 * rms * std::sqrt(double(p.hop())) * 4,
               what + ", off by " + std::to_string(most) + " of " + std::to_string(rms));
    }
    expect(kernel->clamped().samples == host->clamped().samples, what + ", counts");
}

void check_zooms(bool quick)
{
    const auto make =
        [](sample_type in, sample_type out, int decimation, int ports, int per) {
            zoom::parameters p{ ports, per, in, out, false, {} };
            p.stages = design_zoom_filter(decimation, 0.8).stages;
            if (out == sample_type::sc8)
                for (float& h : p.stages.back().taps)
                    h *= 0.5f;
            return p;
        };
    using t = sample_type;
    for (const t in :
         { t::fc32, t::sc16, t::sc8, t::sc4, t::f32, t::s16, t::s12, t::s10, t::s8 })
        for (const t out : { t::fc32, t::sc8 })
            for (const int decimation : { 4, 12, 20, 96 }) {
                check_zoom(make(in, out, decimation, 2, 3), { 1, 600, 77 }, 1);
                check_zoom(make(in, out, decimation, 1, 1), { 513, 2 });
            }
    for (const int decimation : { 2, 3, 17, 31, 1000, 4096, 251 })
        check_zoom(make(t::fc32, t::fc32, decimation, 1, 2), { 3, 130 });
    auto mirrored = make(t::sc8, t::fc32, 16, 2, 1);
    mirrored.conjugated = true;
    check_zoom(mirrored, { 2000 });
    // more inputs than one side of a grid can count
    check_zoom(make(t::sc8, t::fc32, 4, 1, 65536), { 3 });
    if (!quick) // more results than go through the stages together
        check_zoom(make(t::sc8, t::fc32, 64, 1, 64), { 40000 });
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_zoom: the zoom of a GPU against the host's",
                       { { "zoom", "", check_zooms } });
}
