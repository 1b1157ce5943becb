/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(pfb_channelizer.h) */
/* BINDTOOL_HEADER_FILE_HASH(99c5d801d89d59f6e054a936f25fcffd) */
/***********************************************************************************/

#include "f_engine_methods.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_pfb_channelizer(py::module& m)
{
    using block = gr::aperture::pfb_channelizer;
    const block::parameters d;

    m.def(
        "pfb_prototype",
        &gr::aperture::pfb_prototype,
        py::arg("channels"),
        py::arg("taps"),
        py::arg("window") = "hann",
        R"doc(Prototype filter of a polyphase filter bank: sinc spectra_per_frame a window.

h[j] = sinc((j - (L-1)/2) / n) w[j] with L = taps n, scaled so that the sum of squares is 1:
white noise keeps its power in each channel.

Args:
    channels: n, even, 4 to 131072; for real samples twice the number of channels
    taps: 1 to 64
    window: hann, hamming, blackman, rect or kaiser(beta), symmetric

Returns:
    list of taps x channels floats

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>
        c(m,
          "pfb_channelizer",
          R"doc(F-engine: a critically sampled polyphase filter bank.

y_k[m] = gain_k sum_j h[j] x[mn+j] exp(-2 pi i (k - n/2) j / n), j = 0 the oldest sample.
Channels come in order of increasing sky frequency: of complex samples at rate fs channel k
is centred on (k - n/2) fs/n, of real samples on k fs/(2n). N samples give
floor(N/n) - taps + 1 spectra (of real samples 2n for n).

Ports: inputs/inputs_per_port in, as many out. An input item is one sample of each input of
the port, an output item `[input][channel]`. All ports advance together: rx_time lines them
up, and lost samples become spectra of zeros with `missing` tags.

Message port `gains`: dictionary with `gain` (number, or c32vector of one per channel) and,
if wanted, `input` (long; all without it) and `time` (tuple of uint64 and double: holds from
the first spectrum at or after it). Message port `status`: dictionaries with `event`.

Args:
    channels: n, even, 4 to 65536; fast for products of 2, 3 and 5
    inputs: of all ports together
    inputs_per_port: interleaved sample by sample
    input_type: fc32, sc16, sc8, sc4, or real f32, s16, s12, s10, s8; s12 and s10 are packed,
        an item of one input is 2 samples in 3 bytes or 4 in 5
    output_type: fc32, or sc8 (rounded half to even, clamped to +-127 and counted)
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
