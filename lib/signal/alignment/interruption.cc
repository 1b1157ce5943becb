/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/interruption.h"

namespace gr::aperture::kernels::alignment {

namespace {
thread_local const std::atomic<bool>* asked = nullptr;
} // namespace

interruptible::interruptible(const std::atomic<bool>& flag) { asked = &flag; }
interruptible::~interruptible() { asked = nullptr; }

void interruption_point()
{
    if (asked && *asked)
        throw interrupted();
}

} // namespace gr::aperture::kernels::alignment
