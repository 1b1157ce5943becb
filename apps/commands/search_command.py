#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_search: dispersed pulses in files of powers, and profiles of pulsars.

The flowgraph is that of the plan, see builder/search_graph.py.
"""

import os

from ..builder.search_graph import SearchGraph
from ..parameters.times import time_text
from ..plan.fields import SEARCH
from ..plan.plan_parser import PlanParser
from .running import observe, run_command
from .tables import seconds_text, table, with_prefix
from .terminal import say, warn

PROGRAM = SEARCH


def start_lines(graph):
    """Returns the lines that are said before anything is read."""
    recording, searching = graph.recording, graph.powers.searching
    beams, products, channels = recording.shape
    files = recording.files[0].filename
    if len(recording.files) > 1:
        files += f" ... {recording.files[-1].filename}"
    begin = (
        "a time that is not known" if recording.begin is None else time_text(sum(recording.begin))
    )
    return [
        f"{files}: {beams} beam{'s'[: beams > 1]}, {channels} channels, "
        f"{with_prefix(recording.bandwidth, 'Hz')} around "
        f"{with_prefix(recording.center_frequency, 'Hz')}, samples of "
        f"{seconds_text(recording.interval)}; from {begin}, "
        f"{seconds_text(graph.sizes.samples * recording.interval)}",
        *([f"search: {searching.text()}"] if searching else []),
        *("note: " + text for text in (searching.notes if searching else ())),
    ]


def summary(graph, run):
    """The table at the end, as text."""
    recording = graph.recording
    beams, products, channels = recording.shape
    size = sum(os.path.getsize(file.filename) for file in recording.files)
    rows = [
        ("files", f"{len(recording.files)}, {with_prefix(size, 'B')}"),
        ("beams", f"{beams}"),
        ("channels", f"{channels} of {with_prefix(recording.bandwidth / channels, 'Hz')}"),
        (
            "samples",
            f"{graph.integrations()} of {seconds_text(recording.interval)}"
            + ("" if run.speed is None else f", {run.speed * recording.interval:.3g} x real time"),
        ),
        *graph.powers.rows(),
    ]
    return table(rows)


def search(options):
    """Does what the options say; returns the exit code. Raises what the plan and the blocks raise
    for what they refuse."""
    plan = options.plan
    plan.check()
    graph = SearchGraph(plan)
    for text in graph.warnings:
        warn(PROGRAM, text)
    for text in start_lines(graph):
        say(text)
    return observe(PROGRAM, graph, graph.sizes, plan.powers.files, lambda run: summary(graph, run))


def parser():
    """The command line of aperture_search."""
    return PlanParser(
        PROGRAM,
        "Pulses and pulsars in files of powers: searches filterbank files and PSRFITS in "
        "search mode for dispersed pulses, with a table and pictures of the candidates, and "
        "folds them with the period of a pulsar.",
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), search, arguments)
