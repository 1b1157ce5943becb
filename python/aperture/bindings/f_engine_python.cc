/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(f_engine.h) */
/* BINDTOOL_HEADER_FILE_HASH(d9b3f38f48b314d7c7b31261e38feeb3) */
/***********************************************************************************/

#include "block_binding.h"
#include "f_engine_methods.h"
#include "flagging_methods.h"
#include <gnuradio/aperture/f_engine.h>

namespace py = pybind11;

void bind_f_engine(py::module& m)
{
    using block = gr::aperture::f_engine;
    auto c = bind_block<block>(
        m,
        "f_engine",
        R"doc(Makes frames from samples: pfb_channelizer and corner_turn in one.

The output is that of corner_turn behind pfb_channelizer, bit by bit and tag by tag, without the
spectra in between: on a GPU they need not reach its memory.

Ports: inputs/inputs_per_port in, an item is one sample of each input of the port. One port
out, an item is a frame `[channel][input][time]`. Message ports `gains` and `status` as those
of pfb_channelizer.

With spectra_per_slice above 0 it also does what flagger does, in place: a second port gives the
masks, and port `status` tells of flags, too.
)doc");
    bind_f_engine_methods<block>(c);
    bind_flagging_methods<block>(c);
}
