/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_VDIF_SOURCE_H
#define INCLUDED_APERTURE_VDIF_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/aperture/recording_source.h>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Reads a VDIF recording whose first header has been read already.
 * \ingroup aperture
 *
 * The parameters say what all frames have in common. Each frame's header is read when its
 * time comes, so that recordings of any length start at once. Samples are offset binary,
 * and are decoded as offset1, offset2, offset4, offset8 and u16 of recording_source; an
 * input is a channel of a thread. Stations with files of their own, which may have other
 * frames and begin at other times, are inputs beside each other on one clock.
 *
 * Frames may be out of order by up to 64 frames of a thread. Frames that are not there,
 * or that the recorder marked as invalid, are zeros with tags `missing`. Frames that come
 * twice are used once. A frame whose header says something else than the parameters is
 * damaged and not used, and neither is one whose time is far from the frames on both
 * sides of it; where the next frame is not where it should be, it is searched for.
 * counts() says how many there were.
 *
 * Tags, gaps, and what happens with `inverted`, are those of recording_source.
 */
class APERTURE_API vdif_source : virtual public recording_source
{
public:
    typedef std::shared_ptr<vdif_source> sptr;

    struct parameters {
        std::vector<std::string> files;
        int frame_bytes = 0;
        bool legacy = false;
        int bits = 2;
        bool complex = false;
        int channels = 1;
        int station = 0;
        int64_t frames_per_second = 0;
        std::vector<std::vector<int64_t>> selected;
        int inputs_per_port = 0;
        std::vector<int64_t> first_frame{ 0, 0, 0 };
        int64_t first_sample = 0;
        std::vector<std::vector<int64_t>> others;
        std::pair<uint64_t, double> start_time{ 0, 0 };
        double center_frequency = 0;
        bool inverted = false;
        int64_t begin = 0;
        int64_t samples = 0;
        bool repeat = false;
        int readers = 0;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("files",
                               &parameters::files,
                               "names of the files, which follow each other, those of "
                               "a station behind those of another"),
            required_parameter("frame_bytes",
                               &parameters::frame_bytes,
                               "bytes of a frame with its header, a multiple of 8"),
            required_parameter("frames_per_second",
                               &parameters::frames_per_second,
                               "frames of a thread in a second")
                .range(1, 1 << 24),
            required_parameter("selected",
                               &parameters::selected,
                               "(thread, channel) of each input, or (thread, channel, "
                               "station), counted from 0"),
            required_parameter("samples",
                               &parameters::samples,
                               "samples of each input in a pass, from `begin` on")
                .range(1),
            parameter("legacy",
                      &parameters::legacy,
                      "whether headers have 16 bytes, and not 32"),
            parameter("bits", &parameters::bits, "bits of a component: 1, 2, 4, 8 or 16"),
            parameter("complex",
                      &parameters::complex,
                      "whether a sample is two components, re and im"),
            parameter(
                "channels",
                &parameters::channels,
                "channels in each frame, a power of two; they alternate sample by sample")
                .range(1, 1 << 24),
            parameter("station",
                      &parameters::station,
                      "station ID, the 16 bits of it in the header")
                .range(0, 65535),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; 0: all in one")
                .range(0, 65536),
            parameter("first_frame",
                      &parameters::first_frame,
                      "(reference epoch, second, frame) whose first sample is "
                      "first_sample of the clock"),
            parameter("first_sample",
                      &parameters::first_sample,
                      "where first_frame begins on the clock")
                .range(0),
            parameter("others",
                      &parameters::others,
                      "further stations, whose files are behind those of the first: rows "
                      "of (files, frame_bytes, legacy, channels, frames_per_second, "
                      "station, epoch, second, frame, first_sample), how many files, and "
                      "what the parameters of these names are for the first"),
            parameter(
                "start_time",
                &parameters::start_time,
                "time of sample 0 of the clock: seconds since 1970 and their fraction"),
            parameter("center_frequency",
                      &parameters::center_frequency,
                      "sky frequency of the middle of the band, Hz")
                .finite()
                .in("Hz"),
            parameter("inverted",
                      &parameters::inverted,
                      "whether the sky frequency falls where that of the baseband rises"),
            parameter("begin", &parameters::begin, "first sample to read, on the clock")
                .range(0),
            parameter("repeat",
                      &parameters::repeat,
                      "start again at `begin` after the last sample; the clock goes on, "
                      "without a gap"),
            readers_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     * \throws std::runtime_error if a file cannot be read
     */
    static sptr make(const parameters& p);

    /*!
     * Returns what was not used since the start, or since the newest repetition began:
     * frames that are `invalid`, `repeated`, `late` (behind more than 64 later ones) or
     * `damaged`, and `skipped` bytes in which there was no frame.
     */
    virtual std::map<std::string, uint64_t> counts() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_VDIF_SOURCE_H */
