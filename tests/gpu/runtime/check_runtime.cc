/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Checks what only a GPU shows: no thread waits for it in work() but in the three
 * intended waits, memory is released after a run, a kernel that fails ends the flowgraph
 * with one error, an edge between two GPUs carries the right items, and data that is
 * replayed stays right in a ring that is written once. CUPTI reports every call of CUDA's
 * runtime and of its driver. Exit status: 0 success, 1 a failure, 77 no GPU (skipped).
 *
 * check_runtime
 */

#include "../../cpp/qa_device.h"
#include "runtime/host_wait.h"
#include <gnuradio/aperture/beam_power.h>
#include <gnuradio/aperture/beamformer.h>
#include <gnuradio/aperture/copy.h>
#include <gnuradio/aperture/corner_turn.h>
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/aperture/power_detector.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/aperture/xengine.h>
#include <gnuradio/blocks/head.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/logger.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

using namespace gr::aperture;

namespace {

int failures = 0;

void expect(bool ok, const std::string& what)
{
    std::printf("%-6s %s\n", ok ? "ok" : "FAILED", what.c_str());
    std::fflush(stdout);
    failures += !ok;
}

// ---- calls of CUDA

/*!
 * Returns whether a function of this name may wait for the GPU: allocating and freeing
 * does, and copies that are not asynchronous.
 */
bool may_wait(const std::string& name)
{
    auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("Event")) // making and recording one does not
        return has("Synchronize");
    if (has("TensorMap")) // a description, made by the host alone
        return false;
    return has("Synchronize") || has("Alloc") || has("Free") || has("Register") ||
           has("Map") || has("MemCreate") || has("MemRelease") || has("Destroy") ||
           has("StreamCreate") || has("ModuleLoad") || has("LibraryLoad") ||
           ((has("Memcpy") || has("Memset")) && !has("Async"));
}

std::mutex mutex;
std::set<std::string> calls, forbidden; // calls of threads that must not wait

void CUPTIAPI called(void*,
                     CUpti_CallbackDomain domain,
                     CUpti_CallbackId id,
                     const void* data)
{
    const auto* info = static_cast<const CUpti_CallbackData*>(data);
    if (info->callbackSite != CUPTI_API_ENTER || !working_thread::must_not_wait())
        return;
    const char* name = nullptr;
    cuptiGetCallbackName(domain, id, &name);
    std::lock_guard<std::mutex> guard(mutex);
    calls.insert(name);
    if (may_wait(name))
        forbidden.insert(name);
}

std::string list(const std::set<std::string>& names)
{
    std::string all;
    for (const auto& n : names)
        all += " " + n;
    return all;
}

//! Returns the calls that may wait, of a flowgraph's working threads.
std::set<std::string> waits_of(const std::function<void()>& run)
{
    {
        std::lock_guard<std::mutex> guard(mutex);
        calls.clear();
        forbidden.clear();
    }
    run();
    std::lock_guard<std::mutex> guard(mutex);
    return forbidden;
}

// ---- flowgraphs

constexpr int channels = 64, times = 64;

struct chain {
    gr::top_block_sptr top = gr::make_top_block("check");
    xengine::sptr last;

    //! Samples from host to host through all blocks, with a reader on each edge.
    chain(const std::string& type, int64_t samples, int inputs = 4)
    {
        const bool bytes = type == "sc8";
        const size_t sample = bytes ? 2 : 8;
        auto source = qa::make<qa::source>(sample * inputs, samples);
        pfb_channelizer::parameters f;
        f.channels = channels;
        f.inputs = f.inputs_per_port = inputs;
        f.input_type = f.output_type = type;
        f.gain = 1;
        f.device = "cuda";
        corner_turn::parameters t;
        t.channels = channels;
        t.inputs = t.inputs_per_port = inputs;
        t.spectra_per_frame = times;
        t.type = type;
        t.device = "cuda";
        xengine::parameters x;
        x.channels = channels;
        x.inputs = inputs;
        x.spectra_per_frame = times;
        x.type = type;
        x.integration = 4;
        x.device = "cuda";
        gr::aperture::copy::parameters c;
        c.item_size = int(sample) * inputs * channels;
        c.device = "cuda";
        auto fir = pfb_channelizer::make(f);
        auto copied = gr::aperture::copy::make(c);
        auto turn = corner_turn::make(t);
        last = xengine::make(x);
        top->connect(source, 0, fir, 0);
        top->connect(fir, 0, copied, 0);
        top->connect(copied, 0, turn, 0);
        top->connect(turn, 0, last, 0);
        for (const gr::block_sptr& b :
             { gr::block_sptr(fir), gr::block_sptr(turn), gr::block_sptr(last) }) {
            const int size = b->output_signature()->sizeof_stream_item(0);
            top->connect(b, 0, gr::blocks::null_sink::make(size), 0);
        }
    }
};

/*!
 * Samples from the host, by way of f_engine, into beams and their powers, made by two
 * blocks and by one; and replayed voltages of 4 bits into powers that stay on the GPU.
 */
class beams_chain
{
    static constexpr int beams = 4;

public:
    beams_chain(const std::string& type, int64_t samples, int inputs) : d_inputs(inputs)
    {
        f_engine::parameters f;
        f.channels = channels;
        f.inputs = f.inputs_per_port = inputs;
        f.input_type = f.output_type = type;
        f.gain = 1;
        f.spectra_per_frame = times;
        f.device = "cuda";
        d_engine = f_engine::make(f);
        d_former = beamformer::make(sized<beamformer>(type));
        d_detector = power_detector::make(detecting(sized<power_detector>("fc32")));
        d_both = beam_power::make(with_masks(sized<beam_power>(type)));
        const size_t sample = type == "sc8" ? 2 : 8;
        d_top->connect(qa::make<qa::source>(sample * inputs, samples), 0, d_engine, 0);
        d_top->connect(d_engine, 0, d_former, 0);
        d_top->connect(d_former, 0, d_detector, 0);
        d_top->connect(d_engine, 0, d_both, 0);
        for (const gr::block_sptr& b : { gr::block_sptr(d_former),
                                         gr::block_sptr(d_detector),
                                         gr::block_sptr(d_both) })
            d_top->connect(b, 0, gr::blocks::null_sink::make(item_of(b)), 0);

        d_replayed = beam_power::make(with_masks(sized<beam_power>("sc4")));
        replay::parameters r;
        r.item_size = channels * inputs * times;
        r.data.resize(3 * size_t(r.item_size), 0x3d);
        r.repeats = 100;
        r.device = "cuda";
        discard::parameters d;
        d.item_size = item_of(d_replayed);
        d.device = "cuda";
        auto voltages = replay::make(r);
        d_top->connect(voltages, 0, d_replayed, 0);
        d_top->connect(d_replayed, 0, discard::make(d), 0);
    }

    //! Runs it to its end; meanwhile everything settable is set.
    void run()
    {
        std::atomic<bool> ended{ false };
        std::thread setter([&] {
            for (float n = 1; !ended; n++) {
                d_engine->set_gain(n, -1);
                for (const auto& block : { d_both, d_replayed })
                    set(*block, beams + 2, n);
                set(*d_former, beams, n);
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        d_top->run();
        ended = true;
        setter.join();
    }

private:
    static int item_of(const gr::block_sptr& b)
    {
        return b->output_signature()->sizeof_stream_item(0);
    }

    template <class block>
    typename block::parameters sized(const std::string& type) const
    {
        typename block::parameters p;
        p.channels = channels;
        p.beams = beams;
        p.spectra_per_frame = times;
        p.type = type;
        p.device = "cuda";
        if constexpr (!std::is_same_v<block, power_detector>)
            p.inputs = d_inputs;
        return p;
    }

    template <class parameters>
    static parameters detecting(parameters p)
    {
        p.products = "IQUV";
        p.spectra = times / 4;
        return p;
    }

    beam_power::parameters with_masks(beam_power::parameters p) const
    {
        p.incoherent_beams = 2;
        p.masks.assign(size_t(beams + 2) * d_inputs, 1);
        return detecting(p);
    }

    template <class block>
    void set(block& b, int masks, float n) const
    {
        b.set_weights(std::vector<std::complex<float>>(size_t(beams) * d_inputs, n));
        b.set_gains({ 1 / n });
        std::vector<int> mask(size_t(masks) * d_inputs, 1);
        mask[int(n) % d_inputs] = 0; // mask of a coherent beam
        b.set_mask(mask);
    }

    int d_inputs;
    gr::top_block_sptr d_top = gr::make_top_block("check");
    f_engine::sptr d_engine;
    beamformer::sptr d_former;
    power_detector::sptr d_detector;
    beam_power::sptr d_both, d_replayed;
};

//! A device block that waits, as no block may.
class waiting_block : public device_block
{
public:
    explicit waiting_block(const device& d)
        : gr::block("waiting_block", signature_on(d, 1, 8), signature_on(d, 1, 8)),
          device_block(d)
    {
    }
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        cudaStreamSynchronize(static_cast<cudaStream_t>(work_stream().native_handle()));
        const int n = std::min(noutput_items, ninput_items[0]);
        consume_each(n);
        return n;
    }
};

//! A device block that makes the GPU fail: a copy from where there is no memory.
class failing_block : public device_block
{
public:
    explicit failing_block(const device& d)
        : gr::block("failing_block", signature_on(d, 1, 8), signature_on(d, 1, 8)),
          device_block(d)
    {
    }
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override
    {
        const int n = std::min(noutput_items, ninput_items[0]);
        const void* from =
            ++d_calls < 5 ? input_items[0] : reinterpret_cast<const void*>(uintptr_t(64));
        work_stream().copy(output_items[0], from, 8 * n, direction::within_device);
        consume_each(n);
        return n;
    }

private:
    int d_calls = 0;
};

size_t memory_in_use()
{
    size_t free = 0, total = 0;
    cudaDeviceSynchronize();
    cudaMemGetInfo(&free, &total);
    return total - free;
}

// ---- checks

void check_waits()
{
    const device d = device::select("cuda");
    CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, called, nullptr) != CUPTI_SUCCESS ||
        cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) != CUPTI_SUCCESS ||
        cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS) {
        expect(false, "CUPTI can be used");
        return;
    }
    const long before = working_thread::forbidden_waits();
    const std::pair<const char*, int> chains[] = {
        { "sc8", 4 }, { "sc8", 20 }, { "sc8", 72 }, { "fc32", 4 }
    };
    for (const auto& [type, inputs] : chains) {
        const auto waits = waits_of([&, type = type, inputs = inputs] {
            for (int run = 0; run < 3; run++)
                chain(type, 8000000 / inputs, inputs).top->run();
        });
        expect(waits.empty(),
               "no wait in work(), " + std::to_string(inputs) + " inputs of " + type +
                   ":" + list(waits));
        expect(calls.size() > 4, "  it was looked at:" + list(calls));
    }
    for (const auto& [type, inputs] : chains) {
        const auto waits = waits_of([&, type = type, inputs = inputs] {
            beams_chain(type, 8000000 / inputs, inputs).run();
        });
        expect(waits.empty(),
               "no wait in work(), beams of " + std::to_string(inputs) + " inputs of " +
                   type + " that are pointed anew:" + list(waits));
        expect(calls.size() > 4, "  it was looked at:" + list(calls));
    }
    expect(working_thread::forbidden_waits() == before, "and the runtime has seen none");
    const auto waits = waits_of([&] {
        auto top = gr::make_top_block("check");
        auto wrong = gnuradio::make_block_sptr<waiting_block>(d);
        top->connect(qa::make<qa::source>(8, 100000), 0, wrong, 0);
        top->connect(wrong, 0, gr::blocks::null_sink::make(8), 0);
        top->run();
    });
    expect(waits.count("cuStreamSynchronize") +
                   waits.count("cudaStreamSynchronize_v3020") >
               0,
           "a block that waits is noticed:" + list(waits));
    cuptiUnsubscribe(subscriber);
}

void check_memory()
{
    auto same = [](size_t before, size_t after, const std::string& what) {
        expect(before == after,
               what + std::to_string(after) +
                   " bytes, before: " + std::to_string(before));
    };
    size_t before;
    {
        chain c("sc8", 500000);
        c.top->run();
        before = memory_in_use();
        for (int run = 0; run < 20; run++)
            c.top->run();
        same(before, memory_in_use(), "memory in use after 20 runs of a flowgraph: ");
    }
    before = memory_in_use();
    for (int run = 0; run < 20; run++)
        chain("sc8", 500000).top->run();
    same(before, memory_in_use(), "and after 20 flowgraphs: ");
}

void check_two_gpus()
{
    int count = 0;
    cudaGetDeviceCount(&count);
    if (count < 2) {
        std::printf("skipped an edge between two GPUs: there is one\n");
        return;
    }
    auto make_copy = [](const char* name) {
        gr::aperture::copy::parameters p;
        p.item_size = 8;
        p.device = name;
        return gr::aperture::copy::make(p);
    };
    auto first = make_copy("cuda:0"), second = make_copy("cuda:1");
    auto came = qa::make<qa::sink>(8, qa::sequence());
    {
        auto top = gr::make_top_block("check");
        top->connect(qa::make<qa::source>(8, 1000000), 0, first, 0);
        top->connect(first, 0, second, 0);
        top->connect(second, 0, came, 0);
        top->run();
    }
    expect(came->items == 1000000 && came->wrong == 0,
           "an edge between two GPUs: " + first->error() + second->error());
    // a copy by way of the host
    auto third = make_copy("cuda:1");
    auto passed = qa::make<qa::sink>(8, qa::sequence());
    auto top = gr::make_top_block("check");
    auto between = gr::blocks::head::make(8, 1000000);
    top->connect(qa::make<qa::source>(8, 1000000), 0, third, 0);
    top->connect(third, 0, between, 0);
    auto fourth = make_copy("cuda:0");
    top->connect(between, 0, fourth, 0);
    top->connect(fourth, 0, passed, 0);
    top->run();
    expect(passed->items == 1000000 && passed->wrong == 0,
           "two GPUs in one flowgraph, with a host block between them");
}

//! Repetitions that the ring holds, and others; readers on the host and on the GPU.
void check_replay()
{
    constexpr int item = 8, repeats = 30;
    for (const int64_t items : { 1 << 19, 300007 }) {
        replay::parameters r;
        r.item_size = item;
        r.data.resize(size_t(items * item));
        for (size_t i = 0; i < r.data.size(); i++)
            r.data[i] = char(qa::sequence_byte(i));
        r.repeats = repeats;
        r.device = "cuda";
        gr::aperture::copy::parameters c;
        c.item_size = item;
        c.device = "cuda";
        const auto sent = qa::each_byte(
            [=](int64_t i, size_t b) { return qa::sequence_byte(i % items * item + b); });
        const auto direct = qa::make<qa::sink>(item, sent);
        const auto copied = qa::make<qa::sink>(item, sent);
        const auto source = replay::make(r);
        const auto between = gr::aperture::copy::make(c);
        auto top = gr::make_top_block("check");
        top->connect(source, 0, direct, 0);
        top->connect(source, 0, between, 0);
        top->connect(between, 0, copied, 0);
        top->run();
        for (const auto& k : { direct, copied })
            expect(k->items == items * repeats && k->wrong == 0,
                   std::to_string(items) + " items " + std::to_string(repeats) +
                       " times: " + std::to_string(k->items) + ", " +
                       std::to_string(k->wrong) + " bytes wrong");
    }
}

//! Runs in a process of its own: later uses of the GPU fail, too.
int run_failing_flowgraph()
{
    const device d = device::select("cuda");
    auto top = gr::make_top_block("check");
    auto wrong = gnuradio::make_block_sptr<failing_block>(d);
    auto sink = gr::blocks::null_sink::make(8);
    top->connect(qa::make<qa::source>(8, int64_t(1) << 40), 0, wrong, 0);
    top->connect(wrong, 0, sink, 0);
    top->run(); // hangs if the error ends nothing
    std::printf("       the error: %s\n", wrong->error().c_str());
    std::fflush(stdout);
    return wrong->error().empty() ? 1 : 0;
}

void check_failure()
{
    std::fflush(stdout);
    const pid_t child = fork(); // before CUDA is used: a context does not survive it
    if (child == 0) {
        alarm(60);
        _exit(run_failing_flowgraph());
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a failing GPU ends the flowgraph, and the block says why");
}

//! Returns whether there is a GPU; asked in a child, as looking for GPUs uses CUDA.
bool there_is_a_gpu()
{
    const pid_t child = fork();
    if (child == 0) {
        int count = 0;
        _exit(cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

int main()
{
    if (!there_is_a_gpu()) {
        std::printf("skipped: no GPU\n");
        return 77;
    }
    gr::logging::singleton().set_default_level(spdlog::level::err);
    check_failure();
    check_waits();
    check_memory();
    check_two_gpus();
    check_replay();
    return failures ? 1 : 0;
}
