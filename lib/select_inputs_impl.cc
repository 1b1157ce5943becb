/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/masks/mask.h"
#include "select_inputs_impl.h"
#include "stream/clocked_block.h"
#include "stream/delay_tags.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

namespace {

//! Returns the bytes of one channel and input of an item.
int64_t bytes_of_input(const select_inputs::parameters& p, sample_type type)
{
    if (p.spectra_per_slice == 0)
        return int64_t(p.spectra_per_frame) * int64_t(size_of(type));
    const kernels::mask_layout mask{
        p.channels, p.inputs, p.spectra_per_frame, p.spectra_per_slice
    };
    mask.check();
    return mask.bytes_per_input();
}

} // namespace

select_inputs::sptr select_inputs::make(const parameters& p)
{
    check_parameters<select_inputs>(p);
    const auto type = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    if (p.spectra_per_slice == 0)
        frame_item_size(p.channels, p.inputs, p.spectra_per_frame, type);
    const kernels::input_select::parameters k{
        p.channels, p.inputs, bytes_of_input(p, type), p.selected
    };
    k.check();
    return gnuradio::make_block_sptr<select_inputs_impl>(p, k, device::select(p.device));
}

select_inputs_impl::select_inputs_impl(const parameters& p,
                                       const kernels::input_select::parameters& k,
                                       const device& d)
    : gr::block("select_inputs",
                signature_on(d, 1, int(k.frame_bytes())),
                signature_on(d, 1, int(k.selected_bytes()))),
      device_block(d),
      d_p(k),
      d_kernel(kernels::input_select::make(k, d)),
      d_numbers(k.inputs, -1)
{
    for (size_t i = 0; i < k.selected.size(); i++)
        d_numbers[k.selected[i]] = int(i);
    set_tag_propagation_policy(TPP_DONT);
    set_latency(p.latency);
}

void select_inputs_impl::forecast(int, gr_vector_int& required)
{
    // all items that there are: GNU Radio halves the items of a call until it has enough
    std::fill(required.begin(), required.end(), 1);
}

int select_inputs_impl::process(int noutput_items,
                                gr_vector_int& ninput_items,
                                gr_vector_const_void_star& input_items,
                                gr_vector_void_star& output_items)
{
    const int items = std::min(noutput_items, ninput_items[0]);
    pass_tags(items);
    d_kernel->execute(input_items[0], output_items[0], items, work_stream());
    consume_each(items);
    return items;
}

int select_inputs_impl::number_of(long input) const
{
    return input >= 0 && input < long(d_numbers.size()) ? d_numbers[input] : -1;
}

void select_inputs_impl::pass_tags(int items)
{
    const auto input = pmt::intern(tags::input);
    std::vector<gr::tag_t> found;
    get_tags_in_window(found, 0, 0, items);
    // the numbers of items are the same on both sides
    for (const auto& tag : found) {
        pmt::pmt_t value = tag.value;
        if (tag.key == pmt::intern(tags::missing) && pmt::is_dict(value)) {
            const auto number = pmt::dict_ref(value, input, pmt::from_long(0));
            const int behind =
                pmt::is_integer(number) ? number_of(pmt::to_long(number)) : -1;
            if (behind < 0)
                continue;
            value = pmt::dict_add(value, input, pmt::from_long(behind));
        } else if (tag.key == pmt::intern(tags::settings) && pmt::is_vector(value)) {
            std::vector<pmt::pmt_t> settings;
            for (size_t i = 0; i < pmt::length(value); i++) {
                const auto setting = setting_behind(pmt::vector_ref(value, i));
                if (!pmt::is_null(setting))
                    settings.push_back(setting);
            }
            if (settings.empty())
                continue;
            value = pmt::make_vector(settings.size(), pmt::PMT_NIL);
            for (size_t i = 0; i < settings.size(); i++)
                pmt::vector_set(value, i, settings[i]);
        }
        add_item_tag(0, tag.offset, tag.key, value, tag.srcid);
    }
}

pmt::pmt_t select_inputs_impl::setting_behind(pmt::pmt_t setting) const
{
    if (!pmt::is_dict(setting))
        return setting;
    const auto input = pmt::intern(tags::input);
    const auto number = pmt::dict_ref(setting, input, pmt::PMT_NIL);
    if (pmt::is_integer(number)) {
        const int behind = number_of(pmt::to_long(number));
        return behind < 0 ? pmt::PMT_NIL
                          : pmt::dict_add(setting, input, pmt::from_long(behind));
    }
    for (const char* name : delay_keys) {
        const auto values = pmt::dict_ref(setting, pmt::intern(name), pmt::PMT_NIL);
        if (!pmt::is_f64vector(values) || int(pmt::length(values)) != d_p.inputs)
            continue;
        std::vector<double> of_selected;
        for (const int each : d_p.selected)
            of_selected.push_back(pmt::f64vector_ref(values, each));
        setting = pmt::dict_add(setting,
                                pmt::intern(name),
                                pmt::init_f64vector(of_selected.size(), of_selected));
    }
    return setting;
}

} // namespace gr::aperture
