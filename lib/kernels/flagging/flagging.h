/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_FLAGGING_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_FLAGGING_H

#include "kernels/common/cell_sums.h"
#include "kernels/common/types.h"
#include "kernels/flagging/decision.h"
#include "kernels/masks/mask.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <vector>

namespace gr::aperture::kernels {

//! The methods that find interference. A parameter of 0 switches a method off.
struct flagging_methods {
    double kurtosis_false_alarms = 0;
    double least_power = 0, most_power = 0;
    double time_sigma = 0, channel_sigma = 0;
    double time_sum_sigma = 0, channel_sum_sigma = 0;
    std::vector<int> bad_channels = {};
    int grown_slices = 0, grown_channels = 0;
    //! \throws std::invalid_argument
    void check(const mask_layout& layout) const;
};

/*!
 * Flags interference in frames `[channel][input][time]`. A *cell* is a slice of an input
 * and channel. In three steps:
 *
 * - measure: sums of |x|^2 and |x|^4 of each cell
 * - decide: methods judge the cell by itself, its power among the same cells of the last
 * slices, and among those of the neighbouring channels; then flags grow
 * - set flagged voltages to zero
 *
 * It keeps powers and flags of the last kept_slices from frame to frame.
 */
class flagging
{
public:
    struct parameters {
        mask_layout layout;
        sample_type type; //!< sc8, sc4 or fc32
        flagging_methods methods;
        size_t frame_bytes() const
        {
            return size_t(layout.channels) * layout.inputs * layout.spectra_per_frame *
                   size_of(type);
        }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! The thresholds and tables of some methods.
    struct tables {
        tables(const parameters& p, const flagging_methods& methods);
        //! Returns the rules, with pointers to tables wherever they are.
        flag_rules rules(const kurtosis_limits* limits,
                         const quantised_kurtosis::node* nodes,
                         const uint8_t* bad) const;

        flag_rules numbers; //!< rules without pointers
        std::vector<kurtosis_limits> limits;
        std::vector<quantised_kurtosis::node> nodes;
        std::vector<uint8_t> bad; //!< [channel]
    };

    //! Counts so far, in cells.
    struct counts {
        std::vector<uint64_t> inputs;   //!< flagged cells of each input
        std::vector<uint64_t> channels; //!< flagged cells of each channel
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<flagging> make(const parameters&, const device&);
    virtual ~flagging() = default;
    virtual std::string implementation() const = 0;

    //! Uses tables for all frames from the next one on. Making them takes some
    //! milliseconds, which is done elsewhere.
    virtual void use(const std::shared_ptr<const tables>& t, stream&) = 0;

    /*!
     * \param in `frames` frames in a row
     * \param out the same with flagged voltages zero; it may be `in`, then only they are
     * written
     * \param masks mask_layout::item_bytes() bytes for each frame
     * \param there [frame][input][slice], spectra that are not missing; nullptr: all. It
     * is not kept. Cells without spectra are not flagged; cells with fewer than a quarter
     * of their spectra are flagged only by growth and as bad channels.
     */
    virtual void execute(const void* in,
                         void* out,
                         uint8_t* masks,
                         int frames,
                         const int* there,
                         stream&) = 0;

    /*!
     * Makes room for sums that an F-engine adds up, in a ring of so many frames.
     * \param channels of its filter
     * \param first_channel first of these that frames have
     * \return whether this implementation can use them
     */
    virtual bool
    prepare_sums(int /* frames */, int /* channels */, int /* first_channel */)
    {
        return false;
    }
    //! Returns where the sums of the next frame are, and of later ones behind it.
    virtual cell_sums sums() const { return {}; }
    /*!
     * Does execute() in place, for frames whose voltages were all added to sums(): only
     * flagged ones are touched. execute() forgets the sums of its frames.
     */
    virtual void
    execute_summed(void* frames, uint8_t* masks, int count, const int* there, stream& s)
    {
        execute(frames, frames, masks, count, there, s);
    }

    //! Forgets the slices of earlier frames, and sums.
    virtual void clear(stream&) = 0;

    virtual counts found() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_FLAGGING_H */
