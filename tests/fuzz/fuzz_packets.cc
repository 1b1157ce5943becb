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
    const uint64_t scripts =
        play_random<packet_script>(argc, argv, 1e6, 4096, packets_played);
    std::printf("%llu packets, of which %llu in frames, in %llu scripts, %llu rows, %llu "
                "payloads "
                "in place: no fault\n",
                (unsigned long long)packets_played,
                (unsigned long long)packets_in_frames,
                (unsigned long long)scripts,
                (unsigned long long)rows_taken,
                (unsigned long long)payloads_checked);
}
#endif
