/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RECORDING_SOURCE_H
#define INCLUDED_APERTURE_RECORDING_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

//! The parameter `readers` of all sources of recordings.
template <class Parameters>
auto readers_parameter()
{
    return parameter(
               "readers",
               &Parameters::readers,
               "threads that read and unpack; 0: one for each core that the process "
               "may use, at most 16")
        .range(0, 256)
        .under("Advanced");
}

/*!
 * \brief Reads the samples of a recording whose headers have been read already.
 * \ingroup aperture
 *
 * The parameters say where the samples are in the files; the block knows no header. A
 * *piece* is a row of samples in a file, of the inputs of a *set*, which were recorded
 * together; it begins at a byte of the file and at a sample on the clock of the
 * recording. `layout` says where the samples of an input are in the pieces of its set.
 *
 * An item is one sample of each input of a port. Its type follows from `coding`:
 *
 *  - offset1, offset2, offset4, offset8, u8, s8: s8 or sc8. The levels of offset1 are
 *    -20, 20, those of offset2 -30, -9, 9, 30, those of offset4 7 (c - 8) for c from 0 to
 *    15; the first sample is in the lowest bits of a byte. offset8 becomes s8 by
 *    subtracting 128. u8 is c - 127.5, as receivers of 8 bits (RTL-SDR) have their zero
 *    between two levels, rounded half to even and at most 127.
 *  - u16, s16: s16 or sc16. u16 becomes s16 by subtracting 32768.
 *  - u32, s32, f32, f64: f32 or fc32. u32 has 2147483648 subtracted.
 *
 * Bytes are in little-endian order, or big-endian with `_be` behind the name (s16_be).
 *
 * With `inverted`, complex samples are conjugated, and the stream is as if the sky
 * frequency rose with that of the baseband. Real samples are passed on as they are, and
 * inverted() says that the channeliser has to reverse them. A lowest integer, whose
 * imaginary part has no negative, becomes the highest and is counted by clamped().
 *
 * Samples that are in no piece are zeros, with a tag `missing` for each input and gap. So
 * are samples that are NaN or infinite, with those between two of them that are less than
 * 64 samples apart. Gaps of all inputs of more than 60 s are left out. Item 0, and the
 * next item after such a gap, carries rx_time, rx_freq and rx_rate.
 *
 * A flowgraph that is stopped and started again reads from the beginning.
 */
class APERTURE_API recording_source : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<recording_source> sptr;

    struct parameters {
        std::vector<std::string> files;
        std::vector<std::vector<int64_t>> pieces;
        std::string coding = "s8";
        bool complex = true;
        int inputs = 1;
        std::vector<std::vector<int64_t>> layout;
        int inputs_per_port = 0;
        std::pair<int64_t, int64_t> rate{ 1, 1 };
        std::pair<uint64_t, double> start_time{ 0, 0 };
        double center_frequency = 0;
        bool inverted = false;
        int64_t begin = 0;
        int64_t samples = 0;
        bool repeat = false;
        bool approximate = false;
        int readers = 0;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("files", &parameters::files, "names of the files"),
            required_parameter(
                "pieces",
                &parameters::pieces,
                "rows of (file, byte, samples, first sample, set): index of the file, "
                "the first sample's place there, how many there are of each input, and "
                "its number on the clock; those of a set in the order of time, without "
                "overlaps"),
            parameter("coding", &parameters::coding, "coding of a component; see above"),
            parameter("complex",
                      &parameters::complex,
                      "whether a sample is two components, re and im"),
            parameter("inputs", &parameters::inputs, "number of inputs").range(1, 65536),
            parameter("layout",
                      &parameters::layout,
                      "rows of (set, offset, stride), one for each input: its sample t "
                      "of a piece is offset + t stride samples behind the piece's "
                      "beginning; empty: all are in set 0, sample by sample"),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; 0: all in one")
                .range(0, 65536),
            parameter("rate",
                      &parameters::rate,
                      "samples a second of one input, as (numerator, denominator)"),
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
            parameter("samples",
                      &parameters::samples,
                      "samples of each input in a pass; 0: all to the last one")
                .range(0),
            parameter("repeat",
                      &parameters::repeat,
                      "start again at `begin` after the last sample; the clock goes on, "
                      "without a gap"),
            parameter("approximate",
                      &parameters::approximate,
                      "whether start_time is a guess: rx_time_approximate stands "
                      "beside rx_time"),
            readers_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     * \throws std::runtime_error if a file cannot be read
     */
    static sptr make(const parameters& p);

    virtual int inputs() const = 0;
    virtual int inputs_per_port() const = 0;
    //! Returns the type of the samples that are sent: sc8, sc16, fc32, s8, s16 or f32.
    virtual std::string type() const = 0;
    //! Returns the samples a second of one input.
    virtual double sample_rate() const = 0;
    //! Returns the sky frequency of the middle of the band, in Hz.
    virtual double center_frequency() const = 0;
    //! Returns the bandwidth of one input, in Hz.
    virtual double bandwidth() const = 0;
    //! Returns whether the band of real samples is reversed; false for complex ones,
    //! which are conjugated here.
    virtual bool inverted() const = 0;
    //! Returns the samples of each input in one pass.
    virtual int64_t samples() const = 0;
    //! Returns the time of the first sample: seconds since 1970 and their fraction.
    virtual std::pair<uint64_t, double> start_time() const = 0;
    //! Says why reading ended before its time; empty if it did not.
    virtual std::string error() const = 0;
    //! Returns, for each input, the samples whose imaginary part could not be negated.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns, for each input, the samples that were sent as zeros because no piece has
    //! them, or because they, or some beside them, are NaN or infinite.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns, for each input, the samples that are NaN or infinite.
    virtual std::vector<uint64_t> not_numbers() const = 0;

    /*!
     * Ends the stream: blocks downstream get all that was sent, and then end as well. If
     * the source is not running, its next start ends at once.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECORDING_SOURCE_H */
