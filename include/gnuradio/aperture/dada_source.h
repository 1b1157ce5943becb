/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DADA_SOURCE_H
#define INCLUDED_APERTURE_DADA_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/aperture/recording_source.h>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace gr::aperture {

/*!
 * \brief Reads a PSRDADA file: samples of NPOL inputs of each of NANT antennas.
 * \ingroup aperture
 *
 * One port out: an item is one sample of each input, in the order of the file, of type
 * sc8, sc16 or fc32 (NDIM 2), s8, s16 or f32 (NDIM 1), for NBIT 8, 16 and 32; NCHAN 1.
 * The format does not say how samples are coded: two's complement integers of 8 and 16
 * bits and floats of 32 bits, low byte first, or high byte first with ENDIAN BIG, are
 * assumed.
 *
 * Where BW is negative (the sky frequency falls with that of the baseband) complex
 * samples are conjugated, and the stream is as if BW were positive. Real samples are
 * passed on as they are, and inverted() says that the channeliser has to reverse them.
 * -128 is passed on; where it would have to be conjugated it becomes +127 and is counted
 * by clamped() (16 bit: -32768, +32767).
 *
 * Item 0 carries rx_time (UTC_START, or MJD_START if there is none, OBS_OFFSET and
 * `begin` added in integer arithmetic, leap seconds counted), rx_freq (the middle of the
 * band) and rx_rate.
 *
 * A file that is shorter than FILE_SIZE (with or without its header: both are in use), or
 * not a whole number of samples, is read as far as it goes, with a warning. A flowgraph
 * that is stopped (or locked) and started again reads from the beginning.
 */
class APERTURE_API dada_source : virtual public recording_source
{
public:
    typedef std::shared_ptr<dada_source> sptr;

    struct parameters {
        std::string filename = "";
        bool repeat = false;
        int64_t begin = 0;
        int64_t samples = 0;
        int readers = 0;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("filename", &parameters::filename, "the file")
                .called("File"),
            parameter("repeat",
                      &parameters::repeat,
                      "start again at `begin` after the last sample; the clock goes on, "
                      "without a gap"),
            parameter("begin",
                      &parameters::begin,
                      "first sample to read, counted from that after the header")
                .range(0)
                .called("First Sample"),
            parameter("samples",
                      &parameters::samples,
                      "samples of each input in a pass; 0: all to the end of the file")
                .range(0),
            readers_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming file, key, value and what is allowed
     * \throws std::runtime_error if the file cannot be read
     */
    static sptr make(const parameters& p);

    //! Returns the keywords and values of the file's header, as they are written there.
    virtual std::map<std::string, std::string> header() const = 0;
    //! Says what is missing or contradictory in the file; empty if nothing is.
    virtual std::string warning() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DADA_SOURCE_H */
