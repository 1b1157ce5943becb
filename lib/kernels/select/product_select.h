/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SELECT_PRODUCT_SELECT_H
#define INCLUDED_APERTURE_KERNELS_SELECT_PRODUCT_SELECT_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <utility>
#include <vector>

namespace gr::aperture::kernels {

//! Selects products (a, b) of visibilities [channel][product]: V[a,b] or conj(V[b,a]).
class product_select
{
public:
    struct parameters {
        int channels, inputs;
        std::vector<std::pair<int, int>> products;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<product_select> make(const parameters&, const device&);
    virtual ~product_select() = default;

    //! Copies visibilities [item][channel][product] to selected [pair][item][channel].
    virtual void
    execute(const cfloat* visibilities, cfloat* const* selected, int items, stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_SELECT_PRODUCT_SELECT_H */
