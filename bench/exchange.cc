/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures what the exchange between GPUs carries, and the correlator around it. Prints
 * tables.
 *
 * bench_exchange [PART ...]
 *
 *  - moves: a peer copy of contiguous memory in one direction and in both at once, NCCL's
 *    all-to-all of contiguous pieces, and the exchange by copies and by NCCL, for frames
 *    of 64 and 256 inputs. Gigabytes (1e9) a second that a GPU receives from others, the
 *    median of ten runs after a warm-up.
 *  - chain: F-engines of ranges of inputs -> exchange -> X-engines of ranges of channels
 *    in GNU Radio, sc8, from replay to discard, on one GPU without and on all GPUs with
 *    exchange, beside the same F- and X-engines without what is between them. Gsample/s
 *    of all inputs; and strong scaling, their ratio to as many times that of one GPU.
 *
 * PART: one of these; all by default.
 */

#include "kernels/exchange/exchange.h"
#include "kernels/exchange/nccl.h"
#include "kernels/gpu/memory.h"
#include "runtime/backend.h"
#include "timing.h"
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/exchange.h>
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/aperture/xengine.h>
#include <gnuradio/logger.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <set>
#include <thread>

using namespace gr::aperture;
namespace cuda = gr::aperture::kernels::cuda;

namespace {

constexpr int times = 256, taps = 8;
int channels = 1024;

std::vector<std::string> all_gpus(int gpus)
{
    std::vector<std::string> names;
    for (int i = 0; i < gpus; i++)
        names.push_back("cuda:" + std::to_string(i));
    return names;
}

//! Streams of all GPUs.
struct gpu_streams {
    std::vector<device> devices;
    std::vector<std::unique_ptr<stream>> owned;
    std::vector<stream*> all;

    explicit gpu_streams(int gpus)
    {
        for (const auto& name : all_gpus(gpus)) {
            devices.push_back(device::select(name));
            owned.push_back(devices.back().make_stream());
            all.push_back(owned.back().get());
        }
    }
    void synchronize() const
    {
        for (auto* s : all)
            s->synchronize();
    }
    memory allocate(int gpu, size_t bytes) const
    {
        const auto& own = *devices[gpu].own_memory();
        const size_t unit = own.granularity(), size = (bytes + unit - 1) / unit * unit;
        memory m = own.allocate_twice_mapped(size); // mapped twice, like rings
        for (const auto& other : devices)
            if (other != devices[gpu])
                own.share(m.get(), 2 * size, true, *other.own_memory());
        return m;
    }
};

//! Returns the seconds of a call, of many that are given to the GPUs without a wait.
template <class F>
double seconds_of(const gpu_streams& on, const F& call)
{
    constexpr int runs = 10;
    std::vector<double> all;
    for (int run = 0; run < runs + 2; run++) {
        constexpr int calls = 8;
        on.synchronize();
        const double start = now();
        for (int i = 0; i < calls; i++)
            call();
        on.synchronize();
        if (run >= 2)
            all.push_back((now() - start) / calls);
    }
    return median(all);
}

void bench_moves(int gpus)
{
    const gpu_streams on(gpus);
    std::printf("GB/s that each of %d GPUs receives from others\n%-34s %8s %8s\n",
                gpus,
                "",
                "MiB",
                "GB/s");
    const auto say = [](const std::string& what, size_t bytes, double rate) {
        std::printf("%-34s %8.0f %8.1f\n", what.c_str(), bytes / 1048576., rate / 1e9);
        std::fflush(stdout);
    };
    for (const size_t bytes :
         { size_t(16) << 20, size_t(128) << 20, size_t(512) << 20 }) {
        std::vector<memory> from, to;
        for (int gpu = 0; gpu < gpus; gpu++) {
            from.push_back(on.allocate(gpu, bytes));
            to.push_back(on.allocate(gpu, bytes));
        }
        const auto fetch = [&](int gpu) {
            const int other = (gpu + 1) % gpus;
            on.all[gpu]->copy(
                to[gpu].get(), from[other].get(), bytes, direction::within_device);
        };
        say("peer copy, one direction", bytes, bytes / seconds_of(on, [&] { fetch(0); }));
        say("peer copies, all at once", bytes, bytes / seconds_of(on, [&] {
                                                   for (int gpu = 0; gpu < gpus; gpu++)
                                                       fetch(gpu);
                                               }));
        if (!cuda::nccl::problem().empty())
            continue;
        std::vector<int> ranks;
        for (int gpu = 0; gpu < gpus; gpu++)
            ranks.push_back(gpu);
        const auto nccl = cuda::nccl::make(ranks);
        const size_t piece = bytes / gpus; // to each, of which one is the GPU itself
        const double seconds = seconds_of(on, [&] {
            nccl->begin();
            for (int a = 0; a < gpus; a++)
                for (int b = 0; b < gpus; b++)
                    if (a != b) {
                        nccl->send(from[a].get() + b * piece,
                                   piece,
                                   a,
                                   b,
                                   cuda::native(*on.all[a]));
                        nccl->receive(to[b].get() + a * piece,
                                      piece,
                                      b,
                                      a,
                                      cuda::native(*on.all[b]));
                    }
            nccl->end();
        });
        say("NCCL " + nccl->version() + " all-to-all",
            bytes,
            piece * (gpus - 1) / seconds);
    }
    for (const int inputs : { 64, 256 })
        for (const auto by :
             { kernels::exchange::way::copies, kernels::exchange::way::nccl }) {
            if (by == kernels::exchange::way::nccl && !cuda::nccl::problem().empty())
                continue;
            kernels::exchange::parameters p;
            p.channels = channels;
            p.inputs = inputs;
            p.row = 2 * times;
            p.by = by;
            for (int gpu = 0; gpu < gpus; gpu++) {
                p.input_devices.push_back(gpu);
                p.output_devices.push_back(gpu);
            }
            const auto kernel = kernels::exchange::make(p, on.devices[0]);
            for (const int frames : { 1, 4 }) {
                std::vector<memory> memories;
                std::vector<const void*> in;
                std::vector<void*> out;
                for (int gpu = 0; gpu < gpus; gpu++) {
                    memories.push_back(on.allocate(gpu, p.input_frame(gpu) * frames));
                    in.push_back(memories.back().get());
                    memories.push_back(on.allocate(gpu, p.output_frame(gpu) * frames));
                    out.push_back(memories.back().get());
                }
                const size_t bytes = p.output_frame(0) * frames;
                const double seconds =
                    seconds_of(on, [&] { kernel->execute(in, out, frames, on.all); });
                say(std::to_string(inputs) + " inputs, " + kernel->implementation(),
                    bytes,
                    bytes * (gpus - 1.) / gpus / seconds);
            }
        }
}

//! Noise of an rms of 20 steps.
std::vector<char> noise(size_t bytes)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 20);
    std::vector<char> some((1 << 20) - 1), all(bytes);
    for (auto& v : some)
        v = char(std::lrint(std::clamp(normal(random), -127.f, 127.f)));
    for (size_t at = 0; at < bytes; at += some.size())
        std::copy_n(some.begin(), std::min(some.size(), bytes - at), all.begin() + at);
    return all;
}

//! The parts of a flowgraph that are observed while it runs.
struct flow {
    gr::top_block_sptr top = gr::make_top_block("bench");
    std::vector<std::shared_ptr<block_on_device>> blocks;
    std::vector<gr::block_sptr> ends;

    template <class block>
    std::shared_ptr<block> add(const std::shared_ptr<block>& b, long items)
    {
        if (items)
            b->set_min_output_buffer(items);
        blocks.push_back(b);
        return b;
    }
    void end(const gr::block_sptr& b, int port, const std::string& on)
    {
        discard::parameters d;
        d.item_size = b->output_signature()->sizeof_stream_item(port);
        d.device = on;
        ends.push_back(discard::make(d));
        top->connect(b, port, ends.back(), 0);
    }
    uint64_t items() const
    {
        uint64_t least = ~uint64_t(0);
        for (const auto& e : ends)
            least = std::min(least, e->nitems_read(0));
        return least;
    }
    //! Returns the items a second of each end, once all runs.
    double rate(double seconds)
    {
        top->start();
        std::this_thread::sleep_for(std::chrono::duration<double>(0.8));
        // waits from one item to another
        const auto next = [&](uint64_t seen) {
            const double start = now();
            while (items() <= seen && now() - start < 20)
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            return std::make_pair(items(), now());
        };
        const auto first = next(items());
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        const auto last = next(items());
        top->stop();
        top->wait();
        for (const auto& b : blocks)
            if (!b->error().empty())
                throw std::runtime_error(b->name() + ": " + b->error());
        return (last.first - first.first) / (last.second - first.second);
    }
};

constexpr int frames_per_integration = 16;
constexpr long frames_in_ring = 8;

gr::block_sptr add_f_engine(flow& f, int inputs, const std::string& on)
{
    replay::parameters r;
    r.data = noise(size_t(2) * inputs << 18);
    r.item_size = 2 * inputs;
    r.repeats = 0; // without end
    r.rate = 1e6;
    r.center_frequency = 1.42e9;
    r.device = on;
    const auto source = f.add(replay::make(r), frames_in_ring * times * channels);
    f_engine::parameters e;
    e.channels = channels;
    e.inputs = e.inputs_per_port = inputs;
    e.input_type = e.output_type = "sc8";
    e.taps = taps;
    e.gain = 1;
    e.spectra_per_frame = times;
    e.device = on;
    const auto engine = f.add(f_engine::make(e), frames_in_ring);
    f.top->connect(source, 0, engine, 0);
    return engine;
}

std::shared_ptr<xengine> add_xengine(flow& f, int inputs, int some, const std::string& on)
{
    xengine::parameters x;
    x.channels = some;
    x.inputs = inputs;
    x.type = "sc8";
    x.spectra_per_frame = times;
    x.integration = frames_per_integration;
    x.device = on;
    const auto engine = f.add(xengine::make(x), 0);
    f.end(engine, 0, on);
    return engine;
}

//! Returns the samples of all inputs a second.
//! \param by parameter of exchange
double chain_rate(int inputs, const std::vector<std::string>& on, const std::string& by)
{
    flow f;
    const int n = int(on.size());
    std::shared_ptr<exchange> turn;
    if (n > 1) {
        exchange::parameters p;
        p.channels = channels;
        p.inputs = inputs;
        p.spectra_per_frame = times;
        p.type = "sc8";
        p.input_devices = p.output_devices = on;
        p.by = by;
        turn = f.add(exchange::make(p), frames_in_ring);
    }
    for (int i = 0; i < n; i++) {
        const auto engine =
            add_f_engine(f, exchange::range_of(i, n, inputs).second, on[i]);
        const auto correlator =
            add_xengine(f, inputs, exchange::range_of(i, n, channels).second, on[i]);
        if (turn) {
            f.top->connect(engine, 0, turn, i);
            f.top->connect(turn, i, correlator, 0);
        } else {
            f.top->connect(engine, 0, correlator, 0);
        }
    }
    return f.rate(1) * frames_per_integration * times * channels * double(inputs);
}

/*!
 * Returns the rate of the same engines, each GPU by itself: its F-engine's frames are
 * discarded, and its X-engine sums frames that are there.
 */
double engines_rate(int inputs, const std::vector<std::string>& on)
{
    flow f;
    const int n = int(on.size());
    // an F-engine of all inputs of the range; an X-engine of frames of the same rate
    for (int i = 0; i < n; i++) {
        const int own = exchange::range_of(i, n, inputs).second;
        const int some = exchange::range_of(i, n, channels).second;
        const auto engine = add_f_engine(f, own, on[i]);
        const auto correlator = add_xengine(f, inputs, some, on[i]);
        // the X-engine only considers the number of bytes
        if (size_t(own) * channels != size_t(inputs) * some)
            throw std::runtime_error("ranges of different sizes");
        f.top->connect(engine, 0, correlator, 0);
    }
    return f.rate(1) * frames_per_integration * times * channels * double(inputs);
}

void bench_chain(int gpus)
{
    const auto on = all_gpus(gpus);
    std::printf(
        "\nF -> exchange -> X: Gsample/s of all inputs, sc8, frames of %d spectra\n"
        "%7s %8s %8s %8s %8s %8s %14s %8s\n",
        times,
        "inputs",
        "channels",
        "one GPU",
        "copies",
        "NCCL",
        "engines",
        "copies/engines",
        "scaling");
    for (const int inputs : { 64, 256, 1024 }) {
        channels = inputs == 1024 ? 256 : 1024; // an integration is an item
        const double one = chain_rate(inputs, { on[0] }, "");
        const double copies = chain_rate(inputs, on, "copies");
        const double nccl =
            cuda::nccl::problem().empty() ? chain_rate(inputs, on, "nccl") : 0;
        const double engines = engines_rate(inputs, on);
        std::printf("%7d %8d %8.1f %8.1f %8.1f %8.1f %14.2f %8.2f\n",
                    inputs,
                    channels,
                    one / 1e9,
                    copies / 1e9,
                    nccl / 1e9,
                    engines / 1e9,
                    copies / engines,
                    copies / one / gpus);
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    const std::set<std::string> parts(argv + 1, argv + argc);
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    int gpus = 0;
    cudaGetDeviceCount(&gpus);
    if (gpus < 2) {
        std::printf("%d GPUs: two are needed\n", gpus);
        return 77;
    }
    std::printf("%d x %s\n", gpus, device::select("cuda").description().c_str());
    if (parts.empty() || parts.count("moves"))
        bench_moves(gpus);
    if (parts.empty() || parts.count("chain"))
        bench_chain(gpus);
    return 0;
} catch (const std::exception& e) {
    std::cerr << "bench_exchange: " << e.what() << std::endl;
    return 1;
}
