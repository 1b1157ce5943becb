/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/select/product_select.h"

namespace gr::aperture::kernels {

void product_select::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require(!products.empty(), "products", "an empty list", "one pair of inputs or more");
    for (const auto& [a, b] : products)
        require(a >= 0 && a < inputs && b >= 0 && b < inputs,
                "products",
                "(" + std::to_string(a) + ", " + std::to_string(b) + ")",
                "of inputs 0 to " + std::to_string(inputs - 1));
}

} // namespace gr::aperture::kernels
