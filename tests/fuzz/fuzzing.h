/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_FUZZ_FUZZING_H
#define INCLUDED_APERTURE_TESTS_FUZZ_FUZZING_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gr::aperture::fuzz {

//! Ends the program, as libFuzzer wants it, where something is not good.
inline void check(bool good, const char* what)
{
    if (!good) {
        std::fprintf(stderr, "fault: %s\n", what);
        std::abort();
    }
}

//! Bytes that decide what is done; zeros follow behind their end.
class decisions
{
public:
    decisions(const uint8_t* data, size_t bytes) : d_data(data), d_end(data + bytes) {}

    bool left() const { return d_data < d_end; }
    uint8_t byte() { return left() ? *d_data++ : 0; }
    uint64_t number(int bytes)
    {
        uint64_t n = 0;
        for (int i = 0; i < bytes; i++)
            n = n << 8 | byte();
        return n;
    }
    //! From 0 to below `end`, which is at most 2^24.
    size_t below(size_t end) { return size_t(number(3)) % end; }

private:
    const uint8_t* d_data;
    const uint8_t* const d_end;
};

//! Random bytes that are the same each time.
class random_bytes
{
public:
    explicit random_bytes(uint64_t seed) : d_state(seed * 0x9e3779b97f4a7c15u + 1) {}
    std::vector<uint8_t> next(size_t count)
    {
        std::vector<uint8_t> bytes(count);
        for (auto& b : bytes) {
            d_state ^= d_state << 13;
            d_state ^= d_state >> 7;
            d_state ^= d_state << 17;
            b = uint8_t(d_state >> 32);
        }
        return bytes;
    }

private:
    uint64_t d_state;
};

} // namespace gr::aperture::fuzz

#endif /* INCLUDED_APERTURE_TESTS_FUZZ_FUZZING_H */
