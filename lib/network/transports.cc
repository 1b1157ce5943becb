/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/socket_queue.h"
#include "network/transports.h"
#include "runtime/plugin.h"
#include <stdexcept>

//! Defined in programs that link these libraries themselves: benchmarks.
extern "C" __attribute__((weak)) const void* gnuradio_aperture_xdp();
extern "C" __attribute__((weak)) const void* gnuradio_aperture_dpdk();

namespace gr::aperture::network {

namespace {

struct library_kind {
    const char* name;
    plugin_kind plugin;
    plugin_entry linked;
    bool only_join;
};

const library_kind libraries[] = {
    { "xdp",
      { "libgnuradio-aperture-xdp.so",
        "gnuradio_aperture_xdp",
        "parts for AF_XDP",
        APERTURE_TRANSPORT_VERSION },
      gnuradio_aperture_xdp,
      false },
    // the card's packets come to DPDK alone, or, where the system has them as well, twice
    { "dpdk",
      { "libgnuradio-aperture-dpdk.so",
        "gnuradio_aperture_dpdk",
        "parts for DPDK",
        APERTURE_TRANSPORT_VERSION },
      gnuradio_aperture_dpdk,
      true },
};

const loaded_plugin& load(const library_kind& kind)
{
    static loaded_plugin loaded[std::size(libraries)];
    loaded_plugin& here = loaded[&kind - libraries];
    if (!here.offers)
        here = find_plugin(kind.plugin, kind.linked);
    return here;
}

std::vector<std::unique_ptr<receive_queue>> sockets_of(const transport_parameters& p,
                                                       bool only_join)
{
    std::vector<std::unique_ptr<receive_queue>> made;
    for (size_t i = 0; i < p.addresses.size(); i++) {
        socket_queue::parameters s;
        s.address = p.addresses[i];
        s.index = int(i);
        s.interface = p.interface;
        s.buffer_bytes = int(p.buffer_bytes);
        s.most_bytes = p.most_bytes;
        s.only_joins = only_join;
        try {
            made.push_back(std::make_unique<socket_queue>(s));
        } catch (const std::runtime_error&) {
            // an address of which the system need not know
            if (!only_join || s.address.address().is_multicast())
                throw;
        }
    }
    return made;
}

} // namespace

std::vector<transport_kind> transports()
{
    std::vector<transport_kind> found{ { "socket", "sockets of the system", "" } };
    for (const auto& kind : libraries)
        found.push_back({ kind.name, kind.plugin.what, load(kind).problem });
    return found;
}

opened_transport open_transport(const std::string& name, const transport_parameters& p)
{
    opened_transport made;
    made.name = "socket";
    const bool automatic = name == "auto";
    transport_parameters of_sockets = p;
    bool wanted = true;
    for (const auto& kind : libraries) {
        if (name != kind.name && !(automatic && std::string("xdp") == kind.name))
            continue;
        try {
            const auto& loaded = load(kind);
            if (!loaded.offers)
                throw std::runtime_error("transport " + std::string(kind.name) + ": " +
                                         loaded.problem);
            const auto& library = *static_cast<const transport_library*>(loaded.offers);
            auto queues = library.make(p);
            // an error of a queue that cannot be opened comes now
            for (const auto& queue : queues)
                queue->open();
            for (const auto& queue : queues)
                queue->close();
            made.queues = std::move(queues);
            made.name = kind.name;
            made.only_join = kind.only_join;
            of_sockets.interface = library.interface(p);
            wanted = !of_sockets.interface.empty();
        } catch (const std::exception& error) {
            if (!automatic)
                throw;
            made.remark = "packets come by sockets, as AF_XDP cannot be had: " +
                          std::string(error.what());
        }
    }
    if (wanted)
        made.sockets = sockets_of(of_sockets, made.only_join);
    return made;
}

} // namespace gr::aperture::network
