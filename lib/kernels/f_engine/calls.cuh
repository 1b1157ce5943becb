/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_F_ENGINE_CALLS_CUH
#define INCLUDED_APERTURE_KERNELS_F_ENGINE_CALLS_CUH

#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/tensor/calls.cuh"

namespace gr::aperture::kernels::cuda::tensor {

//! The filter bank on tensor cores that stores its spectra as frames.
template <class Shape>
class tensor_f_engine : public with_tensor_cores<f_engine, store::frames, Shape>
{
    using base = with_tensor_cores<f_engine, store::frames, Shape>;

public:
    tensor_f_engine(const f_engine::parameters& p,
                    int device,
                    std::unique_ptr<f_engine> other)
        : base(p.filter, device, std::move(other)), d_p(p)
    {
    }
    std::string implementation() const override
    {
        return this->d_filter.name() + ", stored by channel";
    }
    void execute(
        const pfb::source* sources, void* frame, int first, int count, stream& s) override
    {
        if (!this->done(sources, target_of(frame, first), size_t(count), s))
            this->d_other->execute(sources, frame, first, count, s);
    }
    bool prepare_sums(int spectra_per_slice) override
    {
        return this->d_filter.prepare_sums(spectra_per_slice);
    }
    bool execute_and_sum(const pfb::source* sources,
                         void* frame,
                         int first,
                         int count,
                         const cell_sums& sums,
                         stream& s) override
    {
        const auto to = target_of(frame, first);
        if (this->d_filter.can_add(to, size_t(count)) &&
            this->d_filter.can_do(sources, to))
            return this->done(sources, to, size_t(count), s, &sums);
        execute(sources, frame, first, count, s);
        return false;
    }

private:
    fused_filter::target target_of(void* frame, int first) const
    {
        return { nullptr,
                 frame,
                 first,
                 d_p.spectra_per_frame,
                 d_p.first_channel,
                 d_p.selected_channels };
    }

    const f_engine::parameters d_p;
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_F_ENGINE_CALLS_CUH */
