/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H

#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels::cuda::tensor {

//! A filter bank on tensor cores for one number of channels.
template <class Shape>
class tensor_pfb;

/*!
 * Filter banks on tensor cores for one sample type and some numbers of channels. Each of
 * them is a file of its own for each operation, which CMake makes from
 * filter_banks.cu.in. \tparam Taps the most taps that they are for; the least are seven
 * fewer
 */
template <sample_type Input, int Taps, int... Channels>
struct filter_banks {
    /*!
     * Returns a filter bank that leaves to `other` what it cannot do; `other` itself
     * where none of these is for p.
     * \tparam Made tensor_pfb, or what else has a filter bank, for one number of channels
     * \param parameters of what is made
     */
    template <template <class> class Made, class Parameters, class Base>
    static std::unique_ptr<Base> make(const pfb::parameters& p,
                                      const Parameters& parameters,
                                      int device,
                                      std::unique_ptr<Base> other);
};

/*!
 * All filter banks that tensor cores multiply the transform of, in half precision: 64 to
 * 8192 channels (powers of two) from sc8 and sc4, 64 to 1024 from s8, to sc8; up to 8
 * taps (sc8: 16) and 1024 inputs, on Hopper GPUs. At an rms of 20 steps 0.5 % of the
 * output components differ by one step from those of single precision, and in proportion
 * to the rms elsewhere. What they cannot do they leave to `other`: all calls of other
 * parameters, and calls with addresses that are not multiples of 16 bytes.
 */
template <class... FilterBanks>
struct filter_banks_list {
    //! Makes the filter bank of the first entry of the list that is for p, if there is
    //! one; otherwise as filter_banks::make().
    template <template <class> class Made, class Parameters, class Base>
    static std::unique_ptr<Base> make(const pfb::parameters& p,
                                      const Parameters& parameters,
                                      int device,
                                      std::unique_ptr<Base> other)
    {
        ((other =
              FilterBanks::template make<Made>(p, parameters, device, std::move(other))),
         ...);
        return other;
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_BANKS_H */
