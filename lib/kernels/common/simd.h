/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_SIMD_H
#define INCLUDED_APERTURE_KERNELS_COMMON_SIMD_H

/*!
 * APERTURE_SIMD before a function with plain loops: the compiler makes a version of it
 * for each generation of processors, and the right one is taken when the library is
 * loaded. Not with sanitizers: their run-time is not up yet when the choice is made.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define APERTURE_SIMD \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define APERTURE_SIMD
#endif

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_SIMD_H */
