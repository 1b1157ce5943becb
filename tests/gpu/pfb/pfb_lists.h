/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_GPU_PFB_LISTS_H
#define INCLUDED_APERTURE_TESTS_GPU_PFB_LISTS_H

#include "pfb_cases.h"
#include <tuple>

/*
 * The cases that check_pfb and check_f_engine compare.
 */
namespace {

//! A few cases of each kind, for tools that make a GPU slow.
void check_small_pfbs()
{
    using type = sample_type;
    const auto check = [](type t, int n, int taps, int inputs) {
        const pfb::parameters p{ n, taps, 2, inputs, t, type::sc8, false, {} };
        const int spectra = std::max(8, 8192 / n) + 1;
        check_pfb({ p, spectra, 1, true }, false);
        const auto on_tensor_cores = types_on_tensor_cores(n);
        if (std::count(on_tensor_cores.begin(), on_tensor_cores.end(), t)) {
            check_pfb({ p, 4 * spectra }, false);
            // enough for thread blocks to have whole sectors of a frame
            const int many = 2400 * 1024 / n;
            check_pfb({ p, many, -1, false, true, true }, false);
            // delays have kernels of their own
            for (bool framed : { false, true })
                check_pfb({ p, many, -1, true, framed, true }, false);
            // inverted real samples are put elsewhere
            auto inverted = p;
            inverted.inverted = true;
            for (bool delayed : { false, true })
                for (bool framed : { false, true })
                    if (!is_complex(t))
                        check_pfb({ inverted, many, -1, delayed, framed, true }, false);
            auto several = p;
            several.inputs_per_port = 3;
            check_pfb({ several, 4 * spectra, -1, true }, false);
            check_pfb({ several, spectra, 1, false, true }, false);
        }
        if (n >= 64)
            // times from within a sector on, and from its beginning
            for (auto [count, all] : { std::pair(spectra, false), { 4 * spectra, true } })
                check_pfb({ p, count, -1, false, true, all }, false);
    };
    for (auto [t, n, inputs] :
         { std::tuple(type::sc8, 1024, 1), std::tuple(type::sc8, 512, 1),
           std::tuple(type::sc8, 256, 1),  std::tuple(type::sc8, 128, 1),
           std::tuple(type::sc8, 64, 1),   std::tuple(type::sc8, 2048, 1),
           std::tuple(type::sc8, 4096, 1), std::tuple(type::sc8, 8192, 1),
           std::tuple(type::s8, 64, 1),    std::tuple(type::s8, 128, 1),
           std::tuple(type::s8, 256, 1),   std::tuple(type::s8, 512, 1),
           std::tuple(type::s8, 1024, 1),  std::tuple(type::fc32, 2048, 1),
           std::tuple(type::s10, 256, 1),  std::tuple(type::s12, 1024, 1),
           std::tuple(type::sc16, 512, 1), std::tuple(type::sc4, 64, 1),
           std::tuple(type::sc4, 256, 1),  std::tuple(type::sc4, 512, 1),
           std::tuple(type::sc4, 1024, 1), std::tuple(type::sc4, 128, 2),
           std::tuple(type::s16, 1024, 1), std::tuple(type::s8, 4096, 1),
           std::tuple(type::s16, 30, 1) }) {
        // other numbers of taps have other kernels, if any
        for (int taps = 4; taps <= most_taps_on_tensor_cores(t); taps += 8)
            check(t, n, taps, inputs);
    }
}

//! Checks inputs that a port carries sample by sample: every type, numbers that make
//! tiles end anywhere, more ports than a call takes along, and more spectra than are
//! split at once.
void check_interleaved(bool quick)
{
    using type = sample_type;
    int variant = 0;
    for (auto t : types_of_samples)
        for (int inputs : { 2, 3, 16, 61, 150 }) {
            if (quick && inputs > 16)
                continue;
            variant++;
            const auto output = variant % 3 ? type::sc8 : type::fc32;
            const pfb::parameters p{ 64, 4, 2, inputs, t, output, variant % 4 == 1, {} };
            check_pfb({ p, 131, variant % 5 == 0 ? 1 : -1, variant % 2 == 0 }, false);
            check_pfb({ p, 131, variant % 5 == 1 ? 0 : -1, variant % 2 == 1, true },
                      false);
        }
    const auto with = [](int channels, int ports, int inputs, type t) {
        return pfb::parameters{ channels, 4, ports, inputs, t, type::sc8, false, {} };
    };
    for (bool delayed : { false, true }) {
        check_pfb({ with(64, 70, 3, type::sc8), 40, 5, delayed }, false);
        check_pfb({ with(64, 1, 1024, type::sc8), 40, -1, delayed }, false);
        check_pfb({ with(256, 2, 16, type::sc8), 141, 1, delayed, true }, false);
    }
    // on tensor cores, few and many inputs
    for (auto [ports, inputs] : { std::pair(2, 16), std::pair(5, 13) })
        for (bool delayed : { false, true })
            for (bool framed : { false, true })
                for (int n : { 64, 256, 1024, 2048, 8192 })
                    for (auto t : types_on_tensor_cores(n))
                        check_pfb({ with(n, ports, inputs, t),
                                    45,
                                    ports > 2 ? 1 : -1,
                                    delayed,
                                    framed,
                                    framed && delayed },
                                  false);
    if (quick)
        return;
    for (bool framed : { false, true }) {
        check_pfb({ with(8192, 2, 16, type::sc8), 150, 1, true, framed }, false);
        check_pfb({ with(1024, 1, 600, type::s10), 33, -1, false, framed }, false);
        check_pfb({ with(1024, 2, 300, type::sc8), 121, 0, true, framed }, false);
        check_pfb({ with(128, 1, 1024, type::fc32), 40, -1, true, framed }, false);
    }
}

//! Checks all cases, of the bank or of the f_engine.
void check_cases(bool quick)
{
    using type = sample_type;
    const auto check = [&](pfb_case c) {
        check_pfb(c, false);
        if (!c.framed && (c.p.channels < 200 || !quick))
            check_pfb(c, true);
    };
    for (auto output : { type::sc8, type::fc32 })
        for (bool inverted : { false, true }) {
            const auto with = [&](int channels, int taps, int ports, int inputs, type t) {
                return pfb::parameters{ channels, taps,   ports,    inputs,
                                        t,        output, inverted, {} };
            };
            check({ with(1024, 8, 2, 1, type::sc8), 37 });
            check({ with(1024, 8, 2, 2, type::sc8), 19 });
            check({ with(64, 4, 3, 1, type::sc8), 300, 1 });
            check({ with(256, 8, 2, 3, type::s8), 50 });
            check({ with(512, 8, 2, 1, type::s8), 45 });
            check({ with(128, 8, 2, 1, type::sc16), 70, 0 });
            check({ with(96, 3, 1, 5, type::s16), 45 });
            check({ with(256, 12, 1, 1, type::s16), 45 });
            check({ with(512, 8, 2, 2, type::fc32), 33, 1 });
            check({ with(2048, 8, 1, 1, type::fc32), 13 });
            check({ with(30, 16, 3, 1, type::f32), 61 });
            check({ with(64, 16, 2, 1, type::f32), 161 });
            check({ with(128, 7, 2, 1, type::sc4), 150 });
            check({ with(4096, 8, 1, 1, type::sc4), 9 });
            check({ with(256, 8, 1, 1, type::s12), 70 });
            check({ with(64, 8, 1, 4, type::s12), 140 });
            check({ with(1024, 8, 1, 1, type::s10), 17 });
            check({ with(128, 5, 2, 4, type::s10), 70 });
            check({ with(8192, 8, 1, 1, type::sc8), 5 });
            check({ with(32768, 8, 1, 1, type::sc8), 5 });
            for (auto [t, n] : { std::pair(type::sc8, 1024),
                                 std::pair(type::s8, 64),
                                 std::pair(type::sc16, 2048),
                                 std::pair(type::f32, 256),
                                 std::pair(type::sc4, 30) })
                check({ with(n, 8, 2, 1, t), 8192 / n + 21, -1, true });
            for (auto [t, n] : { std::pair(type::sc8, 1024),
                                 std::pair(type::s8, 128),
                                 std::pair(type::s10, 4096),
                                 std::pair(type::fc32, 64),
                                 std::pair(type::s16, 8192),
                                 std::pair(type::sc4, 512) })
                for (int odd : { 0, 1 })
                    check({ with(n, 4, 3, 1, t),
                            2 * std::max(8, 8192 / n) + odd,
                            1,
                            false,
                            true });
            check({ with(1024, 8, 2, 3, type::sc8), 21, -1, true, true });
            // oversampled: hops of odd length, of several inputs, in calls and in frames
            for (auto [t, n, hop] : { std::tuple(type::sc8, 1024, 864),
                                      std::tuple(type::sc8, 64, 27),
                                      std::tuple(type::s8, 96, 144),
                                      std::tuple(type::sc16, 30, 25),
                                      std::tuple(type::f32, 128, 100),
                                      std::tuple(type::sc4, 512, 384),
                                      std::tuple(type::s12, 256, 256) })
                for (bool framed : { false, true }) {
                    auto p = with(n, 12, 3, t == type::sc16 ? 2 : 1, t);
                    p.oversampled_hop = hop;
                    check({ p, 77, 1, framed != inverted, framed });
                }
        }
    // An upchanneliser has a part of the channels, odd numbers and few of them, of
    // many interleaved streams
    for (auto [t, n, first, kept, streams] : { std::tuple(type::sc8, 32, 3, 27, 40),
                                               std::tuple(type::fc32, 32, 3, 27, 1024),
                                               std::tuple(type::fc32, 9, 0, 0, 130),
                                               std::tuple(type::sc8, 2, 0, 0, 70),
                                               std::tuple(type::sc4, 7, 1, 5, 12),
                                               std::tuple(type::fc32, 1024, 80, 864, 16),
                                               std::tuple(type::sc8, 16, 0, 0, 2048),
                                               std::tuple(type::fc32, 4096, 1, 4094, 3) })
        for (auto output : { type::sc8, type::fc32 }) {
            pfb::parameters p{ n, 5, 2, streams, t, output, false, {} };
            p.first_kept = first;
            p.kept = kept;
            check_pfb({ p, 41, 1, n == 9 }, false);
        }
    // on tensor cores: any number of taps and spectra, pieces of several inputs, also
    // lost, and of several sectors
    for (int n = 64; n <= 8192; n *= 2)
        for (auto [taps, ports, spectra] : { std::tuple(8, 1, 1),
                                             std::tuple(1, 2, 6),
                                             std::tuple(5, 1, 12),
                                             std::tuple(7, 2, 1300 * 1024 / n),
                                             std::tuple(8, 5, 1930 * 1024 / n + 1),
                                             std::tuple(8, 5, 1930 * 1024 / n + 16),
                                             std::tuple(8, 64, 45),
                                             std::tuple(6, 3, 256),
                                             std::tuple(3, 65, 9),
                                             std::tuple(16, 2, 6),
                                             std::tuple(9, 1, 12),
                                             std::tuple(16, 2, 1300 * 1024 / n),
                                             std::tuple(13, 5, 1930 * 1024 / n + 1),
                                             std::tuple(16, 64, 45),
                                             std::tuple(10, 65, 9) })
            for (auto [framed, all] : { std::pair(false, true),
                                        std::pair(true, false),
                                        std::pair(true, true) })
                for (bool delayed : { false, true })
                    for (auto t : types_on_tensor_cores(n))
                        for (bool inverted : { false, true }) {
                            // inverted real ones are put elsewhere
                            if ((is_complex(t) && inverted != framed) ||
                                taps > most_taps_on_tensor_cores(t))
                                continue;
                            check_pfb({ { n, taps, ports, 1, t, type::sc8, inverted, {} },
                                        spectra,
                                        ports > 2 ? 1 : -1,
                                        delayed,
                                        framed,
                                        all },
                                      false);
                        }
    check_interleaved(quick);
    for (int ports : { 64, 65, 130 }) // lists of ports travel in two ways
        check({ { 64, 4, ports, 1, type::sc8, type::sc8, false, {} }, 17, 7 });
    for (int n = 64; !quick && n <= 8192; n *= 2)
        for (auto t : types_of_samples)
            check({ { n, 8, 2, 1, t, type::sc8, false, {} }, 3 * std::max(8, 8192 / n) });
}

} // namespace

#endif /* INCLUDED_APERTURE_TESTS_GPU_PFB_LISTS_H */
