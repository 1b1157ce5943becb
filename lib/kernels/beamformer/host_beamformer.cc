/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer.h"
#include "kernels/beamformer/host_beam_forming.h"
#include "kernels/common/makers.h"
#include "kernels/common/planes.h"
#include <algorithm>
#include <atomic>

namespace gr::aperture::kernels::host {

namespace {

class host_beamformer : public beamformer
{
public:
    host_beamformer(const parameters& p, const std::string& vectors)
        : d_p(p),
          d_forming(beam_forming::make(
              { p.channels, p.inputs, p.beams, p.spectra_per_frame, p.input }, vectors)),
          d_clamped(p.beams)
    {
    }

    std::string implementation() const override
    {
        return "host " + d_forming->implementation();
    }

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        return d_forming->prepare(weights);
    }
    void use(const prepared_weights_sptr& weights, stream&) override
    {
        d_forming->use(weights);
    }
    void set_gains(const float* gains, stream&) override { d_forming->set_gains(gains); }

    void execute(const void* voltages, void* beams, int frames, stream&) override
    {
        const size_t row_in = d_p.spectra_per_frame * size_of(d_p.input);
        const size_t row_out = d_p.spectra_per_frame * size_of(d_p.output);
        // starting threads costs some microseconds
        const bool worth_threads = double(frames) * d_p.channels * d_p.spectra_per_frame *
                                       d_p.inputs * d_p.beams >
                                   1e5;
#pragma omp parallel if (worth_threads)
        {
            const auto own = d_forming->make_workspace();
#pragma omp for schedule(static)
            for (int64_t i = 0; i < int64_t(frames) * d_p.channels; i++)
                form(int(i % d_p.channels),
                     static_cast<const char*>(voltages) + i * d_p.inputs * row_in,
                     static_cast<char*>(beams) + i * d_p.beams * row_out,
                     *own);
        }
    }

    std::vector<uint64_t> clamped() const override
    {
        return { d_clamped.begin(), d_clamped.end() };
    }

private:
    //! Forms the beams of one channel of one frame: [input][time] -> [beam][time].
    void form(int channel, const char* in, char* out, beam_forming::workspace& w)
    {
        for (int t = 0; t < d_p.spectra_per_frame; t += d_forming->chunk()) {
            const int count = std::min(d_forming->chunk(), d_p.spectra_per_frame - t);
            d_forming->load(in, t, count, w);
            for (int first = 0; first < d_p.beams; first += d_forming->tile()) {
                d_forming->form(channel, first, w);
                const int end = std::min(d_p.beams, first + d_forming->tile());
                for (int beam = first; beam < end; beam++)
                    write(beam,
                          w.re(beam - first),
                          w.im(beam - first),
                          count,
                          out + (size_t(beam) * d_p.spectra_per_frame + t) *
                                    size_of(d_p.output));
            }
        }
    }

    void write(int beam, const float* re, const float* im, int count, void* out)
    {
        if (d_p.output == sample_type::fc32)
            interleave(re, im, count, static_cast<float*>(out));
        else if (const auto n = quantise(re, im, count, static_cast<int8_t*>(out)))
            d_clamped[beam] += n;
    }

    const parameters d_p;
    const std::unique_ptr<beam_forming> d_forming;
    std::vector<std::atomic<uint64_t>> d_clamped;
};

} // namespace

//! Tiles of beams over tiles of time.
template <>
std::unique_ptr<beamformer> make(const beamformer::parameters& p,
                                 const std::string& vectors)
{
    return std::make_unique<host_beamformer>(
        p, vectors.empty() ? beam_vectors().front() : vectors);
}

} // namespace gr::aperture::kernels::host
