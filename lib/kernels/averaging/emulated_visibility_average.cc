/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/averaging/visibility_average.h"
#include "kernels/common/emulated_kernel.h"

namespace gr::aperture::kernels::emulated {

namespace {

//! Items whose arrays are kept until the call is made.
struct kept_items : argument {
    kept_items(const visibility_average::items& i,
               const visibility_average::parameters& p)
        : all(i),
          counted(i.counted, i.count * (i.by_product ? size_t(p.all()) : 1)),
          used(i.used, size_t(i.count) * p.sums()),
          rotations(i.rotations, size_t(i.count) * p.centers * p.inputs)
    {
    }
    const visibility_average::items& plain()
    {
        all.counted = counted.plain();
        all.used = used.plain();
        all.rotations = rotations.plain();
        return all;
    }

    visibility_average::items all;
    kept<uint32_t> counted;
    kept<uint8_t> used;
    kept<visibility_average::rotation> rotations;
};

class emulated_visibility_average : public emulated_kernel<visibility_average>
{
public:
    using emulated_kernel::emulated_kernel;

    void accumulate(const cfloat* visibilities,
                    const uint32_t* counts,
                    const items& some,
                    stream& s) override
    {
        const size_t size = size_t(some.count) * d_p.channels * d_p.all();
        run(s,
            &visibility_average::accumulate,
            span(visibilities, size),
            span(counts, size),
            kept_items(some, d_p));
    }
    void dump(int sum, cfloat* average, uint32_t* counts, stream& s) override
    {
        run(s,
            &visibility_average::dump,
            sum,
            span(average, d_p.cells()),
            span(counts, d_p.cells()));
    }
    void clear(stream& s) override { run(s, &visibility_average::clear); }
};

} // namespace

template <>
std::unique_ptr<visibility_average> make(const visibility_average::parameters& p)
{
    return std::make_unique<emulated_visibility_average>(p);
}

} // namespace gr::aperture::kernels::emulated
