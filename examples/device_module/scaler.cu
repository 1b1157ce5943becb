/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "scaler.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/device/host_work.h>
#include <algorithm>
#include <stdexcept>

using namespace gr::aperture;

#ifdef __CUDACC__
__global__ void scale(float* out, const float* in, float factor, size_t count)
{
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < count)
        out[i] = in[i] * factor;
}
#endif

class scaler : public device_block
{
public:
    scaler(float factor, const device& d)
        : gr::block("scaler",
                    signature_on(d, 1, sizeof(gr_complex)),
                    signature_on(d, 1, sizeof(gr_complex))),
          device_block(d),
          d_factor(factor)
    {
    }

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override
    {
        const int items = std::min(noutput_items, ninput_items[0]);
        const size_t count = 2 * size_t(items), bytes = count * sizeof(float);
        const float factor = d_factor;
        if (runs_on().type() == device::kind::cuda) {
#ifdef __CUDACC__
            scale<<<unsigned((count + 255) / 256),
                    256,
                    0,
                    static_cast<cudaStream_t>(work_stream().native_handle())>>>(
                static_cast<float*>(output_items[0]),
                static_cast<const float*>(input_items[0]),
                factor,
                count);
            if (const auto status = cudaGetLastError())
                throw std::runtime_error(cudaGetErrorString(status));
#else
            throw std::runtime_error("this module was built without CUDA");
#endif
        } else
            run_on_host(work_stream(),
                        { { input_items[0], bytes } },
                        { { output_items[0], bytes } },
                        [=](const auto& in, const auto& out) {
                            const auto* from = static_cast<const float*>(in[0]);
                            std::transform(from,
                                           from + count,
                                           static_cast<float*>(out[0]),
                                           [=](float x) { return x * factor; });
                        });
        consume_each(items);
        return items;
    }

private:
    const float d_factor;
};

gr::block_sptr make_scaler(float factor, const std::string& name)
{
    return gnuradio::make_block_sptr<scaler>(factor, device::select(name));
}
