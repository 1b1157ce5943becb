/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BINDINGS_FLAT_H
#define INCLUDED_APERTURE_BINDINGS_FLAT_H

#include <pybind11/numpy.h>
#include <stdexcept>
#include <string>
#include <vector>

//! An array that NumPy makes of numbers of any shape and any type that can be converted.
template <class number>
using numbers =
    pybind11::array_t<number, pybind11::array::c_style | pybind11::array::forcecast>;

template <class number>
std::vector<number> flat(const numbers<number>& array)
{
    return { array.data(), array.data() + array.size() };
}

//! The same of rows of the inputs: of several axes the last has to be theirs, so that an
//! array that is transposed is refused and not read in another order.
template <class number>
std::vector<number>
rows_of_inputs(const char* parameter, const numbers<number>& array, int inputs)
{
    const auto axes = array.ndim();
    if (axes > 1 && array.size() > 0 && array.shape(axes - 1) != inputs) {
        std::string shape;
        for (pybind11::ssize_t i = 0; i < axes; i++)
            shape += (i ? ", " : "") + std::to_string(array.shape(i));
        throw std::invalid_argument(std::string(parameter) + ": an array of shape (" +
                                    shape +
                                    ") is not allowed; its last axis must be the " +
                                    std::to_string(inputs) + " inputs");
    }
    return flat(array);
}

#endif /* INCLUDED_APERTURE_BINDINGS_FLAT_H */
