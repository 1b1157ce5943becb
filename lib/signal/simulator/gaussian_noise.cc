/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "signal/simulator/gaussian_noise.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

//! Counters that are processed together; their words stay in the first-level cache.
constexpr size_t batch = 256;

struct words {
    uint32_t word[4][batch];
};

//! Computes Philox4x32-10 of the counters (first + i, process).
APERTURE_SIMD
void philox(uint64_t seed, uint64_t process, uint64_t first, words& out)
{
    constexpr uint64_t multiplier[2] = { 0xD2511F53, 0xCD9E8D57 };
    constexpr uint32_t weyl[2] = { 0x9E3779B9, 0xBB67AE85 };
    const auto process_low = uint32_t(process);
    const auto process_high = uint32_t(process >> 32);
    const auto key_low = uint32_t(seed);
    const auto key_high = uint32_t(seed >> 32);
    for (size_t i = 0; i < batch; i++) {
        auto c0 = uint32_t(first + i);
        auto c1 = uint32_t((first + i) >> 32);
        auto c2 = process_low;
        auto c3 = process_high;
#pragma GCC unroll 10
        for (uint32_t round = 0; round < 10; round++) {
            const uint64_t product0 = multiplier[0] * c0;
            const uint64_t product1 = multiplier[1] * c2;
            c0 = uint32_t(product1 >> 32) ^ c1 ^ (key_low + round * weyl[0]);
            c1 = uint32_t(product1);
            c2 = uint32_t(product0 >> 32) ^ c3 ^ (key_high + round * weyl[1]);
            c3 = uint32_t(product0);
        }
        out.word[0][i] = c0;
        out.word[1][i] = c1;
        out.word[2][i] = c2;
        out.word[3][i] = c3;
    }
}

//! Returns -ln((floor(word/2) + 1/2) / 2^31), within 2e-7 of it relatively.
inline float minus_log(uint32_t word)
{
    const float u = float(int32_t(word >> 1)) + 0.5f;
    int32_t bits;
    std::memcpy(&bits, &u, sizeof bits);
    // u = m 2^e with m in [sqrt(1/2), sqrt(2)): ln m = 2 atanh s converges fast
    constexpr int32_t bits_of_sqrt_half = 0x3f3504f3;
    const int32_t e = (bits - bits_of_sqrt_half) >> 23;
    const int32_t m_bits = bits - e * (1 << 23);
    float m;
    std::memcpy(&m, &m_bits, sizeof m);
    const float s = (m - 1.0f) / (m + 1.0f);
    const float z = s * s;
    const float series =
        1.0f + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9))));
    constexpr float ln2 = 0.69314718f;
    // u near 2^31 has e = 31: the difference first, or its digits are lost
    return ln2 * float(31 - e) - 2.0f * s * series;
}

//! Computes exp(2 pi i word / 2^32), within 1e-7.
inline void phasor(uint32_t word, float& re, float& im)
{
    // the nearest quarter, and the rest: at most pi/4, where the series converge fast
    const uint32_t quarter = (word + (1u << 29)) >> 30;
    const auto rest = int32_t(word - (quarter << 30));
    const float a = float(rest) * 1.4629180792671596e-9f; // 2 pi / 2^32
    const float z = a * a;
    const float sine =
        a * (1.0f + z * (-1.0f / 6 +
                         z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880)))));
    const float cosine =
        1.0f + z * (-1.0f / 2 +
                    z * (1.0f / 24 +
                         z * (-1.0f / 720 + z * (1.0f / 40320 - z * (1.0f / 3628800)))));
    const float c = quarter & 1 ? sine : cosine;
    const float s = quarter & 1 ? cosine : sine;
    re = (quarter + 1) & 2 ? -c : c;
    im = quarter & 2 ? -s : s;
}

//! Converts words 0, 1 and 2, 3 of each counter to two samples, re and im of each.
APERTURE_SIMD
void box_muller(const words& in, float* out)
{
    for (size_t i = 0; i < batch; i++) {
        for (size_t sample = 0; sample < 2; sample++) {
            const float radius = std::sqrt(minus_log(in.word[2 * sample][i]));
            float re, im;
            phasor(in.word[2 * sample + 1][i], re, im);
            out[4 * i + 2 * sample] = radius * re;
            out[4 * i + 2 * sample + 1] = radius * im;
        }
    }
}

} // namespace

uint64_t noise_process(const std::string& name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name)
        hash = (hash ^ uint8_t(c)) * 0x100000001b3;
    return hash;
}

void gaussian_noise(
    uint64_t seed, uint64_t process, int64_t first, size_t count, cfloat* noise)
{
    words random;
    float samples[4 * batch];
    // arithmetic modulo 2^64: the counters of negative samples are large, and in order
    auto counter = uint64_t(first / 2);
    for (size_t done = 0; done < count; counter += batch, done += 2 * batch) {
        philox(seed, process, counter, random);
        box_muller(random, samples);
        std::memcpy(static_cast<void*>(noise + done),
                    samples,
                    std::min(2 * batch, count - done) * sizeof(cfloat));
    }
}

} // namespace gr::aperture::kernels::host
