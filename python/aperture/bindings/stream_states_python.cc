/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(stream_states.h) */
/* BINDTOOL_HEADER_FILE_HASH(60f3a7131bd2832701903ebdfb583d05) */
/***********************************************************************************/

#include <gnuradio/aperture/stream_states.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_stream_states(py::module& m)
{
    using gr::aperture::stream_states;
    py::module::import("pmt"); // type of the values

    py::class_<stream_states> c(
        m, "stream_states", R"doc(Keeps what the tags of a stream say.

Most tags are states: they are said on the first item, and where they change, and hold until they
are said again: rx_time, which goes on at rx_rate, rx_freq, bandwidth, spectra, counted and others.
All other tags, such as missing and partial, are events of the one item that they are on.

A block gives the tags of its items to take(), window after window, and is told what holds for
each item:

    count = len(input_items[0])
    first = self.nitems_read(0)
    for run in self.states.take(self.get_tags_in_window(0, 0, count), first, first + count):
        counted = run.states.get(aperture.tags.counted)  # of the items run.first to run.end - 1

A flowgraph that starts anew counts items from 0 again: a window that does not follow on the last
one makes the object forget what was said before.

more: keys of further tags that are states.
)doc");
    py::class_<stream_states::run>(
        c, "run", R"doc(Items in a row for which the same holds.)doc")
        .def_readonly(
            "first", &stream_states::run::first, "The number of the first item.")
        .def_readonly("end",
                      &stream_states::run::end,
                      "The number of the item behind the last one.")
        .def_readonly(
            "rate", &stream_states::run::rate, "Items a second by rx_rate; 0: not known.")
        .def_property_readonly(
            "states",
            [](const stream_states::run& r) { return r.states; },
            "A dictionary of keys and PMT values of the first item, rx_time being the "
            "time of that item; a key that is not there was not said so far.")
        .def_property_readonly(
            "events",
            [](const stream_states::run& r) { return r.events; },
            "A dictionary of keys and lists of the PMT values of each event; a run with "
            "events is of one item.")
        .def("time",
             &stream_states::run::time,
             py::arg("item"),
             "Returns the time of an item of the run, whole seconds (since 1970) and a "
             "fraction, or None where it is not known.")
        .def("at",
             &stream_states::run::at,
             py::arg("item"),
             "Returns a dictionary of the states and events of an item of the run; "
             "rx_time is that of the item, and of several events of one key it is the "
             "last.")
        .def("__len__", [](const stream_states::run& r) { return r.end - r.first; });
    c.def(py::init<std::set<std::string>>(), py::arg("more") = std::set<std::string>());
    c.def_static("is_state",
                 &stream_states::is_state,
                 py::arg("key"),
                 "Returns whether a tag of this key is a state in every stream.");
    c.def("take",
          py::overload_cast<std::vector<gr::tag_t>, uint64_t, uint64_t>(
              &stream_states::take),
          py::arg("tags"),
          py::arg("first"),
          py::arg("end"),
          "Takes the tags of the items from `first` to before `end`, in any order, and "
          "returns a list of the runs of these items.");
    c.def("forget", &stream_states::forget, "Forgets all that was said.");
    c.def_property_readonly(
        "said",
        [](const stream_states& s) { return s.said(); },
        "A dictionary of the states as they were said last.");
    c.def(
        "since",
        &stream_states::since,
        py::arg("key"),
        R"doc(Returns the number of the item on which a state was said for the first time.

None where it was not said since all was forgotten. Where that is not the first item that was
read, nobody knows the state of the items before.
)doc");
}
