/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(beamformer.h) */
/* BINDTOOL_HEADER_FILE_HASH(3396ada361c960868d60e1e1514e5171) */
/***********************************************************************************/

#include "block_binding.h"
#include "weight_methods.h"
#include <gnuradio/aperture/beamformer.h>
#include <pmt/pmt.h>

namespace py = pybind11;

void bind_beamformer(py::module& m)
{
    using block = gr::aperture::beamformer;
    auto c = bind_block<block>(
        m,
        "beamformer",
        std::string(R"doc(Weighted sums of the inputs: many beams at once.

y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel; nothing is conjugated. One polarisation of a
beam is one beam here: 2m and 2m+1 are the polarisations of a pair.

In: frames `[channel][input][time]` from corner_turn. Out: frames `[channel][beam][time]`. A
spectrum of a beam is tagged `missing` where all inputs are that the beam has weights for (of a
beam without weights: where all are).
)doc") + about_weights);
    c.def("clamped",
          &block::clamped,
          "For each beam, values that did not fit into 8 bits so far. May be called "
          "while running.")
        .def("implementation", &block::implementation, "What computes, a string.");
    bind_weight_methods<block>(c);

    m.def(
        "c32vector",
        [](const numbers<std::complex<float>>& array) {
            return pmt::init_c32vector(size_t(array.size()), array.data());
        },
        py::arg("array"),
        "All numbers of an array as a pmt c32vector, for messages. pmt.init_c32vector() "
        "looks at them one by one, which takes seconds for the weights of many beams.");
}
