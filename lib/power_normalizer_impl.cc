/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "power_normalizer_impl.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gr::aperture {

namespace {

const pmt::pmt_t status_port = pmt::mp("status");

constexpr std::chrono::seconds status_period(1);

constexpr const char* names_of_counts[kernels::power_normalizer::counts_of_beam] = {
    "missing", "channel", "spectrum", "cell", "clamped"
};

//! \throws std::invalid_argument
//! Tuners round: to a fraction of a hertz, or some hundred at most.
bool same_frequency(double a, double b)
{
    return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

} // namespace

kernels::power_normalizer::parameters
power_normalizer_impl::kernel_parameters(const parameters& p)
{
    const double segment = std::round(p.window / p.sample_time / p.segments);
    require(segment >= 8,
            "window",
            text_of(p.window),
            "at least " + text_of(8 * p.segments * p.sample_time) +
                " s, 8 items in each of its segments");
    require(segment <= 1 << 20,
            "window",
            text_of(p.window),
            "so short that its segments have at most 1048576 items");
    kernels::power_normalizer::parameters k;
    k.channels = p.channels;
    k.beams = p.beams;
    k.segment = int(segment);
    k.segments = p.segments;
    k.integers =
        parse_sample_type("type", p.type, { sample_type::f32, sample_type::s8 }) ==
        sample_type::s8;
    k.steps = float(p.steps);
    k.cell_threshold = float(p.cell_threshold);
    k.channel_threshold = float(p.channel_threshold);
    k.spectrum_threshold = float(p.spectrum_threshold);
    k.zero_dm = p.zero_dm;
    k.bad_channels = p.bad_channels;
    k.check();
    // refuses sizes of segments before memory for many of them is allocated
    item_size(
        "segment",
        { { "beams", k.beams }, { "channels", k.channels }, { "items", k.segment } },
        sizeof(float));
    return k;
}

power_normalizer::sptr power_normalizer::make(const parameters& p)
{
    check_parameters<power_normalizer>(p);
    return gnuradio::make_block_sptr<power_normalizer_impl>(
        power_normalizer_impl::kernel_parameters(p), p, device::select(p.device));
}

power_normalizer_impl::power_normalizer_impl(
    const kernels::power_normalizer::parameters& k, const parameters& p, const device& d)
    : gr::block(
          "power_normalizer",
          signature_on(d,
                       1,
                       item_size("powers",
                                 { { "beams", k.beams }, { "channels", k.channels } },
                                 sizeof(float))),
          signature_on(d, 1, int(k.item_bytes()))),
      device_block(d),
      d_k(k),
      d_sample_time(p.sample_time),
      d_kernel(kernels::power_normalizer::make(k, d))
{
    set_output_multiple(k.segment);
    set_latency(p.latency);
    message_port_register_out(status_port);
}

bool power_normalizer_impl::start()
{
    d_frequency.reset();
    d_spectra = 0;
    d_ended = false;
    d_published.clear();
    if (!device_block::start())
        return false;
    d_reminder.start(status_period, [this] { publish_counts(); });
    return true;
}

void power_normalizer_impl::before_first_call() { d_kernel->clear(work_stream()); }

bool power_normalizer_impl::stop()
{
    d_reminder.stop();
    publish_counts();
    return device_block::stop();
}

void power_normalizer_impl::forecast(int, gr_vector_int& required)
{
    auto reader = detail()->input(0);
    gr::thread::scoped_lock guard(*reader->mutex());
    // in this order: the items available may grow until done() is true, not later
    d_ended = reader->done() && reader->items_available() < d_k.segment;
    // the scheduler ends a block that asks for more than there will ever be
    required[0] = d_ended ? 0 : d_k.segment;
}

int power_normalizer_impl::process(int noutput_items,
                                   gr_vector_int& ninput_items,
                                   gr_vector_const_void_star& input_items,
                                   gr_vector_void_star& output_items)
{
    const int there = std::min(noutput_items, ninput_items[0]);
    const char* in = static_cast<const char*>(input_items[0]);
    char* out = static_cast<char*>(output_items[0]);
    int done = 0;
    while (there - done >= d_k.segment || (d_ended && done < there)) {
        const auto about = read_tags(done, std::min(d_k.segment, there - done));
        if (failed())
            return WORK_DONE;
        d_kernel->execute(
            reinterpret_cast<const float*>(in + done * d_k.cells() * sizeof(float)),
            out + done * d_k.item_bytes(),
            about.items,
            about.present.empty() ? nullptr : about.present.data(),
            work_stream());
        done += about.items;
    }
    consume_each(done);
    return done == 0 && d_ended ? int(WORK_DONE) : done;
}

power_normalizer_impl::about_items power_normalizer_impl::read_tags(int first, int items)
{
    about_items about{ items, {} };
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, first, first + items);
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    const uint64_t begin = nitems_read(0) + first;
    // the tag of an item that gives its length comes first
    for (const auto& tag : tags)
        if (tag.key == key(tags::rx_freq)) {
            const auto frequency = number_of(tag.value);
            if (!frequency || (d_frequency && same_frequency(*frequency, *d_frequency)))
                continue;
            if (tag.offset > begin && d_frequency) { // the new band begins a segment
                about.items = int(tag.offset - begin);
                break;
            }
            if (d_frequency)
                d_kernel->forget(work_stream());
            d_frequency = frequency;
        }
    const uint64_t end = begin + uint64_t(about.items);
    tags.erase(std::find_if(tags.begin(),
                            tags.end(),
                            [=](const auto& tag) { return tag.offset >= end; }),
               tags.end());
    for (const auto& run : d_states.take(std::move(tags), begin, end)) {
        if (!agrees(run.states))
            break;
        if (const auto spectra = run.states.find(tags::spectra);
            spectra != run.states.end())
            d_spectra = std::max(d_spectra, count_of(spectra->second).value_or(0));
        read_counted(run, begin, about);
    }
    about.present.resize(about.present.empty() ? 0 : size_t(about.items) * d_k.beams);
    return about;
}

bool power_normalizer_impl::agrees(const stream_states::values& states)
{
    const auto tag = states.find(tags::rx_rate);
    const auto rate = tag == states.end() ? std::nullopt : number_of(tag->second);
    return !rate || *rate <= 0 || std::abs(*rate * d_sample_time - 1) <= 1e-3 ||
           fail("sample_time: " + text_of(d_sample_time) +
                " s contradicts the tag rx_rate, " + text_of(*rate) +
                " items a second, " + text_of(1 / *rate) + " s");
}

void power_normalizer_impl::read_counted(const stream_states::run& run,
                                         uint64_t begin,
                                         about_items& about)
{
    const auto tag = run.states.find(tags::counted);
    if (tag == run.states.end() || !pmt::is_u64vector(tag->second))
        return;
    const auto& counts = tag->second;
    const size_t length = pmt::length(counts);
    if (length != 1 && length != size_t(d_k.beams)) {
        fail("beams: " + std::to_string(d_k.beams) + " do not fit the tag counted of " +
             std::to_string(length) + " counts: the powers must be of one product");
        return;
    }
    for (int beam = 0; beam < d_k.beams; beam++) {
        const uint64_t counted = pmt::u64vector_ref(counts, length == 1 ? 0 : beam);
        if (counted > 0 && 2 * counted >= d_spectra)
            continue;
        if (about.present.empty())
            about.present.assign(size_t(d_k.segment) * d_k.beams, 1);
        for (uint64_t item = run.first; item < run.end; item++)
            about.present[size_t(item - begin) * d_k.beams + beam] = 0;
    }
}

std::map<std::string, std::vector<uint64_t>> power_normalizer_impl::counts() const
{
    std::map<std::string, std::vector<uint64_t>> made;
    const auto all = d_kernel->counts();
    for (size_t i = 0; i < all.size(); i++)
        made[names_of_counts[i % kernels::power_normalizer::counts_of_beam]].push_back(
            all[i]);
    return made;
}

void power_normalizer_impl::publish_counts()
{
    std::vector<uint64_t> all;
    try {
        all = d_kernel->counts();
    } catch (const std::exception&) {
        return; // the thread that uses a failed device reports it
    }
    if (all == d_published ||
        (d_published.empty() &&
         std::all_of(all.begin(), all.end(), [](uint64_t n) { return n == 0; })))
        return;
    d_published = all;
    auto message = pmt::make_dict();
    message = pmt::dict_add(message, key(tags::event), pmt::intern("flagged"));
    for (const auto& [name, beams] : counts())
        message = pmt::dict_add(
            message, pmt::intern(name), pmt::init_u64vector(beams.size(), beams));
    message_port_pub(status_port, message);
}

} // namespace gr::aperture
