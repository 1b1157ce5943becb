/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/power_means/emulated_power_means.h"
#include "kernels/power_means/host_power_means.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_means : public power_means
{
public:
    explicit emulated_power_means(const parameters& p)
        : d_p(p),
          d_host(host::make_power_means(p)),
          d_sums(std::make_shared<std::vector<float>>(size_t(p.most_frames()) *
                                                      p.integrations() * p.sums()))
    {
    }

    float* sums() override { return d_sums->data(); }

    void set_sources(const std::vector<std::vector<int>>& of_beams, stream& s) override
    {
        run_on(s, [=, host = d_host] {
            host_stream own;
            host->set_sources(of_beams, own);
        });
    }

    void execute(const void* masks,
                 int frames,
                 const missing_spectra& missing,
                 float* powers,
                 uint32_t* counts,
                 stream& s) override
    {
        const parameters p = d_p;
        run_on(s, [=, host = d_host, sums = d_sums] {
            host_stream own;
            const size_t items = size_t(frames) * p.integrations();
            copy_masked(host->sums(), sums->data(), items * p.sums() * sizeof(float));
            std::vector<float> plain(items * p.powers());
            std::vector<uint32_t> numbers(items * p.counts());
            host->execute(unmasked(masks, frames * p.mask.item_bytes()).data(),
                          frames,
                          missing,
                          plain.data(),
                          numbers.data(),
                          own);
            copy_masked(powers, plain.data(), plain.size() * sizeof(float));
            copy_masked(counts, numbers.data(), numbers.size() * sizeof(uint32_t));
        });
    }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        const size_t bytes = frames * d_p.mask.item_bytes();
        run_on(s, [=, host = d_host] {
            host_stream own;
            host->accumulate(unmasked(masks, bytes).data(), frames, missing, own);
        });
    }

    void dump(float* powers, uint32_t* counts, stream& s) override
    {
        const parameters p = d_p;
        run_on(s, [=, host = d_host, sums = d_sums] {
            host_stream own;
            copy_masked(host->sums(), sums->data(), p.sums() * sizeof(float));
            std::vector<float> plain(p.powers());
            std::vector<uint32_t> numbers(p.counts());
            host->dump(plain.data(), numbers.data(), own);
            copy_masked(powers, plain.data(), plain.size() * sizeof(float));
            copy_masked(counts, numbers.data(), numbers.size() * sizeof(uint32_t));
        });
    }

    void clear(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->clear(own);
        });
    }

private:
    const parameters d_p;
    // work that is not done yet holds them, too
    const std::shared_ptr<power_means> d_host;
    const std::shared_ptr<std::vector<float>> d_sums;
};

} // namespace

std::unique_ptr<power_means> make_power_means(const power_means::parameters& p)
{
    return std::make_unique<emulated_power_means>(p);
}

} // namespace gr::aperture::kernels::emulated
