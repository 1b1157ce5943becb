/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H
#define INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H

#include "flat.h"
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <type_traits>
#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/*!
 * \file
 * Makes the Python class of a block out of its description: see parameter.h.
 */

//! Conversion of a parameter's value between Python and C++: arrays of any shape.
template <class value>
struct python_argument {
    using type = const value&;
    static const value& from(const value& v) { return v; }
    static const value& to(const value& v, const char*, int) { return v; }
};

template <class number>
struct array_argument {
    using type = const numbers<number>&;
    static numbers<number> from(const std::vector<number>& v)
    {
        return numbers<number>(pybind11::ssize_t(v.size()), v.data());
    }
    //! \param rows the length of the last axis, 0: any
    static std::vector<number> to(type v, const char* name, int rows)
    {
        return rows ? rows_of_inputs(name, v, rows) : flat(v);
    }
};
template <>
struct python_argument<std::vector<float>> : array_argument<float> {
};
template <>
struct python_argument<std::vector<int>> : array_argument<int> {
};
template <>
struct python_argument<std::vector<std::complex<float>>>
    : array_argument<std::complex<float>> {
};

//! Bytes that are taken as they are: any object with Python's buffer interface.
template <>
struct python_argument<std::vector<char>> {
    using type = const pybind11::buffer&;
    static std::vector<char> to(type data, const char* name, int)
    {
        const pybind11::buffer_info info = data.request();
        if (!PyBuffer_IsContiguous(info.view(), 'C'))
            throw pybind11::value_error(std::string(name) +
                                        ": its bytes do not lie one after the other; "
                                        "numpy.ascontiguousarray() makes them so");
        const auto* first = static_cast<const char*>(info.ptr);
        return { first, first + info.size * info.itemsize };
    }
};

template <class value>
struct is_pair : std::false_type {
};
template <class first, class second>
struct is_pair<std::pair<first, second>> : std::true_type {
};
template <class value>
struct is_vector : std::false_type {
};
template <class element>
struct is_vector<std::vector<element>> : std::true_type {
};

//! The name of a C++ type in descriptions of parameters, as Python writes it.
template <class value>
std::string kind_of()
{
    if constexpr (std::is_same_v<value, bool>)
        return "bool";
    else if constexpr (std::is_integral_v<value>)
        return "int";
    else if constexpr (std::is_floating_point_v<value>)
        return "float";
    else if constexpr (std::is_same_v<value, std::string>)
        return "str";
    else if constexpr (std::is_same_v<value, std::complex<float>>)
        return "complex";
    else if constexpr (std::is_same_v<value, std::vector<char>>)
        return "buffer";
    else if constexpr (is_pair<value>::value)
        return "tuple[" + kind_of<typename value::first_type>() + ", " +
               kind_of<typename value::second_type>() + "]";
    else if constexpr (std::is_same_v<value, std::vector<float>>)
        return "array[float32]";
    else if constexpr (std::is_same_v<value, std::vector<int>>)
        return "array[int32]";
    else if constexpr (std::is_same_v<value, std::vector<std::complex<float>>>)
        return "array[complex64]";
    else if constexpr (is_vector<value>::value)
        return "list[" + kind_of<typename value::value_type>() + "]";
    else
        return "object"; // the name of a class that is bound, too
}

//! Descriptions of parameters for Python: a list of the arguments of its class Parameter.
template <class described, class parameters>
pybind11::list descriptions_of()
{
    namespace py = pybind11;
    using namespace py::literals;
    py::list list;
    const parameters defaults;
    const auto add = [&](const auto& d) {
        using description = std::decay_t<decltype(d)>;
        py::list choices;
        for (const char* choice : d.choices)
            if (choice)
                choices.append(choice);
        py::dict entry("name"_a = d.name,
                       "kind"_a = kind_of<typename description::value>(),
                       "meaning"_a = d.meaning,
                       "least"_a = d.least,
                       "most"_a = d.most,
                       "open"_a = d.open,
                       "choices"_a = py::tuple(choices),
                       "unit"_a = d.unit,
                       "label"_a = d.label,
                       "category"_a = d.category,
                       "settable"_a = d.settable);
        if constexpr (!description::required)
            entry["default"] =
                python_argument<typename description::value>::from(defaults.*d.member);
        list.append(entry);
    };
    std::apply([&](const auto&... d) { (add(d), ...); }, described::describe());
    return list;
}

//! The argument of a parameter in Python, with its default if it has one.
template <class parameters, class description>
auto python_argument_of(const parameters& defaults, const description& p)
{
    const pybind11::arg argument(p.name);
    if constexpr (description::required)
        return argument;
    else
        return argument =
                   python_argument<typename description::value>::from(defaults.*p.member);
}

//! Binds a constructor in Python with the parameters as its arguments.
//! \param make makes the object of the parameters
template <class parameters, class binding, class maker, class... description>
void bind_constructor(binding& c,
                      const char* about,
                      const maker& make,
                      const description&... p)
{
    const parameters defaults;
    c.def(pybind11::init(
              [make, p...](
                  typename python_argument<typename description::value>::type... values) {
                  parameters chosen;
                  ((chosen.*p.member = python_argument<typename description::value>::to(
                        values, p.name, p.last_axis ? chosen.*p.last_axis : 0)),
                   ...);
                  return make(std::move(chosen));
              }),
          python_argument_of(defaults, p)...,
          about);
}

/*!
 * Binds a struct that has a description: its constructor and its members.
 * \param scope the class or module that it belongs to
 */
template <class described, class scope>
void bind_struct(scope& s, const char* name, const char* about)
{
    pybind11::class_<described> c(s, name, about);
    std::apply(
        [&](const auto&... p) {
            bind_constructor<described>(
                c,
                "See the class for the arguments.",
                [](described&& d) { return std::move(d); },
                p...);
            (c.def_readwrite(p.name, p.member, p.meaning), ...);
        },
        described::describe());
    c.def_static("_describe", &descriptions_of<described, described>);
}

/*!
 * Binds a block that has a description.
 * \tparam base block_on_device, or gr::sync_block
 * \param about documentation of the class, without its arguments
 * \param raises documentation of errors, beyond those that parameters cause
 * \param before gets the class before its constructor is bound, to bind types that the
 * constructor takes
 */
template <class block, class base = gr::aperture::block_on_device>
auto bind_block(
    pybind11::module& m,
    const char* name,
    const std::string& about,
    const char* raises = "",
    const std::function<void(pybind11::object&)>& before = [](pybind11::object&) {})
{
    namespace py = pybind11;
    const std::string text =
        about +
        "\nRaises:\n"
        "    ValueError: names the parameter, its value and what is allowed\n" +
        raises;
    py::class_<block, base, gr::block, gr::basic_block, std::shared_ptr<block>> c(
        m, name, text.c_str());
    before(c);
    std::apply(
        [&](const auto&... p) {
            bind_constructor<typename block::parameters>(
                c,
                "Makes the block; see the class for the arguments.",
                [](typename block::parameters&& chosen) {
                    return block::make(std::move(chosen));
                },
                p...);
        },
        block::describe());
    c.def_static("_describe", &descriptions_of<block, typename block::parameters>);
    return c;
}

#endif /* INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H */
