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
/* BINDTOOL_HEADER_FILE_HASH(315d371ed5356fbe9b6decfbbda36824) */
/***********************************************************************************/

#include "flat.h"
#include <gnuradio/aperture/beamformer.h>
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
               std::shared_ptr<block>>(
        m, "beamformer", R"doc(Weighted sums of the inputs: many beams at once.

y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel; nothing is conjugated. One polarisation of a
beam is one beam here: 2m and 2m+1 are the polarisations of a pair.

In: blocks `[channel][input][time]` from corner_turn. Out: blocks `[channel][beam][time]`. A
spectrum of a beam is tagged `missing` where all inputs are that the beam has weights for.

Message port `weights`: dictionary of `weights` (c32vector, shapes as of set_weights()), `gain`
(number, or f32vector of one per beam) or `mask` (u8vector), or several of them, and if wanted
`beam` (long; all without it) and `time` (tuple of uint64 and double: holds from the first block
that starts at or after it). What one message says takes effect at once, and never within a
block. Message port `status`: dictionaries with `event`.

Args:
    channels: of a block
    inputs: of a block
    beams: 1 to 4096
    times: spectra in a block
    type: of the voltages, sc8, sc4 or fc32
    output_type: fc32, or sc8 (rounded half to even, clamped to +-127 and counted)
    weights: first weights of all beams, as of set_weights(); zeros if empty
    gains: what voltages are multiplied with, one for each beam; ones if empty
    masks: [beam][input], 0 for inputs that a beam leaves out; ones if empty
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int channels,
                         int inputs,
                         int beams,
                         int times,
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
                 p.times = times;
                 p.type = type;
                 p.output_type = output_type;
                 p.weights = flat(weights);
                 p.gains = flat(gains);
                 p.masks = flat(masks);
                 p.device = device;
                 p.latency = latency;
                 return block::make(p);
             }),
             py::arg("channels") = d.channels,
             py::arg("inputs") = d.inputs,
             py::arg("beams") = d.beams,
             py::arg("times") = d.times,
             py::arg("type") = d.type,
             py::arg("output_type") = d.output_type,
             py::arg("weights") = numbers<std::complex<float>>(),
             py::arg("gains") = numbers<float>(),
             py::arg("masks") = numbers<int>(),
             py::arg("device") = d.device,
             py::arg("latency") = d.latency,
             "Makes the block; see the class for the arguments.")
        .def(
            "set_weights",
            [](block& b, const numbers<std::complex<float>>& weights, int beam) {
                b.set_weights(flat(weights), beam);
            },
            py::arg("weights"),
            py::arg("beam") = -1,
            "Sets the weights of a beam, [channel][input], or [input] for all channels "
            "alike; or with -1 those of all beams, [channel][beam][input] or "
            "[beam][input]. Zeros if empty. From the next block on.")
        .def("weights",
             &block::weights,
             py::arg("beam"),
             "Weights of a beam: a list of complex numbers, [channel][input].")
        .def(
            "set_gains",
            [](block& b, const numbers<float>& gains, int beam) {
                b.set_gains(flat(gains), beam);
            },
            py::arg("gains"),
            py::arg("beam") = -1,
            "Sets what voltages are multiplied with: one number for a beam; with -1 one "
            "for all, or one for each. Ones if empty.")
        .def("gains", &block::gains, "One for each beam.")
        .def(
            "set_mask",
            [](block& b, const numbers<int>& mask, int beam) {
                b.set_mask(flat(mask), beam);
            },
            py::arg("mask"),
            py::arg("beam") = -1,
            "Sets which inputs a beam has, [input], or with -1 all beams, [beam][input]: "
            "those with 0 are left out, whatever their weights are. Ones if empty.")
        .def("clamped",
             &block::clamped,
             "For each beam, values that did not fit into 8 bits so far. May be called "
             "while running.")
        .def("implementation", &block::implementation, "What computes, a string.");
}
