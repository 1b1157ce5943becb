/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "runtime/host_memory.h"
#include "stream/free_memory.h"
#include "system/linux.h"
#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // from Linux 5.14 on
#endif

namespace gr::aperture {

namespace {

// memory that the machine needs for everything else
constexpr size_t reserve = 64 << 20;

//! Returns the number in a file, or a number that limits nothing.
size_t number_in(const std::string& file)
{
    std::ifstream stream(file);
    size_t number = 0;
    return stream >> number ? number : std::numeric_limits<size_t>::max();
}

size_t free_in_machine()
{
    constexpr auto all = std::numeric_limits<size_t>::max();
    const uint64_t kibibytes = system::memory_figure("MemAvailable:", all >> 10);
    return kibibytes == all >> 10 ? all : kibibytes << 10;
}

//! Returns the bytes that the system gives back when needed: pages of unused files.
size_t reclaimable_in(const std::string& file)
{
    std::ifstream stream(file);
    std::string word;
    size_t bytes = 0;
    while (stream >> word >> bytes)
        if (word == "inactive_file" || word == "total_inactive_file")
            return bytes;
    return 0;
}

//! Returns the free bytes of the control group, of version 2 or 1, and its parents.
size_t free_in_groups()
{
    size_t least = std::numeric_limits<size_t>::max();
    std::ifstream stream("/proc/self/cgroup");
    for (std::string line; std::getline(stream, line);) {
        const bool second = line.rfind("0::", 0) == 0;
        if (!second && line.find(":memory:") == std::string::npos)
            continue;
        const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const char* most = second ? "/memory.max" : "/memory.limit_in_bytes";
        const char* used = second ? "/memory.current" : "/memory.usage_in_bytes";
        std::string path = line.substr(line.rfind(':') + 1);
        for (;; path.erase(path.rfind('/'))) {
            const size_t limit = number_in(root + path + most);
            size_t now = number_in(root + path + used);
            now -= std::min(now, reclaimable_in(root + path + "/memory.stat"));
            if (limit < std::numeric_limits<size_t>::max())
                least = std::min(least, limit - std::min(limit, now));
            if (path.find('/') == std::string::npos)
                break;
        }
    }
    return least;
}

} // namespace

size_t free_host_memory()
{
    const size_t found = std::min(free_in_machine(), free_in_groups());
    return found - std::min(found, reserve);
}

void require_host_memory(const device& d, const std::string& what, double bytes)
{
    if (d.type() == device::kind::cuda)
        return;
    if (const auto there = double(free_host_memory()); bytes > there)
        throw std::runtime_error(what + " need " + text_of(std::ceil(bytes / 1e6)) +
                                 " MB of memory, which could not be had: " +
                                 text_of(std::floor(there / 1e6)) + " MB are free");
}

memory allocate_used_host_memory(size_t bytes)
{
    if (const size_t there = free_host_memory(); bytes > there)
        throw std::runtime_error(std::to_string(bytes) +
                                 " bytes of host memory were asked for, " +
                                 std::to_string(there) + " are free");
    memory result = allocate_host_memory(bytes);
    // fewer and larger pages, if there are any
    madvise(result.get(), bytes, MADV_HUGEPAGE);
    if (madvise(result.get(), bytes, MADV_POPULATE_WRITE) != 0)
        for (size_t i = 0; i < bytes; i += host_granularity())
            result.get()[i] = 0;
    return result;
}

} // namespace gr::aperture
