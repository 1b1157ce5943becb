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

//! Transposes [time][input][channel] of each port into frames [channel][input][time].
class corner_turn
{
public:
    struct parameters {
        int channels; //!< channels of the input's spectra
        int ports;
        int inputs_per_port;
        int spectra_per_frame; //!< spectra of a frame
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
     * Writes `count` spectra of each port to times first ... first+count-1 of the frame;
     * behind its end they go on in the next one, which lies behind it. A port of nullptr
     * gives zeros.
     */
    void execute(const void* const* spectra, void* frame, int first, int count, stream&);

    /*!
     * Sets, for fc32 on the CPU, from the next call of execute() on, spectra with NaN or
     * infinite elements to zero in all channels, and adds them to `found`; nullptr, as at
     * first: they are left as they are.
     */
    void clear_not_numbers(std::vector<spectrum_of_input>* found) { d_found = found; }

    //! Returns, for each input, the samples in which -128 (sc4: -8) became -127 (-7).
    virtual std::vector<uint64_t> clamped() const = 0;

protected:
    //! \param most_frames largest number of frames in a call of transpose_frames()
    explicit corner_turn(const parameters& p,
                         int most_frames = std::numeric_limits<int>::max())
        : d_p(p), d_most_frames(most_frames)
    {
    }
    //! Transposes `count` spectra into each of `frames` frames: all, if several.
    virtual void transpose_frames(const void* const* spectra,
                                  void* frame,
                                  int first,
                                  int count,
                                  int frames,
                                  stream&) = 0;

    //! Return the bytes of a spectrum of a port, and the bytes of a sample.
    size_t bytes_of_spectrum() const; // bytes of a port
    size_t bytes_of_frame() const;

    const parameters d_p;
    std::vector<spectrum_of_input>* d_found = nullptr; // see clear_not_numbers()

private:
    const int d_most_frames;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_CORNER_TURN_H */
