/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_WEIGHT_METHODS_H
#define INCLUDED_APERTURE_WEIGHT_METHODS_H

#include "flat.h"
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>

//! Documentation of the message ports of beamformer and beam_power.
inline const std::string about_weights = R"doc(
Message port `weights` takes a dictionary of `weights` (c32vector, shapes as of set_weights()),
`gain` (number, or f32vector of one per beam) or `mask` (u8vector), or several of them, and if
wanted `beam` (long; all without it) and `time` (tuple of uint64 and double: holds from the
first frame that starts at or after it). All settings of one message take effect together, and
never within a frame. Message port `status` sends dictionaries with `event`.
)doc";

//! Binds the methods that beamformer and beam_power share.
template <class block, class binding>
void bind_weight_methods(binding& c)
{
    namespace py = pybind11;
    c.def(
         "set_weights",
         [](block& b, const numbers<std::complex<float>>& weights, int beam) {
             b.set_weights(rows_of_inputs("weights", weights, b.inputs()), beam);
         },
         py::arg("weights"),
         py::arg("beam") = -1,
         "Sets the weights of a beam, [channel][input], or [input] for all channels "
         "alike; or with -1 those of all beams, [channel][beam][input] or [beam][input]; "
         "or as many elements in a row. Empty weights are zeros. From the next frame on.")
        .def("inputs", &block::inputs, "Returns the number of inputs of a frame.")
        .def(
            "weights",
            &block::weights,
            py::arg("beam"),
            "Returns the weights of a beam: a list of complex numbers, [channel][input].")
        .def(
            "set_gains",
            [](block& b, const numbers<float>& gains, int beam) {
                b.set_gains(flat(gains), beam);
            },
            py::arg("gains"),
            py::arg("beam") = -1,
            "Sets the factors of the voltages: with `beam` -1 one for each beam, or one "
            "for all; otherwise that of the one beam. Empty gains are ones.")
        .def("gains", &block::gains, "Returns the gain of each beam.")
        .def(
            "set_mask",
            [](block& b, const numbers<int>& mask, int beam) {
                b.set_mask(rows_of_inputs("mask", mask, b.inputs()), beam);
            },
            py::arg("mask"),
            py::arg("beam") = -1,
            "Sets which inputs a beam has, [input], or with -1 all beams, [beam][input]: "
            "those with 0 are left out, whatever their weights are. An empty mask is "
            "ones.")
        .def("late_settings",
             &block::late_settings,
             "Returns how many settings with a time came after it since the start, and "
             "held from when they came. It may be called while the flowgraph runs.");
}

#endif /* INCLUDED_APERTURE_WEIGHT_METHODS_H */
