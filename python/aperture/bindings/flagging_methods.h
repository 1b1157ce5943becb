/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FLAGGING_METHODS_H
#define INCLUDED_APERTURE_FLAGGING_METHODS_H

#include "flat.h"
#include <gnuradio/aperture/flagging_parameters.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

//! Sets one of the parameters that say how interference is found.
template <class block, class value>
void set_flagging_parameter(block& b,
                            value gr::aperture::flagging_parameters::*member,
                            const value& v)
{
    auto p = b.flagging();
    p.*member = v;
    b.set_flagging(p);
}

//! Binds the methods of blocks that find interference.
template <class block, class binding>
void bind_flagging_methods(binding& c)
{
    namespace py = pybind11;
    using parameters = gr::aperture::flagging_parameters;
    const auto number =
        [&c](const char* name, double parameters::*member, const char* about) {
            c.def((std::string("set_") + name).c_str(),
                  [member](block& b, double v) { set_flagging_parameter(b, member, v); },
                  py::arg("value"),
                  about);
        };
    number("kurtosis_false_alarms",
           &parameters::kurtosis_false_alarms,
           "Sets the fraction of cells of noise that spectral kurtosis flags; 0: off. "
           "This and the settings below hold from the next frame on that is examined.");
    number("least_power", &parameters::least_power, "Sets the least mean power; 0: off.");
    number("most_power", &parameters::most_power, "Sets the largest mean power; 0: off.");
    number(
        "time_sigma", &parameters::time_sigma, "Sets the threshold along time; 0: off.");
    number("channel_sigma",
           &parameters::channel_sigma,
           "Sets the threshold along channels; 0: off.");
    number("time_sum_sigma",
           &parameters::time_sum_sigma,
           "Sets the first threshold of SumThreshold along time; 0: off.");
    number("channel_sum_sigma",
           &parameters::channel_sum_sigma,
           "Sets the first threshold of SumThreshold along channels; 0: off.");
    c.def(
         "set_bad_channels",
         [](block& b, const numbers<int>& channels) {
             set_flagging_parameter(b, &parameters::bad_channels, flat(channels));
         },
         py::arg("channels"),
         "Sets the channels of the frames that are always flagged.")
        .def(
            "set_grown_slices",
            [](block& b, int slices) {
                set_flagging_parameter(b, &parameters::grown_slices, slices);
            },
            py::arg("slices"),
            "Sets by how many slices flags grow along time, on each side.")
        .def(
            "set_grown_channels",
            [](block& b, int channels) {
                set_flagging_parameter(b, &parameters::grown_channels, channels);
            },
            py::arg("channels"),
            "Sets by how many channels flags grow, on each side.")
        .def("cells",
             &block::cells,
             "Returns, for each input, the cells so far: slices of a channel that had "
             "any data.")
        .def("flagged_of_inputs",
             &block::flagged_of_inputs,
             "Returns, for each input, the cells that were flagged so far.")
        .def("flagged_of_channels",
             &block::flagged_of_channels,
             "Returns, for each channel, the cells of all inputs that were flagged so "
             "far.");
}

#endif /* INCLUDED_APERTURE_FLAGGING_METHODS_H */
