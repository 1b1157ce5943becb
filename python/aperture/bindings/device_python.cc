/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(device/device.h) */
/* BINDTOOL_HEADER_FILE_HASH(47a60e142b81b19595a67a74ad0ffcb3) */
/***********************************************************************************/

#include <gnuradio/aperture/device/device.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_device(py::module& m)
{
    m.def(
        "devices",
        &gr::aperture::devices,
        R"doc(Returns the names of the devices that blocks can run on here, as `device` takes them.

Returns:
    ["cpu"], and "cuda:N" for each GPU that this build can use
)doc");
}
