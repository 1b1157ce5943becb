/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H
#define INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H

#include "flat.h"
#include <gnuradio/aperture/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <type_traits>
#include <complex>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

/*!
 * \file
 * Makes the Python class of a block out of its description: see parameter.h.
 */

//! How Python gives the value of a parameter: arrays of numbers in any shape.
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

//! "    name: meaning", in lines of at most 90 letters.
inline std::string argument_text(const char* name, const char* meaning)
{
    std::istringstream words(meaning);
    std::string text, line = std::string("    ") + name + ":";
    for (std::string word; words >> word;) {
        if (line.size() + 1 + word.size() > 90) {
            text += line + "\n";
            line = "       ";
        }
        line += " " + word;
    }
    return text + line + "\n";
}

template <class block, class binding, class... description>
void bind_constructor(binding& c, const description&... p)
{
    namespace py = pybind11;
    using parameters = typename block::parameters;
    const parameters defaults;
    c.def(py::init(
              [p...](
                  typename python_argument<typename description::value>::type... values) {
                  parameters chosen;
                  ((chosen.*p.member = python_argument<typename description::value>::to(
                        values, p.name, p.last_axis ? chosen.*p.last_axis : 0)),
                   ...);
                  return block::make(chosen);
              }),
          (py::arg(p.name) =
               python_argument<typename description::value>::from(defaults.*p.member))...,
          "Makes the block; see the class for the arguments.");
}

//! \param about what stands before the arguments in the documentation of the class
template <class block>
auto bind_block(pybind11::module& m, const char* name, const char* about)
{
    namespace py = pybind11;
    std::string text = std::string(about) + "\nArgs:\n";
    std::apply(
        [&](const auto&... p) { ((text += argument_text(p.name, p.meaning)), ...); },
        block::describe());
    text += "\nRaises:\n"
            "    ValueError: names the parameter, its value and what is allowed\n";
    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>
        c(m, name, text.c_str());
    std::apply([&](const auto&... p) { bind_constructor<block>(c, p...); },
               block::describe());
    return c;
}

#endif /* INCLUDED_APERTURE_BINDINGS_BLOCK_BINDING_H */
