#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_beams: tied-array beams from samples to filterbank files.

The flowgraph is that of the plan, see builder/flowgraph.py.
"""

from ..builder.flowgraph import Flowgraph
from ..builder.resume import Complete
from ..plan.fields import BEAMS
from ..plan.plan_parser import PlanParser
from .beams_report import start_lines, summary
from .running import observe, run_command
from .tables import gain_text
from .terminal import say, warn

PROGRAM = BEAMS


def form_beams(options):
    """Does what the options say; returns the exit code. Raises what the plan and the blocks raise
    for what they refuse."""
    plan = options.plan
    plan.check()
    # parameters that the blocks refuse are reported before anything is said, or computed
    try:
        graph = Flowgraph(plan)
    except Complete as done:
        say(f"nothing is left to do: {done}")
        return 0
    for text in graph.warnings:
        warn(PROGRAM, text)
    for text in start_lines(graph):
        say(text)
    if graph.resumed:
        say(f"{plan.beams.file}: goes on behind its first {graph.resumed.kept} integrations")
    graph.level(
        lambda gains: say(f"gain of the inputs: {gain_text(gains)}"),
        lambda text: warn(PROGRAM, text),
    )
    name = plan.beams.file or plan.input.source
    return observe(PROGRAM, graph, graph.sizes, name, lambda run: summary(graph, run))


def parser():
    """The command line of aperture_beams."""
    return PlanParser(
        PROGRAM,
        "Tied-array beams: channelises all inputs of a recording or of a simulated array, adds "
        "them in phase for each direction, detects powers or Stokes parameters, integrates, and "
        "writes filterbank files.",
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), form_beams, arguments)
