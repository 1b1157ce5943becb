#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks whose warnings are shown by who makes them, and not by GNU Radio's logger."""

from gnuradio import gr


def silent(make, **parameters):
    """Makes a block whose warnings and errors are shown here, once, and not by its logger."""
    gr.logging().set_default_level(gr.log_levels.off)
    try:
        block = make(**parameters)
    finally:
        gr.logging().set_default_level(gr.log_levels.err)
    block.set_log_level("off")
    return block
