/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/samples_as_float.h"
#include <cmath>

namespace gr::aperture {

namespace {

template <typename integer>
void convert(const integer* from, int64_t count, cfloat* to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = { float(from[2 * i]), float(from[2 * i + 1]) };
}

} // namespace

void samples_as_float(sample_type type, const void* samples, int64_t count, cfloat* to)
{
    switch (type) {
    case sample_type::sc16:
        return convert(static_cast<const int16_t*>(samples), count, to);
    case sample_type::sc8:
        return convert(static_cast<const int8_t*>(samples), count, to);
    case sample_type::sc4: {
        const auto* bytes = static_cast<const int8_t*>(samples);
        for (int64_t i = 0; i < count; i++)
            to[i] = { float(bytes[i] >> 4), float(int8_t(uint8_t(bytes[i]) << 4) >> 4) };
        return;
    }
    default: {
        const auto* from = static_cast<const cfloat*>(samples);
        for (int64_t i = 0; i < count; i++)
            to[i] = std::isfinite(from[i].real()) && std::isfinite(from[i].imag())
                        ? from[i]
                        : cfloat(0);
    }
    }
}

} // namespace gr::aperture
