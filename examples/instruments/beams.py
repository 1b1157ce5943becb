#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The beamformer of BEST-2 (Magro, Zarb Adami, Hickish 2014) as one flowgraph: 32 inputs of 20 MHz,
1024 channels, 4 + 4 bits, into the power of each beam (Stokes I of its one polarisation), of 64
spectra each. How many beams has one GPU time for?

Simulated voltages are beamformed once, and checked: each beam must see of the source in them what
the array factor says. Then they are sent round and round, from the memory of the GPU, where the
powers stay (--source device), or from that of the host, to which they go back, both through PCIe
(--source host). A beamformer takes 4096 beams; of more, several stand side by side. Where --most
finds time for more than four of them, it calculates how many from what four take: to make one takes
seconds, and 4 GB of the host's memory for its weights. --beams measures any number. --repoint sends
weights for all beams and channels, by messages, while the flowgraph runs, and says how long it
makes no powers at most.

    tools/run python3 examples/instruments/beams.py --beams 64 512 4096 --most
    tools/run python3 examples/instruments/beams.py --source host --most
    tools/run python3 examples/instruments/beams.py --beams 256 --repoint
"""

import argparse
import time

import numpy as np
import pmt
from gnuradio import aperture, gr
from instrument import (
    BEST2,
    RMS,
    SOURCE,
    SPECTRA,
    arrays_of,
    find_device,
    four_bits,
    items_per_second,
    simulate,
)

from gnuradio.aperture.arguments.argument_types import device_name, positive_seconds, whole_number
from gnuradio.aperture.beams.beams import Beam, offset
from gnuradio.aperture.beams.weights import array_factor, array_frequencies, beam_weights

INTEGRATED = 64  # spectra
AT_ONCE = 4096  # beams of a block
SIDE_BY_SIDE = 4  # blocks that the search for the largest number measures at most
CHECKED = 64  # beams
PAPER_BUFFER = 8192  # spectra: the 420 ms that the paper takes at once
PAPER_RATE = 1.3e12  # operations a second on a K20
#: bytes that a call on a GPU works on, about: there calls are dear
CALL = 64 << 20


def voltages(device):
    """uint8 [channel][input][time]: a frame of 4 + 4 bits, from simulated samples."""
    return four_bits(BEST2, simulate(BEST2), device)


def looks(count):
    """Returns so many beams within 25 degrees of the source, the first of them at it."""
    number = np.arange(count)
    distance, angle = 25 * np.sqrt(number / count), np.radians(137.508 * number)
    places = offset(
        SOURCE.azimuth, SOURCE.elevation, distance * np.cos(angle), distance * np.sin(angle)
    )
    return [
        Beam(str(i), float(azimuth), float(elevation))
        for i, azimuth, elevation in zip(number, *places)
    ]


def connect(top, frame, weights, device, from_host, repeats, incoherent=0):
    """Voltages to powers of the beams of each of the lists of weights [beam][input] or
    [channel][beam][input]; returns the source and the beamformers."""
    source = aperture.replay(
        frame,
        frame.size,
        repeats=repeats,
        center_frequency=BEST2.center_frequency,
        rate=BEST2.sample_rate / BEST2.channels / SPECTRA,
        bandwidth=BEST2.sample_rate,
        samples_per_item=BEST2.channels * SPECTRA,
        device="cpu" if from_host else device,
    )
    former = [
        aperture.beam_power(
            channels=BEST2.channels,
            inputs=BEST2.inputs,
            beams=some.shape[-2],
            incoherent_beams=incoherent,
            spectra_per_frame=SPECTRA,
            type="sc4",
            weights=some,
            spectra=INTEGRATED,
            device=device,
        )
        for some in weights
    ]
    for one in former:
        top.connect(source, one)
    if device != "cpu":  # a call may be half a ring
        spectra = CALL // (BEST2.channels * BEST2.inputs)
        source.set_min_output_buffer(2 * max(2, spectra // SPECTRA))
        for one in former:
            item = one.output_signature().sizeof_stream_item(0)
            one.set_min_output_buffer(2 * max(2, min(spectra // INTEGRATED, CALL // item)))
    return source, former


def check(frame, device):
    """Returns the power of each of CHECKED beams over the array factor's, [beam]."""
    array = BEST2.array()
    frequencies = array_frequencies(array, BEST2.channels)
    weights = beam_weights(array, looks(CHECKED), frequencies)
    top = gr.top_block()
    _, (former,) = connect(top, frame, [weights], device, False, 1, incoherent=1)
    (powers,) = arrays_of(top, [(former, 0)], np.float32)
    powers = powers.mean(axis=0, dtype=float).reshape(CHECKED + 1, BEST2.channels)

    # only what the simulator fills: 99 % of the band. The incoherent beam is the sum of the inputs
    inner = slice(8, -8)
    powers = powers[:, inner].mean(axis=-1)
    found = powers[:-1] / (powers[-1] / BEST2.inputs)
    seen = array_factor(
        array,
        weights,
        aperture.geometry.direction([SOURCE.azimuth], [SOURCE.elevation]),
        frequencies,
    )[inner, :, 0]
    # the rounding to whole steps adds 1/12 to the real and to the imaginary part
    noise = 1 + (1 + SOURCE.flux) / 12 / RMS**2
    model = (noise + SOURCE.flux * np.mean(np.abs(seen) ** 2, axis=0)) / (noise + SOURCE.flux)
    return found / model


def speed(frame, beams, device, from_host, seconds):
    """Returns how many times faster than real time so many beams are formed."""
    # the weights of the middle of the band, which are made faster; the work is the same
    places = looks(beams)
    weights = [
        beam_weights(BEST2.array(), places[first : first + AT_ONCE], [BEST2.center_frequency])[0]
        for first in range(0, beams, AT_ONCE)
    ]
    top = gr.top_block()
    source, former = connect(top, frame, weights, device, from_host, 0)
    ends = []
    for one in former:
        ends.append(
            aperture.discard(
                one.output_signature().sizeof_stream_item(0), "cpu" if from_host else device
            )
        )
        top.connect(one, ends[-1])
    rate = items_per_second(top, [source], ends, former, seconds)
    return rate * INTEGRATED * BEST2.channels / BEST2.sample_rate


def longest_gap(end, seconds):
    """The longest time without an item in so many seconds."""
    items, since, longest = end.items(), time.monotonic(), 0.0
    limit = since + seconds
    while (now := time.monotonic()) < limit or items == end.items() and now < limit + 60:
        if end.items() != items:
            items, since, longest = end.items(), now, max(longest, now - since)
        time.sleep(0.0002)
    return max(longest, time.monotonic() - since)


def repoint(frame, beams, device, from_host, seconds=5.0):
    """Seconds without a power at most: as it runs, and while messages set the weights of all beams
    and channels, five in so many seconds."""
    weights = beam_weights(
        BEST2.array(), looks(beams), array_frequencies(BEST2.array(), BEST2.channels)
    )
    message = pmt.dict_add(pmt.make_dict(), pmt.intern("weights"), aperture.c32vector(weights))
    top = gr.top_block()
    source, (former,) = connect(top, frame, [weights], device, from_host, 0)
    end = aperture.discard(
        former.output_signature().sizeof_stream_item(0), "cpu" if from_host else device
    )
    top.connect(former, end)
    top.start()
    try:
        longest_gap(end, 0.4 * seconds)  # the start
        before, after = longest_gap(end, seconds), 0.0
        for _ in range(5):
            former.to_basic_block()._post(pmt.intern("weights"), message)
            after = max(after, longest_gap(end, seconds / 5))
    finally:
        source.finish()
        top.wait()
    if former.error():
        raise RuntimeError(former.error())
    return before, after


def tell(beams, real_time):
    """A line on a number of beams."""
    operations = 8 * BEST2.inputs * beams * BEST2.sample_rate
    buffer = PAPER_BUFFER * BEST2.channels / BEST2.sample_rate
    print(
        f"  {beams:6d} beams: {real_time:8.4g} x real time, {1e3 * buffer / real_time:8.4g} ms "
        f"for a buffer of {1e3 * buffer:.0f} ms, {operations * real_time / 1e12:.3g} TFLOP/s",
        flush=True,
    )


def find_most(frame, beams, real_time, device, from_host, seconds):
    """The largest number of beams for which there is time, to some percent, and x real time of
    it; (0, 0) if there is none. Begins with what was measured of a number."""
    step, limit = 16 if device == "cpu" else 64, SIDE_BY_SIDE * AT_ONCE
    best, tried = ((beams, real_time) if real_time >= 1 else (0, 0.0)), {beams}
    while len(tried) < 6 and not 1 <= real_time < 1.02 and best[0] < limit:
        # a little less than what goes by the last number
        beams = min(limit, max(step, int(0.99 * beams * real_time) // step * step))
        if beams in tried:
            break
        tried.add(beams)
        real_time = speed(frame, beams, device, from_host, seconds)
        tell(beams, real_time)
        if real_time >= 1 and beams > best[0]:
            best = beams, real_time
    if best[0] < limit:
        return best
    measured, real_time = best
    beams = int(measured * real_time) // AT_ONCE * AT_ONCE
    if beams <= measured:
        return best
    real_time *= measured / beams
    print(f"  {beams:6d} beams: {real_time:8.4g} x real time, calculated from {measured}")
    return beams, real_time


def run(beams, device="auto", source="device", seconds=2.0, most=False, again=False):
    """Checks, measures and reports; returns [beam] power over model, and (beams, x real time).
    With `again`, beams are pointed anew while they are formed."""
    device, from_host = find_device(device), source == "host"
    frame = voltages(device)
    found = check(frame, device)
    print(
        f"BEST-2 ({BEST2.paper}): {BEST2.inputs} inputs, {BEST2.band / 1e6:g} MHz, "
        f"{BEST2.channels} channels, 4 + 4 bits, integrations of {INTEGRATED} spectra\n"
        f"  power over that of the array factor, {CHECKED} beams: {found.min():.3f} to "
        f"{found.max():.3f}\n  {device}, "
        + ("voltages from the host and powers to it" if from_host else "source on the device"),
        flush=True,
    )
    measured = []
    for number in beams:
        measured.append((number, speed(frame, number, device, from_host, seconds)))
        tell(*measured[-1])
        if again:
            before, after = repoint(frame, min(number, AT_ONCE), device, from_host)
            print(
                f"         weights by message: no powers for {1e3 * after:.3g} ms at most, "
                f"{1e3 * before:.3g} without messages",
                flush=True,
            )
    if most:
        measured.append(find_most(frame, *measured[-1], device, from_host, seconds))
        print(
            f"  in real time: {measured[-1][0]} beams; the paper's {PAPER_RATE / 1e12:g} TFLOP/s "
            f"on a K20 are {PAPER_RATE / 8 / BEST2.inputs / BEST2.sample_rate:.0f}, at 8 "
            "operations for each input and beam"
        )
    return found, measured


if __name__ == "__main__":
    gr.logging().set_default_level(gr.log_levels.warn)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--beams",
        type=whole_number(1, 1 << 20),
        nargs="+",
        help="(default: 64 to 4096, on a CPU 16)",
    )
    parser.add_argument(
        "--most", action="store_true", help="look for the largest number in real time"
    )
    parser.add_argument(
        "--repoint", action="store_true", help="send new weights while the flowgraph runs"
    )
    parser.add_argument(
        "--device", default="auto", type=device_name, help="auto, cpu, cuda or cuda:N"
    )
    parser.add_argument(
        "--source",
        default="device",
        choices=["device", "host"],
        help="where voltages and powers are; host: they come and go through PCIe",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds(False), default=2.0, help="of a measurement"
    )
    arguments = parser.parse_args()
    if arguments.beams is None:
        arguments.beams = [16] if find_device(arguments.device) == "cpu" else [64, 256, 1024, 4096]
    try:
        run(
            arguments.beams,
            arguments.device,
            arguments.source,
            arguments.seconds,
            arguments.most,
            arguments.repoint,
        )
    except (ValueError, RuntimeError) as problem:
        parser.exit(1, f"{parser.prog}: error: {problem}\n")
