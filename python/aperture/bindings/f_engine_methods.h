/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_METHODS_H
#define INCLUDED_APERTURE_F_ENGINE_METHODS_H

#include "flat.h"
#include <gnuradio/aperture/input_settings.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <optional>
#include <string>
#include <vector>

//! Makes a dictionary of what the settings of all kinds have in common.
inline pybind11::dict dictionary_of(const gr::aperture::input_setting& s)
{
    pybind11::dict d;
    d["model"] = s.model;
    d["input"] = s.input;
    d["time"] = s.time;
    d["holds_from"] = s.holds_from;
    d["waiting"] = s.waiting;
    return d;
}

//! Binds the methods that pfb_channelizer and f_engine share.
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
             "Returns the gains of an input: a list of one complex number for each "
             "channel.")
        .def(
            "gain_settings",
            [](const block& b, int input) {
                py::list all;
                for (const auto& s : b.gain_settings(input)) {
                    py::dict d = dictionary_of(s);
                    d["gains"] = s.gains;
                    all.append(d);
                }
                return all;
            },
            py::arg("input") = -1,
            R"doc(Returns the gains of an input (-1: of all), in force and waiting.

Returns:
    list of dictionaries with `model`, `input`, `gains` (one, or one for each channel), `time`
    (as given; without one that of the first spectrum with them), `holds_from` (time of the
    first spectrum with them, None before there is one) and `waiting` (for its time). Times
    are tuples of whole seconds since 1970 and a fraction. gains() is the product of those in
    force.
)doc")
        .def(
            "set_delays",
            [](block& b,
               const numbers<double>& delays,
               const numbers<double>& delay_rates,
               const numbers<double>& phases,
               const numbers<double>& phase_rates,
               int input,
               const std::optional<gr::aperture::setting_time>& time,
               const std::string& model) {
                b.set_delays(flat(delays),
                             flat(delay_rates),
                             flat(phases),
                             flat(phase_rates),
                             input,
                             time,
                             model);
            },
            py::arg("delays"),
            py::arg("delay_rates") = std::vector<double>(),
            py::arg("phases") = std::vector<double>(),
            py::arg("phase_rates") = std::vector<double>(),
            py::arg("input") = -1,
            py::arg("time") = py::none(),
            py::arg("model") = "",
            R"doc(Sets a model of the delays of the inputs.

It replaces the model of that name; models of several names add up. At time t the delay is d =
delay + delay_rate (t - time), the phase p = phase + phase_rate (t - time), and channel k is
multiplied by exp(i (p - 2 pi (f_k - f_c) d)); f_c is the frequency of channel n/2.

Args:
    delays: seconds, one for all inputs or one for each; a positive one delays the input
    delay_rates: seconds a second; this and the next two as many as delays, or none
    phases: radians
    phase_rates: radians a second
    input: index of the input; -1: all
    time: (seconds since 1970, fraction) that rates count from; the model holds from the first
        spectrum at or after it. None: from the next spectrum on, and rates count from its time
    model: the name

Raises:
    ValueError: there is no such input, or, once samples have told their rate, a delay is
        longer than `most_delay`
)doc")
        .def(
            "delays",
            [](const block& b, int input) {
                py::list all;
                for (const auto& s : b.delays(input)) {
                    py::dict d = dictionary_of(s);
                    d["delay"] = s.delay;
                    d["delay_rate"] = s.delay_rate;
                    d["phase"] = s.phase;
                    d["phase_rate"] = s.phase_rate;
                    all.append(d);
                }
                return all;
            },
            py::arg("input") = -1,
            R"doc(Returns the delay models of an input (-1: of all), in force and waiting.

Returns:
    list of dictionaries with `model` ("tags": of tags on the samples), `input`, `delay`,
    `delay_rate`, `phase`, `phase_rate`, `time` (as given; without one that of the first
    spectrum with it), `holds_from` (time of the first spectrum with it, None before there is
    one) and `waiting` (for its time). Times are tuples of whole seconds since 1970 and a
    fraction.
)doc")
        .def("clamped",
             &block::clamped,
             "Returns, for each input, the output samples that were clamped so far as "
             "they did not fit into 8 bits. It may be called while the flowgraph runs.")
        .def("clamped_samples",
             &block::clamped_samples,
             "Returns, for each input, the 8-bit samples of -128 (4-bit: -8) that were "
             "read as -127 (-7) so far.")
        .def("missing",
             &block::missing,
             "Returns, for each input, the spectra so far that are zeros because samples "
             "were lost.")
        .def("late_settings",
             &block::late_settings,
             "Returns how many settings with a time came after it since the start, and "
             "held from when they came. It may be called while the flowgraph runs.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}

#endif /* INCLUDED_APERTURE_F_ENGINE_METHODS_H */
