/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_DETECTING_BLOCK_H
#define INCLUDED_APERTURE_STREAM_DETECTING_BLOCK_H

#include "kernels/detection/detection.h"
#include "kernels/power_means/power_means.h"
#include "stream/frame_reader.h"
#include <gnuradio/aperture/beam_parameters.h>

namespace gr::aperture {

/*!
 * What power_detector and beam_power share: integrations, what they count, their tags.
 */
class detecting_block : public frame_reader
{
public:
    struct parameters {
        int channels; //!< of the frames that come in
        int sources;  //!< that `missing` tags tell of: beams or inputs
        int beams;    //!< that are detected
        int spectra_per_frame;
        kernels::detection detect;
        bool mean;
        double latency;
        int spectra_per_slice; //!< 0: no masks

        //! Where there are masks.
        kernels::power_means::parameters means() const
        {
            return { { channels, sources, spectra_per_frame, spectra_per_slice },
                     beams,
                     detect,
                     mean };
        }
        //! What the kernel() is to make. \throws std::invalid_argument
        kernels::detection summed() const;
    };

    bool start() override;

protected:
    detecting_block(const device& d, const parameters& p);

    //! The detection of a block's parameters. \throws std::invalid_argument
    static kernels::detection detection_of(const detection_parameters& p)
    {
        return { kernels::parse_products(p.products),
                 kernels::parse_basis(p.basis),
                 p.spectra,
                 p.summed_channels };
    }
    //! \param frame bytes of one
    static io_signature::sptr
    input_signature_of(const device& d, const parameters& p, int frame);
    static io_signature::sptr output_signature_of(const device& d, const parameters& p);

    virtual kernels::detecting_kernel& kernel() = 0;
    //! Frames from the next one on that can be done in one call.
    virtual int64_t prepare() { return int64_t(1) << 40; }
    //! Sources that the beams are made of from the next frame on; nullptr: as many beams
    //! as sources.
    virtual const std::vector<std::vector<int>>* sources_of_beams() { return nullptr; }
    //! Spectra that a beam lacks, of those that its sources do.
    virtual std::vector<intervals::interval>
    lost_of(int beam, const std::vector<intervals>& lost, int64_t first, int64_t end);

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;

    //! Integrations within frames, and of frames; each returns how many items it made.
    //! \param counts nullptr: there are no masks
    int integrate_parts(const gr_vector_const_void_star& in,
                        float* out,
                        uint32_t* counts,
                        int most);
    int
    integrate_frames(const gr_vector_const_void_star& in, float* out, uint32_t* counts);
    //! Frames from the next one on that can be done in one call, with d_means told of it.
    int64_t prepare_all();
    //! Of some frames, into what kernel() and d_means make of them.
    void make_means(const timeline::run& run,
                    const gr_vector_const_void_star& in,
                    int64_t frames,
                    float* out,
                    uint32_t* counts);

    //! Spectra that were summed, of each row and part; one number if all agree.
    std::vector<uint64_t> counted(int64_t first, int64_t end);
    std::vector<float> scales(const std::vector<uint64_t>& counts) const;
    //! \param counts from counted()
    void tag_integration(uint64_t item,
                         int64_t first,
                         int64_t end,
                         const std::vector<uint64_t>& counts);

    //! Where the input ended, in spectra: a frame is filled up with zeros, which all
    //! sources lack. Only where there is an input_end().
    int64_t end_of_input() const;
    //! Integrations of the frame at input_end() that are not made of such zeros alone.
    int parts_before_end() const;

    const parameters d_p;
    const std::unique_ptr<kernels::power_means> d_means; // nullptr: no masks
    std::vector<std::vector<int>> d_sources;             // that d_means knows
    int64_t d_summed = 0; // frames of an integration of several
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_DETECTING_BLOCK_H */
