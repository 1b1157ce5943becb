/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/device.h"
#include <gnuradio/aperture/device.h>
#include <stdexcept>

namespace gr {
namespace aperture {

namespace {

//! The CPU: whoever gives the work does it.
class host_stream : public stream
{
public:
    void synchronize() override {}
};

std::string joined(const std::vector<std::string>& names)
{
    std::string all;
    for (const auto& name : names)
        all += (all.empty() ? "" : ", ") + name;
    return all;
}

bool names_cuda(const std::string& name)
{
    if (name == "cuda")
        return true;
    return name.rfind("cuda:", 0) == 0 && name.size() > 5 &&
           name.find_first_not_of("0123456789", 5) == std::string::npos;
}

} // namespace

std::vector<std::string> devices() { return { "cpu" }; }

device device::select(const std::string& name)
{
    if (name == "auto" || name == "cpu")
        return device(kind::cpu, 0);
    if (names_cuda(name))
        throw std::invalid_argument(
            "device: '" + name +
            "' was asked for, but this build has no CUDA kernels; "
            "found: " +
            joined(devices()));
    throw std::invalid_argument("device: '" + name +
                                "' is not known; allowed: auto, cpu, cuda, cuda:N");
}

std::string device::name() const
{
    return d_kind == kind::cpu ? "cpu" : "cuda:" + std::to_string(d_index);
}

std::unique_ptr<stream> device::make_stream() const
{
    return std::make_unique<host_stream>();
}

} // namespace aperture
} // namespace gr
