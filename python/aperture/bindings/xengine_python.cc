/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(xengine.h) */
/* BINDTOOL_HEADER_FILE_HASH(eb35d72f0ccf6a98e601123e75369357) */
/***********************************************************************************/

#include <gnuradio/aperture/xengine.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_xengine(py::module& m)
{
    using block = gr::aperture::xengine;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m, "xengine", R"doc(Correlator: products of all pairs of inputs, summed over time.

V[a,b] = sum_t x_a(t) conj(x_b(t)) for inputs a >= b, product a(a+1)/2 + b. Sums of sc8
and sc4 are exact integers and are rounded once, to fc32. Of fc32 real and
imaginary part are wrong by at most 3.2e-5 of sum |x_a| |x_b|.

Port in: blocks `[channel][input][time]` of corner_turn. Port out: fc32
`[channel][product]`, one item an integration, with the tags rx_time (of its first
spectrum), spectra (its length), counted (spectra that were summed, one for each product or
one value for all) and partial (on the last one if the input ended within it).

Args:
    channels: of a block
    inputs: of a block
    spectra_per_frame: spectra in a frame; of sc8 and sc4 on a GPU a multiple of 16
    type: fc32, sc8 or sc4
    integration: length in `integration_unit`
    integration_unit: blocks, or seconds (rounded to whole blocks, at least one)
    normalise: divide each product by its own number of counted spectra
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int channels,
                         int inputs,
                         int spectra_per_frame,
                         const std::string& type,
                         double integration,
                         const std::string& integration_unit,
                         bool normalise,
                         const std::string& device,
                         double latency) {
                 block::parameters p;
                 p.channels = channels;
                 p.inputs = inputs;
                 p.spectra_per_frame = spectra_per_frame;
                 p.type = type;
                 p.integration = integration;
                 p.integration_unit = integration_unit;
                 p.normalise = normalise;
                 p.device = device;
                 p.latency = latency;
                 return block::make(p);
             }),
             py::arg("channels") = d.channels,
             py::arg("inputs") = d.inputs,
             py::arg("spectra_per_frame") = d.spectra_per_frame,
             py::arg("type") = d.type,
             py::arg("integration") = d.integration,
             py::arg("integration_unit") = d.integration_unit,
             py::arg("normalise") = d.normalise,
             py::arg("device") = d.device,
             py::arg("latency") = d.latency,
             "Makes the block; see the class for the arguments.")
        .def("set_integration",
             &block::set_integration,
             py::arg("length"),
             py::arg("unit") = "blocks",
             "Sets the length, in blocks or seconds, from the next integration on.")
        .def("blocks_per_integration",
             &block::blocks_per_integration,
             "Blocks in the present integration; 0 while a length in seconds awaits the "
             "rate "
             "of the blocks.")
        .def("set_normalise",
             &block::set_normalise,
             py::arg("normalise"),
             "Whether products are divided by their counted spectra, from the "
             "integration on "
             "that ends next.")
        .def("implementation", &block::implementation, "What computes, a string.");
}
