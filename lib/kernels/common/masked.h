/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_MASKED_H
#define INCLUDED_APERTURE_KERNELS_COMMON_MASKED_H

#include "runtime/emulated.h"
#include <functional>
#include <vector>

namespace gr::aperture::kernels::emulated {

using aperture::emulated::copy_masked;

//! Work for a stream of the emulated device.
inline void run_on(stream& s, std::function<void()> work)
{
    dynamic_cast<aperture::emulated::stream&>(s).run(std::move(work));
}

//! What lies in memory of the emulated device, as the host reads it.
inline std::vector<char> unmasked(const void* memory, size_t bytes)
{
    std::vector<char> plain(bytes);
    copy_masked(plain.data(), memory, bytes);
    return plain;
}

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_MASKED_H */
