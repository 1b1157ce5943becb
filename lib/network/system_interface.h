/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_SYSTEM_INTERFACE_H
#define INCLUDED_APERTURE_NETWORK_SYSTEM_INTERFACE_H

#include "network/transport_library.h"

namespace gr::aperture::network {

/*!
 * Finds the interface that packets to addresses come to.
 * \throws std::invalid_argument naming the parameter `interface` if it has to be given
 */
std::string interface_of(const transport_parameters& p);

//! Returns the number of queues that an interface receives with.
int receive_queues_of(const std::string& interface);

//! Reads a list of cores, such as 0-3,8; an empty list if there is no such file.
std::vector<int> cores_in(const std::string& filename);

/*!
 * Returns the queues that are wanted, or all.
 * \throws std::invalid_argument naming a queue that there is not
 */
std::vector<int>
wanted_queues(const std::vector<int>& given, int there, const std::string& device);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_SYSTEM_INTERFACE_H */
