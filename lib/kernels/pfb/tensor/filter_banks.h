/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H

#include "kernels/f_engine/f_engine.h"

namespace gr::aperture::kernels::cuda::tensor {

/*!
 * Filter banks on tensor cores for one sample type and some numbers of channels. Each of
 * them is a file of its own, which CMake makes from filter_banks.cu.in.
 * \tparam Taps the most taps that they are for; the least are seven fewer
 */
template <sample_type Input, int Taps, int... Channels>
struct filter_banks {
    //! \return a filter bank that leaves to `other` what it cannot do; `other` itself
    //! where none of these is for p
    static std::unique_ptr<pfb>
    make(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
    //! Likewise, with the same bits stored as frames.
    static std::unique_ptr<f_engine>
    make(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);

private:
    template <template <class> class Made, class Parameters, class Base>
    static std::unique_ptr<Base> make_of(const pfb::parameters& p,
                                         const Parameters& parameters,
                                         int device,
                                         std::unique_ptr<Base> other);
};

template <class... FilterBanks>
struct filter_banks_list {
    //! Makes the filter bank of the first entry of the list that is for p, if there is
    //! one.
    template <class Parameters, class Base>
    static std::unique_ptr<Base>
    make(const Parameters& p, int device, std::unique_ptr<Base> other)
    {
        ((other = FilterBanks::make(p, device, std::move(other))), ...);
        return other;
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H */
