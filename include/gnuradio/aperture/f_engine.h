/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_F_ENGINE_H
#define INCLUDED_APERTURE_F_ENGINE_H

#include <gnuradio/aperture/flagging_parameters.h>
#include <gnuradio/aperture/pfb_channelizer.h>

namespace gr::aperture {

/*!
 * \brief Makes frames from samples: pfb_channelizer and corner_turn in one.
 * \ingroup aperture
 *
 * The output is that of corner_turn behind pfb_channelizer, bit by bit and tag by tag,
 * without the spectra in between: on a GPU they need not reach its memory.
 * pfb_channelizer says how far sc8 agrees between devices.
 *
 * Ports in: inputs/inputs_per_port, items as those of pfb_channelizer. Port out: an item
 * is a frame `[channel][input][time]`. Message ports `gains`, `delays` and `status`, and
 * tags with delays, as those of pfb_channelizer.
 *
 * With spectra_per_slice above 0 it also does what flagger does, in place: a second port
 * gives the masks, and port `status` tells of flags, too.
 */
class APERTURE_API f_engine : public filtering_block, public flagging_block
{
public:
    typedef std::shared_ptr<f_engine> sptr;

    //! Parameters of the filter bank, and of the frames that are made of its spectra.
    struct parameters : pfb_channelizer::parameters, flagging_parameters {
        int spectra_per_frame = 256;
        int first_channel = 0;
        int selected_channels = 0;
        double align = 0;
    };

    //! Describes the parameters: first those of the filter bank.
    static auto describe()
    {
        return std::tuple_cat(
            pfb_channelizer::describe(),
            std::make_tuple(
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame; frames of 1 to 128 MB work best")
                    .range(1, 1 << 30),
                parameter("first_channel",
                          &parameters::first_channel,
                          "first channel that goes into frames")
                    .range(0, (1 << 24) - 1),
                parameter("selected_channels",
                          &parameters::selected_channels,
                          "number of channels that do; 0: all from the first on")
                    .range(0, 1 << 24)
                    .called("Selected Channels (0 = all)"),
                parameter("align",
                          &parameters::align,
                          "seconds; drop spectra until the first at or after a multiple "
                          "of it since 1970")
                    .range(0)
                    .in("s")
                    .called("Align to (s)")),
            flagging_parameters::describe<parameters>(
                "spectra of a slice for flags, a divisor of spectra_per_frame, at most "
                "65536; 0: nothing is flagged, and there is no port of masks"));
    }

    static sptr make(const parameters& p);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_F_ENGINE_H */
