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

//! Ends the program, as libFuzzer expects, if a check fails.
inline void check(bool good, const char* what)
{
    if (!good) {
        std::fprintf(stderr, "fault: %s\n", what);
        std::abort();
    }
}

//! Bytes that decide the actions; zeros follow behind their end.
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
    //! Returns a number from 0 to below `end`, which is at most 2^24.
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

/*!
 * \brief Plays scripts of random bytes.
 *
 * argv: number of files or packets to play, instead of `wanted`, and the seed bytes:
 * bytes of a script played: count of the scripts
 *
 * \returns the number of scripts
 */
template <class script>
uint64_t
play_random(int argc, char** argv, double wanted, size_t bytes, const uint64_t& played)
{
    if (argc > 1)
        wanted = std::atof(argv[1]);
    random_bytes random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    uint64_t scripts = 0;
    for (; double(played) < wanted; scripts++) {
        const auto data = random.next(bytes);
        script(data.data(), data.size()).play();
    }
    return scripts;
}

} // namespace gr::aperture::fuzz

#endif /* INCLUDED_APERTURE_TESTS_FUZZ_FUZZING_H */
