/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>
#include <cmath>
#include <iostream>

/*!
 * Channelises a constant, which is a tone in the middle of the band: channel n/2 holds
 * sum h, and every other channel the prototype's response at a whole number of channels
 * off.
 */
int main()
{
    const int channels = 8;
    const int spectra = 100;

    gr::aperture::pfb_channelizer::parameters p;
    p.channels = channels;
    p.inputs = 1;
    auto channelizer = gr::aperture::pfb_channelizer::make(p);

    const size_t samples = channels * (spectra + p.taps - 1);
    auto top = gr::make_top_block("consumer");
    auto source = gr::blocks::vector_source_c::make(
        std::vector<gr_complex>(samples, gr_complex(1)));
    auto sink = gr::blocks::vector_sink_c::make(channels);
    top->connect(source, 0, channelizer, 0);
    top->connect(channelizer, 0, sink, 0);
    top->run();

    double gain = 0;
    for (float h : gr::aperture::pfb_prototype(channels, p.taps))
        gain += h;

    const auto data = sink->data();
    if (data.size() != size_t(channels * spectra)) {
        std::cerr << data.size() << " values instead of " << channels * spectra
                  << std::endl;
        return 1;
    }
    for (size_t i = 0; i < data.size(); i++) {
        const bool tone = i % channels == channels / 2;
        // float sums of 64 terms: 1e-5; the other channels: the filter's -53 dB
        const bool right = tone ? std::abs(std::abs(data[i]) - gain) < 1e-5 * gain
                                : std::abs(data[i]) < gain * pow(10, -53 / 20.);
        if (!right) {
            std::cerr << "spectrum " << i / channels << ", channel " << i % channels
                      << ": " << data[i] << ", the tone has " << gain << std::endl;
            return 1;
        }
    }
    return 0;
}
