/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_HOST_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_HOST_XENGINE_H

#include "kernels/xengine/xengine.h"
#include <string>
#include <vector>

namespace gr::aperture::kernels::host {

//! The vector instructions there is a kernel for and that this processor has, best first.
std::vector<std::string> xengine_vectors();

//! Dot products of tiles of inputs. `vectors` is one of xengine_vectors(), or empty: the
//! best.
std::unique_ptr<xengine> make_xengine(const xengine::parameters& p,
                                      const std::string& vectors = "");

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_HOST_XENGINE_H */
