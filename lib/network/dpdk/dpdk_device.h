/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_DPDK_DPDK_DEVICE_H
#define INCLUDED_APERTURE_NETWORK_DPDK_DPDK_DEVICE_H

#include "network/transport_library.h"
#include <mutex>

struct rte_mempool;

namespace gr::aperture::network {

/*!
 * A card that DPDK drives, or one of its virtual devices. One source has it.
 *
 * DPDK starts once in a process, with the arguments of the first source.
 */
class dpdk_device
{
public:
    /*!
     * \param queues queues to receive with
     * \throws std::runtime_error naming the device, and what it or DPDK needs
     */
    dpdk_device(const transport_parameters& p, int queues);
    dpdk_device(const dpdk_device&) = delete;
    ~dpdk_device();

    //! Lets packets come while there were more calls of start() than of stop().
    void start();
    void stop();

    const std::string& name() const { return d_name; }
    uint16_t port() const { return d_port; }
    int64_t buffer_bytes() const { return d_buffer_bytes; }
    std::vector<int> near_cores() const;

private:
    [[noreturn]] void fail(const std::string& what, int error) const;
    void find(const transport_parameters& p, int queues);
    void set_up(const transport_parameters& p, int queues);
    void let_go();

    std::string d_name;
    uint16_t d_port = 0;
    bool d_probed = false; // the device was made here
    bool d_configured = false;
    bool d_groups = false; // there are multicast addresses
    rte_mempool* d_pool = nullptr;
    int64_t d_buffer_bytes = 0;
    std::mutex d_mutex;
    int d_started = 0;
};

//! Returns the system's interface of a device of DPDK; empty: the system does not have
//! it.
std::string system_interface_of(const transport_parameters& p);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_DPDK_DPDK_DEVICE_H */
