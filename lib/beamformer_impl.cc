/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "beamformer_impl.h"
#include <gnuradio/aperture/tags.h>

namespace gr {
namespace aperture {

namespace {

const pmt::pmt_t weights_port = pmt::mp("weights");

} // namespace

beamformer::sptr beamformer::make(const parameters& p)
{
    kernels::beamformer::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.beams = p.beams;
    k.times = p.times;
    k.input = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    k.check();
    return gnuradio::make_block_sptr<beamformer_impl>(p, k, device::select(p.device));
}

beamformer_impl::beamformer_impl(const parameters& p,
                                 const kernels::beamformer::parameters& k,
                                 const device& d)
    : gr::block("beamformer",
                signature_on(d,
                             1,
                             item_size("block",
                                       { { "channels", k.channels },
                                         { "inputs", k.inputs },
                                         { "times", k.times } },
                                       size_of(k.input))),
                signature_on(d,
                             1,
                             item_size("beams",
                                       { { "channels", k.channels },
                                         { "beams", k.beams },
                                         { "times", k.times } },
                                       size_of(k.output)))),
      clocked_block(d, 1, 1, 1),
      d_p(k),
      d_kernel(kernels::beamformer::make(k, d)),
      d_weights({ k.channels, k.inputs, k.times, k.beams, 0 },
                { p.weights, p.gains, as_masks(p.masks), -1 }),
      d_input_end(-1),
      d_lost(k.inputs)
{
    set_latency(p.latency);
    message_port_register_in(weights_port);
    set_msg_handler(weights_port, [this](const pmt::pmt_t& m) {
        try {
            d_weights.receive(m);
        } catch (const std::exception& e) { // a bad message must not end the flowgraph
            refuse(e.what());
        }
    });
}

bool beamformer_impl::start()
{
    d_input_end = -1;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    return clocked_block::start();
}

void beamformer_impl::on_tag(int port, const gr::tag_t& tag)
{
    const int64_t block = tick_of(port, tag.offset);
    if (tag.key == pmt::intern(tags::partial) && pmt::is_true(tag.value))
        d_input_end = block;
    if (const auto lost = read_missing(tag, port, d_p.inputs)) {
        const int64_t first = block * d_p.times + lost->first % d_p.times;
        d_lost[lost->input].add(first, first + lost->count);
    }
}

void beamformer_impl::forecast(int, gr_vector_int& required) { require_window(required); }

int64_t beamformer_impl::update_weights()
{
    return d_weights.update(
        position(),
        { time_of(0), rate() },
        [this](int64_t late) { report("late", 0, position(), late); },
        [this](const beam_weights::changes& c) {
            if (c.weights)
                d_kernel->set_weights(c.weights, work_stream());
            if (c.gains)
                d_kernel->set_gains(c.gains, work_stream());
        });
}

int beamformer_impl::process(int noutput_items,
                             gr_vector_int& ninput_items,
                             gr_vector_const_void_star& input_items,
                             gr_vector_void_star& output_items)
{
    if (!update(ninput_items))
        return failed() || ended() ? WORK_DONE : 0;

    const size_t out_size = output_signature()->sizeof_stream_item(0);
    int64_t done = 0;
    while (done < noutput_items) {
        const int64_t sharing = update_weights();
        const auto run = next_run(std::min(noutput_items - done, sharing));
        if (run.windows == 0)
            break;
        void* beams = static_cast<char*>(output_items[0]) + done * out_size;
        if (const char* start = starts_of(run, input_items)[0]) {
            d_kernel->execute(start, beams, int(run.windows), work_stream());
        } else {
            work_stream().clear(beams, run.windows * out_size);
            for (auto& lost : d_lost)
                lost.add(position() * d_p.times, (position() + run.windows) * d_p.times);
        }
        for (int64_t i = 0; i < run.windows; i++)
            tag_block(nitems_written(0) + done + i, position() + i);
        advance(run.windows);
        done += run.windows;
    }
    consume_passed();
    return done == 0 && ended() ? int(WORK_DONE) : int(done);
}

void beamformer_impl::tag_block(uint64_t item, int64_t block)
{
    if (item == 0)
        tag_description(
            0,
            item,
            { time_of(block), rate(), input_bandwidth(), input_samples_per_item() });
    for (const auto& change : take_changes(block))
        tag_frequency(0, item, time_of(block), change.frequency);
    if (block == d_input_end)
        tag(0, item, tags::partial, pmt::PMT_T);

    const int64_t first = block * d_p.times, end = first + d_p.times;
    bool any = false;
    for (const auto& lost : d_lost)
        any = any || !lost.within(first, end).empty();
    for (int beam = 0; any && beam < d_p.beams; beam++)
        for (const auto& lost : d_weights.lost_of(beam, d_lost, first, end))
            tag_missing(0, item, beam, lost.first, lost.end - lost.first);
    for (auto& lost : d_lost)
        lost.drop_before(end);
}

void beamformer_impl::set_weights(const std::vector<std::complex<float>>& weights,
                                  int beam)
{
    d_weights.set_weights(weights, beam);
}

std::vector<std::complex<float>> beamformer_impl::weights(int beam) const
{
    return d_weights.of(beam);
}

void beamformer_impl::set_gains(const std::vector<float>& gains, int beam)
{
    d_weights.set_gains(gains, beam);
}

std::vector<float> beamformer_impl::gains() const { return d_weights.gains(); }

void beamformer_impl::set_mask(const std::vector<int>& mask, int beam)
{
    d_weights.set_masks(as_masks(mask), beam);
}

std::vector<uint64_t> beamformer_impl::clamped() const { return d_kernel->clamped(); }

std::string beamformer_impl::implementation() const { return d_kernel->implementation(); }

} // namespace aperture
} // namespace gr
