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

bool names_cuda(const std::string& name)
{
    if (name == "cuda")
        return true;
    return name.rfind("cuda:", 0) == 0 && name.size() > 5 &&
           name.find_first_not_of("0123456789", 5) == std::string::npos;
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
    if (name == "emulated" || name == "emulated:1") // two, for edges between devices
        return device(kind::emulated, name.size() > 8, emulated::make_backend());
    if (name != "auto" && !names_cuda(name))
        throw std::invalid_argument("device: '" + name +
                                    "' is not known; allowed: auto, cpu, cuda, cuda:N");
    const auto& found = cuda::find_gpus();
    if (name == "auto" && found.count == 0)
        return device(kind::cpu, 0);
    // a number that is too long for int is no GPU's, either
    const std::string number = name.size() > 5 ? name.substr(5) : "0";
    const int index = number.size() > 6 ? found.count : std::stoi(number);
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
        return d_index == 0 ? "emulated" : "emulated:1";
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
