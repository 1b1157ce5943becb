/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/planes.h"
#include "kernels/detection/host_detector.h"

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

host_detector::host_detector(const detection& d,
                             int channels,
                             int rows,
                             int times,
                             size_t frame_bytes,
                             worker_maker make_worker)
    : d_sums(d, rows, times),
      d_summed(d.summed_channels),
      d_channels(channels / d.summed_channels),
      d_frame_bytes(frame_bytes),
      d_powers(size_t(rows) * d.product_count() * d_channels),
      d_make_worker(std::move(make_worker)),
      d_running(d.spectra > times ? d_sums.size() * d_channels : 0)
{
}

template <class What>
void host_detector::for_each_channel(int frames, const What& what) const
{
    // starting threads costs some microseconds
    const bool worth_threads = double(frames) * d_frame_bytes > 65536;
#pragma omp parallel if (worth_threads)
    {
        const auto own = d_make_worker(d_sums);
#pragma omp for schedule(static)
        for (int channel = 0; channel < d_channels; channel++)
            what(*own, channel);
    }
}

void host_detector::add(
    worker& w, const void* voltages, int frame, int channel, double* sums) const
{
    const char* in = static_cast<const char*>(voltages) + frame * d_frame_bytes;
    for (int i = 0; i < d_summed; i++)
        w.add(in, channel * d_summed + i, sums);
}

void host_detector::execute(const void* voltages,
                            float* powers,
                            int frames,
                            const detection_scales& scales) const
{
    const int integrations = d_sums.integrations();
    for_each_channel(frames, [&](worker& w, int channel) {
        std::vector<double> sums(d_sums.size());
        for (int frame = 0; frame < frames; frame++) {
            std::fill(sums.begin(), sums.end(), 0);
            add(w, voltages, frame, channel, sums.data());
            for (int i = 0; i < integrations; i++) {
                const size_t integration = size_t(frame) * integrations + i;
                d_sums.write(sums.data() + i * d_sums.size() / integrations,
                             scales,
                             integration,
                             powers + integration * d_powers + channel,
                             d_channels);
            }
        }
    });
}

void host_detector::accumulate(const void* voltages, int frames)
{
    for_each_channel(frames, [&](worker& w, int channel) {
        for (int frame = 0; frame < frames; frame++)
            add(w, voltages, frame, channel, &d_running[channel * d_sums.size()]);
    });
}

void host_detector::dump(float* powers, const detection_scales& scales)
{
    for (int channel = 0; channel < d_channels; channel++)
        d_sums.write(
            &d_running[channel * d_sums.size()], scales, 0, powers + channel, d_channels);
    clear();
}

void host_detector::clear() { std::fill(d_running.begin(), d_running.end(), 0); }

} // namespace gr::aperture::kernels::host
