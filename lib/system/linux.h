/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What only Linux has, and blocks, kernels and receivers of packets need: cores, threads,
 * what the kernel says of the machine. docs/design/other-systems.md has the rest, which
 * stands in one file each, and what another system would do.
 */

#ifndef INCLUDED_APERTURE_SYSTEM_LINUX_H
#define INCLUDED_APERTURE_SYSTEM_LINUX_H

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gr::aperture::system {

//! Returns the cores that the process may use. Elsewhere: those that there are.
inline std::vector<int> usable_cores()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int core = 0; core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, &allowed))
                cores.push_back(core);
    } else {
        for (int core = 0; core < int(std::thread::hardware_concurrency()); core++)
            cores.push_back(core);
    }
    return cores;
}

//! Runs the calling thread on these cores. macOS only takes hints
//! (THREAD_AFFINITY_POLICY): nothing would be done. \throws std::runtime_error naming the
//! cores
inline void pin_thread(const std::vector<int>& cores)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    std::string names;
    for (const int core : cores) {
        CPU_SET(core, &set);
        names += (names.empty() ? "" : ", ") + std::to_string(core);
    }
    const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (error)
        throw std::runtime_error("core " + names + ": " + std::strerror(error));
}

//! Names the calling thread where the system lists threads. macOS takes the name alone.
inline void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

//! Wakes a thread that waits for several descriptors. Elsewhere: a pipe.
class wake_event
{
public:
    wake_event() : d_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~wake_event() { ::close(d_descriptor); }
    wake_event(const wake_event&) = delete;
    wake_event& operator=(const wake_event&) = delete;

    //! Returns what is readable once it was notified, until it is cleared.
    int descriptor() const { return d_descriptor; }
    void notify()
    {
        const uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(d_descriptor, &one, sizeof one);
    }
    void clear()
    {
        uint64_t old;
        while (::read(d_descriptor, &old, sizeof old) > 0) {
        }
    }

private:
    const int d_descriptor;
};

//! Returns a number of /proc/meminfo, as "MemAvailable:", in the unit that stands there,
//! or what is given where it does not say it. macOS: host_statistics64().
inline uint64_t memory_figure(const std::string& key, uint64_t otherwise)
{
    std::ifstream file("/proc/meminfo");
    std::string word;
    uint64_t number = 0;
    while (file >> word)
        if (word == key && file >> number)
            return number;
    return otherwise;
}

//! Returns the processor's name where the system tells it; "" elsewhere. macOS: sysctl
//! machdep.cpu.brand_string.
inline std::string processor_name()
{
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (const auto colon = line.find(':');
            line.compare(0, 10, "model name") == 0 && colon != line.npos)
            return line.substr(colon + 1);
    return "";
}

} // namespace gr::aperture::system

#endif /* INCLUDED_APERTURE_SYSTEM_LINUX_H */
