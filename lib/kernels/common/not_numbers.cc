/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/not_numbers.h"
#include "kernels/common/simd.h"
#include <algorithm>
#include <tuple>

namespace gr::aperture::kernels {

void take_runs(std::vector<spectrum_of_input>& spectra,
               const std::function<void(int, int64_t, int64_t)>& see)
{
    std::sort(spectra.begin(), spectra.end(), [](const auto& a, const auto& b) {
        return std::tie(a.input, a.spectrum) < std::tie(b.input, b.spectrum);
    });
    for (size_t i = 0, next; i < spectra.size(); i = next) {
        for (next = i + 1; next < spectra.size() &&
                           spectra[next].input == spectra[i].input &&
                           spectra[next].spectrum == spectra[next - 1].spectrum + 1;)
            next++;
        see(spectra[i].input, spectra[i].spectrum, int64_t(next - i));
    }
    spectra.clear();
}

namespace host {

APERTURE_SIMD bool all_numbers(const float* values, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = std::max(largest, magnitude(values[i]));
    return largest < infinite;
}

APERTURE_SIMD bool copy_numbers(const void* from, size_t count, float* to)
{
    const auto* bytes = static_cast<const char*>(from);
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        float v;
        std::memcpy(&v, bytes + i * sizeof v, sizeof v);
        to[i] = v;
        largest = std::max(largest, magnitude(v));
    }
    return largest < infinite;
}

int64_t clear_not_numbers(float* values,
                          int64_t samples,
                          int components,
                          int64_t stride,
                          const std::function<void(int64_t, int64_t)>& found)
{
    const auto good = [=](int64_t t) {
        return is_number(values[t * stride]) &&
               is_number(values[t * stride + components - 1]);
    };
    const auto report = [&](int64_t first, int64_t end) {
        for (int64_t t = first; t < end; t++)
            std::fill_n(values + t * stride, components, 0.f);
        if (first < end)
            found(first, end - first);
    };
    int64_t first = 0, end = 0, count = 0; // a run that is not over
    for (int64_t t = 0; t < samples; t++) {
        if (good(t))
            continue;
        if (end == 0 || t - end >= apart) {
            report(first, end);
            first = t;
        }
        end = t + 1;
        count++;
    }
    report(first, end);
    return count;
}

} // namespace host
} // namespace gr::aperture::kernels
