/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/mask_counts/mask_counts.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile = 64;       // inputs
constexpr int most_words = 32; // words of a row in shared memory at once
constexpr int side = 16;       // threads, each of which has 4 x 4 pairs of a tile
constexpr int each = tile / side;
constexpr size_t most_missing = 1 << 20; // bytes that are uploaded at once

//! The input of the counts: rows of 32-bit words, for each channel and input.
struct rows {
    mask_layout mask;
    const uint8_t* masks;    // [frame][channel][input][byte]
    const uint8_t* slices;   // missing slices, [frame][input][byte], or nullptr
    const uint32_t* spectra; // missing spectra, [frame][input][word], or nullptr
    int frames;
    int bytes, words; // bytes of an input in a mask, and words in spectra

    //! Bits of one row: frames behind one another, by slices byte by byte.
    __device__ int count() const
    {
        return spectra ? frames * words : (frames * bytes + 3) / 4;
    }
    __device__ uint32_t word(int channel, int input, int number) const
    {
        const int64_t item = int64_t(mask.channels) * mask.inputs * bytes;
        const int64_t offset = (int64_t(channel) * mask.inputs + input) * bytes;
        if (spectra) {
            const int frame = number / words, first = number % words * 32;
            return spectra[(int64_t(frame) * mask.inputs + input) * words + first / 32] |
                   flagged_spectra(masks + frame * item + offset,
                                   mask.spectra_per_slice,
                                   first,
                                   min(32, mask.spectra_per_frame - first));
        }
        uint32_t bits = 0;
        const int end = min(4 * number + 4, frames * bytes);
        for (int at = 4 * number; at < end; at++) {
            const int frame = at / bytes, byte = at % bytes;
            uint32_t lost = masks[frame * item + offset + byte];
            if (slices)
                lost |= slices[(int64_t(frame) * mask.inputs + input) * bytes + byte];
            bits |= lost << 8 * (at % 4);
        }
        return bits;
    }
};

/*!
 * Adds the spectra that pairs of inputs both lack. A block has a channel and a pair of
 * tiles of inputs, and is done early where one of them lacks nothing.
 * \param common [channel][product], or [channel][input]
 */
__global__ void __launch_bounds__(side* side)
    add_common(rows r, bool products, uint32_t weight, uint32_t* common)
{
    // padded so that a warp's threads, which read 4 rows, meet no bank conflicts
    __shared__ uint32_t of_a[most_words][tile + 1], of_b[most_words][tile + 1];
    const int channel = blockIdx.x, inputs = r.mask.inputs;
    // tiles of the triangle, or of its diagonal
    int tile_a = blockIdx.y, tile_b = blockIdx.y;
    if (products) {
        tile_a = int((sqrtf(8.f * blockIdx.y + 1) - 1) / 2);
        while ((tile_a + 1) * (tile_a + 2) / 2 <= int(blockIdx.y))
            tile_a++;
        while (tile_a * (tile_a + 1) / 2 > int(blockIdx.y))
            tile_a--;
        tile_b = blockIdx.y - tile_a * (tile_a + 1) / 2;
    }
    const int first_a = tile_a * tile, first_b = tile_b * tile;
    const int at_a = threadIdx.x / side, at_b = threadIdx.x % side;
    uint32_t sums[each][each] = {};
    bool any = false;
    for (int first = 0; first < r.count(); first += most_words) {
        const int words = min(most_words, r.count() - first);
        uint32_t bits_a = 0, bits_b = 0;
        for (int i = threadIdx.x; i < tile * words; i += side * side) {
            const int input = i % tile, word = i / tile;
            const uint32_t a = first_a + input < inputs
                                   ? r.word(channel, first_a + input, first + word)
                                   : 0;
            const uint32_t b = tile_a == tile_b ? a
                               : first_b + input < inputs
                                   ? r.word(channel, first_b + input, first + word)
                                   : 0;
            of_a[word][input] = a;
            of_b[word][input] = b;
            bits_a |= a;
            bits_b |= b;
        }
        const bool some_a = __syncthreads_or(bits_a != 0);
        const bool some_b = __syncthreads_or(bits_b != 0);
        if (some_a && some_b) {
            any = true;
            for (int word = 0; word < words; word++) {
                uint32_t a[each], b[each];
#pragma unroll
                for (int i = 0; i < each; i++) {
                    a[i] = of_a[word][at_a + i * side];
                    b[i] = of_b[word][at_b + i * side];
                }
#pragma unroll
                for (int i = 0; i < each; i++)
#pragma unroll
                    for (int j = 0; j < each; j++)
                        sums[i][j] += __popc(a[i] & b[j]);
            }
        }
        __syncthreads();
    }
    if (!any)
        return;
    const int64_t per_channel =
        products ? int64_t(inputs) * (inputs + 1) / 2 : int64_t(inputs);
#pragma unroll
    for (int i = 0; i < each; i++)
#pragma unroll
        for (int j = 0; j < each; j++) {
            const int64_t a = first_a + at_a + i * side, b = first_b + at_b + j * side;
            if (a >= inputs || b > a || (!products && a != b))
                continue;
            common[channel * per_channel + (products ? a * (a + 1) / 2 + b : a)] +=
                weight * sums[i][j];
        }
}

//! Counts of one input, and of its products with those up to it.
__global__ void write_counts(
    const uint32_t* common, int inputs, bool products, uint32_t all, uint32_t* to)
{
    const int64_t channel = blockIdx.x, a = blockIdx.y;
    if (!products) {
        if (threadIdx.x == 0)
            to[channel * inputs + a] = all - common[channel * inputs + a];
        return;
    }
    const int64_t first = channel * (int64_t(inputs) * (inputs + 1) / 2);
    const uint32_t alone = common[first + a * (a + 1) / 2 + a];
    for (int64_t b = threadIdx.x; b <= a; b += blockDim.x)
        to[first + a * (a + 1) / 2 + b] = all - alone -
                                          common[first + b * (b + 1) / 2 + b] +
                                          common[first + a * (a + 1) / 2 + b];
}

class cuda_mask_counts : public mask_counts
{
public:
    cuda_mask_counts(const parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_row(words_of(p.mask.spectra_per_frame)),
          d_most_frames(int(
              std::max<size_t>(1, most_missing / (4 * size_t(d_row) * p.mask.inputs)))),
          d_common(p.size()),
          d_spectra(size_t(d_most_frames) * p.mask.inputs * d_row),
          d_slices(size_t(d_most_frames) * p.mask.inputs * p.mask.bytes_per_input())
    {
        load(add_common);
        load(write_counts);
        start_with_zeros(d_common.data(), d_common.size());
    }

    std::string implementation() const override { return "cuda"; }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        const device_guard guard(d_device);
        const mask_layout& m = d_p.mask;
        d_counted += int64_t(frames) * m.spectra_per_frame;
        std::vector<uint8_t> slices;
        if (!missing.empty())
            slices = missing.as_slices(m);
        const int most = missing.empty() ? frames : d_most_frames;
        for (int first = 0; first < frames; first += most) {
            rows r{ m,
                    static_cast<const uint8_t*>(masks) + first * m.item_bytes(),
                    nullptr,
                    nullptr,
                    std::min(most, frames - first),
                    m.bytes_per_input(),
                    d_row };
            const size_t of_inputs = size_t(r.frames) * m.inputs;
            if (!slices.empty()) {
                d_slices.set(slices.data() + size_t(first) * m.inputs * r.bytes,
                             of_inputs * r.bytes,
                             native(s));
                r.slices = d_slices.data();
            } else if (!missing.empty()) {
                d_spectra.set(missing.words().data() + missing.row(first, 0),
                              of_inputs * d_row,
                              native(s));
                r.spectra = d_spectra.data();
            }
            const int tiles = (m.inputs + tile - 1) / tile;
            const dim3 grid(m.channels, d_p.products ? tiles * (tiles + 1) / 2 : tiles);
            add_common<<<grid, side * side, 0, native(s)>>>(
                r, d_p.products, r.spectra ? 1 : m.spectra_per_slice, d_common.data());
            check_launch("mask counts");
        }
    }

    void dump(uint32_t* counts, stream& s) override
    {
        const device_guard guard(d_device);
        const mask_layout& m = d_p.mask;
        write_counts<<<dim3(m.channels, m.inputs), 128, 0, native(s)>>>(
            d_common.data(), m.inputs, d_p.products, uint32_t(d_counted), counts);
        check_launch("mask counts, dump");
        clear(s);
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        d_counted = 0;
        check(cudaMemsetAsync(d_common.data(), 0, d_common.bytes(), native(s)),
              "clearing counts");
    }

private:
    const parameters d_p;
    const int d_device, d_row, d_most_frames;
    device_array<uint32_t> d_common;
    uploaded_array<uint32_t> d_spectra;
    uploaded_array<uint8_t> d_slices;
    int64_t d_counted = 0; // spectra, with those that are lost
};

} // namespace

template <>
std::unique_ptr<mask_counts>
make(const mask_counts::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_mask_counts>(p, device);
}

} // namespace gr::aperture::kernels::cuda
