/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the search for dispersed pulses in GNU Radio, from voltages to candidates:
 *
 *     f_engine -> beam_power -> power_normalizer -> dedisperser -> pulse_search
 *
 * with 864 trials of 0 to 86.3 pc/cm^3 in 20 MHz at 408 MHz, 1024 channels, 51.2 us and
 * 32 inputs: the case of table 2 of Magro, Zarb Adami and Hickish (2014). Beside each
 * flowgraph stand the same kernels without GNU Radio on one stream, all of them and each
 * by itself. Prints tables.
 *
 * bench_search_chain [DEVICE [SECONDS [FILE.json]]] [beams=N[,N]...] [parts]
 *
 * DEVICE: as blocks have it (default cuda); SECONDS: of a measurement (default 2); FILE:
 * the same as JSON. beams: which rows (default 4,64,256,500); those of 4 beams have items
 * of 2.52 s, as the paper. parts: also flowgraphs that end behind each block, to see
 * which one holds the others up.
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/conditioning/power_normalizer.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/prototype.h"
#include "kernels/pulses/pulse_search.h"
#include "timing.h"
#include <gnuradio/aperture/beam_power.h>
#include <gnuradio/aperture/dedisperser.h>
#include <gnuradio/aperture/discard.h>
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/power_normalizer.h>
#include <gnuradio/aperture/pulse_search.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/logger.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

using namespace gr::aperture;

namespace {

constexpr int channels = 1024, taps = 8, inputs = 32, frame_times = 256, trials = 864;
constexpr double bandwidth = 20e6, center_frequency = 408e6; // Hz
constexpr double sample_time = channels / bandwidth;
constexpr double baseline = 4; // seconds
constexpr int segments = 32;   // segments of the normalizer's window

//! A case: beams, times of an item of trials, and of a segment of the normalizer.
struct search {
    int beams, times, segment;
    double seconds() const { return times * sample_time; } //!< duration of an item
    std::vector<double> dms() const
    {
        std::vector<double> all(trials);
        for (int i = 0; i < trials; i++)
            all[i] = 0.1 * i;
        return all;
    }
    size_t cells() const { return size_t(beams) * channels; }
};

search search_of(int beams)
{
    if (beams <= 8)
        return { beams, 192 * frame_times, 1024 };
    // an item is less than 2 GiB
    int times = 4096;
    while (size_t(times) * beams * trials * sizeof(float) >= size_t(1) << 31)
        times /= 2;
    return { beams, times, 256 };
}

//! Returns weights [beam][input] of an rms of one over the root of the inputs.
std::vector<cfloat> weights_of(const search& x)
{
    std::mt19937 random(2);
    std::uniform_real_distribution<float> phase(0, 6.2831853f);
    std::vector<cfloat> all(size_t(x.beams) * inputs);
    for (auto& w : all)
        w = std::polar(1 / std::sqrt(float(inputs)), phase(random));
    return all;
}

//! Noise of an rms of 20 steps.
std::vector<char> noise(size_t samples, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 20);
    std::vector<char> all(2 * samples);
    for (auto& v : all)
        v = char(std::lrint(std::clamp(normal(random), -127.f, 127.f)));
    return all;
}

const std::vector<char>& noise_of_input(int input)
{
    static const auto all = [] {
        std::vector<std::vector<char>> of;
        for (int i = 0; i < inputs; i++)
            of.push_back(noise((size_t(1) << 18) + 1009 * i, unsigned(i)));
        return of;
    }();
    return all[input];
}

// ---- in GNU Radio

enum stage { filter, form, normalise, disperse, find, stages };
const char* const names_of_stages[] = {
    "f_engine", "beam_power", "power_normalizer", "dedisperser", "pulse_search"
};

struct flow {
    double times_real_time = 0;
    double longest_gap = 0; //!< seconds between two looks at which nothing had come
};

//! A flowgraph up to a stage.
class flowgraph
{
public:
    flowgraph(const device& d, const search& x, stage last) : d_x(x)
    {
        f_engine::parameters f;
        f.channels = channels;
        f.inputs = inputs;
        f.inputs_per_port = 1;
        f.input_type = f.output_type = "sc8";
        f.taps = taps;
        f.gain = 1;
        f.spectra_per_frame = frame_times;
        f.device = d.name();
        const auto first = add(f_engine::make(f), 8, frame_times);
        for (int i = 0; i < inputs; i++) {
            replay::parameters r;
            r.data = noise_of_input(i);
            r.item_size = 2;
            r.repeats = 0; // without end
            r.center_frequency = center_frequency;
            r.rate = bandwidth;
            r.device = d.name();
            const auto source = replay::make(r);
            source->set_min_output_buffer(16 * frame_times * channels);
            d_top->connect(source, 0, first, i);
        }
        if (last >= form) {
            beam_power::parameters b;
            b.channels = channels;
            b.inputs = inputs;
            b.beams = x.beams;
            b.spectra_per_frame = frame_times;
            b.type = "sc8";
            b.spectra = 1;
            b.weights = weights_of(x);
            b.device = d.name();
            add(beam_power::make(b), 2 * std::max(frame_times, x.segment), 1);
        }
        if (last >= normalise) {
            power_normalizer::parameters n;
            n.channels = channels;
            n.beams = x.beams;
            n.sample_time = sample_time;
            n.type = "s8";
            n.segments = segments;
            n.window = segments * x.segment * sample_time;
            n.device = d.name();
            add(power_normalizer::make(n), 2 * x.times, 1);
        }
        if (last >= disperse) {
            dedisperser::parameters p;
            p.center_frequency = center_frequency;
            p.bandwidth = bandwidth;
            p.sample_time = sample_time;
            p.dms = x.dms();
            p.beams = x.beams;
            p.channels = channels;
            p.times_per_item = x.times;
            p.type = "s8";
            p.device = d.name();
            add(dedisperser::make(p), 4, x.times);
        }
        if (last >= find) {
            pulse_search::parameters p;
            p.beams = x.beams;
            p.channels = channels;
            p.center_frequency = center_frequency;
            p.bandwidth = bandwidth;
            p.sample_time = sample_time;
            p.dms = x.dms();
            p.times_per_item = x.times;
            p.baseline = baseline;
            p.device = d.name();
            d_end = pulse_search::make(p);
        } else {
            discard::parameters p;
            p.item_size = int(d_blocks.back()->output_signature()->sizeof_stream_item(0));
            p.device = d.name();
            d_end = discard::make(p);
        }
        d_top->connect(d_blocks.back(), 0, d_end, 0);
    }

    flow measure(double seconds)
    {
        const auto passed = [&] {
            return double(d_end->nitems_read(0)) * d_item_seconds;
        };
        d_top->start();
        // Rings are full, and windows, when some items have passed.
        const double least = std::max(baseline + 1, 4 * d_x.seconds());
        double begun = now();
        while (passed() < least && now() - begun < 60 && !failed())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (const double start = now(); now() - start < seconds / 4;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        flow found;
        // measures from one item that came to another
        double first = wait_for_more(passed());
        const double first_passed = passed();
        double last = first, seen = first_passed;
        while (last - first < seconds) {
            const double time = wait_for_more(seen);
            found.longest_gap = std::max(found.longest_gap, time - last);
            last = time;
            seen = passed();
        }
        d_top->stop();
        d_top->wait();
        check();
        found.times_real_time = (seen - first_passed) / (last - first);
        return found;
    }

private:
    //! \param items least items of a ring
    //! \param times times of an item
    gr::block_sptr
    add(const std::shared_ptr<block_on_device>& block, int items, int times)
    {
        block->set_min_output_buffer(items);
        if (!d_blocks.empty())
            d_top->connect(d_blocks.back(), 0, block, 0);
        d_blocks.push_back(block);
        d_item_seconds = times * sample_time;
        return block;
    }
    bool failed() const
    {
        return std::any_of(d_blocks.begin(), d_blocks.end(), [](const auto& b) {
            return !b->error().empty();
        });
    }
    void check() const
    {
        for (const auto& block : d_blocks)
            if (!block->error().empty())
                throw std::runtime_error(block->error());
    }
    double wait_for_more(double than)
    {
        for (const double start = now(); now() - start < 60 && !failed();) {
            if (double(d_end->nitems_read(0)) * d_item_seconds > than)
                return now();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        d_top->stop();
        d_top->wait();
        check();
        throw std::runtime_error("the flowgraph stood still");
    }

    const search d_x;
    gr::top_block_sptr d_top = gr::make_top_block("search");
    std::vector<std::shared_ptr<block_on_device>> d_blocks;
    gr::block_sptr d_end;
    double d_item_seconds = 0; // duration of an item of the last block in d_blocks
};

// ---- without GNU Radio

//! The kernels, on one stream, each on the input of an item of trials.
class bare_chain
{
public:
    bare_chain(const device& d, const search& x)
        : d_x(x),
          d_stream(d.make_stream()),
          d_f_engine(kernels::f_engine::make(filter_parameters(), d)),
          d_beam_power(kernels::beam_power::make(beam_parameters(x), d)),
          d_normalizer(kernels::power_normalizer::make(normalizer_parameters(x), d)),
          d_dedisperser(kernels::dedisperser::make(dedisperser_parameters(x), d)),
          d_search(kernels::pulse_search::make(search_parameters(x), d))
    {
        for (int i = 0; i < inputs; i++) {
            const auto& some = noise_of_input(i);
            const size_t bytes = 2 * size_t(x.times + taps) * channels;
            d_samples.push_back(d.allocate(bytes));
            for (size_t at = 0; at < bytes; at += some.size())
                d_stream->copy(d_samples.back().get() + at,
                               some.data(),
                               std::min(some.size(), bytes - at),
                               direction::host_to_device);
        }
        d_frames = d.allocate(size_t(2) * x.times * inputs * channels);
        d_powers = d.allocate(x.times * x.cells() * sizeof(float));
        const int64_t needed = x.times + d_dedisperser->longest_delay();
        d_normalised = d.allocate(size_t(needed + x.times) * x.cells());
        d_stream->clear(d_normalised.get(), size_t(needed + x.times) * x.cells());
        d_item = d.allocate(size_t(x.times) * x.beams * trials * sizeof(float));
        const std::vector<cfloat> ones(size_t(inputs) * channels, 1.f);
        d_f_engine->set_gains(ones.data(), *d_stream);
        std::vector<cfloat> weights;
        const auto of_channel = weights_of(x);
        for (int c = 0; c < channels; c++)
            weights.insert(weights.end(), of_channel.begin(), of_channel.end());
        d_beam_power->set_weights(weights.data(), *d_stream);
        d_beam_power->clear(*d_stream);
        d_normalizer->clear(*d_stream);
        d_search->reset(*d_stream);
        // all windows are full
        const double full = std::max(baseline, segments * x.segment * sample_time);
        for (double passed = 0; passed < full + x.seconds(); passed += x.seconds())
            for (int s = filter; s < stages; s++)
                run(stage(s));
        d_stream->synchronize();
    }

    //! Returns the seconds of all stages for an item, one by one, or of one stage.
    double measure(int only, double seconds)
    {
        const auto time = [&](int calls) {
            d_stream->synchronize();
            std::deque<event_sptr> ends;
            const double start = now();
            for (int i = 0; i < calls; i++) {
                for (int s = filter; s < stages; s++)
                    if (only == stages || s == only)
                        run(stage(s));
                ends.push_back(d_stream->record());
                if (ends.size() > 4) { // no further ahead than a block
                    if (ends.front())
                        ends.front()->synchronize();
                    ends.pop_front();
                }
            }
            d_stream->synchronize();
            return (now() - start) / calls;
        };
        const int calls = int(std::clamp(seconds / 3 / time(2), 2., 1e5));
        std::vector<double> all{ time(calls), time(calls), time(calls) };
        std::sort(all.begin(), all.end());
        return all[1];
    }

private:
    static kernels::f_engine::parameters filter_parameters()
    {
        kernels::pfb::parameters f{};
        f.channels = channels;
        f.taps = taps;
        f.ports = inputs;
        f.inputs_per_port = 1;
        f.input = f.output = sample_type::sc8;
        f.prototype = kernels::prototype(channels, taps, "hann");
        return { f, frame_times, 0, channels };
    }
    static kernels::beam_power::parameters beam_parameters(const search& x)
    {
        using kernels::detection;
        return { channels,
                 inputs,
                 x.beams,
                 0,
                 frame_times,
                 sample_type::sc8,
                 { detection::product_set::power, detection::feeds::linear, 1, 1 } };
    }
    static kernels::power_normalizer::parameters normalizer_parameters(const search& x)
    {
        kernels::power_normalizer::parameters n;
        n.channels = channels;
        n.beams = x.beams;
        n.segment = x.segment;
        n.segments = segments;
        n.integers = true;
        n.cell_threshold = 20;
        n.channel_threshold = n.spectrum_threshold = 8;
        return n;
    }
    static kernels::dedisperser::parameters dedisperser_parameters(const search& x)
    {
        return { { channels, center_frequency, bandwidth },
                 sample_time,
                 { x.beams, x.times, x.dms(), {} },
                 kernels::power_type::s8,
                 1 };
    }
    static kernels::pulse_search::parameters search_parameters(const search& x)
    {
        return {
            { x.beams, x.times, x.dms(), {} }, sample_time, baseline, 4096, 1.1, 7, 4096
        };
    }

    void run(stage s)
    {
        stream& on = *d_stream;
        switch (s) {
        case filter: {
            std::vector<kernels::pfb::source> from;
            for (const auto& samples : d_samples)
                from.push_back({ samples.get(), 0 });
            d_f_engine->execute(from.data(), d_frames.get(), 0, d_x.times, on);
            break;
        }
        case form: {
            const float one = 1;
            d_beam_power->execute(d_frames.get(),
                                  reinterpret_cast<float*>(d_powers.get()),
                                  d_x.times / frame_times,
                                  { &one, 1 },
                                  on);
            break;
        }
        case normalise:
            for (int done = 0; done < d_x.times; done += d_x.segment)
                d_normalizer->execute(reinterpret_cast<float*>(d_powers.get()) +
                                          done * d_x.cells(),
                                      d_normalised.get() + done * d_x.cells(),
                                      std::min(d_x.segment, d_x.times - done),
                                      nullptr,
                                      on);
            break;
        case disperse:
            d_dedisperser->execute(d_normalised.get(),
                                   reinterpret_cast<float*>(d_item.get()),
                                   d_x.times,
                                   on);
            break;
        default:
            d_search->search(reinterpret_cast<const float*>(d_item.get()), on);
            d_search->collect(false);
        }
    }

    const search d_x;
    const std::unique_ptr<stream> d_stream;
    const std::unique_ptr<kernels::f_engine> d_f_engine;
    const std::unique_ptr<kernels::beam_power> d_beam_power;
    const std::unique_ptr<kernels::power_normalizer> d_normalizer;
    const std::unique_ptr<kernels::dedisperser> d_dedisperser;
    const std::unique_ptr<kernels::pulse_search> d_search;
    std::vector<memory> d_samples; // samples of each input
    memory d_frames, d_powers, d_normalised, d_item;
};

//! Returns the times of all stages for an item: each alone, and all of them at last.
std::vector<double> kernels_alone(const device& d, const search& x, double seconds)
{
    bare_chain chain(d, x);
    std::vector<double> times;
    for (int s = filter; s <= stages; s++)
        times.push_back(chain.measure(s, s < stages ? seconds / 5 : seconds));
    return times;
}

struct arguments {
    std::string device = "cuda", json;
    double seconds = 2;
    std::vector<int> beams{ 4, 64, 256, 500 };
    bool parts = false;
};

arguments parse(int argc, char** argv)
{
    arguments all;
    int plain = 0;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "parts") {
            all.parts = true;
        } else if (word.rfind("beams=", 0) == 0) {
            all.beams.clear();
            std::stringstream list(word.substr(6));
            for (std::string number; std::getline(list, number, ',');)
                all.beams.push_back(std::atoi(number.c_str()));
            for (const int n : all.beams)
                if (n < 1 || n > 2000)
                    throw std::invalid_argument(
                        word + " is not allowed: it must be numbers from 1 to 2000");
        } else if (plain == 0) {
            all.device = word, plain++;
        } else if (plain == 1) {
            all.seconds = std::atof(word.c_str()), plain++;
            if (!(all.seconds > 0))
                throw std::invalid_argument("SECONDS: " + word +
                                            " is not allowed: it must be above 0");
        } else {
            all.json = word;
        }
    }
    return all;
}

} // namespace

int main(int argc, char** argv)
try {
    const auto wanted = parse(argc, argv);
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    const device d = device::select(wanted.device);
    const std::string hardware = d.own_memory() ? d.description() : "CPU";
    std::printf("%s: %s; %d inputs, %d trials; ms for a second of data, kernels by "
                "themselves and "
                "one after the other\n\n| beams | times an item | %s",
                d.name().c_str(),
                hardware.c_str(),
                inputs,
                trials,
                names_of_stages[0]);
    for (int s = form; s < stages; s++)
        std::printf(" | %s", names_of_stages[s]);
    std::printf(
        " | all | times real time | in a flowgraph | of the kernels | longest gap, "
        "ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    std::string json = "{\"device\": \"" + hardware + "\", \"rows\": [", separator;
    for (const int beams : wanted.beams) {
        const search x = search_of(beams);
        const auto times = kernels_alone(d, x, wanted.seconds);
        const double alone = x.seconds() / times[stages];
        std::printf("| %d | %d", beams, x.times);
        for (const double t : times)
            std::printf(" | %.3f", t / x.seconds() * 1e3);
        std::printf(" | %.2f", alone);
        std::fflush(stdout);
        const flow whole = flowgraph(d, x, find).measure(wanted.seconds);
        std::printf(" | %.2f | %.0f %% | %.1f |\n",
                    whole.times_real_time,
                    100 * whole.times_real_time / alone,
                    whole.longest_gap * 1e3);
        std::fflush(stdout);
        if (wanted.parts) {
            double before = 0;
            for (int s = filter; s < find; s++) {
                before += times[s];
                const flow part = flowgraph(d, x, stage(s)).measure(wanted.seconds / 2);
                std::printf("  up to %s: %.2f times real time, its kernels %.2f\n",
                            names_of_stages[s],
                            part.times_real_time,
                            x.seconds() / before);
                std::fflush(stdout);
            }
        }
        json += separator + "{\"beams\": " + std::to_string(beams) +
                ", \"item_times\": " + std::to_string(x.times) + ", \"seconds\": {";
        for (int s = filter; s <= stages; s++)
            json += std::string(s ? ", \"" : "\"") +
                    (s < stages ? names_of_stages[s] : "all") +
                    "\": " + std::to_string(times[s]);
        json += "}, \"times_real_time\": " + std::to_string(alone) +
                ", \"flowgraph\": " + std::to_string(whole.times_real_time) + "}";
        separator = ", ";
    }
    if (!wanted.json.empty() && !(std::ofstream(wanted.json) << json << "]}\n"))
        throw std::runtime_error(wanted.json + " cannot be written");
    return 0;
} catch (const std::exception& e) {
    std::cerr << "bench_search_chain: " << e.what() << std::endl;
    return 1;
}
