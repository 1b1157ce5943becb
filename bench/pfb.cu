/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the channeliser, the corner turn and both in one without GNU Radio, beside the
 * copy bandwidth and the plain implementation (FIR, cuFFT, conversion) of the same run.
 *
 * bench_pfb [pfb|sizes|f_engine|interleaved|corner_turn|first|tensor|few_channels|
 * many_channels|s8|inverted|sc4|types]... [channels=N] [taps=N] [json=FILE] [rest=MS]:
 * `first` is 1024 channels, 8 taps, sc8 alone, `sizes` channels by taps, 8 bit and fc32,
 * the plain implementation beside 8 taps only, `interleaved` several inputs a port,
 * `tensor` all else that tensor cores do with 1024 channels, `few_channels` with 64 to
 * 1024, `many_channels` with 2048 to 8192, `s8` and `inverted` of s8 and s8 inverted with
 * 64 to 1024, `sc4` of sc4 with 64 to 8192, of these `channels` only those, with `taps`
 * (8), `types` the F-engine for all other types. A figure counts the input's samples.
 * Beside the corner turn is no plain implementation, but a copy in calls as large. Before
 * each figure the GPU rests for `rest` milliseconds (100), as it lowers its clock after
 * some time of work.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/corner_turn/corner_turn.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

constexpr size_t total_bytes = size_t(2) << 30; // bytes of samples

const std::set<std::string> words{ "pfb",           "sizes", "f_engine", "interleaved",
                                   "corner_turn",   "first", "tensor",   "few_channels",
                                   "many_channels", "s8",    "inverted", "sc4",
                                   "types" };

//! Fills with a bell-shaped distribution of rms 18, within +-63, as a good receiver.
__global__ void fill_bytes(int8_t* data, size_t count)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
        const uint32_t h = random_word(i);
        data[i] =
            int8_t(((h & 63) + (h >> 8 & 63) + (h >> 16 & 63) + (h >> 24 & 63)) / 2 - 63);
    }
}

//! Fills with the same of two components a byte, rms 2.2, within +-6.
__global__ void fill_nibbles(uint8_t* data, size_t count)
{
    const auto number = [](uint32_t h) {
        return ((h & 3) + (h >> 2 & 3) + (h >> 4 & 3) + (h >> 6 & 3) - 6) & 15;
    };
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
        const uint32_t h = random_word(i);
        data[i] = uint8_t(number(h) << 4 | number(h >> 8));
    }
}

__global__ void fill_floats(float* data, size_t count)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        data[i] = float(int(random_word(i)) >> 8) * 5e-6f;
}

//! Returns the multiplications, additions and fused ones for a sample: filter, transform
//! in registers (radix 8 to 32), twiddles between passes, gain and rounding, without
//! conversions and addresses.
double arithmetic(int channels, int taps, bool eight_bit)
{
    const double bits = std::log2(channels);
    const double passes = std::ceil(bits / 5);
    return 2 * taps + 2.4 * bits + 4 * (passes - 1) + 4 + (eight_bit ? 2 : 0);
}

struct row {
    std::string what;
    int channels, taps, inputs;
    double rate, plain, memory_bound, arithmetic_bound; // samples a second
    std::string implementation;
};

//! Delays of all inputs: samples, and radians by which phases grow per spectrum.
struct delaying {
    int shift = 0;
    double phase_rate = 0;
};
// 2.56 ns/s at 1.712 Gsample/s: of baselines of 8 km, and at 1 GHz
constexpr double sky_drift = 2.6e-6, sky_rate = 1e-5, fast_rate = .01;

struct program {
    stream& s;
    void *in, *out;
    double copy, arithmetic_rate;
    int rest_milliseconds;
    int channels; // channels of the ranges of sizes; 0: all
    int taps;     // taps for these
    std::vector<row> rows;

    //! Returns the seconds of one call of several.
    double rested_time(int runs, const std::function<void()>& call) const
    {
        rest(s, rest_milliseconds);
        return median_time(s, runs, call);
    }

    void add(const row& r)
    {
        std::printf("%-22s %6d %4d %5d %9.1f %9.1f %8.0f %8.0f   %s\n",
                    r.what.c_str(),
                    r.channels,
                    r.taps,
                    r.inputs,
                    r.rate * 1e-9,
                    r.plain * 1e-9,
                    r.memory_bound * 1e-9,
                    r.arithmetic_bound * 1e-9,
                    r.implementation.c_str());
        std::fflush(stdout);
        rows.push_back(r);
    }

    void fill(sample_type type) const
    {
        if (type == sample_type::fc32 || type == sample_type::f32)
            fill_floats<<<2048, 256, 0, cuda::native(s)>>>(static_cast<float*>(in),
                                                           total_bytes / sizeof(float));
        else if (type == sample_type::sc4)
            fill_nibbles<<<2048, 256, 0, cuda::native(s)>>>(static_cast<uint8_t*>(in),
                                                            total_bytes);
        else
            fill_bytes<<<2048, 256, 0, cuda::native(s)>>>(static_cast<int8_t*>(in),
                                                          total_bytes);
    }

    //! Returns the spectra of each input whose samples fill `in`.
    static int spectra_of(const pfb::parameters& p)
    {
        const double sample = bits_of(p.input) / 8.;
        const double most = std::min(2. * total_bytes / 4, double(total_bytes) / sample);
        // the spectra that there is room for, in the output, too
        const double room = total_bytes / (p.channels * double(size_of(p.output)));
        const int64_t all = int64_t(std::min(most / p.hop(), room) / p.inputs()) - p.taps;
        return int(all / 128 * 128);
    }

    pfb::parameters filter(int channels,
                           int taps,
                           int inputs,
                           sample_type input = sample_type::sc8,
                           sample_type output = sample_type::sc8) const
    {
        pfb::parameters p{ channels, taps, inputs, 1, input, output, false, {} };
        p.prototype = prototype(p.hop(), taps, "hann");
        return p;
    }

    //! Returns parameters of the same inputs, some in each port.
    static pfb::parameters interleaved(pfb::parameters p, int inputs_per_port)
    {
        p.ports /= inputs_per_port;
        p.inputs_per_port = inputs_per_port;
        return p;
    }

    static float gain_for(sample_type type)
    {
        switch (type) {
        case sample_type::sc16:
        case sample_type::s16:
            return 4e-3f;
        case sample_type::s12:
            return .023f;
        case sample_type::s10:
            return .08f;
        case sample_type::sc4:
            return 5;
        default:
            return 1;
        }
    }

    //! Returns gains for an rms of about 20 steps, as many receivers have.
    template <class Kernel>
    void set_gains(Kernel& kernel, const pfb::parameters& p)
    {
        const std::vector<cfloat> gains(size_t(p.inputs()) * p.channels,
                                        gain_for(p.input));
        kernel.set_gains(gains.data(), s);
    }

    //! \param d delays; none if it shifts by 0
    template <class Kernel>
    void set_delays(Kernel& kernel, const pfb::parameters& p, delaying d)
    {
        const std::vector<delay> delays(p.inputs(),
                                        { d.shift, .3, sky_drift, .1, d.phase_rate });
        if (d.shift)
            kernel.set_delays(delays.data(), s);
    }

    std::vector<pfb::source> sources(const pfb::parameters& p, int spectra) const
    {
        std::vector<pfb::source> all;
        const size_t port = bytes_of(p.input,
                                     int64_t(spectra + p.taps - 1) * p.hop(),
                                     p.inputs_per_port) /
                            16 * 16;
        for (int i = 0; i < p.ports; i++)
            // delays read a little before
            all.push_back({ static_cast<char*>(in) + 4096 + i * port, 0 });
        return all;
    }

    void bounds(row& r, const pfb::parameters& p) const
    {
        const double outputs = double(p.channels) / p.hop(); // outputs for a sample
        r.memory_bound = copy / (bits_of(p.input) / 8. + outputs * size_of(p.output));
        // two real samples make a complex one, and separating them costs 8
        const double each = is_complex(p.input) ? 1 : .5;
        r.arithmetic_bound =
            arithmetic_rate /
            (each * (arithmetic(p.channels, p.taps, p.output == sample_type::sc8) +
                     (is_complex(p.input) ? 0 : 10)));
    }

    //! \param d delays, as before
    //! \param at_once spectra of a call; 0: all
    //! \param beside whether the plain implementation is timed, too
    void channelise(const pfb::parameters& p,
                    const std::string& what,
                    delaying d = {},
                    int at_once = 0,
                    bool beside = true)
    {
        const int all = spectra_of(p), each = at_once ? at_once : all;
        const int spectra = all / each * each;
        const auto from = sources(p, spectra);
        std::vector<void*> to;
        const size_t spectrum =
            size_t(p.channels) * p.inputs_per_port * size_of(p.output);
        for (int i = 0; i < p.ports; i++)
            to.push_back(static_cast<char*>(out) + i * spectra * spectrum);
        fill(p.input);
        const double samples = double(spectra) * p.hop() * p.inputs();
        const auto time = [&](pfb& kernel) {
            set_gains(kernel, p);
            set_delays(kernel, p, d);
            return rested_time(10, [&] {
                for (int first = 0; first < spectra; first += each) {
                    auto here = from;
                    auto there = to;
                    for (int i = 0; i < p.ports; i++) {
                        here[i] = pfb::later(p, from[i], first);
                        there[i] = static_cast<char*>(to[i]) + first * spectrum;
                    }
                    kernel.execute(here.data(), there.data(), each, s);
                }
            });
        };
        const auto kernel = cuda::make<pfb>(p, 0);
        row r{
            what, p.channels, p.taps, p.inputs(), 0, 0, 0, 0, kernel->implementation()
        };
        r.rate = samples / time(*kernel);
        if (beside && !at_once) // the plain implementation is not affected
            r.plain = samples / time(*cuda::make<pfb>(p, 0, "cuda cufft"));
        bounds(r, p);
        add(r);
    }

    //! \param d delays, as before
    void f_engine_of(const pfb::parameters& p,
                     int times,
                     const std::string& what,
                     delaying d = {})
    {
        const f_engine::parameters f{ p, times, 0, p.channels };
        const int spectra = spectra_of(p) / times * times;
        const auto from = sources(p, spectra);
        fill(p.input);
        const double samples = double(spectra) * p.hop() * p.inputs();
        const size_t block = size_t(p.channels) * p.inputs() * times * size_of(p.output);
        const auto time = [&](f_engine& kernel) {
            set_gains(kernel, p);
            set_delays(kernel, p, d);
            return rested_time(5, [&] {
                for (int first = 0; first < spectra; first += times) {
                    auto here = from;
                    for (auto& source : here)
                        source.samples = static_cast<const char*>(source.samples) +
                                         bytes_of(p.input,
                                                  int64_t(first) * p.hop(),
                                                  p.inputs_per_port);
                    kernel.execute(here.data(),
                                   static_cast<char*>(out) + first / times * block,
                                   0,
                                   times,
                                   s);
                }
            });
        };
        const auto kernel = f_engine::make(f, device::select("cuda"));
        row r{
            what, p.channels, p.taps, p.inputs(), 0, 0, 0, 0, kernel->implementation()
        };
        r.rate = samples / time(*kernel);
        r.plain = samples / time(*f_engine::make_composed(f, device::select("cuda")));
        bounds(r, p);
        add(r);
    }

    //! \param frames frames of a call
    void
    corner_turn_of(int channels, int inputs, int times, sample_type type, int frames = 1)
    {
        const corner_turn::parameters p{ channels, inputs, 1, times, type, 0, channels };
        const size_t size = size_t(channels) * inputs * times * frames;
        const int calls = int(total_bytes / size_of(type) / size);
        const size_t bytes = size * size_of(type);
        const auto kernel = cuda::make<corner_turn>(p, 0);
        fill(type == sample_type::sc4 ? type : sample_type::sc8);
        const auto time = [&](const std::function<void(char*, char*)>& call) {
            return rested_time(10, [&] {
                for (int i = 0; i < calls; i++)
                    call(static_cast<char*>(in) + bytes * i,
                         static_cast<char*>(out) + bytes * i);
            });
        };
        const double own_seconds = time([&](char* from, char* to) {
            std::vector<const void*> ports;
            for (int port = 0; port < inputs; port++)
                ports.push_back(from + bytes / inputs * port);
            kernel->execute(ports.data(), to, 0, times * frames, s);
        });
        // a copy in calls as large
        const double copy_seconds = time([&](char* from, char* to) {
            launch_copy(s, aligned(from), aligned(to), bytes);
        });
        const double samples = double(size) * calls;
        add({ "corner turn " + name_of(type) +
                  (frames > 1 ? ", " + std::to_string(frames) + " frames" : ""),
              channels,
              0,
              inputs,
              samples / own_seconds,
              samples / copy_seconds,
              copy / (2 * size_of(type)),
              0,
              kernel->implementation() });
    }

    //! Returns where a vector begins.
    static char* aligned(char* p)
    {
        return p - reinterpret_cast<uintptr_t>(p) % sizeof(uint4);
    }
};

void run_all(program& b, const std::set<std::string>& wanted)
{
    using type = sample_type;
    const auto types_but_sc8 = { type::sc4, type::sc16, type::fc32, type::s8,
                                 type::s10, type::s12,  type::s16,  type::f32 };
    const auto want = [&](const char* name) {
        return wanted.empty() || wanted.count(name);
    };
    if (want("pfb") || want("first"))
        b.channelise(b.filter(1024, 8, 1), "sc8");
    if (want("pfb")) {
        for (int n : { 64, 128, 256, 512, 2048, 4096, 8192, 32768 })
            b.channelise(b.filter(n, 8, 1), "sc8");
        for (int taps : { 4, 16, 32 })
            b.channelise(b.filter(1024, taps, 1), "sc8");
        for (int inputs : { 8, 64, 512 })
            b.channelise(b.filter(1024, 8, inputs), "sc8");
        b.channelise(b.filter(1024, 8, 64), "sc8, delays", { 4, fast_rate });
        b.channelise(b.filter(1024, 8, 64), "sc8, odd delays", { 5, fast_rate });
        for (auto t : types_but_sc8)
            b.channelise(b.filter(1024, 8, 8, t), name_of(t));
        b.channelise(b.filter(1024, 8, 8, type::fc32, type::fc32), "fc32 to fc32");
        b.channelise(b.filter(1024, 8, 8, type::sc8, type::fc32), "sc8 to fc32");
    }
    if (want("sizes"))
        for (auto t : { type::sc8, type::fc32 })
            for (int n : { 64, 256, 1024, 4096, 32768 })
                for (int taps : { 4, 8, 16, 32 })
                    b.channelise(b.filter(n, taps, 1, t, t),
                                 name_of(t) + " to " + name_of(t),
                                 {},
                                 0,
                                 taps == 8);
    if (want("interleaved")) {
        const auto ports_of = [&](int inputs, int per_port) {
            return b.interleaved(b.filter(1024, 8, inputs), per_port);
        };
        for (int per_port : { 2, 16, 64 }) {
            const auto what = "sc8, " + std::to_string(per_port) + " a port";
            b.channelise(ports_of(64, per_port), what);
            b.channelise(ports_of(64, per_port), what + ", delays", { 5, fast_rate });
        }
        for (int inputs : { 16, 64, 256 })
            b.f_engine_of(
                ports_of(inputs, 16), 65536 / inputs, "f_engine sc8, 16 a port");
    }
    if (want("f_engine") || want("tensor"))
        // frames of 128 MB, and the filter bank alone in calls as large
        for (int inputs : { 1, 8, 64, 512 }) {
            const auto p = b.filter(1024, 8, inputs);
            const int times = 65536 / inputs;
            b.f_engine_of(p, times, "f_engine sc8");
            b.f_engine_of(p, times, "with odd delays", { 5, sky_rate });
            b.f_engine_of(p, times, "with fast phases", { 5, fast_rate });
            b.channelise(p, "sc8, calls as large", {}, times);
        }
    if (want("tensor"))
        for (int inputs : { 1, 8, 64, 512 }) {
            const auto p = b.filter(1024, 8, inputs);
            b.channelise(p, "sc8");
            b.channelise(p, "sc8, odd delays", { 5, sky_rate });
            b.channelise(p, "sc8, fast phases", { 5, fast_rate });
        }
    for (auto [range, input, inverted, least, most] :
         { std::tuple("few_channels", type::sc8, false, 64, 1024),
           std::tuple("many_channels", type::sc8, false, 2048, 8192),
           std::tuple("s8", type::s8, false, 64, 1024),
           std::tuple("inverted", type::s8, true, 64, 1024),
           std::tuple("sc4", type::sc4, false, 64, 8192) })
        for (int n = least; want(range) && n <= most; n *= 2)
            for (int inputs : { 1, 8, 64, 512 }) {
                if (b.channels && b.channels != n)
                    continue;
                auto p = b.filter(n, b.taps, inputs, input);
                p.inverted = inverted;
                const int times = (64 << 20) / n / inputs;
                const auto name = name_of(input) + (inverted ? " inverted" : "");
                b.f_engine_of(p, times, "f_engine " + name);
                b.channelise(p, name + ", calls as large", {}, times);
                b.channelise(p, name, {}, 0, false);
                if (inputs == 64) {
                    b.f_engine_of(p, times, "with odd delays", { 5, sky_rate });
                    b.f_engine_of(p, times, "with fast phases", { 5, fast_rate });
                    b.channelise(p, name + ", odd delays", { 5, sky_rate }, 0, false);
                    b.channelise(p, name + ", fast phases", { 5, fast_rate }, 0, false);
                }
            }
    if (want("f_engine")) {
        for (int n : { 64, 256, 2048, 4096, 8192 })
            b.f_engine_of(b.filter(n, 8, 64), (1 << 20) / n, "f_engine sc8");
        b.f_engine_of(
            b.filter(1024, 8, 8, type::sc8, type::fc32), 2048, "f_engine sc8 to fc32");
    }
    if (want("types")) {
        // times types that tensor cores do not make
        const auto both = [&](int channels, int taps, type in, type out) {
            const auto p = b.filter(channels, taps, 8, in, out);
            const int times = (4 << 20) / channels;
            const auto what = name_of(in) + " to " + name_of(out);
            b.f_engine_of(p, times, "f_engine " + what);
            b.channelise(p, what + ", as large", {}, times);
        };
        for (auto t :
             { type::fc32, type::sc16, type::s16, type::s12, type::s10, type::f32 })
            both(1024, 8, t, type::sc8);
        both(1024, 32, type::sc8, type::sc8);
        for (auto t : { type::sc8, type::fc32, type::s16 })
            both(1024, 8, t, type::fc32);
        for (int n : { 64, 256, 512, 2048, 4096, 8192 }) {
            both(n, 8, n > 1024 ? type::s8 : type::s16, type::sc8);
            both(n, 8, n > 1024 ? type::sc16 : type::fc32, type::sc8);
            both(n, 8, type::fc32, type::fc32);
        }
    }
    if (want("corner_turn")) {
        b.corner_turn_of(1024, 8, 4096, type::sc8);
        b.corner_turn_of(1024, 64, 1024, type::sc8);
        b.corner_turn_of(4096, 64, 256, type::sc8);
        b.corner_turn_of(1000, 9, 2000, type::sc8);
        b.corner_turn_of(1001, 9, 1999, type::sc8);
        for (int frames : { 1, 16 })
            b.corner_turn_of(1024, 16, 256, type::sc8, frames);
        for (int frames : { 1, 8 })
            b.corner_turn_of(999, 7, 1001, type::sc8, frames);
        b.corner_turn_of(1001, 64, 1024, type::sc8);
        b.corner_turn_of(1024, 64, 1001, type::sc8);
        b.corner_turn_of(1023, 8, 4095, type::sc8);
        b.corner_turn_of(1024, 64, 2048, type::sc4);
        b.corner_turn_of(1001, 9, 1999, type::sc4);
        b.corner_turn_of(1023, 64, 2047, type::sc4);
        b.corner_turn_of(1024, 64, 256, type::fc32);
        b.corner_turn_of(1001, 9, 499, type::fc32);
        b.corner_turn_of(1023, 64, 255, type::fc32);
    }
}

void write_json(const std::string& name,
                const program& b,
                const std::string& gpu,
                const std::string& command)
{
    auto* file = std::fopen(name.c_str(), "w");
    if (!file)
        throw std::runtime_error(name + ": " + std::strerror(errno));
    std::fprintf(file,
                 "{\n  \"gpu\": \"%s\",\n  \"command\": \"%s\",\n"
                 "  \"copy_bytes_per_second\": %.5g,\n"
                 "  \"fp32_instructions_per_second\": %.5g,\n  \"rows\": [",
                 gpu.c_str(),
                 command.c_str(),
                 b.copy,
                 b.arithmetic_rate);
    for (const auto& r : b.rows)
        std::fprintf(file,
                     "%s\n    {\"what\": \"%s\", \"channels\": %d, \"taps\": %d, "
                     "\"inputs\": %d, \"samples_per_second\": %.5g, \"plain\": %.5g, "
                     "\"memory_bound\": %.5g, \"arithmetic_bound\": %.5g, "
                     "\"implementation\": \"%s\"}",
                     &r == b.rows.data() ? "" : ",",
                     r.what.c_str(),
                     r.channels,
                     r.taps,
                     r.inputs,
                     r.rate,
                     r.plain,
                     r.memory_bound,
                     r.arithmetic_bound,
                     r.implementation.c_str());
    std::fprintf(file, "\n  ]\n}\n");
    if (std::fclose(file))
        throw std::runtime_error(name + ": " + std::strerror(errno));
}

} // namespace

int main(int argc, char** argv)
try {
    std::string json, command = argv[0];
    std::set<std::string> wanted;
    int rest_milliseconds = 100, channels = 0, taps = 8;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        command += " " + word;
        if (word.rfind("json=", 0) == 0)
            json = word.substr(5);
        else if (words.count(word))
            wanted.insert(word);
        else if (!set_number(word, "rest=", rest_milliseconds) &&
                 !set_number(word, "channels=", channels) &&
                 !set_number(word, "taps=", taps)) {
            std::string allowed;
            for (const auto& w : words)
                allowed += w + ", ";
            throw std::invalid_argument(word + ": allowed are " + allowed +
                                        "channels=N, taps=N, json=FILE, rest=MS");
        }
    }
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    int clock = 0;
    cuda::check(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0), "clock");
    const auto own_stream = device::select("cuda").make_stream();
    // a margin for delays that read behind the last sample
    const cuda::device_array<char> in(total_bytes + (1 << 20)), out(total_bytes);
    program b{ *own_stream,
               in.data(),
               out.data(),
               copy_rate(*own_stream, in.data(), out.data(), total_bytes),
               gpu.multiProcessorCount * 128. * clock * 1e3,
               rest_milliseconds,
               channels,
               taps,
               {} };
    std::printf(
        "%s\n%s\ncopy %.0f GB/s (read plus written), fp32 %.1f T instructions/s at "
        "%.2f GHz\n"
        "Gsample/s             channels taps inputs   rate     plain   memory   "
        "fp32 bound  implementation\n",
        gpu.name,
        command.c_str(),
        b.copy * 1e-9,
        b.arithmetic_rate * 1e-12,
        clock * 1e-6);
    run_all(b, wanted);
    if (!json.empty())
        write_json(json, b, gpu.name, command);
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_pfb: %s\n", e.what());
    return 1;
}
