/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/host_memory.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace gr::aperture {

namespace {

[[noreturn]] void refuse(size_t bytes)
{
    throw std::runtime_error("host memory: " + std::to_string(bytes) +
                             " bytes for an edge to a device: " + std::strerror(errno));
}

//! Reserves addresses, without memory.
char* reserve(size_t bytes)
{
    void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        refuse(bytes);
    return static_cast<char*>(p);
}

} // namespace

size_t host_granularity() { return sysconf(_SC_PAGESIZE); }

memory map_host_memory_twice(size_t bytes)
{
    const int file = memfd_create("aperture ring", MFD_CLOEXEC);
    if (file < 0)
        refuse(bytes);
    std::unique_ptr<const int, void (*)(const int*)> closer(
        &file, [](const int* f) { close(*f); });
    // ftruncate() alone would let a write to the ring end in SIGBUS where memory is short
    if (const int error = posix_fallocate(file, 0, bytes)) {
        errno = error;
        refuse(bytes);
    }
    memory result(reserve(2 * bytes), [bytes](char* p) { munmap(p, 2 * bytes); });
    for (int copy = 0; copy < 2; copy++)
        if (mmap(result.get() + copy * bytes,
                 bytes,
                 PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED,
                 file,
                 0) == MAP_FAILED)
            refuse(bytes);
    return result;
}

memory allocate_host_memory(size_t bytes)
{
    memory result(reserve(bytes), [bytes](char* p) { munmap(p, bytes); });
    if (mprotect(result.get(), bytes, PROT_READ | PROT_WRITE) != 0)
        refuse(bytes);
    return result;
}

} // namespace gr::aperture
