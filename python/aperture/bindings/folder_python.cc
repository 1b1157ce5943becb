/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(folder.h) */
/* BINDTOOL_HEADER_FILE_HASH(dee6bdad4aea283bb07412b9cf2dda46) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/folder.h>

namespace py = pybind11;

void bind_folder(py::module& m)
{
    using block = gr::aperture::folder;
    bind_block<block>(m,
                      "folder",
                      R"doc(Folds the powers of beams with the period of a pulsar.

In: powers `[beam][product][channel]`, one item an integration, from power_detector, beam_power
or power_normalizer, with the tags rx_time and rx_rate. Each item is added to the phase bin
floor(phase * bins) of the middle of its integration: rx_time is that of its first spectrum, and
the tag `spectra` says how many there are; without that tag half of the time to the next item is
added to rx_time. The phase is the one at the telescope: channels are not dedispersed.

Powers are weighted with the tag `counted`, the spectra that were summed in them. Without the
tag an item counts as the spectra it spans, or as 1. A power of f32 that is NaN or exactly 0, as
one is of which all was flagged, does not count.

With `counts`, port 1 takes the counts that power_detector and beam_power give beside their
powers where they take masks: these are the weights of each channel.

Out: for each sub-integration `[beam][product][channel][bin]` of f32, the mean powers (0 where
nothing was counted), and on a second port, which may stay unconnected, the counts, of u32, in
the same order. Each has the tags rx_time (of its first item), rx_freq, bandwidth and `folded`:
a dictionary of `length` (s, which its items span), `middle` (tuple as rx_time: half of the
length after rx_time), `turns` (uint64, whole cycles), `phase` and `frequency` (cycles and
cycles/s, of the model, at `middle`) and `items` (uint64). The last sub-integration ends with
the input and is tagged `partial`.
)doc",
                      "",
                      [](py::object& scope) {
                          bind_struct<block::segment>(
                              scope,
                              "segment",
                              "A model of the pulsar's phase over a stretch of time.\n");
                      });
}
