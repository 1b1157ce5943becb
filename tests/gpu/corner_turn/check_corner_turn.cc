/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the corner turn on the GPU with the host's: the same bits. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/corner_turn/corner_turn.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! \param offset voltages by which memory begins behind a multiple of 256 bytes, times
//! port + 1 where it is read
void check_corner_turn(corner_turn::parameters p,
                       int lost_port,
                       int offset = 0,
                       int blocks = 4)
{
    const size_t size = size_of(p.type);
    const int times = blocks * p.spectra_per_frame;
    const size_t port_size = size_t(times) * p.inputs_per_port * p.channels * size;
    const size_t block_size = size_t(p.selected_channels) * p.inputs() * times * size;
    const auto host = host::make<corner_turn>(p);
    const auto kernel = cuda::make<corner_turn>(p, 0);
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<uint8_t> expected(block_size, guard_value);
    const guarded out(block_size, offset * size);
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data;
    for (int port = 0; port < p.ports; port++) {
        data.push_back(random_values<uint8_t>(port_size));
        gpu_data.emplace_back(data.back(), (port + 1) * offset * size);
    }
    // in two parts; the rest of the last frame stays as it is
    const int third = p.spectra_per_frame / 3;
    for (auto [first, count] :
         { std::pair(0, third), std::pair(third, times - third - 1) }) {
        std::vector<const void*> from, gpu_from;
        for (int port = 0; port < p.ports; port++) {
            const size_t start = size * first * p.inputs_per_port * p.channels;
            from.push_back(port == lost_port ? nullptr : data[port].data() + start);
            gpu_from.push_back(
                port == lost_port ? nullptr
                                  : static_cast<uint8_t*>(gpu_data[port].data()) + start);
        }
        host->execute(from.data(), expected.data(), first, count, on_host);
        kernel->execute(gpu_from.data(), out.data(), first, count, s);
    }
    s.synchronize();
    const auto what =
        "corner turn, " + name_of(p.type) + ", " + std::to_string(p.channels) +
        " channels, " + std::to_string(p.inputs()) + " inputs, " +
        std::to_string(p.spectra_per_frame) + " times, offset " + std::to_string(offset);
    expect(same_bits(out.values<uint8_t>(), expected), what);
    expect(kernel->clamped() == host->clamped(), what + ", counts");
    expect(out.untouched_around(), what + ", guards");
}

void check_corner_turns()
{
    for (auto type : { sample_type::sc8, sample_type::sc4, sample_type::fc32 }) {
        check_corner_turn({ 64, 2, 1, 64, type, 0, 64 }, -1);
        check_corner_turn({ 130, 3, 2, 77, type, 3, 101 }, 1);
        check_corner_turn({ 7, 5, 3, 200, type, 6, 1 }, 4);
        check_corner_turn({ 1024, 1, 16, 256, type, 1, 1000 }, -1);
        check_corner_turn({ 1024, 2, 2, 96, type, 16, 992 }, -1);
        check_corner_turn({ 16, 66, 1, 40, type, 0, 16 }, 65);
        // rows that begin anywhere: channels, times or both, several tiles of each
        for (int offset : { 0, 1, 7 }) {
            check_corner_turn({ 1001, 3, 1, 299, type, 0, 1001 }, -1, offset);
            check_corner_turn({ 512, 2, 1, 533, type, 0, 512 }, 1, offset);
            check_corner_turn({ 513, 2, 1, 544, type, 0, 513 }, -1, offset);
            check_corner_turn({ 254, 2, 3, 331, type, 5, 249 }, -1, offset);
            check_corner_turn({ 36, 5, 1, 1027, type, 4, 31 }, 0, offset);
            check_corner_turn({ 65, 3, 1, 4, type, 1, 64 }, -1, offset);
        }
        // a frame so large that an H200 transposes it in wide tiles
        const int inputs = type == sample_type::sc4   ? 80
                           : type == sample_type::sc8 ? 48
                                                      : 15;
        check_corner_turn({ 1001, inputs, 1, 1001, type, 0, 1001 }, 1, 1, 1);
        check_corner_turn({ 1000, 1, inputs, 1001, type, 3, 997 }, -1, 3, 1);
        // two whole frames together
        check_corner_turn({ 1001, (inputs + 1) / 2, 1, 1001, type, 0, 1001 }, 1, 1);
    }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_corner_turn: the corner turn of a GPU against the host's",
                       { { "corner_turn", "", [](bool) { check_corner_turns(); } } });
}
