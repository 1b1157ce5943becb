/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "array_source_impl.h"
#include "common/number_text.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gr::aperture {

namespace {

using simulator = kernels::array_simulator;
using exact_time =
    std::pair<uint64_t, double>; // whole seconds since 1970, and a fraction

simulator::polarization parse_polarization(const std::string& parameter,
                                           const std::string& name)
{
    const std::string letters = "xylr";
    const auto place = letters.find(name);
    require(name.size() == 1 && place != std::string::npos,
            parameter,
            "'" + name + "'",
            "one of x, y, l, r");
    using polarization = simulator::polarization;
    const polarization values[] = {
        polarization::x, polarization::y, polarization::l, polarization::r
    };
    return values[place];
}

//! Returns the rms of the receiver noise in re and in im where the user gives none.
double usual_noise_rms(sample_type type)
{
    switch (type) {
    case sample_type::sc8:
        return 20; // clamping starts at 6 times that
    case sample_type::sc16:
        return 1000;
    default:
        return M_SQRT1_2;
    }
}

//! Returns the seconds from a time to a later one, exact to 1e-12 s in a year.
long double seconds_between(const std::string& parameter,
                            const exact_time& from,
                            const exact_time& to)
{
    require_time(parameter, from);
    return (long double)(int64_t(to.first) - int64_t(from.first)) +
           ((long double)(to.second) - from.second);
}

kernels::pulsed_source pulses_of(const array_source::source& s,
                                 const std::string& place,
                                 const exact_time& start)
{
    kernels::pulsed_source k;
    k.dispersion_measure = s.dm;
    k.scattering_time = s.scattering_time;
    k.scattering_frequency = s.scattering_frequency;
    k.scattering_index = s.scattering_index;
    for (size_t i = 0; i < s.pulsars.size(); i++) {
        const auto& p = s.pulsars[i];
        const auto part = place + "pulsars[" + std::to_string(i) + "].";
        require(p.period >= 1e-9 && p.period <= 1e6,
                part + "period",
                text_of(p.period),
                "1e-9 to 1e6 seconds");
        require(std::abs(p.period_derivative) <= 1e-3,
                part + "period_derivative",
                text_of(p.period_derivative),
                "-1e-3 to 1e-3 seconds a second");
        require(std::isfinite(p.phase), part + "phase", text_of(p.phase), "a number");
        const long double dt = seconds_between(part + "epoch", p.epoch, start);
        const long double frequency = 1 / (long double)(p.period);
        const long double derivative = -p.period_derivative * frequency * frequency;
        const long double phase = p.phase + dt * (frequency + dt * derivative / 2);
        const long double now = frequency + dt * derivative;
        require(now > frequency / 10 && now < frequency * 10,
                part + "period_derivative",
                text_of(p.period_derivative),
                "such that the period at the first sample is near that at the epoch");
        k.pulsars.push_back({ phase - std::floor(phase),
                              now,
                              derivative,
                              p.width,
                              p.mean_flux * p.period });
    }
    for (size_t i = 0; i < s.pulses.size(); i++) {
        const auto& p = s.pulses[i];
        const auto part = place + "pulses[" + std::to_string(i) + "].time";
        k.pulses.push_back({ -seconds_between(part, p.time, start), p.width, p.fluence });
    }
    return k;
}

simulator::parameters kernel_parameters(const array_source::parameters& p)
{
    simulator::parameters k;
    for (size_t i = 0; i < p.inputs.size(); i++) {
        const auto& in = p.inputs[i];
        const auto parameter = "inputs[" + std::to_string(i) + "].polarization";
        k.inputs.push_back({ in.name,
                             in.position,
                             parse_polarization(parameter, in.polarization),
                             in.gain,
                             in.cable_delay });
    }
    for (size_t i = 0; i < p.sources.size(); i++) {
        const auto& s = p.sources[i];
        const auto place = "sources[" + std::to_string(i) + "].";
        std::vector<simulator::waypoint> path;
        for (const auto& point : s.path)
            path.push_back({ point.time, point.position, point.velocity });
        k.sources.push_back({ s.name,
                              s.azimuth,
                              s.elevation,
                              s.moving,
                              s.flux,
                              s.drift,
                              pulses_of(s, place, p.start_time),
                              path });
    }
    for (const auto& t : p.interference)
        k.interference.push_back({ t.name,
                                   t.frequency,
                                   t.drift,
                                   t.sweep,
                                   t.power,
                                   t.start,
                                   t.end,
                                   t.period,
                                   t.duty });
    k.latitude = p.latitude;
    k.sample_rate = p.sample_rate;
    k.center_frequency = p.center_frequency;
    k.inputs_per_port = p.inputs_per_port;
    k.type = parse_sample_type(
        "type", p.type, { sample_type::fc32, sample_type::sc16, sample_type::sc8 });
    k.noise_rms = p.noise_rms == 0 ? usual_noise_rms(k.type) : p.noise_rms;
    k.seed = p.seed;
    return k;
}

int output_item_size(const simulator::parameters& k)
{
    return item_size("a sample of each input of a port",
                     { { "inputs", k.inputs_per_port } },
                     size_of(k.type));
}

void check(const array_source::parameters& p)
{
    require_range("samples", p.samples, 0, std::numeric_limits<int64_t>::max());
    require_time("start_time", p.start_time);
    // GNU Radio's edges in host memory take two of 4096 shared memory segments each
    require_range("ports (inputs / inputs_per_port)",
                  int64_t(p.inputs.size()) / std::max(1, p.inputs_per_port),
                  0,
                  1024);
}

} // namespace

array_source::sptr array_source::make(const parameters& p)
{
    check_parameters<array_source>(p);
    check(p);
    return gnuradio::make_block_sptr<array_source_impl>(p, kernel_parameters(p));
}

array_source_impl::array_source_impl(const parameters& p,
                                     const kernels::array_simulator::parameters& k)
    : gr::sync_block("array_source",
                     gr::io_signature::make(0, 0, 0),
                     gr::io_signature::make(1, 1, 1)),
      d_p(p),
      d_stream(device::select("cpu").make_stream()),
      d_simulator(simulator::make(k, device::select("cpu"))),
      d_item_size(size_t(output_item_size(k)))
{
    // the kernel has checked the parameters that the ports follow from
    set_output_signature(gr::io_signature::make(k.ports(), k.ports(), int(d_item_size)));
    for (int port = 0; port < k.ports(); port++) {
        d_stretch.emplace_back(d_simulator->length() * d_item_size);
        d_ports.push_back(d_stretch.back().data());
    }
    warn_of_hidden_sources();
}

void array_source_impl::warn_of_hidden_sources()
{
    for (const auto& s : d_p.sources)
        if (s.elevation < 0)
            d_logger->warn("source {:s} is {:.3f} degrees below the horizon at the first "
                           "sample: {:s}",
                           s.name,
                           -s.elevation,
                           s.moving || !s.path.empty() ? "it is not seen until it rises"
                                                       : "it is never seen");
}

bool array_source_impl::start()
{
    d_position = 0;
    d_simulator->clear_clamped();
    return true;
}

bool array_source_impl::stop()
{
    d_finish = false;
    return true;
}

void array_source_impl::add_first_tags()
{
    const timestamp time{ int64_t(d_p.start_time.first), d_p.start_time.second };
    for (unsigned int port = 0; port < d_ports.size(); port++) {
        add_item_tag(port, 0, pmt::mp(tags::rx_time), time.to_pmt());
        add_item_tag(
            port, 0, pmt::mp(tags::rx_freq), pmt::from_double(d_p.center_frequency));
        add_item_tag(port, 0, pmt::mp(tags::rx_rate), pmt::from_double(d_p.sample_rate));
    }
}

int64_t array_source_impl::samples_left() const
{
    return (d_p.samples == 0 ? std::numeric_limits<int64_t>::max() : d_p.samples) -
           d_position;
}

void array_source_impl::fill()
{
    const auto length = int64_t(d_simulator->length());
    d_simulator->execute(uint64_t(d_position / length),
                         size_t(std::min(length, samples_left())),
                         d_ports.data(),
                         *d_stream);
    d_stream->synchronize();
}

int array_source_impl::work(int noutput_items,
                            gr_vector_const_void_star&,
                            gr_vector_void_star& output_items)
{
    const int64_t wanted = std::min<int64_t>(noutput_items, samples_left());
    if (d_finish || wanted == 0)
        return WORK_DONE;
    if (d_position == 0)
        add_first_tags();
    const auto length = int64_t(d_simulator->length());
    for (int64_t done = 0; done < wanted;) {
        const int64_t place = d_position % length;
        if (place == 0)
            fill();
        const int64_t count = std::min(wanted - done, length - place);
        for (size_t port = 0; port < d_ports.size(); port++)
            std::memcpy(static_cast<char*>(output_items[port]) + done * d_item_size,
                        d_stretch[port].data() + place * d_item_size,
                        size_t(count) * d_item_size);
        done += count;
        d_position += count;
    }
    return int(wanted);
}

} // namespace gr::aperture
