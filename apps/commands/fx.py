#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx: an FX correlator from samples to a file of visibilities.

The flowgraph is that of the plan, see builder/flowgraph.py. A measurement set or a UVFITS file is
made of the UVH5 file at the end.
"""

from ..builder.flowgraph import Flowgraph
from ..builder.input import check_writable, keep_what_is_read
from ..builder.resume import Complete
from ..plan.fields import FX
from ..plan.plan_parser import PlanParser
from ..streams.levels import TARGET_RMS
from .fx_output import FxOutput
from .fx_report import received_summary, sent_summary, start_lines, summary
from .running import observe, run_command
from .tables import gain_text
from .terminal import say, warn

PROGRAM = FX


def correlate(options):
    """Does what the options say; returns the exit code. Raises what the plan and the blocks raise
    for what they refuse."""
    plan = options.plan.of_host(options.plan.host)
    plan.check()
    role, output = plan.network.role, None
    if role != "f":
        output = FxOutput(PROGRAM, plan)
        check_writable(plan, "outputs.file", output.files)
        plan = plan.replaced({"outputs.file": output.uvh5})
    # parameters that the blocks refuse are reported before anything is said, or computed
    try:
        graph = Flowgraph(plan)
    except Complete as done:
        say(f"nothing is left to do: {done}")
        return output.convert(output.uvh5)
    if output:
        keep_what_is_read(plan, graph.signals, "outputs.file", output.files)
    for text in graph.warnings:
        warn(PROGRAM, text)
    for text in start_lines(graph):
        say(text)
    if graph.resumed:
        say(f"{output.uvh5}: goes on behind its first {graph.resumed.kept} integrations")
    graph.level(
        lambda gains: say(f"gain for an rms of {TARGET_RMS:g} steps: {gain_text(gains)}"),
        lambda text: warn(PROGRAM, text),
    )
    report = {"fx": summary, "f": sent_summary, "x": received_summary}[role]
    name = plan.network.to if output is None else output.name
    code = observe(PROGRAM, graph, graph.sizes, name, lambda run: report(graph, run))
    for path in graph.correlator.files() if output else ():
        code = output.convert(path) or code
    return code


def parser():
    """The command line of aperture_fx."""
    return PlanParser(
        PROGRAM,
        "FX correlator: channelises all inputs of a recording or of a simulated array, multiplies "
        "all pairs, integrates, and writes UVH5, a measurement set or UVFITS.",
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), correlate, arguments)
