/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H
#define INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H

#include "control/filtering_impl.h"
#include "kernels/pfb/pfb.h"
#include "stream/clocked_block.h"
#include <gnuradio/aperture/pfb_channelizer.h>
#include <atomic>

namespace gr::aperture {

class pfb_channelizer_impl
    : public filtering_impl<pfb_channelizer, clocked_block, kernels::pfb>
{
public:
    pfb_channelizer_impl(const parameters& p,
                         const kernels::pfb::parameters& k,
                         const device& d);

    bool start() override;

    std::vector<uint64_t> missing() const override;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void on_begin() override;
    void tag_spectra(uint64_t item, int64_t spectrum, const timeline::run& run);
    timestamp spectrum_time(int64_t spectrum) const;

    const kernels::pfb::parameters d_p;
    bool d_described; // the first output item has its tags
    std::vector<std::atomic<uint64_t>> d_missing;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PFB_CHANNELIZER_IMPL_H */
