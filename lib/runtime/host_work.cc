/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/emulated.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/host_work.h>
#include <stdexcept>

namespace gr::aperture {

namespace {

void run_now(const std::vector<input_span>& inputs,
             const std::vector<output_span>& outputs,
             const host_work& work)
{
    std::vector<const void*> in;
    for (const auto& span : inputs)
        in.push_back(span.memory);
    std::vector<void*> out;
    for (const auto& span : outputs)
        out.push_back(span.memory);
    work(in, out);
}

//! Returns the contents of a span of the emulated device's memory, as the host reads it.
std::vector<char> unmasked(const void* memory, size_t bytes)
{
    std::vector<char> plain(bytes);
    emulated::copy_masked(plain.data(), memory, bytes);
    return plain;
}

void run_unmasked(const std::vector<input_span>& inputs,
                  const std::vector<output_span>& outputs,
                  const host_work& work)
{
    std::vector<std::vector<char>> copies;
    std::vector<const void*> in;
    for (const auto& span : inputs) {
        copies.push_back(unmasked(span.memory, span.bytes));
        in.push_back(copies.back().data());
    }
    const size_t first_output = copies.size();
    std::vector<void*> out;
    for (const auto& span : outputs) {
        copies.push_back(unmasked(span.memory, span.bytes));
        out.push_back(copies.back().data());
    }
    work(in, out);
    for (size_t i = 0; i < outputs.size(); i++)
        emulated::copy_masked(
            outputs[i].memory, copies[first_output + i].data(), outputs[i].bytes);
}

} // namespace

void run_on_host(stream& s,
                 const std::vector<input_span>& inputs,
                 const std::vector<output_span>& outputs,
                 host_work work)
{
    if (dynamic_cast<host_stream*>(&s))
        return run_now(inputs, outputs, work);
    auto* const emulation = dynamic_cast<emulated::stream*>(&s);
    if (!emulation)
        throw std::logic_error(
            "run_on_host: the host cannot read the memory of a GPU, whose stream was "
            "given; allowed: a stream of the CPU or of the emulated device");
    emulation->run([inputs, outputs, work = std::move(work)] {
        run_unmasked(inputs, outputs, work);
    });
}

} // namespace gr::aperture
