/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// For libFuzzer, or, with a number of packets as its argument, with random bytes.

#include "packet_script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes)
{
    gr::aperture::fuzz::packet_script(data, bytes).play();
    return 0;
}

#ifdef APERTURE_RANDOM_FUZZ
int main(int argc, char** argv)
{
    using namespace gr::aperture::fuzz;
    const double wanted = argc > 1 ? std::atof(argv[1]) : 1e6;
    random_bytes random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    uint64_t scripts = 0;
    for (; double(packets_played) < wanted; scripts++) {
        const auto script = random.next(4096);
        packet_script(script.data(), script.size()).play();
    }
    std::printf(
        "%llu packets in %llu scripts, %llu rows, %llu payloads in place: no fault\n",
        (unsigned long long)packets_played,
        (unsigned long long)scripts,
        (unsigned long long)rows_taken,
        (unsigned long long)payloads_checked);
}
#endif
