#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The engines of the commands: their parameters, and their losses."""

from .. import devices

GPU_SPECTRA = 16  # the X-engine takes 8-bit frames of a multiple of this on a GPU


def frame_multiple(options):
    """Returns the factor of the number of spectra in a frame."""
    on_cpu = options.device == "cpu" or (options.device == "auto" and devices() == ["cpu"])
    return 1 if on_cpu or options.format != "sc8" else GPU_SPECTRA


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
