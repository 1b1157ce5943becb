#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Four correlators from the literature, each as one flowgraph: how much faster than real time is
one GPU today? Simulated data of the instrument's inputs, band and channels is correlated once,
and checked: the source in it must be where it was put, as strong as it was put there. Then it is
sent round and round, from the memory of the GPU (--source device) or from that of the host,
through PCIe (--source host). On the CPU, integrations are short.

As in the papers: inputs, band and channels; MWA 32T's samples have 5 + 5 bits, each part carried in
8 here; best-2-spectra begins with spectra of 4 + 4 bits, as BEST-2's FPGAs make them and its GPUs
get them, and correlates these as they are. Not as in the papers: best-2 makes BEST-2's channels
here, too, from samples of 8 + 8 bits, and correlates 8 + 8 bits; mwa-32t rounds its channels to
8 + 8 bits; the GPUs of BEST-2's paper form beams (beams.py).

    tools/run python3 examples/instruments/correlate.py best-2
    tools/run python3 examples/instruments/correlate.py lofar --source host --seconds 5
"""

import argparse

import numpy as np
from gnuradio import aperture, blocks, gr
from instrument import (
    BEST2,
    BEST2_SPECTRA,
    PORTS,
    RMS,
    SOURCE,
    SPECTRA,
    TAPS,
    Instrument,
    find_device,
    four_bits,
    items_per_second,
    simulate,
)

from gnuradio.aperture.arguments.argument_types import device_name, positive_seconds, whole_number

#: MiB of samples that a call on a GPU works on, about: there calls are dear
CALL = 256

INSTRUMENTS = {
    # one coarse channel of 1.28 MHz, fine channels of 10 kHz
    "mwa-32t": Instrument(
        "Wayth, Greenhill, Briggs 2009",
        32,
        "xy",
        175.0,
        1.28e6,
        1,
        154.24e6,
        channels=128,
        spectra_per_frame=400,
        frames=25,
        bits=5,
    ),
    # 24 coarse channels: 30.72 MHz
    "mwa-128": Instrument(
        "Clark, La Plante, Greenhill 2011",
        128,
        "xy",
        1500.0,
        1.28e6,
        24,
        154.24e6,
        channels=128,
        spectra_per_frame=400,
        frames=25,
    ),
    # subbands of 195 kHz in channels of 763 Hz, 768 spectra an integration; 1 MHz is asked for
    # here, to see how many MHz one GPU has time for
    "lofar": Instrument(
        "van Nieuwpoort, Romein 2009",
        64,
        "xy",
        1000.0,
        200e6 / 1024,
        5.12,
        150e6,
        channels=256,
        spectra_per_frame=768,
        frames=1,
    ),
    "best-2": BEST2,
    "best-2-spectra": BEST2_SPECTRA,
}


def connect(
    top, instrument, data, device, from_host, repeats, spectra_per_frame, integration, call=CALL
):
    """Samples, or spectra, to visibilities; returns the sources and the last block."""
    inputs_per_port = instrument.inputs // PORTS
    common = dict(channels=instrument.channels, inputs=instrument.inputs, device=device)
    voltages = dict(
        type="sc4" if instrument.channelised else "sc8",
        spectra_per_frame=spectra_per_frame,
        **common,
    )
    corner_turn = aperture.corner_turn(inputs_per_port=inputs_per_port, **voltages)
    x_engine = aperture.xengine(integration=integration, **voltages)
    sent = dict(item_size=2 * inputs_per_port, rate=instrument.sample_rate)
    items = instrument.channels  # samples of a spectrum
    f_engine = None
    if instrument.channelised:
        sent = dict(
            item_size=inputs_per_port * instrument.channels,
            rate=instrument.sample_rate / instrument.channels,
            bandwidth=instrument.sample_rate,
            samples_per_item=instrument.channels,
        )
        items = 1
    else:
        f_engine = aperture.pfb_channelizer(
            inputs_per_port=inputs_per_port,
            input_type="sc8",
            output_type="sc8",
            taps=TAPS,
            **common,
        )
    sources = [
        aperture.replay(
            port,
            repeats=repeats,
            **sent,
            center_frequency=instrument.center_frequency,
            device="cpu" if from_host else device,
        )
        for port in data
    ]
    for port, source in enumerate(sources):
        chain = [(f_engine, port)] if f_engine else []
        top.connect((source, 0), *chain, (corner_turn, port))
    top.connect(corner_turn, x_engine)
    if device != "cpu":  # a call may be half a ring
        spectra = (call << 20) // (items * sent["item_size"] * PORTS)
        for source in sources:
            source.set_min_output_buffer(2 * spectra * items)
        if f_engine:
            f_engine.set_min_output_buffer(2 * spectra)
        corner_turn.set_min_output_buffer(max(4, 2 * spectra // spectra_per_frame))
    return sources, x_engine


def prepare(instrument, device):
    """Returns what each port's source sends: samples or, with 4 + 4 bits,
    [spectrum][input][channel]."""
    data = simulate(instrument)
    if not instrument.channelised:
        return data
    block = four_bits(instrument, data, device)
    return np.array(np.split(block.transpose(2, 1, 0), PORTS, axis=1))


def correlation(instrument, data, device):
    """
    The mean correlation coefficient of two inputs of like polarisation, rotated to the source:
    flux / (1 + flux), if all is well, and less by what rounding adds to the power.
    """
    products = instrument.inputs * (instrument.inputs + 1) // 2
    top = gr.top_block()
    sink = blocks.vector_sink_c(instrument.channels * products)
    _, x_engine = connect(top, instrument, data, device, False, 1, SPECTRA, 1)
    top.connect(x_engine, sink)
    top.run()
    visibilities = np.reshape(sink.data(), (instrument.channels, products))

    # only what the simulator fills: 99 % of the band
    inner = np.arange(2, instrument.channels - 2)
    a, b = np.tril_indices(instrument.inputs)
    power = np.sqrt(visibilities[:, a == b].real)[inner]
    alike = (a != b) & (a % len(instrument.polarizations) == b % len(instrument.polarizations))
    a, b = a[alike], b[alike]
    tau = aperture.geometry.delays(
        instrument.array().input_positions(),
        aperture.geometry.direction(SOURCE.azimuth, SOURCE.elevation),
    )
    frequency = instrument.center_frequency + instrument.sample_rate * (
        inner / instrument.channels - 0.5
    )
    waves = np.exp(-2j * np.pi * frequency[:, np.newaxis] * tau)
    model = waves[:, a] * waves[:, b].conj() * power[:, a] * power[:, b]
    return complex((visibilities[inner][:, alike] / model).mean())


def speed(instrument, data, device, from_host, seconds, call):
    """Samples of each input that are correlated in a second."""
    times, integration = instrument.spectra_per_frame, instrument.frames
    if device == "cpu":
        times, integration = SPECTRA, 1
    products = instrument.inputs * (instrument.inputs + 1) // 2
    top = gr.top_block()
    sources, x_engine = connect(
        top, instrument, data, device, from_host, 0, times, integration, call
    )
    end = aperture.discard(8 * instrument.channels * products, device)
    top.connect(x_engine, end)
    rate = items_per_second(top, sources, [end], [x_engine], seconds)
    return rate * integration * times * instrument.channels


def run(name, device="auto", source="device", seconds=2.0, call=CALL):
    """Correlates and reports; returns the correlation coefficient and x real time."""
    instrument = INSTRUMENTS[name]
    device = find_device(device)
    data = prepare(instrument, device)
    rms = RMS if instrument.channelised else data.std()  # in steps, each an error of 1/12 squared
    found = correlation(instrument, data, device)
    rate = speed(instrument, data, device, source == "host", seconds, call)
    operations = 8 * rate * instrument.inputs * (instrument.inputs + 1) / 2
    print(
        f"{name} ({instrument.paper}): {instrument.inputs} inputs, "
        f"{instrument.band / 1e6:g} MHz, channels of "
        f"{instrument.sample_rate / instrument.channels / 1e3:.4g} kHz, "
        f"integrations of {instrument.integration():.3g} s\n"
        f"  correlation coefficient of the source: {found.real:.4f} (put there: "
        f"{SOURCE.flux / (1 + SOURCE.flux):.4f}, of which rounding leaves "
        f"{SOURCE.flux / (1 + SOURCE.flux) / (1 + 1 / (12 * rms**2)):.4f})\n"
        f"  {device}, source on {'the host' if source == 'host' else 'the device'}: "
        f"{rate / instrument.band:.3g} x real time; {rate / 1e6:.4g} MHz in real time; "
        f"{operations / 1e12:.3g} TOP/s of products"
    )
    return found, rate / instrument.band


if __name__ == "__main__":
    gr.logging().set_default_level(gr.log_levels.warn)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("instrument", choices=[*INSTRUMENTS, "all"])
    parser.add_argument(
        "--device", default="auto", type=device_name, help="auto, cpu, cuda or cuda:N"
    )
    parser.add_argument(
        "--source",
        default="device",
        choices=["device", "host"],
        help="where the samples are; host: they come through PCIe",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds(False), default=2.0, help="of the measurement"
    )
    parser.add_argument(
        "--call",
        type=whole_number(1, 4096),
        default=CALL,
        metavar="MIB",
        help="of samples that a call on the GPU works on (%(default)s); the rings "
        "take six times as much of its memory",
    )
    arguments = parser.parse_args()
    try:
        for name in INSTRUMENTS if arguments.instrument == "all" else [arguments.instrument]:
            run(name, arguments.device, arguments.source, arguments.seconds, arguments.call)
    except (ValueError, RuntimeError) as problem:
        parser.exit(1, f"{parser.prog}: error: {problem}\n")
