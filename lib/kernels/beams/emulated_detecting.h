/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMS_EMULATED_DETECTING_H
#define INCLUDED_APERTURE_KERNELS_BEAMS_EMULATED_DETECTING_H

#include "kernels/beams/detection.h"
#include "kernels/common/masked.h"
#include "runtime/host_stream.h"
#include <memory>
#include <vector>

namespace gr::aperture::kernels::emulated {

//! The part of power_detector and beam_power that both have, around that of the host.
template <class interface>
class emulated_detecting : public interface
{
public:
    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    void execute(const void* voltages,
                 float* powers,
                 int blocks,
                 const detection_scales& scales,
                 stream& s) override
    {
        run_on(s, [=, scales = kept(scales), host = d_host, in = blocks * d_block_size] {
            host_stream own;
            std::vector<float> plain(blocks * d_powers);
            host->execute(unmasked(voltages, in).data(),
                          plain.data(),
                          blocks,
                          { scales.data(), scales.size() },
                          own);
            copy_masked(powers, plain.data(), plain.size() * sizeof(float));
        });
    }

    void accumulate(const void* voltages, int blocks, stream& s) override
    {
        run_on(s, [=, host = d_host, in = blocks * d_block_size] {
            host_stream own;
            host->accumulate(unmasked(voltages, in).data(), blocks, own);
        });
    }

    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        run_on(s, [=, scales = kept(scales), host = d_host, count = d_powers] {
            host_stream own;
            std::vector<float> plain(count);
            host->dump(plain.data(), { scales.data(), scales.size() }, own);
            copy_masked(powers, plain.data(), count * sizeof(float));
        });
    }

    void clear(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->clear(own);
        });
    }

protected:
    //! \param block_size bytes of the voltages of a block
    //! \param powers numbers that come out of a block, or of dump()
    emulated_detecting(std::unique_ptr<interface> host, size_t block_size, size_t powers)
        : d_host(std::move(host)), d_block_size(block_size), d_powers(powers)
    {
    }

    const std::shared_ptr<interface> d_host; // work that is not done yet holds it, too

private:
    static std::vector<float> kept(const detection_scales& scales)
    {
        return { scales.values, scales.values + scales.count };
    }

    const size_t d_block_size, d_powers;
};

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_BEAMS_EMULATED_DETECTING_H */
