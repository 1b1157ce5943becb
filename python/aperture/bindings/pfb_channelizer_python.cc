/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(pfb_channelizer.h) */
/* BINDTOOL_HEADER_FILE_HASH(1b4f781295af3e86b3c6f407b078e026) */
/***********************************************************************************/

#include "block_binding.h"
#include "f_engine_methods.h"
#include <gnuradio/aperture/pfb_channelizer.h>

namespace py = pybind11;

void bind_pfb_channelizer(py::module& m)
{
    using block = gr::aperture::pfb_channelizer;
    m.def(
        "pfb_prototype",
        &gr::aperture::pfb_prototype,
        py::arg("channels"),
        py::arg("taps"),
        py::arg("window") = "hann",
        R"doc(Makes the prototype filter of a polyphase filter bank: sinc times a window.

h[j] = sinc((j - (L-1)/2) / n) w[j] with L = taps n, scaled so that the sum of squares is 1:
white noise keeps its power in each channel.

Args:
    channels: n, even, 4 to 131072; for real samples twice the number of channels
    taps: 1 to 64
    window: hann, hamming, blackman, rect or kaiser(beta), symmetric

Returns:
    list of taps x channels floats

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");

    auto c = bind_block<block>(
        m,
        "pfb_channelizer",
        R"doc(Channelises many inputs by a critically sampled polyphase filter bank (F-engine).

y_k[m] = gain_k sum_j h[j] x[mn+j] exp(-2 pi i (k - n/2) j / n), j = 0 the oldest sample.
Channels come in order of increasing sky frequency: with complex samples at rate fs, channel k
is centred on (k - n/2) fs/n, with real samples on k fs/(2n). N samples give floor(N/n) - taps +
1 spectra (with real samples 2n for n).

Ports: inputs/inputs_per_port in, as many out. An input item is one sample of each input of the
port, an output item `[input][channel]`. All ports advance together: they are aligned by
rx_time, and lost samples become spectra of zeros with `missing` tags.

Message port `gains` takes a dictionary with `gain` (number, or c32vector of one per channel)
and, if wanted, `input` (long; all without it) and `time` (tuple of uint64 and double: holds
from the first spectrum at or after it). Message port `status` sends dictionaries with `event`.
)doc");
    bind_f_engine_methods<block>(c);
}
