/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/not_numbers.h"
#include "stream/message_text.h"
#include "stream/samples_as_float.h"
#include "stream_align_impl.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <thread>

namespace gr::aperture {

namespace {

constexpr double pi = 3.14159265358979323846;

const pmt::pmt_t status_port = pmt::mp("status");
const pmt::pmt_t gains_port = pmt::mp("gains");
const pmt::pmt_t noise_port = pmt::mp("noise");

//! Inputs that were aligned are searched for within so many samples of where they were.
constexpr int64_t near_lags = 256;
//! Fewer samples than this are not worth a search.
constexpr int64_t fewest_samples = 1024;
//! Samples of each input in which slips are searched for.
constexpr int64_t watched_samples = 1 << 17;
//! An input of this signal-to-noise does not disappear in the noise by chance: the search
//! for slips still finds one of about 5.
constexpr double surely_seen = 10;
//! Cycles a second of a phase that is not followed, from which on that is reported: more
//! than the sky makes on some kilometres.
constexpr double fastest_phase = 1;
//! Standard deviations of such a rate.
constexpr double surely_walks = 8;
//! Radians by which a followed phase may be beside what was expected.
constexpr double most_strayed = 1;
//! Change of a delay from stamps, in samples, after which it is tagged again.
constexpr double delay_step = 0.1; // samples
//! Rate in samples a second that is assumed where no tag gives it.
constexpr double usual_rate = 1e6;
//! Samples in which the coherence with the noise source is looked at, at least, and the
//! product of their root with the coherence, so that chance makes no such coherence.
constexpr int64_t fewest_gauged = 1 << 13;
constexpr double surely_gauged = 30;
//! Seconds to the next try to place an input, at most; they double with each try.
constexpr double longest_pause = 60;
//! Time without items, while others send, after which an input is reported as stalled.
constexpr std::chrono::seconds long_silence(1);
constexpr std::chrono::milliseconds reminder_period(500);
//! Time that a call waits for a result while the output is held back.
constexpr std::chrono::milliseconds short_wait(5);

void require_seconds(const char* name, double seconds)
{
    require(std::isfinite(seconds) && seconds >= 0,
            name,
            text_of(seconds),
            "0 or more seconds");
}

void check(const stream_align::parameters& p)
{
    require_ports(p.inputs);
    require_range("reference", p.reference, 0, p.inputs - 1);
    require(p.false_alarms > 0 && p.false_alarms < 1,
            "false_alarms",
            text_of(p.false_alarms),
            "more than 0 and less than 1");
    require(p.noise_source == "none" || p.inputs > 1,
            "noise_source",
            p.noise_source,
            "none: one input has nothing to be measured with");
}

sample_type type_of(const stream_align::parameters& p)
{
    using t = sample_type;
    return parse_sample_type("type", p.type, { t::fc32, t::sc16, t::sc8, t::sc4 });
}

pmt::pmt_t one_double(double value) { return pmt::init_f64vector(1, { value }); }

//! Adds entries to a dictionary.
class entries
{
public:
    entries& add(const char* name, const pmt::pmt_t& value)
    {
        d_dict = pmt::dict_add(d_dict, key(name), value);
        return *this;
    }
    entries& add(const char* name, double value)
    {
        return add(name, pmt::from_double(value));
    }
    const pmt::pmt_t& dict() const { return d_dict; }

private:
    pmt::pmt_t d_dict = pmt::make_dict();
};

} // namespace

stream_align::sptr stream_align::make(const parameters& p)
{
    check_parameters<stream_align>(p);
    check(p);
    return gnuradio::make_block_sptr<stream_align_impl>(p);
}

stream_align_impl::stream_align_impl(const parameters& p)
    : gr::block("stream_align",
                signature_on(device::select("cpu"), p.inputs, int(size_of(type_of(p)))),
                signature_on(device::select("cpu"), p.inputs, int(size_of(type_of(p))))),
      clocked_block(device::select("cpu"), p.inputs, 1, 1),
      d_p(p),
      d_type(type_of(p)),
      d_interval(p.interval),
      d_watch(p.watch),
      d_status_interval(p.status_interval),
      d_unaligned(p.unaligned),
      d_inputs(p.inputs),
      d_facts(p.inputs)
{
    set_most_gap(p.most_gap);
    set_relative_time(p.relative_time);
    set_follow_clock(p.follow_clock);
    take_filled_samples();
    if (p.method != "time") {
        compare_true_times_only();
        // for the size of the buffers before this block, where the samples wait for a
        // result: no window needs the zeros themselves
        set_history(unsigned(p.search_samples) + unsigned(p.most_offset) + 1);
    }
    message_port_register_out(gains_port);
    message_port_register_out(noise_port);
    take_settings("command", [this](const pmt::pmt_t& m) { receive(m); });
}

bool stream_align_impl::start()
{
    d_job.cancel();
    d_inputs.assign(d_p.inputs, {});
    d_holds.clear();
    d_capture.reset();
    d_holding = d_described = d_due = d_requested = false;
    d_more = true;
    d_generation = 0;
    d_pause = 1;
    d_noise = {};
    d_metered = noise_cycle::stage::off;
    d_answered = true;
    d_noise_on = false;
    d_noise_samples = d_noise_from = 0;
    d_published = std::chrono::steady_clock::now();
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_facts.assign(d_p.inputs, {});
        d_measurements = 0;
        d_switched.clear();
    }
    const bool started = clocked_block::start();
    // No other thread calls this block where the others' buffers are full.
    if (d_p.inputs > 1)
        d_reminder.start(reminder_period, [this] { detail()->d_tpb.notify_msg(); });
    return started;
}

bool stream_align_impl::stop()
{
    d_reminder.stop();
    d_job.cancel();
    return clocked_block::stop();
}

void stream_align_impl::forecast(int, gr_vector_int& required)
{
    watch_arrivals();
    require_window(required);
    d_more = !ended();
    if (d_holding && !ended() && !d_job.running())
        d_more = require_ahead(required, d_p.search_samples + lags());
    if (d_job.ready())
        std::fill(required.begin(), required.end(), 0); // a result needs no samples
}

void stream_align_impl::watch_arrivals()
{
    const auto now = std::chrono::steady_clock::now();
    auto newest = std::chrono::steady_clock::time_point::min();
    for (int port = 0; port < d_p.inputs; port++) {
        auto& in = d_inputs[port];
        const auto there = arrived(port);
        in.complete = there.all;
        if (there.items != in.arrived || in.arrival.time_since_epoch().count() == 0) {
            in.arrived = there.items;
            in.arrival = now;
            in.stalled = false;
        }
        newest = std::max(newest, there.held ? now : in.arrival);
        if (there.held)
            in.arrival = now; // the input would send more if there were room
    }
    for (int port = 0; port < d_p.inputs; port++) {
        auto& in = d_inputs[port];
        if (in.stalled || in.complete || newest - in.arrival < long_silence)
            continue;
        in.stalled = true;
        report("stalled", port, in.arrived, -1);
    }
}

void stream_align_impl::receive(const pmt::pmt_t& message)
{
    // a QT GUI Msg Push Button sends a pair
    const auto name = pmt::mp("command");
    const auto command =
        pmt::is_dict(message) ? pmt::dict_ref(message, name, pmt::PMT_NIL)
        : pmt::is_pair(message) && pmt::equal(pmt::car(message), name) ? pmt::cdr(message)
                                                                       : pmt::PMT_NIL;
    const auto is = [&](const char* text) { return pmt::equal(command, pmt::mp(text)); };
    const bool on = is("noise_on");
    require(on || is("noise_off") || is("measure"),
            "command",
            text_of(message),
            "a dictionary or a pair of command: measure, noise_on or noise_off");
    if (is("measure"))
        measure();
    else
        switch_noise(on);
}

int64_t stream_align_impl::ticks(double seconds) const
{
    const double items = seconds * (rate() > 0 ? rate() : usual_rate);
    return std::max<int64_t>(1, std::llround(std::min(items, 1e15)));
}

bool stream_align_impl::by_time(int port) const
{
    return d_p.method == "time" || (d_p.method == "auto" && has_true_time(port));
}

bool stream_align_impl::trusted(int port) const
{
    return d_inputs[port].placed && !d_inputs[port].doubted;
}

int stream_align_impl::reference() const
{
    if (!by_time(d_p.reference))
        for (int port = 0; port < d_p.inputs; port++)
            if (by_time(port))
                return port;
    return d_p.reference;
}

void stream_align_impl::on_begin()
{
    d_described = false;
    d_first = true;
    d_holds.clear();
    d_capture.reset();
    d_generation++;
    d_holding = d_searched_further = false;
    d_due = true;
    for (int port = 0; port < d_p.inputs && d_p.inputs > 1; port++)
        if (d_p.method == "time" && has_guessed_time(port)) {
            fail("method: time is not allowed: the rx_time of port " +
                 std::to_string(port) +
                 " is a guess (rx_time_approximate), such as a file's date or the host's "
                 "clock, and lines nothing up; auto and correlation compare the samples");
            return;
        }
    const bool stays = by_time(reference()) || keeps_place(reference());
    for (int port = 0; port < d_p.inputs; port++) {
        auto& in = d_inputs[port];
        if (by_time(port) && !in.by_time && !keeps_place(port))
            in.delay = in.delay_rate = in.stamped = 0; // the port is placed by its time
        in.by_time = by_time(port);
        in.placed = in.by_time || port == reference() ||
                    (in.measured && !in.doubted && stays && keeps_place(port));
        in.watched = in.doubted = false;
        d_holding = d_holding || !in.placed;
        if (!in.placed)
            in.measured = false;
    }
    if (switches_noise()) { // the samples in front of it say nothing
        d_holding = false;
        d_requested = true;
    }
    d_next_measurement = position() + ticks(d_interval);
    d_next_watch = position() + ticks(d_watch);
}

void stream_align_impl::on_tag(int port, const gr::tag_t& tag)
{
    d_inputs[port].tags.push_back(tag);
}

void stream_align_impl::on_loss(int port, int64_t item)
{
    if (d_p.method != "time" && d_p.inputs > 1)
        d_holds.push_back({ port, item, true });
}

void stream_align_impl::on_tuned(int port, int64_t item)
{
    // By time alone nothing waits for a phase, and one that is being measured may have to
    // be measured anew.
    if (d_p.method == "time" || d_holding || d_noise.active() || switches_noise() ||
        is_measured())
        d_holds.push_back({ port, item, false });
}

bool stream_align_impl::is_measured() const
{
    return std::any_of(
        d_inputs.begin(), d_inputs.end(), [](const auto& in) { return in.measured; });
}

int64_t stream_align_impl::next_hold() const
{
    int64_t next = timeline::none;
    for (const auto& h : d_holds)
        next = std::min(next, tick_of(h.port, h.item));
    return next;
}

int64_t stream_align_impl::lags() const
{
    const bool all = std::all_of(
        d_inputs.begin(), d_inputs.end(), [](const auto& in) { return in.placed; });
    return all && !d_searched_further ? std::min<int64_t>(near_lags, d_p.most_offset)
                                      : d_p.most_offset;
}

void stream_align_impl::reach_hold()
{
    for (auto h = d_holds.begin(); h != d_holds.end();) {
        if (tick_of(h->port, h->item) > position()) {
            ++h;
            continue;
        }
        if (h->loss)
            d_inputs[h->port].placed = false;
        h = d_holds.erase(h);
    }
    // By time alone the buffers hold too little to wait, and no phase can be wrong now if
    // none was measured, or was to be.
    d_holding = d_p.method != "time";
    if (!d_holding && !switches_noise() &&
        (is_measured() || d_capture || d_job.running()))
        d_requested = true;
    d_generation++; // samples that were kept before say nothing about later ones
    d_capture.reset();
    d_searched_further = false;
}

bool stream_align_impl::released(const gr_vector_const_void_star& input_items)
{
    if (d_job.ready())
        if (const auto answer = d_job.wait(short_wait))
            take(*answer);
    while (d_holding || next_hold() <= position()) {
        if (!d_holding)
            reach_hold();
        if (interrupted()) {
            d_holding = false; // the ports are aligned anew
            return true;
        }
        if (switches_noise()) { // the output goes on, as missing from here on
            d_holding = false;
            act(d_noise.begin(position(), false));
            continue;
        }
        if (!d_holding)
            continue;
        if (d_job.running()) {
            if (const auto answer = d_job.wait(short_wait))
                take(*answer);
            else if (ended())
                boost::this_thread::interruption_point();
            else
                return false;
        } else if (!gather(input_items)) {
            return false;
        }
    }
    return true;
}

bool stream_align_impl::gather(const gr_vector_const_void_star& input_items)
{
    const int64_t most_lag = lags(), wanted = d_p.search_samples + most_lag;
    const int64_t there = look_ahead(wanted, [](const timeline::run&, int64_t) {});
    if (there < wanted && d_more && !ended())
        return false;
    // up to where the receivers are tuned again, or one loses samples
    const int64_t count = std::min(there, next_hold() - position());
    if (count < std::min<int64_t>(there, d_p.search_samples / 2) ||
        count < fewest_samples) {
        d_holding = false;
        d_next_measurement = position() + count;
        return true;
    }
    auto task = task_for(std::min(most_lag, count / 2));
    task.holds = true;
    task.first = position();
    task.samples.assign(d_p.inputs, std::vector<cfloat>(size_t(count)));
    look_ahead(count, [&](const timeline::run& run, int64_t tick) {
        const auto starts = starts_of(run, input_items);
        for (int port = 0; port < d_p.inputs; port++)
            if (starts[port])
                samples_as_float(d_type,
                                 starts[port],
                                 run.windows,
                                 &task.samples[port][size_t(tick - task.first)]);
    });
    search(std::move(task));
    return true;
}

void stream_align_impl::search(offset_job::task&& task)
{
    // Even if no more samples come for a while, the result is to be used.
    d_job.start(std::move(task), [this] { detail()->d_tpb.notify_msg(); });
}

offset_job::task stream_align_impl::task_for(int64_t most_lag) const
{
    offset_job::task task;
    task.generation = d_generation;
    task.compared.assign(d_p.inputs, true);
    task.search.most_lag = most_lag;
    task.search.false_alarms = d_p.false_alarms;
    // an input whose place is known, if there is one
    task.search.reference = reference();
    if (!d_inputs[task.search.reference].placed)
        for (int port = d_p.inputs - 1; port >= 0; port--)
            if (d_inputs[port].placed)
                task.search.reference = port;
    task.cycles = rate() > 0 ? frequency() / rate() : 0;
    if (d_p.clock_error > 0 && rate() > 0) {
        // the errors of two receivers may have opposite signs
        const double error = 2e-6 * d_p.clock_error;
        task.search.most_delay_rate = error;
        task.search.most_phase_rate = 2 * pi * error * frequency() / rate();
    }
    return task;
}

double stream_align_impl::delay_at(int port, int64_t tick) const
{
    const auto& in = d_inputs[port];
    return in.delay + in.delay_rate * double(tick - in.tick) +
           (by_time(port) ? lag(port, tick) - in.stamped : 0);
}

double stream_align_impl::phase_at(int port, int64_t tick) const
{
    const auto& in = d_inputs[port];
    return std::remainder(in.phase + in.phase_rate * double(tick - in.tick), 2 * pi);
}

double stream_align_impl::ppm_of(double phase_rate) const
{
    const double cycles = rate() > 0 ? frequency() / rate() : 0;
    return cycles > 0 ? 1e6 * phase_rate / (2 * pi * cycles)
                      : std::numeric_limits<double>::quiet_NaN();
}

void stream_align_impl::know_clock(int port, double ppm)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_facts[port].ppm = ppm;
}

void stream_align_impl::tell_drift(int port, int base, const receiver_offset& o)
{
    auto& in = d_inputs[port];
    const double hertz = std::abs(o.phase_rate) * rate() / (2 * pi);
    if (in.drifts || d_p.clock_error > 0 || hertz < fastest_phase ||
        std::abs(o.phase_rate) < surely_walks * o.sigma_phase_rate)
        return;
    in.drifts = true;
    const double ppm = ppm_of(o.phase_rate);
    std::ostringstream why;
    why << std::setprecision(2) << "the phase of inputs " << port << " and " << base
        << " rotates " << hertz << " times a second";
    if (std::isfinite(ppm))
        why << ", as their clocks differ by " << std::abs(ppm) << " ppm";
    why << ": that is not followed, and integrations longer than " << 0.25 / hertz
        << " s average it out. Give both one clock, or clock_error and interval, which "
           "follow two";
    d_logger->warn("{:s}", why.str());
    publish("clock_drift",
            port,
            entries()
                .add(tags::ppm, ppm)
                .add(tags::phase_rate, o.phase_rate * rate())
                .add(tags::reason, pmt::mp(why.str()))
                .dict());
}

void stream_align_impl::place(int port, int64_t moved)
{
    if (moved == 0)
        return;
    move(port, moved);
    d_generation++;
    d_capture.reset();
}

void stream_align_impl::take(const offset_job::answer& a)
{
    if (a.asked.generation != d_generation)
        return; // the ports have moved since
    if (!a.error.empty())
        d_logger->warn("the offsets could not be measured: {:s}", a.error);
    know_clock(a.asked.search.reference, 0);
    if (a.asked.known.empty()) {
        bool all = true;
        double share = 1;
        std::vector<double> coherence(d_p.inputs, std::nan(""));
        for (int port = 0; port < d_p.inputs; port++) {
            const auto& o = a.offsets.inputs[port];
            if (port == a.asked.search.reference)
                continue;
            all = all && (o.found || !d_inputs[port].measured);
            if (!o.found)
                continue;
            share = std::min(share, o.coherence);
            coherence[port] = o.coherence;
        }
        // Receivers that lose samples when they are tuned are no longer near their place.
        // Where the output is held, there may be too few samples to search all of
        // most_offset: one further search has to do.
        const bool near = a.asked.holds
                              ? !d_searched_further && lags() < d_p.most_offset
                              : d_noise.now() == noise_cycle::stage::searching &&
                                    a.asked.search.most_lag < d_p.most_offset;
        if (near && !all) {
            d_searched_further = true;
            return;
        }
        d_noise_share = share;
        take_offsets(a);
        act(d_noise.measured(position(), std::move(coherence)));
    } else if (a.error.empty()) {
        take_slips(a);
    }
}

void stream_align_impl::take_offsets(const offset_job::answer& a)
{
    const int64_t now = position();
    const int base = a.asked.search.reference;
    const double base_delay = delay_at(base, now), base_phase = phase_at(base, now);
    const double delay_rate = d_inputs[base].delay_rate;
    const double phase_rate = d_inputs[base].phase_rate;

    std::vector<bool> moved(d_p.inputs);
    bool all = true;
    for (int port = 0; port < d_p.inputs; port++) {
        auto& in = d_inputs[port];
        const auto& o = a.offsets.inputs[port];
        in.doubted = false; // an input that was not found is as good as before
        if (port == base) {
            in.placed = in.measured = true;
            continue;
        }
        entries more;
        more.add("signal_to_noise", o.signal_to_noise)
            .add("threshold", a.offsets.threshold);
        if (!o.found) {
            std::string why = a.error.empty() ? o.reason : a.error;
            if (in.placed)
                why += "; what was measured before is kept";
            d_logger->warn("inputs {:d} and {:d}: {:s}", port, base, why);
            if (a.ppm[port]) {
                more.add(tags::ppm, *a.ppm[port]);
                know_clock(port, *a.ppm[port]);
            }
            if (a.most_ppm > 0)
                more.add("most_ppm", a.most_ppm);
            publish("not_aligned", port, more.add(tags::reason, pmt::mp(why)).dict());
            all = all && in.placed;
        } else {
            const double since = double(now - a.asked.first) - o.time;
            const double delay = o.fraction + o.delay_rate * since + base_delay;
            const int64_t whole = o.lag + std::llround(delay);
            const bool slipped =
                in.placed && in.measured && whole != 0 && d_p.clock_error == 0;
            in.delay = delay - std::round(delay);
            const double phase = o.phase + o.phase_rate * since + base_phase;
            if (d_p.clock_error > 0 && in.measured) {
                const double strayed =
                    std::remainder(phase - phase_at(port, now), 2 * pi);
                more.add("strayed", strayed);
                if (std::abs(strayed) > most_strayed)
                    d_logger->warn(
                        "the phase of input {:d} strayed by {:.0f} degrees from what the "
                        "last measurement implied: its clock wanders; measure more often "
                        "(interval), or more samples (search_samples)",
                        port,
                        strayed * 180 / pi);
            }
            in.phase = std::remainder(phase, 2 * pi);
            in.delay_rate = o.delay_rate + delay_rate;
            in.phase_rate = o.phase_rate + phase_rate;
            in.tick = now;
            in.placed = in.measured = true;
            place(port, whole);
            in.stamped = by_time(port) ? lag(port, now) : 0;
            in.drifts = false;
            if (d_p.clock_error > 0) {
                const double ppm = ppm_of(in.phase_rate);
                know_clock(port, ppm);
                more.add(tags::ppm, ppm);
                d_logger->info("the clock of input {:d} is faster than that of input "
                               "{:d} by {:.4g} ppm, which is followed",
                               port,
                               base,
                               ppm_of(o.phase_rate));
            }
            d_logger->info(
                "input {:d} against {:d}: {:d} samples and {:.4f} later, phase "
                "{:.2f} degrees, signal-to-noise {:.1f}",
                port,
                base,
                whole,
                in.delay,
                in.phase * 180 / pi,
                o.signal_to_noise);
            publish("aligned",
                    port,
                    more.add("samples", pmt::from_long(long(whole)))
                        .add("fraction", in.delay)
                        .add(tags::phase, in.phase)
                        .add(tags::delay_rate, in.delay_rate)
                        .add(tags::phase_rate, in.phase_rate * (rate() > 0 ? rate() : 1))
                        .add(tags::gain, o.gain)
                        .add("coherence", o.coherence)
                        .add("sigma_delay", o.sigma_delay)
                        .add("sigma_phase", o.sigma_phase)
                        .dict());
            if (slipped)
                publish("slip",
                        port,
                        entries().add("samples", pmt::from_long(long(whole))).dict());
            message_port_pub(gains_port,
                             entries()
                                 .add(tags::gain, o.gain)
                                 .add(tags::input, pmt::from_long(port))
                                 .add(tags::time, time_of(double(now)).to_pmt())
                                 .add(tags::model, pmt::mp("alignment"))
                                 .dict());
            moved[port] = slipped;
        }
        std::lock_guard<std::mutex> guard(d_mutex);
        d_facts[port].snr = o.signal_to_noise;
        d_facts[port].reason = o.found ? "" : o.reason;
        d_facts[port].slips += moved[port];
    }
    if (a.asked.holds) {
        d_holding = false;
        if (d_first) { // with the first sample that all have
            int64_t first = now;
            for (int port = 0; port < d_p.inputs; port++)
                // no item is needed of a port whose time is not known at the moment
                if (const int64_t item = first_needed(port);
                    d_inputs[port].placed && item != timeline::none)
                    first = std::max(first, tick_of(port, item));
            set_position(first);
        }
    }
    d_due = true;
    d_pause = all ? 1 : std::min(2 * d_pause, longest_pause);
    d_next_measurement = position() + ticks(all ? double(d_interval) : d_pause / 2);
    d_next_watch = position() + ticks(d_watch);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_measurements++;
}

void stream_align_impl::take_slips(const offset_job::answer& a)
{
    const int base = a.asked.search.reference;
    std::vector<int64_t> slips(d_p.inputs);
    int compared = 0;
    bool lost = false, any = false, alike = true;
    int64_t last = 0;
    for (int port = 0; port < d_p.inputs; port++) {
        const auto& o = a.offsets.inputs[port];
        if (port == base || !a.asked.compared[port])
            continue;
        auto& in = d_inputs[port];
        const bool disappeared = in.watched && !o.found;
        lost = lost || disappeared;
        if (disappeared && in.seen >= surely_seen) {
            // Samples that were sent cannot be recalled, but later ones do not count
            // until their place is known.
            in.doubted = true;
            d_logger->warn(
                "inputs {:d} and {:d} no longer correlate: input {:d} is missing "
                "until it has been searched for",
                port,
                base,
                port);
            publish("doubted", port, pmt::make_dict());
        }
        in.watched = o.found;
        in.seen = o.signal_to_noise;
        if (!o.found)
            continue;
        if (o.sigma_phase_rate > 0) {
            know_clock(port,
                       ppm_of(o.phase_rate + in.phase_rate - d_inputs[base].phase_rate));
            tell_drift(port, base, o);
        }
        slips[port] = o.lag;
        any = any || o.lag != 0;
        alike = alike && (compared == 0 || o.lag == last);
        last = o.lag;
        compared++;
    }
    // If all others slipped at once, it was the reference.
    if (any && alike && compared > 1) {
        std::fill(slips.begin(), slips.end(), 0);
        slips[base] = -last;
    }
    for (int port = 0; port < d_p.inputs; port++)
        if (slips[port] != 0) {
            d_logger->warn(
                "input {:d} slipped by {:d} samples, which is mended", port, slips[port]);
            publish("slip",
                    port,
                    entries().add("samples", pmt::from_long(long(slips[port]))).dict());
            place(port, slips[port]);
            std::lock_guard<std::mutex> guard(d_mutex);
            d_facts[port].slips++;
        }
    if (any || lost) {
        d_requested = true;
        d_searched_further = lost; // a slip may have been longer than the search reached
    }
}

void stream_align_impl::begin_capture()
{
    if (d_capture || d_job.running() || d_p.inputs < 2)
        return;
    bool unplaced = false, measured = false;
    int known = 0;
    for (const auto& in : d_inputs) {
        unplaced = unplaced || !in.placed || in.doubted;
        measured = measured || in.measured;
        known += trusted(int(&in - d_inputs.data())) && in.measured;
    }
    const bool due = (unplaced || d_interval > 0) && position() >= d_next_measurement;
    const bool asked = d_requested.exchange(false);
    // One input that is dead alone is not worth the samples of all others.
    if (asked && d_noise.active() && !switches_noise())
        if (d_noise.now() == noise_cycle::stage::falling)
            d_requested = true; // once it has gone
        else
            act(d_noise.begin(position(), true));
    else if (switches_noise() &&
             (asked || (!d_noise.active() && due && (d_interval > 0 || known < 2))))
        act(d_noise.begin(position(), false));
    const bool noise = d_noise.active();
    if (noise && !d_noise.wants_search(position()))
        return;
    capture c;
    c.first = position();
    if (noise || asked || due) {
        c.most_lag = lags();
        d_searched_further = false;
        c.wanted = d_p.search_samples + c.most_lag;
    } else if (d_watch > 0 && measured && position() >= d_next_watch) {
        c.for_slips = true;
        c.wanted = std::min<int64_t>(watched_samples, d_p.search_samples);
        d_next_watch = position() + std::max(ticks(d_watch), c.wanted);
    } else {
        return;
    }
    c.samples.resize(d_p.inputs);
    for (auto& s : c.samples)
        s.reserve(size_t(c.wanted));
    d_capture = std::move(c);
}

void stream_align_impl::keep(const timeline::run& run,
                             const std::vector<const char*>& starts)
{
    if (!d_capture)
        return;
    auto& c = *d_capture;
    const auto before = int64_t(c.samples[0].size());
    const int64_t count = std::min(run.windows, c.wanted - before);
    for (int port = 0; port < d_p.inputs; port++) {
        c.samples[port].resize(size_t(before + count));
        if (starts[port])
            samples_as_float(
                d_type, starts[port], count, &c.samples[port][size_t(before)]);
    }
    if (before + count < c.wanted)
        return;
    auto task = task_for(c.most_lag);
    task.first = c.first;
    task.samples = std::move(c.samples);
    if (c.for_slips) {
        for (int port = 0; port < d_p.inputs; port++) {
            const int64_t middle = c.first + c.wanted / 2;
            task.compared[port] = d_inputs[port].placed && d_inputs[port].measured;
            task.known.push_back({ delay_at(port, middle),
                                   phase_at(port, middle),
                                   d_inputs[port].delay_rate,
                                   d_inputs[port].phase_rate,
                                   double(middle - c.first) });
        }
        task.compared[task.search.reference] = true;
    }
    d_capture.reset();
    if (std::count(task.compared.begin(), task.compared.end(), true) > 1)
        search(std::move(task));
}

clocked_block::progress
stream_align_impl::make(int done,
                        int room,
                        const gr_vector_const_void_star& input_items,
                        const gr_vector_void_star& output_items)
{
    if (!released(input_items))
        return {};
    if (d_held) {
        std::this_thread::sleep_for(short_wait);
        return {};
    }
    follow_noise();
    begin_capture();
    const int64_t now = position();
    int64_t most = std::min<int64_t>(room, next_hold() - now);
    // rx_freq is tagged on the first item for which it holds
    const int64_t change = next_change();
    if (change > now)
        most = std::min(most, change - now);
    const auto run = next_run(most);
    if (run.windows == 0)
        return {};
    const auto starts = starts_of(run, input_items);
    const uint64_t item = nitems_written(0) + uint64_t(done);
    tag_first(item);
    tag_delays(item);
    send(run, starts, done, output_items);
    keep(run, starts);
    gauge(run, starts);
    d_first = false;
    advance(run.windows);
    publish_state();
    return { run.windows, int(run.windows) };
}

void stream_align_impl::switch_noise(bool on)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_switched.push_back(on);
}

void stream_align_impl::follow_noise()
{
    const int64_t now = position();
    d_noise.set_lengths(ticks(d_p.noise_settle), ticks(d_p.noise_patience));
    std::deque<bool> switched;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        switched.swap(d_switched);
    }
    for (const bool on : switched)
        act(on ? d_noise.begin(now, true) : d_noise.end(now));
    act(d_noise.pass(now));
}

void stream_align_impl::act(const noise_cycle::outcome& o)
{
    const int64_t now = position();
    const auto complain = [&](const char* event, const std::string& why) {
        publish(event, reference(), entries().add(tags::reason, pmt::mp(why)).dict());
        if (d_answered)
            d_logger->warn("{:s}", why);
        d_answered = false;
    };
    if (o.switch_to) {
        if (*o.switch_to) {
            // samples without the source say nothing of those with it
            d_capture.reset();
            d_generation++;
            d_noise_from = d_noise_samples;
        }
        d_logger->info("the noise source is switched {:s}", *o.switch_to ? "on" : "off");
        const auto to = entries().add(tags::noise, pmt::from_bool(*o.switch_to)).dict();
        message_port_pub(noise_port, to);
        publish("noise", reference(), to);
    }
    if (o.again)
        d_logger->info(
            "the noise source came on within the samples that were measured: they "
            "are measured once more");
    if (o.silent)
        complain(
            "noise_silent",
            "the noise source does not answer: nothing correlates " +
                text_of(d_p.noise_patience) +
                " s after it was switched on. Is the block that switches it connected "
                "to port noise, has the receiver such a switch, has the source power?");
    if (o.stays)
        complain(
            "noise_stays",
            "the noise source does not answer: the coherence is the same " +
                text_of(d_p.noise_patience) +
                " s after it was switched off. Either its switch does nothing, or the "
                "antennas hear something as strong");
    d_answered = d_answered || o.answered;
    if (o.ended) {
        d_next_measurement =
            now + ticks(d_interval > 0 ? double(d_interval) : d_pause / 2);
        d_next_watch = now + ticks(d_watch);
        publish("noise_ended",
                reference(),
                entries()
                    .add(tags::count, pmt::from_uint64(d_noise_samples - d_noise_from))
                    .dict());
    }
    d_noise_on = d_noise.active();
}

void stream_align_impl::gauge(const timeline::run& run,
                              const std::vector<const char*>& starts)
{
    const auto known = [&](int port) { return trusted(port) && d_inputs[port].measured; };
    int base = reference();
    std::vector<double> rates;
    for (int port = 0; port < d_p.inputs; port++) {
        base = known(base) ? base : port;
        rates.push_back(d_inputs[port].phase_rate);
    }
    for (int64_t done = 0; done < run.windows && d_noise.wants_coherence();) {
        if (d_metered != d_noise.now()) {
            const double share = surely_gauged / std::max(d_noise_share, 1e-3);
            d_meter.begin(
                d_p.inputs,
                base,
                std::clamp(int64_t(share * share),
                           fewest_gauged,
                           std::max<int64_t>(fewest_gauged, d_p.search_samples)));
            d_metered = d_noise.now();
        }
        const int64_t count = std::min(run.windows - done, d_meter.room());
        std::vector<std::vector<cfloat>> floats(d_p.inputs);
        std::vector<const cfloat*> samples(d_p.inputs);
        for (int port = 0; port < d_p.inputs; port++)
            if (starts[port] && known(port)) {
                floats[port].resize(size_t(count));
                samples_as_float(d_type,
                                 starts[port] + size_t(done) * size_of(d_type),
                                 count,
                                 floats[port].data());
                samples[port] = floats[port].data();
            }
        d_meter.add(samples, count, rates);
        done += count;
        if (d_meter.room() == 0)
            act(d_noise.gauge(position() + done, d_meter.take()));
    }
    if (!d_noise.wants_coherence())
        d_metered = noise_cycle::stage::off;
}

void stream_align_impl::tag_first(uint64_t item)
{
    const timestamp time = time_of(double(position()));
    const bool again = take_correction(position());
    const auto changes = take_changes(position());
    for (int port = 0; port < d_p.inputs; port++) {
        if (!d_described)
            tag_description(
                port,
                item,
                { time, rate(), input_bandwidth(), input_samples_per_item() });
        else if (again)
            tag_time(port, item, time);
        if (!changes.empty())
            tag_frequency(port, item, time, changes.back().frequency);
    }
    d_described = true;
}

void stream_align_impl::tag_delays(uint64_t item)
{
    const int64_t now = position();
    for (int port = 0; port < d_p.inputs && rate() > 0; port++) {
        auto& in = d_inputs[port];
        const double delay = delay_at(port, now);
        if (!d_due && (in.measured || std::abs(delay - in.tagged) < delay_step))
            continue;
        in.tagged = delay;
        tag(port, item, tags::delay, one_double(delay / rate()));
        if (in.measured)
            tag(port, item, tags::phase, one_double(phase_at(port, now)));
        if (in.measured && d_p.clock_error > 0) {
            tag(port, item, tags::delay_rate, one_double(in.delay_rate));
            tag(port, item, tags::phase_rate, one_double(in.phase_rate * rate()));
        }
    }
    d_due = false;
}

void stream_align_impl::send(const timeline::run& run,
                             const std::vector<const char*>& starts,
                             int done,
                             const gr_vector_void_star& output_items)
{
    const size_t size = size_of(d_type), bytes = size_t(run.windows) * size;
    const int base = reference();
    const bool noise = d_noise.active(), pass_all = d_unaligned;
    if (noise)
        d_noise_samples += uint64_t(run.windows);
    std::lock_guard<std::mutex> guard(d_mutex);
    for (int port = 0; port < d_p.inputs; port++) {
        auto& in = d_inputs[port];
        auto& known = d_facts[port];
        const uint64_t item = nitems_written(port) + uint64_t(done);
        auto* out = static_cast<char*>(output_items[port]) + size_t(done) * size;
        const int64_t first = run.first_item[port];
        known.aligned = trusted(port);
        known.phase = phase_at(port, position());
        if (first >= 0 && run.first_item[base] >= 0)
            known.offset = double(run.first_item[base] - first) +
                           delay_at(port, position()) - delay_at(base, position());
        const auto miss = [&](int64_t at, int64_t count) {
            known.zeros += uint64_t(count);
            tag_missing(
                port, item + uint64_t(at), 0, item + uint64_t(at), uint64_t(count));
        };
        if (starts[port] && !noise && (trusted(port) || pass_all)) {
            if (in.next >= 0 && first != in.next)
                miss(0, 0); // no window may lie across
            if (d_type != sample_type::fc32)
                std::memcpy(out, starts[port], bytes);
            else if (auto* floats = reinterpret_cast<float*>(out);
                     !kernels::host::copy_numbers(
                         starts[port], size_t(2 * run.windows), floats))
                report("not_numbers",
                       port,
                       first,
                       kernels::host::clear_not_numbers(floats, run.windows, 2, 2, miss));
        } else {
            std::memset(out, 0, bytes);
            miss(0, run.windows);
        }
        if (first < 0)
            continue;
        if (first > std::max<int64_t>(in.next, 0))
            known.dropped += uint64_t(first - std::max<int64_t>(in.next, 0));
        in.next = first + run.windows;
        while (!in.tags.empty() && int64_t(in.tags.front().offset) < in.next) {
            const auto& t = in.tags.front();
            if (int64_t(t.offset) >= first)
                add_item_tag(
                    port, item + t.offset - uint64_t(first), t.key, t.value, t.srcid);
            in.tags.pop_front();
        }
    }
}

void stream_align_impl::publish(const char* event, int port, const pmt::pmt_t& more)
{
    auto dict = pmt::dict_add(more, key(tags::event), pmt::mp(event));
    dict = pmt::dict_add(dict, key(tags::port), pmt::from_long(port));
    // the output's item: where inputs do not begin together, its index is that of none
    dict = pmt::dict_add(dict, key(tags::item), pmt::from_uint64(nitems_written(0)));
    message_port_pub(status_port, dict);
}

void stream_align_impl::publish_state()
{
    const double interval = d_status_interval;
    const auto now = std::chrono::steady_clock::now();
    if (interval <= 0 || now - d_published < std::chrono::duration<double>(interval))
        return;
    d_published = now;
    std::vector<uint64_t> known;
    for (const bool a : aligned())
        known.push_back(a);
    const auto counts = [](const std::vector<uint64_t>& v) {
        return pmt::init_u64vector(v.size(), v);
    };
    const auto numbers = [](const std::vector<double>& v) {
        return pmt::init_f64vector(v.size(), v);
    };
    publish("state",
            reference(),
            entries()
                .add("aligned", counts(known))
                .add("offsets", numbers(offsets()))
                .add("phases", numbers(phases()))
                .add("signal_to_noise", numbers(snr()))
                .add(tags::ppm, numbers(clock_ppm()))
                .add("zeros", counts(zeros()))
                .add("dropped", counts(dropped()))
                .add("slips", counts(slips()))
                .dict());
}

void stream_align_impl::release()
{
    d_held = false;
    if (const auto running = detail())
        running->d_tpb.notify_msg(); // the inputs may be full
}

void stream_align_impl::set_interval(double seconds)
{
    require_seconds("interval", seconds);
    d_interval = seconds;
}

void stream_align_impl::set_watch(double seconds)
{
    require_seconds("watch", seconds);
    d_watch = seconds;
}

void stream_align_impl::set_status_interval(double seconds)
{
    require_seconds("status_interval", seconds);
    d_status_interval = seconds;
}

template <typename value>
std::vector<value> stream_align_impl::of_each(value facts::*member) const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    std::vector<value> values;
    for (const auto& f : d_facts)
        values.push_back(f.*member);
    return values;
}

std::vector<double> stream_align_impl::clock_ppm() const { return of_each(&facts::ppm); }
std::vector<double> stream_align_impl::offsets() const { return of_each(&facts::offset); }
std::vector<double> stream_align_impl::phases() const { return of_each(&facts::phase); }
std::vector<double> stream_align_impl::snr() const { return of_each(&facts::snr); }
std::vector<std::string> stream_align_impl::reasons() const
{
    return of_each(&facts::reason);
}
std::vector<bool> stream_align_impl::aligned() const { return of_each(&facts::aligned); }
std::vector<uint64_t> stream_align_impl::zeros() const { return of_each(&facts::zeros); }
std::vector<uint64_t> stream_align_impl::dropped() const
{
    return of_each(&facts::dropped);
}
std::vector<uint64_t> stream_align_impl::slips() const { return of_each(&facts::slips); }

uint64_t stream_align_impl::measurements() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_measurements;
}

} // namespace gr::aperture
