/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "scaler.h"
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>
#include <iostream>

/*!
 * A scaler before a filter bank of gr-aperture, which is linear: for each device, spectra
 * with and without it. The scaler's input has a second reader on the host.
 */
int main()
{
    constexpr int channels = 16;
    constexpr size_t samples = channels * 1007;
    std::vector<gr_complex> noise(samples);
    unsigned state = 1;
    for (auto& x : noise) {
        state = state * 1664525u + 1013904223u;
        x = gr_complex(float(state >> 16 & 0xff) - 127.5f, float(state >> 24) - 127.5f);
    }
    auto names = gr::aperture::devices();
    names.push_back("emulated");
    for (const auto& name : names) {
        auto top = gr::make_top_block("beside");
        auto source = gr::blocks::vector_source_c::make(noise);
        auto first = make_scaler(0.5f, name), second = make_scaler(4, name);
        gr::aperture::pfb_channelizer::parameters p;
        p.channels = channels;
        p.inputs = 2;
        p.device = name;
        auto channelizer = gr::aperture::pfb_channelizer::make(p);
        auto plain = gr::blocks::vector_sink_c::make(channels),
             scaled = gr::blocks::vector_sink_c::make(channels),
             tap = gr::blocks::vector_sink_c::make();
        top->connect(source, 0, first, 0);
        top->connect(first, 0, tap, 0);
        top->connect(first, 0, second, 0);
        top->connect(first, 0, channelizer, 0);
        top->connect(second, 0, channelizer, 1);
        top->connect(channelizer, 0, plain, 0);
        top->connect(channelizer, 1, scaled, 0);
        top->run();
        const auto a = plain->data(), b = scaled->data(), half = tap->data();
        bool right = a.size() == channels * (samples / channels - p.taps + 1) &&
                     b.size() == a.size() && half.size() == samples;
        for (size_t i = 0; right && i < samples; i++)
            right = half[i] == 0.5f * noise[i];
        for (size_t i = 0; right && i < a.size(); i++)
            right = b[i] == 4.0f * a[i]; // powers of two: exact
        if (!right) {
            std::cerr << name << ": wrong" << std::endl;
            return 1;
        }
        std::cout << name << std::endl;
    }
    return 0;
}
