/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "scaler.h"
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>
#include <fstream>
#include <iostream>

//! Two scalers in a row on each device; what that loaded must not be gr-aperture's
//! kernels.
int main(int, char**)
{
    std::vector<gr_complex> samples(100003);
    for (size_t i = 0; i < samples.size(); i++)
        samples[i] = gr_complex(float(i), -1.0f);
    auto names = gr::aperture::devices();
    names.push_back("emulated");
    for (const auto& name : names) {
        auto top = gr::make_top_block("alone");
        auto source = gr::blocks::vector_source_c::make(samples);
        auto first = make_scaler(2, name), second = make_scaler(-0.25f, name);
        auto sink = gr::blocks::vector_sink_c::make();
        top->connect(source, 0, first, 0);
        top->connect(first, 0, second, 0);
        top->connect(second, 0, sink, 0);
        top->run();
        const auto data = sink->data();
        if (data.size() != samples.size()) {
            std::cerr << name << ": " << data.size() << " samples of " << samples.size()
                      << std::endl;
            return 1;
        }
        for (size_t i = 0; i < data.size(); i++)
            if (data[i] != -0.5f * samples[i]) { // powers of two: exact
                std::cerr << name << ": sample " << i << " is " << data[i] << std::endl;
                return 1;
            }
        std::cout << name << std::endl;
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        for (const char* other :
             { "libgnuradio-aperture.so", "libgnuradio-aperture-cuda.so", "libcufft" })
            if (line.find(other) != std::string::npos) {
                std::cerr << "loaded: " << line << std::endl;
                return 1;
            }
    return 0;
}
