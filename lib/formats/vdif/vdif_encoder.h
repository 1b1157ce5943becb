/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_VDIF_ENCODER_H
#define INCLUDED_APERTURE_FORMATS_VDIF_ENCODER_H

#include "formats/vdif/vdif_header.h"
#include "kernels/common/types.h"
#include <gnuradio/aperture/api.h>
#include <array>
#include <cstdint>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Makes VDIF frames of samples: quantises them to few bits, by the level of each input,
 * and puts headers in front of them.
 *
 * Codes are offset binary, and the first sample is in the lowest bits of a byte. In units
 * of `step` times the rms of a component, v:
 *
 *  - 1 bit: 1 where v >= 0.
 *  - 2 bits: 0 below -1, 1 below 0, 2 below 1, and 3.
 *  - 4 and 8 bits: v rounded half to even, within +-7 or +-127, plus 8 or 128.
 *
 * The level of an input is followed: the mean power of a component is that of the first
 * frame at first, then the mean of the frames so far, and later one with an exponential
 * weight, of `level_frames` frames. A frame is quantised by the mean of those before it,
 * the first one by its own, so that codes do not depend on how calls are cut. Frames with
 * missing samples, and frames of zeros, change no level.
 */
class APERTURE_API vdif_encoder
{
public:
    struct parameters {
        sample_type type = sample_type::f32; //!< f32, s16, s8, fc32, sc16 or sc8
        int inputs = 1;                      //!< samples side by side in the stream
        int channels = 1;              //!< inputs of a frame, neighbours; a power of two
        std::vector<int> threads{ 0 }; //!< thread of each frame of a time
        int files = 1;                 //!< frames of a time are spread over them
        int bits = 2;
        int data_bytes = 8000;   //!< size of a frame without its header
        double step = 0.98;      //!< unit of the codes, in rms of a component
        double level = 0;        //!< rms of a component; 0: it is followed
        double level_frames = 1; //!< frames of the exponential mean
        int64_t frames_per_second = 1;
        int epoch = 0; //!< half years since 2000
        int station = 0;
        std::array<uint32_t, 4> extended{}; //!< the last four words of headers
    };

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    explicit vdif_encoder(const parameters& p);

    //! Returns the samples of an input in a frame.
    int64_t samples() const { return d_samples; }
    //! Returns the bytes of a frame with its header.
    int64_t frame_bytes() const { return header_bytes + d_p.data_bytes; }
    //! Returns the bytes of the samples of a frame of all inputs.
    int64_t bytes_of_samples() const
    {
        return d_samples * d_p.inputs * int64_t(size_of(d_p.type));
    }
    int threads() const { return int(d_p.threads.size()); }
    int files() const { return d_p.files; }
    //! Sets the epoch of the headers that follow.
    void set_epoch(int epoch) { d_p.epoch = epoch; }
    //! Returns the rms of a component of each input by which the next frame is quantised;
    //! 0 where nothing has come yet.
    std::vector<double> levels() const;
    //! Forgets the levels.
    void reset();

    /*!
     * Makes the frames of some times.
     * \param samples [time][input], of whole frames; null: all of them are missing
     * \param frames how many of each thread
     * \param first number of the first one, counted from the reference epoch
     * \param missing [frame][thread of a time]: 1 where the frame is invalid; also set
     * where a sample is not a number. Null, without samples: all are
     * \param out [file][frame][thread][byte]
     */
    void encode(const void* samples,
                int64_t frames,
                int64_t first,
                uint8_t* missing,
                uint8_t* out);

    static constexpr int64_t header_bytes = 32;

private:
    struct level {
        double power = 0; // mean of a component
        int64_t frames = 0;
    };
    double step_of(const level& l) const;
    // Copies the components of an input times a factor to their places in d_row; returns
    // the sum of their squares before.
    double gather(const void* samples, int input, float factor);
    // Fills the data of a frame; returns whether all samples are numbers.
    bool fill(const void* samples, int group, bool learn, uint8_t* data);

    parameters d_p;
    int d_parts; // components of a sample
    int64_t d_samples;
    std::vector<level> d_levels; // levels by input
    std::vector<float> d_row;    // [sample][channel][component] of a frame
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_VDIF_ENCODER_H */
