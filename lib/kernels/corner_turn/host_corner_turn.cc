/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/corner_turn/host_corner_turn.h"
#include <algorithm>
#include <atomic>

namespace gr::aperture::kernels::host {

namespace {

using sc8 = uint16_t; // both bytes of a voltage move together
using sc4 = uint8_t;  // and both components

//! Whether either byte is -128, or either component of 4 bits -8.
inline bool is_minimum(sc8 v) { return (v & 0xff) == 0x80 || v >> 8 == 0x80; }
inline bool is_minimum(sc4 v) { return (v & 0xf) == 8 || v >> 4 == 8; }
inline bool is_minimum(cfloat) { return false; }

inline sc8 without_minimum(sc8 v)
{
    return ((v & 0xff) == 0x80 ? 0x81 : v & 0xff) |
           (v >> 8 == 0x80 ? 0x8100 : v & 0xff00);
}
inline sc4 without_minimum(sc4 v)
{
    return ((v & 0xf) == 8 ? 9 : v & 0xf) | (v >> 4 == 8 ? 0x90 : v & 0xf0);
}
inline cfloat without_minimum(cfloat v) { return v; }

template <class voltage>
class host_corner_turn : public corner_turn
{
public:
    explicit host_corner_turn(const parameters& p) : corner_turn(p), d_clamped(p.inputs())
    {
    }

    std::string implementation() const override { return "host"; }

    std::vector<uint64_t> clamped() const override
    {
        return { d_clamped.begin(), d_clamped.end() };
    }

private:
    void turn(const void* const* spectra,
              void* frame,
              int first,
              int count,
              int frames,
              stream&) override
    {
        const size_t row = size_t(d_p.inputs_per_port) * d_p.channels;
        for (int n = 0; n < frames; n++)
            for (int port = 0; port < d_p.ports; port++)
                for (int i = 0; i < d_p.inputs_per_port; i++) {
                    const int input = port * d_p.inputs_per_port + i;
                    auto* in = static_cast<const voltage*>(spectra[port]);
                    if (in)
                        in += n * count * row + size_t(i) * d_p.channels +
                              d_p.first_channel;
                    auto* to = static_cast<char*>(frame) + n * bytes_of_frame();
                    turn_input(in, reinterpret_cast<voltage*>(to), input, first, count);
                }
    }

    //! in: the first spectrum of the input
    void turn_input(const voltage* in, voltage* frame, int input, int first, int count)
    {
        constexpr int tile =
            64 / sizeof(voltage); // channels: one cache line of a spectrum
        const size_t row = size_t(d_p.inputs_per_port) * d_p.channels;
        const size_t column = size_t(d_p.inputs()) * d_p.spectra_per_frame;
        voltage* out = frame + size_t(input) * d_p.spectra_per_frame + first;
        for (int start = 0; start < d_p.selected_channels; start += tile) {
            const int end = std::min(d_p.selected_channels, start + tile);
            for (int c = start; c < end; c++) {
                voltage* to = out + c * column;
                if (!in) {
                    std::fill(to, to + count, voltage());
                    continue;
                }
                bool minima = false;
                for (int t = 0; t < count; t++) {
                    to[t] = in[t * row + c];
                    minima |= is_minimum(to[t]);
                }
                if (minima)
                    d_clamped[input] += clamp(to, count);
            }
        }
    }

    static uint64_t clamp(voltage* to, int count)
    {
        uint64_t found = 0;
        for (int t = 0; t < count; t++) {
            found += is_minimum(to[t]);
            to[t] = without_minimum(to[t]);
        }
        return found;
    }

    std::vector<std::atomic<uint64_t>> d_clamped;
};

} // namespace

std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p)
{
    if (p.type == sample_type::sc8)
        return std::make_unique<host_corner_turn<sc8>>(p);
    if (p.type == sample_type::sc4)
        return std::make_unique<host_corner_turn<sc4>>(p);
    return std::make_unique<host_corner_turn<cfloat>>(p);
}

} // namespace gr::aperture::kernels::host
