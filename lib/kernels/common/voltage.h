/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_VOLTAGE_H
#define INCLUDED_APERTURE_KERNELS_COMMON_VOLTAGE_H

#include <cassert>
#include <cstdint>

namespace gr::aperture::kernels::host {

/*!
 * Returns a component of an 8-bit voltage. It is never -128, which is clamped where
 * samples and spectra enter; kernels on a GPU rely on that. A debug build ends where one
 * has come another way.
 */
inline int8_t voltage_part(int8_t v)
{
    assert(v != -128 && "an 8-bit voltage");
    return v;
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_VOLTAGE_H */
