# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
grc_overlaps.py FLOWGRAPH.grc ...

Prints the pairs of blocks that overlap on GNU Radio Companion's canvas, with their comments: only
Companion itself knows the sizes, which it finds by drawing the blocks. Needs a screen.
"""

import itertools
import sys
from unittest import mock

import cairo
import gi

gi.require_version("Gtk", "3.0")
gi.require_version("PangoCairo", "1.0")

from gnuradio import gr
from gnuradio.grc.gui.canvas import flowgraph as canvas
from gnuradio.grc.gui.Platform import Platform


def drawn(platform, path):
    """A flowgraph whose blocks have their sizes."""
    # a flowgraph looks for the main window only for the menu of its right mouse button
    with (
        mock.patch.object(canvas, "_ContextMenu"),
        mock.patch.object(canvas.Gtk.Application, "get_default"),
    ):
        canvas.Gtk.Application.get_default.return_value.get_windows.return_value = []
        flowgraph = platform.make_flow_graph()
    flowgraph.import_data(platform.parse_flow_graph(path))
    # the canvas itself would leave out variables, which a user may show
    context = cairo.Context(cairo.ImageSurface(cairo.FORMAT_ARGB32, 16, 16))
    for block in flowgraph.blocks:
        block.create_labels(context)
        block.create_shapes()
    return flowgraph


def rectangles(flowgraph):
    """(block, left, top, right, bottom) of each block and of each comment."""
    for block in flowgraph.blocks:
        left, top = block.coordinate
        sizes = block.width, block.height
        width, height = sizes if block.is_horizontal() else sizes[::-1]
        yield block.name, left, top, left + width, top + height
        if block.comment:
            yield (block.name, *block.get_extents_comment())


def overlaps(flowgraph):
    """The pairs of names of blocks that overlap."""
    found = set()
    for one, other in itertools.combinations(rectangles(flowgraph), 2):
        apart = any(
            min(one[end], other[end]) <= max(one[begin], other[begin])
            for begin, end in ((1, 3), (2, 4))
        )
        if one[0] != other[0] and not apart:
            found.add(tuple(sorted((one[0], other[0]))))
    return sorted(found)


def main(paths):
    version = gr.major_version(), gr.api_version(), gr.minor_version()
    platform = Platform(
        version=gr.version(), version_parts=version, prefs=gr.prefs(), install_prefix=gr.prefix()
    )
    platform.build_library()
    for path in paths:
        flowgraph = drawn(platform, path)
        print(f"{path}: {len(flowgraph.blocks)} blocks")
        for one, other in overlaps(flowgraph):
            print(f"{path}: {one} overlaps {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
