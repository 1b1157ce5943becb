/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/pulsar_phase.h"
#include "stream/clocked_block.h"
#include "stream/free_memory.h"
#include "stream/message_text.h"
#include "visibility_averager_impl.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

using kernels::visibility_average;

const pmt::pmt_t status_port = pmt::mp("status");
//! The part of an item by which times may be off: a clock that is followed walks, and
//! parts of integrations are larger.
constexpr double off = 1. / 8;
//! The most spectra of an average: its counts have 32 bits.
constexpr double most_spectra = 4294967295.;

//! Returns the pairs of inputs of all products of an X-engine, in its order.
std::vector<std::pair<int, int>> all_products_of(int inputs)
{
    std::vector<std::pair<int, int>> pairs;
    pairs.reserve(size_t(visibility_average::all_products(inputs)));
    for (int a = 0; a < inputs; a++)
        for (int b = 0; b <= a; b++)
            pairs.emplace_back(a, b);
    return pairs;
}

int visibilities_size(int64_t channels, int64_t products, size_t element)
{
    return item_size(element == sizeof(gr_complex) ? "visibilities" : "counts",
                     { { "channels", channels }, { "products", products } },
                     element);
}

int sums_of(const visibility_averager::parameters& p)
{
    return std::max(p.centers, 1) * std::max<int>(int(p.gates.size()), 1);
}

io_signature::sptr input_signature_of(const visibility_averager::parameters& p,
                                      const device& d)
{
    const int64_t all = visibility_average::all_products(p.inputs);
    std::vector<int> sizes{ visibilities_size(p.channels, all, sizeof(gr_complex)) };
    if (p.counts)
        sizes.push_back(visibilities_size(p.channels, all, sizeof(uint32_t)));
    return signature_on(d, sizes);
}

io_signature::sptr
output_signature_of(const visibility_averager::parameters& p,
                    const std::vector<visibility_averager_impl::group>& groups,
                    const device& d)
{
    std::vector<int> sizes;
    const int channels = p.channels / p.average_channels;
    for (const size_t element : { sizeof(gr_complex), sizeof(uint32_t) })
        for (const auto& g : groups)
            for (int sum = 0; sum < sums_of(p); sum++)
                if (element == sizeof(gr_complex) || p.counts)
                    sizes.push_back(
                        visibilities_size(channels, g.products.size(), element));
    require_ports(int(sizes.size()));
    return signature_on(d, sizes);
}

void check_gates(const visibility_averager::parameters& p)
{
    for (size_t i = 0; i < p.gates.size(); i++) {
        const auto [begin, end] = p.gates[i];
        require(begin >= 0 && begin < 1 && end > 0 && end <= 1 && begin != end,
                "gates[" + std::to_string(i) + "]",
                "(" + text_of(begin) + ", " + text_of(end) + ")",
                "from 0 or more, but below 1, to another phase above 0 and at most 1");
    }
    require(p.gates.empty() == p.segments.empty(),
            p.gates.empty() ? "gates" : "segments",
            "an empty list",
            p.gates.empty() ? "one gate or more, as there are segments"
                            : "one segment or more, as there are gates");
    require_range("gates", int64_t(p.gates.size()), 0, 1024);
}

//! Returns the products by the lengths of their averages, the shortest first.
std::vector<visibility_averager_impl::group>
groups_of(const visibility_averager::parameters& p)
{
    const auto pairs = p.products.empty() ? all_products_of(p.inputs) : p.products;
    require(p.lengths.empty() || p.lengths.size() == pairs.size(),
            "lengths",
            std::to_string(p.lengths.size()) + " numbers",
            "one for each of " + std::to_string(pairs.size()) + " products, or none");
    std::vector<visibility_averager_impl::group> groups;
    for (size_t i = 0; i < pairs.size(); i++) {
        const int length = p.lengths.empty() ? 1 : p.lengths[i];
        require(length > 0 && length <= 1 << 20 && (length & (length - 1)) == 0,
                "lengths[" + std::to_string(i) + "]",
                std::to_string(length),
                "a power of two, 1 to 1048576");
        auto place = std::find_if(groups.begin(), groups.end(), [=](const auto& g) {
            return g.length >= length;
        });
        if (place == groups.end() || place->length != length) {
            visibility_averager_impl::group made;
            made.length = length;
            place = groups.insert(place, std::move(made));
        }
        place->products.push_back(pairs[i]);
    }
    return groups;
}

visibility_average::parameters
kernel_parameters(const visibility_averager::parameters& p,
                  const std::vector<std::pair<int, int>>& products)
{
    return { p.channels, p.inputs,  p.average_channels,
             products,   p.centers, std::max<int>(int(p.gates.size()), 1),
             p.mean };
}

} // namespace

visibility_averager::sptr visibility_averager::make(const parameters& p)
{
    check_parameters<visibility_averager>(p);
    require(p.integration_unit == "seconds" || p.integration == std::floor(p.integration),
            "integration",
            text_of(p.integration) + " items",
            "a whole number of items, 1 to 1e9");
    check_gates(p);
    visibilities_size(
        p.channels, visibility_average::all_products(p.inputs), sizeof(gr_complex));
    auto groups = groups_of(p);
    double bytes = 0; // size of the sums: re, im, count
    for (const auto& g : groups) {
        const auto k = kernel_parameters(p, g.products);
        k.check();
        bytes += double(k.sums()) * double(k.cells()) * 20;
    }
    const auto d = device::select(p.device);
    require_host_memory(
        d, "sums of " + std::to_string(sums_of(p)) + " phase centres and gates", bytes);
    return gnuradio::make_block_sptr<visibility_averager_impl>(p, std::move(groups), d);
}

visibility_averager_impl::visibility_averager_impl(const parameters& p,
                                                   std::vector<group> groups,
                                                   const device& d)
    : gr::block("visibility_averager",
                input_signature_of(p, d),
                output_signature_of(p, groups, d)),
      device_block(d),
      d_p(p),
      d_gates(std::max<int>(int(p.gates.size()), 1)),
      d_sums(sums_of(p)),
      d_all(visibility_average::all_products(p.inputs)),
      d_longest(groups.back().length),
      d_groups(std::move(groups)),
      d_centers(p.centers, p.inputs),
      d_unknown(p.centers),
      d_most_together(kernel_parameters(p, d_groups[0].products).most_items())
{
    for (auto& g : d_groups) {
        g.kernel = visibility_average::make(kernel_parameters(p, g.products), d);
        for (const auto& [a, b] : g.products) {
            const int64_t high = std::max(a, b), low = std::min(a, b);
            g.places.push_back(high * (high + 1) / 2 + low);
        }
    }
    if (!p.segments.empty())
        d_model.emplace(phase_model_of(p.segments));
    set_latency(p.latency);
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(status_port);
    const auto take = [this](const std::string& name, int center) {
        const auto port = pmt::mp(name);
        message_port_register_in(port);
        set_msg_handler(port,
                        [this, center](const pmt::pmt_t& m) { receive(center, m); });
    };
    for (int center = 0; center < std::max(1, p.centers); center++)
        take("delays" + (p.centers > 1 ? std::to_string(center) : ""), center);
    take("tracked", phase_centers::tracked);
}

// ---- what can be asked for, and set

std::vector<std::pair<int, int>> visibility_averager_impl::products(int port) const
{
    require_range("port", port, 0, outputs() - 1);
    return d_groups[port / d_sums].products;
}

int visibility_averager_impl::length(int port) const
{
    require_range("port", port, 0, outputs() - 1);
    return d_groups[port / d_sums].length;
}

int visibility_averager_impl::center(int port) const
{
    require_range("port", port, 0, outputs() - 1);
    return d_p.centers > 0 ? port % d_sums / d_gates : -1;
}

int visibility_averager_impl::gate(int port) const
{
    require_range("port", port, 0, outputs() - 1);
    return d_p.gates.empty() ? -1 : port % d_gates;
}

int64_t visibility_averager_impl::items_per_average(int port) const
{
    require_range("port", port, 0, outputs() - 1);
    const int64_t items =
        d_p.integration_unit == "items" ? int64_t(d_p.integration) : d_told.load();
    return items * d_groups[port / d_sums].length;
}

void visibility_averager_impl::take_delays(int center,
                                           const std::vector<double>& delays,
                                           const std::vector<double>& delay_rates,
                                           const std::vector<double>& phases,
                                           const std::vector<double>& phase_rates,
                                           const std::optional<setting_time>& time,
                                           const std::string& model)
{
    d_centers.set(center,
                  setting_of_delays({ model, -1, timestamp_of(time) },
                                    delays,
                                    delay_rates,
                                    phases,
                                    phase_rates,
                                    d_p.inputs));
}

std::string visibility_averager_impl::implementation() const
{
    return d_groups[0].kernel->implementation();
}

void visibility_averager_impl::receive(int center, const pmt::pmt_t& message)
{
    try {
        d_centers.receive(center, message);
    } catch (const std::exception& e) {
        report("refused", e.what());
    }
}

void visibility_averager_impl::report(const char* event, const std::string& reason)
{
    auto dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::event), pmt::intern(event));
    dict = pmt::dict_add(dict, key(tags::reason), pmt::mp(reason));
    message_port_pub(status_port, dict);
    if (d_log_limit.pass() >= 0)
        d_logger->warn("{:s}: {:s}", event, reason);
}

// ---- a run

bool visibility_averager_impl::start()
{
    if (nitems_read(0) == 0)
        d_states.forget();
    d_ended = d_anchored = false;
    d_here.reset();
    d_about = {};
    d_items = 0;
    d_told = 0;
    for (auto& g : d_groups) {
        g.active = g.partial = false;
        g.begins = true;
        g.first = g.end = g.made = 0;
    }
    d_outputs.assign(outputs(), {});
    d_unknown.assign(d_p.centers, false);
    d_together = 0;
    d_centers.start();
    d_ahead.start(*this, d_logger);
    return device_block::start();
}

bool visibility_averager_impl::stop()
{
    d_ahead.stop();
    return device_block::stop();
}

void visibility_averager_impl::before_first_call()
{
    for (auto& g : d_groups)
        g.kernel->clear(work_stream());
}

void visibility_averager_impl::forecast(int, gr_vector_int& required)
{
    d_ahead.wait();
    d_ended = false;
    for (size_t port = 0; port < required.size(); port++) {
        auto reader = detail()->input(int(port));
        gr::thread::scoped_lock guard(*reader->mutex());
        // in this order: items may come until done() is true, not later
        d_ended = d_ended || (reader->done() && reader->items_available() == 0);
    }
    // the scheduler ends a block that asks for more than there will ever be
    std::fill(required.begin(), required.end(), d_ended ? 0 : 1);
}

int visibility_averager_impl::process(int noutput_items,
                                      gr_vector_int& ninput_items,
                                      gr_vector_const_void_star& input_items,
                                      gr_vector_void_star& output_items)
{
    // a message that came since GNU Radio looked for some may have been sent before these
    // items were, and has to hold for them
    for (const auto& queue : msg_queue)
        while (const auto message = delete_head_nowait(queue.first))
            dispatch_msg(queue.first, message);
    const int there = *std::min_element(ninput_items.begin(), ninput_items.end());
    for (auto& g : d_groups)
        g.made = 0;
    d_visibilities = static_cast<const gr_complex*>(input_items[0]);
    d_counts = d_p.counts ? static_cast<const uint32_t*>(input_items[1]) : nullptr;
    int done = 0;
    while (done < there && (d_here || read(nitems_read(0) + done)) &&
           add(done, noutput_items, output_items)) {
        d_here.reset();
        done++;
    }
    if (failed())
        return WORK_DONE;
    accumulate_all();
    if (d_ended && there == 0) {
        if (d_p.counts && ninput_items[0] > 0) {
            fail("counts: they end before the visibilities, on port 1");
            return WORK_DONE;
        }
        for (auto& g : d_groups)
            if (g.active)
                finish(g, last_end(g), true, output_items);
    }
    consume_each(done);
    bool made = done > 0;
    for (size_t i = 0; i < d_groups.size(); i++)
        for (int sum = 0; sum < d_sums; sum++) {
            const int port = int(i) * d_sums + sum;
            made = made || d_groups[i].made > 0;
            produce(port, d_groups[i].made);
            if (d_p.counts)
                produce(outputs() + port, d_groups[i].made);
        }
    return d_ended && !made ? int(WORK_DONE) : int(WORK_CALLED_PRODUCE);
}

// ---- reading of tags

bool visibility_averager_impl::description::operator==(const description& other) const
{
    const auto same = [](double a, double b) {
        return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
    };
    return same(rate, other.rate) && same(spectrum_rate, other.spectrum_rate) &&
           spectra == other.spectra && same(bandwidth, other.bandwidth) &&
           frequency == other.frequency && samples == other.samples &&
           approximate == other.approximate &&
           (clock == other.clock ||
            (clock && other.clock && pmt::equal(clock, other.clock)));
}

bool visibility_averager_impl::read(uint64_t number)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_range(tags, 0, number, number + 1);
    const auto runs = d_states.take(std::move(tags), number, number + 1);
    item i;
    i.number = number;
    d_here.reset();
    if (!read_description(runs[0], i.about) || !read_item(runs[0], i))
        return false;
    place(i);
    take_settings(runs[0], i);
    if (!choose(i) || !check_counts(int(number - nitems_read(0)), i))
        return false;
    d_here = std::move(i);
    return true;
}

bool visibility_averager_impl::read_description(const stream_states::run& run,
                                                description& d)
{
    const auto find = [&](const char* name) {
        const auto found = run.states.find(name);
        return found == run.states.end() ? pmt::pmt_t() : found->second;
    };
    const auto positive = [&](const char* name, double& to) {
        const auto value = find(name);
        if (!value)
            return true;
        to = number_of(value).value_or(0);
        return to > 0 || fail(std::string(name) + ": " + text_of(value) +
                              " is not allowed; it must be a finite number above 0");
    };
    if (!positive(tags::rx_rate, d.rate) ||
        !positive(tags::spectrum_rate, d.spectrum_rate) ||
        !positive(tags::bandwidth, d.bandwidth))
        return false;
    if (const auto frequency = find(tags::rx_freq)) {
        d.frequency = number_of(frequency);
        if (!d.frequency)
            return fail("rx_freq: " + text_of(frequency) +
                        " is not allowed; it must be a finite number");
    }
    if (d.rate <= 0)
        return fail(std::string("rx_rate: the first item has none; it is needed for the "
                                "time of each integration") +
                    who_says_the_rate);
    if (d.bandwidth <= 0 && (d_p.centers > 0 || d_p.average_channels > 1))
        return fail("bandwidth: the first item has none; it is needed for frequencies");
    d.says_spectrum_rate = d.spectrum_rate > 0;
    const auto spectra = find(tags::spectra);
    const auto span = spectra ? count_of(spectra) : std::nullopt;
    if (!d.says_spectrum_rate) // critically sampled channels
        d.spectrum_rate = d.bandwidth > 0 ? d.bandwidth / d_p.channels
                                          : d.rate * double(span.value_or(1));
    d.spectra = std::llround(std::min(d.spectrum_rate / d.rate, 1e15));
    if (d.spectra < 1)
        return fail("rx_rate: " + text_of(d.rate) + " integrations a second of " +
                    text_of(d.spectrum_rate) +
                    " spectra a second are not allowed; there must be one spectrum in "
                    "each at least");
    if (const auto samples = find(tags::samples_per_item))
        d.samples = int64_t(count_of(samples).value_or(0));
    if (const auto guess = find(tags::approximate))
        d.approximate = pmt::is_true(guess);
    d.clock = find(tags::clock);
    return true;
}

bool visibility_averager_impl::read_item(const stream_states::run& run, item& i)
{
    const auto time = run.time(i.number);
    if (!time)
        return fail("rx_time: the first item has none; it is needed for the time of each "
                    "integration");
    i.time = { int64_t(time->first), time->second };
    const auto spectra = run.states.find(tags::spectra),
               counted = run.states.find(tags::counted);
    const auto span =
        spectra == run.states.end() ? std::nullopt : count_of(spectra->second);
    if (!span || *span == 0 || double(*span) > most_spectra)
        return fail("spectra: " +
                    (spectra == run.states.end() ? std::string("no tag")
                                                 : text_of(spectra->second)) +
                    " is not allowed; an item must have that of an X-engine, 1 to "
                    "4294967295");
    i.spectra = int64_t(*span);
    if (double(i.spectra) > double(i.about.spectra) * (1 + off))
        return fail("spectra: " + std::to_string(i.spectra) +
                    " are more than rx_rate leaves time for, " +
                    std::to_string(i.about.spectra));
    if (counted == run.states.end() || !pmt::is_u64vector(counted->second))
        return fail("counted: an item must have that tag of an X-engine, a u64vector");
    i.counted = pmt::u64vector_elements(counted->second);
    if (i.counted.size() != 1 && int64_t(i.counted.size()) != d_all)
        return fail("counted: " + std::to_string(i.counted.size()) +
                    " numbers are not allowed; there must be one, or one for each of " +
                    std::to_string(d_all) + " products");
    const uint64_t most = *std::max_element(i.counted.begin(), i.counted.end());
    if (most > *span)
        return fail("counted: " + std::to_string(most) + " are more than the " +
                    std::to_string(*span) + " spectra of the integration");
    i.partial = run.events.count(tags::partial) > 0;
    return true;
}

void visibility_averager_impl::place(item& i) const
{
    if (!d_anchored) {
        i.anew = true;
        return;
    }
    i.cuts = !(i.about == d_about);
    i.anew =
        i.about.rate != d_about.rate || i.about.spectrum_rate != d_about.spectrum_rate;
    const auto spectra = double(i.about.spectra);
    const double later = i.time.since(d_anchor_time) * i.about.spectrum_rate;
    if (i.anew || later < -off * spectra) { // a clock that goes back begins anew, too
        i.cuts = i.anew = true;
        return;
    }
    const double whole = std::floor(later / spectra + off),
                 rest = later - whole * spectra;
    i.index = d_anchor + int64_t(whole);
    i.offset = std::abs(rest) <= off * spectra ? 0 : std::llround(rest);
}

void visibility_averager_impl::take_settings(const stream_states::run& run, item& i)
{
    const auto events = run.events.find(tags::settings);
    std::vector<pmt::pmt_t> all;
    if (events != run.events.end())
        for (const auto& value : events->second) {
            if (pmt::is_vector(value))
                for (size_t n = 0; n < pmt::length(value); n++)
                    all.push_back(pmt::vector_ref(value, n));
            else
                all.push_back(value);
        }
    for (const auto& setting : all) {
        const bool turns =
            pmt::is_dict(setting) && pmt::dict_has_key(setting, key(tags::direction));
        i.cuts = i.cuts || d_anchored;
        for (int port = 0; port < outputs(); port++)
            // a phase centre has its own direction
            if (!turns || d_p.centers == 0)
                i.settings.emplace_back(port, setting);
    }
}

bool visibility_averager_impl::choose(item& i)
{
    i.used.assign(d_sums, 1);
    const timestamp middle =
        i.time.after(double(i.spectra - 1) / 2, i.about.spectrum_rate);
    if (d_model) {
        const auto phase = d_model->at({ middle.seconds, middle.fraction });
        if (!phase)
            return fail(no_segment_at(middle));
        for (int sum = 0; sum < d_sums; sum++) {
            const auto [begin, end] = d_p.gates[sum % d_gates];
            const bool above = phase->phase >= begin, below = phase->phase < end;
            i.used[sum] = begin < end ? above && below : above || below;
        }
    }
    if (d_p.centers == 0)
        return true;
    // the clock of the items, by this one
    const item_clock clock{ i.time.after(-double(i.number), i.about.rate), i.about.rate };
    const auto late = [&](int center, int64_t items) {
        report("late",
               "delays" +
                   (center == phase_centers::tracked
                        ? std::string(" of the F-engine")
                        : " of phase centre " + std::to_string(center)) +
                   " came " + std::to_string(items) + " items after their time");
    };
    const auto tell = [&](int center, const pmt::pmt_t& setting) {
        i.cuts = i.cuts || d_anchored;
        for (int port = 0; port < outputs(); port++)
            if (this->center(port) == center)
                i.settings.emplace_back(port, setting);
    };
    d_centers.update(int64_t(i.number), clock, { late, tell });
    for (int center = 0; center < d_p.centers; center++) {
        const bool known = d_centers.knows(center);
        if (!known) {
            std::fill_n(i.used.begin() + center * d_gates, d_gates, 0);
            if (!d_unknown[center])
                report("no_delays",
                       "phase centre " + std::to_string(center) +
                           " has no delays of all inputs from item " +
                           std::to_string(i.number) +
                           " on: its products are missing until they come");
        }
        d_unknown[center] = !known;
    }
    d_centers.append(middle, i.about.bandwidth / d_p.channels, i.rotations);
    return true;
}

bool visibility_averager_impl::check_counts(int index, const item& i)
{
    if (!d_p.counts)
        return true;
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 1, index, index + 1, key(tags::rx_time));
    for (const auto& tag : tags) {
        const auto time = timestamp::from_pmt(tag.value);
        if (!time || std::abs(time->since(i.time)) * i.about.spectrum_rate > 0.5)
            return fail("counts: item " + std::to_string(i.number) +
                        " has another rx_time than the visibilities: they are not of "
                        "one X-engine");
    }
    return true;
}

// ---- averages

bool visibility_averager_impl::adopt(const description& d)
{
    if (d_anchored && d == d_about)
        return true;
    d_about = d;
    const double items = d_p.integration_unit == "items"
                             ? d_p.integration
                             : std::max(1., std::round(d_p.integration * d.rate));
    const double spectra =
        items * d_longest * double(d.spectra) * double(d_p.average_channels);
    if (spectra > most_spectra)
        return fail("integration: " + text_of(items * d_longest) + " items of " +
                    std::to_string(d.spectra) + " spectra and " +
                    std::to_string(d_p.average_channels) +
                    " channels have more than counts of 32 bits can hold");
    d_items = int64_t(items);
    d_told = d_items;
    for (auto& output : d_outputs)
        output.described = false;
    return true;
}

void visibility_averager_impl::count_from(item& i) const
{
    i.index = i.offset = 0;
    if (!d_p.align)
        return;
    const int64_t longest = d_items * d_longest;
    const double length = double(d_about.spectra) / d_about.spectrum_rate;
    const double asked = d_p.integration * d_longest, made = double(longest) * length;
    // a length in seconds is the decimal number that was given
    const bool exact =
        d_p.integration_unit == "seconds" && std::abs(asked - made) <= 1e-9 * made;
    const double wait = i.time.until_multiple_of(exact ? asked : made, off * length);
    i.index = (longest - int64_t(std::ceil(wait / length - off))) % longest;
}

bool visibility_averager_impl::completes(const group& g, const item& i) const
{
    return double(within(g, i.index / items_of(g), i) + i.spectra) >=
           double(spectra_of(g)) - off * double(d_about.spectra);
}

bool visibility_averager_impl::add(int index, int room, const gr_vector_void_star& out)
{
    item& i = *d_here;
    // averages that end before this item; without room the rest ends in the next call
    for (auto& g : d_groups) {
        const bool later = i.anew || (g.active && i.index / items_of(g) != g.slot);
        if (!g.active || !(later || i.cuts))
            continue;
        if (g.made == room)
            return false;
        finish(g,
               !later   ? within(g, g.slot, i)
               : i.anew ? std::min(spectra_of(g), last_end(g))
                        : spectra_of(g),
               false,
               out);
    }
    if (i.cuts || i.anew) {
        for (auto& g : d_groups)
            g.begins = true;
        if (!adopt(i.about))
            return false;
        if (i.anew)
            count_from(i);
        i.cuts = i.anew = false;
    }
    for (const auto& g : d_groups)
        if (g.made == room && completes(g, i))
            return false;
    d_anchored = true;
    if (i.offset == 0) {
        d_anchor_time = i.time;
        d_anchor = i.index;
    }
    d_last = i.index;
    d_last_end = i.offset + i.spectra;
    for (const auto& [port, setting] : i.settings)
        d_outputs[port].settings.push_back(setting);
    put_together(index, i);
    for (auto& g : d_groups) {
        if (!g.active)
            begin(g, i);
        if (g.first == g.end)
            g.first = d_together - 1;
        g.end = d_together;
        g.partial = g.partial || i.partial;
        for (int sum = 0; sum < d_sums; sum++) {
            if (!i.used[sum])
                continue;
            auto& counted = g.counted[sum];
            if (d_by_product && counted.size() == 1)
                counted.assign(g.products.size(), counted[0]);
            for (size_t p = 0; p < counted.size(); p++)
                counted[p] += i.counted[d_by_product ? size_t(g.places[p]) : 0];
        }
        if (completes(g, i))
            finish(g, spectra_of(g), false, out);
    }
    return true;
}

void visibility_averager_impl::put_together(int index, item& i)
{
    const bool by_product = i.counted.size() > 1;
    if (by_product != d_by_product || d_together == d_most_together)
        accumulate_all();
    if (d_together == 0)
        d_together_from = index;
    d_by_product = by_product;
    d_together++;
    d_counted.insert(d_counted.end(), i.counted.begin(), i.counted.end());
    d_used.insert(d_used.end(), i.used.begin(), i.used.end());
    d_rotations.insert(d_rotations.end(), i.rotations.begin(), i.rotations.end());
}

void visibility_averager_impl::begin(group& g, const item& i)
{
    g.slot = i.index / items_of(g);
    const int64_t here = within(g, g.slot, i);
    g.active = true;
    g.partial = false;
    g.from = g.begins ? here : 0;
    g.begins = false;
    g.time = here == g.from ? i.time
                            : i.time.after(-double(here - g.from), d_about.spectrum_rate);
    g.counted.assign(d_sums, { 0 });
}

void visibility_averager_impl::accumulate(group& g)
{
    if (g.first == g.end)
        return;
    const size_t first = g.first, size = size_t(d_p.channels) * d_all;
    const visibility_average::items some{
        g.end - g.first,
        d_counted.data() + first * (d_by_product ? d_all : 1),
        d_by_product,
        d_used.data() + first * d_sums,
        d_p.centers > 0 ? d_rotations.data() + first * d_p.centers * d_p.inputs : nullptr
    };
    const size_t place = (d_together_from + first) * size;
    g.kernel->accumulate(d_visibilities + place,
                         d_counts ? d_counts + place : nullptr,
                         some,
                         work_stream());
    g.first = g.end;
}

void visibility_averager_impl::accumulate_all()
{
    for (auto& g : d_groups) {
        accumulate(g);
        g.first = g.end = 0;
    }
    d_together = 0;
    d_counted.clear();
    d_used.clear();
    d_rotations.clear();
}

void visibility_averager_impl::finish(group& g,
                                      int64_t end,
                                      bool partial,
                                      const gr_vector_void_star& out)
{
    accumulate(g);
    const size_t cells = size_t(d_p.channels / d_p.average_channels) * g.products.size();
    const int first = int(&g - d_groups.data()) * d_sums;
    for (int sum = 0; sum < d_sums; sum++) {
        const int port = first + sum;
        g.kernel->dump(sum,
                       static_cast<gr_complex*>(out[port]) + g.made * cells,
                       d_p.counts ? static_cast<uint32_t*>(out[outputs() + port]) +
                                        g.made * cells
                                  : nullptr,
                       work_stream());
        auto counted = g.counted[sum];
        if (std::all_of(counted.begin(), counted.end(), [&](uint64_t c) {
                return c == counted[0];
            }))
            counted.resize(1);
        tag_average(port, g, end - g.from, counted, partial || g.partial);
    }
    g.made++;
    g.active = false;
}

void visibility_averager_impl::tag_average(int port,
                                           const group& g,
                                           int64_t spectra,
                                           const std::vector<uint64_t>& counted,
                                           bool partial)
{
    const int wide = d_p.average_channels;
    auto& output = d_outputs[port];
    const uint64_t item = nitems_written(port) + uint64_t(g.made);
    // the first of spectra that come so much faster
    const timestamp time =
        wide == 1 ? g.time : g.time.after(-(1 - 1. / wide) / 2, d_about.spectrum_rate);
    const double rate = d_about.rate / double(items_of(g));
    std::vector<uint64_t> counts(counted);
    for (auto& count : counts)
        count *= uint64_t(wide);
    const bool describe = !output.described;
    if (describe)
        output.said.begin(rate);
    const auto news = output.said.take(item, time, uint64_t(spectra * wide), counts);
    if (news.time)
        output.said.say_time(item, time);
    const int channels = d_p.channels / wide;
    const double spacing = d_about.bandwidth / d_p.channels;
    for (const int to : { port, outputs() + port }) {
        if (to != port && !d_p.counts)
            break;
        if (describe) {
            tag(to, item, tags::rx_rate, pmt::from_double(rate));
            if (d_about.bandwidth > 0)
                tag(to, item, tags::bandwidth, pmt::from_double(d_about.bandwidth));
            if (d_about.says_spectrum_rate || wide > 1)
                tag(to,
                    item,
                    tags::spectrum_rate,
                    pmt::from_double(d_about.spectrum_rate * wide));
            if (d_about.frequency)
                tag(to,
                    item,
                    tags::rx_freq,
                    pmt::from_double(*d_about.frequency +
                                     spacing * (double(channels / 2) * wide +
                                                (wide - 1) / 2. - d_p.channels / 2)));
            if (d_about.samples > 0)
                tag(to,
                    item,
                    tags::samples_per_item,
                    pmt::from_uint64(uint64_t(d_about.samples * items_of(g))));
            if (d_about.clock)
                tag(to, item, tags::clock, d_about.clock);
        }
        if (news.time) {
            tag(to, item, tags::rx_time, time.to_pmt());
            if (d_about.approximate)
                tag(to, item, tags::approximate, pmt::PMT_T);
        }
        if (news.spectra)
            tag(to,
                item,
                tags::spectra,
                pmt::from_uint64(uint64_t(spectra) * uint64_t(wide)));
        if (news.counted)
            tag(to, item, tags::counted, pmt::init_u64vector(counts.size(), counts));
        if (partial)
            tag(to, item, tags::partial, pmt::PMT_T);
    }
    output.described = true;
    if (output.settings.empty())
        return;
    const auto settings = pmt::make_vector(output.settings.size(), pmt::PMT_NIL);
    for (size_t n = 0; n < output.settings.size(); n++)
        pmt::vector_set(settings, n, output.settings[n]);
    tag(port, item, tags::settings, settings);
    output.settings.clear();
}

void visibility_averager_impl::tag(int port,
                                   uint64_t item,
                                   const char* name,
                                   const pmt::pmt_t& value)
{
    add_item_tag(port, item, key(name), value, alias_pmt());
}

} // namespace gr::aperture
