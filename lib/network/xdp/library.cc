/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/system_interface.h"
#include "network/xdp/xdp_queue.h"
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

namespace gr::aperture::network {

namespace {

std::vector<std::unique_ptr<receive_queue>> make(const transport_parameters& p)
{
    // errors are said by what is thrown
    libbpf_set_print(nullptr);
    libxdp_set_print(nullptr);
    const auto name = interface_of(p);
    const int there = receive_queues_of(name);
    const auto queues = wanted_queues(p.queues, there, name);
    const auto interface = std::make_shared<xdp_interface>(name, p.addresses, there);
    std::vector<std::unique_ptr<receive_queue>> made;
    for (const int queue : queues)
        made.push_back(std::make_unique<xdp_queue>(
            interface, queue, p.buffer_bytes / int64_t(queues.size()), p.most_bytes));
    return made;
}

} // namespace

} // namespace gr::aperture::network

extern "C" __attribute__((visibility("default"))) const void* gnuradio_aperture_xdp()
{
    static const gr::aperture::network::transport_library library{
        APERTURE_TRANSPORT_VERSION,
        gr::aperture::network::make,
        gr::aperture::network::interface_of
    };
    return &library;
}
