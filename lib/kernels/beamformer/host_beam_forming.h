/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAM_FORMING_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAM_FORMING_H

#include "kernels/beamformer/weighted_kernel.h"
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels::host {

//! The vector instructions there is a kernel for and that this processor has, best first.
std::vector<std::string> beam_vectors();

/*!
 * Beams of one channel, some time and a tile of beams at once, as planes: what beamformer
 * and beam_power do the same. Threads may share it, each with a workspace of its own.
 *
 * Weights of integer voltages are rounded to 16 bits of the largest part of a weight of
 * their channel and beam; sums of products are exact. Those of fc32 are fp32.
 */
class beam_forming
{
public:
    struct parameters {
        int channels, inputs, beams, spectra_per_frame;
        sample_type input; //!< sc8, sc4 or fc32
    };

    static std::unique_ptr<beam_forming> make(const parameters& p,
                                              const std::string& vectors);
    virtual ~beam_forming() = default;
    virtual std::string implementation() const = 0;

    //! weights [channel][beam][input]; from any thread
    virtual prepared_weights_sptr prepare(const cfloat* weights) const = 0;
    virtual void use(prepared_weights_sptr weights) = 0;
    //! [beam]
    virtual void set_gains(const float* gains) = 0;

    //! Times that are unpacked together, at most.
    virtual int chunk() const = 0;
    //! Beams of a tile; even. The last tile may have beams that there are not.
    virtual int tile() const = 0;

    //! The memory that a thread needs.
    struct workspace {
        virtual ~workspace() = default;
        //! [beam of the tile][chunk()]
        const float* re(int beam) const { return planes.data() + beam * stride; }
        const float* im(int beam) const { return re(beam) + planes.size() / 2; }
        std::vector<float> planes;
        size_t stride;
    };
    virtual std::unique_ptr<workspace> make_workspace() const = 0;

    //! Unpacks voltages of a channel, [input][times]: `count` times from `first` on.
    virtual void load(const void* voltages, int first, int count, workspace&) const = 0;
    //! Beams first_beam ... first_beam + tile() - 1 of what was loaded.
    virtual void form(int channel, int first_beam, workspace&) const = 0;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAM_FORMING_H */
