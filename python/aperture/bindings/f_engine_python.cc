/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(f_engine.h) */
/* BINDTOOL_HEADER_FILE_HASH(244762b1a0a0b7ec822159f660cb1ff5) */
/***********************************************************************************/

#include "f_engine_methods.h"
#include <gnuradio/aperture/f_engine.h>

namespace py = pybind11;

void bind_f_engine(py::module& m)
{
    using block = gr::aperture::f_engine;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>
        c(m,
          "f_engine",
          R"doc(F-engine that writes blocks: pfb_channelizer and corner_turn.

Gives what corner_turn makes of the spectra of pfb_channelizer, bit by bit and tag by tag, in
one block: on a GPU the spectra in between need not reach its memory.

Ports: inputs/inputs_per_port in, an item is one sample of each input of the port. One port
out, an item is a block `[channel][input][time]`. Message ports `gains` and `status` as those
of pfb_channelizer.

Args:
    channels: n, even, 4 to 65536; fast for products of 2, 3 and 5
    inputs: of all ports together
    inputs_per_port: interleaved sample by sample
    input_type: fc32, sc16, sc8, sc4, or real f32, s16, s12, s10, s8; s12 and s10 are packed,
        an item of one input is 2 samples in 3 bytes or 4 in 5
    output_type: fc32, or sc8 (rounded half to even, clamped to +-127 and counted)
    spectra_per_frame: spectra in a frame; blocks of 1 to 128 MB work best
    first_channel: first channel that goes into blocks
    selected_channels: how many do; 0: all from the first on
    align: seconds; drop spectra until the first at or after a multiple of it since 1970
    taps: 1 to 64
    window: hann, hamming, blackman, rect or kaiser(beta)
    prototype: taps x n numbers (real samples: taps x 2n) to use instead of `window`
    gain: first gain of all inputs and channels; 0 means 1, and is refused for sc8 from
        other types
    inverted: the band was mirrored: complex samples are conjugated, real channels reversed
    most_gap: seconds; an rx_time that jumps further is not filled with missing spectra, but ends
        what is unfinished and begins the alignment anew
    relative_time: rx_time counts from the device's start, whatever its value; below 1e8 s (1973)
        it does anyway
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
    c.def(py::init([](int channels,
                      int inputs,
                      int inputs_per_port,
                      const std::string& input_type,
                      const std::string& output_type,
                      int spectra_per_frame,
                      int first_channel,
                      int selected_channels,
                      double align,
                      int taps,
                      const std::string& window,
                      const std::vector<float>& prototype,
                      double gain,
                      bool inverted,
                      double most_gap,
                      bool relative_time,
                      const std::string& device,
                      double latency) {
              block::parameters p;
              p.channels = channels;
              p.inputs = inputs;
              p.inputs_per_port = inputs_per_port;
              p.input_type = input_type;
              p.output_type = output_type;
              p.spectra_per_frame = spectra_per_frame;
              p.first_channel = first_channel;
              p.selected_channels = selected_channels;
              p.align = align;
              p.taps = taps;
              p.window = window;
              p.prototype = prototype;
              p.gain = gain;
              p.inverted = inverted;
              p.most_gap = most_gap;
              p.relative_time = relative_time;
              p.device = device;
              p.latency = latency;
              return block::make(p);
          }),
          py::arg("channels") = d.channels,
          py::arg("inputs") = d.inputs,
          py::arg("inputs_per_port") = d.inputs_per_port,
          py::arg("input_type") = d.input_type,
          py::arg("output_type") = d.output_type,
          py::arg("spectra_per_frame") = d.spectra_per_frame,
          py::arg("first_channel") = d.first_channel,
          py::arg("selected_channels") = d.selected_channels,
          py::arg("align") = d.align,
          py::arg("taps") = d.taps,
          py::arg("window") = d.window,
          py::arg("prototype") = d.prototype,
          py::arg("gain") = d.gain,
          py::arg("inverted") = d.inverted,
          py::arg("most_gap") = d.most_gap,
          py::arg("relative_time") = d.relative_time,
          py::arg("device") = d.device,
          py::arg("latency") = d.latency,
          "Makes the block; see the class for the arguments.");
    bind_f_engine_methods<block>(c);
}
