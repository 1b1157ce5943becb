/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

//! \file Collects errors in GNU Radio's log, for windows: errors end a flowgraph, and
//! nobody reads the log.

#include <gnuradio/logger.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <spdlog/sinks/base_sink.h>
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

constexpr size_t most_kept = 64;

//! Keeps the newest errors of all loggers of GNU Radio.
class error_sink : public spdlog::sinks::base_sink<std::mutex>
{
public:
    uint64_t count()
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        return d_count;
    }

    //! Returns (logger, text) of the errors after the first `count`, if still kept.
    std::vector<std::pair<py::bytes, py::bytes>> after(uint64_t count)
    {
        std::deque<std::pair<std::string, std::string>> kept;
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            const uint64_t gone = d_count - d_kept.size();
            kept.assign(
                d_kept.begin() +
                    std::min<uint64_t>(count > gone ? count - gone : 0, d_kept.size()),
                d_kept.end());
        }
        return { kept.begin(), kept.end() };
    }

private:
    void sink_it_(const spdlog::details::log_msg& message) override
    {
        if (message.level < spdlog::level::err || message.level == spdlog::level::off)
            return;
        d_count++;
        d_kept.emplace_back(
            std::string(message.logger_name.data(), message.logger_name.size()),
            std::string(message.payload.data(), message.payload.size()));
        if (d_kept.size() > most_kept)
            d_kept.pop_front();
    }
    void flush_() override {}

    uint64_t d_count = 0;
    std::deque<std::pair<std::string, std::string>> d_kept;
};

//! Returns the sink, into which GNU Radio's loggers log, too, from the first call on.
error_sink& errors()
{
    static const auto sink = [] {
        auto made = std::make_shared<error_sink>();
        gr::logging::singleton().add_default_sink(made);
        return made;
    }();
    return *sink;
}

} // namespace

void bind_logged(py::module& m)
{
    m.def_submodule("logged", "Errors in GNU Radio's log, from the first call on.")
        .def(
            "count",
            [] { return errors().count(); },
            "Returns how many errors there were.")
        .def(
            "after",
            [](uint64_t count) { return errors().after(count); },
            py::arg("count"),
            "Returns [(logger, text)], each in bytes, of the errors after the first so "
            "many, among the newest 64.");
}
