/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SELECT_INPUTS_IMPL_H
#define INCLUDED_APERTURE_SELECT_INPUTS_IMPL_H

#include "kernels/select/input_select.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/select_inputs.h>

namespace gr::aperture {

class select_inputs_impl : public select_inputs, public device_block
{
public:
    select_inputs_impl(const parameters& p,
                       const kernels::input_select::parameters& k,
                       const device& d);

    void forecast(int noutput_items, gr_vector_int& required) override;
    std::string implementation() const override { return d_kernel->implementation(); }

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void pass_tags(int items);
    //! Returns the number of an input behind this block, -1: it was not selected.
    int number_of(long input) const;
    //! Returns a setting as it is behind this block; nil: it is of none of its inputs.
    pmt::pmt_t setting_behind(pmt::pmt_t setting) const;

    const kernels::input_select::parameters d_p;
    const std::unique_ptr<kernels::input_select> d_kernel;
    std::vector<int> d_numbers; // number_of() each input that comes in
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SELECT_INPUTS_IMPL_H */
