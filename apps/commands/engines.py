#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The engines of the commands: their parameters, and their losses."""

from .. import devices
from ..parameters.sample_types import SAMPLE_TYPES
from .tables import seconds_text, with_prefix

GPU_SPECTRA = 16  # the X-engine takes 8-bit frames of a multiple of this on a GPU


def frame_multiple(options):
    """Returns the factor of the number of spectra in a frame."""
    on_cpu = options.device == "cpu" or (options.device == "auto" and devices() == ["cpu"])
    return 1 if on_cpu or options.format != "sc8" else GPU_SPECTRA


def plan_parameters(options, signals, samples, duration):
    """Returns what all plans are made of, but for how long integrations are."""
    return dict(
        inputs=signals.inputs,
        sample_rate=signals.sample_rate,
        real=signals.real,
        taps=options.taps,
        bytes_per_value=SAMPLE_TYPES[options.format].size,
        samples=samples,
        duration=duration,
        channels=options.channels,
        multiple=frame_multiple(options),
    )


def input_text(options, signals, plan):
    """A line about an input and how long it is taken."""
    length = (
        "until Ctrl-C"
        if plan.samples is None
        else seconds_text(plan.spectra * plan.hop / plan.sample_rate)
    )
    return (
        f"{options.input}: {signals.inputs} input{'s'[: signals.inputs > 1]}, "
        f"{signals.sample_type}, {with_prefix(plan.sample_rate, 'sample/s')}, {length}"
    )


def channelizer_parameters(signals, plan, options):
    """Returns the parameters of the F-engine in both passes."""
    return dict(
        channels=plan.channels,
        inputs=signals.inputs,
        inputs_per_port=signals.inputs // signals.ports,
        input_type=signals.sample_type,
        taps=options.taps,
        window=options.window,
        inverted=signals.inverted,
        device=options.device,
    )


def losses_text(f_engine):
    """Returns what was missing or clamped so far, for example "12 missing, 3 clamped"; "" if
    nothing."""
    counts = (
        ("missing", sum(f_engine.missing())),
        ("clamped", sum(f_engine.clamped()) + sum(f_engine.clamped_samples())),
    )
    return ", ".join(f"{count} {name}" for name, count in counts if count)


def connect_input(flowgraph, source, followers, engine, ports):
    """Connects all ports of an input with the F-engine. followers: blocks (or None) that follow the
    stream of the first of them, so that what they send comes before the samples for which it
    is."""
    flowgraph.connect(*[block for block in (source, *followers, engine) if block])
    for port in range(1, ports):
        flowgraph.connect((source, port), (engine, port))
