/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(stored_powers.h) */
/* BINDTOOL_HEADER_FILE_HASH(0356d720e8e2e68fdf3d5267ef05c888) */
/***********************************************************************************/

#include <gnuradio/aperture/stored_powers.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

using namespace gr::aperture;
template <class T>
using plain = py::array_t<T, py::array::c_style>;

void check(bool ok, const char* name, const py::array& given, const std::string& allowed)
{
    if (!ok)
        throw py::value_error(py::str("{}: the shape {} is not allowed; it must be {}")
                                  .format(name, given.attr("shape"), allowed));
}

// Checks arrays of rows of channels, and of the bytes that they have in a file.
void check_rows(const py::array& powers, const py::array& bytes, int bits)
{
    stored_powers::check_bits(bits);
    check(powers.ndim() == 2, "powers", powers, "[row][channel]");
    const auto size = (powers.size() * bits + 7) / 8;
    check(bytes.ndim() == 1 && bytes.size() == size,
          "data",
          bytes,
          "[" + std::to_string(size) + "], the bytes of all rows");
}

// Checks the levels of rows that take turns, [row][channel]; gives how many these are.
int64_t check_levels(const char* name, const py::array& levels, const py::array& powers)
{
    check(levels.ndim() == 2 && levels.shape(1) == powers.shape(1) &&
              levels.shape(0) > 0 && powers.shape(0) % levels.shape(0) == 0,
          name,
          levels,
          "[row][channel], for rows of powers that take turns");
    return levels.shape(0);
}

void unpack(const plain<uint8_t>& data,
            int bits,
            plain<float>& powers,
            float zero,
            const std::optional<plain<float>>& scale,
            const std::optional<plain<float>>& offset,
            bool is_signed,
            bool big_endian,
            bool descending)
{
    check_rows(powers, data, bits);
    stored_powers::levels scaling{ 1, zero, nullptr, nullptr };
    if (scale.has_value() != offset.has_value())
        throw py::value_error("scale, offset: both are to be given, or none");
    if (scale) {
        scaling.rows = check_levels("scale", *scale, powers);
        check(check_levels("offset", *offset, powers) == scaling.rows,
              "offset",
              *offset,
              "that of scale");
        scaling.scale = scale->data();
        scaling.offset = offset->data();
    }
    const int64_t rows = powers.shape(0), channels = powers.shape(1);
    const void* file = data.data();
    float* out = powers.mutable_data();
    const py::gil_scoped_release release;
    stored_powers::unpack(
        { bits, is_signed, big_endian, descending }, file, rows, channels, scaling, out);
}

void pack(const plain<float>& powers,
          int bits,
          plain<uint8_t>& data,
          const plain<double>& offset,
          const plain<double>& step,
          bool is_signed,
          bool big_endian,
          bool descending)
{
    check_rows(powers, data, bits);
    const int64_t level_rows = check_levels("offset", offset, powers);
    check(
        check_levels("step", step, powers) == level_rows, "step", step, "that of offset");
    const int64_t rows = powers.shape(0), channels = powers.shape(1);
    const float* in = powers.data();
    const double *offsets = offset.data(), *steps = step.data();
    void* out = data.mutable_data();
    const py::gil_scoped_release release;
    stored_powers::pack({ bits, is_signed, big_endian, descending },
                        in,
                        rows,
                        channels,
                        offsets,
                        steps,
                        level_rows,
                        out);
}

py::tuple describe(const plain<float>& powers)
{
    check(powers.ndim() >= 2 && powers.shape(0) > 0,
          "powers",
          powers,
          "[sample] and more axes, with one sample at least");
    const std::vector<py::ssize_t> shape(powers.shape() + 1,
                                         powers.shape() + powers.ndim());
    plain<float> lowest(shape), highest(shape);
    plain<double> mean(shape), deviation(shape);
    const int64_t samples = powers.shape(0), cells = lowest.size();
    const float* in = powers.data();
    float *low = lowest.mutable_data(), *high = highest.mutable_data();
    double *means = mean.mutable_data(), *deviations = deviation.mutable_data();
    bool finite;
    {
        const py::gil_scoped_release release;
        finite =
            stored_powers::describe(in, samples, cells, low, high, means, deviations);
    }
    return py::make_tuple(finite, lowest, highest, mean, deviation);
}

} // namespace

void bind_stored_powers(py::module& m)
{
    auto powers = m.def_submodule("stored_powers", "Powers as files store them.");
    powers.def(
        "unpack",
        &unpack,
        py::arg("data").noconvert(),
        py::arg("bits"),
        py::arg("powers").noconvert(),
        py::arg("zero") = 0.0F,
        py::arg("scale").noconvert() = py::none(),
        py::arg("offset").noconvert() = py::none(),
        py::kw_only(),
        py::arg("signed") = false,
        py::arg("big_endian") = false,
        py::arg("descending") = false,
        R"doc(Converts numbers of a file to powers, (number - zero) * scale + offset.

Each operation is rounded to float32, on all processors alike.

Args:
    data: uint8, the bytes of all rows, which follow on each other, also within a byte
    bits: 1, 2, 4, 8 or 16 of an integer, 32 of a float
    powers: [row][channel] of float32, contiguous, channels ascending; it is written
    zero: the number of no power, where there is a scale
    scale: [level_row][channel] of float32, for rows that take turns; None: numbers are powers
    offset: [level_row][channel] of float32
    signed: integers are two's complement
    big_endian: high bytes, and in a byte the highest bits, come first
    descending: the highest channel comes first in the file

Raises:
    ValueError: names the argument, and what is allowed
)doc");
    powers.def("pack",
               &pack,
               py::arg("powers").noconvert(),
               py::arg("bits"),
               py::arg("data").noconvert(),
               py::arg("offset").noconvert(),
               py::arg("step").noconvert(),
               py::kw_only(),
               py::arg("signed") = false,
               py::arg("big_endian") = false,
               py::arg("descending") = false,
               R"doc(Converts powers to numbers of a file, round((power - offset) / step).

It is computed in double precision, rounded half to even, and clamped to the numbers that there are;
what is not a number becomes the lowest. Floats are written as they are.

Args:
    powers: [row][channel] of float32, contiguous, channels ascending
    bits: 1, 2, 4, 8 or 16 of an integer, 32 of a float
    data: uint8, the bytes of all rows, as in unpack(); it is written
    offset: [level_row][channel] of float64, for rows that take turns
    step: [level_row][channel] of float64
    signed: integers are two's complement
    big_endian: high bytes, and in a byte the highest bits, come first
    descending: the highest channel comes first in the file

Raises:
    ValueError: names the argument, and what is allowed
)doc");
    powers.def("describe",
               &describe,
               py::arg("powers").noconvert(),
               R"doc(Describes each cell of samples.

Args:
    powers: [sample][...] of float32, contiguous, one sample at least

Returns:
    whether all powers are finite, then the lowest and the highest of each cell (NaN is passed
    over), float32 [...], and the mean and the standard deviation, float64 [...], which mean
    nothing where not all are finite

Raises:
    ValueError: names the argument, and what is allowed
)doc");
}
