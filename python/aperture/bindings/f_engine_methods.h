/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_METHODS_H
#define INCLUDED_APERTURE_F_ENGINE_METHODS_H

#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

//! What pfb_channelizer and f_engine both have.
template <class block, class binding>
void bind_f_engine_methods(binding& c)
{
    namespace py = pybind11;
    c.def("set_gain",
          &block::set_gain,
          py::arg("gain"),
          py::arg("input") = -1,
          "Sets the complex gain of all channels of an input (-1: of all inputs) from "
          "the next spectrum on.")
        .def(
            "set_gains",
            &block::set_gains,
            py::arg("gains"),
            py::arg("input") = -1,
            "Sets one complex gain for each channel of an input (-1: of all inputs) from "
            "the next spectrum on.")
        .def("gains",
             &block::gains,
             py::arg("input"),
             "Gains of an input: a list of one complex number for each channel.")
        .def("clamped",
             &block::clamped,
             "For each input, output values that did not fit into 8 bits so far. May be "
             "called while running.")
        .def("clamped_samples",
             &block::clamped_samples,
             "For each input, 8-bit samples of -128 (4-bit: -8) that were read as -127 "
             "(-7) so far.")
        .def("missing",
             &block::missing,
             "For each input, spectra so far that are zeros because samples were lost.")
        .def("implementation", &block::implementation, "What computes, a string.");
}

#endif /* INCLUDED_APERTURE_F_ENGINE_METHODS_H */
