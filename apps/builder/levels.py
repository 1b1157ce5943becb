#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Gains that bring the voltages of each input to the middle of the range of 8 bits."""

import numpy as np
import pmt
from gnuradio import blocks, gr

from .. import pfb_channelizer, tags
from ..streams.levels import INTERFERENCE, TARGET_RMS, mean_power, without_noise
from .zooming import ZoomedSignals

GAIN_SPECTRA = 256  # the most that the gain is measured from
GAIN_BYTES = 64 << 20  # memory for them


def gains_for(spectra):
    """The gain of each input that brings its voltages to an rms of TARGET_RMS steps.

    spectra: complex [spectrum][input][channel] at gain 1. The rms is that of the real and
    imaginary parts. Channels with more than ten times the power that nine in ten channels stay
    below (interference) do not count, because one strong carrier would drown all other
    channels in the rounding; nor do spectra with more than ten times the power of half of them (a
    burst, or a wrong sample), and those that are all zero (lost samples).
    Returns gains [input], NaN for an input that is zero throughout, or does not change.
    """
    gains = np.full(spectra.shape[1], np.nan)
    for number in range(spectra.shape[1]):
        voltages = spectra[:, number]
        voltages = voltages[np.any(voltages != 0, axis=1)]
        if not len(voltages):
            continue
        power = np.abs(voltages.astype(np.complex128)) ** 2
        of_spectra = np.array([mean_power(one) for one in power])
        power = power[of_spectra <= INTERFERENCE * np.median(of_spectra)].mean(axis=0)
        if not without_noise(power[:, np.newaxis]):
            gains[number] = TARGET_RMS / np.sqrt(mean_power(power) / 2)
    return gains


def fill_gains(gains, names):
    """Fills in the gains of inputs that are unknown, as they did not change where these were
    measured, with those of the others (their median, 1 if there are none): they may come alive.
    Returns gains [input] and warnings for the user."""
    unknown = np.isnan(gains)
    filled = np.where(unknown, 1.0 if unknown.all() else np.nanmedian(gains), gains)
    return filled, [
        f"input {names[number]} does not change where the gain is measured (a receiver "
        f"that is stuck, or off?): its gain is {filled[number]:.4g}"
        + ("" if unknown.all() else ", as that of the others")
        for number in np.flatnonzero(unknown)
    ]


def channelizer_parameters(plan, signals, sizes):
    """Returns the parameters that a channeliser and an F-engine share, but for inputs and
    device."""
    return dict(
        channels=sizes.coarse.channels,
        input_type=signals.sample_type,
        taps=sizes.taps,
        oversampling=plan.engines.oversampling,
        window=plan.engines.window,
        inverted=signals.inverted,
    )


def source_rate(signals):
    """Samples a second of an input as its source sends them."""
    return signals.whole.sample_rate if isinstance(signals, ZoomedSignals) else signals.sample_rate


def samples_for_gains(signals, sizes):
    """Samples of each input that gains are measured from."""
    sizes = sizes.coarse
    count = max(1, min(GAIN_SPECTRA, GAIN_BYTES // (8 * signals.inputs * sizes.channels)))
    if sizes.spectra is not None:
        count = min(count, sizes.spectra)
    return sizes.span(count)


def measure_gains(plan, signals, sizes, calibrate=None, samples=None):
    """Channelises the first part of the input and returns gains_for() it.

    calibrate(channelizer) is called before, to set what else the voltages are multiplied with.
    samples: complex64 [input][sample] that receivers sent, which cannot be read twice."""
    inputs, channels = signals.inputs, sizes.coarse.channels
    not_numbers = lambda: [0] * inputs
    flowgraph = gr.top_block("gains")
    parameters = dict(
        channelizer_parameters(plan, signals, sizes),
        inputs=inputs,
        inputs_per_port=inputs // signals.ports,
        device=plan.device.first,
    )
    zooms = isinstance(signals, ZoomedSignals)
    if samples is None:
        more = ("fc32",) if signals.channels else ()
        source = signals.source(samples_for_gains(signals, sizes), *more)
        not_numbers = getattr(source, "not_numbers", not_numbers)
    else:
        not_numbers = lambda: np.sum(~np.isfinite(samples), axis=1)
        # [sample][input], an item a sample of all of them
        rate = gr.tag_t()
        rate.key, rate.value = pmt.intern(tags.rx_rate), pmt.from_double(source_rate(signals))
        source = blocks.vector_source_c(samples.T.ravel(), False, inputs, [rate])
        parameters["inputs_per_port"] = inputs
    per_port = parameters["inputs_per_port"]
    sinks = [blocks.vector_sink_c(per_port * channels) for _ in range(inputs // per_port)]
    channelizer, before = None, []
    if zooms:
        own = {} if samples is None else dict(inputs_per_port=inputs, input_type="fc32")
        before = [signals.zoom(plan.device.first, **own)]
    if not signals.channels:
        channelizer = pfb_channelizer(output_type="fc32", **parameters)
        if calibrate is not None:
            calibrate(channelizer)
    for port, sink in enumerate(sinks):
        through = [(block, port) for block in (*before, channelizer) if block is not None]
        flowgraph.connect((source, port), *through, sink)
    flowgraph.handle_sigint = False  # a handler would swallow Ctrl-C
    try:
        flowgraph.run()
    except KeyboardInterrupt:
        flowgraph.stop()
        raise
    found = [
        np.array(sink.data(), np.complex64).reshape(-1, per_port, channels) for sink in sinks
    ]
    length = min(map(len, found))
    spectra = np.concatenate([of_port[:length] for of_port in found], axis=1)
    if len(spectra) == 0:
        raise RuntimeError(
            "the gain cannot be measured: the first part of the input gave no spectra"
        )
    gains = gains_for(spectra)
    # floats that were written as something else have some everywhere
    wrong = np.flatnonzero(~spectra.any(axis=(0, 2)) & (np.array(not_numbers()) > 0))
    if len(wrong):
        raise RuntimeError(
            f"input {signals.description.input_names[wrong[0]]}: samples are not "
            "finite numbers: is the type right that --input says?"
        )
    return gains
