/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/dpdk/dpdk_device.h"
#include "network/system_interface.h"
#include "system/linux.h"
#include <net/if.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <cstdio>
#include <set>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

// Ethernet, two tags of VLANs, IPv6, UDP
constexpr size_t headers = 14 + 8 + 40 + 8;
constexpr size_t page = 4096;
constexpr int most_descriptors = 4096, fewest_buffers = 2048;

std::mutex s_mutex; // guards what is below
std::set<std::string> s_used;
std::string s_log; // the newest lines of DPDK's log

ssize_t write_log(void*, const char* text, size_t bytes)
{
    constexpr size_t most = 1000;
    s_log.append(text, bytes);
    if (s_log.size() > most)
        s_log.erase(0, s_log.size() - most);
    return ssize_t(bytes);
}

// Returns the first line of what DPDK logged, as the reason of an error.
std::string logged()
{
    const auto end = s_log.find('\n');
    const std::string line = s_log.substr(0, end);
    s_log.clear();
    return line.empty() ? "" : " (" + line + ")";
}

// Returns whether huge pages of so many bytes are free.
bool has_huge_pages(int64_t bytes)
{
    const auto free = int64_t(system::memory_figure("HugePages_Free:", 0));
    const auto size_kb = int64_t(system::memory_figure("Hugepagesize:", 0));
    return free * size_kb * 1024 >= bytes;
}

// Returns the bytes of a buffer for a frame, with what devices have before it.
size_t frame_bytes(const transport_parameters& p)
{
    size_t bytes = 2048;
    while (bytes < headers + p.most_bytes + 128)
        bytes *= 2;
    return bytes;
}

bool is_pci(const std::string& name) { return name.find(':') != std::string::npos; }

std::vector<std::string> default_arguments(const transport_parameters& p)
{
    const int core = system::usable_cores().front();
    // threads of our own receive, so DPDK needs one core by name only
    std::vector<std::string> made = {
        "--no-telemetry", "--log-level=error", "-l", std::to_string(core)
    };
    if (is_pci(p.interface))
        made.insert(made.end(), { "-a", p.interface });
    else
        made.push_back("--no-pci");
    const int64_t bytes = 2 * p.buffer_bytes + (int64_t(64) << 20);
    // no files that another process would share or collide with
    if (has_huge_pages(bytes))
        made.push_back("--in-memory");
    else
        made.insert(made.end(),
                    { "--no-shconf", "--no-huge", "-m", std::to_string(bytes >> 20) });
    return made;
}

void start_dpdk(const transport_parameters& p)
{
    static bool started = false;
    static std::vector<std::string> with;
    if (started) {
        if (!p.dpdk_arguments.empty() && p.dpdk_arguments != with)
            throw std::runtime_error(
                "transport dpdk: it was started in this process with other "
                "dpdk_arguments, which all sources share");
        return;
    }
    cookie_io_functions_t functions{};
    functions.write = write_log;
    static FILE* const log = fopencookie(nullptr, "w", functions);
    std::setvbuf(log, nullptr, _IOLBF, 1024);
    rte_openlog_stream(log);
    const auto arguments =
        p.dpdk_arguments.empty() ? default_arguments(p) : p.dpdk_arguments;
    std::vector<std::string> texts = { "gr-aperture" };
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    std::string all;
    for (auto& text : texts) {
        pointers.push_back(text.data());
        all += " " + text;
    }
    // DPDK binds the thread that starts it to a core
    const auto before = system::usable_cores();
    const int found = rte_eal_init(int(pointers.size()), pointers.data());
    system::pin_thread(before);
    if (found < 0)
        throw std::runtime_error("transport dpdk: it cannot be started with" +
                                 all.substr(all.find(' ', 1)) + ": " +
                                 rte_strerror(rte_errno) + logged());
    started = true;
    with = p.dpdk_arguments;
}

} // namespace

void dpdk_device::fail(const std::string& what, int error) const
{
    std::string why = rte_strerror(error < 0 ? -error : error);
    if (error == -EPERM || error == -EACCES)
        why = "it needs root's rights";
    throw std::runtime_error("transport dpdk: " + d_name + ": " + what + ": " + why +
                             logged());
}

void dpdk_device::find(const transport_parameters& p, int queues)
{
    const std::string& wanted = p.interface;
    d_name = wanted;
    std::string bus = "vdev", options;
    if (wanted.empty()) {
        const int there = rte_eth_dev_count_avail();
        if (there != 1)
            throw std::runtime_error(
                "transport dpdk: `interface` has to name the device, as DPDK has " +
                std::to_string(there) + " of them");
        d_port = uint16_t(rte_eth_find_next(0));
        char name[RTE_ETH_NAME_MAX_LEN];
        rte_eth_dev_get_name_by_port(d_port, name);
        d_name = name;
        return;
    }
    if (is_pci(wanted)) {
        bus = "pci";
    } else if (const auto comma = wanted.find(','); comma != std::string::npos) {
        d_name = wanted.substr(0, comma);
        options = wanted.substr(comma + 1);
    } else if (if_nametoindex(wanted.c_str()) != 0) {
        // an interface of the system's: frames are of half a block, in a ring of 32 MiB
        d_name = "net_af_packet_" + wanted;
        const size_t frame = frame_bytes(p);
        const size_t block = std::max(2 * frame, page);
        options = "iface=" + wanted + ",qpairs=" + std::to_string(queues) +
                  ",framesz=" + std::to_string(frame) +
                  ",blocksz=" + std::to_string(block) +
                  ",framecnt=" + std::to_string((size_t(32) << 20) / frame);
    }
    if (rte_eth_dev_get_port_by_name(d_name.c_str(), &d_port) == 0)
        return;
    const int error = rte_eal_hotplug_add(bus.c_str(), d_name.c_str(), options.c_str());
    if (error)
        fail("there is no such device", error);
    d_probed = true;
    if (const int none = rte_eth_dev_get_port_by_name(d_name.c_str(), &d_port))
        fail("the device does not receive packets", none);
}

dpdk_device::dpdk_device(const transport_parameters& p, int queues)
{
    std::lock_guard<std::mutex> guard(s_mutex);
    start_dpdk(p);
    s_log.clear();
    find(p, queues);
    if (!s_used.insert(d_name).second)
        throw std::runtime_error("transport dpdk: " + d_name +
                                 ": another source of this process has it");
    try {
        set_up(p, queues);
    } catch (...) {
        let_go();
        throw;
    }
}

void dpdk_device::set_up(const transport_parameters& p, int queues)
{
    const auto check = [&](int error, const char* what) {
        if (error)
            fail(what, error);
    };
    rte_eth_dev_info info{};
    check(rte_eth_dev_info_get(d_port, &info), "it says nothing about itself");
    if (queues > info.max_rx_queues)
        throw std::invalid_argument(
            "queues: " + std::to_string(queues) + " of them is not allowed: at most " +
            std::to_string(info.max_rx_queues) + ", as " + d_name + " has");
    const size_t frame = frame_bytes(p);
    rte_eth_conf conf{};
    // a device may say less about its largest frames
    const uint32_t around =
        info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu
            ? info.max_rx_pktlen - info.max_mtu
            : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    const uint32_t largest =
        std::min<uint32_t>(info.max_mtu, std::max(info.max_rx_pktlen, around) - around);
    conf.rxmode.mtu =
        std::max<uint32_t>(info.min_mtu, std::min(uint32_t(p.most_bytes + 48), largest));
    conf.rxmode.offloads = info.rx_offload_capa &
                           (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |
                            RTE_ETH_RX_OFFLOAD_SCATTER);
    if (queues > 1) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf =
            info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
    }
    const auto sending = uint16_t(std::min<int>(info.max_tx_queues, 1));
    check(rte_eth_dev_configure(d_port, uint16_t(queues), sending, &conf),
          "it cannot be configured");
    d_configured = true;
    auto buffers = unsigned(
        std::max<int64_t>(fewest_buffers * queues, p.buffer_bytes / int64_t(frame)));
    auto descriptors =
        uint16_t(std::min<unsigned>(most_descriptors, buffers / (2 * unsigned(queues))));
    uint16_t to_send = 64;
    check(rte_eth_dev_adjust_nb_rx_tx_desc(d_port, &descriptors, &to_send),
          "its rings cannot be made");
    buffers = std::max(buffers, 2 * unsigned(descriptors) * unsigned(queues));
    const int node = rte_eth_dev_socket_id(d_port);
    d_pool = rte_pktmbuf_pool_create(("aperture" + std::to_string(d_port)).c_str(),
                                     buffers,
                                     256,
                                     0,
                                     uint16_t(RTE_PKTMBUF_HEADROOM + frame),
                                     node);
    if (!d_pool)
        fail("there is no memory for " + std::to_string(buffers) + " packets of " +
                 std::to_string(frame) + " bytes (vm.nr_hugepages, or a smaller " +
                 "socket_buffer)",
             rte_errno);
    d_buffer_bytes = int64_t(buffers) * int64_t(frame);
    for (int queue = 0; queue < queues; queue++)
        check(rte_eth_rx_queue_setup(
                  d_port, uint16_t(queue), descriptors, unsigned(node), nullptr, d_pool),
              "a queue cannot be made");
    if (sending)
        check(rte_eth_tx_queue_setup(d_port, 0, to_send, unsigned(node), nullptr),
              "a queue to send cannot be made");
    for (const auto& address : p.addresses)
        d_groups = d_groups || address.address().is_multicast();
}

void dpdk_device::let_go()
{
    rte_eth_dev_info info{};
    const bool known = rte_eth_dev_info_get(d_port, &info) == 0;
    if (d_configured)
        rte_eth_dev_stop(d_port);
    if (d_probed) {
        rte_eth_dev_close(d_port);
        if (known && info.device)
            rte_dev_remove(info.device);
    }
    rte_mempool_free(d_pool);
    s_used.erase(d_name);
}

dpdk_device::~dpdk_device()
{
    std::lock_guard<std::mutex> guard(s_mutex);
    let_go();
}

void dpdk_device::start()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (d_started++ > 0)
        return;
    rte_eth_stats_reset(d_port);
    if (const int error = rte_eth_dev_start(d_port)) {
        d_started--;
        fail("it cannot be started", error);
    }
    if (d_groups) // a virtual device may have no filter
        rte_eth_allmulticast_enable(d_port);
}

void dpdk_device::stop()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (d_started > 0 && --d_started == 0)
        rte_eth_dev_stop(d_port);
}

std::vector<int> dpdk_device::near_cores() const
{
    return is_pci(d_name) ? cores_in("/sys/bus/pci/devices/" + d_name + "/local_cpulist")
                          : std::vector<int>();
}

std::string system_interface_of(const transport_parameters& p)
{
    if (if_nametoindex(p.interface.c_str()) != 0)
        return p.interface;
    uint16_t port = 0;
    rte_eth_dev_info info{};
    char name[IF_NAMESIZE];
    if (rte_eth_dev_get_port_by_name(p.interface.substr(0, p.interface.find(',')).c_str(),
                                     &port) == 0 &&
        rte_eth_dev_info_get(port, &info) == 0 && info.if_index != 0 &&
        if_indextoname(info.if_index, name))
        return name;
    return {};
}

} // namespace gr::aperture::network
