/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_ALIGN_IMPL_H
#define INCLUDED_APERTURE_STREAM_ALIGN_IMPL_H

#include "signal/alignment/coherence_meter.h"
#include "stream/clocked_block.h"
#include "stream/noise_cycle.h"
#include "stream/offset_job.h"
#include "stream/periodic_call.h"
#include <gnuradio/aperture/stream_align.h>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <mutex>

namespace gr::aperture {

class stream_align_impl : public stream_align, public clocked_block
{
public:
    explicit stream_align_impl(const parameters& p);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    void measure() override { d_requested = true; }
    void switch_noise(bool on) override;
    bool noise_on() const override { return d_noise_on; }
    uint64_t noise_samples() const override { return d_noise_samples; }
    void hold_back() override { d_held = true; }
    void release() override;
    void set_interval(double seconds) override;
    void set_watch(double seconds) override;
    void set_unaligned(bool unaligned) override { d_unaligned = unaligned; }
    void set_status_interval(double seconds) override;

    std::vector<double> offsets() const override;
    std::vector<double> phases() const override;
    std::vector<double> snr() const override;
    std::vector<bool> aligned() const override;
    std::vector<double> clock_ppm() const override;
    std::vector<std::string> reasons() const override;
    std::vector<uint64_t> zeros() const override;
    std::vector<uint64_t> dropped() const override;
    std::vector<uint64_t> slips() const override;
    uint64_t measurements() const override;
    bool searching() const override { return d_job.running(); }

private:
    //! The state of an input.
    struct input_state {
        bool placed = false;   //!< the offset is known
        bool by_time = false;  //!< the offset was known when the ports were aligned
        bool measured = false; //!< the offset was measured by correlation at least once
        double delay = 0, phase = 0;           //!< samples, radians, at `tick`
        double delay_rate = 0, phase_rate = 0; //!< per sample
        int64_t tick = 0;
        double stamped = 0; //!< offset by its stamps beyond the measured one, in samples
        double tagged = 0;  //!< delay that was tagged last, in samples
        bool watched = false; //!< the input correlated in the last search for slips
        double seen = 0;      //!< signal-to-noise ratio in that search
        bool drifts = false;  //!< a walk of the phase was reported
        bool doubted = false; //!< the input no longer correlates, and is searched for
        int64_t next = -1;    //!< item behind the last one that was sent
        int64_t arrived = 0;  //!< items that have come
        std::chrono::steady_clock::time_point
            arrival;                //!< time when the last of them came
        bool stalled = false;       //!< none came for a while, though others did
        bool complete = false;      //!< no more will come
        std::deque<gr::tag_t> tags; //!< tags to be passed on
    };
    //! Facts that other threads may read while this block works.
    struct facts {
        double offset = 0, phase = 0, snr = 0;
        double ppm = std::numeric_limits<double>::quiet_NaN(); //!< clock_ppm()
        bool aligned = false;
        uint64_t zeros = 0, dropped = 0, slips = 0;
        std::string reason; //!< reason why the last search did not find it
    };
    //! An item of a port before which the output stops until the inputs were measured.
    struct hold {
        int port;
        int64_t item;
        bool loss; //!< the port's offset is not known from there on
    };
    //! Samples of all inputs that are kept as they pass.
    struct capture {
        int64_t wanted = 0, first = 0;
        int64_t most_lag = 0;
        bool for_slips = false;
        std::vector<std::vector<cfloat>> samples;
    };

    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override;
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_loss(int port, int64_t item) override;
    void on_tuned(int port, int64_t item) override;
    void receive(const pmt::pmt_t& message);

    //! Reports which port keeps the others waiting.
    void watch_arrivals();
    int64_t ticks(double seconds) const;
    bool by_time(int port) const;
    //! Returns whether the items of a port are where they belong, as far as known.
    bool trusted(int port) const;
    int reference() const;

    //! Returns whether the noise source is switched whenever inputs are measured.
    bool switches_noise() const { return d_p.noise_source == "message"; }
    //! Does what was asked for by switch_noise(), and lets time pass.
    void follow_noise();
    //! Does what the cycle of the noise source says, and says it.
    void act(const noise_cycle::outcome& o);
    //! Watches the coherence of samples that were sent, while the source is on.
    void gauge(const timeline::run& run, const std::vector<const char*>& starts);

    //! Returns whether the offset of any input was measured.
    bool is_measured() const;
    //! Returns the tick of the next hold, or timeline::none.
    int64_t next_hold() const;
    //! Returns whether there is output to be made now; measures first where that is due.
    bool released(const gr_vector_const_void_star& input_items);
    //! Begins to hold the output back: the inputs are to be measured first. By time alone
    //! the output goes on, and what was measured is measured anew.
    void reach_hold();
    void search(offset_job::task&& task);
    bool gather(const gr_vector_const_void_star& input_items);
    offset_job::task task_for(int64_t most_lag) const;
    int64_t lags() const;

    void take(const offset_job::answer& a);
    void take_offsets(const offset_job::answer& a);
    void take_slips(const offset_job::answer& a);
    //! Returns millionths of the clock's rate that are a rate of the phase per sample.
    double ppm_of(double phase_rate) const;
    void know_clock(int port, double ppm);
    //! Reports, once, a phase that walks away from what is known and is not followed.
    void tell_drift(int port, int base, const receiver_offset& o);
    void place(int port, int64_t ticks);
    double delay_at(int port, int64_t tick) const;
    double phase_at(int port, int64_t tick) const;

    void begin_capture();
    void keep(const timeline::run& run, const std::vector<const char*>& starts);

    void send(const timeline::run& run,
              const std::vector<const char*>& starts,
              int done,
              const gr_vector_void_star& output_items);
    void tag_first(uint64_t item);
    void tag_delays(uint64_t item);
    void publish(const char* event, int port, const pmt::pmt_t& more);
    void publish_state();
    template <typename value>
    std::vector<value> of_each(value facts::*member) const;

    const parameters d_p;
    const sample_type d_type;
    std::atomic<double> d_interval, d_watch, d_status_interval;
    std::atomic<bool> d_unaligned, d_requested{ false }, d_held{ false };

    offset_job d_job;
    periodic_call d_reminder; // looks for ports that keep the others waiting
    std::vector<input_state> d_inputs;
    std::vector<hold> d_holds;
    bool d_holding = false; // the output is held at the position until a result came
    bool d_searched_further = false; // all of most_offset was searched, at this hold
    bool d_first = false;            // nothing was sent since the ports were aligned
    bool d_more = true;              // more items may come
    bool d_described = false;        // the first output item has its tags
    bool d_due = false;              // delays and phases are to be tagged
    int d_generation = 0;            // counts the changes of the ports' places
    std::optional<capture> d_capture;
    noise_cycle d_noise;
    kernels::alignment::coherence_meter d_meter;
    noise_cycle::stage d_metered = noise_cycle::stage::off; // stage of the meter's window
    bool d_answered = true;    // no warning says that the switch does not answer
    double d_noise_share = 1;  // coherence of the faintest input in the last search
    uint64_t d_noise_from = 0; // d_noise_samples when the source was switched on
    std::atomic<bool> d_noise_on{ false };
    std::atomic<uint64_t> d_noise_samples{ 0 };
    int64_t d_next_measurement = 0, d_next_watch = 0; // ticks
    double d_pause = 1; // seconds to the next try to place inputs
    std::chrono::steady_clock::time_point d_published;

    mutable std::mutex d_mutex;  // guards what follows
    std::deque<bool> d_switched; // arguments of switch_noise() that were not followed yet
    std::vector<facts> d_facts;
    uint64_t d_measurements = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_ALIGN_IMPL_H */
