/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the filter bank on the CPU beside its bounds and beside GNU Radio's own blocks,
 * in one run. Prints tables; with json=FILE, writes JSON, too.
 *
 * bench_pfb_host [channels=N[,N]...] [taps=N] [seconds=S] [inputs=N] [json=FILE]
 *
 *  - Memory: one thread that reads 1 GiB.
 *  - One thread: FFTW alone (64 transforms in a call, measured plans), the filter alone,
 *    and the kernel of pfb_channelizer, in calls of 64 spectra; the kernel of f_engine
 *    with frames of 256 spectra.
 *  - Two threads: two such kernels, each with samples of its own.
 *  - In GNU Radio: pfb_channelizer, fft_vcc and pfb_channelizer_ccf between a source that
 *    costs nothing and a sink that costs nothing, with GNU Radio's own buffers and with
 *    buffers of 2 MiB.
 *
 * A figure is the median of SECONDS (default 0.5) of calls after as many that do not
 * count as take a fifth of it. Rates are Msample/s of all inputs: real samples where the
 * type is real. `by clock` is the rate by the clock; `by processor` the best that a call
 * reached in a second of its thread, which the clock would show on a core with nothing
 * else to do. For flowgraphs, `cores` is the processor time in a second.
 */

#include "kernels/common/fftw.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/host_fir.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include "timing.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/stream_to_streams.h>
#include <gnuradio/fft/fft_v.h>
#include <gnuradio/filter/pfb_channelizer_ccf.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace gr::aperture;

namespace {

struct setup {
    std::vector<int> channels{ 256, 1024, 4096 };
    int taps = 8;
    int inputs = 1;
    double seconds = .5;
};

//! Seconds of a call.
struct spent {
    double clock;     //!< median
    double processor; //!< the least, of the calling thread
};

spent time_calls(double seconds, const std::function<void()>& call)
{
    std::vector<double> clock, processor;
    const double begin = now();
    while (now() - begin < .2 * seconds)
        call();
    while (clock.size() < 5 || now() - begin < 1.2 * seconds) {
        const double start = now(), thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        call();
        processor.push_back(seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread);
        clock.push_back(now() - start);
    }
    return { median(clock), *std::min_element(processor.begin(), processor.end()) };
}

//! A line of a table, and an object of the JSON file.
class report
{
public:
    void title(const std::string& text, const std::vector<std::string>& columns)
    {
        std::printf("\n%s\n\n|", text.c_str());
        for (const auto& c : columns)
            std::printf(" %s |", c.c_str());
        std::printf("\n|");
        for (size_t i = 0; i < columns.size(); i++)
            std::printf("---|");
        std::printf("\n");
        d_title = text;
        d_columns = columns;
    }
    void line(const std::vector<std::string>& cells)
    {
        std::printf("|");
        std::ostringstream json;
        json << "{\"table\": \"" << d_title << "\"";
        for (size_t i = 0; i < cells.size(); i++) {
            std::printf(" %s |", cells[i].c_str());
            json << ", \"" << d_columns[i] << "\": \"" << cells[i] << "\"";
        }
        std::printf("\n");
        std::fflush(stdout);
        d_json.push_back(json.str() + "}");
    }
    void write(const std::string& name, const std::string& command) const
    {
        std::ofstream file(name);
        file << "{\"command\": \"" << command << "\", \"rows\": [\n";
        for (size_t i = 0; i < d_json.size(); i++)
            file << "  " << d_json[i] << (i + 1 < d_json.size() ? ",\n" : "\n");
        file << "]}\n";
    }

private:
    std::string d_title;
    std::vector<std::string> d_columns;
    std::vector<std::string> d_json;
};

std::string text(double value, const char* format = "%.0f")
{
    char line[64];
    std::snprintf(line, sizeof line, format, value);
    return line;
}
//! Returns Msample/s, by both measures.
std::string rates(double samples, const spent& s)
{
    return text(1e-6 * samples / s.clock) + " / " + text(1e-6 * samples / s.processor);
}

//! Returns noise of an rms of 20 steps, as whole samples of a type.
std::vector<char> noise(sample_type type, size_t bytes)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 20);
    std::vector<char> all(bytes);
    const size_t some = std::min<size_t>(bytes, 1 << 20);
    if (type == sample_type::fc32)
        for (size_t i = 0; i < some / sizeof(float); i++) {
            const float v = normal(random);
            std::memcpy(&all[i * sizeof v], &v, sizeof v);
        }
    else
        for (size_t i = 0; i < some; i++)
            all[i] = char(std::lrint(std::clamp(normal(random), -127.f, 127.f)));
    for (size_t at = some; at < bytes; at += some)
        std::copy_n(all.begin(), std::min(some, bytes - at), all.begin() + at);
    return all;
}

// ---- without GNU Radio

struct case_of_types {
    sample_type input, output;
};
const case_of_types all_types[] = { { sample_type::fc32, sample_type::fc32 },
                                    { sample_type::fc32, sample_type::sc8 },
                                    { sample_type::sc8, sample_type::fc32 },
                                    { sample_type::sc8, sample_type::sc8 },
                                    { sample_type::s8, sample_type::sc8 } };

constexpr int spectra_of_call = 64, spectra_of_filter = 16;

kernels::pfb::parameters
filter_of(const setup& s, int channels, const case_of_types& types)
{
    kernels::pfb::parameters p{ channels,    s.taps,       1,     s.inputs,
                                types.input, types.output, false, {} };
    p.prototype = kernels::prototype(p.hop(), p.taps, "hann");
    return p;
}

//! A kernel with its own samples: more of them than fit into the caches, call by call.
class kernel_run
{
public:
    kernel_run(const kernels::pfb::parameters& p, bool frames)
        : d_p(p), d_frames(frames), d_stream(device::select("cpu").make_stream())
    {
        const auto cpu = device::select("cpu");
        d_call_bytes = bytes_of(p.input, spectra_of_call * p.hop(), p.inputs());
        d_calls = std::max<size_t>(2, (size_t(64) << 20) / d_call_bytes);
        d_samples = noise(p.input,
                          d_calls * d_call_bytes +
                              bytes_of(p.input, p.taps * p.hop(), p.inputs()));
        if (frames)
            d_f_engine = kernels::f_engine::make({ p, times, 0, p.channels }, cpu);
        else
            d_pfb = kernels::pfb::make(p, cpu);
        const size_t voltage = p.inputs() * p.channels * size_of(p.output);
        d_out.resize((frames ? times : size_t(spectra_of_call)) * voltage);
        const std::vector<cfloat> gains(size_t(p.inputs()) * p.channels,
                                        cfloat(.5f, .5f));
        if (d_pfb)
            d_pfb->set_gains(gains.data(), *d_stream);
        else
            d_f_engine->set_gains(gains.data(), *d_stream);
    }
    void call()
    {
        const kernels::pfb::source from{ d_samples.data() +
                                             d_call % d_calls * d_call_bytes,
                                         size_t(d_p.taps - 1) * d_p.hop() };
        void* to = d_out.data();
        if (d_frames)
            d_f_engine->execute(&from,
                                to,
                                int(d_call * spectra_of_call % times),
                                spectra_of_call,
                                *d_stream);
        else
            d_pfb->execute(&from, &to, spectra_of_call, *d_stream);
        d_call++;
    }
    double samples() const { return double(spectra_of_call) * d_p.hop() * d_p.inputs(); }

private:
    static constexpr int times = 256;
    const kernels::pfb::parameters d_p;
    const bool d_frames;
    const std::unique_ptr<stream> d_stream;
    std::unique_ptr<kernels::pfb> d_pfb;
    std::unique_ptr<kernels::f_engine> d_f_engine;
    size_t d_call_bytes, d_calls, d_call = 0;
    std::vector<char> d_samples, d_out;
};

spent transforms_alone(const setup& s, int points, bool real)
{
    const int lines = spectra_of_call, bins = real ? points / 2 + 1 : points;
    auto in = kernels::host::make_fft_buffer(size_t(lines) * points * (real ? 1 : 2));
    auto out = kernels::host::make_fft_buffer(size_t(lines) * bins * 2);
    auto* results = reinterpret_cast<fftwf_complex*>(out.get());
    kernels::host::make_planner_thread_safe();
    const kernels::host::plan_ptr plan(
        real ? fftwf_plan_many_dft_r2c(1,
                                       &points,
                                       lines,
                                       in.get(),
                                       nullptr,
                                       1,
                                       points,
                                       results,
                                       nullptr,
                                       1,
                                       bins,
                                       FFTW_MEASURE)
             : fftwf_plan_many_dft(1,
                                   &points,
                                   lines,
                                   reinterpret_cast<fftwf_complex*>(in.get()),
                                   nullptr,
                                   1,
                                   points,
                                   results,
                                   nullptr,
                                   1,
                                   points,
                                   FFTW_FORWARD,
                                   FFTW_MEASURE));
    const auto values = noise(sample_type::fc32, sizeof(float) * points);
    for (int line = 0; line < (real ? 1 : 2) * lines; line++)
        std::memcpy(in.get() + size_t(line) * points, values.data(), values.size());
    return time_calls(s.seconds, [&] { fftwf_execute(plan.get()); });
}

//! Returns Msample/s of two kernels side by side.
double two_threads(const setup& s, const kernels::pfb::parameters& p)
{
    std::atomic<int> ready{ 0 };
    std::atomic<bool> counts{ false }, stop{ false };
    std::atomic<int64_t> calls{ 0 };
    std::vector<std::thread> threads;
    double samples = 0;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            kernel_run run(p, false);
            run.call();
            if (ready++ == 0)
                samples = run.samples();
            while (!stop) {
                run.call();
                if (counts)
                    calls++;
            }
        });
    while (ready < 2)
        std::this_thread::yield();
    std::vector<double> found;
    counts = true;
    for (int part = 0; part < 5; part++) {
        const int64_t before = calls;
        const double start = now();
        std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds / 5));
        found.push_back(double(calls - before) / (now() - start));
    }
    stop = true;
    for (auto& t : threads)
        t.join();
    return 1e-6 * samples * median(found);
}

// ---- in GNU Radio

//! A source that costs nothing: it fills its ring once and claims then that it did again.
class ring_of_noise : public gr::sync_block
{
public:
    ring_of_noise(sample_type type, int item_size)
        : gr::sync_block("ring_of_noise",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item_size)),
          d_noise(noise(type, size_t(1) << 22)),
          d_item(item_size)
    {
    }
    int work(int count,
             gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override
    {
        if (nitems_written(0) * d_item < size_t(64) << 20) {
            count = std::min(count, int(d_noise.size() / d_item));
            std::memcpy(output_items[0], d_noise.data(), size_t(count) * d_item);
        }
        return count;
    }

private:
    const std::vector<char> d_noise;
    const size_t d_item;
};

struct flow {
    double rate;  //!< items of the source in a second
    double cores; //!< processor seconds in a second
};

flow run_flow(const setup& s, gr::top_block_sptr top, gr::block& source)
{
    top->start();
    std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
    std::vector<double> found;
    const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = now();
    for (int part = 0; part < 5; part++) {
        const uint64_t before = source.nitems_written(0);
        const double start = now();
        std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds / 2));
        found.push_back(double(source.nitems_written(0) - before) / (now() - start));
    }
    const double cores =
        (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor) / (now() - begin);
    top->stop();
    top->wait();
    return { median(found), cores };
}

void enlarge(gr::block& block, int item_size)
{
    block.set_min_output_buffer((2 << 20) / item_size);
}

flow run_pfb(const setup& s, int channels, const case_of_types& types, bool large)
{
    auto top = gr::make_top_block("bench");
    pfb_channelizer::parameters p;
    p.channels = channels;
    p.taps = s.taps;
    p.inputs = p.inputs_per_port = 1;
    p.input_type = name_of(types.input);
    p.output_type = name_of(types.output);
    p.gain = 1;
    p.device = "cpu";
    const auto block = pfb_channelizer::make(p);
    const int item = int(size_of(types.input)),
              spectrum = int(channels * size_of(types.output));
    const auto source = gnuradio::make_block_sptr<ring_of_noise>(types.input, item);
    const auto sink = gr::blocks::null_sink::make(spectrum);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    if (large) {
        enlarge(*source, item);
        enlarge(*block, spectrum);
    }
    return run_flow(s, top, *source);
}

//! Runs fft_vcc with spectra as items.
flow run_fft_vcc(const setup& s, int channels, bool large)
{
    auto top = gr::make_top_block("bench");
    const int item = channels * int(sizeof(cfloat));
    const auto source = gnuradio::make_block_sptr<ring_of_noise>(sample_type::fc32, item);
    const auto block = gr::fft::fft_v<gr_complex, true>::make(channels, {}, true);
    const auto sink = gr::blocks::null_sink::make(item);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    if (large) {
        enlarge(*source, item);
        enlarge(*block, item);
    }
    return run_flow(s, top, *source);
}

flow run_pfb_channelizer_ccf(const setup& s, int channels, bool large)
{
    auto top = gr::make_top_block("bench");
    const int item = sizeof(cfloat);
    const auto source = gnuradio::make_block_sptr<ring_of_noise>(sample_type::fc32, item);
    const auto streams = gr::blocks::stream_to_streams::make(item, channels);
    const auto block = gr::filter::pfb_channelizer_ccf::make(
        channels, kernels::prototype(channels, s.taps, "hann"), 1);
    const auto sink = gr::blocks::null_sink::make(item);
    top->connect(source, 0, streams, 0);
    for (int k = 0; k < channels; k++)
        top->connect(streams, k, block, k);
    for (int k = 0; k < channels; k++)
        top->connect(block, k, sink, k);
    if (large)
        enlarge(*source, item);
    return run_flow(s, top, *source);
}

//! Times the filter alone, with samples in the cache.
spent filter_alone(const setup& s, const kernels::pfb::parameters& p)
{
    const size_t row = size_t(p.hop()) * (is_complex(p.input) ? 2 : 1);
    kernels::host::host_fir fir(
        std::vector<float>(row * p.taps, .1f), p.taps, row, spectra_of_filter);
    const auto samples =
        noise(p.input, (spectra_of_filter - 1 + p.taps) * bytes_of(p.input, p.hop(), 1));
    const auto lines = kernels::host::make_fft_buffer(spectra_of_filter * fir.stride());
    return time_calls(s.seconds, [&] {
        if (p.input == sample_type::fc32)
            fir.filter(reinterpret_cast<const float*>(samples.data()),
                       spectra_of_filter,
                       lines.get());
        else
            fir.filter(reinterpret_cast<const int8_t*>(samples.data()),
                       spectra_of_filter,
                       lines.get());
    });
}

double read_bandwidth(const setup& s)
{
    const std::vector<uint64_t> memory(size_t(1) << 27, 1);
    uint64_t sum = 0;
    const auto t = time_calls(s.seconds, [&] {
        sum += std::accumulate(memory.begin(), memory.end(), uint64_t(0));
    });
    if (sum == 0) // otherwise it would not be read
        std::printf("!");
    return double(memory.size() * sizeof(uint64_t)) / t.processor;
}

std::vector<int> numbers(const std::string& list)
{
    std::istringstream in(list);
    std::vector<int> found;
    for (std::string part; std::getline(in, part, ',');)
        found.push_back(std::stoi(part));
    return found;
}

std::string processor_name()
{
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.compare(0, 10, "model name") == 0)
            return line.substr(line.find(':') + 2);
    return "unknown processor";
}

void measure(const setup& s, report& r)
{
    std::printf("\nreading memory: %.1f GB/s a thread\n", 1e-9 * read_bandwidth(s));

    r.title("one thread, Msample/s by clock / by processor",
            { "channels",
              "samples to spectra",
              "FFTW alone",
              "filter alone",
              "kernel",
              "f_engine",
              "two threads, by clock" });
    for (int channels : s.channels)
        for (const auto& types : all_types) {
            const auto p = filter_of(s, channels, types);
            const bool real = !is_complex(types.input);
            const double points = double(spectra_of_call) * p.hop();
            kernel_run bank(p, false), frames(p, true);
            r.line(
                { std::to_string(channels),
                  name_of(types.input) + " to " + name_of(types.output),
                  rates(points, transforms_alone(s, p.hop(), real)),
                  rates(double(spectra_of_filter) * p.hop(), filter_alone(s, p)),
                  rates(bank.samples(), time_calls(s.seconds, [&] { bank.call(); })),
                  rates(frames.samples(), time_calls(s.seconds, [&] { frames.call(); })),
                  text(two_threads(s, p)) });
        }

    r.title("in GNU Radio, Msample/s by clock (cores)",
            { "channels", "block", "own buffers", "2 MiB buffers" });
    const auto cell = [](double samples, const flow& f) {
        return text(1e-6 * samples * f.rate) + " (" + text(f.cores, "%.2f") + ")";
    };
    for (int channels : s.channels) {
        for (const auto& types : all_types)
            r.line({ std::to_string(channels),
                     "pfb_channelizer, " + name_of(types.input) + " to " +
                         name_of(types.output),
                     cell(1, run_pfb(s, channels, types, false)),
                     cell(1, run_pfb(s, channels, types, true)) });
        r.line({ std::to_string(channels),
                 "fft_vcc",
                 cell(channels, run_fft_vcc(s, channels, false)),
                 cell(channels, run_fft_vcc(s, channels, true)) });
        try {
            r.line({ std::to_string(channels),
                     "pfb_channelizer_ccf",
                     cell(1, run_pfb_channelizer_ccf(s, channels, false)),
                     cell(1, run_pfb_channelizer_ccf(s, channels, true)) });
        } catch (const std::exception&) { // two rings for each channel
            std::printf("pfb_channelizer_ccf of %d channels: no memory for its buffers; "
                        "vmcircbuf_default_factory in ~/.gnuradio/prefs may help\n",
                        channels);
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    gr::logging::singleton().set_default_level(gr::log_level::critical);
    setup s;
    std::string file, command = "bench_pfb_host";
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        command += " " + word;
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals),
                          value = equals == word.npos ? "" : word.substr(equals + 1);
        if (key == "channels")
            s.channels = numbers(value);
        else if (key == "taps")
            s.taps = std::stoi(value);
        else if (key == "inputs")
            s.inputs = std::stoi(value);
        else if (key == "seconds")
            s.seconds = std::stod(value);
        else if (key == "json")
            file = value;
        else {
            std::cerr << word << ": channels=, taps=, inputs=, seconds= or json=\n";
            return 1;
        }
    }
    std::printf("%s\n%s, %u cores; %s; %d taps, %d inputs in a port (kernels)\n",
                command.c_str(),
                processor_name().c_str(),
                std::thread::hardware_concurrency(),
                fftwf_version,
                s.taps,
                s.inputs);
    report r;
    measure(s, r);
    if (!file.empty())
        r.write(file, command);
}
