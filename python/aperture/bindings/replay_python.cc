/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(replay.h) */
/* BINDTOOL_HEADER_FILE_HASH(b4a64bd68b7bc6459a8a8b2a1791f1c3) */
/***********************************************************************************/

#include <gnuradio/aperture/replay.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

//! A copy of the bytes of an object with Python's buffer interface.
std::vector<char> bytes_of(const py::buffer& data)
{
    const py::buffer_info info = data.request();
    if (!PyBuffer_IsContiguous(info.view(), 'C'))
        throw py::value_error("data: its bytes do not lie one after the other; "
                              "numpy.ascontiguousarray() makes them so");
    const auto* first = static_cast<const char*>(info.ptr);
    return { first, first + info.size * info.itemsize };
}

} // namespace

void bind_replay(py::module& m)
{
    using block = gr::aperture::replay;
    const block::parameters defaults;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m,
        "replay",
        R"doc(Sends given items again and again, out of the memory of a device.

The data goes to the device once, when the flowgraph starts: a source that is as fast as the
device, for tests, teaching and benchmarks. No port in; one port out.

Item 0 carries rx_time, rx_freq, and those of rx_rate, bandwidth and samples_per_item that
were given. The clock goes on from one repetition to the next, without a gap. Each start of
the flowgraph, also by unlock(), begins at the first item.

Args:
    data: whole items, one after the other: bytes, or a NumPy array of any type and shape
    item_size: bytes of an item
    repeats: how often the data is sent; 0: for ever
    start_time: (whole seconds since 1970, fraction of a second) of the first item
    center_frequency: Hz: rx_freq
    rate: items a second: rx_rate; 0: not tagged
    bandwidth: Hz, of what comes from a channeliser; 0: not tagged
    samples_per_item: of one input, of what comes from a channeliser; 0: not tagged
    device: auto (a GPU if there is one), cpu, cuda or cuda:N

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](const py::buffer& data,
                         int item_size,
                         int64_t repeats,
                         const std::pair<uint64_t, double>& start_time,
                         double center_frequency,
                         double rate,
                         double bandwidth,
                         int samples_per_item,
                         const std::string& device) {
                 return block::make({ bytes_of(data),
                                      item_size,
                                      repeats,
                                      start_time,
                                      center_frequency,
                                      rate,
                                      bandwidth,
                                      samples_per_item,
                                      device });
             }),
             py::arg("data"),
             py::arg("item_size") = defaults.item_size,
             py::arg("repeats") = defaults.repeats,
             py::arg("start_time") = defaults.start_time,
             py::arg("center_frequency") = defaults.center_frequency,
             py::arg("rate") = defaults.rate,
             py::arg("bandwidth") = defaults.bandwidth,
             py::arg("samples_per_item") = defaults.samples_per_item,
             py::arg("device") = defaults.device,
             "Makes the block; see the class for the arguments.")
        .def("finish",
             &block::finish,
             "Ends the stream: blocks downstream get all that was sent, and then end as "
             "well. Of a source that is not running the next start ends at once.");
}
