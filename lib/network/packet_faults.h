/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PACKET_FAULTS_H
#define INCLUDED_APERTURE_NETWORK_PACKET_FAULTS_H

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace gr::aperture::network {

/*!
 * Simulates a bad network: packets come out late, in another order, twice, corrupted, or
 * not at all. The same seed makes the same faults.
 */
class packet_faults
{
public:
    struct parameters {
        double loss = 0, duplicate = 0, corrupt = 0, reorder = 0; //!< probabilities
        int64_t delay = 0;  //!< delay of packets that are out of order, ns
        int64_t jitter = 0; //!< largest random delay of each packet, ns
        uint64_t seed = 0;

        bool any() const
        {
            return loss > 0 || duplicate > 0 || corrupt > 0 || reorder > 0 || jitter > 0;
        }
    };
    struct parcel {
        int64_t due; //!< time at which it is sent, ns
        int to;      //!< index of the address
        std::vector<uint8_t> bytes;
    };
    using taker = std::function<void(const parcel&)>;
    struct counts {
        uint64_t lost = 0, duplicated = 0, corrupted = 0, reordered = 0;
    };

    packet_faults(const parameters& p, taker take);

    //! Takes a packet to be sent at a time; times rise. Earlier ones come out.
    void put(int64_t time, int to, std::vector<uint8_t> bytes);
    //! Lets all packets that are left come out.
    void finish();
    const counts& counted() const { return d_counts; }

private:
    struct waiting {
        int64_t order;
        parcel what;
        bool operator<(const waiting& other) const // the earliest is on top of the queue
        {
            return what.due != other.what.due ? what.due > other.what.due
                                              : order > other.order;
        }
    };
    double random() { return std::uniform_real_distribution<double>()(d_random); }
    void add(int64_t due, int to, std::vector<uint8_t> bytes);

    const parameters d_p;
    const taker d_take;
    std::mt19937_64 d_random;
    std::priority_queue<waiting> d_waiting;
    int64_t d_order = 0;
    counts d_counts;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PACKET_FAULTS_H */
