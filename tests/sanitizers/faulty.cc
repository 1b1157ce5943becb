/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * A use of freed memory and a race: what a sanitizer must find.
 */

#include <cstdio>
#include <thread>

int main()
{
    int count = 0;
    std::thread other([&] {
        for (int i = 0; i < 100000; i++)
            count++;
    });
    for (int i = 0; i < 100000; i++)
        count++;
    other.join();
    int* volatile freed = new int(count);
    delete freed;
    std::printf("%d\n", *freed);
}
