/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_TRANSPORT_LIBRARY_H
#define INCLUDED_APERTURE_NETWORK_TRANSPORT_LIBRARY_H

#include "network/receive_queue.h"
#include <memory>

namespace gr::aperture::network {

struct transport_parameters {
    std::vector<boost::asio::ip::udp::endpoint> addresses;
    //! Interface of multicast groups, and of AF_XDP; for DPDK its device.
    std::string interface;
    std::vector<int> queues; //!< queues of the card; empty: all of them
    int64_t buffer_bytes = 1 << 26;
    size_t most_bytes = 9000;                //!< bytes of the longest datagram
    std::vector<std::string> dpdk_arguments; //!< arguments of DPDK's EAL
};

/*!
 * What a library offers that receives in another way than by sockets. Such libraries are
 * loaded when they are asked for, as those of CUDA kernels are (see plugin.h).
 */
struct transport_library {
    const char* version;
    //! Makes the queues, which are closed.
    std::vector<std::unique_ptr<receive_queue>> (*make)(const transport_parameters&);
    //! Returns the system's interface of the card; empty: the system does not have it.
    std::string (*interface)(const transport_parameters&);
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_TRANSPORT_LIBRARY_H */
