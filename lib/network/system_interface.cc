/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/system_interface.h"
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/asio/ip/address.hpp>
#include <fstream>
#include <numeric>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

// Returns the interface that has an address; empty if none has.
std::string interface_with(const ip::address& wanted)
{
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> kept(all, &freeifaddrs);
    for (const ifaddrs* i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr)
            continue;
        ip::address found;
        if (i->ifa_addr->sa_family == AF_INET) {
            ip::address_v4::bytes_type bytes;
            std::memcpy(bytes.data(),
                        &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr,
                        bytes.size());
            found = ip::address_v4(bytes);
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            ip::address_v6::bytes_type bytes;
            std::memcpy(bytes.data(),
                        &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr,
                        bytes.size());
            found = ip::address_v6(bytes);
        } else {
            continue;
        }
        if (found == wanted)
            return i->ifa_name;
    }
    return {};
}

} // namespace

std::string interface_of(const transport_parameters& p)
{
    if (!p.interface.empty()) {
        if (if_nametoindex(p.interface.c_str()) != 0)
            return p.interface;
        boost::system::error_code error;
        const auto address = ip::make_address(p.interface, error);
        const auto found = error ? std::string() : interface_with(address);
        require(!found.empty(), "interface", p.interface, "an interface of this host");
        return found;
    }
    std::string found;
    for (const auto& endpoint : p.addresses) {
        const auto here = interface_with(endpoint.address());
        require(!here.empty() && (found.empty() || found == here),
                "interface",
                "none, with the address " + text_of(endpoint),
                "the name of the interface that packets come to, where their addresses "
                "do not say it");
        found = here;
    }
    return found;
}

int receive_queues_of(const std::string& interface)
{
    const int handle = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const bool known = ::ioctl(handle, SIOCETHTOOL, &request) == 0;
    ::close(handle);
    // interfaces that cannot say it have one
    return known ? std::max(1, int(channels.combined_count + channels.rx_count)) : 1;
}

std::vector<int> cores_in(const std::string& filename)
{
    std::vector<int> cores;
    std::ifstream file(filename);
    for (int first = 0; file >> first;) {
        int last = first;
        if (file.peek() == '-') {
            file.get();
            file >> last;
        }
        for (int core = first; core <= last; core++)
            cores.push_back(core);
        if (file.peek() == ',')
            file.get();
    }
    return cores;
}

std::vector<int>
wanted_queues(const std::vector<int>& given, int there, const std::string& device)
{
    std::vector<int> queues = given;
    if (queues.empty()) {
        queues.resize(size_t(there));
        std::iota(queues.begin(), queues.end(), 0);
    }
    for (size_t i = 0; i < queues.size(); i++) {
        require(queues[i] >= 0 && queues[i] < there,
                "queues",
                std::to_string(queues[i]),
                "numbers from 0 to " + std::to_string(there - 1) + ", as " + device +
                    " has");
        require(std::find(queues.begin(), queues.begin() + long(i), queues[i]) ==
                    queues.begin() + long(i),
                "queues",
                std::to_string(queues[i]) + ", twice",
                "each once");
    }
    return queues;
}

} // namespace gr::aperture::network
