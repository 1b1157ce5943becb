/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(baseline_order.h) */
/* BINDTOOL_HEADER_FILE_HASH(56e851d3915153d233a8166f5e073e72) */
/***********************************************************************************/

#include <gnuradio/aperture/baseline_order.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <optional>

namespace py = pybind11;

namespace {

using gr::aperture::baseline_order;
template <class T>
using plain = py::array_t<T, py::array::c_style>;
using numbers = std::complex<float>;

//! Refuses an array that is not of this shape.
void check_shape(const char* name, const py::array& given, std::vector<int64_t> shape)
{
    if (std::vector<int64_t>(given.shape(), given.shape() + given.ndim()) != shape)
        throw py::value_error(
            py::str("{}: the shape {} is not allowed; it must be {}")
                .format(name, given.attr("shape"), py::tuple(py::cast(shape))));
}

//! Refuses what is not [baseline][channel][polarisation]. \returns its channels
template <class T>
int ordered_channels(const baseline_order& order, const char* name, const plain<T>& given)
{
    const int channels = given.ndim() == 3 ? int(given.shape(1)) : 0;
    check_shape(name, given, { order.baselines(), channels, order.polarizations() });
    return channels;
}

} // namespace

void bind_baseline_order(py::module& m)
{
    auto baselines = m.def_submodule("baselines", "The order of products in files.");
    py::class_<baseline_order>(baselines,
                               "baseline_order",
                               R"doc(The order of products in files of visibilities.

Products of an X-engine, [channel][product], become [baseline][channel][polarisation]; a range of
the channels at a time stays in the processor's cache until it is written. A cell is a baseline and
a polarisation of it. Arrays must be contiguous; results go into arrays that are given.

Args:
    products: of the X-engine
    product: [baseline][polarisation], the product of each cell; -1: there is none, and it is 0
    conjugate: of the same shape, whether the cell is the product's conjugate
    real: of the same shape, whether it is real: its imaginary part is multiplied by 0

Raises:
    ValueError: names the argument, its value and what is allowed
)doc")
        .def(py::init(
                 [](int64_t products,
                    const py::array_t<int64_t, py::array::c_style | py::array::forcecast>&
                        product,
                    const py::array_t<bool, py::array::c_style | py::array::forcecast>&
                        conjugate,
                    const py::array_t<bool, py::array::c_style | py::array::forcecast>&
                        real) {
                     if (product.ndim() != 2)
                         throw py::value_error(
                             "product: must be [baseline][polarisation]");
                     baseline_order::cells p;
                     p.products = products;
                     p.polarizations = int(product.shape(1));
                     p.product.assign(product.data(), product.data() + product.size());
                     p.conjugate.assign(conjugate.data(),
                                        conjugate.data() + conjugate.size());
                     p.real.assign(real.data(), real.data() + real.size());
                     return baseline_order(p);
                 }),
             py::arg("products"),
             py::arg("product"),
             py::arg("conjugate"),
             py::arg("real"))
        .def(
            "visibilities",
            [](const baseline_order& self,
               const plain<numbers>& from,
               plain<numbers> to,
               const std::optional<plain<numbers>>& factors) {
                const int channels = ordered_channels(self, "to", to);
                check_shape("from", from, { channels, self.products() });
                if (factors)
                    check_shape("factors", *factors, { channels, self.products() });
                const numbers *in = from.data(),
                              *by = factors ? factors->data() : nullptr;
                numbers* out = to.mutable_data();
                const py::gil_scoped_release release;
                return self.visibilities(in, by, channels, out);
            },
            py::arg("from_").noconvert(),
            py::arg("to").noconvert(),
            py::arg("factors").noconvert() = py::none(),
            R"doc(Orders visibilities.

Args:
    from_: [channel][product] of complex64
    to: [baseline][channel][polarisation] of complex64
    factors: what they are multiplied by, of the shape of from_; None: 1

Returns:
    bool: whether all of them are numbers, neither NaN nor infinite
)doc")
        .def(
            "rotate",
            [](const baseline_order& self,
               plain<numbers> values,
               const plain<double>& delays,
               double first,
               double width) {
                const int channels = ordered_channels(self, "values", values);
                check_shape("delays", delays, { self.baselines() });
                const double* seconds = delays.data();
                numbers* out = values.mutable_data();
                const py::gil_scoped_release release;
                self.rotate(seconds, first, width, channels, out);
            },
            py::arg("values").noconvert(),
            py::arg("delays").noconvert(),
            py::arg("first"),
            py::arg("width"),
            R"doc(Multiplies ordered visibilities by exp(-2 pi i delay frequency), in place.

Args:
    values: [baseline][channel][polarisation] of complex64
    delays: [baseline] of float64, in seconds
    first: the first channel's frequency, in Hz
    width: from one channel to the next, in Hz
)doc")
        .def(
            "fractions",
            [](const baseline_order& self,
               const plain<uint32_t>& from,
               uint64_t spectra,
               plain<float> fractions,
               plain<bool> flags) {
                const int channels = ordered_channels(self, "fractions", fractions);
                ordered_channels(self, "flags", flags);
                check_shape(
                    "flags", flags, { self.baselines(), channels, self.polarizations() });
                check_shape("from", from, { channels, self.products() });
                if (!spectra)
                    throw py::value_error(
                        "spectra: 0 is not allowed; it must be at least 1");
                const uint32_t* in = from.data();
                float* out = fractions.mutable_data();
                auto* out_flags = reinterpret_cast<uint8_t*>(flags.mutable_data());
                baseline_order::found found;
                {
                    const py::gil_scoped_release release;
                    found = self.fractions(in, spectra, channels, out, out_flags);
                }
                return py::make_tuple(found.all_there, found.any_flagged);
            },
            py::arg("from_").noconvert(),
            py::arg("spectra"),
            py::arg("fractions").noconvert(),
            py::arg("flags").noconvert(),
            R"doc(Orders counts of spectra, as fractions of those that there could be.

Args:
    from_: [channel][product] of uint32
    spectra: of an integration
    fractions: [baseline][channel][polarisation] of float32
    flags: of the same shape, bool: where the fraction is 0

Returns:
    tuple of bool: whether all fractions are 1, and whether some are 0
)doc");
}
