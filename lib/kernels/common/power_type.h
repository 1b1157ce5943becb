/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_POWER_TYPE_H
#define INCLUDED_APERTURE_KERNELS_COMMON_POWER_TYPE_H

#include "kernels/common/types.h"

namespace gr::aperture::kernels {

//! The type of a power.
enum class power_type { f32, s8, u8 };

inline size_t size_of(power_type type) { return type == power_type::f32 ? 4 : 1; }

//! \throws std::invalid_argument
inline power_type parse_power_type(const std::string& parameter, const std::string& name)
{
    require(name == "f32" || name == "s8" || name == "u8",
            parameter,
            "'" + name + "'",
            "one of f32, s8, u8");
    return name == "f32"  ? power_type::f32
           : name == "s8" ? power_type::s8
                          : power_type::u8;
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_POWER_TYPE_H */
