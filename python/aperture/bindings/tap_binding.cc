/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

//! \file The part in C++ of aperture.tap().

#include "runtime/tap.h"
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <memory>

namespace py = pybind11;

void bind_tap(py::module& m)
{
    using gr::aperture::newest_items;
    using gr::aperture::tap;

    auto taps = m.def_submodule("taps", "Looks at edges from outside.");
    py::class_<tap>(taps, "tap", "An output of a block, for aperture.tap().")
        .def(py::init([](const std::shared_ptr<gr::basic_block>& block, int port) {
                 return std::make_unique<tap>(block, port);
             }),
             py::arg("block"),
             py::arg("port"))
        .def_property_readonly("item_size", &tap::item_size, "Bytes of an item.")
        .def_property_readonly("most", &tap::most, "Items that can be asked for.")
        .def_property_readonly("written", &tap::written, "Items that have come so far.")
        .def_property_readonly("done", &tap::done, "No more items will come.")
        .def_property_readonly("device_name",
                               &tap::device_name,
                               "Returns where the block writes: cpu, cuda:0, ...")
        .def(
            "copy",
            [](tap& t, int items, uintptr_t to, bool on_device) {
                newest_items n;
                {
                    const py::gil_scoped_release released;
                    n = t.copy(items, reinterpret_cast<void*>(to), on_device);
                }
                return py::make_tuple(n.first, n.items);
            },
            py::arg("items"),
            py::arg("to"),
            py::arg("on_device") = false,
            "Copies the newest items to an address; returns the index of the first one, "
            "and how many these are.")
        .def(
            "tags",
            [](const tap& t, uint64_t first, int items) {
                return t.tags({ first, items });
            },
            py::arg("first"),
            py::arg("items"),
            "Returns the tags of items that the edge still has.");
}
