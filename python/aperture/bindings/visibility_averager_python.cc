/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(visibility_averager.h) */
/* BINDTOOL_HEADER_FILE_HASH(4f530dee5793c8c2eca84fda6d01bc53) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/visibility_averager.h>

namespace py = pybind11;

void bind_visibility_averager(py::module& m)
{
    using block = gr::aperture::visibility_averager;
    auto c = bind_block<block>(
        m,
        "visibility_averager",
        R"doc(Averages visibilities in time and channels, about phase centres, and in gates.

Port in: fc32 `[channel][product]` of xengine, one item an integration, and with `counts` on port
1 its counts, u32 of the same shape. Ports out: averages of chosen products, each fc32
`[channel][product]`, one for each length, phase centre and gate: port
(length * centers + centre) * gates + gate, the shortest length first (no phase centres, or no
gates, count as one). With `counts` as many ports follow, which have the counts of these items,
u32.

A product weighs as many spectra as were counted in it, and those of an average are the sum of
its items' and channels'. An item is as an X-engine with channels so much wider would make it: of
c channels averaged, `spectra`, `counted` and `spectrum_rate` are c times as large, and rx_time
lies (1 - 1/c)/2 of a spectrum before that of the input, so that begin, length and middle of the
integration are the same. rx_freq is that of the new channel n/2.

A phase centre n has delays of its inputs, from the message port `delays` (of several centres
`delays0`, `delays1` ...), which takes what delay_tracker sends to an F-engine. Each product is
multiplied by what the F-engine's delays would have made of it at the middle of its integration.
Where the F-engine has delays of its own, its delay_tracker is connected to the port `tracked`,
too: these are taken out. While a centre has no delays its items count as missing, and the message
port `status` says `no_delays`.

An item belongs to a gate if the pulsar's phase at its middle does: integrations have to be short
beside the pulse. `spectra` is then the whole average, `counted` what was in the gate.

Averages end early where rx_freq, rx_rate or a setting changes; the next ones end when they would
have ended. One without any item is left out. The last one ends with the input, and is tagged
`partial` where that was within it.
)doc");
    c.def("outputs",
          &block::outputs,
          "Returns the number of averages that are made, on as many ports.")
        .def("products",
             &block::products,
             py::arg("port"),
             "Returns the pairs of inputs of the products of a port, in their order.")
        .def("length",
             &block::length,
             py::arg("port"),
             "Returns how many times `integration` the averages of a port are long.")
        .def("center",
             &block::center,
             py::arg("port"),
             "Returns the phase centre of a port, or -1 where nothing is rotated.")
        .def("gate",
             &block::gate,
             py::arg("port"),
             "Returns the gate of a port, or -1 without gates.")
        .def(
            "items_per_average",
            &block::items_per_average,
            py::arg("port"),
            "Returns the items of the input in an average of a port; 0 while a length in "
            "seconds awaits rx_rate.")
        .def(
            "take_delays",
            &block::take_delays,
            py::arg("center"),
            py::arg("delays"),
            py::arg("delay_rates") = std::vector<double>(),
            py::arg("phases") = std::vector<double>(),
            py::arg("phase_rates") = std::vector<double>(),
            py::arg("time") = py::none(),
            py::arg("model") = "",
            R"doc(Takes a model of the delays towards a phase centre (-1: of the F-engine, as `tracked`).

`delays` are seconds, one for each input or one for all; `delay_rates` (seconds a second), `phases`
(radians) and `phase_rates` (radians a second) are as many, or none. The model holds from the first
item at or after `time`, (whole seconds, fraction) since 1970, from which its rates count; without
one from the next item on. Models of several names add up.
)doc")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}
