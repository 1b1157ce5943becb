/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PACKET_SINK_H
#define INCLUDED_APERTURE_PACKET_SINK_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Sends samples, or channels, in UDP packets, or writes them to a file.
 * \ingroup aperture
 *
 * packet_source receives them: layouts, items and the parameters that describe them are
 * the same. Packets go to `addresses`, over which the streams are spread in their order,
 * or, with a `file`, are written as captured ones (pcap).
 *
 * They are sent at `pace` times their `rate`; 0: as fast as they come. A packet whose
 * samples are all missing is not sent, nor are samples at the end that do not fill a
 * packet.
 *
 * Packets may be sent as a bad network would pass them on: some are lost, come twice
 * (`duplicate`), have a bit changed (`corrupt`), are held back for as long as
 * `distance` packets of a stream take (`reorder`), and all are late by a random part of
 * `jitter`. The same `seed` makes the same faults.
 */
class APERTURE_API packet_sink : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<packet_sink> sptr;

    struct parameters {
        std::string layout = "plain";
        std::vector<std::string> addresses{ "127.0.0.1:4015" };
        std::string file;
        std::string coding = "s8";
        bool complex = true;
        int samples = 1024;
        int inputs = 1;
        int channels = 0;
        std::vector<int> streams;
        std::vector<int> input_groups;
        double rate = 1e6;
        int inputs_per_port = 0;
        int packets_per_frame = 1;
        int64_t first_number = -1;
        double pace = 1;
        double loss = 0;
        double duplicate = 0;
        double corrupt = 0;
        double reorder = 0;
        int distance = 8;
        double jitter = 0;
        int64_t seed = 0;
        std::string interface;
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
                      "address:port of each, in digits; with a file, the ones written "
                      "there"),
            parameter("file",
                      &parameters::file,
                      "file that packets are written to instead (pcap); empty: none"),
            parameter("coding",
                      &parameters::coding,
                      "coding of a component: s8, s16, s16_be, u8, u16, u16_be, f32, "
                      "f32_be, offset1, offset2, offset4, or sc4: both in one byte")
                .one_of("s8",
                        "sc4",
                        "s16",
                        "s16_be",
                        "f32",
                        "f32_be",
                        "u8",
                        "offset1",
                        "offset2",
                        "offset4",
                        "u16",
                        "u16_be"),
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
                      "the input: of the (first) channel, or, without channels, of the "
                      "inputs, as threads of vdif; empty: 0 alone, or one for each "
                      "address of plain"),
            parameter(
                "input_groups",
                &parameters::input_groups,
                "numbers of the inputs, or boards, of packets that have channels, in "
                "the order of the input; empty: 0 alone"),
            parameter("rate",
                      &parameters::rate,
                      "samples a second of each input; for layouts of packets with "
                      "channels, as best2, spectra a second")
                .range(1e-3, 1e12)
                .in("Hz")
                .called("Sample Rate"),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; 0: all in one")
                .range(0, 65536)
                .called("Inputs per Port (0 = all)"),
            parameter("packets_per_frame",
                      &parameters::packets_per_frame,
                      "packets of each channel, one after the other in a frame")
                .range(1, 1 << 20),
            parameter("first_number",
                      &parameters::first_number,
                      "number of the first packet; -1: for vdif by the first item's "
                      "rx_time (the "
                      "host's where there is none), else 0")
                .range(-1, 4e18),
            parameter("pace",
                      &parameters::pace,
                      "times the rate at which packets are sent; 0: as fast as they come")
                .range(0, 1e6),
            parameter("loss", &parameters::loss, "probability that a packet is lost")
                .range(0, 1)
                .called("Lost (probability)"),
            parameter("duplicate",
                      &parameters::duplicate,
                      "probability that a packet is sent twice")
                .range(0, 1)
                .called("Sent Twice (probability)"),
            parameter("corrupt",
                      &parameters::corrupt,
                      "probability that a bit of a packet is changed")
                .range(0, 1)
                .called("Corrupted (probability)"),
            parameter(
                "reorder", &parameters::reorder, "probability that a packet is held back")
                .range(0, 1)
                .called("Held Back (probability)"),
            parameter("distance",
                      &parameters::distance,
                      "packets of a stream that pass one that is held back")
                .range(1, 1 << 20)
                .called("Held Back for (packets)"),
            parameter("jitter",
                      &parameters::jitter,
                      "seconds, by a random part of which each packet is late")
                .range(0, 10)
                .in("s"),
            parameter("seed", &parameters::seed, "of the faults"),
            parameter(
                "interface",
                &parameters::interface,
                "network interface that multicast uses; empty: the system's choice"));
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     * \throws std::runtime_error if the file or the socket cannot be opened
     */
    static sptr make(const parameters& p);

    //! Returns the packets since the start: `sent`, `bytes` of them, `lost`,
    //! `duplicated`, `corrupted` and `reordered` on purpose, and `missing`, which were
    //! not sent.
    virtual std::map<std::string, uint64_t> counts() const = 0;
    //! Says why it ended before its time; empty if it did not.
    virtual std::string error() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PACKET_SINK_H */
