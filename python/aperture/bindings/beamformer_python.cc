/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(beamformer.h) */
/* BINDTOOL_HEADER_FILE_HASH(b77ddbc85b99939e8fa1ca38e5392a04) */
/***********************************************************************************/

#include "flat.h"
#include "weight_methods.h"
#include <gnuradio/aperture/beamformer.h>
#include <pmt/pmt.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_beamformer(py::module& m)
{
    using block = gr::aperture::beamformer;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>
        c(m, "beamformer", R"doc(Weighted sums of the inputs: many beams at once.

y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel; nothing is conjugated. One polarisation of a
beam is one beam here: 2m and 2m+1 are the polarisations of a pair.

In: blocks `[channel][input][time]` from corner_turn. Out: blocks `[channel][beam][time]`. A
spectrum of a beam is tagged `missing` where all inputs are that the beam has weights for (of a
beam without weights: where all are).

Message port `weights`: dictionary of `weights` (c32vector, shapes as of set_weights()), `gain`
(number, or f32vector of one per beam) or `mask` (u8vector), or several of them, and if wanted
`beam` (long; all without it) and `time` (tuple of uint64 and double: holds from the first block
that starts at or after it). What one message says takes effect at once, and never within a
block. Message port `status`: dictionaries with `event`.

Args:
    channels: of a block
    inputs: of a block
    beams: 1 to 4096
    spectra_per_frame: spectra in a frame
    type: of the voltages, fc32, sc8 or sc4
    output_type: fc32, or sc8 (rounded half to even, clamped to +-127 and counted)
    weights: first weights of all beams, as of set_weights(); zeros if empty
    gains: what voltages are multiplied with, one for each beam; ones if empty
    masks: [beam][input], 0 for inputs that a beam leaves out; ones if empty
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
    c.def(py::init([](int channels,
                      int inputs,
                      int beams,
                      int spectra_per_frame,
                      const std::string& type,
                      const std::string& output_type,
                      const numbers<std::complex<float>>& weights,
                      const numbers<float>& gains,
                      const numbers<int>& masks,
                      const std::string& device,
                      double latency) {
              block::parameters p;
              p.channels = channels;
              p.inputs = inputs;
              p.beams = beams;
              p.spectra_per_frame = spectra_per_frame;
              p.type = type;
              p.output_type = output_type;
              p.weights = rows_of_inputs("weights", weights, inputs);
              p.gains = flat(gains);
              p.masks = rows_of_inputs("mask", masks, inputs);
              p.device = device;
              p.latency = latency;
              return block::make(p);
          }),
          py::arg("channels") = d.channels,
          py::arg("inputs") = d.inputs,
          py::arg("beams") = d.beams,
          py::arg("spectra_per_frame") = d.spectra_per_frame,
          py::arg("type") = d.type,
          py::arg("output_type") = d.output_type,
          py::arg("weights") = numbers<std::complex<float>>(),
          py::arg("gains") = numbers<float>(),
          py::arg("masks") = numbers<int>(),
          py::arg("device") = d.device,
          py::arg("latency") = d.latency,
          "Makes the block; see the class for the arguments.")
        .def("clamped",
             &block::clamped,
             "For each beam, values that did not fit into 8 bits so far. May be called "
             "while running.")
        .def("implementation", &block::implementation, "What computes, a string.");
    bind_weight_methods<block>(c);

    m.def(
        "c32vector",
        [](const numbers<std::complex<float>>& array) {
            return pmt::init_c32vector(size_t(array.size()), array.data());
        },
        py::arg("array"),
        "All numbers of an array as a pmt c32vector, for messages. pmt.init_c32vector() "
        "looks at them one by one, which takes seconds for the weights of many beams.");
}
