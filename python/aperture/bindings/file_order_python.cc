/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(file_order.h) */
/* BINDTOOL_HEADER_FILE_HASH(7e139d0fde07842a54b60af15cd3bb87) */
/***********************************************************************************/

#include <gnuradio/aperture/file_order.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace {

using namespace gr::aperture;
template <class T>
using plain = py::array_t<T, py::array::c_style>;

py::value_error wrong(const char* name, const py::array& given, const char* allowed)
{
    return py::value_error(py::str("{}: the shape {} is not allowed; it must be {}")
                               .format(name, given.attr("shape"), allowed));
}

void transpose(const py::array& from, py::array& to)
{
    const auto bytes = int(from.itemsize());
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16)
        throw py::value_error("from_: elements of " + std::to_string(bytes) +
                              " bytes are not allowed; they must have 1, 2, 4, 8 or 16");
    if (from.ndim() != 3 || (from.size() && from.strides(2) != bytes))
        throw wrong("from_", from, "[matrix][row][column] with contiguous rows");
    if (to.ndim() != 3 || !to.writeable() || to.itemsize() != bytes ||
        to.shape(0) != from.shape(0) || to.shape(1) != from.shape(2) ||
        to.shape(2) != from.shape(1) || (to.size() && to.strides(2) != bytes))
        throw wrong("to", to, "[matrix][column][row] of from_, with contiguous rows");
    // whole elements apart
    for (int axis = 0; axis < 2; axis++)
        if (from.strides(axis) % bytes || to.strides(axis) % bytes)
            throw py::value_error("from_, to: their rows must be whole elements apart");
    if (!from.size())
        return;
    const file_order::matrices read{ from.strides(0), from.strides(1) },
        written{ to.strides(0), to.strides(1) };
    const int64_t count = from.shape(0), rows = from.shape(1), columns = from.shape(2);
    const void* in = from.data();
    void* out = to.mutable_data();
    const py::gil_scoped_release release;
    file_order::transpose(in, read, count, rows, columns, out, written, bytes);
}

void to_bytes(const plain<float>& powers,
              const plain<double>& offset,
              const plain<double>& step,
              py::array_t<uint8_t>& to)
{
    const int64_t axes = powers.ndim();
    if (axes < 2 || axes > 4)
        throw wrong("powers", powers, "[sample] and up to three more axes");
    bool fits = to.ndim() == axes && to.writeable() && offset.ndim() == axes - 1 &&
                step.ndim() == axes - 1;
    for (int64_t axis = 0; fits && axis < axes; axis++) {
        fits = to.shape(axis) == powers.shape(axis);
        if (axis > 0)
            fits = fits && offset.shape(axis - 1) == powers.shape(axis) &&
                   step.shape(axis - 1) == powers.shape(axis);
    }
    if (!fits)
        throw wrong("to", to, "that of powers, and offset and step those of a sample");
    if (!powers.size())
        return;
    const int64_t last = to.strides(axes - 1), channels = to.shape(axes - 1);
    if (channels > 1 && last != 1 && last != -1)
        throw wrong("to", to, "contiguous along channels, in either direction");
    const bool descending = channels > 1 && last < 0;
    // samples and up to two axes, of which the inner ones may be missing
    const int64_t samples = powers.shape(0), inner = axes == 4 ? powers.shape(2) : 1,
                  outer = axes > 2 ? powers.shape(1) : 1,
                  outer_stride = axes > 2 ? to.strides(1) : 0,
                  inner_stride = axes == 4 ? to.strides(2) : 0,
                  sample_stride = to.strides(0);
    const float* in = powers.data();
    const double *offsets = offset.data(), *steps = step.data();
    uint8_t* out = to.mutable_data() - (descending ? channels - 1 : 0);
    const py::gil_scoped_release release;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const int64_t cell = (o * inner + i) * channels;
            // levels stay in the cache from sample to sample
            for (int64_t s = 0; s < samples; s++)
                file_order::to_bytes(in + s * outer * inner * channels + cell,
                                     offsets + cell,
                                     steps + cell,
                                     channels,
                                     descending,
                                     out + s * sample_stride + o * outer_stride +
                                         i * inner_stride);
        }
}

} // namespace

void bind_file_order(py::module& m)
{
    auto order = m.def_submodule("file_order", "The order of elements in files.");
    order.def("transpose",
              &transpose,
              py::arg("from_").noconvert(),
              py::arg("to").noconvert(),
              R"doc(Transposes matrices.

Args:
    from_: [matrix][row][column], elements of 1, 2, 4, 8 or 16 bytes; rows are contiguous
    to: [matrix][column][row], of elements as large; rows are contiguous

Raises:
    ValueError: names the argument, and what is allowed
)doc");
    order.def("to_bytes",
              &to_bytes,
              py::arg("powers").noconvert(),
              py::arg("offset").noconvert(),
              py::arg("step").noconvert(),
              py::arg("to").noconvert(),
              R"doc(Converts powers to round((power - offset) / step), within 0 and 255.

It is computed in double precision and rounded half to even; what is not a number becomes 0.

Args:
    powers: [sample][...][channel] of float32, contiguous, of two to four axes
    offset: [...][channel] of float64
    step: [...][channel] of float64
    to: uint8 of the shape of powers, contiguous along channels, which may be reversed

Raises:
    ValueError: names the argument, and what is allowed
)doc");
}
