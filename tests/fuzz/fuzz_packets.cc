/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// For libFuzzer, or, with a number of packets as its argument, with random bytes.

#include "network/pcap_file.h"
#include "packet_script.h"
#include <sys/mman.h>
#include <unistd.h>
#include <stdexcept>
#include <string>

namespace {

//! Reads bytes as a file of captured packets. The file is one in memory.
uint64_t read_capture(const uint8_t* data, size_t bytes)
{
    static const int file = memfd_create("capture", 0);
    static const std::string name = "/proc/self/fd/" + std::to_string(file);
    if (ftruncate(file, 0) != 0 || pwrite(file, data, bytes, 0) != ssize_t(bytes))
        return 0;
    uint64_t found = 0, sum = 0;
    try {
        gr::aperture::network::pcap_reader reader(name);
        gr::aperture::network::captured c;
        while (reader.next(c)) {
            found++;
            for (size_t i = 0; i < c.bytes; i++)
                sum += c.data[i];
        }
    } catch (const std::runtime_error&) {
        // is no such file
    }
    static volatile uint64_t used;
    used = sum;
    (void)used;
    return found;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes)
{
    if (bytes > 0 && data[0] % 8 == 7)
        read_capture(data + 1, bytes - 1);
    else
        gr::aperture::fuzz::packet_script(data, bytes).play();
    return 0;
}

#ifdef APERTURE_RANDOM_FUZZ
int main(int argc, char** argv)
{
    using namespace gr::aperture::fuzz;
    const double wanted = argc > 1 ? std::atof(argv[1]) : 1e6;
    random_bytes random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    uint64_t scripts = 0, captured = 0;
    // a capture to be spoilt: its header, and packets of Ethernet, IPv4 and UDP
    std::vector<uint8_t> capture{ 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                                  0,    0,    0,    0,    0, 0, 4, 0, 1, 0, 0, 0 };
    for (int i = 0; i < 20; i++) {
        const std::vector<uint8_t> record{ 1,  2, 3, 4, 5,  6, 7, 0,
                                           60, 0, 0, 0, 60, 0, 0, 0 };
        capture.insert(capture.end(), record.begin(), record.end());
        std::vector<uint8_t> frame(60, 7);
        frame[12] = 8, frame[13] = 0, frame[14] = 0x45, frame[20] = 0x40, frame[21] = 0;
        frame[23] = 17, frame[38] = 0, frame[39] = 26;
        capture.insert(capture.end(), frame.begin(), frame.end());
    }
    while (double(packets_played) < wanted) {
        const auto script = random.next(4096);
        packet_script(script.data(), script.size()).play();
        if (++scripts % 16 == 0) {
            auto bad = capture;
            const auto places = random.next(32);
            for (size_t i = 0; i + 3 < places.size(); i += 4)
                bad[size_t(places[i] << 8 | places[i + 1]) % bad.size()] = places[i + 2];
            captured += read_capture(bad.data(), bad.size());
        }
    }
    std::printf("%llu packets in %llu scripts, %llu rows, %llu payloads in place; %llu "
                "captured packets: no fault\n",
                (unsigned long long)packets_played,
                (unsigned long long)scripts,
                (unsigned long long)rows_taken,
                (unsigned long long)payloads_checked,
                (unsigned long long)captured);
}
#endif
