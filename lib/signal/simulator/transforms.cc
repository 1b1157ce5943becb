/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/simulator/transforms.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace gr::aperture::kernels::host {

namespace {

constexpr double kaiser_beta = 7.86;
constexpr double cutoff = 0.5 - 0.00245;

} // namespace

const transform& transform_of(size_t size)
{
    static std::mutex mutex;
    static std::map<size_t, transform> transforms;
    const std::lock_guard<std::mutex> lock(mutex);
    auto& t = transforms[size];
    if (!t.forward) {
        make_planner_thread_safe();
        auto memory = make_fft_buffer(2 * size);
        auto* data = reinterpret_cast<fftwf_complex*>(memory.get());
        const auto plan = [&](int sign) {
            return plan_ptr(
                fftwf_plan_dft_1d(int(size), data, data, sign, FFTW_ESTIMATE));
        };
        t.backward = plan(FFTW_BACKWARD);
        t.forward = plan(FFTW_FORWARD);
    }
    return t;
}

void execute_in_place(const plan_ptr& plan, float* data)
{
    auto* complex = reinterpret_cast<fftwf_complex*>(data);
    fftwf_execute_dft(plan.get(), complex, complex);
}

std::vector<float> band_response(size_t size, double scale)
{
    auto taps = make_fft_buffer(2 * size);
    std::fill_n(taps.get(), 2 * size, 0.0f);
    for (int j = -half_length; j <= half_length; j++) {
        const double x = double(j) / half_length;
        const double window = std::cyl_bessel_i(0.0, kaiser_beta * std::sqrt(1 - x * x)) /
                              std::cyl_bessel_i(0.0, kaiser_beta);
        const double sinc =
            j == 0 ? 2 * cutoff : std::sin(2 * M_PI * cutoff * j) / (M_PI * j);
        taps[2 * ((size + size_t(j)) % size)] = float(window * sinc * scale);
    }
    execute_in_place(transform_of(size).forward, taps.get());
    std::vector<float> response(size);
    for (size_t k = 0; k < size; k++)
        response[k] = taps[2 * k];
    return response;
}

} // namespace gr::aperture::kernels::host
