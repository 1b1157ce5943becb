/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SELECT_H
#define INCLUDED_APERTURE_SELECT_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Selects products of visibilities, one for each output port.
 * \ingroup aperture
 *
 * In: `[channel][product]` fc32 from xengine. Out: for each pair of inputs (a, b) a port
 * of `[channel]` fc32, V[a,b] (the conjugate of V[b,a] where a < b). All tags are passed
 * on; `counted` becomes the count of the port's own product.
 */
class APERTURE_API select : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<select> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        std::vector<std::pair<int, int>> products = { { 1, 0 } };
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of an item").range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "inputs of the X-engine")
                .range(1, 65536),
            parameter("products",
                      &parameters::products,
                      "list of pairs of inputs, each 0 to inputs - 1; "
                      "aperture.products() makes it from names")
                .can_be_set());
    }

    static sptr make(const parameters& p);

    //! Selects other products from the next item on; as many as there are ports.
    virtual void set_products(const std::vector<std::pair<int, int>>& products) = 0;
    //! Returns the pairs of inputs that are selected.
    virtual std::vector<std::pair<int, int>> products() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SELECT_H */
