/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FOLDER_IMPL_H
#define INCLUDED_APERTURE_FOLDER_IMPL_H

#include "signal/folding/phase_model.h"
#include "signal/folding/profile_sums.h"
#include "stream/clocked_block.h"
#include "stream/tick_states.h"
#include <gnuradio/aperture/folder.h>
#include <optional>

namespace gr::aperture {

class folder_impl : public folder, public clocked_block
{
public:
    folder_impl(const parameters& p,
                const kernels::phase_model& model,
                const kernels::profile_sums::parameters& sums);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

private:
    //! The states of an item, as far as they are of its powers.
    struct about {
        uint64_t spectra = 0; // 0: not said
        std::vector<uint64_t> counted;
    };

    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_tag(int port, const gr::tag_t& tag) override;
    void on_begin() override;
    void on_moved(int64_t ticks) override;

    //! Adds an item to its bin. \returns false if it belongs to the next sub-integration
    bool add(int64_t tick, const about& item, const char* powers, const uint32_t* cells);
    //! Writes the profile so far as item `done` of this call.
    void dump(int done, const gr_vector_void_star& output_items);
    //! Reads the states of an item; fails if they are not allowed.
    about read(const stream_states::values& states);
    //! Returns the spectra that were summed in the powers of an item, for each row.
    std::vector<uint64_t> counts_of(const about& item) const;

    const parameters d_p;
    const int d_rows;
    const size_t d_item_size;
    kernels::phase_model d_model;
    kernels::profile_sums d_sums;

    tick_states d_states;
    // state of the present sub-integration
    uint64_t d_items = 0;
    timestamp d_first;                 // rx_time of its first item
    double d_span = 0;                 // s, from d_first to the end of its last item
    std::optional<timestamp> d_origin; // time from which sub-integrations are counted
    int64_t d_number = 0;              // index of the present sub-integration
    std::optional<double> d_next_frequency; // rx_freq that is to be tagged
    pmt::pmt_t d_next_settings;             // settings that are to be tagged
    bool d_begins = true;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FOLDER_IMPL_H */
