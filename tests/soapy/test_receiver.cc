/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The driver `aperture_test` of SoapySDR: receivers that are played; see README.md.
 */

#include "played_signal.h"
#include "receiver_options.h"
#include <SoapySDR/Device.hpp>
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Formats.hpp>
#include <SoapySDR/Registry.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace aperture_test {

using steady = std::chrono::steady_clock;

namespace {

constexpr double usual_gain = 30;      //!< dB, at which the rms is `level`
constexpr double automatic_gain = 50;  //!< dB, what automatic gain gives
constexpr size_t most_samples = 16384; //!< samples of a call
const double pi = std::acos(-1.0);

double element(const std::vector<double>& list, size_t channel)
{
    return list[std::min(channel, list.size() - 1)];
}

//! A receiver has one user at a time.
std::mutex used_mutex;
std::set<std::string> used_serials;

//! The one that all receivers hear.
noise_source the_noise;

bool within(const SoapySDR::RangeList& ranges, double value)
{
    return std::any_of(ranges.begin(), ranges.end(), [value](const SoapySDR::Range& r) {
        return value >= r.minimum() && value <= r.maximum();
    });
}

//! Samples become integers of so many bits.
template <typename T>
void as_integers(const std::complex<float>* in, void* out, size_t count, float scale)
{
    for (size_t i = 0; i < count; ++i)
        for (int part = 0; part < 2; ++part)
            static_cast<T*>(out)[2 * i + part] = T(std::lrint(std::clamp(
                scale * (part ? in[i].imag() : in[i].real()), -scale - 1, scale)));
}

} // namespace

class test_receiver : public SoapySDR::Device
{
public:
    explicit test_receiver(const SoapySDR::Kwargs& arguments)
        : d_o(options_of(arguments)),
          d_automatic(d_o.channels, d_o.automatic_gain),
          d_gain(d_o.channels, usual_gain),
          d_phase(d_o.channels)
    {
        d_rate = std::clamp(1e6, d_o.rates.front().minimum(), d_o.rates.back().maximum());
        d_frequency = d_o.frequencies.front().minimum();
        for (size_t channel = 0; channel < d_o.channels; ++channel) {
            d_phase[channel] = element(d_o.phase, channel);
            if (d_o.file.empty()) {
                const auto own = std::hash<std::string>{}(d_o.serial) + channel;
                d_signals.emplace_back(
                    element(d_o.coherence, channel), own, d_o.noise, &the_noise);
            } else {
                std::string name = d_o.file;
                if (const auto place = name.find("%d"); place != std::string::npos)
                    name.replace(place, 2, std::to_string(channel));
                d_signals.emplace_back(name, d_o.loop);
            }
        }
        std::lock_guard<std::mutex> guard(used_mutex);
        if (used_serials.empty())
            the_noise.reset();
        if (!used_serials.insert(d_o.serial).second)
            throw std::runtime_error("aperture_test: the receiver with serial " +
                                     d_o.serial + " is in use");
    }

    ~test_receiver() override
    {
        std::lock_guard<std::mutex> guard(used_mutex);
        used_serials.erase(d_o.serial);
    }

    // ---- what it is
    std::string getDriverKey() const override { return "aperture_test"; }
    std::string getHardwareKey() const override { return d_o.hardware; }
    SoapySDR::Kwargs getHardwareInfo() const override
    {
        return { { "serial", d_o.serial } };
    }
    size_t getNumChannels(int direction) const override
    {
        return direction == SOAPY_SDR_RX ? d_o.channels : 0;
    }

    // ---- antennas, gains
    std::vector<std::string> listAntennas(int, size_t) const override
    {
        return { "RX", "RX2" };
    }
    void setAntenna(int, size_t, const std::string& name) override { d_antenna = name; }
    std::string getAntenna(int, size_t) const override { return d_antenna; }
    std::vector<std::string> listGains(int, size_t) const override { return { "TUNER" }; }
    bool hasGainMode(int, size_t) const override { return true; }
    void setGainMode(int, size_t channel, bool automatic) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_automatic.at(channel) = automatic;
    }
    bool getGainMode(int, size_t channel) const override
    {
        return d_automatic.at(channel);
    }
    void setGain(int, size_t channel, const std::string&, double value) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_gain.at(channel) = value;
    }
    double getGain(int, size_t channel, const std::string&) const override
    {
        return d_gain.at(channel);
    }
    SoapySDR::Range getGainRange(int, size_t, const std::string&) const override
    {
        return { 0, 60 };
    }

    // ---- frequency, rate, bandwidth
    std::vector<std::string> listFrequencies(int, size_t) const override
    {
        return { "RF" };
    }
    SoapySDR::RangeList getFrequencyRange(int, size_t, const std::string&) const override
    {
        return d_o.frequencies;
    }
    SoapySDR::ArgInfoList getFrequencyArgsInfo(int, size_t) const override { return {}; }
    void setFrequency(int,
                      size_t,
                      const std::string&,
                      double frequency,
                      const SoapySDR::Kwargs&) override
    {
        if (!within(d_o.frequencies, frequency))
            throw std::runtime_error("aperture_test: the tuner does not lock at " +
                                     std::to_string(frequency) + " Hz");
        std::lock_guard<std::mutex> guard(d_mutex);
        d_frequency = frequency;
        if (d_active) {
            d_settling = d_o.settle;
            for (double& phase : d_phase)
                phase += d_o.retune_phase;
        }
    }
    double getFrequency(int, size_t, const std::string&) const override
    {
        return d_frequency;
    }
    void setSampleRate(int, size_t, double rate) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_rate =
            d_o.rate_step > 0 ? d_o.rate_step * std::round(rate / d_o.rate_step) : rate;
        restart_clock();
    }
    double getSampleRate(int, size_t) const override { return d_rate; }
    SoapySDR::RangeList getSampleRateRange(int, size_t) const override
    {
        return d_o.rates;
    }
    void setBandwidth(int, size_t, double bandwidth) override { d_bandwidth = bandwidth; }
    double getBandwidth(int, size_t) const override { return d_bandwidth; }
    SoapySDR::RangeList getBandwidthRange(int, size_t) const override
    {
        return { { 0, d_o.rates.back().maximum() } };
    }

    bool hasFrequencyCorrection(int, size_t) const override { return true; }
    void setFrequencyCorrection(int, size_t, double ppm) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_correction = ppm;
    }
    double getFrequencyCorrection(int, size_t) const override { return d_correction; }

    // ---- the switch of the noise source, as the bias tee of a dongle has it
    SoapySDR::ArgInfoList getSettingInfo() const override
    {
        SoapySDR::ArgInfo info;
        info.key = "biastee";
        info.type = SoapySDR::ArgInfo::BOOL;
        return { info };
    }
    void writeSetting(const std::string& key, const std::string& value) override
    {
        if (key == "biastee" && d_o.switch_delay >= 0)
            the_noise.turn(value == "true", d_o.switch_delay);
    }
    //! Returns when it was switched: see noise_source::text().
    std::string readSetting(const std::string& key) const override
    {
        return key == "biastee" ? the_noise.text() : "";
    }

    // ---- clocks and times
    std::vector<std::string> listClockSources() const override
    {
        return { "internal", "external" };
    }
    void setClockSource(const std::string& source) override { d_clock_source = source; }
    std::string getClockSource() const override { return d_clock_source; }
    std::vector<std::string> listTimeSources() const override
    {
        return { "none", "external" };
    }
    void setTimeSource(const std::string& source) override { d_time_source = source; }
    std::string getTimeSource() const override { return d_time_source; }
    bool hasHardwareTime(const std::string& what) const override
    {
        return d_o.hardware_time != "none" && (what.empty() || what == "PPS");
    }
    //! "PPS": at the last pulse, of which one comes a second, also while nothing runs.
    long long getHardwareTime(const std::string& what) const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        if (what == "PPS")
            return std::chrono::duration_cast<std::chrono::seconds>(
                       steady::now().time_since_epoch())
                       .count() *
                   1000000000;
        return time_ns();
    }
    //! "PPS": the time of the common clock's 0, at which there is a pulse; else that of
    //! the next sample.
    void setHardwareTime(long long time, const std::string& what) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        if (what == "PPS") {
            d_set_time = time;
            d_time_of = -d_o.start;
        } else {
            d_set_time = time;
            d_time_of = double(d_sample);
        }
    }

    // ---- samples
    std::vector<std::string> getStreamFormats(int, size_t) const override
    {
        return { SOAPY_SDR_CF32, SOAPY_SDR_CS16, SOAPY_SDR_CS8 };
    }
    std::string getNativeStreamFormat(int, size_t, double& full_scale) const override
    {
        full_scale = 1;
        return SOAPY_SDR_CF32;
    }
    SoapySDR::ArgInfoList getStreamArgsInfo(int, size_t) const override
    {
        // the one that GNU Radio Companion's block of RTL-SDRs sets: GNU Radio 3.10.12
        // refuses what a driver does not list
        SoapySDR::ArgInfo length;
        length.key = "bufflen";
        length.value = "16384";
        length.type = SoapySDR::ArgInfo::INT;
        return { length };
    }
    SoapySDR::Stream* setupStream(int direction,
                                  const std::string& format,
                                  const std::vector<size_t>& channels,
                                  const SoapySDR::Kwargs&) override
    {
        const auto formats = getStreamFormats(direction, 0);
        if (std::find(formats.begin(), formats.end(), format) == formats.end())
            throw std::runtime_error("aperture_test: there are no samples of " + format);
        d_format = format;
        d_streamed = channels.empty() ? std::vector<size_t>{ 0 } : channels;
        return reinterpret_cast<SoapySDR::Stream*>(this);
    }
    void closeStream(SoapySDR::Stream*) override {}
    size_t getStreamMTU(SoapySDR::Stream*) const override { return most_samples; }
    int activateStream(SoapySDR::Stream*, int flags, long long time, size_t) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_active = true;
        d_sample = d_delivered = d_since_storm = 0;
        if (flags & SOAPY_SDR_HAS_TIME) // begins at a time
            d_sample = std::max<int64_t>(
                0, std::llround(double(time - time_ns()) * 1e-9 * d_rate));
        d_losses = d_o.losses;
        restart_clock();
        return 0;
    }
    int deactivateStream(SoapySDR::Stream*, int, long long) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_active = false;
        return 0;
    }
    int readStream(SoapySDR::Stream*,
                   void* const* out,
                   size_t count,
                   int& flags,
                   long long& time,
                   long timeout_us) override;

private:
    void restart_clock()
    {
        d_clock_sample = d_sample;
        d_clock_time = steady::now();
    }

    //! Returns when the sample of this index is there.
    steady::time_point due(int64_t sample) const
    {
        return d_clock_time + std::chrono::nanoseconds(std::llround(
                                  double(sample - d_clock_sample) * 1e9 / d_rate));
    }

    //! Returns the time of the next sample.
    long long time_ns() const
    {
        const double tick = 1e9 / d_rate;
        if (d_time_of != unset)
            return d_set_time + std::llround((double(d_sample) - d_time_of) * tick);
        if (d_o.hardware_time == "counts")
            return std::llround(double(d_delivered) * tick);
        return std::llround(d_o.epoch) * 1000000000 +
               std::llround((d_o.start + double(d_sample)) * tick);
    }

    //! Drops samples; returns whether the driver reports it.
    bool lose(int64_t count, bool told)
    {
        d_sample += count;
        // a driver that counts what it hands out knows what it dropped itself
        if (told)
            d_delivered += count;
        d_since_storm = 0;
        return told;
    }

    const receiver_options d_o;
    std::vector<played_signal> d_signals;
    mutable std::mutex d_mutex;

    std::vector<bool> d_automatic;
    std::vector<double> d_gain, d_phase;
    double d_rate, d_frequency, d_bandwidth = 0, d_correction = 0;
    std::string d_antenna = "RX", d_clock_source = "internal", d_time_source = "none";
    static constexpr double unset = -1e300;
    long long d_set_time = 0;
    double d_time_of = unset; //!< the sample at which the clock showed d_set_time

    std::string d_format;
    std::vector<size_t> d_streamed;
    bool d_active = false;
    int64_t d_sample = 0;    //!< the number of the next one, with all that were lost
    int64_t d_delivered = 0; //!< count of a driver that only knows the samples it dropped
    int64_t d_since_storm = 0, d_settling = 0;
    std::vector<loss> d_losses; //!< losses that are to come
    int64_t d_clock_sample = 0;
    steady::time_point d_clock_time;
    std::vector<std::complex<float>> d_samples;
};

int test_receiver::readStream(SoapySDR::Stream*,
                              void* const* out,
                              size_t count,
                              int& flags,
                              long long& time,
                              long timeout_us)
{
    std::unique_lock<std::mutex> lock(d_mutex);
    const auto wait = [&](int result) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
        return result;
    };
    if (!d_active)
        return wait(SOAPY_SDR_TIMEOUT);
    const bool failing = d_o.fails.what != failure::kind::none;
    if (failing && d_sample >= d_o.fails.at)
        return d_o.fails.what == failure::kind::error ? SOAPY_SDR_STREAM_ERROR
                                                      : wait(SOAPY_SDR_TIMEOUT);
    // ---- what is lost before the next sample
    if (d_o.storm_every > 0 && d_since_storm >= d_o.storm_every) {
        lose(d_o.storm_lost, true);
        return SOAPY_SDR_OVERFLOW;
    }
    for (auto next = d_losses.begin(); next != d_losses.end();) {
        if (next->at != d_sample) {
            ++next;
            continue;
        }
        const loss found = *next;
        d_losses.erase(next);
        if (lose(found.count, found.told))
            return SOAPY_SDR_OVERFLOW;
        next = d_losses.begin();
    }
    if (d_o.paced && d_o.buffer > 0) {
        const double late =
            std::chrono::duration<double>(steady::now() - due(d_sample)).count();
        if (late > d_o.buffer) {
            lose(int64_t(late * d_rate), true);
            return SOAPY_SDR_OVERFLOW;
        }
    }
    // ---- up to where
    int64_t end = d_sample + int64_t(std::min(count, most_samples));
    if (failing)
        end = std::min(end, d_o.fails.at);
    if (d_o.storm_every > 0)
        end = std::min(end, d_sample + d_o.storm_every - d_since_storm);
    for (const loss& next : d_losses)
        if (next.at > d_sample)
            end = std::min(end, next.at);
    const double error = (d_clock_source == "internal" ? d_o.ppm : 0) - d_correction;
    const double step = 1 / (1 + 1e-6 * error);
    const double position = d_o.start + step * double(d_sample);
    end = std::min(
        end, d_sample + int64_t(std::ceil(double(d_signals[0].length()) - position)));
    if (end <= d_sample)
        return wait(SOAPY_SDR_TIMEOUT);
    if (d_o.paced) {
        // a slow receiver's samples come in pieces
        const auto patience = steady::now() + std::chrono::microseconds(timeout_us);
        const auto there = std::min(patience, due(end));
        const int64_t until =
            due(end) <= patience
                ? end
                : d_clock_sample +
                      int64_t(
                          std::chrono::duration<double>(patience - d_clock_time).count() *
                          d_rate);
        lock.unlock();
        std::this_thread::sleep_until(there);
        lock.lock();
        end = std::min(end, until);
        if (end <= d_sample)
            return SOAPY_SDR_TIMEOUT;
    }
    const size_t found = size_t(end - d_sample);
    const size_t zeros = std::min(found, size_t(d_settling));
    // the oscillator and the sampling run on one crystal
    const double turn = -2 * pi * d_frequency * (1 - step) / d_rate;
    the_noise.played(int64_t(std::ceil(position + step * double(found))));
    d_samples.resize(found);
    for (size_t i = 0; i < d_streamed.size(); ++i) {
        const size_t channel = d_streamed[i];
        d_signals[channel].play(position, step, d_samples.data(), found);
        const double gain = d_automatic[channel] ? automatic_gain : d_gain[channel];
        const double level =
            d_o.file.empty() ? element(d_o.level, channel) : 1; // a file has its own
        const double amplitude = level * std::pow(10, (gain - usual_gain) / 20);
        std::complex<double> factor =
            std::polar(amplitude,
                       d_phase[channel] +
                           std::remainder(turn * (d_o.start + double(d_sample)), 2 * pi));
        const std::complex<double> rotation = std::polar(1.0, turn);
        for (size_t n = 0; n < found; ++n, factor *= rotation)
            d_samples[n] *= std::complex<float>(factor);
        std::fill_n(d_samples.begin(), zeros, 0);
        if (d_format == SOAPY_SDR_CS16)
            as_integers<int16_t>(d_samples.data(), out[i], found, 32767);
        else if (d_format == SOAPY_SDR_CS8)
            as_integers<int8_t>(d_samples.data(), out[i], found, 127);
        else
            std::copy_n(
                d_samples.data(), found, static_cast<std::complex<float>*>(out[i]));
    }
    flags = d_o.hardware_time == "none" ? 0 : SOAPY_SDR_HAS_TIME;
    time = flags ? time_ns() : 0;
    d_settling -= int64_t(zeros);
    d_sample = end;
    d_delivered += int64_t(found);
    d_since_storm += int64_t(found);
    return int(found);
}

namespace {

//! Returns the receivers that match all arguments asked for, with these arguments:
//! SoapySDR opens them by the result.
SoapySDR::KwargsList find_receivers(const SoapySDR::Kwargs& asked)
{
    SoapySDR::KwargsList found;
    for (const auto& receiver : connected_receivers()) {
        const auto differs = [&](const char* name) {
            const auto wanted = asked.find(name);
            const auto there = receiver.find(name);
            return wanted != asked.end() &&
                   (there == receiver.end() || there->second != wanted->second);
        };
        if (differs("serial") || differs("label"))
            continue;
        auto arguments = asked;
        arguments.insert(receiver.begin(), receiver.end());
        found.push_back(arguments);
    }
    return found;
}

SoapySDR::Device* make_receiver(const SoapySDR::Kwargs& asked)
{
    const auto found = find_receivers(asked);
    if (found.empty())
        throw std::runtime_error("aperture_test: there is no receiver like this");
    return new test_receiver(found.front());
}

const SoapySDR::Registry
    registration("aperture_test", &find_receivers, &make_receiver, SOAPY_SDR_ABI_VERSION);

} // namespace

} // namespace aperture_test
