/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the selection of inputs on the GPU with the host's: the same bits. Needs no
 * GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/select/input_select.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! bytes: of an input, with words of 16, 4 and 1 bytes
void check_input_select(int64_t bytes)
{
    const input_select::parameters p{ 33, 7, bytes, { 6, 0, 1, 2, 4 } };
    const int count = 5;
    std::vector<uint8_t> frames(count * p.frame_bytes());
    for (auto& byte : frames)
        byte = uint8_t(random_bits());
    const guarded in(frames), out(count * p.selected_bytes());
    std::vector<uint8_t> expected(count * p.selected_bytes());
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    host::make<input_select>(p)->execute(frames.data(), expected.data(), count, on_host);
    const auto kernel = cuda::make<input_select>(p, 0);
    kernel->execute(in.data(), out.data(), count, s);
    s.synchronize();
    expect(same_bits(out.values<uint8_t>(), expected), "selection of inputs");
    expect(out.untouched_around(), "selection of inputs, guards");
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_input_select: the selection of inputs of a GPU against the "
                       "host's",
                       { { "input_select", "", [](bool) {
                              for (const int64_t bytes : { 512, 68, 3 })
                                  check_input_select(bytes);
                          } } });
}
