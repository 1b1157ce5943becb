/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/fused/pfb_split.h"
#include "kernels/pfb/tensor/all_filter_banks.h"

namespace gr::aperture::kernels::cuda {

namespace tensor {
template <class Shape>
class tensor_f_engine; // in calls.cuh
}

namespace {

class fused_f_engine : public f_engine
{
public:
    fused_f_engine(const parameters& p, const fused_kernel& kernel, int device)
        : d_p(p), d_filter(p.filter, kernel, store::frames, device)
    {
    }

    std::string implementation() const override
    {
        return d_filter.name() + ", stored by channel";
    }

    void set_gains(const cfloat* gains, stream& s) override
    {
        d_filter.set_gains(gains, native(s));
    }

    void set_delays(const delay* delays, stream& s) override
    {
        d_filter.set_delays(delays, native(s));
    }

    void execute(
        const pfb::source* sources, void* frame, int first, int count, stream& s) override
    {
        const fused_filter::target to{ nullptr,
                                       frame,
                                       first,
                                       d_p.spectra_per_frame,
                                       d_p.first_channel,
                                       d_p.selected_channels };
        const auto put = [&](const fused_filter::target& here,
                             const part_of_frames& part) {
            std::vector<pfb::source> from(sources, sources + d_p.filter.ports);
            for (auto& source : from)
                source = pfb::later(d_p.filter, source, part.done);
            d_filter.execute(from.data(), here, part.times, native(s));
        };
        to.each_part(count, d_p.filter, 1, put);
    }

    pfb::counts clamped() const override { return d_filter.clamped(); }

private:
    const parameters d_p;
    split_filter d_filter;
};

} // namespace

//! One kernel for all; nullptr for parameters that it does not serve, among them those of
//! oversampled spectra.
template <>
std::unique_ptr<f_engine>
make(const f_engine::parameters& p, int device, const std::string&)
{
    if (p.filter.oversampled())
        return nullptr;
    const device_guard guard(device);
    const auto* kernel = find_fused_kernel(p.filter, device);
    std::unique_ptr<f_engine> fused;
    if (kernel)
        fused = std::make_unique<fused_f_engine>(p, *kernel, device);
#if defined(APERTURE_CUDA_SM_90A)
    fused = tensor::all_filter_banks::make<tensor::tensor_f_engine>(
        p.filter, p, device, std::move(fused));
#endif
    return fused;
}

} // namespace gr::aperture::kernels::cuda
