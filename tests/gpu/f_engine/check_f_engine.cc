/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the frames of F-engines on the GPU with the host's, and with the spectra that
 * the GPU's filter banks make of the same samples in other calls: the same bits. Needs no
 * GNU Radio. See --help for the arguments.
 */

namespace {
constexpr bool checks_frames = true;
}

#include "../pfb/pfb_lists.h"

namespace {

/*!
 * The same samples give the same bits, whatever calls the stream is cut into and wherever
 * the results are stored.
 * \param skipped channels at both ends of a frame
 */
void check_cuts(pfb::parameters p, bool delayed, int skipped)
{
    if (!chosen_channels.wants(p.channels))
        return;
    const int spectra = 2 * std::max(16, 8192 / p.channels) + 7;
    const int64_t samples = int64_t(spectra - 1 + p.taps) * p.hop() + 2 * margin;
    p.prototype = prototype(p.hop(), p.taps, "hann");
    const auto gains = random_gains(p);
    const auto delays = random_delays(p);
    std::vector<guarded> data;
    std::vector<pfb::source> from;
    for (int port = 0; port < p.ports; port++) {
        data.emplace_back(random_samples(p.input, samples, p.inputs_per_port));
        from.push_back({ static_cast<char*>(data.back().data()) +
                             bytes_of(p.input, margin, p.inputs_per_port),
                         0 });
    }
    const std::vector<int> whole{ spectra };
    std::vector<int> uneven;
    for (int left = spectra, next = 1; left > 0; next = 2 * next % 17 + 1) {
        uneven.push_back(std::min(next, left));
        left -= uneven.back();
    }
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto run = [&](auto& kernel, const std::vector<int>& calls, auto execute) {
        kernel.set_gains(gains.data(), s);
        if (delayed)
            kernel.set_delays(delays.data(), s);
        int first = 0;
        for (int count : calls) {
            auto here = from;
            for (auto& source : here)
                source = pfb::later(p, source, first);
            execute(here.data(), first, count);
            first += count;
        }
        s.synchronize();
    };
    const size_t size = size_of(p.output);
    const size_t spectrum = size * p.inputs_per_port * p.channels;
    const auto spectra_of = [&](const std::vector<int>& calls) {
        const auto kernel = cuda::make<pfb>(p, 0);
        const size_t port = spectrum * spectra;
        const guarded out(port * p.ports);
        run(*kernel, calls, [&](const pfb::source* sources, int first, int count) {
            std::vector<void*> to;
            for (int i = 0; i < p.ports; i++)
                to.push_back(static_cast<char*>(out.data()) + port * i +
                             spectrum * first);
            kernel->execute(sources, to.data(), count, s);
        });
        return std::pair(out.values<uint8_t>(), kernel->clamped());
    };
    const int before = 8;
    const int selected = p.channels - 2 * skipped;
    // bytes of one channel of one frame, and all frames that they are written to
    const auto block_row = [&](int times) { return size * p.inputs() * times; };
    const auto bytes_of_frames = [&](int times) {
        return (before + spectra + times) / times * block_row(times) * selected;
    };
    const auto frames_of = [&](const std::vector<int>& calls, int times) {
        const auto kernel =
            f_engine::make({ p, times, skipped, selected }, device::select("cuda"));
        const guarded out(bytes_of_frames(times));
        run(*kernel, calls, [&](const pfb::source* sources, int first, int count) {
            const int block = (before + first) / times;
            kernel->execute(sources,
                            static_cast<char*>(out.data()) +
                                block * block_row(times) * selected,
                            (before + first) % times,
                            count,
                            s);
        });
        return std::pair(out.values<uint8_t>(), kernel->clamped());
    };
    const auto expected = spectra_of(whole);
    const auto transposed = [&](int times) {
        std::vector<uint8_t> all(bytes_of_frames(times), guard_value);
        for (int k = 0; k < selected; k++)
            for (int input = 0; input < p.inputs(); input++)
                for (int t = 0; t < spectra; t++) {
                    const size_t line = input / p.inputs_per_port * size_t(spectra) + t;
                    const size_t item =
                        line * p.inputs_per_port + input % p.inputs_per_port;
                    const int block = (before + t) / times, time = (before + t) % times;
                    std::memcpy(&all[(size_t(block) * selected + k) * block_row(times) +
                                     (input * times + time) * size],
                                &expected.first[(item * p.channels + k + skipped) * size],
                                size);
                }
        return all;
    };
    const auto what = name_of(p) + (delayed ? ", delayed" : "");
    const auto compare = [&](const auto& got, const auto& bytes, const std::string& how) {
        expect(same_bits(got.first, bytes), what + ", same bits " + how);
        expect(got.second.samples == expected.second.samples &&
                   got.second.output == expected.second.output,
               what + ", same counts " + how);
    };
    compare(spectra_of(uneven), expected.first, "in uneven calls");
    // one frame, and several in a row that the copy engine stores, and threads
    for (int times : { (before + spectra + 15) / 8 * 8, 24, 11 }) {
        const auto where = "in blocks of " + std::to_string(times) + " times";
        compare(frames_of(whole, times), transposed(times), where);
        compare(frames_of(uneven, times), transposed(times), where + " in uneven calls");
    }
}

void check_cuts(bool quick)
{
    using type = sample_type;
    int variant = 0;
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_of_samples)
            for (auto output : { type::fc32, type::sc8 }) {
                variant++;
                if (quick && variant % 4 != 1)
                    continue;
                const bool odd = variant % 5 == 0;
                // frames of all channels are stored in boxes
                check_cuts({ n, odd ? 5 : 8, 2, 1, t, output, odd, {} },
                           variant % 3 == 0,
                           variant % 3 == 1 ? 0 : n / 8 + 1);
            }
    for (auto t : { type::sc8, type::fc32, type::s10 })
        check_cuts({ 64, 8, 2, 3, t, type::fc32, false, {} }, false, 9);
    for (int n : { 30, 32768 }) // not by the fused kernel
        for (auto t : { type::fc32, type::f32 })
            check_cuts({ n, 8, 2, 1, t, type::fc32, false, {} }, false, 5);
}

/*!
 * A call gives the same bits each time, also when the GPU switches to other programs in
 * the middle of it: for several programs at a time. On tensor cores, where the copy
 * engine, filter and consumers share memory.
 */
void check_repeats()
{
    constexpr int calls = 100, slot_spectra = 4;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto check = [&](pfb::parameters p, bool delayed, int first_time) {
        p.prototype = prototype(p.hop(), p.taps, "hann");
        const bool framed = first_time >= 0;
        // slots begin alike in all calls: phases follow from those of a slot's beginning
        const int slots = 1930 * 1024 / slot_spectra / p.channels;
        const int spectra = slots * slot_spectra + (delayed ? 0 : 1);
        const int64_t samples = int64_t(spectra - 1 + p.taps) * p.hop() + 2 * margin;
        const size_t results = size_t(spectra) * p.channels * size_of(p.output);
        std::vector<guarded> data, out;
        std::vector<pfb::source> from;
        std::vector<void*> to;
        for (int port = 0; port < p.ports; port++) {
            data.emplace_back(random_samples(p.input, samples, 1));
            from.push_back(
                { static_cast<char*>(data.back().data()) + bytes_of(p.input, margin, 1),
                  0 });
            if (!framed)
                to.push_back(out.emplace_back(results).data());
        }
        const int times = (first_time + spectra + 7) / 8 * 8;
        if (framed)
            out.emplace_back(size_t(p.channels) * p.ports * times * size_of(p.output));
        const auto gains = random_gains(p);
        const auto delays = random_delays(p);
        std::vector<std::vector<uint8_t>> first;
        int different = 0;
        const auto repeat = [&](auto& kernel, auto execute) {
            kernel.set_gains(gains.data(), s);
            for (int call = 0; call < calls; call++) {
                if (delayed) // delays go on from call to call
                    kernel.set_delays(delays.data(), s);
                execute(kernel);
                s.synchronize();
                std::vector<std::vector<uint8_t>> all;
                for (const auto& o : out)
                    all.push_back(o.template values<uint8_t>());
                if (call == 0)
                    first = all;
                different += all != first;
            }
        };
        if (framed)
            repeat(*f_engine::make({ p, times, 0, p.channels }, device::select("cuda")),
                   [&](auto& k) {
                       k.execute(from.data(), out[0].data(), first_time, spectra, s);
                   });
        else
            repeat(*cuda::make<pfb>(p, 0),
                   [&](auto& k) { k.execute(from.data(), to.data(), spectra, s); });
        expect(different == 0,
               name_of(p) + (delayed ? ", delayed" : "") +
                   (framed ? ", times from " + std::to_string(first_time) : "") + ": " +
                   std::to_string(different) + " calls differ from the first");
    };
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n))
            for (int taps = 8; taps <= most_taps_on_tensor_cores(t); taps += 8)
                for (bool delayed : { false, true })
                    // spectra; times stored by the copy engine, and by threads
                    for (int first_time : { -1, 0, 3 })
                        if (chosen_channels.wants(n))
                            check({ n,
                                    taps,
                                    5,
                                    1,
                                    t,
                                    sample_type::sc8,
                                    first_time == 3,
                                    {} },
                                  delayed,
                                  first_time);
}

void check_f_engines(bool quick)
{
    using type = sample_type;
    check_cases(quick);
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n))
            for (bool inverted : { false, true })
                for (int skipped : { 0, n / 8 + 1 })
                    for (bool delayed : { false, true })
                        for (int inputs : { 1, 3 })
                            for (int taps = 8; taps <= most_taps_on_tensor_cores(t);
                                 taps += 8)
                                check_cuts(
                                    { n, taps, 3, inputs, t, type::sc8, inverted, {} },
                                    delayed,
                                    skipped);
    check_cuts(quick);
    expect_few(single_precision, "single precision");
    expect_few(half_precision, "half precision");
}

//! Frames, and several of them in a row.
void check_small()
{
    check_small_pfbs();
    for (int n : { 64, 256, 1024, 2048 })
        for (auto t : types_on_tensor_cores(n))
            for (int taps = 4; taps <= most_taps_on_tensor_cores(t); taps += 8)
                check_cuts({ n, taps, 2, 1, t, sample_type::sc8, false, {} }, false, 0);
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_f_engine: the F-engines of a GPU against the host's",
        { { "f_engine", "", check_f_engines },
          { "cuts", "f_engine", [](bool quick) { check_cuts(quick); } },
          { "small", "f_engine", [](bool) { check_small(); } },
          { "repeats", "no other: it takes minutes", [](bool) { check_repeats(); } } },
        { { "channels", &chosen_channels } });
}
