/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_FLOAT_ENVIRONMENT_H
#define INCLUDED_APERTURE_KERNELS_COMMON_FLOAT_ENVIRONMENT_H

#include <cfenv>

namespace gr::aperture::kernels {

/*!
 * \brief Makes the thread compute by IEEE 754 while it lives, and restores its settings
 * then.
 *
 * For some operations on unaligned samples VOLK 2.5 runs a kernel that Orc compiles,
 * which leaves the thread in a state in which numbers below 1.2e-38 (subnormal ones) are
 * read and written as zeros; seen with volk_32fc_32f_multiply_32fc on a processor without
 * AVX-512.
 */
class usual_float_environment
{
public:
    usual_float_environment()
    {
        std::fegetenv(&d_before);
        std::fesetenv(FE_DFL_ENV);
    }
    ~usual_float_environment() { std::fesetenv(&d_before); }
    usual_float_environment(const usual_float_environment&) = delete;
    usual_float_environment& operator=(const usual_float_environment&) = delete;

private:
    std::fenv_t d_before;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_FLOAT_ENVIRONMENT_H */
