/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CHANNEL_SOURCE_H
#define INCLUDED_APERTURE_CHANNEL_SOURCE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/aperture/recording_source.h>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Reads channels that others have made, as pfb_channelizer would send them.
 * \ingroup aperture
 *
 * The parameters say where the voltages are in the files; the block knows no header. An
 * item is `[input][channel]`, a spectrum of each input of the port, in the order of sky
 * frequency: corner_turn follows. Files may have their axes in any order; what lies in
 * rows of time is transposed here.
 *
 * A *piece* is a row of spectra in a file, of the inputs and channels of a *set*, which
 * were recorded together; it begins at a byte of the file and at a spectrum on the clock
 * of the recording. A row of `layout` says where some neighbouring channels of an input
 * are in the pieces of its set, counted in voltages from the piece's beginning: spectrum
 * t of channel first_channel + c is at
 *
 *     offset + c channel_stride + t time_stride + row (offset_rows + c channel_rows),
 *
 * where `row` is the piece's last number, the spectra of the block that it is of: in
 * blocks `[channel][time]`, channels are as far apart as a block is long, which need not
 * be the same for all. Strides of channels below zero reverse their order.
 *
 * `coding` has the names of recording_source, and levels2_be (0 to 3 are 40, 12, -12,
 * -40) and s4_be (two's complement), whose first component is in the highest bits of a
 * byte. `type` is that of the items: fc32 takes what is there as it is,
 * times the gain; sc8 is rounded half to even and clamped to +-127, unless the file has
 * at most 8 bits and the gain is 1, when it is passed on as it is.
 *
 * With `inverted`, voltages are conjugated, as those of a lower sideband have to be.
 *
 * A spectrum of an input of which a piece is missing in any channel is zeros, with a tag
 * `missing` for each input and gap; so is one with NaN or infinite floats. Gaps of all
 * inputs of more than 60 s are left out. Item 0, and the next item after such a gap,
 * carries rx_time, rx_freq (of channel n/2 of n), rx_rate, bandwidth and
 * samples_per_item.
 *
 * A flowgraph that is stopped and started again reads from the beginning.
 */
class APERTURE_API channel_source : virtual public recording_source
{
public:
    typedef std::shared_ptr<channel_source> sptr;

    struct parameters {
        std::vector<std::string> files;
        std::vector<std::vector<int64_t>> pieces;
        std::vector<std::vector<int64_t>> layout;
        int channels = 1024;
        int inputs = 1;
        std::string coding = "s8";
        std::string type = "sc8";
        std::complex<float> gain = 1;
        double width = 1e6;
        int inputs_per_port = 0;
        std::pair<int64_t, int64_t> rate{ 1000000, 1 };
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
                "rows of (file, byte, spectra, first spectrum, set, row): index of the "
                "file, the first voltage's place there, how many spectra there are, the "
                "number of the first one on the clock, and the spectra of the block, 0 "
                "if "
                "it has no more than the piece; those of a set in the order of time, "
                "without overlaps"),
            required_parameter(
                "layout",
                &parameters::layout,
                "rows of (set, input, first_channel, channels, offset, channel_stride, "
                "time_stride, offset_rows, channel_rows); each channel of each input is "
                "in one of them"),
            parameter("channels", &parameters::channels, "of each input")
                .range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "number of inputs").range(1, 65536),
            parameter("coding", &parameters::coding, "coding of a component; see above"),
            parameter("type", &parameters::type, "type of the voltages that are sent")
                .one_of("sc8", "fc32"),
            parameter("gain", &parameters::gain, "gain of all inputs").can_be_set(),
            parameter("width", &parameters::width, "width of a channel")
                .above(0)
                .in("Hz"),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; 0: all in one")
                .range(0, 65536),
            parameter("rate",
                      &parameters::rate,
                      "spectra a second, as (numerator, denominator)"),
            parameter(
                "start_time",
                &parameters::start_time,
                "time of spectrum 0 of the clock: seconds since 1970 and their fraction"),
            parameter("center_frequency",
                      &parameters::center_frequency,
                      "sky frequency of the middle of channel n/2 of n, Hz")
                .finite()
                .in("Hz"),
            parameter("inverted",
                      &parameters::inverted,
                      "whether the sky frequency falls within a channel where that of "
                      "its voltages rises"),
            parameter("begin", &parameters::begin, "first spectrum to read, on the clock")
                .range(0),
            parameter("samples",
                      &parameters::samples,
                      "spectra of each input in a pass; 0: all to the last one")
                .range(0)
                .called("Spectra"),
            parameter(
                "repeat",
                &parameters::repeat,
                "start again at `begin` after the last spectrum; the clock goes on, "
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

    //! Returns the channels of each input.
    virtual int channels() const = 0;
    /*!
     * Sets the gain of an input, -1: of all. It holds from the next call on.
     * \throws std::invalid_argument if there is no such input, or the gain is not finite
     */
    virtual void set_gain(std::complex<float> gain, int input = -1) = 0;
    //! Returns the gain of each input.
    virtual std::vector<std::complex<float>> gains() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CHANNEL_SOURCE_H */
