/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "dada_source_impl.h"
#include "kernels/common/types.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace gr::aperture {

namespace {

// Large enough that a read is not dominated by its system call.
constexpr int64_t buffer_bytes = int64_t(1) << 22;

int output_item_size(const formats::dada_file& file)
{
    return item_size("a sample of each input",
                     { { "inputs", file.inputs } },
                     size_t(file.sample_bytes()));
}

// Negates the imaginary parts of `count` items [input][re, im]. The one value that has no
// negative is clamped and counted for its input.
template <typename integer>
void conjugate_items(integer* items,
                     int64_t count,
                     int64_t inputs,
                     std::vector<std::atomic<uint64_t>>& clamped)
{
    constexpr integer lowest = std::numeric_limits<integer>::min();
    constexpr integer highest = std::numeric_limits<integer>::max();
    const int64_t numbers = count * inputs * 2;
    // two passes of simple loops, because counting per input in the first would keep the
    // compiler from using vector instructions; the second is seldom needed
    int64_t found = 0;
    for (int64_t i = 1; i < numbers; i += 2)
        found += items[i] == lowest;
    if (found != 0)
        for (int64_t i = 1; i < numbers; i += 2)
            if (items[i] == lowest)
                ++clamped[(i / 2) % inputs];
    for (int64_t i = 1; i < numbers; i += 2)
        items[i] = items[i] == lowest ? highest : integer(-items[i]);
}

} // namespace

dada_source::sptr dada_source::make(const parameters& p)
{
    return gnuradio::make_block_sptr<dada_source_impl>(p, formats::open_dada(p.filename));
}

dada_source_impl::dada_source_impl(const parameters& p, const formats::dada_file& file)
    : gr::sync_block("dada_source",
                     gr::io_signature::make(0, 0, 0),
                     gr::io_signature::make(1, 1, output_item_size(file))),
      d_file(file),
      d_begin(p.begin),
      d_samples(p.samples ? p.samples : file.samples - p.begin),
      d_repeat(p.repeat),
      d_clamped(file.inputs)
{
    require_range("begin", p.begin, 0, d_file.samples - 1);
    require_range("samples", p.samples, 0, d_file.samples - p.begin);
    d_descriptor = open(p.filename.c_str(), O_RDONLY | O_CLOEXEC);
    if (d_descriptor < 0)
        throw std::runtime_error(p.filename +
                                 ": cannot be read: " + std::strerror(errno));
    posix_fadvise(d_descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    set_min_output_buffer(0,
                          long(std::max<int64_t>(4, buffer_bytes / d_file.item_bytes())));
    if (!d_file.warnings.empty())
        d_logger->warn("{:s}", warning());
}

dada_source_impl::~dada_source_impl() { close(d_descriptor); }

std::string dada_source_impl::type() const
{
    return (d_file.complex() ? "sc" : "s") + std::to_string(d_file.bits);
}

double dada_source_impl::bandwidth() const
{
    return d_file.inverted() ? -d_file.bandwidth : d_file.bandwidth;
}

std::pair<uint64_t, double> dada_source_impl::start_time() const
{
    const formats::exact_time time = d_file.time_of(d_begin);
    return { uint64_t(time.seconds), time.fraction() };
}

std::string dada_source_impl::warning() const
{
    std::string text;
    for (const std::string& warning : d_file.warnings)
        text += (text.empty() ? d_file.name + ": " : "; ") + warning;
    return text;
}

std::string dada_source_impl::error() const
{
    std::lock_guard<std::mutex> lock(d_error_mutex);
    return d_error;
}

// The samples before the error are sent first, so the reason may come up twice.
void dada_source_impl::fail(const std::string& error)
{
    std::lock_guard<std::mutex> lock(d_error_mutex);
    if (d_error.empty())
        d_logger->error("{:s}", error);
    d_error = error;
}

std::vector<uint64_t> dada_source_impl::clamped() const
{
    return { d_clamped.begin(), d_clamped.end() };
}

bool dada_source_impl::start()
{
    // lock and unlock of a running flowgraph come by here as well; the stream goes on
    // then
    if (nitems_written(0) == 0) {
        d_position = 0;
        for (auto& count : d_clamped)
            count = 0;
        std::lock_guard<std::mutex> lock(d_error_mutex);
        d_error.clear();
    }
    return true;
}

bool dada_source_impl::stop()
{
    d_finish = false;
    return true;
}

void dada_source_impl::add_first_tags()
{
    const auto [seconds, fraction] = start_time();
    add_item_tag(0,
                 0,
                 pmt::mp(tags::rx_time),
                 pmt::make_tuple(pmt::from_uint64(seconds), pmt::from_double(fraction)));
    add_item_tag(0, 0, pmt::mp(tags::rx_freq), pmt::from_double(center_frequency()));
    add_item_tag(0, 0, pmt::mp(tags::rx_rate), pmt::from_double(sample_rate()));
}

int64_t dada_source_impl::read(char* out, int64_t items)
{
    const int64_t item = d_file.item_bytes();
    const int64_t from = d_file.header_bytes + (d_begin + d_position) * item;
    const int64_t wanted = items * item;
    int64_t done = 0;
    while (done < wanted) {
        const ssize_t got =
            pread(d_descriptor, out + done, size_t(wanted - done), off_t(from + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fail(d_file.name + ": cannot be read at byte " + std::to_string(from + done) +
                 ": " + (got < 0 ? std::strerror(errno) : "the file became shorter"));
            break;
        }
        done += got;
    }
    return done / item;
}

void dada_source_impl::conjugate(void* items, int64_t count)
{
    if (!d_file.inverted() || !d_file.complex())
        return;
    if (d_file.bits == 8)
        conjugate_items(static_cast<int8_t*>(items), count, d_file.inputs, d_clamped);
    else
        conjugate_items(static_cast<int16_t*>(items), count, d_file.inputs, d_clamped);
}

int dada_source_impl::work(int noutput_items,
                           gr_vector_const_void_star&,
                           gr_vector_void_star& output_items)
{
    if (d_position == d_samples && d_repeat)
        d_position = 0;
    if (d_finish || d_position == d_samples)
        return WORK_DONE;
    char* out = static_cast<char*>(output_items[0]);
    const int64_t items =
        read(out, std::min<int64_t>(noutput_items, d_samples - d_position));
    if (items == 0)
        return WORK_DONE;
    if (nitems_written(0) == 0)
        add_first_tags();
    conjugate(out, items);
    d_position += items;
    return int(items);
}

} // namespace gr::aperture
