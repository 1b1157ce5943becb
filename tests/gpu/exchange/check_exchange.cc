/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the exchange between GPUs, by copies and by NCCL, with that of the host: the
 * same bits. Needs no GNU Radio; with one GPU, all ports are on it.
 *
 * check_exchange [quick]
 *
 * quick: few sizes, for compute-sanitizer.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/exchange/exchange.h"
#include "kernels/exchange/nccl.h"
#include "runtime/backend.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

using way = exchange::way;

//! Allocates memory of a device that all others can access.
//! \param mapped twice, as rings are
memory shared_memory(const device& d, size_t bytes, bool mapped, int gpus)
{
    const auto& own = *d.own_memory();
    const size_t unit = own.granularity();
    const size_t size = mapped ? (bytes + unit - 1) / unit * unit : bytes;
    memory m = mapped ? own.allocate_twice_mapped(size) : own.allocate(size);
    for (int gpu = 0; gpu < gpus; gpu++)
        if (gpu != d.index())
            own.share(m.get(),
                      mapped ? 2 * size : size,
                      mapped,
                      *device::select("cuda:" + std::to_string(gpu)).own_memory());
    return m;
}

std::string text_of(const exchange::parameters& p, bool mapped, int frames)
{
    return std::to_string(p.inputs_ports()) + " to " + std::to_string(p.outputs_ports()) +
           " ports, " + std::to_string(p.channels) + " channels, " +
           std::to_string(p.inputs) + " inputs, rows of " + std::to_string(p.row) +
           " bytes, " + std::to_string(frames) + " frames" + (mapped ? ", mapped" : "");
}

/*!
 * Some calls behind each other without a wait, each on memory that the one before used.
 * \param lost input port whose frames are missing; -1: none
 */
void check(exchange::parameters p, int gpus, int frames, int lost, bool mapped)
{
    constexpr int calls = 4;
    exchange::parameters on_host = p;
    for (auto* ports : { &on_host.input_devices, &on_host.output_devices })
        std::fill(ports->begin(), ports->end(), 0);
    host_stream none;
    const auto host = host::make<exchange>(on_host);
    std::vector<device> devices;
    std::vector<std::unique_ptr<stream>> streams;
    std::vector<stream*> at;
    for (const int gpu : p.devices()) {
        devices.push_back(device::select("cuda:" + std::to_string(gpu)));
        streams.push_back(devices.back().make_stream());
        at.push_back(streams.back().get());
    }
    const auto kernel = cuda::make<exchange>(p, p.input_devices[0]);

    std::vector<memory> in, out;
    std::vector<std::vector<uint8_t>> data, expected;
    for (int port = 0; port < p.inputs_ports(); port++) {
        const size_t bytes = p.input_frame(port) * frames * calls;
        in.push_back(shared_memory(
            devices[p.place_of(p.input_devices[port])], bytes, mapped, gpus));
        data.push_back(random_values<uint8_t>(bytes));
        at[p.place_of(p.input_devices[port])]->copy(
            in.back().get(), data.back().data(), bytes, direction::host_to_device);
    }
    for (int port = 0; port < p.outputs_ports(); port++) {
        const size_t bytes = p.output_frame(port) * frames * calls;
        out.push_back(shared_memory(
            devices[p.place_of(p.output_devices[port])], bytes, mapped, gpus));
        expected.emplace_back(bytes, guard_value);
        at[p.place_of(p.output_devices[port])]->copy(
            out.back().get(), expected.back().data(), bytes, direction::host_to_device);
    }
    for (auto* s : at)
        s->synchronize();
    for (int call = 0; call < calls; call++) {
        const auto places =
            [&](const auto& memories, const auto& frame, const auto& use) {
                for (size_t port = 0; port < memories.size(); port++)
                    use(port, call * frames * frame(int(port)));
            };
        std::vector<const void*> from(in.size()), host_from(in.size());
        std::vector<void*> to(out.size()), host_to(out.size());
        places(
            in,
            [&](int port) { return p.input_frame(port); },
            [&](size_t port, size_t o) {
                if (int(port) != lost || call % 2 == 0) {
                    from[port] = in[port].get() + o;
                    host_from[port] = data[port].data() + o;
                }
            });
        places(
            out,
            [&](int port) { return p.output_frame(port); },
            [&](size_t port, size_t o) {
                to[port] = out[port].get() + o;
                host_to[port] = expected[port].data() + o;
            });
        kernel->execute(from, to, frames, at);
        std::vector<stream*> one(1, &none);
        host->execute(host_from, host_to, frames, one);
    }
    // later work on the streams of the inputs may overwrite the items that were read
    for (int port = 0; port < p.inputs_ports(); port++)
        at[p.place_of(p.input_devices[port])]->clear(
            in[port].get(), p.input_frame(port) * frames * calls);
    for (int port = 0; port < p.outputs_ports(); port++) {
        std::vector<uint8_t> found(expected[port].size());
        stream& s = *at[p.place_of(p.output_devices[port])];
        s.copy(found.data(), out[port].get(), found.size(), direction::device_to_host);
        s.synchronize();
        expect(same_bits(found, expected[port]),
               kernel->implementation() + ": " + text_of(p, mapped, frames) + ": port " +
                   std::to_string(port));
    }
    for (auto* s : at)
        s->synchronize();
}

std::vector<int> spread(int ports, int gpus, int first)
{
    std::vector<int> on;
    for (int i = 0; i < ports; i++)
        on.push_back((first + i) % gpus);
    return on;
}

} // namespace

int main(int argc, char** argv)
{
    const bool quick = argc > 1 && std::string(argv[1]) == "quick";
    if (no_gpu())
        return 77;
    int gpus = 0;
    cudaGetDeviceCount(&gpus);
    std::vector<way> ways{ way::copies };
    if (cuda::nccl::problem().empty())
        ways.push_back(way::nccl);
    else
        std::printf("no NCCL: %s\n", cuda::nccl::problem().c_str());
    for (const way by : ways) {
        struct size {
            int ports_in, ports_out, channels, inputs, row, frames;
        };
        for (const size s : { size{ 2, 2, 7, 5, 6, 3 },
                              size{ gpus, gpus, 64, 16, 512, 5 },
                              size{ 3, 2, 9, 7, 33, 2 },
                              size{ 1, 2, 4, 3, 1, 1 },
                              size{ 2, 1, 5, 2, 1000, 7 },
                              size{ 2, 2, 64, 32, 8192, 1 },
                              size{ 4, 4, 16, 8, 1027, 70 } })
            for (const bool mapped : { false, true })
                for (const int lost : { -1, 1 }) {
                    if (quick && (s.channels > 7 || mapped == (lost < 0)))
                        continue;
                    exchange::parameters p;
                    p.channels = s.channels;
                    p.inputs = s.inputs;
                    p.row = s.row;
                    p.input_devices = spread(s.ports_in, gpus, 0);
                    p.output_devices = spread(s.ports_out, gpus, 1);
                    p.by = by;
                    check(p, gpus, s.frames, lost, mapped);
                }
        say_done(by == way::nccl ? "nccl" : "copies");
    }
    return summary();
}
