/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/fft.h"
#include "kernels/gpu/memory.h"
#include "kernels/synthesis/synthesizer.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile = 32; // channels and times that are transposed together
constexpr int threads = 128;

//! The arguments of all kernels that do not change.
struct layout {
    int channels, beams, times; // extents of a frame
    int points, hop, lead;
    int64_t coefficients; // length of the prototype
    int slots;            // spectra that are kept
    int64_t room;         // samples of a plane
};

__device__ float2 sample_at(const float2* frame, int64_t at) { return frame[at]; }
__device__ float2 sample_at(const char2* frame, int64_t at)
{
    return { float(frame[at].x), float(frame[at].y) };
}

/*!
 * Reads spectra into lines [time][beam][bin]: channel k goes to bin c - k, as a forward
 * transform is to have the sign of a backward one. A block has a tile of bins and times
 * of one beam; bins without a channel become zeros.
 */
template <class Sample>
__global__ void
read_spectra(layout l, const Sample* frame, int first, int count, float2* lines)
{
    __shared__ float2 cells[tile][tile + 1];
    const int beam = blockIdx.z;
    const int bin0 = blockIdx.x * tile, time0 = blockIdx.y * tile;
    for (int i = threadIdx.y; i < tile; i += blockDim.y) {
        const int bin = bin0 + i, time = time0 + int(threadIdx.x);
        // bin = c - k, or c - k + points
        int channel = l.channels / 2 - bin;
        if (channel < 0)
            channel += l.points;
        float2 sample{ 0, 0 };
        if (frame && bin < l.points && channel < l.channels && time < count)
            sample = sample_at(
                frame, (int64_t(channel) * l.beams + beam) * l.times + first + time);
        cells[i][threadIdx.x] = sample;
    }
    __syncthreads();
    for (int i = threadIdx.y; i < tile; i += blockDim.y) {
        const int bin = bin0 + int(threadIdx.x), time = time0 + i;
        if (bin < l.points && time < count)
            lines[(int64_t(time) * l.beams + beam) * l.points + bin] =
                cells[threadIdx.x][i];
    }
}

//! Makes the samples that some spectra complete; a thread has one of a beam.
//! \param spectra [slot][beam][point]
//! \param planes [beam][re, im][room], from the first of these samples on
__global__ void sum_spectra(layout l,
                            const float* prototype,
                            const float2* spectra,
                            int64_t spectrum,
                            int count,
                            synthesizer::mixing m,
                            float* planes)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= int64_t(count) * l.hop)
        return;
    const int beam = blockIdx.y;
    const int t = int(i / l.hop), r = int(i % l.hop);
    const int64_t number = spectrum + t;
    int64_t point = (number * l.hop - l.lead + r) % l.points;
    if (point < 0)
        point += l.points;
    int slot = int((number % l.slots + l.slots) % l.slots);
    float2 sum{ 0, 0 };
    for (int64_t at = r; at < l.coefficients; at += l.hop) {
        const float2 value = spectra[(int64_t(slot) * l.beams + beam) * l.points + point];
        sum.x += prototype[at] * value.x;
        sum.y += prototype[at] * value.y;
        slot = slot == 0 ? l.slots - 1 : slot - 1;
    }
    const double cycles = m.start + double(m.sample + i) * m.slope;
    double s, c;
    sincospi(2 * (cycles - floor(cycles)), &s, &c);
    const float re = float(c), im = float(s);
    float* to = planes + int64_t(beam) * 2 * l.room + i;
    to[0] = sum.x * re - sum.y * im;
    to[l.room] = sum.x * im + sum.y * re;
}

//! Copies the samples that are kept, from one memory to the other.
__global__ void keep_samples(int64_t room, const float* from, int count, float* to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[int64_t(blockIdx.y) * room + i] = from[int64_t(blockIdx.y) * room + i];
}

//! \param output [time][beam]
__global__ void
write_complex(layout l, const float* planes, int64_t first, int64_t count, float2* output)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= count * l.beams)
        return;
    const float* from = planes + i % l.beams * 2 * l.room + first + i / l.beams;
    output[i] = { from[0], from[l.room] };
}

//! \param rows of the filter, [phases + 1][taps]
__global__ void write_real(layout l,
                           const float* planes,
                           const float* rows,
                           int taps,
                           output_places places,
                           int quarters,
                           int64_t count,
                           float* output)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= count * l.beams)
        return;
    const int64_t q = i / l.beams;
    const auto place = places.of(q);
    const double phase = place.fraction * fractional_filter::phases;
    const float part = float(phase - int(phase));
    const float* row = rows + int64_t(phase) * taps;
    const int turn = int((q + quarters) % 4);
    const float* samples =
        planes + (i % l.beams * 2 + turn % 2) * l.room + place.sample - taps / 2 + 1;
    float sum = 0;
    for (int tap = 0; tap < taps; tap++)
        sum += (row[tap] + part * (row[tap + taps] - row[tap])) * samples[tap];
    // the real part of u i^turn
    output[i] = turn == 1 || turn == 2 ? -sum : sum;
}

template <class Sample>
__global__ void write_zeros(int beams, synthesizer::zeros z, Sample* output)
{
    const int64_t i = z.first + blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < z.end)
        output[i * beams + z.beam] = Sample{};
}

class cuda_synthesizer : public synthesizer
{
public:
    cuda_synthesizer(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_slots(p.depth() + p.most_spectra - 1),
          d_layout{ p.channels, p.beams, p.spectra_per_frame,         p.points,
                    p.hop,      p.lead,  int64_t(p.prototype.size()), d_slots,
                    p.room() },
          d_fft(p.points, true, lines_of(p)),
          d_prototype(p.prototype.size()),
          d_rows(p.filter.rows.size()),
          d_spectra(size_t(d_slots) * p.beams * p.points),
          d_planes{ device_array<float>(size_t(p.beams) * 2 * p.room()),
                    device_array<float>(size_t(p.beams) * 2 * p.room()) }
    {
        load_kernels();
        start_with(d_prototype.data(), p.prototype);
        if (!p.filter.rows.empty())
            start_with(d_rows.data(), p.filter.rows);
        start_with_zeros(d_spectra.data(), d_spectra.size());
    }

    std::string implementation() const override { return "cuda cufft"; }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        check(cudaMemsetAsync(d_spectra.data(), 0, d_spectra.bytes(), native(s)),
              "clearing spectra");
        d_held = 0;
    }

    void add(const void* frame,
             int first,
             int count,
             int64_t spectrum,
             const mixing& m,
             int keep,
             stream& s) override
    {
        const device_guard guard(d_device);
        float* planes = d_planes[1 - d_used].data();
        if (keep > 0) {
            keep_samples<<<dim3(blocks_for(keep, threads), 2 * d_p.beams),
                           threads,
                           0,
                           native(s)>>>(
                d_p.room(), d_planes[d_used].data() + d_held - keep, keep, planes);
            check_launch("keeping samples");
        }
        d_used = 1 - d_used;
        // spectra lie in a ring: those of a call are up to two runs of slots
        for (int done = 0; done < count;) {
            const int slot = int(((spectrum + done) % d_slots + d_slots) % d_slots);
            const int together = std::min(count - done, d_slots - slot);
            float2* lines = d_spectra.data() + int64_t(slot) * d_p.beams * d_p.points;
            if (d_p.input == sample_type::sc8)
                read(static_cast<const char2*>(frame), first + done, together, lines, s);
            else
                read(static_cast<const float2*>(frame), first + done, together, lines, s);
            d_fft.transform(reinterpret_cast<float*>(lines),
                            lines,
                            size_t(together) * d_p.beams,
                            native(s));
            done += together;
        }
        sum_spectra<<<dim3(blocks_for(int64_t(count) * d_p.hop, threads), d_p.beams),
                      threads,
                      0,
                      native(s)>>>(d_layout,
                                   d_prototype.data(),
                                   d_spectra.data(),
                                   spectrum,
                                   count,
                                   m,
                                   planes + keep);
        check_launch("synthesis");
        d_held = keep + int64_t(count) * d_p.hop;
    }

    void write(void* output,
               int64_t count,
               const output_places& places,
               int quarters,
               const std::vector<zeros>& empty,
               stream& s) override
    {
        const device_guard guard(d_device);
        const float* planes = d_planes[d_used].data();
        const unsigned blocks = blocks_for(count * d_p.beams, threads);
        if (d_p.real())
            write_real<<<blocks, threads, 0, native(s)>>>(d_layout,
                                                          planes,
                                                          d_rows.data(),
                                                          d_p.filter.taps,
                                                          places,
                                                          quarters,
                                                          count,
                                                          static_cast<float*>(output));
        else
            write_complex<<<blocks, threads, 0, native(s)>>>(
                d_layout, planes, places.first, count, static_cast<float2*>(output));
        check_launch("synthesised samples");
        for (const auto& z : empty) {
            const unsigned parts = blocks_for(z.end - z.first, threads);
            if (d_p.real())
                write_zeros<<<parts, threads, 0, native(s)>>>(
                    d_p.beams, z, static_cast<float*>(output));
            else
                write_zeros<<<parts, threads, 0, native(s)>>>(
                    d_p.beams, z, static_cast<float2*>(output));
            check_launch("missing samples");
        }
    }

private:
    //! Returns a power of two of lines that are transformed at once.
    static size_t lines_of(const parameters& p)
    {
        size_t lines = 1;
        while (2 * lines <= size_t(p.most_spectra) * p.beams)
            lines *= 2;
        return lines;
    }

    static void load_kernels()
    {
        load(read_spectra<float2>);
        load(read_spectra<char2>);
        load(sum_spectra);
        load(keep_samples);
        load(cuda::write_complex);
        load(cuda::write_real);
        load(write_zeros<float>);
        load(write_zeros<float2>);
    }

    template <class Sample>
    void read(const Sample* frame, int first, int count, float2* lines, stream& s)
    {
        const dim3 blocks((d_p.points + tile - 1) / tile,
                          (count + tile - 1) / tile,
                          unsigned(d_p.beams));
        read_spectra<<<blocks, dim3(tile, 8), 0, native(s)>>>(
            d_layout, frame, first, count, lines);
        check_launch("reading channels");
    }

    const parameters d_p;
    const int d_device, d_slots;
    const layout d_layout;
    line_fft d_fft;
    device_array<float> d_prototype, d_rows;
    device_array<float2> d_spectra;  // [slot][beam][point], after the transform
    device_array<float> d_planes[2]; // [beam][re, im][room()]; one is used
    int d_used = 0;
    int64_t d_held = 0; // samples of each beam
};

} // namespace

//! A synthesizer on a GPU of this index.
template <>
std::unique_ptr<synthesizer>
make(const synthesizer::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_synthesizer>(p, device);
}

} // namespace gr::aperture::kernels::cuda
