/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_COMMON_NUMBER_TEXT_H
#define INCLUDED_APERTURE_COMMON_NUMBER_TEXT_H

#include <cstdio>
#include <string>

namespace gr::aperture {

//! Returns a number as people write it; std::to_string() has 300 digits for 1e300.
inline std::string text_of(double number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", number);
    return text;
}

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_COMMON_NUMBER_TEXT_H */
