/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/payload_order.h"
#include "formats/transposition.h"
#include <cstring>

namespace gr::aperture::formats {

namespace {

//! Copies [row][column] from any strides to any; in elements.
void copy_strided(const char* from,
                  size_t from_row,
                  size_t from_column,
                  char* to,
                  size_t to_row,
                  size_t to_column,
                  int rows,
                  int columns,
                  size_t element)
{
    if (from_column == 1 && to_column == 1) {
        for (size_t r = 0; r < size_t(rows); r++)
            std::memcpy(to + r * to_row * element,
                        from + r * from_row * element,
                        size_t(columns) * element);
        return;
    }
    for (size_t r = 0; r < size_t(rows); r++)
        for (size_t c = 0; c < size_t(columns); c++)
            std::memcpy(to + (r * to_row + c * to_column) * element,
                        from + (r * from_row + c * from_column) * element,
                        element);
}

} // namespace

payload_order::payload_order(const packet_layout& layout,
                             const packet_settings& settings,
                             int64_t frame_inputs,
                             int64_t frame_spectra)
    : d_s(settings),
      d_element(size_of(settings.type())),
      d_payload{ 0, 0, 0 },
      d_frame{ size_t(frame_inputs * frame_spectra), 1, size_t(frame_spectra) }
{
    size_t stride = 1;
    for (auto a = layout.order.rbegin(); a != layout.order.rend(); ++a)
        switch (*a) {
        case axis::channel:
            d_payload.channel = stride;
            stride *= size_t(settings.channels);
            break;
        case axis::time:
            d_payload.time = stride;
            stride *= size_t(settings.samples);
            break;
        case axis::input:
            d_payload.input = stride;
            stride *= size_t(settings.inputs);
            break;
        }
}

void payload_order::to_frame(const uint8_t* payload, char* frame) const
{
    for (size_t c = 0; c < size_t(d_s.channels); c++) {
        const auto* from =
            reinterpret_cast<const char*>(payload) + c * d_payload.channel * d_element;
        char* to = frame + c * d_frame.channel * d_element;
        if (d_payload.input == 1)
            transpose(from,
                      int64_t(d_payload.time * d_element),
                      d_s.samples,
                      d_s.inputs,
                      to,
                      int64_t(d_frame.input * d_element),
                      int(d_element));
        else
            copy_strided(from,
                         d_payload.input,
                         d_payload.time,
                         to,
                         d_frame.input,
                         d_frame.time,
                         d_s.inputs,
                         d_s.samples,
                         d_element);
    }
}

void payload_order::from_frame(const char* frame, uint8_t* payload) const
{
    for (size_t c = 0; c < size_t(d_s.channels); c++) {
        const char* from = frame + c * d_frame.channel * d_element;
        auto* to = reinterpret_cast<char*>(payload) + c * d_payload.channel * d_element;
        if (d_payload.input == 1)
            transpose(from,
                      int64_t(d_frame.input * d_element),
                      d_s.inputs,
                      d_s.samples,
                      to,
                      int64_t(d_payload.time * d_element),
                      int(d_element));
        else
            copy_strided(from,
                         d_frame.input,
                         d_frame.time,
                         to,
                         d_payload.input,
                         d_payload.time,
                         d_s.inputs,
                         d_s.samples,
                         d_element);
    }
}

} // namespace gr::aperture::formats
