/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ABOUT_DETECTION_H
#define INCLUDED_APERTURE_ABOUT_DETECTION_H

#include <string>

//! Documentation that power_detector and beam_power share, of their products and items.
//! \param in the frames that come in, and the block that makes them
inline std::string about_detection(const std::string& in)
{
    return R"doc(
Products are `power` of each beam; or, of the pairs 2m, 2m+1, `I`, `IQUV`, or `coherency`: XX,
YY, Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*; circular: I = RR + LL,
Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.

In: frames )doc" +
           in +
           R"doc(. Out: one f32 item
`[beam or pair][product][channel]` for each integration, with the tags `rx_time` (of its first
spectrum), `spectra` (its length), `counted` (the spectra that were summed: one count, or one for each beam or pair and product), and `partial` if the input ended
within it. That integration is the last one: none is made of the zeros alone that fill the last
frame.
)doc";
}

#endif /* INCLUDED_APERTURE_ABOUT_DETECTION_H */
