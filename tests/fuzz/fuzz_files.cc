/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// For libFuzzer, or, with a number of files as its argument, with random bytes.

#include "file_script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes)
{
    gr::aperture::fuzz::file_script(data, bytes).play();
    return 0;
}

#ifdef APERTURE_RANDOM_FUZZ
int main(int argc, char** argv)
{
    using namespace gr::aperture::fuzz;
    play_random<file_script>(argc, argv, 1e4, 1024, totals.files);
    // most of the files are read, otherwise these were no tests of readers
    check(totals.refused < totals.files / 3 && totals.samples > 50 * totals.files &&
              totals.gaps > totals.files / 10 && totals.packets > totals.files &&
              totals.heaps > totals.files,
          "little was read");
    std::printf(
        "%llu files, %llu of them refused; %llu samples, %llu gaps, %llu captured "
        "packets, %llu heaps: no fault\n",
        (unsigned long long)totals.files,
        (unsigned long long)totals.refused,
        (unsigned long long)totals.samples,
        (unsigned long long)totals.gaps,
        (unsigned long long)totals.packets,
        (unsigned long long)totals.heaps);
}
#endif
