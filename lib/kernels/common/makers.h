/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_MAKERS_H
#define INCLUDED_APERTURE_KERNELS_COMMON_MAKERS_H

#include <memory>
#include <string>
#include <vector>

/*!
 * \file
 * The makers of a kernel's implementations. The file of an implementation specialises the
 * template for its kernel, and needs no header for it: `host::make<xengine>(p)` is in
 * host_xengine.cc. Where a kernel has several implementations for a device,
 * implementations() has their names, the one to take first; an empty name is that one.
 */
namespace gr::aperture::kernels {

namespace host {

template <class Kernel>
std::unique_ptr<Kernel> make(const typename Kernel::parameters& p,
                             const std::string& implementation = {});
template <class Kernel>
std::vector<std::string> implementations();

} // namespace host

namespace emulated {

template <class Kernel>
std::unique_ptr<Kernel> make(const typename Kernel::parameters& p);

} // namespace emulated

//! `device` is the number of a GPU.
namespace cuda {

template <class Kernel>
std::unique_ptr<Kernel> make(const typename Kernel::parameters& p,
                             int device,
                             const std::string& implementation = {});
//! \throws std::invalid_argument for parameters that none can do
template <class Kernel>
std::vector<std::string> implementations(const typename Kernel::parameters& p,
                                         int device);

} // namespace cuda

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_MAKERS_H */
