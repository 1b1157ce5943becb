/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/corner_turn/corner_turn.h"
namespace gr::aperture::kernels::emulated {

namespace {

//! The times of rows of the device's memory that a call writes; those before and behind
//! belong to other calls.
class times_of_rows : public argument
{
public:
    //! \param row, first, count bytes: of a row, before the times, and of them
    times_of_rows(void* memory, size_t rows, size_t row, size_t first, size_t count)
        : d_memory(static_cast<char*>(memory)),
          d_rows(rows),
          d_row(row),
          d_first(first),
          d_count(count)
    {
    }
    void* plain()
    {
        d_plain.resize(d_rows * d_row);
        return d_plain.data();
    }
    void done() const
    {
        for (size_t at = d_first; at < d_plain.size(); at += d_row)
            copy_masked(d_memory + at, d_plain.data() + at, d_count);
    }

private:
    char* const d_memory;
    const size_t d_rows, d_row, d_first, d_count;
    std::vector<char> d_plain;
};

class emulated_corner_turn : public emulated_kernel<corner_turn>
{
public:
    explicit emulated_corner_turn(const parameters& p) : emulated_kernel(p, p) {}
    std::vector<uint64_t> clamped() const override { return d_host->clamped(); }

private:
    void transpose_frames(const void* const* spectra,
                          void* frame,
                          int first,
                          int count,
                          int frames,
                          stream& s) override
    {
        const auto& p = emulated_kernel::d_p;
        const size_t voltage = size_of(p.type);
        run(s,
            &corner_turn::execute,
            spans(spectra, p.ports, size_t(count) * frames * bytes_of_spectrum()),
            times_of_rows(frame,
                          size_t(p.selected_channels) * p.inputs() * frames,
                          p.spectra_per_frame * voltage,
                          first * voltage,
                          count * voltage),
            first,
            count * frames);
    }
};

} // namespace

template <>
std::unique_ptr<corner_turn> make(const corner_turn::parameters& p)
{
    return std::make_unique<emulated_corner_turn>(p);
}

} // namespace gr::aperture::kernels::emulated
