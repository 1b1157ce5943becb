/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_CPP_TIERS_H
#define INCLUDED_APERTURE_TESTS_CPP_TIERS_H

#include <cstdlib>
#include <string>

namespace qa {

//! Returns whether all tests run, and not only the quick ones: see
//! python/aperture/testing/tiers.py.
inline bool all_tests()
{
    const char* variable = std::getenv("APERTURE_TEST_ALL");
    const std::string value = variable ? variable : "";
    return value != "" && value != "0";
}

//! Returns a size or a number of rounds: for all tests, or for the quick ones.
template <class number>
number in_all(number all, number quick)
{
    return all_tests() ? all : quick;
}

} // namespace qa

#endif /* INCLUDED_APERTURE_TESTS_CPP_TIERS_H */
