/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "played_signal.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace aperture_test {

namespace {

constexpr int taps = 64;    //!< taps of the interpolation
constexpr int parts = 1024; //!< fractions of a sample that it distinguishes
constexpr uint64_t golden = 0x9e3779b97f4a7c15;

//! A hash of the sample's number (splitmix64).
inline uint64_t hash(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

//! Returns nearly Gaussian noise, as the sum of four bytes of mean 127.5 and variance
//! 65535/12 is, with a mean power of 1.
inline std::complex<float> noise(uint64_t stream, int64_t number)
{
    const uint64_t bits = hash(stream + uint64_t(number) * golden);
    const auto sum = [](uint32_t four) {
        return int((four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24));
    };
    const float scale = 1 / std::sqrt(8 * 65535 / 12.0f);
    return { scale * float(sum(uint32_t(bits)) - 510),
             scale * float(sum(uint32_t(bits >> 32)) - 510) };
}

//! Returns the filter that reads a signal between its samples, a sinc under a Kaiser
//! window for each fraction of a sample: flat within 1e-4 in the inner 90 % of the band.
const std::vector<std::array<float, taps>>& interpolation()
{
    static const auto filters = [] {
        std::vector<std::array<float, taps>> all(parts);
        const double beta = 8, pi = std::acos(-1.0);
        for (int part = 0; part < parts; ++part) {
            double sum = 0;
            std::array<double, taps> filter;
            for (int tap = 0; tap < taps; ++tap) {
                const double x = tap - (taps / 2 - 1) - double(part) / parts;
                const double u = x / (taps / 2);
                const double window =
                    std::abs(u) < 1 ? std::cyl_bessel_i(0.0, beta * std::sqrt(1 - u * u))
                                    : 0;
                filter[tap] = window * (x == 0 ? 1 : std::sin(pi * x) / (pi * x));
                sum += filter[tap];
            }
            for (int tap = 0; tap < taps; ++tap)
                all[part][tap] = float(filter[tap] / sum);
        }
        return all;
    }();
    return filters;
}

} // namespace

played_signal::shares::shares(double coherence)
    : common(float(coherence)), alone(float(std::sqrt(1 - coherence * coherence)))
{
}

played_signal::played_signal(double coherence,
                             uint64_t own,
                             double noise,
                             const noise_source* source)
    : d_off(coherence),
      d_on(noise),
      d_source(noise > 0 ? source : nullptr),
      d_own(hash(own + 1))
{
}

played_signal::played_signal(const std::string& file, bool loop) : d_loop(loop)
{
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (!stream)
        throw std::runtime_error("aperture_test: " + file + " cannot be read");
    d_file.resize(size_t(stream.tellg()) / sizeof(d_file[0]));
    stream.seekg(0);
    stream.read(reinterpret_cast<char*>(d_file.data()),
                std::streamsize(d_file.size() * sizeof(d_file[0])));
    if (d_file.empty() || !stream)
        throw std::runtime_error("aperture_test: " + file + " has no samples");
    if (!loop)
        d_length = int64_t(d_file.size());
}

void played_signal::samples(int64_t first, std::complex<float>* out, size_t count) const
{
    const auto turned = d_source ? d_source->turned() : noise_source::history();
    for (size_t i = 0; i < count; ++i) {
        const int64_t number = first + int64_t(i);
        if (!d_file.empty()) {
            const int64_t length = int64_t(d_file.size());
            const int64_t place = d_loop ? ((number % length) + length) % length : number;
            out[i] = place >= 0 && place < length ? d_file[size_t(place)] : 0;
        } else {
            const auto& share = noise_source::is_on(turned, number) ? d_on : d_off;
            out[i] = share.common * noise(0, number);
            if (share.alone != 0)
                out[i] += share.alone * noise(d_own, number);
        }
    }
}

void played_signal::play(double position,
                         double step,
                         std::complex<float>* out,
                         size_t count) const
{
    if (count == 0)
        return;
    const double first = std::floor(position);
    if (step == 1 && std::lround((position - first) * parts) == 0)
        return samples(int64_t(first), out, count);
    // samples that the filter reaches
    const int64_t begin = int64_t(first) - (taps / 2 - 1);
    const int64_t end =
        int64_t(std::floor(position + step * double(count - 1))) + taps + 1;
    std::vector<std::complex<float>> read(size_t(end - begin));
    samples(begin, read.data(), read.size());
    const auto& filters = interpolation();
    for (size_t i = 0; i < count; ++i) {
        const double x = (position - first) + step * double(i);
        const int64_t at = std::lround(x * parts);
        const auto* filter = filters[size_t(at % parts)].data();
        const auto* in = reinterpret_cast<const float*>(&read[size_t(at / parts)]);
        float re[4] = {}, im[4] = {}; // sums apart, for the compiler's vectors
        for (int tap = 0; tap < taps; tap += 4)
            for (int j = 0; j < 4; ++j) {
                re[j] += filter[tap + j] * in[2 * (tap + j)];
                im[j] += filter[tap + j] * in[2 * (tap + j) + 1];
            }
        out[i] = { re[0] + re[1] + re[2] + re[3], im[0] + im[1] + im[2] + im[3] };
    }
}

} // namespace aperture_test
