/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/gpu/memory.h"
#include "kernels/select/input_select.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int threads = 256;

/*!
 * Selects inputs: a thread copies one word, the next thread the next word of the output.
 * \param inputs the selected ones
 * \param words of one channel and input
 * \param total words of the output
 */
template <class Word>
__global__ void select_inputs(const Word* __restrict__ frames,
                              Word* __restrict__ to,
                              const int* __restrict__ inputs,
                              int selected,
                              int of_all,
                              int64_t words,
                              int64_t total)
{
    const int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (i >= total)
        return;
    const int64_t word = i % words, cell = i / words;
    const int64_t row = cell / selected; // frame and channel
    to[i] = frames[(row * of_all + inputs[cell % selected]) * words + word];
}

class cuda_input_select : public input_select
{
public:
    cuda_input_select(const parameters& p, int device)
        : d_p(p), d_device(device), d_inputs(p.selected.size())
    {
        start_with(d_inputs.data(), p.selected);
        load(select_inputs<uint4>);
        load(select_inputs<uint32_t>);
        load(select_inputs<uint8_t>);
    }

    std::string implementation() const override { return "cuda"; }

    void execute(const void* frames, void* selected, int count, stream& s) override
    {
        if (count == 0)
            return;
        const device_guard guard(d_device);
        // an item of masks may have an odd number of bytes
        const auto address =
            reinterpret_cast<uintptr_t>(frames) | reinterpret_cast<uintptr_t>(selected);
        if (d_p.bytes % sizeof(uint4) == 0 && address % sizeof(uint4) == 0)
            run<uint4>(frames, selected, count, s);
        else if (d_p.bytes % sizeof(uint32_t) == 0 && address % sizeof(uint32_t) == 0)
            run<uint32_t>(frames, selected, count, s);
        else
            run<uint8_t>(frames, selected, count, s);
    }

private:
    template <class Word>
    void run(const void* frames, void* selected, int count, stream& s)
    {
        const int64_t total = count * d_p.selected_bytes() / int64_t(sizeof(Word));
        select_inputs<<<blocks_for(total, threads), threads, 0, native(s)>>>(
            static_cast<const Word*>(frames),
            static_cast<Word*>(selected),
            d_inputs.data(),
            int(d_p.selected.size()),
            d_p.inputs,
            d_p.bytes / int64_t(sizeof(Word)),
            total);
        check_launch("selection of inputs");
    }

    const parameters d_p;
    const int d_device;
    device_array<int> d_inputs;
};

} // namespace

template <>
std::unique_ptr<input_select>
make(const input_select::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    return std::make_unique<cuda_input_select>(p, device);
}

} // namespace gr::aperture::kernels::cuda
