/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(tags.h) */
/* BINDTOOL_HEADER_FILE_HASH(f0424e2a6ed7a0a3fe46d36a6eab98ec) */
/***********************************************************************************/

#include <gnuradio/aperture/tags.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_tags(py::module& m)
{
    namespace tags = gr::aperture::tags;
    auto t = m.def_submodule("tags",
                             R"doc(Keys of tags and messages, as strings.

Types and meanings are in docs/tags.md and gnuradio/aperture/tags.h.
)doc");
    t.attr("rx_time") = tags::rx_time;
    t.attr("rx_freq") = tags::rx_freq;
    t.attr("rx_rate") = tags::rx_rate;
    t.attr("approximate") = tags::approximate;
    t.attr("clock") = tags::clock;
    t.attr("ppm") = tags::ppm;
    t.attr("bandwidth") = tags::bandwidth;
    t.attr("samples_per_item") = tags::samples_per_item;
    t.attr("first_spectrum") = tags::first_spectrum;
    t.attr("missing") = tags::missing;
    t.attr("input") = tags::input;
    t.attr("first") = tags::first;
    t.attr("count") = tags::count;
    t.attr("spectra") = tags::spectra;
    t.attr("spectrum_rate") = tags::spectrum_rate;
    t.attr("counted") = tags::counted;
    t.attr("partial") = tags::partial;
    t.attr("settings") = tags::settings;
    t.attr("setting") = tags::setting;
    t.attr("gain") = tags::gain;
    t.attr("delay") = tags::delay;
    t.attr("delay_rate") = tags::delay_rate;
    t.attr("phase") = tags::phase;
    t.attr("phase_rate") = tags::phase_rate;
    t.attr("model") = tags::model;
    t.attr("weights") = tags::weights;
    t.attr("mask") = tags::mask;
    t.attr("noise") = tags::noise;
    t.attr("beam") = tags::beam;
    t.attr("time") = tags::time;
    t.attr("event") = tags::event;
    t.attr("port") = tags::port;
    t.attr("item") = tags::item;
    t.attr("reason") = tags::reason;
    t.attr("direction") = tags::direction;
    t.attr("directions") = tags::directions;
    t.attr("azimuth") = tags::azimuth;
    t.attr("elevation") = tags::elevation;
}
