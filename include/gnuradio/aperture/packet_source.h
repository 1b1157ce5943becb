/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PACKET_SOURCE_H
#define INCLUDED_APERTURE_PACKET_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Receives samples, or channels, in UDP packets.
 * \ingroup aperture
 *
 * Packets come to `addresses`, of IPv4 or IPv6, with a thread for each; multicast groups
 * are joined. `transport` says whether they come to sockets, or past the system. Or they
 * are read from `files` as tcpdump and Wireshark write them. `layout` says what a packet
 * is: one that is built in, such as `plain` (a sequence number, then samples), `vdif`, or
 * `best2` (a channel of all inputs), or a file of YAML with the fields of the header.
 * Packets of several `streams`, addresses of `plain`, threads of `vdif` and channels of
 * `best2`, are numbered by one clock, and may begin at different times.
 *
 * Out: where a header names no channel an item is a sample of each input of the port;
 * input s * `inputs` + i is input i of stream s. Otherwise it is a frame
 * [channel][input][time] of `packets_per_frame` * `samples` spectra: of `channels` of
 * each of the `streams`, and of `inputs` of each of the `input_groups`.
 *
 * Samples that do not come within the `window` are zeros with tags `missing`; nothing
 * slips. In frames, where one channel lacks a packet, all channels of these spectra are
 * missing, unless there are `masks` on port 1, which flag the one channel. A packet far
 * from the others moves nothing: only when the last `confirm` packets of a sender all lie
 * at another place, and nobody else sends to the old one, does the stream go on there,
 * with zeros in between if it is ahead by up to `most_gap` seconds, or with a new
 * rx_time.
 *
 * Each second (`status_interval`) port `status` has the event `counts`: see counts().
 */
class APERTURE_API packet_source : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<packet_source> sptr;

    struct parameters {
        std::string layout = "plain";
        std::vector<std::string> addresses;
        std::vector<std::string> files;
        std::string coding = "s8";
        bool complex = true;
        int samples = 1024;
        int inputs = 1;
        int channels = 0;
        std::vector<int> streams;
        std::vector<int> input_groups;
        double rate = 1e6;
        double center_frequency = 0;
        double bandwidth = 0;
        std::pair<uint64_t, double> start_time{ 0, 0 };
        int inputs_per_port = 0;
        int packets_per_frame = 1;
        bool masks = false;
        int window = 32;
        int confirm = 16;
        double most_gap = 60;
        std::vector<std::string> senders;
        std::string transport = "socket";
        std::string interface;
        std::vector<int> queues;
        std::vector<std::string> dpdk_arguments;
        std::vector<int> cores;
        int64_t socket_buffer = 1 << 26;
        int64_t queue = 1 << 26;
        int64_t items = 0;
        double status_interval = 1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("layout",
                      &parameters::layout,
                      "layout of packets: plain, vdif or best2, or a file of YAML, as "
                      "my.yml, which says where their fields are"),
            parameter("addresses",
                      &parameters::addresses,
                      "address:port of each, in digits: 0.0.0.0:4015, 239.1.2.3:4015 or "
                      "[ff15::1]:4015; with `files`, only packets to these are read"),
            parameter(
                "files",
                &parameters::files,
                "captured packets (pcap, pcapng) that are read, one after the other, "
                "instead of receiving"),
            parameter("coding",
                      &parameters::coding,
                      "coding of a component: s8, s16, s16_be, f32 and so on, as "
                      "recording_source has them, or sc4: both of a sample in one byte")
                .one_of("offset1",
                        "offset2",
                        "offset4",
                        "offset8",
                        "u8",
                        "s8",
                        "u16",
                        "u16_be",
                        "s16",
                        "s16_be",
                        "u32",
                        "u32_be",
                        "s32",
                        "s32_be",
                        "f32",
                        "f32_be",
                        "sc4"),
            parameter("complex",
                      &parameters::complex,
                      "whether a sample is two components, re and im"),
            parameter(
                "samples",
                &parameters::samples,
                "samples, or spectra, of each input in a packet; 0: as the layout says")
                .range(0, 1 << 20)
                .called("Samples per Packet"),
            parameter("inputs",
                      &parameters::inputs,
                      "inputs of a packet: for vdif, its channels; 0: as the layout says")
                .range(0, 65536)
                .called("Inputs per Packet"),
            parameter("channels",
                      &parameters::channels,
                      "channels of a packet of a channelised band; 0: as the layout "
                      "says, or 1")
                .range(0, 65536)
                .called("Channels per Packet"),
            parameter("streams",
                      &parameters::streams,
                      "numbers that headers of the wanted packets have, in the order of "
                      "the output: of the (first) channel, or, without channels, of the "
                      "inputs, as threads of vdif; empty: 0 alone, or one for each "
                      "address of plain"),
            parameter(
                "input_groups",
                &parameters::input_groups,
                "numbers of the inputs, or boards, of packets that have channels, in "
                "the order of the output; empty: 0 alone"),
            parameter("rate",
                      &parameters::rate,
                      "samples a second of each input; for layouts of packets with "
                      "channels, as best2, spectra a second")
                .range(1e-3, 1e12)
                .in("Hz")
                .called("Sample Rate"),
            parameter(
                "center_frequency",
                &parameters::center_frequency,
                "sky frequency of the middle of the band, Hz; for frames, of channel n/2")
                .finite()
                .in("Hz"),
            parameter("bandwidth",
                      &parameters::bandwidth,
                      "bandwidth of all channels of a frame, Hz; 0: channels times rate")
                .range(0)
                .in("Hz"),
            parameter("start_time",
                      &parameters::start_time,
                      "time of packet number 0: seconds since 1970 and their "
                      "fraction; (0, 0): by the time when packets come, which is "
                      "approximate (of vdif, headers say it)"),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; 0: all in one")
                .range(0, 65536)
                .called("Inputs per Port (0 = all)"),
            parameter("packets_per_frame",
                      &parameters::packets_per_frame,
                      "packets of each channel, one after the other in a frame")
                .range(1, 1 << 20),
            parameter("masks",
                      &parameters::masks,
                      "whether port 1 has masks of the packets that frames lack, with "
                      "`samples` spectra a slice"),
            parameter("window",
                      &parameters::window,
                      "packets of a stream that a late one may be behind the newest")
                .range(2, 65536)
                .in("packets"),
            parameter("confirm",
                      &parameters::confirm,
                      "packets of a sender in a row that confirm a new place in time")
                .range(1, 64)
                .called("Packets to Believe"),
            parameter("most_gap",
                      &parameters::most_gap,
                      "longest gap that is filled with zeros, seconds")
                .range(0, 1e6)
                .in("s")
                .called("Longest Gap Filled (s)"),
            parameter(
                "senders",
                &parameters::senders,
                "senders that are allowed: addresses, networks such as 10.1.0.0/16, or "
                "addresses and ports; empty: all")
                .called("Allowed Senders"),
            parameter(
                "transport",
                &parameters::transport,
                "way in which packets come: sockets of the system; xdp, past most of the "
                "system, and dpdk, without it, need rights; auto: xdp, or sockets where "
                "it cannot be had")
                .one_of("socket", "xdp", "dpdk", "auto"),
            parameter(
                "interface",
                &parameters::interface,
                "network interface of multicast and of xdp, as eth0 or its address, "
                "or a device of dpdk, as 0000:81:00.0 or eth0; empty: the system's "
                "choice, or the one that has the addresses"),
            parameter(
                "queues",
                &parameters::queues,
                "queues of the card that xdp and dpdk read, with a thread for each; "
                "empty: all of them"),
            parameter("dpdk_arguments",
                      &parameters::dpdk_arguments,
                      "arguments of DPDK's EAL, instead of those for the interface")
                .called("Arguments of DPDK"),
            parameter("cores",
                      &parameters::cores,
                      "CPU cores that the threads run on, one for each address, or each "
                      "queue of xdp and dpdk; empty: any, near the card"),
            parameter("socket_buffer",
                      &parameters::socket_buffer,
                      "bytes that the system is asked for, for each address, or for all "
                      "queues of xdp and dpdk")
                .range(4096, 1 << 30)
                .in("bytes"),
            parameter("queue",
                      &parameters::queue,
                      "bytes that may wait behind the window for the flowgraph")
                .range(0, 1099511627776.0)
                .in("bytes"),
            parameter("items",
                      &parameters::items,
                      "items after which the stream ends; 0: never")
                .range(0, 4e18)
                .called("Items (0 = no end)"),
            parameter("status_interval",
                      &parameters::status_interval,
                      "seconds from one `counts` on port `status` to the next; 0: none")
                .range(0, 1e6)
                .in("s")
                .called("Status every (s)"));
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     * \throws std::runtime_error if an address cannot be bound, a transport not be had,
     * or a file not be read
     */
    static sptr make(const parameters& p);

    /*!
     * Returns the packets since the start, by their fate: `received` is the sum of
     * `used`, `repeated` (were there already), `late` (behind the window), `stray` (far
     * from it), `overrun` (the flowgraph was too slow), `wrong` (a length or header that
     * cannot be), `refused` (of senders that are not allowed) and `unwanted` (of other
     * streams). Beyond these, `dropped` never came to it, as a buffer was full; `lost` is
     * how many the output lacks, for whatever reason; `restarts` counts new starts of the
     * stream, and `senders` the senders (the newest 1024 at most).
     */
    virtual std::map<std::string, uint64_t> counts() const = 0;
    //! Returns how many samples or spectra each input lacks.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns, for each input, the samples of sc8 frames in which -128 became -127.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns the type of a sample on the output: fc32, sc16, sc8, sc4, f32, s16 or s8.
    virtual std::string type() const = 0;
    //! Returns how many bytes the system gave to the socket buffer of each address.
    virtual std::vector<int> socket_buffers() const = 0;
    //! Returns how packets come: socket, xdp or dpdk; empty where they are of files.
    virtual std::string transport() const = 0;
    //! Says why it ended before its time; empty if it did not.
    virtual std::string error() const = 0;
    //! Ends the stream.
    virtual void finish() = 0;
};

/*!
 * Returns the ways in which packets may come, and why each is not there. An empty reason
 * means that it was built, and that its libraries are there; rights and cards are only
 * tried by a packet_source.
 */
APERTURE_API std::map<std::string, std::string> packet_transports();

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PACKET_SOURCE_H */
