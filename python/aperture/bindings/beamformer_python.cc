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
/* BINDTOOL_HEADER_FILE_HASH(7878ee7578cc8a495c685e987e769186) */
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
        std::string(R"doc(Forms many beams at once, as weighted sums of the inputs.

y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel; nothing is conjugated. One polarisation of a
beam is one beam here: 2m and 2m+1 are the polarisations of a pair.

In: frames `[channel][input][time]` from corner_turn. Out: frames `[channel][beam][time]`. A
spectrum of a beam is tagged `missing` where all inputs that the beam has weights for are
missing; for a beam without weights, where all inputs are.
)doc") + about_weights);
    c.def("clamped",
          &block::clamped,
          "Returns, for each beam, the samples that were clamped so far as they did not "
          "fit into 8 bits. It may be called while the flowgraph runs.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
    bind_weight_methods<block>(c);

    m.def(
        "c32vector",
        [](const numbers<std::complex<float>>& array) {
            return pmt::init_c32vector(size_t(array.size()), array.data());
        },
        py::arg("array"),
        "Makes a pmt c32vector, for messages, of all elements of an array. "
        "pmt.init_c32vector() converts them one by one, which takes seconds for the "
        "weights of many beams.");
}
