/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/exchange/copying_exchange.h"
#include <cstring>

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_exchange : public copying_exchange
{
public:
    using copying_exchange::copying_exchange;
    std::string implementation() const override { return "emulated, copies"; }

private:
    // the memory of all emulated devices is masked alike
    void copy(const piece& p, int, int, stream& s) override
    {
        run_on(s, [p] {
            each_row(p, [](char* to, const char* from, size_t bytes) {
                std::memcpy(to, from, bytes);
            });
        });
    }

    void clear(const piece& p, int, stream& s) override
    {
        run_on(s, [p] {
            each_row(p, [](char* to, const char*, size_t bytes) {
                std::memset(to, aperture::emulated::mask, bytes);
            });
        });
    }
};

} // namespace

template <>
std::unique_ptr<exchange> make(const exchange::parameters& p)
{
    return std::make_unique<emulated_exchange>(p);
}

} // namespace gr::aperture::kernels::emulated
