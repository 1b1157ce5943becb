/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_TRANSPORTS_H
#define INCLUDED_APERTURE_NETWORK_TRANSPORTS_H

#include "network/transport_library.h"

namespace gr::aperture::network {

//! A way in which packets come, and whether this build has it.
struct transport_kind {
    const char* name;
    const char* what;    //!< the kind of parts, such as "parts for AF_XDP"
    std::string missing; //!< reason why it is not there; empty: it is
};
//! Returns all ways in which packets may come.
std::vector<transport_kind> transports();

//! The queues that packets come to.
struct opened_transport {
    std::string name;
    /*!
     * Sockets, one for each address. They are read, as what a card's queue does not take
     * comes to them (fragments, for example), unless they `only_join`: then they keep the
     * addresses and join the groups.
     */
    std::vector<std::unique_ptr<receive_queue>> sockets;
    bool only_join = false;
    //! Queues of a card; none: all packets come to the sockets.
    std::vector<std::unique_ptr<receive_queue>> queues;
    std::string remark; //!< a warning, such as why it is another one
};

/*!
 * Makes the queues of a transport, and tries whether they can be opened.
 *
 * \param name socket, xdp or dpdk; or auto: AF_XDP, or, where it cannot be had, sockets
 * \throws std::runtime_error naming what cannot be opened, and what it needs
 * \throws std::invalid_argument naming a parameter, its value and what is allowed
 */
opened_transport open_transport(const std::string& name, const transport_parameters& p);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_TRANSPORTS_H */
