#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The commands' report on receivers at the end: how they were lined up, and what they lost."""

import math

from .tables import table


def receivers_table(source, names):
    """
    Lines on each input of receivers, with what is wrong with them; "" of another source.

    source: a LiveSource, or another block; names: of the inputs.
    """
    if not hasattr(source, "states"):
        return ""
    states = source.states()
    rows = [("input", "receiver", "offset", "phase", "S/N", "clock", "slips", "missing", "losses")]
    wrong = []
    for name, state in zip(names, states):
        known = state.aligned
        rows.append(
            (
                name,
                state.receiver,
                f"{state.offset:.3f} samples" if known else "unknown",
                f"{math.degrees(state.phase):.1f}°" if known else "-",
                f"{state.snr:.3g}" if state.snr else "-",
                f"{state.ppm:+.3g} ppm" if math.isfinite(state.ppm) else "-",
                str(state.slips),
                f"{state.missing} samples",
                str(state.losses),
            )
        )
        if not known and state.losses:
            wrong.append(
                f"  {name} lost samples {state.losses} times, and was not lined up since: "
                "what came counts as missing."
            )
        elif not known and "two clocks: " in state.reason:
            wrong.append(f"  {name} and {names[0]}: {state.reason}.")
        elif not known:
            wrong.append(
                f"  {name} does not correlate with {names[0]}: its offset is unknown, and "
                "its samples count as missing. Is there a common source (a noise source, "
                "the Sun), and is it tuned to the same band?"
            )
    return "\n".join([table(rows), *wrong])
