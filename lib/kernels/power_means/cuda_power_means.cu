/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/power_means/power_cell.h"
#include "kernels/power_means/power_means.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr size_t most_missing = 1 << 20; // bytes that are uploaded at once

//! The arguments of the kernels.
struct setting {
    mask_layout mask;
    const uint8_t* masks;    // [frame][channel][source][byte]
    const uint32_t* missing; // [frame][source][word], or nullptr
    const int* sources;      // [beam + 1], where those of a beam begin; then all of them
    int beams, bytes, words;
    detection::product_set products;
    detection::feeds basis;
    bool pairs, mean;
    int rows, channels, summed, product_count, sum_count;

    __device__ lost_of_channel lost(int frame, int channel) const
    {
        const int64_t item = int64_t(mask.channels) * mask.inputs * bytes;
        return { masks + frame * item + int64_t(channel) * mask.inputs * bytes,
                 missing ? missing + int64_t(frame) * mask.inputs * words : nullptr,
                 bytes,
                 words,
                 mask.inputs,
                 mask.spectra_per_frame,
                 mask.spectra_per_slice };
    }
    __device__ sources_of_beam beam(int number) const
    {
        return { sources + beams + 1 + sources[number],
                 sources[number + 1] - sources[number] };
    }
    __device__ void
    add(const lost_of_channel& l, int row, int first, int end, part_counts& to) const
    {
        if (!pairs) {
            add_lost(l, beam(row), nullptr, first, end, to);
        } else {
            const auto y = beam(2 * row + 1);
            add_lost(l, beam(2 * row), &y, first, end, to);
        }
    }
    __device__ void write(int64_t item,
                          int row,
                          int channel,
                          const part_counts& lost,
                          uint32_t all,
                          const float* sums,
                          float* powers,
                          uint32_t* counts) const
    {
        const part_counts there{ all - lost.x, all - lost.y, all - lost.either };
        const int64_t first = item * rows + row;
        write_powers(products,
                     basis,
                     sums + first * sum_count * channels + channel,
                     channels,
                     mean ? &there : nullptr,
                     powers + first * product_count * channels + channel);
        counts[first * channels + channel] = pairs ? there.either : there.x;
    }
};

//! Integrations within frames; a thread has a channel of a row.
__global__ void write_means(setting s,
                            int64_t cells,
                            int parts,
                            int spectra,
                            const float* sums,
                            float* powers,
                            uint32_t* counts)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= cells)
        return;
    const int channel = int(i % s.channels), row = int(i / s.channels % s.rows);
    const int64_t item = i / s.channels / s.rows;
    const int first = int(item % parts) * spectra;
    part_counts lost;
    for (int c = 0; c < s.summed; c++)
        s.add(s.lost(int(item / parts), channel * s.summed + c),
              row,
              first,
              first + spectra,
              lost);
    s.write(item, row, channel, lost, uint32_t(spectra) * s.summed, sums, powers, counts);
}

//! \param running [row][channel that comes in]
__global__ void add_frames(setting s, int frames, part_counts* running)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= int64_t(s.rows) * s.mask.channels)
        return;
    const int channel = int(i % s.mask.channels), row = int(i / s.mask.channels);
    part_counts lost = running[i];
    for (int frame = 0; frame < frames; frame++)
        s.add(s.lost(frame, channel), row, 0, s.mask.spectra_per_frame, lost);
    running[i] = lost;
}

__global__ void dump_means(setting s,
                           const part_counts* running,
                           uint32_t all,
                           const float* sums,
                           float* powers,
                           uint32_t* counts)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= int64_t(s.rows) * s.channels)
        return;
    const int channel = int(i % s.channels), row = int(i / s.channels);
    part_counts lost;
    for (int c = 0; c < s.summed; c++) {
        const part_counts one =
            running[int64_t(row) * s.mask.channels + channel * s.summed + c];
        lost.x += one.x;
        lost.y += one.y;
        lost.either += one.either;
    }
    s.write(0, row, channel, lost, all, sums, powers, counts);
}

class cuda_power_means : public power_means
{
public:
    cuda_power_means(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_row(words_of(p.mask.spectra_per_frame)),
          d_most_missing(int(
              std::max<size_t>(1, most_missing / (4 * size_t(d_row) * p.mask.inputs)))),
          d_sums(size_t(p.most_frames()) * p.integrations() * p.sums()),
          d_running(size_t(p.rows()) * p.mask.channels),
          d_missing(size_t(d_most_missing) * p.mask.inputs * d_row),
          d_sources(size_t(p.beams) * (p.mask.inputs + 1) + 1, 3)
    {
        load(write_means);
        load(add_frames);
        load(dump_means);
        check(cudaMemset(d_running.data(), 0, d_running.bytes()), "clearing GPU memory");
        std::vector<std::vector<int>> own(p.beams);
        for (int beam = 0; beam < p.beams; beam++)
            own[beam] = { beam };
        start_with(d_sources.data(), listed(own));
    }

    float* sums() override { return d_sums.data(); }

    void set_sources(const std::vector<std::vector<int>>& of_beams, stream& s) override
    {
        const device_guard guard(d_device);
        const auto list = listed(of_beams);
        d_sources.set(list.data(), list.size(), native(s));
    }

    void execute(const void* masks,
                 int frames,
                 const missing_spectra& missing,
                 float* powers,
                 uint32_t* counts,
                 stream& s) override
    {
        const device_guard guard(d_device);
        const int parts = d_p.integrations();
        in_groups(
            masks, frames, missing, s, [&](const setting& of, int first, int count) {
                const size_t item = size_t(first) * parts;
                const int64_t cells = int64_t(count) * parts * d_p.counts();
                write_means<<<blocks_for(cells, 128), 128, 0, native(s)>>>(
                    of,
                    cells,
                    parts,
                    int(d_p.detect.spectra),
                    d_sums.data() + item * d_p.sums(),
                    powers + item * d_p.powers(),
                    counts + item * d_p.counts());
                check_launch("power means");
            });
    }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        const device_guard guard(d_device);
        d_counted += int64_t(frames) * d_p.mask.spectra_per_frame;
        in_groups(masks, frames, missing, s, [&](const setting& of, int, int count) {
            add_frames<<<blocks_for(d_running.size(), 128), 128, 0, native(s)>>>(
                of, count, d_running.data());
            check_launch("power means, adding");
        });
    }

    void dump(float* powers, uint32_t* counts, stream& s) override
    {
        const device_guard guard(d_device);
        dump_means<<<blocks_for(d_p.counts(), 128), 128, 0, native(s)>>>(
            setting_of(nullptr),
            d_running.data(),
            uint32_t(d_counted * d_p.detect.summed_channels),
            d_sums.data(),
            powers,
            counts);
        check_launch("power means, dump");
        clear(s);
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        d_counted = 0;
        check(cudaMemsetAsync(d_running.data(), 0, d_running.bytes(), native(s)),
              "clearing counts");
    }

private:
    static std::vector<int> listed(const std::vector<std::vector<int>>& of_beams)
    {
        std::vector<int> list{ 0 }, all;
        for (const auto& sources : of_beams) {
            all.insert(all.end(), sources.begin(), sources.end());
            list.push_back(int(all.size()));
        }
        list.insert(list.end(), all.begin(), all.end());
        return list;
    }

    setting setting_of(const void* masks) const
    {
        const auto& d = d_p.detect;
        return { d_p.mask,
                 static_cast<const uint8_t*>(masks),
                 nullptr,
                 d_sources.data(),
                 d_p.beams,
                 d_p.mask.bytes_per_input(),
                 d_row,
                 d.products,
                 d.basis,
                 d.of_pairs(),
                 d_p.mean,
                 d_p.rows(),
                 d_p.channels(),
                 d.summed_channels,
                 d.product_count(),
                 d_p.summed().product_count() };
    }

    //! Calls then(setting, first, count) for all frames whose missing spectra fit at
    //! once.
    template <class Then>
    void in_groups(const void* masks,
                   int frames,
                   const missing_spectra& missing,
                   stream& s,
                   const Then& then)
    {
        const int most = missing.empty() ? frames : d_most_missing;
        for (int first = 0; first < frames; first += most) {
            const int count = std::min(most, frames - first);
            auto of = setting_of(static_cast<const uint8_t*>(masks) +
                                 first * d_p.mask.item_bytes());
            if (!missing.empty()) {
                d_missing.set(missing.words().data() + missing.row(first, 0),
                              size_t(count) * d_p.mask.inputs * d_row,
                              native(s));
                of.missing = d_missing.data();
            }
            then(of, first, count);
        }
    }

    const parameters d_p;
    const int d_device, d_row, d_most_missing;
    device_array<float> d_sums;
    device_array<part_counts> d_running; // lost spectra
    uploaded_array<uint32_t> d_missing;
    uploaded_array<int> d_sources;
    int64_t d_counted = 0; // spectra, with those that are lost
};

} // namespace

//! Power means on a GPU of this index.
template <>
std::unique_ptr<power_means>
make(const power_means::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_power_means>(p, device);
}

} // namespace gr::aperture::kernels::cuda
