/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares an f_engine that flags its frames with one that has a flagger behind it, both
 * on a GPU: the same frames, masks and counts, bit by bit. The first one flags by sums of
 * its filter bank, or after calls that cannot be summed by its voltages.
 */

#include "../check_cuda.h"
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/flagger.h>
#include <gnuradio/aperture/replay.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <cmath>

using namespace gr::aperture;

namespace {

//! Keeps all items that come.
class keeper : public gr::sync_block
{
public:
    explicit keeper(int item)
        : gr::sync_block("keeper",
                         gr::io_signature::make(1, 1, item),
                         gr::io_signature::make(0, 0, 0)),
          d_item(item)
    {
    }
    int work(int count, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const char* from = static_cast<const char*>(in[0]);
        kept.insert(kept.end(), from, from + size_t(count) * d_item);
        return count;
    }
    std::vector<char> kept;

private:
    const int d_item;
};

struct shape {
    int channels, inputs, times, slice;
    int spectra;  //!< spectra of the input
    bool change;  //!< the gains of input 1 change
    bool delayed; //!< inputs are delayed, by fractions of samples, too
};

//! Noise with a carrier in the middle of the band, in the second half.
std::vector<char> samples_of(int64_t count)
{
    std::normal_distribution<float> normal(0, 15);
    std::vector<char> all(2 * count);
    for (int64_t i = 0; i < 2 * count; i++) {
        const bool carries = i > count && i % 4 == 0;
        all[i] = char(std::lrint(
            std::clamp(normal(random_bits) + (carries ? 8.f : 0.f), -127.f, 127.f)));
    }
    return all;
}

void check_shape(const shape& x)
{
    const std::string what =
        std::to_string(x.channels) + " x " + std::to_string(x.inputs) + " x " +
        std::to_string(x.times) + "/" + std::to_string(x.slice) +
        (x.delayed ? ", delayed" : "") + (x.change ? ", other gains" : "");
    std::vector<std::vector<char>> samples;
    for (int i = 0; i < x.inputs; i++)
        samples.push_back(samples_of(int64_t(x.spectra + 7) * x.channels));
    const auto run = [&](bool by_itself) {
        f_engine::parameters f;
        f.channels = x.channels;
        f.inputs = x.inputs;
        f.inputs_per_port = 1;
        f.input_type = f.output_type = "sc8";
        f.spectra_per_frame = x.times;
        f.spectra_per_slice = by_itself ? x.slice : 0;
        f.kurtosis_false_alarms = 0.01;
        f.grown_slices = 1;
        f.device = "cuda";
        const auto engine = f_engine::make(f);
        if (x.delayed)
            engine->set_delays({ 1.3e-6, -2.2e-6, 0.7e-6 }, {}, { 0.1, 0.2, 0.3 }, {});
        const auto top = gr::make_top_block("check");
        for (int i = 0; i < x.inputs; i++) {
            replay::parameters r;
            r.data = samples[i];
            r.item_size = 2;
            r.rate = 1e6;
            r.device = "cuda";
            top->connect(replay::make(r), 0, engine, i);
        }
        if (x.change)
            engine->set_gains(std::vector<std::complex<float>>(x.channels, 1.5f), 1);
        gr::block_sptr last = engine;
        std::shared_ptr<flagging_block> flags = engine;
        if (!by_itself) {
            flagger::parameters p;
            p.channels = x.channels;
            p.inputs = x.inputs;
            p.spectra_per_frame = x.times;
            p.type = "sc8";
            p.spectra_per_slice = x.slice;
            p.kurtosis_false_alarms = 0.01;
            p.grown_slices = 1;
            p.device = "cuda";
            const auto behind = flagger::make(p);
            top->connect(engine, 0, behind, 0);
            last = behind;
            flags = behind;
        }
        std::vector<std::shared_ptr<keeper>> sinks;
        for (int port = 0; port < 2; port++) {
            sinks.push_back(gnuradio::make_block_sptr<keeper>(
                last->output_signature()->sizeof_stream_item(port)));
            top->connect(last, port, sinks.back(), 0);
        }
        top->run();
        if (by_itself)
            expect(engine->implementation().find("by sums") != std::string::npos,
                   what + ", sums: " + engine->implementation());
        expect(engine->error().empty(), what + ": " + engine->error());
        return std::tuple(sinks[0]->kept,
                          sinks[1]->kept,
                          flags->flagged_of_inputs(),
                          flags->flagged_of_channels(),
                          flags->cells());
    };
    const auto expected = run(false), made = run(true);
    uint64_t flagged = 0;
    for (const uint64_t n : std::get<2>(expected))
        flagged += n;
    std::printf("  %s: %zu bytes of frames, %llu cells flagged\n",
                what.c_str(),
                std::get<0>(expected).size(),
                (unsigned long long)(flagged));
    expect(flagged > 0 && !std::get<0>(expected).empty(), what + ", any");
    expect(std::get<0>(made) == std::get<0>(expected), what + ", frames");
    expect(std::get<1>(made) == std::get<1>(expected), what + ", masks");
    expect(made == expected, what + ", counts");
}

void check_frames(bool)
{
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    for (const bool delayed : { false, true }) {
        check_shape({ 1024, 3, 320, 80, 20 * 320 + 77, false, delayed });
        check_shape({ 1024, 3, 64, 64, 200 * 64 + 5, false, delayed });
        check_shape({ 2048, 3, 320, 320, 11 * 320, true, delayed });
    }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_flagged_frames: an F-engine that flags, and a flagger",
                       { { "frames", "", check_frames } });
}
