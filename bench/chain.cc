/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the FX chain in GNU Radio: channeliser (8 taps, 1024 channels, sc8) and corner
 * turn, or both in one (F-engine), and X-engine. Prints tables; with a file name, writes
 * JSON, too.
 *
 * bench_chain [DEVICE [SECONDS [FILE.json [FRAMES]]]] [rows=ROW[,ROW]...]
 *
 *  - From replay to discard, beside the same kernels without GNU Radio: on one stream,
 *    each called on as many frames, up to FRAMES, as is fastest.
 *  - From a source in host memory, in one thread.
 *  - The latency from a sample's arrival at a host source to its visibility at a host
 *    sink, of two inputs in real time.
 *
 * DEVICE: as blocks have it (default cuda); SECONDS: of a measurement (default 1). A rate
 * is that of the integrations which arrive while the flowgraph runs, after half as long:
 * neither its start nor its end count, which take tenths of a second with many ports.
 * FRAMES: that a call of the flowgraph works on at most, half of what a ring holds
 * (default 16, an integration).
 * rows: the rows that are measured, all by default: the first table's rows by their
 * number from 1 on, `chain` for all of them, `host`, and `latency`. FILE.json has those.
 */

#include "kernels/corner_turn/corner_turn.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include "kernels/xengine/xengine.h"
#include "timing.h"
#include <gnuradio/aperture/corner_turn.h>
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/aperture/tags.h>
#include <gnuradio/aperture/xengine.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace gr::aperture;

namespace {

constexpr int channels = 1024, taps = 8, times = 256;
constexpr int frames_per_integration = 16;
constexpr double center_frequency = 1.42e9; // Hz

struct array {
    int inputs, inputs_per_port;
    bool fused; //!< channeliser and corner turn in one
    int ports() const { return inputs / inputs_per_port; }
    //! Returns the bytes of a sample of each input of one port.
    size_t sample_bytes() const { return 2 * size_t(inputs_per_port); }
    size_t spectrum_bytes() const { return sample_bytes() * channels; }
    //! Returns the bytes of a frame of all inputs.
    size_t frame_bytes() const { return size_t(2) * inputs * channels * times; }
    size_t visibilities_bytes() const
    {
        return sizeof(cfloat) * channels * size_t(inputs) * (inputs + 1) / 2;
    }
};

//! Noise of an rms of 20 steps, 2^20 samples of each input.
std::vector<char> noise(const array& a)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 20);
    std::vector<char> some(1 << 20), all((size_t(1) << 20) * a.sample_bytes());
    for (auto& v : some)
        v = char(std::lrint(std::clamp(normal(random), -127.f, 127.f)));
    // an odd stretch of it, repeated: no two inputs are alike
    for (size_t at = 0, length = some.size() - 1; at < all.size(); at += length)
        std::copy_n(some.begin(), std::min(length, all.size() - at), all.begin() + at);
    return all;
}

// ---- in GNU Radio

struct chain {
    gr::top_block_sptr top = gr::make_top_block("bench");
    gr::block_sptr first; //!< samples go into
    xengine::sptr correlator;

    chain(const std::string& device, const array& a, const char* input_type, int frames)
    {
        f_engine::parameters f;
        f.channels = channels;
        f.inputs = a.inputs;
        f.inputs_per_port = a.inputs_per_port;
        f.input_type = input_type;
        f.output_type = "sc8";
        f.taps = taps;
        f.gain = std::string(input_type) == "sc8" ? 1 : 20;
        f.spectra_per_frame = times;
        f.device = device;

        corner_turn::parameters c;
        c.channels = channels;
        c.inputs = a.inputs;
        c.inputs_per_port = a.inputs_per_port;
        c.type = "sc8";
        c.spectra_per_frame = times;
        c.device = device;

        xengine::parameters x;
        x.channels = channels;
        x.inputs = a.inputs;
        x.type = "sc8";
        x.spectra_per_frame = times;
        x.integration = frames;
        x.device = device;
        correlator = xengine::make(x);

        if (a.fused) {
            first = add(f_engine::make(f), 1);
        } else {
            first = add(pfb_channelizer::make(f), times);
            const auto turn = add(corner_turn::make(c), 1);
            for (int port = 0; port < a.ports(); port++)
                top->connect(first, port, turn, port);
        }
        top->connect(d_rings.back().first, 0, correlator, 0);
    }

    //! Makes rings of which half holds the largest call, for throughput.
    void enlarge(int frames_per_call, const std::vector<gr::block_sptr>& sources)
    {
        const long frames = 2 * frames_per_call;
        for (auto& source : sources)
            source->set_min_output_buffer(frames * times * channels);
        for (auto& [block, items] : d_rings)
            block->set_min_output_buffer(frames * items);
    }

    void check(gr::block& end, uint64_t least) const
    {
        if (!correlator->error().empty())
            throw std::runtime_error(correlator->error());
        for (const auto& ring : d_rings)
            if (!ring.first->error().empty())
                throw std::runtime_error(ring.first->error());
        if (end.nitems_read(0) < least)
            throw std::runtime_error(std::to_string(end.nitems_read(0)) + " of " +
                                     std::to_string(least) + " integrations came");
    }

private:
    //! \param items output items of the block in a frame
    gr::block_sptr add(const std::shared_ptr<block_on_device>& block, int items)
    {
        d_rings.emplace_back(block, items);
        return block;
    }

    std::vector<std::pair<std::shared_ptr<block_on_device>, int>> d_rings;
};

//! Acts as the best source of GNU Radio can: it copies items to their place.
class host_source : public gr::sync_block
{
public:
    host_source(const std::vector<char>& data, int item_size)
        : gr::sync_block("host_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item_size)),
          d_data(data),
          d_item(item_size)
    {
    }
    int work(int noutput_items,
             gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override
    {
        const size_t place = nitems_written(0) % (d_data.size() / d_item);
        const int n =
            int(std::min(size_t(noutput_items), d_data.size() / d_item - place));
        std::memcpy(output_items[0], d_data.data() + place * d_item, size_t(n) * d_item);
        return n;
    }

private:
    const std::vector<char>& d_data;
    const size_t d_item;
};

//! The place and manner of running a flowgraph.
struct setting {
    const device& d;
    const array& a;
    int frames_per_call; // at most
    double seconds;      // duration of a measurement
};

struct flow {
    double samples_per_second; //!< samples a second of all inputs
    double longest_gap;        //!< seconds without an integration
};

//! Runs a flowgraph from some sources to discard.
template <class F>
flow measure_flow(const setting& s, const F& make_source)
{
    const device& d = s.d;
    const array& a = s.a;
    chain c(d.name(), a, "sc8", frames_per_integration);
    std::vector<gr::block_sptr> sources;
    for (int port = 0; port < a.ports(); port++) {
        sources.push_back(make_source());
        c.top->connect(sources.back(), 0, c.first, port);
    }
    discard::parameters p;
    p.item_size = int(a.visibilities_bytes());
    p.device = d.name();
    const auto end = discard::make(p);
    c.top->connect(c.correlator, 0, end, 0);
    c.enlarge(s.frames_per_call, sources);

    constexpr double patience = 600; // one integration of 256 inputs takes a CPU a minute
    uint64_t seen = 0;
    // returns the time when the next ones have come
    const auto next = [&] {
        for (const double start = now(); now() - start < patience;) {
            if (const uint64_t n = end->nitems_read(0); n > seen) {
                seen = n;
                return now();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        c.top->stop();
        c.top->wait();
        c.check(*end, seen + 1);
        throw std::runtime_error("the flowgraph stood still");
    };
    c.top->start();
    double first = next(), last;
    for (const double start = first; first - start < s.seconds / 2;)
        first = next(); // rings are full, and calls as far ahead as they will be
    const uint64_t seen_first = seen;
    flow found{};
    for (last = first; last - first < s.seconds;) {
        const double time = next();
        found.longest_gap = std::max(found.longest_gap, time - last);
        last = time;
    }
    c.top->stop();
    c.top->wait();
    c.check(*end, seen);
    found.samples_per_second = double(seen - seen_first) * frames_per_integration *
                               double(a.frame_bytes() / 2) / (last - first);
    return found;
}

flow from_device(const setting& s, const std::vector<char>& data)
{
    return measure_flow(s, [&]() -> gr::block_sptr {
        replay::parameters p;
        p.data = data;
        p.item_size = int(s.a.sample_bytes());
        p.repeats = 0; // without end
        p.center_frequency = center_frequency;
        p.rate = 1e6;
        p.device = s.d.name();
        return replay::make(p);
    });
}

flow from_host(const setting& s, const std::vector<char>& data)
{
    return measure_flow(s, [&]() -> gr::block_sptr {
        return gnuradio::make_block_sptr<host_source>(data, int(s.a.sample_bytes()));
    });
}

// ---- without GNU Radio

//! Samples (of all inputs) a second of the kernels: one after the other, and each.
struct kernel_rates {
    int frames;                              // a call
    double all, filter, transpose, multiply; //!< transpose: 0 if the filter does that
};

//! The kernels, given to one stream, each on `frames` frames in turn of the same rings.
class bare_chain
{
public:
    bare_chain(const setting& s, const std::vector<char>& data, int frames)
        : d_a(s.a),
          d_frames(frames),
          d_seconds(std::min(0.2, s.seconds)),
          d_spectra(size_t(frames) * times),
          d_stream(s.d.make_stream())
    {
        const device& d = s.d;
        const array& a = s.a;
        kernels::pfb::parameters f{};
        f.channels = channels;
        f.taps = taps;
        f.ports = a.ports();
        f.inputs_per_port = a.inputs_per_port;
        f.input = f.output = sample_type::sc8;
        f.prototype = kernels::prototype(channels, taps, "hann");
        const kernels::f_engine::parameters both{ f, times, 0, channels };
        if (a.fused) {
            d_f_engine = kernels::f_engine::make(both, d);
        } else {
            d_pfb = kernels::pfb::make(f, d);
            d_corner_turn = kernels::corner_turn::make(both.transposition(), d);
        }
        d_xengine =
            kernels::xengine::make({ channels, a.inputs, times, sample_type::sc8 }, d);

        // two calls fill a ring, as in the flowgraph
        const size_t samples = (2 * d_spectra + taps - 1) * channels * a.sample_bytes();
        for (int port = 0; port < a.ports(); port++) {
            d_samples.push_back(d.allocate(samples));
            for (size_t at = 0; at < samples; at += data.size())
                d_stream->copy(d_samples.back().get() + at,
                               data.data(),
                               std::min(data.size(), samples - at),
                               direction::host_to_device);
            if (!a.fused)
                d_channelised.push_back(d.allocate(2 * d_spectra * a.spectrum_bytes()));
        }
        d_transposed = d.allocate(2 * frames * a.frame_bytes());
        d_visibilities = d.allocate(a.visibilities_bytes());
        const std::vector<cfloat> gains(size_t(a.inputs) * channels, 1.f);
        if (a.fused)
            d_f_engine->set_gains(gains.data(), *d_stream);
        else
            d_pfb->set_gains(gains.data(), *d_stream);
        d_xengine->clear(*d_stream);
        d_stream->synchronize();
    }

    double measure_all()
    {
        return rate_of([this](size_t half) {
            filter(half);
            transpose(half);
            multiply(half);
        });
    }
    double measure_filter()
    {
        return rate_of([this](size_t half) { filter(half); });
    }
    double measure_turn()
    {
        return rate_of([this](size_t half) { transpose(half); });
    }
    double measure_multiply()
    {
        return rate_of([this](size_t half) { multiply(half); });
    }

private:
    char* channelised(int port, size_t spectrum) const
    {
        return d_channelised[port].get() + spectrum * d_a.spectrum_bytes();
    }
    char* frames_of(size_t half) const
    {
        return d_transposed.get() + half * d_frames * d_a.frame_bytes();
    }

    //! Returns the samples of each port from a spectrum on.
    std::vector<kernels::pfb::source> samples(size_t spectrum) const
    {
        std::vector<kernels::pfb::source> all;
        for (const auto& port : d_samples)
            all.push_back({ port.get() + spectrum * channels * d_a.sample_bytes(), 0 });
        return all;
    }

    //! Channelises, up to frames where f_engine does both.
    void filter(size_t half)
    {
        const size_t first = half * d_spectra;
        if (d_a.fused) {
            d_f_engine->execute(
                samples(first).data(), frames_of(half), 0, int(d_spectra), *d_stream);
            return;
        }
        std::vector<void*> written;
        for (int port = 0; port < d_a.ports(); port++)
            written.push_back(channelised(port, first));
        d_pfb->execute(samples(first).data(), written.data(), d_spectra, *d_stream);
    }

    void transpose(size_t half)
    {
        if (d_a.fused)
            return;
        std::vector<const void*> read;
        for (int port = 0; port < d_a.ports(); port++)
            read.push_back(channelised(port, half * d_spectra));
        d_corner_turn->execute(
            read.data(), frames_of(half), 0, int(d_spectra), *d_stream);
    }

    void multiply(size_t half)
    {
        d_xengine->accumulate(frames_of(half), d_frames, *d_stream);
        d_summed += d_frames;
        if (d_summed < frames_per_integration)
            return;
        const double scale = 1. / (double(times) * frames_per_integration);
        d_xengine->dump(
            reinterpret_cast<cfloat*>(d_visibilities.get()), &scale, 1, *d_stream);
        d_summed = 0;
    }

    double rate_of(const std::function<void(size_t)>& call)
    {
        const auto time = [&](int64_t calls) {
            std::deque<event_sptr> ends;
            const double start = now();
            for (int64_t i = 0; i < calls; i++) {
                call(size_t(i % 2));
                // no further ahead than a block of the flowgraph
                ends.push_back(d_stream->record());
                if (ends.size() > 4) {
                    if (ends.front()) // work on the CPU is done by then
                        ends.front()->synchronize();
                    ends.pop_front();
                }
            }
            d_stream->synchronize();
            return (now() - start) / double(calls);
        };
        time(4); // the warm-up
        const auto calls = std::max<int64_t>(4, std::llround(d_seconds / time(4)));
        const double typical = median({ time(calls), time(calls), time(calls) });
        return double(d_frames) * double(d_a.frame_bytes()) / 2 / typical;
    }

    const array d_a;
    const int d_frames;
    const double d_seconds; // duration of a measurement
    const size_t d_spectra; // spectra of a call
    const std::unique_ptr<stream> d_stream;
    std::unique_ptr<kernels::f_engine> d_f_engine; // does both, instead of the two
    std::unique_ptr<kernels::pfb> d_pfb;
    std::unique_ptr<kernels::corner_turn> d_corner_turn;
    std::unique_ptr<kernels::xengine> d_xengine;
    std::vector<memory> d_samples, d_channelised; // memory of each port
    memory d_transposed, d_visibilities;
    int d_summed = 0; // frames
};

//! Returns the rates with as many frames in a call as is fastest.
kernel_rates kernels_alone(const setting& s, const std::vector<char>& data)
{
    int best = 0;
    double rate = 0;
    for (int frames = 1; frames <= s.frames_per_call; frames *= 2)
        if (const double found = bare_chain(s, data, frames).measure_all();
            found > rate) {
            best = frames;
            rate = found;
        }
    bare_chain chain(s, data, best);
    return { best,
             rate,
             chain.measure_filter(),
             s.a.fused ? 0 : chain.measure_turn(),
             chain.measure_multiply() };
}

// ---- latency

constexpr double sample_rate = 2.4e6;

//! A receiver: samples come in real time, counted from a common moment.
class receiver : public gr::sync_block
{
public:
    receiver(double start, double seconds)
        : gr::sync_block("receiver",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          d_start(start),
          d_samples(int64_t(seconds * sample_rate))
    {
    }
    int work(int noutput_items,
             gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override
    {
        const auto sent = int64_t(nitems_written(0));
        if (sent >= d_samples)
            return WORK_DONE;
        if (sent == 0) {
            add_item_tag(0, 0, pmt::mp(tags::rx_rate), pmt::from_double(sample_rate));
            add_item_tag(
                0, 0, pmt::mp(tags::rx_freq), pmt::from_double(center_frequency));
        }
        int64_t due = 0;
        // waits for some samples, as a driver does
        while ((due = int64_t((now() - d_start) * sample_rate) - sent) < 1024)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        const int n = int(std::min<int64_t>({ due, noutput_items, d_samples - sent }));
        auto* out = static_cast<gr_complex*>(output_items[0]);
        for (int i = 0; i < n; i++)
            out[i] = gr_complex(float((sent + i) % 7) - 3, float((sent + i) % 5) - 2);
        return n;
    }

private:
    const double d_start;
    const int64_t d_samples;
};

//! Notes when each item came.
class clocked_sink : public gr::sync_block
{
public:
    explicit clocked_sink(int item_size)
        : gr::sync_block("clocked_sink",
                         gr::io_signature::make(1, 1, item_size),
                         gr::io_signature::make(0, 0, 0))
    {
    }
    int work(int noutput_items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        arrivals.insert(arrivals.end(), size_t(noutput_items), now());
        return noutput_items;
    }
    std::vector<double> arrivals;
};

//! Returns the seconds from the last sample of each integration (one frame) to its
//! visibilities.
std::vector<double> latencies(const device& d, double seconds)
{
    const array a{ 2, 1, false };
    chain c(d.name(), a, "fc32", 1);
    const double start = now() + 1; // when the flowgraph runs
    for (int port = 0; port < a.ports(); port++)
        c.top->connect(
            gnuradio::make_block_sptr<receiver>(start, seconds), 0, c.first, port);
    const auto sink =
        gnuradio::make_block_sptr<clocked_sink>(int(a.visibilities_bytes()));
    c.top->connect(c.correlator, 0, sink, 0);
    c.top->run();
    std::vector<double> late;
    for (size_t i = 0; i < sink->arrivals.size(); i++) {
        const double samples = (double(i + 1) * times + taps - 1) * channels;
        // the last one is filled up when the input ends
        if (samples <= seconds * sample_rate)
            late.push_back(sink->arrivals[i] - start - samples / sample_rate);
    }
    c.check(*sink, 1);
    return late;
}

//! Returns a number of the JSON file.
std::string field(const char* name, double value)
{
    char text[100];
    std::snprintf(text, sizeof text, "\"%s\": %.5g", name, value);
    return text;
}

const std::vector<array> arrays{ { 16, 16, false }, { 64, 16, false }, { 256, 16, false },
                                 { 16, 1, false },  { 64, 1, false },  { 256, 1, false },
                                 { 16, 16, true },  { 64, 16, true },  { 256, 16, true },
                                 { 16, 1, true },   { 64, 1, true },   { 256, 1, true } };

//! The measurements that `rows=` selects; all without it.
class choice
{
public:
    void parse(const std::string& words)
    {
        d_wanted.clear();
        std::stringstream all(words);
        for (std::string word; std::getline(all, word, ',');) {
            if (!allowed().count(word))
                throw std::invalid_argument("rows: " + word +
                                            " is not allowed: it must be chain, host, "
                                            "latency or from 1 to " +
                                            std::to_string(arrays.size()));
            d_wanted.insert(word);
        }
    }
    bool wants(const std::string& word) const { return d_wanted.count(word); }
    bool wants_array(size_t i) const
    {
        return wants("chain") || wants(std::to_string(i + 1));
    }

private:
    static std::set<std::string> allowed()
    {
        std::set<std::string> all{ "chain", "host", "latency" };
        for (size_t i = 1; i <= arrays.size(); i++)
            all.insert(std::to_string(i));
        return all;
    }
    std::set<std::string> d_wanted{ "chain", "host", "latency" };
};

} // namespace

int main(int argc, char** argv)
try {
    choice rows;
    if (const std::string last = argv[argc - 1]; last.rfind("rows=", 0) == 0) {
        rows.parse(last.substr(5));
        argc--;
    }
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    const device d = device::select(argc > 1 ? argv[1] : "cuda");
    const double seconds = argc > 2 ? std::atof(argv[2]) : 1;
    if (!(seconds > 0))
        throw std::invalid_argument("SECONDS: " + std::string(argv[2]) +
                                    " is not allowed: it must be above 0");
    const int frames = argc > 4 ? std::atoi(argv[4]) : frames_per_integration;
    if (frames < 1 || frames > frames_per_integration)
        throw std::invalid_argument("FRAMES: " + std::string(argv[4]) +
                                    " is not allowed: it must be from 1 to " +
                                    std::to_string(frames_per_integration));
    const std::string hardware = d.own_memory() ? d.description() : "CPU";
    std::printf("%s: %s; %d channels, %d taps, frames of %d spectra, %d frames "
                "an integration, %d a call\n\n",
                d.name().c_str(),
                hardware.c_str(),
                channels,
                taps,
                times,
                frames_per_integration,
                frames);
    std::string json = "{\"device\": \"" + hardware + "\", " + field("seconds", seconds) +
                       ", " + field("frames", frames) + ", \"chain\": [";

    std::printf(
        "Gsample/s of all inputs together; the kernels without GNU Radio: all, "
        "on so many frames a call, and each by itself; gap: the longest without an "
        "integration\n"
        "%-16s %6s %5s %9s %9s %7s %10s %9s %9s %9s %9s\n",
        "source",
        "inputs",
        "ports",
        "flowgraph",
        "kernels",
        "frames",
        "time ratio",
        "filter",
        "turn",
        "multiply",
        "gap, ms");
    std::string separator;
    for (size_t i = 0; i < arrays.size(); i++) {
        if (!rows.wants_array(i))
            continue;
        const array& a = arrays[i];
        const setting s{ d, a, frames, seconds };
        const auto data = noise(a);
        const flow in_flowgraph = from_device(s, data);
        const kernel_rates alone = kernels_alone(s, data);
        std::printf("%-16s %6d %5d %9.3f %9.3f %7d %10.2f %9.2f %9.2f %9.2f %9.2f\n",
                    a.fused ? "replay, fused" : "replay",
                    a.inputs,
                    a.ports(),
                    in_flowgraph.samples_per_second / 1e9,
                    alone.all / 1e9,
                    alone.frames,
                    alone.all / in_flowgraph.samples_per_second,
                    alone.filter / 1e9,
                    alone.transpose / 1e9,
                    alone.multiply / 1e9,
                    in_flowgraph.longest_gap * 1e3);
        std::fflush(stdout);
        json += separator + "{" + field("inputs", a.inputs) + ", " +
                field("ports", a.ports()) + ", " + field("fused", a.fused) + ", " +
                field("flowgraph_samples_per_second", in_flowgraph.samples_per_second) +
                ", " + field("flowgraph_longest_gap", in_flowgraph.longest_gap) + ", " +
                field("kernels_samples_per_second", alone.all) + ", " +
                field("kernels_frames", alone.frames) + ", " +
                field("filter_samples_per_second", alone.filter) + ", " +
                field("turn_samples_per_second", alone.transpose) + ", " +
                field("multiply_samples_per_second", alone.multiply) + "}";
        separator = ", ";
    }
    json += "]";
    if (rows.wants("host")) {
        const array one{ 16, 16, false };
        const auto data = noise(one);
        const setting s{ d, one, frames, seconds };
        const double host = from_host(s, data).samples_per_second;
        std::printf("%-16s %6d %5d %9.3f  (%.2f GB/s)\n",
                    "one host thread",
                    one.inputs,
                    one.ports(),
                    host / 1e9,
                    host * 2 / 1e9);
        json += ", " + field("host_source_samples_per_second", host);
    }
    if (rows.wants("latency")) {
        const double frame = times * channels / sample_rate;
        const auto late = latencies(d, 60 * frame);
        const double typical = median(late),
                     longest = *std::max_element(late.begin(), late.end());
        std::printf(
            "\nlatency, 2 inputs at %g MS/s, integrations of one frame (%.1f ms), %zu of "
            "them:\n%.2f ms from the last sample (median; longest %.2f), %.1f ms from "
            "the first\n",
            sample_rate / 1e6,
            frame * 1e3,
            late.size(),
            typical * 1e3,
            longest * 1e3,
            (typical + frame) * 1e3);
        json += ", " + field("frame_seconds", frame) + ", " +
                field("latency_seconds_median", typical) + ", " +
                field("latency_seconds_longest", longest);
    }
    json += "}\n";
    if (argc > 3 && !(std::ofstream(argv[3]) << json))
        throw std::runtime_error(std::string(argv[3]) + " cannot be written");
    return 0;
} catch (const std::exception& e) {
    std::cerr << "bench_chain: " << e.what() << std::endl;
    return 1;
}
