/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_RECORDINGS_H
#define INCLUDED_APERTURE_TESTS_RECORDINGS_H

#include "formats/recordings/piece_reader.h"
#include <cppunit/extensions/HelperMacros.h>
#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

// The tests of readers of recordings share this.
namespace recordings {

// ThreadSanitizer watches how threads meet, for which little has to be read: it is slow.
#ifdef __SANITIZE_THREAD__
inline constexpr int fewer = 10;
#else
inline constexpr int fewer = 1;
#endif

using bytes = std::vector<char>;

inline bytes noise(size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    bytes all(count);
    for (char& b : all)
        b = char(random());
    return all;
}

//! A file in memory.
class memory_file
{
public:
    explicit memory_file(const bytes& content)
        : d_file(memfd_create("recording", MFD_CLOEXEC))
    {
        CPPUNIT_ASSERT(pwrite(d_file, content.data(), content.size(), 0) ==
                       ssize_t(content.size()));
    }
    ~memory_file() { close(d_file); }
    memory_file(const memory_file&) = delete;
    std::string name() const { return "/proc/self/fd/" + std::to_string(d_file); }
    void shorten(size_t size) { CPPUNIT_ASSERT(ftruncate(d_file, off_t(size)) == 0); }

private:
    const int d_file;
};

//! All that a reader says of a recording that is read in calls of odd sizes.
struct reading {
    std::vector<bytes> ports;
    std::vector<std::array<int64_t, 3>> gaps, not_numbers; //!< (input, first, count)
    std::vector<uint64_t> clamped;
    std::string error;

    bool operator==(const reading& other) const
    {
        return ports == other.ports && gaps == other.gaps &&
               not_numbers == other.not_numbers && clamped == other.clamped &&
               error == other.error;
    }
};

//! Reads in calls of so many samples, from ports whose items have so many bytes.
inline reading read_all(gr::aperture::formats::piece_reader& reader,
                        int inputs,
                        int ports,
                        size_t item,
                        int64_t samples,
                        int64_t call)
{
    reading all;
    all.ports.resize(size_t(ports));
    all.clamped.resize(size_t(inputs));
    reader.restart(0);
    for (int64_t done = 0;;) {
        std::vector<bytes> part(all.ports.size(), bytes(size_t(call) * item, 0x5a));
        std::vector<char*> places;
        for (auto& p : part)
            places.push_back(p.data());
        const auto r = reader.read(places, call, samples);
        for (size_t port = 0; port < part.size(); port++)
            all.ports[port].insert(all.ports[port].end(),
                                   part[port].begin(),
                                   part[port].begin() +
                                       std::ptrdiff_t(size_t(r.samples) * item));
        for (const auto& g : r.gaps)
            all.gaps.push_back({ g.input, done + g.first, g.count });
        for (const auto& g : r.not_numbers)
            all.not_numbers.push_back({ g.input, done + g.first, g.count });
        for (const auto& [input, count] : r.clamped)
            all.clamped[size_t(input)] += count;
        done += r.samples;
        if (r.samples == 0)
            break;
    }
    all.error = reader.error();
    return all;
}

inline constexpr int threads_tried[] = { 1, 2, 7 };

} // namespace recordings

#endif /* INCLUDED_APERTURE_TESTS_RECORDINGS_H */
