/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_CORNER_TURN_H

#include "kernels/common/not_numbers.h"
#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <limits>
#include <memory>
#include <vector>

namespace gr::aperture::kernels {

//! [time][input][channel] of each port -> a frame [channel][input][time] of all ports.
class corner_turn
{
public:
    struct parameters {
        int channels; //!< of the spectra that come in
        int ports;
        int inputs_per_port;
        int spectra_per_frame; //!< of a frame
        sample_type type;      //!< sc8, sc4 or fc32
        int first_channel;
        int selected_channels;
        int inputs() const { return ports * inputs_per_port; }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<corner_turn> make(const parameters&, const device&);
    virtual ~corner_turn() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Puts `count` spectra of each port at times first ... first+count-1 of the frame; if
     * it ends before, they go on in the next one, which lies behind it. A port of nullptr
     * gives zeros.
     */
    void execute(const void* const* spectra, void* frame, int first, int count, stream&);

    /*!
     * Of fc32, on the CPU, from the next call of execute() on: spectra with what is no
     * number become zeros in all channels, and are added to `found`; nullptr, as at
     * first: they are left as they are.
     */
    void clear_not_numbers(std::vector<spectrum_of_input>* found) { d_found = found; }

    //! For each input, values of -128 (sc4: -8) replaced by -127 (-7) so far.
    virtual std::vector<uint64_t> clamped() const = 0;

protected:
    //! \param most_frames that turn() takes
    explicit corner_turn(const parameters& p,
                         int most_frames = std::numeric_limits<int>::max())
        : d_p(p), d_most_frames(most_frames)
    {
    }
    //! Puts `count` spectra into each of `frames` frames in a row: all, if several.
    virtual void turn(const void* const* spectra,
                      void* frame,
                      int first,
                      int count,
                      int frames,
                      stream&) = 0;

    //! Of voltages.
    size_t bytes_of_spectrum() const; // of a port
    size_t bytes_of_frame() const;

    const parameters d_p;
    std::vector<spectrum_of_input>* d_found = nullptr; // see clear_not_numbers()

private:
    const int d_most_frames;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_CORNER_TURN_H */
