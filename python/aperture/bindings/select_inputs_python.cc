/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(select_inputs.h) */
/* BINDTOOL_HEADER_FILE_HASH(b1ed651a3fb1bec2bcb0dd4493724d20) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/select_inputs.h>

namespace py = pybind11;

void bind_select_inputs(py::module& m)
{
    using block = gr::aperture::select_inputs;
    auto c = bind_block<block>(m,
                               "select_inputs",
                               R"doc(Selects inputs of frames.

Port in: frames `[channel][input][time]`. Port out: frames of the selected inputs, in the order
in which they are named, for an X-engine or a beamformer that has a few of the inputs beside one
that has all. With spectra_per_slice, both ports carry masks instead, `[channel][input][byte]`
of u8 from flagger.

All tags are passed on; missing and settings are those of the selected inputs, by their numbers
behind this block.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
}
