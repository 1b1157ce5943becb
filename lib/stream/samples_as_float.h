/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_SAMPLES_AS_FLOAT_H
#define INCLUDED_APERTURE_STREAM_SAMPLES_AS_FLOAT_H

#include "kernels/common/types.h"

namespace gr::aperture {

/*!
 * Converts complex samples of one input to fc32. Samples that are not finite become zero:
 * one NaN would spoil every sum that it is part of.
 *
 * \param type fc32, sc16, sc8 or sc4
 */
void samples_as_float(sample_type type, const void* samples, int64_t count, cfloat* to);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_SAMPLES_AS_FLOAT_H */
