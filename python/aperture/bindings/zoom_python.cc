/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(zoom.h) */
/* BINDTOOL_HEADER_FILE_HASH(04a15131458eda64c738e09a317529fc) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/zoom.h>

namespace py = pybind11;

void bind_zoom(py::module& m)
{
    using block = gr::aperture::zoom;
    auto c = bind_block<block>(
        m,
        "zoom",
        R"doc(Takes a part of the band: mixes, filters and decimates the samples of many inputs.

y[m] = g sum_j h[j] x[mD+j] exp(-2 pi i f (mD+j) / fs), with D the decimation, fs the rate of
the samples, h a symmetric low-pass filter of L taps with gain 1, and f the `frequency` for
complex samples. Real samples have the middle of their band at fs/4, so that f is higher by
that, and 2 h in the place of h: y is the analytic signal. A tone keeps its amplitude.

The time of y[m] is that of the middle of its samples, mD + (L-1)/2, a whole number. The
oscillator's phase counts from the first sample that all ports have, and from the first one
where the ports are aligned anew; it neither drifts nor depends on how calls cut the stream.

Ports: inputs/inputs_per_port in, the same out. An item holds one sample of each input of the
port. Ports are aligned by rx_time; an output sample is missing, zero and told by a tag
`missing`, when any of the L samples under its filter is lost, or is no number. rx_rate and
`bandwidth` become fs/D, rx_freq is higher by `frequency`.
)doc");
    c.def("stages",
          &block::stages,
          "Returns the stages of the filter, a list of (decimation, taps).")
        .def("length",
             &block::length,
             "Returns L, the samples that an output sample is made of.")
        .def("ripple",
             &block::ripple,
             "Returns by how much the gain varies in the passband, in dB.")
        .def("attenuation",
             &block::attenuation,
             "Returns by how much, in dB, all that aliases into the passband is "
             "attenuated "
             "at least.")
        .def("clamped",
             &block::clamped,
             "Returns, for each input, the output samples that did not fit into sc8.")
        .def("clamped_samples",
             &block::clamped_samples,
             "Returns, for each input, the 8-bit samples of -128 (4-bit: -8) that were "
             "read as "
             "-127 (-7).")
        .def("missing",
             &block::missing,
             "Returns, for each input, the output samples that are missing.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}
