/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/select/input_select.h"
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

class host_input_select : public input_select
{
public:
    explicit host_input_select(const parameters& p) : d_p(p)
    {
        // neighbours are copied together
        for (const int input : p.selected) {
            if (!d_runs.empty() && d_runs.back().first + d_runs.back().count == input)
                d_runs.back().count++;
            else
                d_runs.push_back({ input, 1 });
        }
    }

    std::string implementation() const override { return "host"; }

    void execute(const void* frames, void* selected, int count, stream&) override
    {
        const char* in = static_cast<const char*>(frames);
        char* out = static_cast<char*>(selected);
        const int64_t rows = int64_t(count) * d_p.channels;
        for (int64_t row = 0; row < rows; row++, in += d_p.inputs * d_p.bytes)
            for (const auto& run : d_runs) {
                std::memcpy(out, in + run.first * d_p.bytes, run.count * d_p.bytes);
                out += run.count * d_p.bytes;
            }
    }

private:
    struct run {
        int64_t first, count;
    };
    const parameters d_p;
    std::vector<run> d_runs;
};

} // namespace

//! Copies runs of inputs.
template <>
std::unique_ptr<input_select> make(const input_select::parameters& p, const std::string&)
{
    return std::make_unique<host_input_select>(p);
}

} // namespace gr::aperture::kernels::host
