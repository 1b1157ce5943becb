#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Faults of a small interferometer, each made by ordinary blocks of GNU Radio between the simulator
and the correlator, or by a wrong array description. examples/lab/faults.grc has sliders for them.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from gnuradio import analog, aperture, blocks, channels, gr
from observing import NOON, observe

from gnuradio.aperture import geometry

LAB = Path(__file__).resolve().parent


def array_of(name):
    """An array description of the lab."""
    return aperture.load_array(LAB / f"{name}.yml")


# --- the clock ------------------------------------------------------------------------------------


def other_clock(ppm, center_frequency, sample_rate):
    """
    A block: the samples of a receiver whose crystal is too fast by so many parts in a million. It
    takes samples too early, the n-th at n/(1 + ppm 1e-6) periods, and its oscillator is too high,
    so that all frequencies come out too low.
    """
    error = ppm * 1e-6
    return channels.channel_model(
        frequency_offset=-error * center_frequency / sample_rate, epsilon=1 / (1 + error)
    )


def clock(ppm=1.0, seconds=0.1):
    """Noise in two receivers, the second with another clock: a Baseline of integrations of 107 us,
    of channels that are wide against what the oscillators differ by."""
    array = array_of("noise")
    # a block for each, since resampling delays by some samples
    chains = [
        ([port], other_clock(error, array.center_frequency, array.sample_rate))
        for port, error in enumerate((0.0, ppm))
    ]
    return observe(array, seconds, 16 * 16 / array.sample_rate, 16, chains=chains)()


# --- the level ------------------------------------------------------------------------------------


def clipped(rms, flux=0.25):
    """
    Two receivers of 8 bits that get noise with so many steps rms (of re and of im, each), a part
    flux/(1 + flux) of which is the same in both: power in steps squared, complex coherence, and
    the share of samples that were clamped.
    """
    array = array_of("noise")
    # equal gains, so that both clip alike
    array.inputs = [replace(entry, gain=1) for entry in array.inputs]
    sources = [replace(array.sources[0], flux=flux)]
    samples = 1_200_000
    source = aperture.array_source(
        array, sources=sources, type="sc8", samples=samples, noise_rms=rms / math.sqrt(1 + flux)
    )
    flowgraph = gr.top_block()
    sinks = [blocks.vector_sink_b(2) for _ in array.inputs]
    for port, sink in enumerate(sinks):
        flowgraph.connect((source, port), sink)
    flowgraph.run()
    first, second = (
        np.array(sink.data(), np.uint8).view(np.int8).astype(np.float32).view(np.complex64)
        for sink in sinks
    )
    power = np.mean(np.abs(first) ** 2), np.mean(np.abs(second) ** 2)
    coherence = np.mean(second * np.conj(first)) / math.sqrt(max(power[0] * power[1], 1e-30))
    return power[0], coherence, source.clamped()[0] / samples


def clipped_model(rms, coherence):
    """
    Power, and coherence where it is small, of Gaussian noise that is clipped at 127 steps, without
    the rounding. After Bussgang (1952) a clipper lets through the signal times the mean of its
    slope, the share of the samples that it leaves alone.
    """
    limit = 127 / rms
    passed = math.erf(limit / math.sqrt(2))
    power = (
        passed
        + limit**2 * (1 - passed)
        - math.sqrt(2 / math.pi) * limit * math.exp(-(limit**2) / 2)
    )
    return 2 * rms**2 * power, coherence * passed**2 / power


# --- the sign -------------------------------------------------------------------------------------


def swapped(seconds=3600.0, integration=20.0):
    """The Sun for an hour, with the antennas as they were written down, and with both cables
    swapped: two Baselines, which claim to be the same one."""
    observed = observe(array_of("sun"), seconds, integration, 32)
    right, wrong = observed(0, 1), observed(1, 0)
    return right, replace(wrong, vector=right.vector, names=right.names)


# --- interference ---------------------------------------------------------------------------------


def interference(amplitude=0.35, offset=1.22e3, seconds=3600.0, integration=20.0):
    """The Sun for an hour, with a carrier in both receivers: so many Hz above the centre, and of an
    amplitude in units of the receivers' noise."""
    array = array_of("sun")
    chains = []
    for port, phase in ((0, 0.0), (1, 2.0)):
        carrier = analog.sig_source_c(
            array.sample_rate, analog.GR_COS_WAVE, offset, amplitude, 0, phase
        )
        chains.append(([port], added(carrier)))
    return observe(array, seconds, integration, 32, chains=chains)()


def added(source):
    """A block that adds the samples of a source to what passes."""
    block = gr.hier_block2(
        "added",
        gr.io_signature(1, 1, gr.sizeof_gr_complex),
        gr.io_signature(1, 1, gr.sizeof_gr_complex),
    )
    add = blocks.add_cc()
    block.connect(block, add, block)
    block.connect(source, (add, 1))
    return block


# --- polarisation ---------------------------------------------------------------------------------


def feed_rotator(degrees):
    """A block of two ports, x and y of an antenna, which is rotated by an angle from x towards
    y."""
    block = gr.hier_block2(
        "feed_rotator",
        gr.io_signature(2, 2, gr.sizeof_gr_complex),
        gr.io_signature(2, 2, gr.sizeof_gr_complex),
    )
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    for out, factors in enumerate(((cosine, sine), (-sine, cosine))):
        add = blocks.add_cc()
        for port, factor in enumerate(factors):
            block.connect((block, port), blocks.multiply_const_cc(factor), (add, port))
        block.connect(add, (block, out))
    return block


def crossed(degrees, flux=1.0, seconds=0.2):
    """
    An unpolarised source in two antennas of two polarisations, of which the second is rotated:
    coherence {"xx": , "xy": , "yx": , "yy": } of the first antenna's with the second's.
    """
    array = array_of("noise")
    array.inputs = [aperture.Input(antenna, letter) for antenna in "AB" for letter in "xy"]
    sources = [replace(array.sources[0], flux=flux)]
    observed = observe(
        array, seconds, seconds / 2, 16, sources=sources, chains=[([2, 3], feed_rotator(degrees))]
    )
    return {"xy"[a] + "xy"[b]: np.mean(observed(a, 2 + b).mean()) for a in (0, 1) for b in (0, 1)}


# --- a source that is no point --------------------------------------------------------------------


def disc(diameter, flux=1.0, rings=5):
    """A uniform disc of so many degrees, as points of equal flux in the south, 60 degrees high: of
    ring n, which is as wide as all others, 6 n points have the area of 6 n."""
    points = [(0.0, 0.0, 1.0)]
    for ring in range(1, rings + 1):
        for angle in 2 * np.pi * (np.arange(6 * ring) + 0.5 * (ring % 2)) / (6 * ring):
            radius = diameter / 2 * ring / (rings + 0.5)
            points.append((radius * math.sin(angle), radius * math.cos(angle), 1.0))
    share = flux / len(points)
    return [
        aperture.Source(
            f"point {number}",
            azimuth=180 + east / math.cos(math.radians(60)),
            elevation=60 + north,
            flux=share,
        )
        for number, (east, north, _) in enumerate(points)
    ]


def resolved(diameter=0.53, baselines=range(0, 65, 5), flux=1.0):
    """Visibility (coherence over that of a point) of a disc on baselines to the east, in metres."""
    array = array_of("noise")
    array.antennas = [aperture.Antenna(f"E{place}", (float(place), 0, 0)) for place in baselines]
    array.inputs = [aperture.Input(antenna.name, "x") for antenna in array.antennas]
    array.sample_rate = 200e3
    observed = observe(array, 1.0, 0.5, 16, start=NOON, sources=disc(diameter, flux))
    return (
        np.array(
            [
                abs(np.mean(observed(0, number).mean())) if number else flux / (1 + flux)
                for number in range(len(array.inputs))
            ]
        )
        * (1 + flux)
        / flux
    )


def visibility_of_disc(diameter, baseline, frequency):
    """2 J1(x)/x, x = pi times the diameter times the baseline in wavelengths."""
    from scipy.special import j1

    x = (
        np.pi
        * np.radians(diameter)
        * np.asarray(baseline, float)
        * frequency
        / geometry.SPEED_OF_LIGHT
    )
    return np.divide(2 * j1(x), x, out=np.ones_like(x), where=x > 0)
