/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_FFT_H
#define INCLUDED_APERTURE_KERNELS_GPU_FFT_H

#include "kernels/gpu/memory.h"
#include <cufft.h>
#include <map>

namespace gr::aperture::kernels::cuda {

inline void check(cufftResult status, const char* what)
{
    if (status != CUFFT_SUCCESS)
        throw std::runtime_error(std::string("cuFFT: ") + what + ": error " +
                                 std::to_string(status));
}

/*!
 * Forward transforms of any number of lines, one after the other in memory. Plans for
 * powers of two of lines are made at the start, so that none is made while data flows;
 * and each is run once, which loads its kernels: see load(). A line of real samples has
 * points / 2 + 1 results.
 */
class line_fft
{
public:
    //! \param most_lines a power of two: most lines of a call of transform()
    line_fft(int points, bool complex, size_t most_lines) : d_complex(complex)
    {
        size_t most_bytes = 0;
        for (size_t lines = 1; lines <= most_lines; lines *= 2) {
            auto& made = d_plans[lines];
            check(cufftCreate(&made.handle), "making a plan");
            check(cufftSetAutoAllocation(made.handle, 0), "making a plan");
            size_t bytes = 0;
            int extent = points;
            check(cufftMakePlanMany(made.handle,
                                    1,
                                    &extent,
                                    nullptr,
                                    1,
                                    0,
                                    nullptr,
                                    1,
                                    0,
                                    complex ? CUFFT_C2C : CUFFT_R2C,
                                    int(lines),
                                    &bytes),
                  "making a plan");
            most_bytes = std::max(most_bytes, bytes);
        }
        d_work = device_array<char>(most_bytes);
        for (auto& made : d_plans)
            check(cufftSetWorkArea(made.second.handle, d_work.data()), "making a plan");
        d_points = points;
        run_all(most_lines);
    }

    //! Complex lines may be transformed in place.
    void transform(float* lines, float2* spectra, size_t count, cudaStream_t s)
    {
        while (count > 0) {
            auto largest = --d_plans.upper_bound(count);
            const auto handle = largest->second.handle;
            check(cufftSetStream(handle, s), "choosing the stream");
            if (d_complex)
                check(cufftExecC2C(handle,
                                   reinterpret_cast<cufftComplex*>(lines),
                                   spectra,
                                   CUFFT_FORWARD),
                      "a transform");
            else
                check(cufftExecR2C(handle, lines, spectra), "a transform");
            lines += largest->first * d_points * (d_complex ? 2 : 1);
            spectra += largest->first * (d_complex ? d_points : d_points / 2 + 1);
            count -= largest->first;
        }
    }

private:
    void run_all(size_t most_lines)
    {
        const size_t results = d_complex ? 0 : d_points / 2 + 1;
        device_array<float> lines(most_lines * d_points * (d_complex ? 2 : 1));
        device_array<float2> spectra(most_lines * results);
        check(cudaMemset(lines.data(), 0, lines.bytes()), "clearing lines");
        for (const auto& made : d_plans)
            transform(lines.data(),
                      d_complex ? reinterpret_cast<float2*>(lines.data())
                                : spectra.data(),
                      made.first,
                      nullptr);
        check(cudaStreamSynchronize(nullptr), "first transforms");
    }

    struct plan {
        cufftHandle handle = 0;
        plan() = default;
        plan(const plan&) = delete;
        ~plan()
        {
            if (handle)
                cufftDestroy(handle);
        }
    };
    bool d_complex;
    size_t d_points;
    std::map<size_t, plan> d_plans; // plans by number of lines
    device_array<char>
        d_work; // scratch memory of all plans, which run one after the other
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_FFT_H */
