#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Correlators from the literature, each as one flowgraph: how much faster than real time is one GPU
today? Simulated data of the instrument's inputs, band and channels is correlated once,
and checked: the source in it must be where it was put, as strong as it was put there. Then it is
sent round and round, from the memory of the GPU (--source device) or from that of the host,
through PCIe (--source host). On the CPU, integrations are short.

As in the papers: inputs, band and channels; MWA 32T's samples have 5 + 5 bits, each part carried in
8 here; best-2-spectra begins with spectra of 4 + 4 bits, as BEST-2's FPGAs make them and its GPUs
get them, and correlates these as they are. Not as in the papers: best-2 makes BEST-2's channels
here, too, from samples of 8 + 8 bits, and correlates 8 + 8 bits; mwa-32t rounds its channels to
8 + 8 bits; the GPUs of BEST-2's paper form beams (beams.py).

Three have the modes of today's instruments. mwa-256 gets 24 coarse channels of 256 tiles, which
receivers have oversampled by 32/27, and splits each of them further. meerkat-narrow takes 107 MHz
of MeerKAT's band of 856 MHz in 32768 channels; an integration of all 64 dishes is larger than an
item of GNU Radio can be, so it has 63. ovro-lwa correlates 352 dual-polarisation antennas slowly
and, from the same frames, 48 of them fast, with as many channels as fit an item. Their plans are
in the folder modes; --write-array writes the array that these need, with antennas on a spiral.

    tools/run python3 examples/instruments/correlate.py best-2
    tools/run python3 examples/instruments/correlate.py lofar --source host --seconds 5
    tools/run python3 examples/instruments/correlate.py mwa-256 --write-array mwa-256-array.yml
"""

import argparse

import numpy as np
from gnuradio import aperture, gr
from instrument import (
    BEST2,
    BEST2_SPECTRA,
    RMS,
    SOURCE,
    Instrument,
    arrays_of,
    find_device,
    four_bits,
    frame_of_spectra,
    items_per_second,
    simulate,
)

from gnuradio.aperture.arguments.argument_types import device_name, positive_seconds, whole_number
from gnuradio.aperture.arrays.array_description import save_array

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
    # 24 coarse channels of 1.28 MHz, as receivers send them; fine channels of 23.7 kHz
    "mwa-256": Instrument(
        "MWAX, Morrison and others 2023",
        256,
        "xy",
        2500.0,
        32 * 1.28e6,
        1,
        154.24e6,
        channels=24 * 54,
        spectra_per_frame=64,
        frames=185,
        spectra="sc8",
        oversampling="32/27",
        taps=24,
        fine=54,
        bank=32,
    ),
    # channels of 3.265 kHz
    "meerkat-narrow": Instrument(
        "the narrow band of katgpucbf",
        63,
        "xy",
        4000.0,
        856e6,
        1,
        1284e6,
        channels=32768,
        spectra_per_frame=16,
        frames=102,
        zoom=8,
        zoom_frequency=136.4e6,  # the line of neutral hydrogen
        simulated=16,
    ),
    # channels of 23.9 kHz; all antennas each 10 s, some each 0.1 s
    "ovro-lwa": Instrument(
        "the two cadences of OVRO-LWA",
        352,
        "xy",
        1200.0,
        1024 * 98e6 / 4096,
        1,
        55e6,
        channels=1024,
        spectra_per_frame=128,
        frames=1869,
        spectra="sc4",
        fast_antennas=48,
        fast_frames=19,
    ),
}


def connect(
    top, instrument, data, device, from_host, repeats, spectra_per_frame, integration, call=CALL
):
    """Samples, or spectra, to visibilities; returns the sources, and the blocks that end: the
    X-engine, and with fast antennas that of these."""
    ports = instrument.ports
    inputs_per_port = instrument.inputs // ports
    shared = dict(inputs=instrument.inputs, device=device)
    several = dict(inputs_per_port=inputs_per_port, **shared)
    voltages = dict(
        type="sc4" if instrument.spectra == "sc4" else "sc8",
        channels=instrument.channels,
        spectra_per_frame=spectra_per_frame,
    )
    element = 1 if voltages["type"] == "sc4" else 2  # bytes
    chain = []
    if instrument.zoom > 1:
        # noise in a part of the band keeps its steps
        chain.append(
            aperture.zoom(
                frequency=instrument.zoom_frequency,
                decimation=instrument.zoom,
                input_type="sc8",
                output_type="sc8",
                gain=instrument.zoom**0.5,
                **several,
            )
        )
    if instrument.spectra:
        sent = dict(
            item_size=element * inputs_per_port * instrument.coarse,
            rate=instrument.bank_rate / instrument.hop,
            bandwidth=instrument.bank_rate / instrument.made * instrument.coarse,
            samples_per_item=instrument.hop,
        )
        items = instrument.fine  # spectra of a spectrum that is correlated
    else:
        sent = dict(item_size=2 * inputs_per_port, rate=instrument.sample_rate)
        items = instrument.channels * instrument.zoom  # samples
        chain.append(
            aperture.pfb_channelizer(
                channels=instrument.made,
                input_type="sc8",
                output_type="sc8",
                taps=instrument.taps,
                oversampling=instrument.oversampling,
                **several,
            )
        )
    if instrument.fine > 1:
        chain.append(
            aperture.upchanneliser(
                channels=instrument.coarse,
                fine=instrument.fine,
                input_type=voltages["type"],
                output_type=voltages["type"],
                oversampling=instrument.oversampling,
                coarse_taps=instrument.taps,
                **several,
            )
        )
    corner_turn = aperture.corner_turn(**voltages, **several)
    x_engine = aperture.xengine(integration=integration, **voltages, **shared)
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
        top.connect((source, 0), *((block, port) for block in [*chain, corner_turn]))
    top.connect(corner_turn, x_engine)
    engines = [x_engine]
    if instrument.fast_antennas:
        few = instrument.fast_antennas * len(instrument.polarizations)
        select = aperture.select_inputs(selected=list(range(few)), **voltages, **shared)
        frames = min(integration, instrument.fast_frames)
        engines.append(aperture.xengine(integration=frames, inputs=few, device=device, **voltages))
        top.connect(corner_turn, select, engines[-1])
    if device != "cpu":  # a call may be half a ring
        spectra = max(1, (call << 20) // (items * sent["item_size"] * ports))
        for source in sources:
            source.set_min_output_buffer(2 * spectra * items)
        for block in chain:
            each = instrument.channels if block.name() == "zoom" else 1
            block.set_min_output_buffer(2 * spectra * each)
        corner_turn.set_min_output_buffer(max(4, 2 * spectra // spectra_per_frame))
    return sources, engines


def prepare(instrument, device):
    """Returns what each port's source sends: samples or, from a filter bank elsewhere,
    [spectrum][input][channel]."""
    data = simulate(instrument)
    if not instrument.spectra:
        return data
    if instrument.spectra == "sc4":
        frame = four_bits(instrument, data, device)
    else:  # a voltage in each element
        frame = np.ascontiguousarray(frame_of_spectra(instrument, data, device))
        frame = frame.view(np.uint16)[..., 0]
    return np.array(np.split(frame.transpose(2, 1, 0), instrument.ports, axis=1))


def correlation(instrument, data, device):
    """
    The mean correlation coefficient of two inputs of like polarisation, rotated to the source:
    flux / (1 + flux), if all is well, and less by what rounding adds to the power.

    RuntimeError: some antennas are fast, and theirs are not the same.
    """
    top = gr.top_block()
    _, engines = connect(top, instrument, data, device, False, 1, instrument.simulated, 1)
    # the first integration has all spectra; zeros fill up what comes behind it
    visibilities, *fast = [
        integrations[0].reshape(instrument.channels, -1)
        for integrations in arrays_of(top, [(engine, 0) for engine in engines], np.complex64)
    ]
    if fast and not np.array_equal(fast[0], visibilities[:, : fast[0].shape[1]]):
        raise RuntimeError("the fast antennas have other products than the slow ones")

    filled = instrument.filled()
    a, b = np.tril_indices(instrument.inputs)
    power = np.sqrt(visibilities[:, a == b].real)[filled]
    alike = (a != b) & (a % len(instrument.polarizations) == b % len(instrument.polarizations))
    a, b = a[alike], b[alike]
    tau = aperture.geometry.delays(
        instrument.array().input_positions(),
        aperture.geometry.direction(SOURCE.azimuth, SOURCE.elevation),
    )
    waves = np.exp(-2j * np.pi * instrument.channel_frequencies()[filled, np.newaxis] * tau)
    # a delay of a part of a spectrum's length leaves less in a channel, whose band is nearly a box
    left = np.sinc(instrument.width * (tau[a] - tau[b]))
    model = waves[:, a] * waves[:, b].conj() * power[:, a] * power[:, b] * left
    return complex((visibilities[filled][:, alike] / model).mean())


def speed(instrument, data, device, from_host, seconds, call):
    """Samples of each input that are correlated in a second."""
    times, integration = instrument.spectra_per_frame, instrument.frames
    if device == "cpu":
        times, integration = instrument.simulated, 1
    top = gr.top_block()
    sources, engines = connect(
        top, instrument, data, device, from_host, 0, times, integration, call
    )
    ends = []
    for engine in engines:
        ends.append(aperture.discard(engine.output_signature().sizeof_stream_item(0), device))
        top.connect(engine, ends[-1])
    rate = items_per_second(top, sources, ends[:1], [*engines, *ends[1:]], seconds)
    return rate * integration * times * instrument.channels


def run(name, device="auto", source="device", seconds=2.0, call=CALL):
    """Correlates and reports; returns the correlation coefficient and x real time."""
    instrument = INSTRUMENTS[name]
    device = find_device(device)
    data = prepare(instrument, device)
    # in steps, each an error of 1/12 squared
    rms = RMS if instrument.spectra == "sc4" else data.view(np.int8).std()
    found = correlation(instrument, data, device)
    rate = speed(instrument, data, device, source == "host", seconds, call)
    operations = 8 * rate * instrument.inputs * (instrument.inputs + 1) / 2
    print(
        f"{name} ({instrument.paper}): {instrument.inputs} inputs, "
        f"{instrument.band / 1e6:g} MHz, channels of "
        f"{instrument.width / 1e3:.4g} kHz, "
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
    parser.add_argument(
        "--write-array",
        metavar="FILE",
        help="only write the instrument's array description, for its plan",
    )
    arguments = parser.parse_args()
    try:
        if arguments.write_array:
            if arguments.instrument == "all":
                raise ValueError("--write-array needs one instrument")
            save_array(INSTRUMENTS[arguments.instrument].array(), arguments.write_array)
            parser.exit()
        for name in INSTRUMENTS if arguments.instrument == "all" else [arguments.instrument]:
            run(name, arguments.device, arguments.source, arguments.seconds, arguments.call)
    except (ValueError, RuntimeError) as problem:
        parser.exit(1, f"{parser.prog}: error: {problem}\n")
