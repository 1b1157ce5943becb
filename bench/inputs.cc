/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures how fast recordings are read from the page cache and unpacked. Prints a table;
 * with a file name, writes JSON, too.
 *
 * bench_inputs [MEGABYTES [FOLDER [FILE.json]]]
 *
 * Each row is a file of so many megabytes (default 256) in FOLDER (default /tmp), which
 * is removed at the end, read as a whole by one thread, 2^20 samples of each input a
 * call. A figure is the median of nine passes after one that does not count; by the
 * clock, and by the time that the processor has spent on the thread, which is what the
 * clock would show if no other program used it; `best` is the fastest pass by the clock.
 * The bound is pread() alone, measured in the same run on the same number of bytes.
 */

#include "formats/recordings/channel_reader.h"
#include "formats/recordings/recording_reader.h"
#include "formats/vdif/vdif_frames.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace gr::aperture;
using namespace gr::aperture::formats;

namespace {

constexpr int passes = 9;
constexpr int64_t samples_of_call = 1 << 20;

//! Seconds by the clock, and of the processor in this thread.
struct seconds {
    double clock, processor;

    static seconds now()
    {
        timespec used;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return { std::chrono::duration<double>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count(),
                 double(used.tv_sec) + 1e-9 * double(used.tv_nsec) };
    }
};

struct figures {
    double clock, processor, best; //!< seconds of a pass
};

figures measure(const std::function<void()>& pass)
{
    std::vector<double> clock, processor;
    for (int i = 0; i < passes + 1; i++) {
        const auto begin = seconds::now();
        pass();
        const auto end = seconds::now();
        if (i > 0) {
            clock.push_back(end.clock - begin.clock);
            processor.push_back(end.processor - begin.processor);
        }
    }
    std::sort(clock.begin(), clock.end());
    std::sort(processor.begin(), processor.end());
    return { clock[passes / 2], processor[passes / 2], clock[0] };
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
    //! Channels of each input, two of which alternate in a row; 0: samples
    int channels = 0;
    //! Spectra of blocks [input/2][channel][time][2]; 0: [time][input/2][channel][2]
    int64_t block = 0;
};

const recording_case cases[] = {
    { "sc8, 2 inputs", coding::s8, true, 2, 0, false },
    { "u8, complex, 1 input", coding::u8, true, 1, 0, false },
    { "sc8, 2 inputs apart", coding::s8, true, 2, 0, true },
    { "sc8, 16 inputs apart", coding::s8, true, 16, 0, true },
    { "s16, complex, 2 inputs", coding::s16, true, 2, 0, false },
    { "s16_be, complex, 2 inputs", coding::s16_be, true, 2, 0, false },
    { "fc32, 1 input", coding::f32, true, 1, 0, false },
    { "VDIF, 1 bit, 1 thread", coding::offset1, false, 1, 1, false },
    { "VDIF, 2 bits, 1 thread", coding::offset2, false, 1, 1, false },
    { "VDIF, 2 bits, 8 threads", coding::offset2, false, 8, 8, false },
    { "VDIF, 2 bits, complex, 2 threads", coding::offset2, true, 2, 2, false },
    { "VDIF, 4 bits, 2 threads", coding::offset4, false, 2, 2, false },
    { "VDIF, 8 bits, 1 thread", coding::offset8, false, 1, 1, false },
    { "VDIF, 8 bits, 2 threads", coding::offset8, false, 2, 2, false },
    { "VDIF, 8 bits, complex, 16 threads", coding::offset8, true, 16, 16, false },
    { "GUPPI, 64 channels, 2 inputs", coding::s8, true, 2, 0, false, 64, 1 << 18 },
    { "GUPPI, 256 channels, 56 inputs", coding::s8, true, 56, 0, false, 256, 1 << 11 },
    { "GUPPI, 4 bits, 64 channels, 2 inputs",
      coding::s4_be,
      true,
      2,
      0,
      false,
      64,
      8192 },
    { "GUPPI, 16 bits, 64 channels, 2", coding::s16, true, 2, 0, false, 64, 8192 },
    { "DADA, TFP, 1024 channels, 2 inputs", coding::s8, true, 2, 0, false, 1024, 0 },
    { "DADA, TAFTP, 64 channels, 56 inputs", coding::s8, true, 56, 0, false, 64, 256 },
};

vdif_stream stream_of(const recording_case& c)
{
    vdif_stream s;
    s.frame_bytes = 8032;
    s.header_bytes = 32;
    s.bits = bits_of(c.written);
    s.complex = c.complex;
    s.frames_per_second = 4000;
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
                word = random();
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
    int64_t bytes, samples; //!< size of the file, and samples of all its inputs
    figures reading, unpacking;
};

//! Measures a reader; `item` bytes of all inputs, of which a call reads `call`.
figures measure_reader(const recording_case& c,
                       piece_reader& reader,
                       size_t item,
                       int64_t call,
                       int64_t samples)
{
    std::vector<char> items(size_t(call) * item);
    return measure([&] {
        int64_t done = 0;
        for (reader.restart(0); done < samples;) {
            const auto got = reader.read({ items.data() }, call, samples);
            if (got.samples == 0 || !got.gaps.empty())
                throw std::runtime_error(std::string(c.name) +
                                         ": not all was read: " + reader.error());
            done += got.samples;
        }
    });
}

//! Measures the reader of channels; `samples` of the result are those of all channels.
result run_channels(const std::string& name,
                    const recording_case& c,
                    int64_t bytes,
                    const figures& reading,
                    std::shared_ptr<recorded_files> files)
{
    channel_layout layout{ c.written, c.inputs, c.channels, {}, c.inputs };
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
    const int64_t spectra = list.back().end();
    const size_t item = size_t(c.inputs) * size_t(c.channels) * size_of(layout.type());
    channel_reader reader(
        layout,
        files,
        std::make_shared<listed_pieces>(std::vector<std::vector<piece>>{ list }),
        spectra);
    // spectra of a ring of 4 MiB
    const int64_t call = std::max<int64_t>(4, int64_t(1 << 22) / int64_t(item));
    const auto unpacking = measure_reader(c, reader, item, call, spectra);
    std::remove(name.c_str());
    return {
        c.name, spectra * spectrum, spectra * c.inputs * c.channels, reading, unpacking
    };
}

result run(const std::string& name, const recording_case& c, int64_t bytes)
{
    bytes = write_file(name, c, bytes);
    auto files = std::make_shared<recorded_files>(std::vector<std::string>{ name });
    std::vector<char> buffer(1 << 20);
    const auto reading = measure([&] {
        for (int64_t at = 0; at < bytes; at += int64_t(buffer.size()))
            files->read(0,
                        at,
                        std::min<int64_t>(int64_t(buffer.size()), bytes - at),
                        buffer.data());
    });

    if (c.channels)
        return run_channels(name, c, bytes, reading, files);
    recording_layout layout;
    layout.written = c.written;
    layout.complex = c.complex;
    layout.inputs_per_port = c.inputs;
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
    recording_reader reader(layout, files, where, samples);
    const size_t item = size_t(c.inputs) * size_of(layout.type());
    const auto unpacking = measure_reader(c, reader, item, samples_of_call, samples);
    std::remove(name.c_str());
    return { c.name, bytes, samples * c.inputs, reading, unpacking };
}

void write_json(const std::string& name, const std::vector<result>& results)
{
    std::ofstream file(name);
    file << "[\n";
    for (const auto& r : results)
        file << "  {\"case\": \"" << r.name << "\", \"bytes\": " << r.bytes
             << ", \"samples\": " << r.samples << ", \"seconds\": " << r.unpacking.clock
             << ", \"processor_seconds\": " << r.unpacking.processor
             << ", \"best_seconds\": " << r.unpacking.best
             << ", \"read_seconds\": " << r.reading.clock
             << ", \"read_processor_seconds\": " << r.reading.processor << "}"
             << (&r == &results.back() ? "\n" : ",\n");
    file << "]\n";
}

} // namespace

int main(int argc, char** argv)
{
    const int64_t megabytes = argc > 1 ? std::atoll(argv[1]) : 256;
    const std::string folder = argc > 2 ? argv[2] : "/tmp";
    std::vector<result> results;
    std::printf("%lld MB a file; GB/s of the file, Msample/s of all inputs together\n",
                static_cast<long long>(megabytes));
    std::printf("%-34s %8s %8s %8s %10s %10s %9s\n",
                "",
                "GB/s",
                "best",
                "by CPU",
                "Msample/s",
                "by CPU",
                "read, CPU");
    for (const auto& c : cases) {
        const auto r = run(folder + "/bench_inputs.data", c, megabytes * 1000000);
        const double bytes = 1e-9 * double(r.bytes), samples = 1e-6 * double(r.samples);
        std::printf("%-34s %8.2f %8.2f %8.2f %10.0f %10.0f %9.2f\n",
                    r.name.c_str(),
                    bytes / r.unpacking.clock,
                    bytes / r.unpacking.best,
                    bytes / r.unpacking.processor,
                    samples / r.unpacking.clock,
                    samples / r.unpacking.processor,
                    bytes / r.reading.processor);
        std::fflush(stdout);
        results.push_back(r);
    }
    if (argc > 3)
        write_json(argv[3], results);
}
