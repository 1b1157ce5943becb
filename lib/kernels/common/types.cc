/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gr::aperture {

namespace {

struct type_facts {
    sample_type type;
    const char* name;
    bool complex;
    int bits;
};

constexpr std::array<type_facts, 9> all_types{ {
    { sample_type::fc32, "fc32", true, 64 },
    { sample_type::sc16, "sc16", true, 32 },
    { sample_type::sc8, "sc8", true, 16 },
    { sample_type::sc4, "sc4", true, 8 },
    { sample_type::f32, "f32", false, 32 },
    { sample_type::s16, "s16", false, 16 },
    { sample_type::s12, "s12", false, 12 },
    { sample_type::s10, "s10", false, 10 },
    { sample_type::s8, "s8", false, 8 },
} };

const type_facts& facts(sample_type type)
{
    for (const auto& t : all_types)
        if (t.type == type)
            return t;
    throw std::logic_error("sample_type without facts");
}

template <class Types>
sample_type
type_among(const std::string& parameter, const std::string& name, const Types& allowed)
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

} // namespace

bool is_complex(sample_type type) { return facts(type).complex; }
bool is_packed(sample_type type) { return bits_of(type) % 8 != 0; }
int bits_of(sample_type type) { return facts(type).bits; }

size_t size_of(sample_type type)
{
    if (is_packed(type))
        throw std::logic_error(name_of(type) + " has no size in bytes");
    return bits_of(type) / 8;
}

int samples_in_item(sample_type type, int inputs)
{
    return 8 / std::gcd(8, int64_t(bits_of(type)) * inputs);
}

size_t bytes_of(sample_type type, int64_t samples, int inputs)
{
    return samples * inputs * bits_of(type) / 8;
}

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
    return type_among(parameter, name, allowed);
}

sample_type parse_sample_type(const std::string& parameter, const std::string& name)
{
    std::array<sample_type, all_types.size()> types;
    std::transform(all_types.begin(),
                   all_types.end(),
                   types.begin(),
                   [](const type_facts& t) { return t.type; });
    return type_among(parameter, name, types);
}

int item_size(const std::string& item,
              std::initializer_list<std::pair<const char*, int64_t>> extents,
              size_t element)
{
    constexpr int64_t limit = std::numeric_limits<int>::max();
    int64_t bytes = element,
            rest = element; // with all extents, and with all but the first
    const auto multiply = [](int64_t& size, int64_t by) {
        // by how much it is beyond the limit does not matter
        size = size > limit / by ? limit + 1 : size * by;
    };
    std::string product;
    for (const auto& extent : extents) {
        const auto [name, count] = extent;
        require(count >= 1, name, std::to_string(count), "at least 1");
        product += std::to_string(count) + " " + name + " x ";
        multiply(bytes, count);
        if (&extent != extents.begin())
            multiply(rest, count);
    }
    const int64_t most = limit / rest; // the largest first extent that fits
    require(bytes <= limit,
            item,
            product + std::to_string(element) + " bytes",
            "at most " + std::to_string(limit) + " bytes an item" +
                (most > 0 ? ": at most " + std::to_string(most) + " " +
                                extents.begin()->first + " of this size"
                          : ""));
    return int(bytes);
}

} // namespace gr::aperture
