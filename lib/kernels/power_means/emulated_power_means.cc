/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/power_means/power_means.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_means : public emulated_kernel<power_means>
{
    //! A function of the host's kernel after this one has got the sums of some items.
    template <class Function>
    auto with_sums(size_t items, Function function) const
    {
        return [sums = d_sums, bytes = items * d_p.sums() * sizeof(float), function](
                   power_means& host, auto&&... arguments) {
            copy_masked(host.sums(), sums->data(), bytes);
            std::invoke(function, host, arguments...);
        };
    }

public:
    explicit emulated_power_means(const parameters& p)
        : emulated_kernel(p),
          d_sums(std::make_shared<std::vector<float>>(size_t(p.most_frames()) *
                                                      p.integrations() * p.sums()))
    {
    }

    float* sums() override { return d_sums->data(); }
    void set_sources(const std::vector<std::vector<int>>& of_beams, stream& s) override
    {
        run(s, &power_means::set_sources, of_beams);
    }
    void execute(const void* masks,
                 int frames,
                 const missing_spectra& missing,
                 float* powers,
                 uint32_t* counts,
                 stream& s) override
    {
        const size_t items = size_t(frames) * d_p.integrations();
        run(s,
            with_sums(items, &power_means::execute),
            span(masks, frames * d_p.mask.item_bytes()),
            frames,
            missing,
            span(powers, items * d_p.powers()),
            span(counts, items * d_p.counts()));
    }
    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        run(s,
            &power_means::accumulate,
            span(masks, frames * d_p.mask.item_bytes()),
            frames,
            missing);
    }
    void dump(float* powers, uint32_t* counts, stream& s) override
    {
        run(s,
            with_sums(1, &power_means::dump),
            span(powers, d_p.powers()),
            span(counts, d_p.counts()));
    }
    void clear(stream& s) override { run(s, &power_means::clear); }

private:
    const std::shared_ptr<std::vector<float>> d_sums; // work not done yet holds them, too
};

} // namespace

template <>
std::unique_ptr<power_means> make(const power_means::parameters& p)
{
    return std::make_unique<emulated_power_means>(p);
}

} // namespace gr::aperture::kernels::emulated
