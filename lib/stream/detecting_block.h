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
 * Base of power_detector and beam_power: integrations, their counts and tags.
 */
class detecting_block : public frame_reader
{
public:
    struct parameters {
        int channels; //!< channels of the input's frames
        int sources;  //!< beams or inputs that `missing` tags tell of
        int beams;    //!< beams that are detected
        int spectra_per_frame;
        kernels::detection detect;
        bool mean;
        double latency;
        int spectra_per_slice; //!< 0: no masks

        //! Returns the parameters of the means where there are masks.
        kernels::power_means::parameters means() const
        {
            return { { channels, sources, spectra_per_frame, spectra_per_slice },
                     beams,
                     detect,
                     mean };
        }
        //! Returns the detection that the kernel() has to make. \throws
        //! std::invalid_argument
        kernels::detection summed() const;
    };

    bool start() override;

protected:
    detecting_block(const device& d, const parameters& p);

    //! Returns the detection of a block's parameters. \throws std::invalid_argument
    static kernels::detection detection_of(const detection_parameters& p)
    {
        return { kernels::parse_products(p.products),
                 kernels::parse_basis(p.basis),
                 p.spectra,
                 p.summed_channels };
    }
    //! \param frame bytes of a frame
    static io_signature::sptr
    input_signature_of(const device& d, const parameters& p, int frame);
    static io_signature::sptr output_signature_of(const device& d, const parameters& p);

    virtual kernels::detecting_kernel& kernel() = 0;
    //! Returns how many frames from the next one on can be done in one call.
    virtual int64_t prepare() { return int64_t(1) << 40; }
    //! Returns the sources that the beams are made of from the next frame on; nullptr: as
    //! many beams as sources.
    virtual const std::vector<std::vector<int>>* sources_of_beams() { return nullptr; }
    //! Returns the spectra that a beam lacks, given those that its sources lack.
    virtual std::vector<intervals::interval>
    lost_of(int beam, const std::vector<intervals>& lost, int64_t first, int64_t end);

private:
    progress make(int done,
                  int room,
                  const gr_vector_const_void_star& input_items,
                  const gr_vector_void_star& output_items) override;
    void before_first_call() override;

    //! Integrates within frames, and over frames; each returns how many items it made.
    //! \param counts nullptr: there are no masks
    int integrate_parts(const gr_vector_const_void_star& in,
                        float* out,
                        uint32_t* counts,
                        int most);
    int
    integrate_frames(const gr_vector_const_void_star& in, float* out, uint32_t* counts);
    //! Returns how many frames can be done in one call, and prepares d_means for them.
    int64_t prepare_all();
    //! Makes means of some frames, for kernel() and d_means.
    void make_means(const timeline::run& run,
                    const gr_vector_const_void_star& in,
                    int64_t frames,
                    float* out,
                    uint32_t* counts);

    //! Returns the spectra summed in each row and part; one count if all agree.
    std::vector<uint64_t> counted(int64_t first, int64_t end);
    std::vector<float> scales(const std::vector<uint64_t>& counts) const;
    //! \param counts from counted()
    void tag_integration(uint64_t item,
                         int64_t first,
                         int64_t end,
                         const std::vector<uint64_t>& counts);

    //! Returns the time of a spectrum since the start of the stream.
    timestamp time_of_spectrum(int64_t spectrum) const;

    //! Returns the integrations of the frame in which the input ended which are not made
    //! of such zeros alone.
    int parts_before_end() const;

    const parameters d_p;
    const std::unique_ptr<kernels::power_means> d_means; // nullptr: no masks
    std::vector<std::vector<int>> d_sources;             // sources that d_means knows
    int64_t d_summed = 0; // frames so far in an integration of several
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_DETECTING_BLOCK_H */
