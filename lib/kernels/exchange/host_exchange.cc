/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/exchange/copying_exchange.h"
#include "kernels/exchange/exchange.h"
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

class host_exchange : public copying_exchange
{
public:
    using copying_exchange::copying_exchange;
    std::string implementation() const override { return "host"; }

private:
    void copy(const piece& p, int, int, stream&) override
    {
        each_row(p, [](char* to, const char* from, size_t bytes) {
            std::memcpy(to, from, bytes);
        });
    }

    void clear(const piece& p, int, stream&) override
    {
        each_row(p,
                 [](char* to, const char*, size_t bytes) { std::memset(to, 0, bytes); });
    }
};

} // namespace

//! Row by row, in host memory.
template <>
std::unique_ptr<exchange> make(const exchange::parameters& p, const std::string&)
{
    return std::make_unique<host_exchange>(p);
}

} // namespace gr::aperture::kernels::host
