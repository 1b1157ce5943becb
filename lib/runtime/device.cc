/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/backend.h"
#include "runtime/cuda.h"
#include "runtime/emulated.h"
#include "runtime/host_memory.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <limits>
#include <optional>
#include <stdexcept>

namespace gr::aperture {

namespace {

std::string joined(const std::vector<std::string>& names)
{
    std::string all;
    for (const auto& name : names)
        all += (all.empty() ? "" : ", ") + name;
    return all;
}

//! Returns the number of "kind:N", or 0 of "kind"; none if the name is another one, or
//! the number too long for an int.
std::optional<int> number_of(const std::string& name, const std::string& kind)
{
    if (name == kind)
        return 0;
    const size_t digits = kind.size() + 1;
    if (name.rfind(kind + ":", 0) != 0 || name.size() == digits ||
        name.find_first_not_of("0123456789", digits) != std::string::npos)
        return {};
    return name.size() > digits + 6 ? std::numeric_limits<int>::max()
                                    : std::stoi(name.substr(digits));
}

} // namespace

std::vector<std::string> devices()
{
    std::vector<std::string> names{ "cpu" };
    for (int i = 0; i < cuda::find_gpus().count; i++)
        names.push_back("cuda:" + std::to_string(i));
    return names;
}

device::device(kind type, int index, std::shared_ptr<const backend> b)
    : d_kind(type), d_index(index), d_backend(std::move(b))
{
}

device device::select(const std::string& name)
{
    if (name == "cpu") // without looking for a GPU
        return device(kind::cpu, 0);
    if (const auto index = number_of(name, "emulated"); index && *index < 64)
        return device(kind::emulated, *index, emulated::make_backend(*index));
    const auto number = number_of(name, "cuda");
    if (name != "auto" && !number)
        throw std::invalid_argument("device: '" + name +
                                    "' is not known; allowed: auto, cpu, cuda, cuda:N");
    const auto& found = cuda::find_gpus();
    if (name == "auto" && found.count == 0)
        return device(kind::cpu, 0);
    const int index = number.value_or(0);
    if (index >= found.count)
        throw std::invalid_argument(
            "device: '" + name + "' was asked for, but " +
            (found.count == 0 ? found.problem : "there is no GPU of that number") +
            "; found: " + joined(devices()));
    return device(kind::cuda, index, cuda::the_gpu_runtime()->make_backend(index));
}

std::string device::name() const
{
    switch (d_kind) {
    case kind::emulated:
        return d_index == 0 ? "emulated" : "emulated:" + std::to_string(d_index);
    case kind::cuda:
        return "cuda:" + std::to_string(d_index);
    default:
        return "cpu";
    }
}

std::string device::description() const
{
    return d_backend ? d_backend->description() : "";
}

std::unique_ptr<stream> device::make_stream() const
{
    return d_backend ? d_backend->make_stream() : std::make_unique<host_stream>();
}

memory device::allocate(size_t bytes) const
{
    return d_backend ? d_backend->allocate(bytes) : allocate_host_memory(bytes);
}

void device::make_current() const
{
    if (d_backend)
        d_backend->make_current();
}

} // namespace gr::aperture
