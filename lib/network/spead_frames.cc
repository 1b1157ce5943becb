/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "spead_frames.h"

#include <cstring>

namespace gr::aperture::network {

namespace {

constexpr int64_t sample_bytes = 2;

// A pair of samples is a word of 32 bits, so that the compiler separates many at once.
void separate_pairs(const int8_t* __restrict__ from,
                    int64_t count,
                    int8_t* __restrict__ first,
                    int8_t* __restrict__ second)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t pair;
        std::memcpy(&pair, from + 4 * i, sizeof pair);
        const auto low = uint16_t(pair), high = uint16_t(pair >> 16);
        std::memcpy(first + 2 * i, &low, sizeof low);
        std::memcpy(second + 2 * i, &high, sizeof high);
    }
}

// [count][polarizations] -> [polarizations] rows, `stride` samples apart
void separate(
    const int8_t* from, int64_t count, int64_t polarizations, int64_t stride, int8_t* to)
{
    if (polarizations == 1) {
        std::memcpy(to, from, size_t(count * sample_bytes));
        return;
    }
    if (polarizations == 2) {
        separate_pairs(from, count, to, to + stride * sample_bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t p = 0; p < polarizations; p++)
            std::memcpy(to + (p * stride + i) * sample_bytes,
                        from + (i * polarizations + p) * sample_bytes,
                        sample_bytes);
}

void interleave(
    const int8_t* from, int64_t count, int64_t polarizations, int64_t stride, int8_t* to)
{
    if (polarizations == 1) {
        std::memcpy(to, from, size_t(count * sample_bytes));
        return;
    }
    for (int64_t p = 0; p < polarizations; p++) {
        const int8_t* row = from + p * stride * sample_bytes;
        int8_t* column = to + p * sample_bytes;
        for (int64_t i = 0; i < count; i++)
            std::memcpy(column + i * polarizations * sample_bytes,
                        row + i * sample_bytes,
                        sample_bytes);
    }
}

int64_t clamp(int8_t* values, int64_t count)
{
    // nearly always there is none, and to look for it takes a fraction of the time
    uint8_t any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= uint8_t(values[i] == -128);
    if (!any)
        return 0;
    int64_t clamped = 0;
    for (int64_t i = 0; i < count; i++) {
        const bool low = values[i] == -128;
        clamped += low;
        values[i] = int8_t(values[i] + low);
    }
    return clamped;
}

} // namespace

int64_t heaps_to_frame(const int8_t* heaps,
                       const uint8_t* present,
                       const voltage_heaps& layout,
                       int8_t* frame)
{
    const auto times = layout.slots * layout.spectra;
    const auto row = layout.spectra * layout.polarizations * sample_bytes;
    int64_t clamped = 0;
    for (int64_t range = 0; range < layout.ranges; range++)
        for (int64_t channel = 0; channel < layout.channels; channel++)
            for (int64_t sender = 0; sender < layout.senders; sender++) {
                int8_t* to =
                    frame +
                    ((range * layout.channels + channel) * layout.senders + sender) *
                        layout.polarizations * times * sample_bytes;
                for (int64_t slot = 0; slot < layout.slots; slot++) {
                    const auto heap =
                        (slot * layout.senders + sender) * layout.ranges + range;
                    int8_t* part = to + slot * layout.spectra * sample_bytes;
                    if (present[heap])
                        separate(heaps + heap * layout.heap_bytes() + channel * row,
                                 layout.spectra,
                                 layout.polarizations,
                                 times,
                                 part);
                    else
                        for (int64_t p = 0; p < layout.polarizations; p++)
                            std::memset(part + p * times * sample_bytes,
                                        0,
                                        size_t(layout.spectra * sample_bytes));
                }
                clamped += clamp(to, layout.polarizations * times * sample_bytes);
            }
    return clamped;
}

void frame_to_heaps(const int8_t* frame,
                    int64_t times,
                    int64_t inputs,
                    int64_t first_input,
                    int64_t from,
                    int64_t to,
                    int64_t count,
                    const voltage_heaps& layout,
                    int8_t* heaps)
{
    for (int64_t range = 0; range < layout.ranges; range++)
        for (int64_t channel = 0; channel < layout.channels; channel++) {
            const int8_t* rows =
                frame + ((range * layout.channels + channel) * inputs + first_input) *
                            times * sample_bytes;
            for (int64_t sender = 0; sender < layout.senders; sender++) {
                int8_t* heap =
                    heaps + (sender * layout.ranges + range) * layout.heap_bytes();
                interleave(rows + (sender * layout.polarizations * times + from) *
                                      sample_bytes,
                           count,
                           layout.polarizations,
                           times,
                           heap + (channel * layout.spectra + to) * layout.polarizations *
                                      sample_bytes);
            }
        }
}

} // namespace gr::aperture::network
