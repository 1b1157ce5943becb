/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/prototype.h"
#include "pfb_channelizer_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr {
namespace aperture {

namespace {

const pmt::pmt_t gains_port = pmt::mp("gains");

kernels::pfb::parameters kernel_parameters(const pfb_channelizer::parameters& p)
{
    kernels::pfb::check_channels(p.channels);
    require_range("inputs", p.inputs, 1, 65536);
    require_range("inputs_per_port", p.inputs_per_port, 1, p.inputs);
    require(p.inputs % p.inputs_per_port == 0,
            "inputs_per_port",
            std::to_string(p.inputs_per_port),
            "a divisor of " + std::to_string(p.inputs) + " inputs");
    kernels::pfb::parameters k;
    k.channels = p.channels;
    k.taps = p.taps;
    k.ports = p.inputs / p.inputs_per_port;
    k.inputs_per_port = p.inputs_per_port;
    k.input = parse_sample_type("input_type",
                                p.input_type,
                                { sample_type::fc32,
                                  sample_type::sc16,
                                  sample_type::sc8,
                                  sample_type::f32,
                                  sample_type::s16,
                                  sample_type::s8 });
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    k.inverted = p.inverted;
    k.prototype = p.prototype.empty() ? kernels::prototype(k.step(), p.taps, p.window)
                                      : p.prototype;
    require(std::isfinite(p.gain), "gain", std::to_string(p.gain), "finite");
    require(
        p.gain != 0 || p.output_type != "sc8" || p.input_type == "sc8",
        "gain",
        "0 (not given)",
        "given for sc8 from " + p.input_type +
            ": 20 divided by the rms of the samples leaves room for 6 times that rms");
    require_ports(k.ports);
    return k;
}

io_signature::sptr
signature(const device& d, const kernels::pfb::parameters& k, sample_type type, int width)
{
    return signature_on(d,
                        k.ports,
                        item_size(name_of(type) + " item of a port",
                                  { { "inputs", k.inputs_per_port },
                                    { width == 1 ? "sample" : "channels", width } },
                                  size_of(type)));
}

} // namespace

std::vector<float> pfb_prototype(int channels, int taps, const std::string& window)
{
    require_range("channels", channels, 4, 131072);
    require(channels % 2 == 0, "channels", std::to_string(channels), "even");
    return kernels::prototype(channels, taps, window);
}

pfb_channelizer::sptr pfb_channelizer::make(const parameters& p)
{
    return gnuradio::make_block_sptr<pfb_channelizer_impl>(
        p, kernel_parameters(p), device::select(p.device));
}

pfb_channelizer_impl::pfb_channelizer_impl(const parameters& p,
                                           const kernels::pfb::parameters& k,
                                           const device& d)
    : gr::block("pfb_channelizer",
                signature(d, k, k.input, 1),
                signature(d, k, k.output, k.channels)),
      clocked_block(d, k.ports, int64_t(k.taps) * k.step(), k.step()),
      d_p(k),
      d_kernel(kernels::pfb::make(k, d)),
      d_gains(size_t(k.inputs()) * k.channels, p.gain == 0 ? 1 : p.gain),
      d_described(false),
      d_counted(k.ports),
      d_missing(k.inputs())
{
    // for the size of the buffer before this block: no window needs the zeros themselves
    set_history((k.taps - 1) * k.step() + 1);
    set_relative_rate(1, k.step());

    message_port_register_in(gains_port);
    set_msg_handler(gains_port, [this](const pmt::pmt_t& m) { on_message(m); });
}

bool pfb_channelizer_impl::start()
{
    d_described = false;
    std::fill(d_counted.begin(), d_counted.end(), 0);
    return clocked_block::start();
}

void pfb_channelizer_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
}

int pfb_channelizer_impl::process(int noutput_items,
                                  gr_vector_int& ninput_items,
                                  gr_vector_const_void_star& input_items,
                                  gr_vector_void_star& output_items)
{
    if (!update(ninput_items))
        return failed() || ended() ? WORK_DONE : 0;

    const size_t sample = input_signature()->sizeof_stream_item(0);
    const size_t spectrum_size = output_signature()->sizeof_stream_item(0);
    std::vector<kernels::pfb::source> sources(d_p.ports);
    std::vector<void*> spectra(d_p.ports);
    int64_t done = 0;
    while (done < noutput_items) {
        const int64_t spectrum = position() / d_p.step();
        const int64_t sharing = update_gains(spectrum);
        const auto run = next_run(std::min(noutput_items - done, sharing));
        if (run.windows == 0)
            break;
        const int64_t length = (run.windows - 1 + d_p.taps) * d_p.step();
        for (int port = 0; port < d_p.ports; port++) {
            const int64_t item = run.first_item[port];
            sources[port] = { nullptr, 0 };
            spectra[port] = static_cast<char*>(output_items[port]) + done * spectrum_size;
            if (item < 0)
                continue;
            const int64_t at = offset_in_buffer(port, item);
            sources[port].samples =
                static_cast<const char*>(input_items[port]) + at * sample;
            sources[port].counted = std::max<int64_t>(0, d_counted[port] - item);
            d_counted[port] = std::max(d_counted[port], item + length);
        }
        tag_spectra(nitems_written(0) + done, spectrum, run);
        d_kernel->execute(sources.data(), spectra.data(), run.windows, work_stream());
        advance(run.windows);
        done += run.windows;
    }
    consume_passed();
    return done == 0 && ended() ? int(WORK_DONE) : done;
}

timestamp pfb_channelizer_impl::spectrum_time(int64_t spectrum) const
{
    const double middle = (double(d_p.taps) * d_p.step() - 1) / 2;
    return time_of(double(spectrum) * d_p.step() + middle);
}

void pfb_channelizer_impl::tag_spectra(uint64_t item,
                                       int64_t spectrum,
                                       const timeline::run& run)
{
    const timestamp time = spectrum_time(spectrum);
    if (!d_described) {
        const double bandwidth = is_complex(d_p.input) ? rate() : rate() / 2;
        for (int port = 0; port < d_p.ports; port++)
            tag_description(
                port, item, { time, rate() / d_p.step(), bandwidth, d_p.step() });
        d_described = true;
    }
    // a change holds for the first spectrum that lies behind it as a whole
    for (const auto& change : take_changes(position())) {
        // reversed, the real channel at fs/4 is not channel n/2 but the one below
        const double shift =
            d_p.inverted && !is_complex(d_p.input) ? rate() / d_p.step() : 0;
        for (int port = 0; port < d_p.ports; port++)
            tag_frequency(port, item, time, change.frequency + shift);
    }
    for (int port = 0; port < d_p.ports; port++)
        for (int i = 0; i < d_p.inputs_per_port && run.first_item[port] < 0; i++) {
            tag_missing(port, item, i, spectrum, run.windows);
            d_missing[port * d_p.inputs_per_port + i] += run.windows;
        }
}

int64_t pfb_channelizer_impl::spectrum_at(const timestamp& time) const
{
    // a thousandth of a spectrum for the rounding of a time that was computed
    const double late = time.since(spectrum_time(0)) * rate() / d_p.step();
    return std::llround(std::clamp(std::ceil(late - 1e-3), -1e15, 1e15));
}

int64_t pfb_channelizer_impl::update_gains(int64_t spectrum)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    int64_t sharing = std::numeric_limits<int64_t>::max();
    // those that are due in the order of their times, so that the later one counts
    std::stable_sort(d_timed.begin(), d_timed.end(), [](const auto& a, const auto& b) {
        return a.first.since(b.first) < 0;
    });
    size_t due = 0;
    for (; due < d_timed.size(); due++) {
        const int64_t first = rate() > 0 ? spectrum_at(d_timed[due].first) : spectrum - 1;
        if (first > spectrum) {
            sharing = first - spectrum;
            break;
        }
        if (first < spectrum)
            report("late", 0, spectrum, std::min(spectrum - first, int64_t(1) << 40));
        store(d_timed[due].second);
    }
    d_timed.erase(d_timed.begin(), d_timed.begin() + due);
    if (d_gains_changed)
        d_kernel->set_gains(d_gains.data(), work_stream());
    d_gains_changed = false;
    return sharing;
}

void pfb_channelizer_impl::check(const gain_setting& s) const
{
    require_range("input", s.input, -1, d_p.inputs() - 1);
    require(s.gains.size() == 1 || s.gains.size() == size_t(d_p.channels),
            "gains",
            std::to_string(s.gains.size()) + " numbers",
            "one for each of " + std::to_string(d_p.channels) + " channels");
    for (const auto& g : s.gains)
        require(std::isfinite(g.real()) && std::isfinite(g.imag()),
                "gain",
                "(" + std::to_string(g.real()) + ", " + std::to_string(g.imag()) + ")",
                "finite");
}

void pfb_channelizer_impl::store(const gain_setting& s)
{
    const int first = s.input < 0 ? 0 : s.input;
    const int last = s.input < 0 ? d_p.inputs() - 1 : s.input;
    for (int input = first; input <= last; input++)
        for (int k = 0; k < d_p.channels; k++)
            d_gains[size_t(input) * d_p.channels + k] =
                s.gains[s.gains.size() == 1 ? 0 : k];
    d_gains_changed = true;
}

void pfb_channelizer_impl::set_gain(std::complex<float> gain, int input)
{
    const gain_setting s{ { gain }, input };
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    store(s);
}

void pfb_channelizer_impl::set_gains(const std::vector<std::complex<float>>& gains,
                                     int input)
{
    const gain_setting s{ gains, input };
    require(gains.size() == size_t(d_p.channels),
            "gains",
            std::to_string(gains.size()) + " numbers",
            "one for each of " + std::to_string(d_p.channels) + " channels");
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    store(s);
}

std::vector<std::complex<float>> pfb_channelizer_impl::gains(int input) const
{
    require_range("input", input, 0, d_p.inputs() - 1);
    std::lock_guard<std::mutex> guard(d_mutex);
    auto first = d_gains.begin() + size_t(input) * d_p.channels;
    return { first, first + d_p.channels };
}

pfb_channelizer_impl::gain_setting
pfb_channelizer_impl::parse(const pmt::pmt_t& message,
                            std::optional<timestamp>& time) const
{
    const std::string rule = "a dictionary with `gain`: a number or a c32vector";
    require(pmt::is_dict(message), "message", pmt::write_string(message), rule);
    auto value = [&](const char* name) {
        return pmt::dict_ref(message, pmt::intern(name), pmt::PMT_NIL);
    };
    gain_setting s{ {}, -1 };
    const pmt::pmt_t gain = value(tags::gain);
    if (pmt::is_c32vector(gain))
        s.gains = pmt::c32vector_elements(gain);
    else if (pmt::is_number(gain))
        s.gains = { std::complex<float>(pmt::to_complex(gain)) };
    else
        require(false, "message", pmt::write_string(message), rule);
    if (const pmt::pmt_t input = value(tags::input); !pmt::is_null(input)) {
        require(pmt::is_integer(input), "input", pmt::write_string(input), "an integer");
        s.input = int(pmt::to_long(input));
    }
    if (const pmt::pmt_t at = value(tags::time); !pmt::is_null(at)) {
        time = timestamp::from_pmt(at);
        require(bool(time), "time", pmt::write_string(at), "tuple(uint64, double)");
    }
    check(s);
    return s;
}

void pfb_channelizer_impl::on_message(const pmt::pmt_t& message)
{
    try {
        std::optional<timestamp> time;
        const auto setting = parse(message, time);
        std::lock_guard<std::mutex> guard(d_mutex);
        if (time)
            d_timed.emplace_back(*time, setting);
        else
            store(setting);
    } catch (const std::exception& e) { // a bad message must not end the flowgraph
        refuse(e.what());
    }
}

std::vector<uint64_t> pfb_channelizer_impl::clamped() const
{
    return d_kernel->clamped().output;
}

std::vector<uint64_t> pfb_channelizer_impl::clamped_samples() const
{
    return d_kernel->clamped().samples;
}

std::vector<uint64_t> pfb_channelizer_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

std::string pfb_channelizer_impl::implementation() const
{
    return d_kernel->implementation();
}

} // namespace aperture
} // namespace gr
