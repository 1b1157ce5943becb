/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/types.h"
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gr {
namespace aperture {

namespace {

struct type_facts {
    sample_type type;
    const char* name;
    bool complex;
    size_t size;
};

constexpr std::array<type_facts, 6> all_types{ {
    { sample_type::fc32, "fc32", true, 8 },
    { sample_type::sc16, "sc16", true, 4 },
    { sample_type::sc8, "sc8", true, 2 },
    { sample_type::f32, "f32", false, 4 },
    { sample_type::s16, "s16", false, 2 },
    { sample_type::s8, "s8", false, 1 },
} };

const type_facts& facts(sample_type type)
{
    for (const auto& t : all_types)
        if (t.type == type)
            return t;
    throw std::logic_error("sample_type without facts");
}

} // namespace

bool is_complex(sample_type type) { return facts(type).complex; }
size_t size_of(sample_type type) { return facts(type).size; }
std::string name_of(sample_type type) { return facts(type).name; }

void require(bool ok,
             const std::string& parameter,
             const std::string& value,
             const std::string& rule)
{
    if (!ok)
        throw std::invalid_argument(parameter + ": " + value +
                                    " is not allowed; it must be " + rule);
}

void require_range(const std::string& parameter, int64_t value, int64_t low, int64_t high)
{
    require(value >= low && value <= high,
            parameter,
            std::to_string(value),
            std::to_string(low) + " to " + std::to_string(high));
}

sample_type parse_sample_type(const std::string& parameter,
                              const std::string& name,
                              std::initializer_list<sample_type> allowed)
{
    std::string names;
    for (auto type : allowed) {
        if (name == name_of(type))
            return type;
        names += (names.empty() ? "" : ", ") + name_of(type);
    }
    require(false, parameter, "'" + name + "'", "one of " + names);
    return *allowed.begin();
}

int item_size(const std::string& item,
              std::initializer_list<std::pair<const char*, int64_t>> extents,
              size_t element)
{
    constexpr int64_t limit = std::numeric_limits<int>::max();
    int64_t bytes = element;
    bool fits = true;
    std::string product;
    for (const auto& [name, extent] : extents) {
        require(extent >= 1, name, std::to_string(extent), "at least 1");
        product += std::to_string(extent) + " " + name + " x ";
        fits = fits && extent <= limit / bytes;
        if (fits)
            bytes *= extent;
    }
    require(fits,
            item,
            product + std::to_string(element) + " bytes",
            "at most " + std::to_string(limit) + " bytes an item");
    return int(bytes);
}

} // namespace aperture
} // namespace gr
