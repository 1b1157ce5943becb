/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/vdif/vdif_encoder.h"
#include "kernels/common/simd.h"
#include <type_traits>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace gr::aperture::formats {

namespace {

// Data of frames without samples: the word by which Mark 5 marks what was not recorded.
constexpr uint32_t fill_word = 0x11223344;
// Values whose codes are made before they are packed: these stay in the first cache.
constexpr int64_t at_once = 2048;

template <class T>
APERTURE_SIMD double copy_scaled(const T* from,
                                 int64_t from_step,
                                 int parts,
                                 int64_t samples,
                                 float factor,
                                 float* to,
                                 int64_t to_step)
{
    // sums of few squares in float, of which there are some side by side, and of these in
    // double: a sum does not depend on the processor
    constexpr int64_t lanes = 16, block = 1024;
    double sum = 0;
    for (int part = 0; part < parts; part++)
        for (int64_t first = 0; first < samples; first += block) {
            const int64_t count = std::min(block, samples - first);
            const T* in = from + first * from_step + part;
            float* out = to + first * to_step + part;
            float squares[lanes] = {};
            const auto copy = [&](int64_t in_step, int64_t out_step) {
                int64_t i = 0;
                for (; i + lanes <= count; i += lanes)
                    for (int64_t k = 0; k < lanes; k++) {
                        const float value = float(in[(i + k) * in_step]);
                        squares[k] += value * value;
                        out[(i + k) * out_step] = value * factor;
                    }
                for (; i < count; i++) {
                    const float value = float(in[i * in_step]);
                    squares[i % lanes] += value * value;
                    out[i * out_step] = value * factor;
                }
            };
            if (from_step == 1 && to_step == 1)
                copy(1, 1);
            else if (from_step == 2 && to_step == 1)
                copy(2, 1);
            else if (from_step == 4 && to_step == 1)
                copy(4, 1);
            else
                copy(from_step, to_step);
            for (const float square : squares)
                sum += double(square);
        }
    return sum;
}

APERTURE_SIMD void codes_of_1_bit(const float* values, int64_t count, uint8_t* codes)
{
    for (int64_t i = 0; i < count; i++)
        codes[i] = values[i] >= 0;
}

APERTURE_SIMD void codes_of_2_bits(const float* values, int64_t count, uint8_t* codes)
{
    for (int64_t i = 0; i < count; i++)
        codes[i] =
            uint8_t(int(values[i] >= -1) + int(values[i] >= 0) + int(values[i] >= 1));
}

// Codes of whole numbers within +-`most`; 0 has `zero`.
APERTURE_SIMD void codes_of_steps(
    const float* values, int64_t count, float most, int32_t zero, uint8_t* codes)
{
    // a sum with this number has a whole number, rounded half to even, in its low bits
    constexpr float rounding = 12582912;
    for (int64_t i = 0; i < count; i++) {
        const float value = std::min(std::max(values[i], -most), most) + rounding;
        int32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        codes[i] = uint8_t((bits + zero) & 0xff);
    }
}

// Packs codes of so many bits, the first one lowest, into bytes.
template <int Bits>
APERTURE_SIMD void pack_codes(const uint8_t* codes, int64_t count, uint8_t* out)
{
    using word = std::conditional_t<Bits == 1,
                                    uint64_t,
                                    std::conditional_t<Bits == 2, uint32_t, uint16_t>>;
    constexpr int of_byte = 8 / Bits;
    for (int64_t i = 0; i < count / of_byte; i++) {
        word w;
        std::memcpy(&w, codes + i * of_byte, sizeof w);
        // neighbours come together, then pairs of them
        for (int together = 1; together < of_byte; together *= 2)
            w = word(w | w >> (8 - Bits) * together);
        out[i] = uint8_t(w);
    }
}

void quantise(int bits, const float* values, int64_t count, uint8_t* out)
{
    uint8_t codes[at_once];
    for (int64_t first = 0; first < count; first += at_once) {
        const int64_t some = std::min(at_once, count - first);
        const float* from = values + first;
        uint8_t* to = out + first * bits / 8;
        switch (bits) {
        case 1:
            codes_of_1_bit(from, some, codes);
            pack_codes<1>(codes, some, to);
            break;
        case 2:
            codes_of_2_bits(from, some, codes);
            pack_codes<2>(codes, some, to);
            break;
        case 4:
            codes_of_steps(from, some, 7, 8, codes);
            pack_codes<4>(codes, some, to);
            break;
        default:
            codes_of_steps(from, some, 127, 128, to);
        }
    }
}

} // namespace

vdif_encoder::vdif_encoder(const parameters& p)
    : d_p(p), d_parts(is_complex(p.type) ? 2 : 1)
{
    const auto type = p.type;
    require(type == sample_type::f32 || type == sample_type::s16 ||
                type == sample_type::s8 || type == sample_type::fc32 ||
                type == sample_type::sc16 || type == sample_type::sc8,
            "type",
            name_of(type),
            "f32, s16, s8, fc32, sc16 or sc8");
    require(p.bits == 1 || p.bits == 2 || p.bits == 4 || p.bits == 8,
            "bits",
            std::to_string(p.bits),
            "1, 2, 4 or 8");
    require_range("inputs", p.inputs, 1, 1 << 16);
    require(p.channels > 0 && (p.channels & (p.channels - 1)) == 0 &&
                int64_t(p.threads.size()) * p.channels == p.inputs,
            "channels",
            std::to_string(p.channels),
            "a power of two that divides the inputs, with a thread for each so many");
    for (const int thread : p.threads)
        require(thread >= 0 && thread < 1024,
                "threads",
                std::to_string(thread),
                "numbers from 0 to 1023");
    require(p.files > 0 && int(p.threads.size()) % p.files == 0,
            "files",
            std::to_string(p.files),
            "a divisor of the number of threads");
    const int64_t bits = int64_t(p.bits) * d_parts * p.channels;
    // a header counts units of 8 bytes in 24 bits
    require(p.data_bytes > 0 && p.data_bytes < (1 << 27) - header_bytes &&
                p.data_bytes % 8 == 0 && int64_t(p.data_bytes) * 8 % bits == 0,
            "data_bytes",
            std::to_string(p.data_bytes),
            "a multiple of 8, below 2^27, of whole samples of " + std::to_string(bits) +
                " bits");
    require_range("frames_per_second", p.frames_per_second, 1, 1 << 24);
    require(p.station >= 0 && p.station < 65536,
            "station",
            std::to_string(p.station),
            "0 to 65535");
    d_samples = int64_t(p.data_bytes) * 8 / bits;
    d_row.resize(size_t(d_samples * p.channels * d_parts));
    reset();
}

void vdif_encoder::reset()
{
    d_levels.assign(size_t(d_p.inputs), {});
    if (d_p.level > 0)
        for (auto& l : d_levels)
            l.power = d_p.level * d_p.level;
}

std::vector<double> vdif_encoder::levels() const
{
    std::vector<double> found;
    found.reserve(d_levels.size());
    for (const auto& l : d_levels)
        found.push_back(std::sqrt(l.power));
    return found;
}

double vdif_encoder::step_of(const level& l) const
{
    // zeros are within any step
    return std::max(d_p.step * std::sqrt(l.power), 1e-30);
}

double vdif_encoder::gather(const void* samples, int input, float factor)
{
    float* to = d_row.data() + input % d_p.channels * d_parts;
    const int64_t from_step = int64_t(d_p.inputs) * d_parts;
    const int64_t to_step = int64_t(d_p.channels) * d_parts;
    const auto copy = [&](const auto* all) {
        return copy_scaled(
            all + input * d_parts, from_step, d_parts, d_samples, factor, to, to_step);
    };
    switch (d_p.type) {
    case sample_type::s8:
    case sample_type::sc8:
        return copy(static_cast<const int8_t*>(samples));
    case sample_type::s16:
    case sample_type::sc16:
        return copy(static_cast<const int16_t*>(samples));
    default:
        return copy(static_cast<const float*>(samples));
    }
}

bool vdif_encoder::fill(const void* samples, int group, bool learn, uint8_t* data)
{
    bool finite = true;
    const double components = double(d_samples * d_parts);
    std::vector<double> powers(size_t(d_p.channels), 0.0);
    for (int channel = 0; channel < d_p.channels; channel++) {
        const int input = group * d_p.channels + channel;
        level now = d_levels[size_t(input)];
        if (now.power == 0)
            now.power = gather(samples, input, 1) / components;
        powers[size_t(channel)] =
            gather(samples, input, float(1 / step_of(now))) / components;
        finite = finite && std::isfinite(powers[size_t(channel)]);
    }
    if (!finite)
        return false;
    for (int channel = 0; channel < d_p.channels && learn && d_p.level <= 0; channel++) {
        auto& l = d_levels[size_t(group * d_p.channels + channel)];
        const double power = powers[size_t(channel)];
        if (power == 0)
            continue;
        l.frames++;
        l.power +=
            (power - l.power) * std::max(1 / double(l.frames), 1 / d_p.level_frames);
    }
    quantise(d_p.bits, d_row.data(), int64_t(d_row.size()), data);
    return true;
}

void vdif_encoder::encode(
    const void* samples, int64_t frames, int64_t first, uint8_t* missing, uint8_t* out)
{
    vdif_header header;
    header.version = 1;
    header.epoch = d_p.epoch & 63;
    header.frame_bytes = frame_bytes();
    header.complex = d_parts == 2;
    header.bits = d_p.bits;
    header.station = d_p.station;
    while (1 << header.log2_channels < d_p.channels)
        header.log2_channels++;
    const int64_t threads = int64_t(d_p.threads.size());
    const int64_t of_file = threads / d_p.files;
    for (int64_t frame = 0; frame < frames; frame++) {
        const void* here =
            samples ? static_cast<const char*>(samples) + frame * bytes_of_samples()
                    : nullptr;
        header.second = (first + frame) / d_p.frames_per_second;
        header.frame = (first + frame) % d_p.frames_per_second;
        for (int64_t thread = 0; thread < threads; thread++) {
            const int64_t place =
                (thread / of_file * frames + frame) * of_file + thread % of_file;
            uint8_t* to = out + place * frame_bytes();
            uint8_t* lost = missing ? missing + frame * threads + thread : nullptr;
            header.thread = d_p.threads[size_t(thread)];
            header.invalid = !here || (lost && *lost);
            if (!here || !fill(here, int(thread), !header.invalid, to + header_bytes)) {
                header.invalid = true;
                for (int64_t i = 0; i < d_p.data_bytes; i += int64_t(sizeof fill_word))
                    std::memcpy(to + header_bytes + i, &fill_word, sizeof fill_word);
            }
            if (lost)
                *lost = header.invalid;
            header.write(to);
            std::memcpy(
                to + vdif_header::bytes, d_p.extended.data(), sizeof d_p.extended);
        }
    }
}

} // namespace gr::aperture::formats
