/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "select_impl.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <utility>

namespace gr::aperture {

namespace {

io_signature::sptr input_signature_of(const kernels::product_select::parameters& p)
{
    return io_signature::make(
        1,
        1,
        item_size("visibilities",
                  { { "channels", p.channels },
                    { "products", int64_t(p.inputs) * (p.inputs + 1) / 2 } },
                  sizeof(gr_complex)));
}

} // namespace

select::sptr select::make(const parameters& p)
{
    check_parameters<select>(p);
    const kernels::product_select::parameters k{ p.channels, p.inputs, p.products };
    k.check();
    return gnuradio::make_block_sptr<select_impl>(k);
}

select_impl::select_impl(const kernels::product_select::parameters& p)
    : gr::sync_block("select",
                     input_signature_of(p),
                     io_signature::make(p.products.size(),
                                        p.products.size(),
                                        p.channels * sizeof(gr_complex))),
      d_p(p),
      d_device(device::select("cpu")),
      d_stream(d_device.make_stream()),
      d_kernel(kernels::product_select::make(p, d_device))
{
    set_tag_propagation_policy(TPP_DONT);
}

int select_impl::work(int noutput_items,
                      gr_vector_const_void_star& input_items,
                      gr_vector_void_star& output_items)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    pass_tags(noutput_items);
    std::vector<gr_complex*> selected;
    for (auto* out : output_items)
        selected.push_back(static_cast<gr_complex*>(out));
    d_kernel->execute(static_cast<const gr_complex*>(input_items[0]),
                      selected.data(),
                      noutput_items,
                      *d_stream);
    return noutput_items;
}

void select_impl::pass_tags(int items)
{
    std::vector<gr::tag_t> found;
    get_tags_in_window(found, 0, 0, items);
    const uint64_t first = nitems_read(0);
    for (const auto& tag : found) {
        if (tag.key == pmt::intern(tags::counted) && pmt::is_u64vector(tag.value)) {
            say_counted(tag.offset, tag.value);
            d_chosen = d_chosen && tag.offset != first;
            continue;
        }
        for (size_t port = 0; port < d_p.products.size(); port++)
            add_item_tag(port, tag.offset, tag.key, tag.value, tag.srcid);
    }
    const auto runs = d_states.take(std::move(found), first, first + uint64_t(items));
    const auto counted = runs.at(0).states.find(tags::counted);
    if (std::exchange(d_chosen, false) && counted != runs[0].states.end() &&
        pmt::is_u64vector(counted->second))
        say_counted(first, counted->second);
}

void select_impl::say_counted(uint64_t item, const pmt::pmt_t& counted)
{
    for (size_t port = 0; port < d_p.products.size() && pmt::length(counted) > 0;
         port++) {
        const auto [a, b] = d_p.products[port];
        const size_t high = std::max(a, b), low = std::min(a, b);
        const size_t product = pmt::length(counted) > 1 ? high * (high + 1) / 2 + low : 0;
        add_item_tag(port,
                     item,
                     pmt::intern(tags::counted),
                     pmt::init_u64vector(1, { pmt::u64vector_ref(counted, product) }),
                     alias_pmt());
    }
}

void select_impl::set_products(const std::vector<std::pair<int, int>>& products)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    require(products.size() == d_p.products.size(),
            "products",
            std::to_string(products.size()) + " pairs",
            "as many as there are ports: " + std::to_string(d_p.products.size()));
    auto changed = d_p;
    changed.products = products;
    d_kernel = kernels::product_select::make(changed, d_device);
    d_p = changed;
    d_chosen = true;
}

std::vector<std::pair<int, int>> select_impl::products() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_p.products;
}

} // namespace gr::aperture
