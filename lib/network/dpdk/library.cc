/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/dpdk/dpdk_queue.h"
#include "network/system_interface.h"

namespace gr::aperture::network {

namespace {

std::vector<std::unique_ptr<receive_queue>> make_dpdk(const transport_parameters& p)
{
    // a card spreads packets over queues from 0 on, as many as it is told
    const int count = std::max(1, int(p.queues.size()));
    wanted_queues(p.queues, count, "a device of DPDK with " + std::to_string(count));
    const auto device = std::make_shared<dpdk_device>(p, count);
    const auto addresses = std::make_shared<const address_table>(p.addresses);
    std::vector<std::unique_ptr<receive_queue>> made;
    for (int queue = 0; queue < count; queue++)
        made.push_back(std::make_unique<dpdk_queue>(device, queue, addresses));
    return made;
}

} // namespace

} // namespace gr::aperture::network

extern "C" __attribute__((visibility("default"))) const void* gnuradio_aperture_dpdk()
{
    static const gr::aperture::network::transport_library library{
        APERTURE_TRANSPORT_VERSION,
        gr::aperture::network::make_dpdk,
        gr::aperture::network::system_interface_of
    };
    return &library;
}
