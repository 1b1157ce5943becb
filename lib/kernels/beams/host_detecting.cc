/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beams/host_detecting.h"
#include "kernels/common/planes.h"

namespace gr::aperture::kernels::host {

namespace {

int components_of(const detection& d)
{
    switch (d.products) {
    case detection::product_set::power:
        return 1;
    case detection::product_set::intensity:
        return 2; // no x y*
    default:
        return 4;
    }
}

} // namespace

detected_sums::detected_sums(const detection& d, int rows, int times)
    : d_detect(d), d_rows(rows), d_times(times), d_components(components_of(d))
{
}

void detected_sums::add(
    double* sums, int row, int first, int count, const planes& x, const planes& y) const
{
    const int64_t length = std::min<int64_t>(d_detect.spectra, d_times);
    for (int t = 0; t < count;) {
        const int64_t integration = (first + t) / length;
        const int end = int(std::min<int64_t>(count, (integration + 1) * length - first));
        const size_t n = end - t;
        double* to = sums + (integration * d_rows + row) * d_components;
        to[0] += power_of(x.re + t, x.im + t, n);
        if (d_components > 1)
            to[1] += power_of(y.re + t, y.im + t, n);
        if (d_components > 2) {
            float cross[2];
            cross_power_of(x.re + t, x.im + t, y.re + t, y.im + t, n, cross);
            to[2] += cross[0];
            to[3] += cross[1];
        }
        t = end;
    }
}

void detected_sums::write(const double* sums,
                          const detection_scales& scales,
                          size_t integration,
                          float* powers,
                          size_t channels) const
{
    const int products = d_detect.product_count(), parts = d_detect.parts();
    const bool linear = d_detect.basis == detection::feeds::linear;
    for (int row = 0; row < d_rows; row++) {
        const double* sum = sums + size_t(row) * d_components;
        double s[3];
        for (int part = 0; part < parts; part++)
            s[part] = scales.values[scales.count == 1
                                        ? 0
                                        : (integration * d_rows + row) * parts + part];
        float* out = powers + size_t(row) * products * channels;
        if (d_components == 1) {
            out[0] = float(sum[0] * s[0]);
            continue;
        }
        const double x = sum[0] * s[0], y = sum[1] * s[1];
        if (d_components == 2) {
            out[0] = float(x + y);
            continue;
        }
        const double re = sum[2] * s[2], im = sum[3] * s[2];
        if (d_detect.products == detection::product_set::coherency) {
            out[0] = float(x);
            out[channels] = float(y);
            out[2 * channels] = float(re);
            out[3 * channels] = float(im);
        } else { // I, Q, U, V
            out[0] = float(x + y);
            out[(linear ? 1 : 3) * channels] = float(x - y);
            out[(linear ? 2 : 1) * channels] = float(2 * re);
            out[(linear ? 3 : 2) * channels] = float(2 * im);
        }
    }
}

} // namespace gr::aperture::kernels::host
