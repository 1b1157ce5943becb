#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A small simulated array to be monitored, as tests and measurements have it."""

import numpy as np
from gnuradio import blocks, gr

from .. import (
    array_source,
    beam_power,
    delay_tracker,
    f_engine,
    load_array,
    pointing,
    voltage_ring,
    xengine,
)
from ..monitoring import array_section, beams_section
from ..observatory.instrument import Instrument


def simulated(
    array="y8",
    rate=2e5,
    channels=64,
    integration=0.5,
    samples=0,
    throttled=True,
    spectra=16,
    folder=None,
    type="fc32",
    beams=(),
    device="cpu",
    **sky,
):
    """
    An Instrument that is connected and not started: source, (throttle,) tracker, f_engine, xengine
    and, with a folder, a voltage_ring; with beams (a list, as pointing takes it), pointing and
    beam_power.

    rate: samples a second of each input; samples: of each input, 0: endless; sky: parameters of
    array_source.
    """
    about = load_array(array)
    about.sample_rate = rate
    count = len(about.inputs)
    top = gr.top_block()
    source = array_source(about, samples=samples, inputs_per_port=count, **sky)
    tracker = delay_tracker(
        about, "Cas A", item_size=8 * count, channels=channels, status_period=1.0
    )
    engine = f_engine(
        channels=channels,
        inputs=count,
        inputs_per_port=count,
        device=device,
        spectra_per_frame=spectra,
        output_type=type,
        gain=1 if type == "fc32" else 15,
    )
    correlator = xengine(
        channels=channels,
        inputs=count,
        spectra_per_frame=spectra,
        type=type,
        integration=integration,
        integration_unit="seconds",
        device=device,
    )
    chain = [source, tracker, engine, correlator]
    found = {"source": source, "tracker": tracker, "f_engine": engine, "xengine": correlator}
    if throttled:
        found["throttle"] = blocks.throttle(8 * count, rate)
        chain.insert(1, found["throttle"])
    top.connect(*chain)
    sink = found["sink"] = blocks.null_sink(8 * channels * count * (count + 1) // 2)
    top.connect(correlator, sink)
    top.msg_connect(tracker, "delays", engine, "delays")
    if folder is not None:
        ring = found["ring"] = voltage_ring(
            f"{folder}/dump-{{id}}-{{time}}.sigmf-meta",
            kind="samples",
            type="fc32",
            inputs=count,
            size=1 << 22,
            memory="host",
            device="cpu",
        )
        top.connect(chain[-3], ring)
    if beams:
        look = found["pointing"] = pointing(
            about,
            list(beams),
            channels=channels,
            item_size=8 * count,
            tracked="Cas A",
            frame_length=spectra * channels / rate,
        )
        powers = found["beams"] = beam_power(
            channels=channels,
            inputs=count,
            beams=len(look.beams()),
            spectra_per_frame=spectra,
            type=type,
            spectra=max(1, round(integration * rate / channels / spectra)) * spectra,
            device=device,
        )
        top.connect(tracker, look)
        top.connect(engine, powers, blocks.null_sink(4 * channels * len(look.beams())))
        top.msg_connect(look, "weights", powers, "weights")
    instrument = Instrument(array, {"array": {"description": array}}, "test")
    instrument.replace(
        top,
        found,
        {
            "array": array_section(about),
            "beams": beams_section(about, list(beams)) if beams else [],
        },
    )
    return instrument


def run(instrument):
    """Starts the flowgraph of an instrument."""
    instrument.set_state("starting")
    instrument.top.start()
    instrument.set_state("running")


def stop(instrument):
    """Ends it."""
    instrument.set_state("stopping")
    instrument.top.stop()
    instrument.top.wait()
    instrument.set_state("stopped")


def noise(count, seed=1):
    """complex64 of so many values, of variance 1."""
    made = np.random.default_rng(seed).standard_normal((count, 2)) * np.sqrt(0.5)
    return (made[:, 0] + 1j * made[:, 1]).astype(np.complex64)
