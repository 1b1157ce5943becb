/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/corner_turn/emulated_corner_turn.h"
#include "kernels/corner_turn/host_corner_turn.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_corner_turn : public corner_turn
{
public:
    explicit emulated_corner_turn(const parameters& p)
        : corner_turn(p), d_host(host::make_corner_turn(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    std::vector<uint64_t> clamped() const override { return d_host->clamped(); }

private:
    void turn(const void* const* spectra,
              void* frame,
              int first,
              int count,
              int frames,
              stream& s) override
    {
        const size_t voltage = size_of(d_p.type);
        const size_t spectra_bytes = size_t(count) * frames * bytes_of_spectrum();
        const size_t rows = size_t(d_p.selected_channels) * d_p.inputs() * frames;
        const size_t row = d_p.spectra_per_frame * voltage;
        const std::vector<const void*> kept(spectra, spectra + d_p.ports);
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<std::vector<char>> plain(kept.size());
            std::vector<const void*> in(kept.size());
            for (size_t port = 0; port < kept.size(); port++)
                if (kept[port]) {
                    plain[port] = unmasked(kept[port], spectra_bytes);
                    in[port] = plain[port].data();
                }
            std::vector<char> transposed(rows * row);
            host->execute(in.data(), transposed.data(), first, count * frames, own);
            // the times before and behind belong to other calls
            for (size_t r = 0; r < rows; r++) {
                const size_t at = r * row + first * voltage;
                copy_masked(static_cast<char*>(frame) + at,
                            transposed.data() + at,
                            count * voltage);
            }
        });
    }

    const std::shared_ptr<corner_turn> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p)
{
    return std::make_unique<emulated_corner_turn>(p);
}

} // namespace gr::aperture::kernels::emulated
