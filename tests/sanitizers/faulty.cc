/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * What a sanitizer must find: the argument says whether it is a race, a use of freed
 * memory or an overflow.
 */

#include <cstdio>
#include <limits>
#include <string>
#include <thread>

namespace {

int race()
{
    int count = 0;
    std::thread other([&] {
        for (int i = 0; i < 100000; i++)
            count++;
    });
    for (int i = 0; i < 100000; i++)
        count++;
    other.join();
    return count;
}

int freed()
{
    int* volatile memory = new int(1);
    delete memory;
    return *memory;
}

int overflow(int one) { return std::numeric_limits<int>::max() + one; }

} // namespace

int main(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    std::printf("%d\n",
                what == "race"    ? race()
                : what == "freed" ? freed()
                                  : overflow(argc));
}
