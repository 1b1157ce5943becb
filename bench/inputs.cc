/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures how fast recordings are read and unpacked, beside a plain copy of the same
 * files by the same number of threads. Prints two tables; with a file name, writes JSON,
 * too.
 *
 * bench_inputs [MEGABYTES [FOLDER [THREADS [DEVICE [FILE.json]]]]]
 *
 * Each row is a recording of so many megabytes (default 256) in FOLDER (default /tmp; a
 * RAM disk such as /dev/shm leaves out the disk), which is removed at the end, read as a
 * whole by THREADS threads (default 0: one for each core, at most 16).
 *
 * The first table has the reader alone, in calls of 8 MB of the file, to memory that is
 * used again as a ring is; the second one flowgraphs that discard the samples, on DEVICE
 * (default cpu): with cuda, samples go to the device through pinned memory. The copy is
 * pread() of 1 MB at a time, to memory of the same size; in the second table to pinned
 * memory and from there to the device, where that is not the CPU.
 *
 * A figure is the median of seven passes after one that does not count: GB of the files a
 * second of the clock, and a second of the processor, of all threads of the program
 * together. Passes of the reader and of the copy alternate, so that other programs slow
 * down both. `of copy` is the reader's rate over the copy's, by the clock and by the
 * processor.
 */

#include "formats/recordings/channel_reader.h"
#include "formats/recordings/recording_reader.h"
#include "formats/recordings/thread_pool.h"
#include "formats/vdif/vdif_frames.h"
#include "runtime/backend.h"
#include "runtime/host_memory.h"
#include "timing.h"
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/recording_source.h>
#include <gnuradio/logger.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace gr::aperture;
using namespace gr::aperture::formats;

namespace {

constexpr int passes = 7;
constexpr int64_t bytes_of_call = 8 << 20, bytes_of_copy = 1 << 20;

//! Seconds by the clock, and of the processor in all threads.
struct seconds {
    double clock, processor;

    static seconds now()
    {
        return { gr::aperture::now(), seconds_of(CLOCK_PROCESS_CPUTIME_ID) };
    }
    seconds operator-(const seconds& from) const
    {
        return { clock - from.clock, processor - from.processor };
    }
};

seconds time_of(const std::function<void()>& pass)
{
    const auto begin = seconds::now();
    pass();
    return seconds::now() - begin;
}

seconds median(const std::vector<seconds>& all)
{
    std::vector<double> clock, processor;
    for (const auto& one : all) {
        clock.push_back(one.clock);
        processor.push_back(one.processor);
    }
    return { gr::aperture::median(clock), gr::aperture::median(processor) };
}

struct figures {
    seconds reader, copy; //!< times of a pass
};

//! Measures two passes, each of which returns its time, in turn.
figures measure(const std::function<seconds()>& reader,
                const std::function<seconds()>& copy)
{
    std::vector<seconds> of_reader, of_copy;
    for (int i = 0; i < passes + 1; i++) {
        const auto read = reader(), copied = copy();
        if (i > 0) {
            of_reader.push_back(read);
            of_copy.push_back(copied);
        }
    }
    return { median(of_reader), median(of_copy) };
}

struct recording_case {
    const char* name;
    coding written;
    bool complex;
    int inputs;
    //! Threads of VDIF with a channel each, in frames of 8000 bytes; 0: a plain file
    int vdif_threads;
    //! Inputs of a plain file lie one behind the other, and not sample by sample
    bool apart;
    bool port_each; //!< not all inputs in one port
    bool inverted;
    //! Channels of each input, two of which alternate in a row; 0: samples
    int channels = 0;
    //! Spectra of blocks [input/2][channel][time][2]; 0: [time][input/2][channel][2]
    int64_t block = 0;
};

const recording_case cases[] = {
    { "sc8, 2 inputs", coding::s8, true, 2, 0, false, false, false },
    { "sc8, 2 inputs, inverted", coding::s8, true, 2, 0, false, false, true },
    { "u8, complex, 1 input", coding::u8, true, 1, 0, false, false, false },
    { "sc8, 16 inputs", coding::s8, true, 16, 0, false, false, false },
    { "sc8, 16 inputs, a port each", coding::s8, true, 16, 0, false, true, false },
    { "sc8, 64 inputs, a port each", coding::s8, true, 64, 0, false, true, false },
    { "s8, 13 inputs, a port each", coding::s8, false, 13, 0, false, true, false },
    { "sc8, 2 inputs apart", coding::s8, true, 2, 0, true, false, false },
    { "sc8, 16 inputs apart", coding::s8, true, 16, 0, true, false, false },
    { "sc8, 16 apart, a port each", coding::s8, true, 16, 0, true, true, false },
    { "s16, complex, 2 inputs", coding::s16, true, 2, 0, false, false, false },
    { "s16_be, complex, 2 inputs", coding::s16_be, true, 2, 0, false, false, false },
    { "fc32, 1 input", coding::f32, true, 1, 0, false, false, false },
    { "VDIF, 1 bit, 1 thread", coding::offset1, false, 1, 1, false, false, false },
    { "VDIF, 2 bits, 1 thread", coding::offset2, false, 1, 1, false, false, false },
    { "VDIF, 2 bits, 8 threads", coding::offset2, false, 8, 8, false, false, false },
    { "VDIF, 2 bits, complex, 2 threads",
      coding::offset2,
      true,
      2,
      2,
      false,
      false,
      false },
    { "VDIF, 4 bits, 2 threads", coding::offset4, false, 2, 2, false, false, false },
    { "VDIF, 8 bits, 1 thread", coding::offset8, false, 1, 1, false, false, false },
    { "VDIF, 8 bits, 2 threads", coding::offset8, false, 2, 2, false, false, false },
    { "VDIF, 8 bits, complex, 16 threads",
      coding::offset8,
      true,
      16,
      16,
      false,
      false,
      false },
    { "GUPPI, 64 channels, 2 inputs",
      coding::s8,
      true,
      2,
      0,
      false,
      false,
      false,
      64,
      1 << 18 },
    { "GUPPI, 256 channels, 56 inputs",
      coding::s8,
      true,
      56,
      0,
      false,
      false,
      false,
      256,
      1 << 11 },
    { "GUPPI, 4 bits, 64 channels, 2 inputs",
      coding::s4_be,
      true,
      2,
      0,
      false,
      false,
      false,
      64,
      8192 },
    { "GUPPI, 16 bits, 64 channels, 2",
      coding::s16,
      true,
      2,
      0,
      false,
      false,
      false,
      64,
      8192 },
    { "DADA, TFP, 1024 channels, 2 inputs",
      coding::s8,
      true,
      2,
      0,
      false,
      false,
      false,
      1024,
      0 },
    { "DADA, TAFTP, 64 channels, 56 inputs",
      coding::s8,
      true,
      56,
      0,
      false,
      false,
      false,
      64,
      256 },
};

vdif_stream stream_of(const recording_case& c)
{
    vdif_stream s;
    s.frame_bytes = 8032;
    s.header_bytes = 32;
    s.bits = bits_of(c.written);
    s.complex = c.complex;
    s.frames_per_second = 4000;
    s.files = 1;
    for (int thread = 0; thread < c.vdif_threads; thread++)
        s.threads.push_back(thread);
    return s;
}

//! Returns the bytes that were written.
int64_t write_file(const std::string& name, const recording_case& c, int64_t bytes)
{
    std::mt19937_64 random(1);
    std::vector<uint64_t> noise(8000 / 8);
    std::ofstream file(name, std::ios::binary);
    int64_t written = 0;
    for (int64_t frame = 0; written + 8032 * std::max(1, c.vdif_threads) <= bytes;
         frame++)
        for (int thread = 0; thread < std::max(1, c.vdif_threads); thread++) {
            for (auto& word : noise) {
                // without -128, whose negative is looked for one by one, as it is rare
                word = random() | 0x0101010101010101;
                if (c.written == coding::f32)
                    word &= 0xbfffffffbfffffff; // numbers, below 2
            }
            if (c.vdif_threads) {
                const auto s = stream_of(c);
                const uint32_t header[8] = { uint32_t(frame / s.frames_per_second),
                                             uint32_t(frame % s.frames_per_second),
                                             uint32_t(s.frame_bytes / 8),
                                             uint32_t(s.complex) << 31 |
                                                 uint32_t(s.bits - 1) << 26 |
                                                 uint32_t(thread) << 16,
                                             0,
                                             0,
                                             0,
                                             0 };
                file.write(reinterpret_cast<const char*>(header), sizeof header);
                written += int64_t(sizeof header);
            }
            file.write(reinterpret_cast<const char*>(noise.data()), 8000);
            written += 8000;
        }
    if (!file.flush())
        throw std::runtime_error(name + ": cannot be written");
    return written;
}

struct result {
    std::string name;
    int64_t bytes, samples; //!< size of the files, and samples of all inputs
    figures times;
};

//! Memory that every page of is there, as a ring's is that was used before.
std::vector<char> touched(int64_t bytes) { return std::vector<char>(size_t(bytes), 1); }

//! Copies files of a size by so many threads at a time into a ring of memory, and calls
//! sent(half of it) when one is full.
void copy_files(thread_pool& pool,
                const recorded_files& files,
                char* ring,
                int64_t ring_bytes,
                const std::function<void(int)>& sent)
{
    const int64_t half = ring_bytes / 2;
    int turn = 0;
    for (int file = 0; file < files.count(); file++)
        for (int64_t at = 0; at < files.size(file); at += half, turn++) {
            const int64_t bytes = std::min(half, files.size(file) - at);
            char* const to = ring + (turn % 2) * half;
            pool.run((bytes + bytes_of_copy - 1) / bytes_of_copy, [&](int64_t i, int) {
                std::string error;
                const int64_t from = i * bytes_of_copy;
                const int64_t n = std::min(bytes_of_copy, bytes - from);
                if (files.read(file, at + from, n, to + from, error) != n)
                    throw std::runtime_error(error);
            });
            sent(turn % 2);
        }
}

//! Measures a reader of so many ports with items of a size, in calls of `call` samples,
//! and the copy of its files.
figures measure_reader(const recording_case& c,
                       piece_reader& reader,
                       const recorded_files& files,
                       int ports,
                       int64_t item,
                       int64_t call,
                       int64_t samples,
                       int threads)
{
    // two halves, as a ring has, and no power of two from one to the next
    const int64_t half = call * item + 4096 + 64;
    auto memory = touched(2 * half * ports);
    std::vector<char*> places(static_cast<size_t>(ports));
    thread_pool pool(threads);
    auto copied = touched(2 * bytes_of_call);
    return measure(
        [&] {
            return time_of([&] {
                int turn = 0;
                int64_t done = 0;
                for (reader.restart(0); done < samples; turn++) {
                    for (int port = 0; port < ports; port++)
                        places[size_t(port)] =
                            memory.data() + half * int64_t(2 * port + turn % 2);
                    const auto got = reader.read(places, call, samples);
                    if (got.samples == 0 || !got.gaps.empty())
                        throw std::runtime_error(std::string(c.name) +
                                                 ": not all was read: " + reader.error());
                    done += got.samples;
                }
            });
        },
        [&] {
            return time_of([&] {
                copy_files(pool, files, copied.data(), 2 * bytes_of_call, [](int) {});
            });
        });
}

//! Measures the reader of channels; `samples` of the result are
//! those of all channels.
result run_channels(const recording_case& c,
                    int64_t bytes,
                    const std::shared_ptr<recorded_files>& files,
                    int threads)
{
    channel_layout layout{ c.written, c.inputs, c.channels, {}, c.inputs, false };
    const int64_t spectrum = int64_t(c.inputs) * c.channels * layout.bits_of_sample() / 8;
    const int64_t block = c.block ? c.block : bytes / spectrum;
    for (int i = 0; i < c.inputs; i++)
        layout.places.push_back(c.block
                                    ? channel_place{ 0,
                                                     i,
                                                     0,
                                                     c.channels,
                                                     i % 2,
                                                     0,
                                                     2,
                                                     i / 2 * 2 * c.channels,
                                                     2 }
                                    : channel_place{ 0,
                                                     i,
                                                     0,
                                                     c.channels,
                                                     i / 2 * 2 * c.channels + i % 2,
                                                     2,
                                                     int64_t(c.inputs) * c.channels });
    std::vector<piece> list;
    for (int64_t n = 0; (n + 1) * block * spectrum <= bytes; n++)
        list.push_back({ 0, n * block * spectrum, block, n * block });
    if (list.empty())
        throw std::invalid_argument("MEGABYTES: too few for a block of " +
                                    std::string(c.name));
    const int64_t spectra = list.back().end();
    const int64_t item = int64_t(c.inputs) * c.channels * int64_t(size_of(layout.type()));
    channel_reader reader(
        layout,
        files,
        std::make_shared<listed_pieces>(std::vector<std::vector<piece>>{ list }),
        spectra,
        threads);
    const int64_t call =
        std::max({ int64_t(4), (1 << 22) / item, reader.samples_wanted() });
    const auto times = measure_reader(c, reader, *files, 1, item, call, spectra, threads);
    return { c.name, spectra * spectrum, spectra * c.inputs * c.channels, times };
}

result run_samples(const recording_case& c,
                   int64_t bytes,
                   const std::shared_ptr<recorded_files>& files,
                   int threads)
{
    recording_layout layout;
    layout.written = c.written;
    layout.complex = c.complex;
    layout.conjugated = c.inverted;
    layout.inputs_per_port = c.port_each ? 1 : c.inputs;
    std::shared_ptr<pieces> where;
    int64_t samples; // samples of each input
    if (c.vdif_threads) {
        const auto s = stream_of(c);
        where = std::make_shared<vdif_frames>(s, files);
        samples = bytes / s.frame_bytes / c.vdif_threads * s.samples();
        for (int i = 0; i < c.inputs; i++)
            layout.inputs.push_back({ i, 0, 1 });
    } else {
        samples = bytes * 8 / layout.bits_of_sample() / c.inputs;
        where = std::make_shared<listed_pieces>(
            std::vector<std::vector<piece>>{ { { 0, 0, samples, 0 } } });
        for (int i = 0; i < c.inputs; i++)
            layout.inputs.push_back(c.apart ? input_place{ 0, i * samples, 1 }
                                            : input_place{ 0, i, c.inputs });
    }
    recording_reader reader(layout, files, where, samples, threads);
    const auto times =
        measure_reader(c,
                       reader,
                       *files,
                       layout.ports(),
                       layout.inputs_per_port * int64_t(size_of(layout.type())),
                       bytes_of_call * 8 / layout.bits_of_sample() / c.inputs,
                       samples,
                       threads);
    return { c.name, bytes, samples * c.inputs, times };
}

result
run_reader(const std::string& name, const recording_case& c, int64_t bytes, int threads)
{
    bytes = write_file(name, c, bytes);
    const auto files = std::make_shared<recorded_files>(std::vector<std::string>{ name });
    const auto r = c.channels ? run_channels(c, bytes, files, threads)
                              : run_samples(c, bytes, files, threads);
    std::remove(name.c_str());
    return r;
}

struct flowgraph_case {
    const char* name;
    int inputs, files, in_port;
};

const flowgraph_case flowgraphs[] = {
    { "sc8, 1 input", 1, 1, 1 },
    { "sc8, 16 inputs, one port", 16, 1, 16 },
    { "sc8, 16 inputs, a port each", 16, 1, 1 },
    { "sc8, 64 inputs, one port", 64, 1, 64 },
    { "sc8, 64 inputs, a port each", 64, 1, 1 },
    { "sc8, 16 files of 1 input, one port", 16, 16, 16 },
    { "sc8, 16 files of 1 input, a port each", 16, 16, 1 },
};

//! Returns the time from when samples arrive to the end, and scales it to all of them.
seconds run_flowgraph(const flowgraph_case& c,
                      const recording_source::parameters& p,
                      const device& d,
                      int64_t samples)
{
    auto top = gr::make_top_block("bench");
    const auto source = recording_source::make(p);
    discard::parameters dropped;
    dropped.item_size = 2 * c.in_port;
    dropped.device = d.name();
    std::vector<discard::sptr> sinks;
    for (int port = 0; port < c.inputs / c.in_port; port++) {
        sinks.push_back(discard::make(dropped));
        top->connect(source, port, sinks.back(), 0);
    }
    top->start();
    const auto items = [&] {
        uint64_t least = sinks.front()->items();
        for (const auto& sink : sinks)
            least = std::min(least, sink->items());
        return int64_t(least);
    };
    int64_t first = 0;
    while ((first = items()) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto begin = seconds::now();
    top->wait();
    const auto took = seconds::now() - begin;
    if (items() != samples || !source->error().empty())
        throw std::runtime_error(std::string(c.name) +
                                 ": not all was read: " + source->error());
    const double all = double(samples) / double(samples - first);
    return { took.clock * all, took.processor * all };
}

result run_flowgraphs(const std::string& name,
                      const flowgraph_case& c,
                      int64_t bytes,
                      int threads,
                      const device& d)
{
    recording_source::parameters p;
    bytes = bytes / (c.files * 4096) * 4096;
    const int64_t in_file = c.inputs / c.files, samples = bytes / 2 / in_file;
    for (int file = 0; file < c.files; file++) {
        const auto numbered = name + std::to_string(file);
        recording_case plain = cases[0];
        if (write_file(numbered, plain, bytes + 8000) < bytes)
            throw std::runtime_error(numbered + ": cannot be written");
        p.files.push_back(numbered);
        p.pieces.push_back({ file, 0, samples, 0, file });
    }
    for (int i = 0; i < c.inputs; i++)
        p.layout.push_back({ i / in_file, i % in_file, in_file });
    p.inputs = c.inputs;
    p.inputs_per_port = c.in_port;
    p.readers = threads;
    const recorded_files files(p.files);
    thread_pool pool(threads);
    // the copy: through pinned memory and to the device, where there is one
    const int64_t ring = int64_t(8 << 20) * std::max(2, pool.threads() / 2);
    const auto* memory_of_device = d.own_memory().get();
    memory host = map_host_memory_twice(size_t(ring)), on_device;
    std::memset(host.get(), 1, size_t(ring));
    std::shared_ptr<void> pin;
    std::unique_ptr<stream> copies;
    event_sptr done[2];
    if (memory_of_device) {
        pin = memory_of_device->pin(host.get(), size_t(2 * ring));
        on_device = memory_of_device->allocate(size_t(ring));
        copies = d.make_stream();
    }
    const auto copy = [&] {
        copy_files(pool, files, static_cast<char*>(host.get()), ring, [&](int half) {
            if (!copies)
                return;
            const size_t at = size_t(half) * size_t(ring / 2);
            copies->copy(static_cast<char*>(on_device.get()) + at,
                         static_cast<char*>(host.get()) + at,
                         size_t(ring / 2),
                         direction::host_to_device);
            done[half] = copies->record();
            if (done[1 - half])
                done[1 - half]->synchronize();
        });
        if (copies)
            copies->synchronize();
    };
    const auto times = measure([&] { return run_flowgraph(c, p, d, samples); },
                               [&] { return time_of(copy); });
    for (const auto& file : p.files)
        std::remove(file.c_str());
    return { c.name, bytes * c.files, samples * c.inputs, times };
}

std::string json_of(const result& r)
{
    const auto number = [](const char* key, double value) {
        char text[80];
        std::snprintf(text, sizeof text, ", \"%s\": %.9g", key, value);
        return std::string(text);
    };
    return "{\"case\": \"" + r.name + "\"" + number("bytes", double(r.bytes)) +
           number("samples", double(r.samples)) +
           number("seconds", r.times.reader.clock) +
           number("processor_seconds", r.times.reader.processor) +
           number("copy_seconds", r.times.copy.clock) +
           number("copy_processor_seconds", r.times.copy.processor) + "}";
}

void print_head(const char* title)
{
    std::printf("%-38s %8s %8s %10s %8s %8s %8s %8s\n",
                title,
                "GB/s",
                "by CPU",
                "Gsample/s",
                "copy",
                "by CPU",
                "of copy",
                "by CPU");
}

void print(const result& r)
{
    const double gigabytes = 1e-9 * double(r.bytes);
    const auto& [reader, copy] = r.times;
    std::printf("%-38s %8.2f %8.2f %10.2f %8.2f %8.2f %8.2f %8.2f\n",
                r.name.c_str(),
                gigabytes / reader.clock,
                gigabytes / reader.processor,
                1e-9 * double(r.samples) / reader.clock,
                gigabytes / copy.clock,
                gigabytes / copy.processor,
                copy.clock / reader.clock,
                copy.processor / reader.processor);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv)
try {
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    const int64_t bytes = 1000000 * (argc > 1 ? std::atoll(argv[1]) : 256);
    const std::string name = std::string(argc > 2 ? argv[2] : "/tmp") + "/bench_inputs.";
    const int threads = thread_pool(argc > 3 ? std::atoi(argv[3]) : 0).threads();
    const device d = device::select(argc > 4 ? argv[4] : "cpu");
    if (bytes < 10000000)
        throw std::invalid_argument("MEGABYTES: " + std::string(argv[1]) +
                                    " is not allowed: it must be 10 or more");
    std::printf("%lld MB a recording, %d threads, %s: %s\n",
                static_cast<long long>(bytes / 1000000),
                threads,
                d.name().c_str(),
                d.description().c_str());
    std::string json = "[\n";
    const auto add = [&](const result& r) {
        print(r);
        json += (json.size() > 2 ? ",\n  " : "  ") + json_of(r);
    };
    print_head("the reader alone");
    for (const auto& c : cases)
        add(run_reader(name + "data", c, bytes, threads));
    print_head("a flowgraph");
    for (const auto& c : flowgraphs)
        add(run_flowgraphs(name, c, bytes, threads, d));
    if (argc > 5 && !(std::ofstream(argv[5]) << json << "\n]\n"))
        throw std::runtime_error(std::string(argv[5]) + " cannot be written");
    return 0;
} catch (const std::exception& e) {
    std::cerr << "bench_inputs: " << e.what() << std::endl;
    return 1;
}
