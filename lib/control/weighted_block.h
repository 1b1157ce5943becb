/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_WEIGHTED_BLOCK_H
#define INCLUDED_APERTURE_CONTROL_WEIGHTED_BLOCK_H

#include "control/settings_ahead.h"
#include "control/timed_beam_settings.h"
#include <atomic>
#include <complex>
#include <memory>
#include <utility>

namespace gr::aperture {

/*!
 * Base of beamformer and beam_power, which weight inputs for beams. `Interface` is the
 * public class, `Reader` the frame_reader that it is otherwise.
 */
template <class Interface, class Reader, class Kernel>
class weighted_block : public Interface, public Reader
{
public:
    bool start() override
    {
        d_weights.start();
        d_ahead.start(*this, this->d_logger);
        d_late = 0;
        return Reader::start();
    }
    bool stop() override
    {
        say_refused(true);
        d_ahead.stop();
        return Reader::stop();
    }
    void forecast(int noutput_items, gr_vector_int& required) override
    {
        d_ahead.wait();
        Reader::forecast(noutput_items, required);
    }

    int inputs() const override { return d_weights.inputs(); }
    void set_weights(const std::vector<std::complex<float>>& weights, int beam) override
    {
        d_weights.set_weights(weights, beam);
    }
    std::vector<std::complex<float>> weights(int beam) const override
    {
        return d_weights.of(beam);
    }
    void set_gains(const std::vector<float>& gains, int beam) override
    {
        d_weights.set_gains(gains, beam);
    }
    std::vector<float> gains() const override { return d_weights.gains(); }
    void set_mask(const std::vector<int>& mask, int beam) override
    {
        d_weights.set_masks(as_masks(mask), beam);
    }
    uint64_t late_settings() const override { return d_late; }
    std::string implementation() const override { return d_kernel->implementation(); }

protected:
    //! \param reader arguments of the Reader's constructor
    template <class... Arguments>
    weighted_block(std::unique_ptr<Kernel> kernel,
                   const beam_setting_extents& e,
                   const beam_setting& first,
                   std::function<void(const uint8_t* masks)> check_masks,
                   Arguments&&... reader)
        : Reader(std::forward<Arguments>(reader)...),
          d_kernel(std::move(kernel)),
          d_weights(
              e,
              first,
              { [this](const cfloat* weights) { return d_kernel->prepare(weights); },
                std::move(check_masks) })
    {
        this->take_settings("weights",
                            [this](const pmt::pmt_t& m) { d_weights.receive(m); });
    }

    //! Returns how many frames from the next one on have its weights.
    int64_t update_weights()
    {
        const int64_t sharing = d_weights.update(
            this->position(),
            { this->origin(), this->rate() },
            [this](int64_t late) {
                d_late++;
                this->report("late", 0, this->position(), late);
            },
            [this](const timed_beam_settings::changes& c) {
                for (const auto& setting : c.news)
                    this->announce(this->position(), setting);
                if (c.weights)
                    d_kernel->use(c.weights, this->work_stream());
                if (c.gains)
                    d_kernel->set_gains(c.gains, this->work_stream());
                if (c.masks)
                    set_incoherent_masks(c.masks);
            });
        say_refused(false);
        return sharing;
    }

    //! Sets the masks of the incoherent beams, where there are any.
    virtual void set_incoherent_masks(const uint8_t*) {}

    const std::unique_ptr<Kernel> d_kernel;
    timed_beam_settings d_weights;

private:
    settings_ahead d_ahead{ "weights" };
    std::atomic<uint64_t> d_late{ 0 }; // settings that came late

    void say_refused(bool all)
    {
        for (const auto& reason : d_weights.take_refused(all))
            this->refuse(reason);
    }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_WEIGHTED_BLOCK_H */
