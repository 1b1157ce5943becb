/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "receiver_options.h"
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace aperture_test {

namespace {

//! Splits "a/b/c" into a, b and c.
std::vector<std::string> split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value)
{
    throw std::runtime_error("aperture_test: " + name + "=" + value +
                             " is not understood");
}

//! The arguments of a device, read one by one.
class reader
{
public:
    explicit reader(const SoapySDR::Kwargs& arguments) : d_arguments(arguments) {}

    const std::string* find(const std::string& name) const
    {
        const auto found = d_arguments.find(name);
        return found == d_arguments.end() ? nullptr : &found->second;
    }

    void read(const std::string& name, std::string& value) const
    {
        if (const auto* text = find(name))
            value = *text;
    }

    void read(const std::string& name, bool& value) const
    {
        if (const auto* text = find(name)) {
            if (*text != "0" && *text != "1")
                refuse(name, *text);
            value = *text == "1";
        }
    }

    void read(const std::string& name, double& value) const
    {
        if (const auto* text = find(name))
            value = number(name, *text);
    }

    void read(const std::string& name, int64_t& value) const
    {
        if (const auto* text = find(name))
            value = int64_t(number(name, *text));
    }

    void read(const std::string& name, std::vector<double>& values) const
    {
        if (const auto* text = find(name)) {
            values.clear();
            for (const auto& part : split(*text, '/'))
                values.push_back(number(name, part));
            if (values.empty())
                refuse(name, *text);
        }
    }

    //! "low:high/low:high", or single values
    void read(const std::string& name, SoapySDR::RangeList& ranges) const
    {
        if (const auto* text = find(name)) {
            ranges.clear();
            for (const auto& part : split(*text, '/')) {
                const auto ends = split(part, ':');
                if (ends.empty() || ends.size() > 2)
                    refuse(name, *text);
                ranges.emplace_back(number(name, ends.front()),
                                    number(name, ends.back()));
            }
        }
    }

    static double number(const std::string& name, const std::string& text)
    {
        try {
            size_t used = 0;
            const double value = std::stod(text, &used);
            if (used == text.size())
                return value;
        } catch (const std::exception&) {
        }
        refuse(name, text);
    }

private:
    const SoapySDR::Kwargs& d_arguments;
};

//! "at:count" or "at:count:silent", several separated by slashes
std::vector<loss> losses_of(const std::string& text)
{
    std::vector<loss> losses;
    for (const auto& part : split(text, '/')) {
        const auto words = split(part, ':');
        if (words.size() < 2 || words.size() > 3 ||
            (words.size() == 3 && words[2] != "silent"))
            refuse("losses", text);
        losses.push_back({ int64_t(reader::number("losses", words[0])),
                           int64_t(reader::number("losses", words[1])),
                           words.size() == 2 });
    }
    return losses;
}

//! "at:error" or "at:silence"
failure failure_of(const std::string& text)
{
    const auto words = split(text, ':');
    if (words.size() != 2 || (words[1] != "error" && words[1] != "silence"))
        refuse("fails", text);
    return { words[1] == "error" ? failure::kind::error : failure::kind::silence,
             int64_t(reader::number("fails", words[0])) };
}

} // namespace

receiver_options options_of(const SoapySDR::Kwargs& arguments)
{
    receiver_options o;
    const reader given(arguments);
    given.read("serial", o.serial);
    given.read("label", o.label);
    given.read("hardware", o.hardware);
    int64_t channels = 1;
    given.read("inputs", channels);
    if (channels < 1 || channels > 64)
        refuse("inputs", std::to_string(channels));
    o.channels = size_t(channels);
    given.read("file", o.file);
    given.read("loop", o.loop);
    given.read("start", o.start);
    given.read("ppm", o.ppm);
    given.read("phase", o.phase);
    given.read("level", o.level);
    given.read("coherence", o.coherence);
    given.read("retune_phase", o.retune_phase);
    given.read("settle", o.settle);
    given.read("hwtime", o.hardware_time);
    if (o.hardware_time != "none" && o.hardware_time != "counts" &&
        o.hardware_time != "true")
        refuse("hwtime", o.hardware_time);
    given.read("epoch", o.epoch);
    if (const auto* text = given.find("losses"))
        o.losses = losses_of(*text);
    if (const auto* text = given.find("storm")) {
        const auto numbers = split(*text, ':');
        if (numbers.size() != 2)
            refuse("storm", *text);
        o.storm_every = int64_t(reader::number("storm", numbers[0]));
        o.storm_lost = int64_t(reader::number("storm", numbers[1]));
    }
    if (const auto* text = given.find("fails"))
        o.fails = failure_of(*text);
    given.read("rates", o.rates);
    given.read("rate_step", o.rate_step);
    given.read("frequencies", o.frequencies);
    given.read("agc", o.automatic_gain);
    given.read("paced", o.paced);
    given.read("switched", o.noise);
    given.read("switch_delay", o.switch_delay);
    given.read("buffer", o.buffer);
    return o;
}

SoapySDR::KwargsList connected_receivers()
{
    // by default, what the second one hides is found by whoever tries
    const char* listed = std::getenv("APERTURE_TEST_RECEIVERS");
    SoapySDR::KwargsList receivers;
    for (const auto& text :
         split(listed ? listed : "serial=1;serial=2,start=12345.375,phase=2,level=0.05",
               ';')) {
        auto arguments = SoapySDR::KwargsFromString(text);
        if (arguments.count("label") == 0)
            arguments["label"] = "Played receiver " + arguments["serial"];
        receivers.push_back(arguments);
    }
    return receivers;
}

} // namespace aperture_test
