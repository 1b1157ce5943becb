/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(flagger.h) */
/* BINDTOOL_HEADER_FILE_HASH(66fea82ceef26c26548ec4d87ffbd72f) */
/***********************************************************************************/

#include "block_binding.h"
#include "flagging_methods.h"
#include <gnuradio/aperture/flagger.h>

namespace py = pybind11;

void bind_flagger(py::module& m)
{
    using block = gr::aperture::flagger;
    auto c = bind_block<block>(
        m, "flagger", R"doc(Finds interference in frames, sets it to zero, and says where.

A cell is a slice of `spectra_per_slice` spectra of one input and channel. Each method is off
where its parameter is 0. Cells of which more than three quarters of the spectra are missing are
not judged, and cells without any data are not flagged.

In: frames `[channel][input][time]`. Out 0: the same, flagged voltages zero. Out 1: for each frame
its mask `[channel][input][byte]`: slice s is bit s % 8, counted from the lowest, of byte s / 8.
Tags go on with the frames; the mask has those of the time and the frequency, too.

Message port `status` sends, once a second, a dictionary with `event` `flags`; the counts since
the start, each a u64vector, `cells` and `flagged` of each input and `flagged_of_channels`; and
`occupancy`, an f64vector with the fraction of each input that was flagged since the last
message.
)doc");
    bind_flagging_methods<block>(c);
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.")
        .def_static(
            "kurtosis_limits",
            &block::kurtosis_limits,
            py::arg("spectra"),
            py::arg("false_alarms"),
            R"doc(Returns the limits of the spectral kurtosis of so many spectra of noise.

Quantiles of the Pearson distribution with the exact moments of Nita and Gary, MNRAS 406, L60
(2010).

Args:
    spectra: 16 to 2^24
    false_alarms: the fraction of cells outside, half of them on each side; 1e-9 to 0.5

Returns:
    (low, high)

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
}
