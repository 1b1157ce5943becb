/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(vdif_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(96e75dd7d8cecc3ca57b9529ec61caa6) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/vdif_source.h>

namespace py = pybind11;

void bind_vdif_source(py::module& m)
{
    using block = gr::aperture::vdif_source;
    auto c = bind_block<block, gr::aperture::recording_source>(
        m,
        "vdif_source",
        R"doc(Reads a VDIF recording whose first header has been read already.

The parameters say what all frames have in common. Each frame's header is read when its time
comes, so that recordings of any length start at once. Samples are offset binary, and are
decoded as offset1, offset2, offset4, offset8 and u16 of recording_source; an input is a channel
of a thread. Stations with files of their own, which may have other frames and begin at other
times, are inputs beside each other on one clock.

Frames may be out of order by up to 64 frames of a thread. Frames that are not there, or that
the recorder marked as invalid, are zeros with tags `missing`. Frames that come twice are used
once. A frame whose header says something else than the parameters is damaged and not used, and
neither is one whose time is far from the frames on both sides of it; where the next frame is
not where it should be, it is searched for, and the one before is not used, as it may not be
whole. counts() says how many there were.

Tags, gaps, and what happens with `inverted`, are those of recording_source.
)doc",
        "    RuntimeError: a file cannot be read\n");
    c.def("counts",
          &block::counts,
          "Returns what was not used since the start, or since the newest repetition "
          "began: frames that are `invalid`, `repeated`, `late` (behind more than 64 "
          "later ones) or `damaged`, and `skipped` bytes in which there was no frame.");
}
