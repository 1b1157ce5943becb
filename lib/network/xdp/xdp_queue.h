/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_XDP_XDP_QUEUE_H
#define INCLUDED_APERTURE_NETWORK_XDP_XDP_QUEUE_H

#include "network/transport_library.h"
#include "network/udp_frame.h"
#include "network/xdp/redirection.h"
#include <xdp/xsk.h>

namespace gr::aperture::network {

//! An interface whose queues are read by AF_XDP sockets.
class xdp_interface
{
public:
    xdp_interface(const std::string& name,
                  const std::vector<boost::asio::ip::udp::endpoint>& addresses,
                  int queues);

    //! Returns the program of the interface, which is there while somebody has it.
    std::shared_ptr<redirection> redirect();

    const std::string name;
    const std::vector<boost::asio::ip::udp::endpoint> addresses;
    const address_table table;
    const int queues; //!< queues of the interface

private:
    std::weak_ptr<redirection> d_redirection;
};

/*!
 * A queue of a card that an AF_XDP socket reads. The kernel puts frames into memory that
 * it shares with this process (UMEM): the card itself does, or, where its driver cannot,
 * the kernel copies.
 */
class xdp_queue : public receive_queue
{
public:
    //! \param bytes bytes of the memory for frames
    xdp_queue(std::shared_ptr<xdp_interface> interface,
              int queue,
              int64_t bytes,
              size_t most_bytes);
    ~xdp_queue() override { close(); }

    void open() override;
    void close() override;
    size_t receive(datagram* found, size_t most) override;
    void release() override;
    void wait(int wake, int most_ms) override;
    std::vector<int> near_cores() const override;

private:
    struct umem_deleter {
        void operator()(xsk_umem* u) const { xsk_umem__delete(u); }
    };
    struct socket_deleter {
        void operator()(xsk_socket* s) const { xsk_socket__delete(s); }
    };
    struct mapped {
        size_t bytes;
        mapped() : bytes(0) {}
        explicit mapped(size_t all) : bytes(all) {}
        void operator()(uint8_t* memory) const;
    };
    // Sizes of frames, and whether a datagram may have several.
    struct way {
        bool zero_copy, pieces;
    };

    int try_open(const way& w);
    void count_dropped();

    const std::shared_ptr<xdp_interface> d_interface;
    const int d_queue;
    const int64_t d_bytes;
    const size_t d_frame_needed; // bytes of a frame that a whole datagram has room in
    std::shared_ptr<redirection> d_redirection;
    std::unique_ptr<uint8_t, mapped> d_memory;
    bool d_huge = false;
    xsk_ring_prod d_fill{};
    xsk_ring_cons d_completed{}, d_received{};
    std::unique_ptr<xsk_umem, umem_deleter> d_umem;
    std::unique_ptr<xsk_socket, socket_deleter> d_socket;
    size_t d_frame = 0;
    std::vector<uint64_t> d_taken; // frames that release() gives back
    std::vector<byte_view::piece> d_pieces;
    bool d_came = false; // datagrams since the last wait()
    unsigned d_calls = 0;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_XDP_XDP_QUEUE_H */
