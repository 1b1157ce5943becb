/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(corner_turn.h) */
/* BINDTOOL_HEADER_FILE_HASH(2e0f9e14e5bdd8f08f409ac2e9e8581a) */
/***********************************************************************************/

#include <gnuradio/aperture/corner_turn.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_corner_turn(py::module& m)
{
    using block = gr::aperture::corner_turn;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m,
        "corner_turn",
        R"doc(Collects spectra into blocks in which time is the fastest axis.

Ports: inputs/inputs_per_port in, an item is `[input][channel]`, one spectrum of each input
of the port. One port out, an item is a block `[channel][input][time]`. rx_time lines the
ports up; spectra lost in between become zeros with `missing` tags. When the input ends, the
last block is filled up with zeros that count as missing, and tagged `partial`.

Args:
    channels: of each spectrum that comes in
    inputs: of all ports together
    inputs_per_port: spectra of each input item, one after the other
    spectra_per_frame: spectra in a frame; blocks of 1 to 128 MB work best
    type: fc32, sc8 or sc4
    first_channel: first channel that is passed on
    selected_channels: how many are passed on; 0: all from the first on
    align: seconds; drop spectra until the first at or after a multiple of it since 1970
    most_gap: seconds; an rx_time that jumps further is not filled with missing spectra, but ends
        what is unfinished and begins the alignment anew
    relative_time: rx_time counts from the device's start, whatever its value; below 1e8 s (1973)
        it does anyway
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int channels,
                         int inputs,
                         int inputs_per_port,
                         int spectra_per_frame,
                         const std::string& type,
                         int first_channel,
                         int selected_channels,
                         double align,
                         double most_gap,
                         bool relative_time,
                         const std::string& device,
                         double latency) {
                 block::parameters p;
                 p.channels = channels;
                 p.inputs = inputs;
                 p.inputs_per_port = inputs_per_port;
                 p.spectra_per_frame = spectra_per_frame;
                 p.type = type;
                 p.first_channel = first_channel;
                 p.selected_channels = selected_channels;
                 p.align = align;
                 p.most_gap = most_gap;
                 p.relative_time = relative_time;
                 p.device = device;
                 p.latency = latency;
                 return block::make(p);
             }),
             py::arg("channels") = d.channels,
             py::arg("inputs") = d.inputs,
             py::arg("inputs_per_port") = d.inputs_per_port,
             py::arg("spectra_per_frame") = d.spectra_per_frame,
             py::arg("type") = d.type,
             py::arg("first_channel") = d.first_channel,
             py::arg("selected_channels") = d.selected_channels,
             py::arg("align") = d.align,
             py::arg("most_gap") = d.most_gap,
             py::arg("relative_time") = d.relative_time,
             py::arg("device") = d.device,
             py::arg("latency") = d.latency,
             "Makes the block; see the class for the arguments.")
        .def("clamped",
             &block::clamped,
             "For each input, values of -128 (sc4: -8) replaced by -127 (-7) so far.")
        .def("missing",
             &block::missing,
             "For each input, spectra that were lost so far (the padding at the end not "
             "counted).")
        .def("implementation", &block::implementation, "What computes, a string.");
}
