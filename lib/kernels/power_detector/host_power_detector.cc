/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/planes.h"
#include "kernels/detection/host_detector.h"
#include "kernels/power_detector/power_detector.h"

namespace gr::aperture::kernels::host {

namespace {

class host_power_detector : public power_detector
{
public:
    explicit host_power_detector(const parameters& p)
        : d_p(p),
          d_detector(p.detect,
                     p.channels,
                     p.detect.rows(p.beams),
                     p.spectra_per_frame,
                     size_t(p.channels) * p.beams * p.spectra_per_frame *
                         size_of(p.input),
                     [this](const detected_sums& sums) {
                         return std::make_unique<row_worker>(d_p, sums);
                     })
    {
    }

    std::string implementation() const override { return "host"; }

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

private:
    class row_worker : public host_detector::worker
    {
    public:
        row_worker(const parameters& p, const detected_sums& sums)
            : d_p(p), d_sums(sums), d_planes(4 * chunk)
        {
        }

        void add(const void* frame, int channel, double* sums) override
        {
            const int polarisations = d_p.detect.of_pairs() ? 2 : 1;
            const size_t row = size_t(d_p.spectra_per_frame) * size_of(d_p.input);
            const char* in = static_cast<const char*>(frame) + channel * d_p.beams * row;
            for (int r = 0; r < d_sums.rows(); r++)
                for (int t = 0; t < d_p.spectra_per_frame; t += chunk) {
                    const int count = std::min(chunk, d_p.spectra_per_frame - t);
                    planes beams[2];
                    for (int i = 0; i < polarisations; i++) {
                        float* re = d_planes.data() + 2 * i * chunk;
                        unpack_planes(d_p.input,
                                      in + (r * polarisations + i) * row +
                                          t * size_of(d_p.input),
                                      count,
                                      re,
                                      re + chunk);
                        beams[i] = { re, re + chunk };
                    }
                    d_sums.add(sums, r, t, count, beams[0], beams[1]);
                }
        }

    private:
        static constexpr int chunk =
            512; // times of a chunk; planes of a pair stay in the cache
        const parameters& d_p;
        const detected_sums& d_sums;
        std::vector<float> d_planes;
    };

    const parameters d_p;
    host_detector d_detector;
};

} // namespace

//! Sums in fp32 over at most 512 spectra, and in double precision over those.
template <>
std::unique_ptr<power_detector> make(const power_detector::parameters& p,
                                     const std::string&)
{
    return std::make_unique<host_power_detector>(p);
}

} // namespace gr::aperture::kernels::host
