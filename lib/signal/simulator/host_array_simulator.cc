/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/complex_vectors.h"
#include "kernels/common/makers.h"
#include "signal/simulator/array_simulator.h"
#include "signal/simulator/dispersed_signal.h"
#include "signal/simulator/gaussian_noise.h"
#include "signal/simulator/source_track.h"
#include "signal/simulator/transforms.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace gr::aperture::kernels::host {

namespace {

using polarization = array_simulator::polarization;

constexpr size_t shortest_transform = 8192;
constexpr size_t longest_transform = 1 << 20;

//! Samples over which the phase of a moving source is taken to be linear in time. The
//! error is f r (Earth's rate)^2 / c T^2 / 8 cycles: 3e-5 even for 1.4 GHz, 10 km and 1
//! kHz.
constexpr size_t phase_segment = 1024;
//! The same for sources that pass nearby: the fewest, and the error in cycles.
constexpr size_t shortest_segment = 16;
constexpr double phase_error = 2e-4;
//! Largest error of a moving source's delay at the ends of a stretch, in samples.
constexpr double delay_error = 0.0005;

//! One input of the samples [time][input] of a port.
template <typename T>
void interleave(
    const float* values, size_t count, size_t inputs, size_t input, void* samples)
{
    auto* out = static_cast<T*>(samples) + 2 * input;
    for (size_t i = 0; i < count; i++) {
        out[2 * inputs * i] = T(values[2 * i]);
        out[2 * inputs * i + 1] = T(values[2 * i + 1]);
    }
}

//! The cut of samples into stretches and transforms.
struct layout {
    size_t transform = 0; //!< points; 0 without sources
    size_t length = shortest_transform;
    //! Samples of a transform before the first one of its stretch.
    size_t lead = 0;
    //! Whole samples, an even number, that all delays have in common.
    int64_t common = 0;
};

layout lay_out(const array_simulator::parameters& p,
               const std::vector<source_track>& tracks)
{
    layout l;
    if (tracks.empty())
        return l;
    double least = std::numeric_limits<double>::infinity(), greatest = -least, rate = 0;
    for (const auto& track : tracks) {
        for (size_t i = 0; i < p.inputs.size(); i++) {
            least = std::min(least, track.least_delay(i) * p.sample_rate);
            greatest = std::max(greatest, track.greatest_delay(i) * p.sample_rate);
        }
        rate = std::max(rate, track.greatest_rate());
    }
    constexpr size_t overhead = 2 * margin + 4;
    require(greatest - least <= double(longest_transform / 2 - overhead),
            "sample_rate",
            "delays from " + std::to_string(least) + " to " + std::to_string(greatest) +
                " samples (positions and cables at this rate)",
            "such that they lie within " +
                std::to_string(longest_transform / 2 - overhead) + " samples");
    l.common = 2 * int64_t(std::floor(least / 2));
    const auto span = size_t(std::ceil(greatest - double(l.common)));
    l.lead = (margin + span + 1) / 2 * 2;
    l.transform = shortest_transform;
    while (l.transform < 2 * (l.lead + margin))
        l.transform *= 2;
    l.length = (l.transform - l.lead - margin) / 2 * 2;
    if (rate > 0)
        l.length =
            std::min(l.length, std::max<size_t>(2, size_t(delay_error / rate) * 2));
    return l;
}

//! Returns the samples over which a source's phase is taken to be linear.
size_t segment_of(const source_track& track, const array_simulator::parameters& p)
{
    // a parabola strays from its chord by an eighth of its curvature
    const double curvature = track.greatest_curvature() * p.center_frequency;
    if (curvature <= 0)
        return phase_segment;
    const double samples = std::sqrt(8 * phase_error / curvature) * p.sample_rate;
    return size_t(std::clamp(samples, double(shortest_segment), double(phase_segment)));
}

class host_array_simulator : public array_simulator
{
public:
    explicit host_array_simulator(const parameters& p);

    std::string implementation() const override { return "host"; }
    size_t length() const override { return d_layout.length; }
    void execute(uint64_t stretch, size_t count, void* const* samples, stream&) override;
    std::vector<uint64_t> clamped() const override;
    void clear_clamped() override;

private:
    struct signal {
        source_track track;
        size_t segment; //!< samples over which its phase is taken to be linear
        dispersed_signal sent;
        std::map<polarization, fft_buffer> spectra;
        bool present = false; //!< the source is above the horizon, in this stretch
        source_track::angle middle;
        //! Angles at the ends of the segments of this stretch.
        std::vector<source_track::angle> segments;
    };

    void prepare(signal& s, int64_t first);
    void add_signals(size_t input);
    void add_delayed_spectrum(const signal& s, size_t input, double cycles);
    void add_moving(const signal& s, size_t input);
    void write(size_t input, size_t count, void* samples);
    double cycles_at_center(double delay) const { return -d_p.center_frequency * delay; }

    const parameters d_p;
    std::vector<signal> d_signals;
    layout d_layout;
    std::vector<uint64_t> d_noise_processes; //!< [input]
    bool d_circular = false;                 //!< some input is l or r
    std::vector<float> d_band;               //!< [bin]
    fft_buffer d_spectrum;
    std::vector<float> d_voltages; //!< voltages of one input
    std::vector<std::atomic<uint64_t>> d_clamped;
};

host_array_simulator::host_array_simulator(const parameters& p)
    : d_p(p), d_clamped(p.inputs.size())
{
    std::vector<source_track> tracks;
    for (const auto& source : p.sources)
        tracks.emplace_back(p, source);
    d_layout = lay_out(p, tracks);
    d_voltages.resize(2 * d_layout.length);
    for (const auto& in : p.inputs) {
        d_noise_processes.push_back(noise_process("input " + in.name));
        d_circular |= in.polarized == polarization::l || in.polarized == polarization::r;
    }
    if (tracks.empty())
        return;
    d_band = band_response(d_layout.transform, 1.0 / double(d_layout.transform));
    d_spectrum = make_fft_buffer(2 * d_layout.transform);
    for (size_t i = 0; i < tracks.size(); i++) {
        const auto name = "source " + p.sources[i].name;
        d_signals.push_back({ tracks[i],
                              segment_of(tracks[i], p),
                              dispersed_signal({ p.sources[i].pulses,
                                                 p.sources[i].flux,
                                                 p.sample_rate,
                                                 p.center_frequency,
                                                 p.seed,
                                                 { noise_process(name + " x"),
                                                   noise_process(name + " y") } }),
                              {},
                              false,
                              {},
                              {} });
        auto& spectra = d_signals.back().spectra;
        const auto need = [&](polarization which) {
            if (!spectra[which])
                spectra[which] = make_fft_buffer(2 * d_layout.transform);
        };
        for (const auto& in : p.inputs)
            need(in.polarized);
        if (d_circular) {
            need(polarization::x);
            need(polarization::y);
        }
    }
}

//! Computes spectra of the source's signal, and its place in the stretch.
void host_array_simulator::prepare(signal& s, int64_t first)
{
    const auto time = [&](size_t sample) {
        return (double(first) + double(sample)) / d_p.sample_rate;
    };
    s.middle = s.track.at(time(d_layout.length / 2));
    s.present = s.track.above_horizon(s.middle);
    if (!s.present)
        return;
    if (s.track.moving()) {
        s.segments.clear();
        for (size_t i = 0; i < d_layout.length; i += s.segment)
            s.segments.push_back(s.track.at(time(i)));
        s.segments.push_back(s.track.at(time(d_layout.length)));
    }
    const size_t size = d_layout.transform;
    const auto& fft = transform_of(size).forward;
    for (const auto which : { polarization::x, polarization::y }) {
        const auto found = s.spectra.find(which);
        if (found == s.spectra.end())
            continue;
        auto* data = found->second.get();
        // x and y have one envelope: both are 0 together
        s.present = s.sent.read(which == polarization::y,
                                first - d_layout.common - int64_t(d_layout.lead),
                                size,
                                data);
        if (!s.present)
            return;
        execute_in_place(fft, data);
        if (s.sent.band_limited())
            multiply(data, size, 1.0f / float(size), 0);
        else
            multiply(data, d_band.data(), size);
    }
    for (const auto which : { polarization::r, polarization::l })
        if (const auto found = s.spectra.find(which); found != s.spectra.end())
            combine(s.spectra[polarization::x].get(),
                    s.spectra[polarization::y].get(),
                    which == polarization::r ? 1.0f : -1.0f,
                    size,
                    found->second.get());
}

//! Adds the source's spectrum to d_spectrum, delayed as in the stretch's middle.
void host_array_simulator::add_delayed_spectrum(const signal& s,
                                                size_t input,
                                                double cycles)
{
    const size_t half = d_layout.transform / 2;
    const float* spectrum = s.spectra.at(d_p.inputs[input].polarized).get();
    const double samples = s.track.delay(input, s.middle) * d_p.sample_rate;
    const double slope = -(samples - double(d_layout.common)) / double(2 * half);
    add_rotated(spectrum, half, cycles, slope, d_spectrum.get());
    // the second half of the bins are the negative frequencies
    add_rotated(spectrum + 2 * half,
                half,
                cycles - slope * double(half),
                slope,
                d_spectrum.get() + 2 * half);
}

//! Adds a source that moves by its own transform: its phase changes within the stretch.
void host_array_simulator::add_moving(const signal& s, size_t input)
{
    std::fill_n(d_spectrum.get(), 2 * d_layout.transform, 0.0f);
    add_delayed_spectrum(s, input, 0.0);
    execute_in_place(transform_of(d_layout.transform).backward, d_spectrum.get());
    for (size_t i = 0; i + 1 < s.segments.size(); i++) {
        const size_t start = i * s.segment;
        const size_t count = std::min(s.segment, d_layout.length - start);
        const double cycles = cycles_at_center(s.track.delay(input, s.segments[i]));
        const double end = cycles_at_center(s.track.delay(input, s.segments[i + 1]));
        add_rotated(d_spectrum.get() + 2 * (d_layout.lead + start),
                    count,
                    cycles,
                    (end - cycles) / double(count),
                    d_voltages.data() + 2 * start);
    }
}

void host_array_simulator::add_signals(size_t input)
{
    bool any = false;
    for (const auto& s : d_signals) {
        if (!s.present || s.track.moving())
            continue;
        if (!any)
            std::fill_n(d_spectrum.get(), 2 * d_layout.transform, 0.0f);
        any = true;
        add_delayed_spectrum(s, input, cycles_at_center(s.track.delay(input, s.middle)));
    }
    if (any) {
        execute_in_place(transform_of(d_layout.transform).backward, d_spectrum.get());
        add(d_spectrum.get() + 2 * d_layout.lead, d_layout.length, d_voltages.data());
    }
    for (const auto& s : d_signals)
        if (s.present && s.track.moving())
            add_moving(s, input);
}

void host_array_simulator::write(size_t input, size_t count, void* samples)
{
    // the noise has power 1, that is 1/2 in each of re and im
    const auto gain = d_p.inputs[input].gain * (d_p.noise_rms * M_SQRT2);
    multiply(d_voltages.data(), count, float(gain.real()), float(gain.imag()));
    const auto inputs = size_t(d_p.inputs_per_port);
    const size_t place = input % inputs;
    if (d_p.type == sample_type::fc32) {
        interleave<float>(d_voltages.data(), count, inputs, place, samples);
        return;
    }
    const float limit = d_p.type == sample_type::sc8 ? 127 : 32767;
    d_clamped[input] += round_and_clamp(d_voltages.data(), count, limit);
    if (d_p.type == sample_type::sc8)
        interleave<int8_t>(d_voltages.data(), count, inputs, place, samples);
    else
        interleave<int16_t>(d_voltages.data(), count, inputs, place, samples);
}

void host_array_simulator::execute(uint64_t stretch,
                                   size_t count,
                                   void* const* samples,
                                   stream&)
{
    const auto first = int64_t(stretch * d_layout.length);
    for (size_t i = 0; i < d_signals.size(); i++)
        prepare(d_signals[i], first);
    for (size_t i = 0; i < d_p.inputs.size(); i++) {
        gaussian_noise(d_p.seed,
                       d_noise_processes[i],
                       first,
                       d_layout.length,
                       reinterpret_cast<cfloat*>(d_voltages.data()));
        add_signals(i);
        for (const auto& transmitter : d_p.interference)
            add_transmitter(transmitter,
                            i,
                            d_p.inputs[i].name,
                            d_p.seed,
                            d_p.sample_rate,
                            d_p.center_frequency,
                            first,
                            d_layout.length,
                            d_voltages.data());
        write(i, count, samples[i / size_t(d_p.inputs_per_port)]);
    }
}

std::vector<uint64_t> host_array_simulator::clamped() const
{
    return { d_clamped.begin(), d_clamped.end() };
}

void host_array_simulator::clear_clamped()
{
    for (auto& count : d_clamped)
        count = 0;
}

} // namespace

//! Delays by overlap-save with FFTW, in single precision, one input after the other.
template <>
std::unique_ptr<array_simulator> make(const array_simulator::parameters& p,
                                      const std::string&)
{
    return std::make_unique<host_array_simulator>(p);
}

} // namespace gr::aperture::kernels::host
