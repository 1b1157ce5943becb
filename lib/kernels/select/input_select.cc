/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/select/input_select.h"

namespace gr::aperture::kernels {

void input_select::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("bytes", bytes, 1, int64_t(1) << 31);
    require(!selected.empty(), "selected", "an empty list", "one input or more");
    std::vector<bool> there(inputs);
    for (const int input : selected) {
        require(input >= 0 && input < inputs,
                "selected",
                std::to_string(input),
                "inputs 0 to " + std::to_string(inputs - 1));
        require(!there[input],
                "selected",
                std::to_string(input) + " twice",
                "each input once");
        there[input] = true;
    }
}

} // namespace gr::aperture::kernels
