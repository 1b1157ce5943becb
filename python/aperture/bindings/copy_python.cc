/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(copy.h) */
/* BINDTOOL_HEADER_FILE_HASH(e154dd575e1858a0eedfbafe6444c36f) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/copy.h>

namespace py = pybind11;

void bind_copy(py::module& m)
{
    using block = gr::aperture::copy;
    auto c = bind_block<block>(
        m, "copy", R"doc(Passes items on unchanged, by way of the memory of a device.

The block shows what an edge on a device costs, without a kernel, in tests, lessons and
benchmarks. It has one port in and one port out, of items of any size; all tags are passed on.
)doc");
}
