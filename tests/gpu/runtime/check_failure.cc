/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Checks a GPU that fails: a kernel that traps ends all work on it, and, where GPUs can
 * access each other's memory, on the others of the process (seen on four H100). The
 * flowgraph of an exchange between it and another GPU (or itself, where there is only
 * one) has to end with errors that say so, and one of the other GPU must not hang.
 */

#include "../check_cuda.h"
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/exchange.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/top_block.h>
#include <future>

using namespace gr::aperture;

namespace {

constexpr int channels = 256, inputs = 8, times = 64;

//! Runs a kernel on a GPU that traps.
void fail(int gpu)
{
    static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry fail()\n{\n    trap;\n}\n";
    const cuda::device_guard guard(gpu);
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cuda::check(
        cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a kernel that fails");
    cuda::check(cudaLibraryGetKernel(&kernel, library, "fail"), "finding it");
    cuda::check(cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
                "running it");
}

struct flow {
    gr::top_block_sptr top = gr::make_top_block("failure");
    std::vector<std::shared_ptr<block_on_device>> blocks;
    std::vector<std::shared_ptr<discard>> ends;

    std::shared_ptr<replay> add_source(int own, const std::string& on)
    {
        replay::parameters r;
        r.item_size = channels * own * times * 2;
        r.data.assign(r.item_size, 1);
        r.repeats = 0; // without end
        r.rate = 1;
        r.device = on;
        auto made = replay::make(r);
        blocks.push_back(made);
        return made;
    }
    void end(const gr::block_sptr& b, int port, size_t item_size, const std::string& on)
    {
        discard::parameters d;
        d.item_size = item_size;
        d.device = on;
        ends.push_back(discard::make(d));
        blocks.push_back(ends.back());
        top->connect(b, port, ends.back(), 0);
    }
    bool flows_on() const
    {
        const auto before = ends[0]->nitems_read(0);
        for (int i = 0; i < 1000 && ends[0]->nitems_read(0) < before + 100; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return ends[0]->nitems_read(0) >= before + 100;
    }
    void wait_for_the_end(int seconds)
    {
        auto waiting = std::async(std::launch::async, [this] { top->wait(); });
        if (waiting.wait_for(std::chrono::seconds(seconds)) !=
            std::future_status::ready) {
            // no user would wait longer
            std::printf("FAILED: the flowgraph does not end\n");
            std::fflush(stdout);
            std::_Exit(1);
        }
    }
};

} // namespace

int main()
{
    if (no_gpu())
        return 77;
    int gpus = 0;
    cudaGetDeviceCount(&gpus);
    const std::vector<std::string> on{ "cuda:0", "cuda:" + std::to_string(gpus - 1) };

    flow f;
    exchange::parameters p;
    p.channels = channels;
    p.inputs = inputs;
    p.spectra_per_frame = times;
    p.type = "sc8";
    p.input_devices = p.output_devices = on;
    const auto turn = exchange::make(p);
    f.blocks.push_back(turn);
    for (int i = 0; i < 2; i++) {
        f.top->connect(f.add_source(inputs / 2, on[i]), 0, turn, i);
        f.end(turn, i, channels * inputs * times, on[i]);
    }
    flow other; // on the first GPU alone
    other.end(other.add_source(inputs, on[0]), 0, channels * inputs * times * 2, on[0]);

    f.top->start();
    other.top->start();
    expect(f.flows_on(), "the exchange runs");
    fail(gpus - 1);
    f.wait_for_the_end(60);
    int errors = 0;
    for (const auto& b : f.blocks) {
        if (b->error().empty())
            continue;
        errors++;
        std::printf("%s: %s\n", b->name().c_str(), b->error().c_str());
    }
    expect(errors > 0, "an error says why the flowgraph ended");
    other.top->stop();
    other.wait_for_the_end(60);
    say_done("a GPU that fails");
    // the rest of the GPU's memory cannot be released in order
    const int result = summary();
    std::fflush(stdout);
    std::_Exit(result);
}
