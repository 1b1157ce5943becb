#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flowgraph of aperture_observe: that of its plan, with the configuration in all histories, and
what is said of it in the log."""

import json

from gnuradio import gr

from ..arguments.version import __version__
from ..builder.flowgraph import Flowgraph
from ..builder.units import seconds_text, with_prefix
from ..plan.fields import OBSERVE
from ..streams.python_block import printable
from .fx_report import product_lines, start_lines, tracking_text
from .tables import gain_text
from .terminal import warn


def versions():
    """Returns the versions of what runs, in one line."""
    return f"{OBSERVE} {__version__} on GNU Radio {gr.version()}"


def make_chain(configuration):
    """
    The flowgraph of a Configuration, with `texts` for the log.

    Raises
    ------
    InputFailure
        The input could not be opened.
    ValueError, RuntimeError, OSError
        As the plan and the blocks raise them.
    """
    plan, sections = configuration.plan, configuration.sections
    note = f"configuration of {plan.instrument.name}: " + json.dumps(sections, ensure_ascii=False)
    graph = Flowgraph(plan, versions(), printable(note))
    graph.texts = [*graph.warnings, *(start_lines(graph) if graph.split else describe(graph))]
    graph.level(
        lambda gains: graph.texts.append(f"gain of the inputs: {gain_text(gains)}"),
        lambda text: warn(OBSERVE, text),
    )
    return graph


def describe(graph):
    """Returns a description of the flowgraph, a line each."""
    sizes, beams = graph.sizes, graph.beams
    width = with_prefix(sizes.width, "Hz")
    lines = [
        f"{printable(graph.plan.input.source)}: {graph.signals.inputs} inputs, "
        f"{graph.signals.sample_type}, {with_prefix(sizes.sample_rate, 'sample/s')}",
        f"{sizes.channels} channels of {width}"
        + (f", integrations of {seconds_text(sizes.integration)}" if sizes.visibilities else ""),
    ]
    lines += product_lines(graph)
    if graph.front.tracker:
        lines.append(tracking_text(graph))
    if beams:
        lines.append(f"{len(beams.beams)} beams, powers of {seconds_text(sizes.power_integration)}")
        if beams.searching:
            lines.append(f"search: {beams.searching.text()}")
    return lines + ["note: " + text for text in sizes.notes]
