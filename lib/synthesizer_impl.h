/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SYNTHESIZER_IMPL_H
#define INCLUDED_APERTURE_SYNTHESIZER_IMPL_H

#include "kernels/synthesis/synthesizer.h"
#include "stream/frame_reader.h"
#include <gnuradio/aperture/synthesizer.h>
#include <atomic>
#include <deque>

namespace gr::aperture {

class synthesizer_impl : public synthesizer, public frame_reader
{
public:
    using parameters = synthesizer::parameters;

    //! The filter bank of the F-engine, and the grid of the samples that are made.
    struct bank {
        int64_t p, q;       //!< oversampling
        int total;          //!< channels of the F-engine
        int length;         //!< samples of a tap of the F-engine
        int points;         //!< samples of a tap of the synthesis
        int taps;           //!< taps of the F-engine
        int channel;        //!< number of channel n/2 of the frames, from the one at 0 Hz
        double sample_rate; //!< rate of real output, Hz
        double error;       //!< dB
        kernels::synthesizer::parameters kernel;

        //! Returns samples a second, given those of the F-engine.
        double rate(double input_rate) const { return input_rate * points / length; }
        //! Returns what is the least and the most frequency of the channels, in Hz from
        //! the middle of channel n/2. A half of a channel behind the last one is that of
        //! the first, as the channels of complex samples are a circle.
        std::pair<double, double> limits(double input_rate) const
        {
            const double spacing = input_rate / length;
            return { (-(kernel.channels / 2) - 0.5) * spacing,
                     (kernel.channels - kernel.channels / 2) * spacing };
        }
    };
    //! \throws std::invalid_argument
    static bank bank_of(const parameters& p);

    synthesizer_impl(const parameters& p, const bank& b, const device& d);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    std::string implementation() const override { return d_kernel->implementation(); }
    double error_power() const override { return d_bank.error; }
    std::vector<uint64_t> missing() const override;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;

    bool real() const { return d_bank.kernel.real(); }
    //! Returns the samples beside its place that an output is made of.
    int64_t before() const { return real() ? d_bank.kernel.filter.taps / 2 : 0; }
    int64_t after() const { return real() ? before() - 1 : 0; }
    //! Returns the first sample that a spectrum goes into.
    int64_t first_sample(int64_t spectrum) const
    {
        return spectrum * d_bank.kernel.hop - d_bank.kernel.lead;
    }
    //! Returns the sample behind the last one that a spectrum goes into.
    int64_t end_of(int64_t spectrum) const
    {
        return first_sample(spectrum) + int64_t(d_bank.kernel.prototype.size());
    }
    //! Returns the time of a sample, which lies near a frame; 0 s behind that where the
    //! rate is not known.
    //! Returns the rate of the samples, which is not that of real outputs.
    double sample_rate() const
    {
        return real() ? d_bank.rate(d_input_rate)
                      : rate() * d_bank.kernel.spectra_per_frame * d_bank.kernel.hop;
    }
    //! Returns how many outputs can be written.
    int64_t pending() const;
    //! Returns rx_freq of the output, where that of the frames is known.
    double output_frequency() const;
    //! Returns the number of a frame's first spectrum, as phases count them.
    int64_t number_of_spectrum(int64_t frame) const
    {
        return first_spectrum(frame).value_or(frame * d_bank.kernel.spectra_per_frame);
    }
    timestamp time_of_sample(int64_t sample, int64_t frame) const;
    timestamp time_of_output(int64_t output, int64_t frame) const;

    //! Begins the next frame. \returns false, and fails, if it cannot
    bool begin_frame(uint64_t next_item);
    //! Begins the stream, or begins it anew. \returns false, and fails, if it cannot
    bool begin_stream(int64_t frame, uint64_t next_item);
    //! Takes rx_freq. \returns false, and fails, if the band then is not in the channels
    bool tune(int64_t frame, double frequency);
    bool check_band();
    void place_outputs(int64_t frame);
    void set_mixing(int64_t frame);
    //! Makes outputs zero that some samples of a beam go into.
    void lose_samples(int beam, int64_t first, int64_t end);
    int write(void* to, int room);

    const bank d_bank;
    const double d_input_rate, d_frequency;
    const bool d_on_sky;
    const std::unique_ptr<kernels::synthesizer> d_kernel;
    std::vector<std::atomic<uint64_t>> d_missing;

    bool d_in_frame = false;
    int d_done = 0, d_spectra = 0; // spectra of the present frame
    kernels::synthesizer::mixing d_mixing;
    double d_band = 0;                // Hz from the middle of channel n/2 to the band
    std::optional<double> d_rx_freq;  // rx_freq of the frames
    int64_t d_second = 0;             // second of UTC from which real outputs count
    kernels::output_places d_places;  // place of output 0
    int64_t d_output = 0;             // next output
    int64_t d_item_of_output = 0;     // item number of output 0
    int64_t d_held = 0, d_behind = 0; // samples in the kernel: first, and behind the last
    std::vector<int64_t> d_empty_to;  // outputs of each beam that are done with
    std::deque<kernels::synthesizer::zeros> d_empty; // outputs that become zeros
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SYNTHESIZER_IMPL_H */
