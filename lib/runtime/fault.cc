/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/fault.h"

#ifdef APERTURE_FAULTS
#include <cstdlib>
#include <string>

namespace gr::aperture {

bool left_out(const char* name)
{
    static const char* variable = std::getenv("APERTURE_FAULT");
    static const std::string chosen = variable ? variable : "";
    return chosen == name;
}

} // namespace gr::aperture
#endif
