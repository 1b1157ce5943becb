/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/system_interface.h"
#include "network/xdp/xdp_queue.h"
#include <poll.h>
#include <sys/mman.h>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace gr::aperture::network {

namespace {

// Linux 6.6; headers of older ones do not have them
constexpr uint16_t use_pieces = 1 << 4;      // XDP_USE_SG
constexpr uint32_t piece_continues = 1 << 0; // XDP_PKT_CONTD

constexpr size_t page = 4096, huge_page = 1 << 21;
constexpr size_t headroom = 256; // the kernel's part of each frame
// Ethernet, two tags of VLANs, IPv6, UDP
constexpr size_t headers = 14 + 8 + 40 + 8;
constexpr size_t fewest_frames = 256, most_frames = 1 << 16;
// sleep in which packets gather, so that a few do not cost a call of the system each
constexpr std::chrono::microseconds gathering{ 200 };
// The kernel lets go of a queue a moment after its socket was closed.
constexpr int patience_ms = 2000;

size_t power_of_two_from(size_t least)
{
    size_t power = 2048;
    while (power < least)
        power *= 2;
    return power;
}

} // namespace

xdp_interface::xdp_interface(const std::string& the_name,
                             const std::vector<boost::asio::ip::udp::endpoint>& all,
                             int all_queues)
    : name(the_name), addresses(all), table(all), queues(all_queues)
{
}

std::shared_ptr<redirection> xdp_interface::redirect()
{
    auto found = d_redirection.lock();
    if (!found) {
        found = std::make_shared<redirection>(name, addresses, queues);
        d_redirection = found;
    }
    return found;
}

void xdp_queue::mapped::operator()(uint8_t* memory) const { ::munmap(memory, bytes); }

xdp_queue::xdp_queue(std::shared_ptr<xdp_interface> interface,
                     int queue,
                     int64_t bytes,
                     size_t most_bytes)
    : d_interface(std::move(interface)),
      d_queue(queue),
      d_bytes(bytes),
      d_frame_needed(power_of_two_from(headroom + headers + most_bytes))
{
}

std::vector<int> xdp_queue::near_cores() const
{
    return cores_in("/sys/class/net/" + d_interface->name + "/device/local_cpulist");
}

int xdp_queue::try_open(const way& w)
{
    d_socket.reset();
    d_umem.reset();
    d_frame = w.pieces ? page : d_frame_needed;
    size_t frames = fewest_frames;
    while (frames < most_frames && 2 * frames * d_frame <= size_t(d_bytes))
        frames *= 2;
    const size_t bytes = (frames * d_frame + huge_page - 1) / huge_page * huge_page;
    if (!d_memory || d_memory.get_deleter().bytes != bytes) {
        d_memory.reset();
        // frames that are larger than a page have to lie in huge ones
        for (const int huge : { MAP_HUGETLB, 0 }) {
            void* const memory = ::mmap(nullptr,
                                        bytes,
                                        PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | huge,
                                        -1,
                                        0);
            if (memory == MAP_FAILED)
                continue;
            d_memory = { static_cast<uint8_t*>(memory), mapped(bytes) };
            d_huge = huge != 0;
            break;
        }
        if (!d_memory)
            return ENOMEM;
    }
    if (d_frame > page && !d_huge)
        return EINVAL;
    xsk_umem_config memory{};
    memory.fill_size = uint32_t(frames);
    memory.comp_size = 64; // nothing is sent, but the kernel wants a ring
    memory.frame_size = uint32_t(d_frame);
    xsk_umem* umem = nullptr;
    if (const int error = xsk_umem__create(
            &umem, d_memory.get(), frames * d_frame, &d_fill, &d_completed, &memory))
        return -error;
    d_umem.reset(umem);
    xsk_socket_config config{};
    config.rx_size = uint32_t(frames);
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags =
        uint16_t(XDP_USE_NEED_WAKEUP | (w.zero_copy ? XDP_ZEROCOPY : XDP_COPY) |
                 (w.pieces ? use_pieces : 0));
    xsk_socket* socket = nullptr;
    if (const int error = xsk_socket__create(&socket,
                                             d_interface->name.c_str(),
                                             uint32_t(d_queue),
                                             umem,
                                             &d_received,
                                             nullptr,
                                             &config))
        return -error;
    d_socket.reset(socket);
    uint32_t at = 0;
    xsk_ring_prod__reserve(&d_fill, uint32_t(frames), &at);
    for (size_t i = 0; i < frames; i++)
        *xsk_ring_prod__fill_addr(&d_fill, at++) = i * d_frame;
    xsk_ring_prod__submit(&d_fill, uint32_t(frames));
    d_buffer_bytes = int64_t(frames * d_frame);
    return 0;
}

void xdp_queue::open()
{
    d_redirection = d_interface->redirect();
    d_dropped = 0;
    d_calls = 0;
    d_came = false;
    const bool small = d_frame_needed <= page;
    int error = 0, first_error = 0;
    for (const bool zero_copy : { true, false })
        for (const bool pieces : { false, true }) {
            // frames of one piece cost less, so pieces are for long datagrams only
            if ((pieces && small) || (zero_copy && !d_redirection->in_driver()))
                continue;
            error = try_open({ zero_copy, pieces });
            for (int ms = 0; error == EBUSY && ms < patience_ms; ms += 5) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                error = try_open({ zero_copy, pieces });
            }
            if (error == 0) {
                d_redirection->add(d_queue, xsk_socket__fd(d_socket.get()));
                return;
            }
            if (first_error == 0 || error == EPERM)
                first_error = error;
        }
    close();
    const std::string what = "queue " + std::to_string(d_queue) + " cannot be opened";
    if (!small && error == EINVAL)
        throw std::runtime_error("transport xdp: " + d_interface->name + ": " + what +
                                 ": packets of this length need huge pages "
                                 "(vm.nr_hugepages) or Linux 6.6");
    throw xdp_trouble(d_interface->name, what, error);
}

void xdp_queue::close()
{
    if (d_socket)
        count_dropped();
    d_redirection.reset();
    d_socket.reset();
    d_umem.reset();
    d_memory.reset();
    d_taken.clear();
}

size_t xdp_queue::receive(datagram* found, size_t most)
{
    uint32_t at = 0;
    const uint32_t there = xsk_ring_cons__peek(&d_received, uint32_t(most), &at);
    if (there == 0)
        return 0;
    d_taken.clear();
    d_pieces.clear();
    d_pieces.reserve(there); // none of them may move
    const int64_t now = time_now();
    size_t count = 0;
    uint32_t used = 0;
    byte_view frame;
    bool begun = false;
    for (uint32_t i = 0; i < there; i++) {
        const xdp_desc& d = *xsk_ring_cons__rx_desc(&d_received, at + i);
        const uint8_t* const data = d_memory.get() + d.addr;
        if (!begun) {
            frame = byte_view::of(data, d.len);
            frame.rest = d_pieces.data() + d_pieces.size();
        } else {
            d_pieces.push_back({ data, d.len });
            frame.bytes += d.len;
        }
        d_taken.push_back(d.addr);
        begun = d.options & piece_continues;
        if (begun)
            continue;
        used = i + 1;
        if (const auto made = datagram_of(frame, d_interface->table, now))
            found[count++] = *made;
    }
    // a frame whose last pieces are still to come is read the next time
    if (used < there) {
        xsk_ring_cons__cancel(&d_received, there - used);
        d_taken.resize(used);
    }
    d_came = true;
    if (++d_calls % 256 == 0)
        count_dropped();
    return count;
}

void xdp_queue::release()
{
    if (d_taken.empty())
        return;
    const auto count = uint32_t(d_taken.size());
    xsk_ring_cons__release(&d_received, count);
    uint32_t at = 0;
    // there is room, as the ring of frames to fill is as long as there are frames
    xsk_ring_prod__reserve(&d_fill, count, &at);
    for (const uint64_t frame : d_taken)
        *xsk_ring_prod__fill_addr(&d_fill, at++) = frame / d_frame * d_frame;
    xsk_ring_prod__submit(&d_fill, count);
    d_taken.clear();
    if (xsk_ring_prod__needs_wakeup(&d_fill))
        ::recvfrom(
            xsk_socket__fd(d_socket.get()), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

void xdp_queue::wait(int wake, int most_ms)
{
    if (d_came) {
        d_came = false;
        std::this_thread::sleep_for(gathering);
        return;
    }
    pollfd wanted[2] = { { xsk_socket__fd(d_socket.get()), POLLIN, 0 },
                         { wake, POLLIN, 0 } };
    if (::poll(wanted, 2, most_ms) < 0 && errno != EINTR)
        throw xdp_trouble(d_interface->name, "cannot be waited for", errno);
    if (wanted[0].revents & (POLLERR | POLLHUP | POLLNVAL))
        throw std::runtime_error("transport xdp: " + d_interface->name +
                                 ": the interface is gone");
    count_dropped();
}

void xdp_queue::count_dropped()
{
    xdp_statistics s{};
    socklen_t size = sizeof s;
    if (getsockopt(xsk_socket__fd(d_socket.get()), SOL_XDP, XDP_STATISTICS, &s, &size) ==
        0)
        d_dropped = s.rx_dropped + s.rx_ring_full;
}

} // namespace gr::aperture::network
