#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The simulator's block for an array description."""

import math

import numpy as np

from . import aperture_python
from .arrays.array_description import Source, load_array
from .arrays.geometry import direction, rotate_with_sky
from .arrays.pulses import after_start
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import inputs_of, refuse
from .parameters.times import as_time
from .tracking.directions import azimuth_elevation, distance, parse_direction

DEFAULT_START_TIME = 1704067200  # 2024-01-01T00:00:00Z
DRIFT_INTERVAL = 3600.0  # s, over which the motion of a body is taken
#: s of a satellite's path from one waypoint to the next, between which it is good to millimetres
PATH_STEP = 10.0
LONGEST_PATH = 3600.0  # s, of an endless stream


def _drift(place, array, time):
    """Returns how fast a body moves among the stars: rad/s [east, north, up], as of the next
    hour."""
    now, later = (
        direction(*azimuth_elevation(place, seconds, array))
        for seconds in (time, time + DRIFT_INTERVAL)
    )
    later = rotate_with_sky(later, array.latitude, -DRIFT_INTERVAL)
    across = later - now * (later @ now)
    sine = np.linalg.norm(across)
    angle = math.atan2(sine, later @ now)
    return across / sine * angle / DRIFT_INTERVAL if sine > 0 else np.zeros(3)


def _pulses(source, array, start):
    """Returns the block's parameters of a source's pulses."""
    block = aperture_python.array_source
    frequency = source.scattering_frequency or array.center_frequency
    return dict(
        pulsars=[
            block.pulsar(
                pulsar.period,
                pulsar.period_derivative,
                after_start(pulsar.epoch, start),
                pulsar.phase,
                pulsar.width,
                pulsar.mean,
            )
            for pulsar in source.pulsars
        ],
        pulses=[
            block.pulse(after_start(pulse.time, start), pulse.width, pulse.energy)
            for pulse in source.pulses
        ],
        dm=source.dm,
        scattering_time=source.scattering_time,
        scattering_frequency=frequency,
        scattering_index=source.scattering_index,
    )


def _path(source, place, array, start, length):
    """The way of a source near the Earth, a list of the block's waypoints, for `length` seconds;
    [] of one that is far away."""
    waypoint = aperture_python.array_source.waypoint
    if place.distance is not None:
        towards = direction(place.azimuth, place.elevation)
        return [waypoint(0.0, tuple(place.distance * towards), tuple(source.velocity or (0, 0, 0)))]
    if place.tle is None:
        return []
    seconds = PATH_STEP * np.arange(math.ceil(length / PATH_STEP) + 1)

    def at(offset):
        times = start + seconds + offset
        towards = direction(*azimuth_elevation(place, times, array))
        return towards * distance(place, times, array)[:, None]

    # times since 1970 are good to 0.2 us, a length of 1 s to 2e-7 of the velocity
    velocities = at(0.5) - at(-0.5)
    return [
        waypoint(float(time), tuple(position), tuple(velocity))
        for time, position, velocity in zip(seconds, at(0.0), velocities)
    ]


def _block_source(source, array, start, length):
    time = start[0] + start[1]
    place = parse_direction(source)
    azimuth, elevation = azimuth_elevation(place, time, array)
    drift = (0.0, 0.0, 0.0) if place.body is None else _drift(place, array, time)
    path = _path(source, place, array, time, length)
    return aperture_python.array_source.source(
        source.name,
        float(azimuth),
        float(elevation),
        source.moving and not path,
        source.flux,
        tuple(drift),
        path,
        **_pulses(source, array, start),
    )


def _transmitter(index, entry):
    """A dictionary -> what the block takes."""
    if not isinstance(entry, dict) or "frequency" not in entry:
        refuse(f"interference[{index}]", entry, "a dictionary with frequency")
    power = entry.get("power", 1)
    powers = [float(p) for p in (power if np.ndim(power) else [power])]
    try:
        return aperture_python.array_source.transmitter(**{**entry, "power": powers})
    except TypeError:
        raise ValueError(
            f"interference[{index}]: {entry!r} is not allowed; it may have name, "
            "frequency, power, drift, sweep, start, end, period and duty, all but "
            "the name numbers"
        ) from None


def array_source(
    array: Text(
        "an ArrayDescription, or what load_array() takes: the path of a YAML file, or the "
        "name of a shipped description"
    ) = "two-dish",
    sources: Anything(
        "list of Source instead of the description's; [] for receiver noise only"
    ) = None,
    type: Text("fc32, sc16 or sc8", "fc32", "sc16", "sc8") = "fc32",
    samples: Integer("of each input, then the stream ends; 0: endless", 0) = 0,
    start_time: Anything(
        "UTC seconds since 1970 of the first sample, a number or (whole seconds, "
        "fraction); sources with ra and dec are where they are then, and move on from "
        "there. Bodies (sun, moon, planets) also drift among the stars, as in the hour "
        "after it: the Sun and the planets are good to an arc second for six hours, the "
        "Moon, whose parallax changes, to 30 arc seconds for one hour. Satellites are on "
        "their orbits for all samples, an hour of an endless stream, and fly straight on "
        "after it; transmitters with a distance move with their velocity from there on"
    ) = DEFAULT_START_TIME,
    seed: Integer("equal seeds give equal samples", 0) = 1,
    inputs_per_port: Integer("interleaved sample by sample", 1, 65536) = 1,
    noise_rms: Number(
        "rms of the receiver noise of an input of gain 1, in re and in im, each, in steps "
        "of the output; 0: sqrt(1/2) for fc32 (power 1), 20 for sc8, 1000 for sc16"
    ) = 0,
    inputs: Anything(
        "if given, how many inputs the array must have (a flowgraph that was drawn for so "
        "many has so many ports)"
    ) = None,
    interference: Anything(
        "list of transmitters nearby, each a dictionary of what "
        "`aperture_python.array_source.transmitter` takes: frequency (Hz), power (over "
        "that of the receiver noise; one number, or one for each input), drift (Hz/s), "
        "sweep (Hz), start and end (s from the first sample), period (s) and duty of "
        "pulses, name"
    ) = (),
):
    """A source block: the samples that the inputs of an array would give.

    Receiver noise, point sources (steady ones, pulsars and bursts) with their geometric delays,
    gains and cable delays; formulas and limits are documented at the block's class,
    `aperture.aperture_python.array_source`. Out: inputs / inputs_per_port ports; an
    item is one sample of each input of the port, [input]. Tags: item 0 carries rx_time, rx_freq and
    rx_rate.

    Raises ValueError that names the parameter, its value and what is allowed.
    """
    array = load_array(array)
    array.validate()
    inputs_of(array, inputs)
    sources = array.sources if sources is None else sources
    if not isinstance(sources, (list, tuple)):
        refuse("sources", sources, "None, or a list of Source")
    for index, source in enumerate(sources):
        if not isinstance(source, Source):
            refuse(f"sources[{index}]", source, "a Source")
    start = as_time("start_time", start_time)
    length = samples / array.sample_rate if samples else LONGEST_PATH
    return aperture_python.array_source(
        inputs=[
            aperture_python.array_source.input(
                entry.name, tuple(position), entry.polarization, entry.gain, entry.cable_delay
            )
            for entry, position in zip(array.inputs, array.input_positions())
        ],
        sources=[_block_source(source, array, start, length) for source in sources],
        sample_rate=array.sample_rate,
        center_frequency=array.center_frequency,
        latitude=array.latitude,
        type=type,
        samples=samples,
        start_time=start,
        seed=seed,
        inputs_per_port=inputs_per_port,
        noise_rms=noise_rms,
        interference=[_transmitter(index, entry) for index, entry in enumerate(interference)],
    )
