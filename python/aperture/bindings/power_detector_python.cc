/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(power_detector.h) */
/* BINDTOOL_HEADER_FILE_HASH(1d045a10dff846f42ad20054054d4460) */
/***********************************************************************************/

#include <gnuradio/aperture/power_detector.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_power_detector(py::module& m)
{
    using block = gr::aperture::power_detector;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m, "power_detector", R"doc(Powers and Stokes parameters of beams, integrated.

Products: `power` of each beam; of the pairs 2m, 2m+1 `I`, `IQUV`, or `coherency`: XX, YY,
Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*; circular: I = RR + LL,
Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.

In: blocks `[channel][beam][time]` from beamformer. Out: one f32 item
`[beam or pair][product][channel]` for each integration, with the tags `rx_time` (of its first
spectrum), `spectra` (its length), `counted` (without missing spectra: one number, or one for each
beam or pair and product), and `partial` if the input ended within it. It is the last one: no
integration is made of the zeros alone that fill the last block.

Args:
    channels: of a block
    beams: of a block
    spectra_per_frame: spectra in a frame
    type: of the voltages, fc32 or sc8
    products: power, I, IQUV or coherency
    basis: of the pairs, linear (x, y) or circular (r, l)
    spectra: in an integration: a divisor of spectra_per_frame, or a multiple
    summed_channels: neighbouring channels that become one; a divisor of channels
    mean: divide by what was counted and by summed_channels; or else sums
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int channels,
                         int beams,
                         int spectra_per_frame,
                         const std::string& type,
                         const std::string& products,
                         const std::string& basis,
                         int64_t spectra,
                         int summed_channels,
                         bool mean,
                         const std::string& device,
                         double latency) {
                 block::parameters p;
                 p.channels = channels;
                 p.beams = beams;
                 p.spectra_per_frame = spectra_per_frame;
                 p.type = type;
                 p.products = products;
                 p.basis = basis;
                 p.spectra = spectra;
                 p.summed_channels = summed_channels;
                 p.mean = mean;
                 p.device = device;
                 p.latency = latency;
                 return block::make(p);
             }),
             py::arg("channels") = d.channels,
             py::arg("beams") = d.beams,
             py::arg("spectra_per_frame") = d.spectra_per_frame,
             py::arg("type") = d.type,
             py::arg("products") = d.products,
             py::arg("basis") = d.basis,
             py::arg("spectra") = d.spectra,
             py::arg("summed_channels") = d.summed_channels,
             py::arg("mean") = d.mean,
             py::arg("device") = d.device,
             py::arg("latency") = d.latency,
             "Makes the block; see the class for the arguments.")
        .def("implementation", &block::implementation, "What computes, a string.");
}
