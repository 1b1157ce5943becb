/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_IMPLEMENTATIONS_H
#define INCLUDED_APERTURE_KERNELS_GPU_IMPLEMENTATIONS_H

#include "kernels/common/types.h"
#include "kernels/gpu/gpu_facts.h"
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

/*!
 * \file
 * The choice among the implementations of a kernel on GPUs. They are in a list whose
 * entries have a `name`; the first one that fits is the fastest.
 */
namespace gr::aperture::kernels::cuda {

//! The GPUs that an implementation is for, by their gpu_facts::architecture.
struct architectures {
    int least, most;
    bool have(gpu_facts gpu) const
    {
        return gpu.architecture >= least && gpu.architecture <= most;
    }
};
//! A limit above all architectures.
constexpr int any = 1 << 30;

//! Returns the names of all entries that fit(entry) returns true for, in their order.
template <class List, class Fit>
std::vector<std::string> names_of(const List& list, const Fit& fit)
{
    std::vector<std::string> names;
    for (const auto& entry : list)
        if (fit(entry))
            names.push_back(entry.name);
    return names;
}

//! \throws std::invalid_argument if a GPU has no implementation
inline void require_any(const std::vector<std::string>& names, gpu_facts gpu)
{
    require(!names.empty(),
            "device",
            "a GPU of compute capability " + std::to_string(gpu.architecture / 10) + "." +
                std::to_string(gpu.architecture % 10),
            "of 7.5 (Turing) or later");
}

//! Returns the wanted one of the names, or the first one if none is wanted.
//! \throws std::invalid_argument
inline std::string chosen_name(const std::vector<std::string>& names,
                               const std::string& wanted)
{
    const auto name = wanted.empty() ? names.front() : wanted;
    require(std::find(names.begin(), names.end(), name) != names.end(),
            "implementation",
            "'" + name + "'",
            "one that this GPU has for these parameters");
    return name;
}

//! Returns the first entry of a name.
template <class List>
const auto& entry_of(const List& list, const std::string& name)
{
    for (const auto& entry : list)
        if (name == entry.name)
            return entry;
    throw std::logic_error("no implementation has the name " + name);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_IMPLEMENTATIONS_H */
