/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_F_ENGINE_F_ENGINE_H
#define INCLUDED_APERTURE_KERNELS_F_ENGINE_F_ENGINE_H

#include "kernels/common/cell_sums.h"
#include "kernels/corner_turn/corner_turn.h"
#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels {

//! Filter bank and corner turn in one: makes frames [channel][input][time] of samples.
class f_engine
{
public:
    struct parameters {
        pfb::parameters filter;
        int spectra_per_frame; //!< spectra of a frame
        int first_channel;     //!< first channel, among the filter's
        int selected_channels;
        int inputs() const { return filter.inputs(); }
        //! Returns the corner turn that would make frames of the filter's spectra.
        corner_turn::parameters transposition() const;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<f_engine> make(const parameters&, const device&);
    //! Makes a filter bank and a corner turn, one after the other, which define the
    //! result.
    //! \param spectra that the filter bank makes before they are transposed; 0: as many
    //! as suit the device
    static std::unique_ptr<f_engine>
    make_composed(const parameters&, const device&, int spectra = 0);
    virtual ~f_engine() = default;
    virtual std::string implementation() const = 0;

    //! Sets gains [input][channel of the filter] for all spectra from the next call on.
    virtual void set_gains(const cfloat* gains, stream&) = 0;
    //! Sets delays as pfb does.
    virtual void set_delays(const delay* delays, stream&) = 0;
    //! Sets the position as pfb does.
    virtual void set_position(int64_t /* spectrum */, stream&) {}

    /*!
     * Writes `count` spectra of each input to times first ... first+count-1 of the frame;
     * behind its end they go on in the next one, which lies behind it.
     *
     * \param sources [port], as those of pfb; a port that was lost gives zeros
     */
    virtual void
    execute(const pfb::source* sources, void* frame, int first, int count, stream&) = 0;

    //! Acts as pfb's; spectra count from the first one of a call of execute().
    virtual void clear_not_numbers(std::vector<spectrum_of_input>* /* found */) {}

    //! Prepares execute_and_sum() with slices of so many spectra.
    //! \return whether this F-engine can do it
    virtual bool prepare_sums(int /* spectra_per_slice */) { return false; }

    /*!
     * Does execute(), and adds its output to sums of cells, where whole groups of spectra
     * lie in a slice each.
     * \return whether it has added all of it; if not, it has added nothing
     */
    virtual bool execute_and_sum(const pfb::source* sources,
                                 void* frame,
                                 int first,
                                 int count,
                                 const cell_sums& /* sums */,
                                 stream& s)
    {
        execute(sources, frame, first, count, s);
        return false;
    }

    //! Returns the clamped samples so far, in all channels, selected or not.
    virtual pfb::counts clamped() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_F_ENGINE_F_ENGINE_H */
