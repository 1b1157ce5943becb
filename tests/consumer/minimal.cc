/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <gnuradio/aperture/corner_turn.h>
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/aperture/select.h>
#include <gnuradio/aperture/tags.h>
#include <gnuradio/aperture/xengine.h>
#include <iostream>

//! Prints the devices that there are; fails without a CPU.
int main()
{
    bool has_cpu = false;
    for (const auto& name : gr::aperture::devices()) {
        std::cout << name << std::endl;
        has_cpu = has_cpu || name == "cpu";
    }
    return has_cpu ? 0 : 1;
}
