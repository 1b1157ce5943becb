/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_XENGINE_IMPL_H
#define INCLUDED_APERTURE_XENGINE_IMPL_H

#include "kernels/mask_counts/mask_counts.h"
#include "kernels/xengine/xengine.h"
#include "stream/frame_reader.h"
#include <gnuradio/aperture/xengine.h>
#include <mutex>

namespace gr::aperture {

class xengine_impl : public xengine, public frame_reader
{
public:
    xengine_impl(const parameters& p,
                 const kernels::xengine::parameters& k,
                 const kernels::mask_counts::parameters& masks,
                 const device& d);

    bool start() override;

    void set_integration(double length, const std::string& unit) override;
    int frames_per_integration() const override;
    void set_normalise(bool normalise) override;
    std::string implementation() const override;

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;
    //! Takes over the settings; returns false if they cannot be met.
    bool begin_integration();
    //! Returns the spectra of the integration that were summed: one count for each
    //! product, or one for all.
    std::vector<uint64_t> counted() const;
    //! \param counts nullptr: there are no masks
    void finish_integration(gr_complex* visibilities, uint32_t* counts, uint64_t item);
    //! Returns the first spectrum of the integration since the start of the stream.
    int64_t first_spectrum() const
    {
        return (position() - d_summed) * d_p.spectra_per_frame;
    }

    const kernels::xengine::parameters d_p;
    const std::unique_ptr<kernels::xengine> d_kernel;
    const std::unique_ptr<kernels::mask_counts> d_counts; // nullptr: no masks

    mutable std::mutex d_mutex; // guards the settings
    double d_length;
    bool d_in_seconds;
    bool d_changed = false; // the length was set since an integration began
    bool d_normalise;
    int d_length_in_frames; // 0: not known yet
    int d_frames;           // frames in the present integration, or the part of it
    int d_rest = 0;         // frames of the other part, which comes next

    int d_summed;    // frames so far
    int d_described; // frames per integration when the output was last described
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_XENGINE_IMPL_H */
