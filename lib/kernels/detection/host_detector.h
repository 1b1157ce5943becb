/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DETECTION_HOST_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_DETECTION_HOST_DETECTOR_H

#include "kernels/detection/detection.h"
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace gr::aperture::kernels::host {

//! Voltages of a beam over some time, as planes.
struct planes {
    const float *re, *im;
};

/*!
 * Sums of one output channel over one frame, as they are on their way to powers:
 * [integration][row][component], components being |beam|^2, or |x|^2, |y|^2, Re x y*,
 * Im x y*.
 */
class detected_sums
{
public:
    detected_sums(const detection& d, int rows, int times);

    int components() const { return d_components; }
    int rows() const { return d_rows; }
    //! Returns the integrations that end within a frame, or 1.
    int integrations() const { return std::max(1, d_detect.integrations(d_times)); }
    size_t size() const { return size_t(integrations()) * d_rows * d_components; }

    //! Adds a row's voltages of times first ... first + count - 1 of a frame; y only of
    //! pairs.
    void add(double* sums,
             int row,
             int first,
             int count,
             const planes& x,
             const planes& y) const;

    //! Sums of an integration -> powers [row][product] of one channel of many.
    void write(const double* sums,
               const detection_scales& scales,
               size_t integration,
               float* powers,
               size_t channels) const;

private:
    const detection d_detect;
    const int d_rows, d_times, d_components;
};

/*!
 * Makes powers of frames, channel by channel, by workers that say what is to be summed:
 * what the host's power_detector and beam_power are made around. Keeps the running sums
 * of integrations of several frames. See detecting_kernel.
 */
class host_detector
{
public:
    //! Adds all rows of one channel of a frame to sums as detected_sums has them. Each
    //! thread has one of its own.
    class worker
    {
    public:
        virtual ~worker() = default;
        virtual void add(const void* frame, int channel, double* sums) = 0;
    };
    using worker_maker = std::function<std::unique_ptr<worker>(const detected_sums&)>;

    //! \param channels, times of a frame of voltages, which has frame_bytes
    //! \param rows of an integration, one for each beam or pair
    host_detector(const detection& d,
                  int channels,
                  int rows,
                  int times,
                  size_t frame_bytes,
                  worker_maker make_worker);

    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales) const;
    void accumulate(const void* voltages, int frames);
    void dump(float* powers, const detection_scales& scales);
    void clear();

private:
    //! Calls what(worker, channel) for each channel of the output, by several threads if
    //! that is worth it.
    template <class What>
    void for_each_channel(int frames, const What& what) const;
    //! Adds all channels of a frame that become one.
    void add(worker& w, const void* voltages, int frame, int channel, double* sums) const;

    const detected_sums d_sums;
    const int d_summed, d_channels; // channels of the output
    const size_t d_frame_bytes;
    const size_t d_powers; // powers of an integration
    const worker_maker d_make_worker;
    std::vector<double> d_running; // [channel][row][component]
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_HOST_DETECTOR_H */
