/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/select/input_select.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_input_select : public emulated_kernel<input_select>
{
public:
    using emulated_kernel::emulated_kernel;

    std::string implementation() const override
    {
        return emulated_kernel::implementation();
    }
    void execute(const void* frames, void* selected, int count, stream& s) override
    {
        run(s,
            &input_select::execute,
            span(frames, count * d_p.frame_bytes()),
            span(selected, count * d_p.selected_bytes()),
            count);
    }
};

} // namespace

template <>
std::unique_ptr<input_select> make(const input_select::parameters& p)
{
    return std::make_unique<emulated_input_select>(p);
}

} // namespace gr::aperture::kernels::emulated
