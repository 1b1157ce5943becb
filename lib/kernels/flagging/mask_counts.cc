/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/make_on.h"
#include "kernels/flagging/emulated_mask_counts.h"
#include "kernels/flagging/host_mask_counts.h"
#include "kernels/flagging/mask_counts.h"

namespace gr::aperture::kernels {

void mask_counts::parameters::check() const { mask.check(); }

std::unique_ptr<mask_counts> mask_counts::make(const parameters& p, const device& d)
{
    return make_on<mask_counts>(d,
                                p,
                                host::make_mask_counts,
                                emulated::make_mask_counts,
                                &cuda_kernels::mask_counts);
}

} // namespace gr::aperture::kernels
