/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/host_beam_forming.h"
#include "kernels/common/makers.h"
#include "kernels/common/planes.h"
#include "kernels/detection/host_detector.h"

namespace gr::aperture::kernels::host {

namespace {

class host_beam_power : public beam_power
{
public:
    host_beam_power(const parameters& p, const std::string& vectors)
        : d_p(p),
          d_forming(beam_forming::make(
              { p.channels, p.inputs, p.beams, p.spectra_per_frame, p.input }, vectors)),
          d_antennas(p.detect.rows(p.incoherent)),
          d_detector(p.detect,
                     p.channels,
                     p.rows(),
                     p.spectra_per_frame,
                     size_t(p.channels) * p.inputs * p.spectra_per_frame *
                         size_of(p.input),
                     [this](const detected_sums& sums) {
                         return std::make_unique<beam_worker>(*this, sums);
                     })
    {
    }

    std::string implementation() const override
    {
        return "host " + d_forming->implementation();
    }

    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream&) override
    {
        d_detector.execute(voltages, powers, frames, scales);
    }
    void accumulate(const void* voltages, int frames, stream&) override
    {
        d_detector.accumulate(voltages, frames);
    }
    void dump(float* powers, const detection_scales& scales, stream&) override
    {
        d_detector.dump(powers, scales);
    }
    void clear(stream&) override { d_detector.clear(); }

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        return d_forming->prepare(weights);
    }
    void use(const prepared_weights_sptr& weights, stream&) override
    {
        d_forming->use(weights);
    }
    void set_gains(const float* gains, stream&) override { d_forming->set_gains(gains); }

    void set_masks(const uint8_t* masks, stream&) override
    {
        const int polarisations = d_p.detect.of_pairs() ? 2 : 1;
        for (size_t row = 0; row < d_antennas.size(); row++) {
            d_antennas[row].clear();
            const uint8_t* x = masks + row * polarisations * d_p.inputs;
            const uint8_t* y = x + (polarisations - 1) * d_p.inputs;
            for (int i = 0, j = 0; i < d_p.inputs; i++)
                if (x[i]) {
                    while (!y[j])
                        j++;
                    d_antennas[row].push_back({ i, j++ });
                }
        }
    }

private:
    //! The inputs of an antenna; without polarisations twice the same.
    struct antenna {
        int x, y;
    };

    class beam_worker : public host_detector::worker
    {
    public:
        beam_worker(const host_beam_power& owner, const detected_sums& sums)
            : d_owner(owner),
              d_p(owner.d_p),
              d_sums(sums),
              d_workspace(owner.d_forming->make_workspace()),
              d_chunk(owner.d_forming->chunk()),
              d_inputs(d_p.incoherent ? 2 * size_t(d_p.inputs) * d_chunk : 0)
        {
        }

        void add(const void* frame, int channel, double* sums) override
        {
            const char* in =
                static_cast<const char*>(frame) +
                size_t(channel) * d_p.inputs * d_p.spectra_per_frame * size_of(d_p.input);
            for (int t = 0; t < d_p.spectra_per_frame; t += d_chunk) {
                const int count = std::min(d_chunk, d_p.spectra_per_frame - t);
                if (d_p.beams)
                    add_coherent(in, channel, t, count, sums);
                if (d_p.incoherent)
                    add_incoherent(in, t, count, sums);
            }
        }

    private:
        void add_coherent(const char* in, int channel, int t, int count, double* sums)
        {
            const auto& forming = *d_owner.d_forming;
            const int polarisations = d_p.detect.of_pairs() ? 2 : 1;
            forming.load(in, t, count, *d_workspace);
            for (int first = 0; first < d_p.beams; first += forming.tile()) {
                forming.form(channel, first, *d_workspace);
                const int end = std::min(forming.tile(), d_p.beams - first);
                for (int b = 0; b < end; b += polarisations)
                    d_sums.add(sums,
                               (first + b) / polarisations,
                               t,
                               count,
                               beam(b),
                               beam(b + polarisations - 1));
            }
        }

        void add_incoherent(const char* in, int t, int count, double* sums)
        {
            for (int i = 0; i < d_p.inputs; i++) {
                float* re = d_inputs.data() + 2 * size_t(i) * d_chunk;
                unpack_planes(d_p.input,
                              in + (size_t(i) * d_p.spectra_per_frame + t) *
                                       size_of(d_p.input),
                              count,
                              re,
                              re + d_chunk);
            }
            const int before = d_p.detect.rows(d_p.beams);
            for (size_t row = 0; row < d_owner.d_antennas.size(); row++)
                for (const auto& a : d_owner.d_antennas[row])
                    d_sums.add(sums, before + int(row), t, count, input(a.x), input(a.y));
        }

        planes beam(int number) const
        {
            return { d_workspace->re(number), d_workspace->im(number) };
        }
        planes input(int number) const
        {
            const float* re = d_inputs.data() + 2 * size_t(number) * d_chunk;
            return { re, re + d_chunk };
        }

        const host_beam_power& d_owner;
        const parameters& d_p;
        const detected_sums& d_sums;
        const std::unique_ptr<beam_forming::workspace> d_workspace;
        const int d_chunk;
        std::vector<float> d_inputs; // [input][re, im][chunk]
    };

    const parameters d_p;
    const std::unique_ptr<beam_forming> d_forming;
    std::vector<std::vector<antenna>> d_antennas; // antennas of each incoherent row
    host_detector d_detector;
};

} // namespace

//! Beams of a tile are detected while they are in the cache.
template <>
std::unique_ptr<beam_power> make(const beam_power::parameters& p,
                                 const std::string& vectors)
{
    return std::make_unique<host_beam_power>(
        p, vectors.empty() ? beam_vectors().front() : vectors);
}

} // namespace gr::aperture::kernels::host
