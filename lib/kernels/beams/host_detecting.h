/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMS_HOST_DETECTING_H
#define INCLUDED_APERTURE_KERNELS_BEAMS_HOST_DETECTING_H

#include "kernels/beams/detection.h"
#include <algorithm>
#include <memory>
#include <vector>

namespace gr::aperture::kernels::host {

//! Voltages of a beam over some time, as planes.
struct planes {
    const float *re, *im;
};

/*!
 * Sums of one output channel over one block, as they are on their way to powers:
 * [integration][row][component], components being |beam|^2, or |x|^2, |y|^2, Re x y*,
 * Im x y*.
 */
class detected_sums
{
public:
    detected_sums(const detection& d, int rows, int times);

    int components() const { return d_components; }
    int rows() const { return d_rows; }
    //! Of a block that end within it, or 1.
    int integrations() const { return std::max(1, d_detect.integrations(d_times)); }
    size_t size() const { return size_t(integrations()) * d_rows * d_components; }

    //! Adds a row's voltages of times first ... first + count - 1 of a block; y only of
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

//! The part of power_detector and beam_power that both have.
template <class interface>
class host_detecting : public interface
{
public:
    //! Adds all rows of a channel of a block. One for each thread.
    class worker
    {
    public:
        virtual ~worker() = default;
        virtual void add(const void* block, int channel, double* sums) = 0;
    };

    void execute(const void* voltages,
                 float* powers,
                 int blocks,
                 const detection_scales& scales,
                 stream&) override
    {
        const int integrations = d_sums.integrations();
        for_each_channel(blocks, [&](worker& w, int channel) {
            std::vector<double> sums(d_sums.size());
            for (int block = 0; block < blocks; block++) {
                std::fill(sums.begin(), sums.end(), 0);
                add(w, voltages, block, channel, sums.data());
                for (int i = 0; i < integrations; i++) {
                    const size_t number = size_t(block) * integrations + i;
                    d_sums.write(sums.data() + i * d_sums.size() / integrations,
                                 scales,
                                 number,
                                 powers + number * d_item + channel,
                                 d_channels);
                }
            }
        });
    }

    void accumulate(const void* voltages, int blocks, stream&) override
    {
        for_each_channel(blocks, [&](worker& w, int channel) {
            for (int block = 0; block < blocks; block++)
                add(w, voltages, block, channel, &d_running[channel * d_sums.size()]);
        });
    }

    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        for (int channel = 0; channel < d_channels; channel++)
            d_sums.write(&d_running[channel * d_sums.size()],
                         scales,
                         0,
                         powers + channel,
                         d_channels);
        clear(s);
    }

    void clear(stream&) override { std::fill(d_running.begin(), d_running.end(), 0); }

protected:
    //! \param block_size bytes of the voltages of a block
    host_detecting(
        const detection& d, int channels, int rows, int times, size_t block_size)
        : d_sums(d, rows, times),
          d_summed(d.summed_channels),
          d_channels(channels / d.summed_channels),
          d_block_size(block_size),
          d_item(size_t(rows) * d.product_count() * d_channels),
          d_running(d.spectra > times ? d_sums.size() * d_channels : 0)
    {
    }

    virtual std::unique_ptr<worker> make_worker() const = 0;
    const detected_sums& sums() const { return d_sums; }

private:
    template <class work>
    void for_each_channel(int blocks, work w)
    {
        // a team of threads costs some microseconds
        const bool worth_threads = double(blocks) * d_block_size > 65536;
#pragma omp parallel if (worth_threads)
        {
            const auto own = make_worker();
#pragma omp for schedule(static)
            for (int channel = 0; channel < d_channels; channel++)
                w(*own, channel);
        }
    }

    //! All channels that become one.
    void add(worker& w, const void* voltages, int block, int channel, double* sums)
    {
        const char* in = static_cast<const char*>(voltages) + block * d_block_size;
        for (int i = 0; i < d_summed; i++)
            w.add(in, channel * d_summed + i, sums);
    }

    const detected_sums d_sums;
    const int d_summed, d_channels; // channels of the output
    const size_t d_block_size;
    const size_t d_item;           // numbers of an integration
    std::vector<double> d_running; // [channel][row][component]
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAMS_HOST_DETECTING_H */
