/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BINDINGS_FLAT_H
#define INCLUDED_APERTURE_BINDINGS_FLAT_H

#include <pybind11/numpy.h>
#include <vector>

//! What NumPy makes an array of numbers of: any shape, any numbers that can be converted.
template <class number>
using numbers =
    pybind11::array_t<number, pybind11::array::c_style | pybind11::array::forcecast>;

template <class number>
std::vector<number> flat(const numbers<number>& array)
{
    return { array.data(), array.data() + array.size() };
}

#endif /* INCLUDED_APERTURE_BINDINGS_FLAT_H */
