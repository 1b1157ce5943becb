#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Faults of a recording, by its beginning or all of it.

A check is a function of the Scene, all that was read and measured before, which yields findings;
CHECKS is the table of them.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from ..arrays.geometry import SPEED_OF_LIGHT
from ..inputs.registry import kind_by_name, kinds, open_input
from ..parameters.sample_types import SAMPLE_TYPES
from ..parameters.times import exact, length_text, time_text
from ..streams.levels import RANGES
from .faults import LEAST_IMAGE, SURE, carrier_of, image_of, pieces_of, powers_of, steps_of, walk_of
from .findings import Examination, are, names, notice, problem
from .losses import find_losses
from .pairs import COMPARED, compare, plain
from .samples import read_samples

SECONDS = 10.0  # examined by default
MOST_BYTES = 1 << 29  # bytes of samples that are kept
AT_ONCE = 1 << 20  # samples, of which sums are taken
MOST_IN_SPECTRA = 1 << 22  # samples of each input, in which lines are sought
MOST_COMPARED = 32  # inputs, with the first one
MOST_WIDE = 4  # inputs that are compared in all samples, after nothing was found
PLACES = 48  # places where losses of all pairs are sought, but
FEWEST_PLACES = 6  # at least so many of each pair
MOST_UNUSED = 1e-2  # part of the samples in the files
CHANNELS = 1024  # channels of spectra in which lines are sought
LINE = 10.0  # times the power of the channels around it
SHORTEST = 0.05  # s
SHORTEST_PIECE = 4096  # samples, of which a level is taken
BAD_IMAGE = 0.05  # amplitude of an image, from which on it is a problem
EARTH = 7.2921e-5  # radians a second that the Earth rotates
OLDEST = 315532800  # 1980 in seconds since 1970; GPS time begins there, and little before


@dataclass
class Input:
    """
    The measurements of an input.

    rms: of a component (without the mean), `mean`: of the components; peak: fraction of the
    components at the ends of their range; zeros: fraction of the samples that are 0; image: the
    amplitude by which what is above the centre shows below it, 0 where none was found; steps: of
    the level, [(s after the beginning, dB)]; lines: [(Hz from the centre, share of the power)].
    """

    number: int
    name: str
    samples: int
    missing: float
    finite: bool = True
    constant: bool = False
    mean: tuple = ()
    rms: float = 0.0
    parts: tuple = ()
    peak: float = 0.0
    zeros: float = 0.0
    few_levels: bool = False
    image: float = 0.0
    steps: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    @property
    def silent(self):
        return self.constant or self.samples == 0


@dataclass
class Scene:
    """All that is known: signals, the seconds that were read, Inputs, what kept more from being
    read, Pairs with the first, Losses, Walks and common carriers by the number of a pair's input,
    what became of packets, and of frames in files, and whether
    more than fits into memory was to be read."""

    signals: object
    seconds: float
    inputs: list
    error: str = ""
    pairs: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    walks: dict = field(default_factory=dict)
    carriers: dict = field(default_factory=dict)
    packets: dict = field(default_factory=dict)
    frames: dict = field(default_factory=dict)
    full: bool = False

    @property
    def rest(self):
        """Seconds that were not looked at; 0 of what has no end."""
        whole = self.signals.samples
        return (
            0.0
            if whole is None or self.error
            else max(0.0, whole / self.signals.sample_rate - self.seconds)
        )

    def channel_text(self, offset):
        """A frequency, by its distance from the middle of the band."""
        sign = -1 if self.signals.inverted else 1
        return f"{(self.signals.center_frequency + sign * offset) / 1e6:.6g} MHz"


# --- measuring ----------------------------------------------------------------------------------


def _at_the_ends(parts, limit):
    """The fraction of values that were clamped: at the limit of the type, or such as pile up at the
    largest value that there is."""
    if limit < np.inf:
        clamped = np.mean((parts >= limit) | (parts <= -limit))
        if clamped > 0:
            return float(clamped)
    values, counts = np.unique(parts[: 1 << 18], return_counts=True)
    if len(values) < 16:
        return 0.0
    ends = 0
    for this, next_to in ((-1, -2), (0, 1)):
        # the extremes of a sine pile up, too, but by at most 2.4 times
        if counts[this] > 4 and counts[this] > 3 * counts[next_to]:
            ends += counts[this]
    return float(ends / counts.sum())


def _lines(values, rate):
    """[(Hz from the middle of the band, share of the power)] of channels that stand out."""
    values = values[: len(values) // CHANNELS * CHANNELS].reshape(-1, CHANNELS)
    if len(values) < 16:
        return []
    window = np.hanning(CHANNELS).astype(np.float32)
    if np.iscomplexobj(values):
        spectra = np.fft.fftshift(np.fft.fft(values * window, axis=1), axes=1)
        frequencies = np.fft.fftshift(np.fft.fftfreq(CHANNELS, 1 / rate))
    else:
        spectra = np.fft.rfft(values * window, axis=1)[:, :-1]
        frequencies = np.fft.rfftfreq(CHANNELS, 1 / rate)[:-1] - rate / 4
    power = np.mean(np.abs(spectra) ** 2, axis=0)
    # beside the mean of the samples and what the window makes of it, which dc() tells of
    power[
        np.abs(frequencies + (0 if np.iscomplexobj(values) else rate / 4)) < 2.5 * rate / CHANNELS
    ] = 0
    near = np.array([np.median(power[max(0, k - 32) : k + 33]) for k in range(len(power))])
    out = np.flatnonzero(power > LINE * np.maximum(near, 1e-12 * power.max()))
    found = []
    for group in np.split(out, np.flatnonzero(np.diff(out) > 3) + 1) if len(out) else []:
        best = group[np.argmax(power[group])]
        # with what the window spreads beside it
        wide = slice(max(0, group[0] - 2), group[-1] + 3)
        share = np.sum((power - near)[wide]) / np.sum(power)
        found.append((float(frequencies[best]), float(share)))
    return sorted(found, key=lambda line: -line[1])


def measure(samples, number, signals):
    """The Input of a number."""
    limit = SAMPLE_TYPES[signals.sample_type].largest
    parts = samples.of(number)
    found = Input(
        number,
        signals.description.input_names[number],
        len(parts),
        float(np.mean(samples.missing[number])) if samples.count else 0.0,
    )
    if not len(parts):
        return found
    # in pieces, since what NumPy makes on the way is larger than the samples
    pieces = [parts[first : first + AT_ONCE] for first in range(0, len(parts), AT_ONCE)]
    with np.errstate(all="ignore"):
        found.finite = all(
            np.isfinite(piece).all() and np.abs(piece, dtype=np.float64).max() < 1e15
            for piece in pieces
        )
    if not found.finite:
        return found
    found.constant = all((piece == parts[0]).all() for piece in pieces)
    mean = sum(np.sum(piece, axis=0, dtype=np.float64) for piece in pieces) / len(parts)
    power = sum(np.sum(np.square(piece - mean), axis=0) for piece in pieces) / len(parts)
    found.mean, found.parts = tuple(map(float, mean)), tuple(map(float, np.sqrt(power)))
    found.rms = float(np.sqrt(np.mean(power)))
    found.zeros = _dropped(parts)
    found.few_levels = limit < np.inf and len(np.unique(parts[: 1 << 16])) <= 16
    if not found.constant:
        found.peak = _at_the_ends(parts.ravel(), limit)
        series = samples.series(number, 0, MOST_IN_SPECTRA)
        found.lines = _lines(
            series - (complex(*found.mean) if len(found.mean) > 1 else found.mean[0]),
            signals.sample_rate,
        )
        found.steps = _steps(parts, signals.sample_rate)
        if len(found.mean) == 2:
            image, sigma = image_of(series - complex(*found.mean))
            found.image = image if image > max(LEAST_IMAGE, SURE * sigma) else 0.0
    return found


def _steps(parts, rate):
    """Steps of the level of samples that are there, [(s after the beginning, dB)]."""
    count, length = pieces_of(len(parts), SHORTEST_PIECE)
    if count == 0:
        return []
    found = steps_of(powers_of(parts, count, length))
    return [((at + 0.5) * length / rate, jump) for at, jump in found]


def _dropped(parts):
    """The fraction of samples in runs of 64 zeros or more: no noise does that."""
    zero = (parts == 0).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], zero.view(np.int8), [0]))))
    lengths = edges[1::2] - edges[::2]
    return float(lengths[lengths >= 64].sum() / len(parts))


def _begin(signals):
    whole, fraction = signals.start_time
    return time_text(whole + exact(fraction))


# --- the recording as a whole -------------------------------------------------------------------


def told(scene):
    """Returns the warnings of the format's reader."""
    for text in scene.signals.warnings:
        yield notice("reader", [], text + ".")


def broken(scene):
    """A file that cannot be read to its end."""
    if scene.error:
        yield problem(
            "broken",
            [],
            f"It could not be read on: {scene.error}.",
            "What came before was looked at. Copy the file again from where it was "
            "recorded, and look whether the disk is full there.",
        )


def part(scene):
    """Not all of it was looked at."""
    if scene.rest > 0:
        why = ", as more does not fit into the memory that this takes" if scene.full else ""
        yield notice(
            "part",
            [],
            f"Only the first {length_text(scene.seconds)} were looked at{why}: nothing "
            f"is said of the {length_text(scene.rest)} behind them.",
            ""
            if scene.full
            else f"--seconds {np.ceil(scene.seconds + scene.rest):.0f} looks at all of it.",
        )


def unused(scene):
    """Frames and blocks that contradict the others, or are damaged."""
    if scene.signals.unused > MOST_UNUSED:
        yield problem(
            "unused",
            [],
            f"{scene.signals.unused:.1%} of the blocks of the recording are not "
            "used, as they are damaged or contradict the others.",
            "What its reader says of them stands below. Copy the files again from where they were "
            "recorded; if they are the same there, the recorder writes what it does not say.",
        )
    counts = {name: number for name, number in scene.frames.items() if number}
    skipped = counts.pop("skipped", 0)
    if counts or skipped:
        frames = names(
            [f"{number} {name} frame{'s' if number > 1 else ''}" for name, number in counts.items()]
            + ([f"{skipped} bytes between frames"] if skipped else [])
        )
        lost = max((entry.missing for entry in scene.inputs), default=0.0)
        report = problem if lost > MOST_UNUSED else notice
        yield report(
            "unused",
            [],
            f"{frames} are not used.",
            "Copy the files again from where they were recorded.",
        )


def short(scene):
    """Too little to see anything in."""
    signals = scene.signals
    if signals.samples is not None and signals.samples / signals.sample_rate < SHORTEST:
        yield notice(
            "short",
            [],
            f"It is only {length_text(signals.samples / signals.sample_rate)}"
            " long, in which little can be seen.",
            "Record for some seconds at least.",
        )


def times(scene):
    """Times at which nobody recorded this."""
    start = scene.signals.start_time[0]
    if start < OLDEST:
        yield problem(
            "time",
            [],
            f"It says that it began at {_begin(scene.signals)}: that is "
            "a clock that was never set, and directions on the sky will be wrong.",
            "Give the right time, with time= where the format has it (aperture_fx --help-input "
            "KIND).",
        )
    elif start > time.time() + 86400:
        yield problem(
            "time",
            [],
            f"It says that it began at {_begin(scene.signals)}, which is in the future.",
            "Set the clock of the recorder, and give the right time with time=.",
        )


def frequency(scene):
    """A frequency at baseband, where the sky has none."""
    if scene.signals.center_frequency < scene.signals.sample_rate / 2:
        yield problem(
            "frequency",
            [],
            "Its centre frequency is "
            f"{scene.signals.center_frequency / 1e6:.6g} MHz, less than half of its band: whoever "
            "recorded it did not say where the receiver was tuned to. Delays and images need it.",
            "Give the sky frequency of the middle of the band with freq=, in Hz.",
        )


# --- each input by itself -----------------------------------------------------------------------


def not_numbers(scene):
    """Floats that cannot be."""
    wrong = [entry for entry in scene.inputs if not entry.finite]
    if wrong:
        yield problem(
            "not-numbers",
            wrong,
            f"Samples of {names(wrong)} are not numbers, or beyond all "
            "measure: they were most likely not written as floats.",
            "Look what the program that recorded them writes, and say it: type=cu8 for rtl_sdr.",
        )


def silent(scene):
    """Inputs on which nothing ever changes."""
    for entry in scene.inputs:
        if entry.finite and entry.constant:
            zero = not any(entry.mean)
            yield problem(
                "silent",
                [entry],
                f"{entry.name} is "
                + ("zero throughout" if zero else f"stuck at {_value(entry.mean)} throughout")
                + ": not even a receiver without an antenna is that quiet.",
                "Nothing came from this receiver. Look whether it was the right device, whether it "
                "was streaming, and whether this column of the file is the input that you mean.",
            )


def _value(mean):
    return f"{mean[0]:.4g}" + (f" {mean[1]:+.4g}i" if len(mean) == 2 else "")


def missing(scene):
    """Samples that the format says are lost, and such as were quietly filled with zeros."""
    for entry in scene.inputs:
        if entry.samples == 0:
            yield problem(
                "missing",
                [entry],
                f"{entry.name} has no samples in the first "
                f"{length_text(scene.seconds)}: it begins later, or lost them all.",
                "Look at more of it with --seconds, or leave the input away.",
            )
        elif entry.missing > 1e-2:
            yield problem(
                "missing",
                [entry],
                f"{entry.missing:.1%} of the samples of {entry.name} are "
                "missing in what was looked at.",
                "The recorder could not keep up, or its recording begins later than the others. "
                "They count as missing and do no harm, but the integration is shorter.",
            )
        elif entry.missing > 0:
            yield notice(
                "missing",
                [entry],
                f"{entry.missing:.2g} of the samples of {entry.name} "
                "are missing; they will not be counted.",
            )
        if entry.samples and entry.zeros > 1e-4 and not entry.silent:
            yield problem(
                "zeros",
                [entry],
                f"{entry.zeros:.1%} of the samples of {entry.name} are zeros in "
                "rows of 64 or more: the recorder put them where it had lost samples, and nothing "
                "marks them.",
                "They count as if the sky had been silent. Record again with a "
                "lower sample rate or a faster disk, at best to memory (/dev/shm).",
            )


def packets(scene):
    """Packets that came and could not be used, or that the system threw away."""
    for name, what, remedy in (
        (
            "dropped",
            "were thrown away by the system, as the socket's buffer was full",
            "Let it be larger: `sysctl -w net.core.rmem_max=67108864`; docs/packets.md says what "
            "else helps.",
        ),
        (
            "wrong",
            "have another length or header than what was said of them",
            "Compare layout, samples, inputs, coding and complex with what the sender does.",
        ),
        ("late", "came behind the window", "Make window= longer."),
        (
            "stray",
            "are of other times than the others",
            "Is there a second sender, or one whose time is wrong? senders= says who is allowed.",
        ),
        ("refused", "come from senders that are not allowed", "senders= says who is."),
        ("unwanted", "are of streams that are not read", "streams= says which are."),
    ):
        number = scene.packets.get(name, 0)
        came = scene.packets.get("received", 0) + scene.packets.get("dropped", 0)
        if number:
            report = problem if number > 1e-3 * came else notice
            yield report(f"packets-{name}", [], f"{number} of {came} packets {what}.", remedy)


def clamped(scene):
    """Samples that did not fit."""
    for entry in scene.inputs:
        if entry.peak > 5e-3:
            yield problem(
                "clamped",
                [entry],
                f"{entry.peak:.1%} of the values of {entry.name} are at the "
                "end of the range: the converter was overdriven. That makes signals out of "
                "nothing, and lowers the coherence.",
                "Lower the receiver's gain until the rms is about a sixth of the range (20 of 127 "
                "steps). If it does not help, something strong outside of the band does it: put a "
                "filter before the receiver. If the recording is from another program, its type "
                "may be another one than was said.",
            )
        elif entry.peak > 1e-4:
            yield notice(
                "clamped",
                [entry],
                f"{entry.peak:.2g} of the values of {entry.name} are "
                "at the end of the range: a little less gain would be better.",
            )


def level(scene):
    """Levels that lie in the rounding."""
    signals = scene.signals
    if np.isinf(SAMPLE_TYPES[signals.sample_type].largest):
        return
    lowest = RANGES["sc8"].lowest
    for entry in scene.inputs:
        if entry.silent or not entry.finite or entry.few_levels and entry.rms > 8:
            continue
        if entry.rms < lowest:
            yield problem(
                "too-low",
                [entry],
                f"The level of {entry.name} is {entry.rms:.2g} steps of the "
                "converter (rms): a good part of that is rounding, not sky.",
                "Raise the receiver's gain by "
                f"{20 * np.log10(RANGES['sc8'].target / max(entry.rms, 0.1)):.0f} dB. If it is as "
                "high as it goes, the amplifier at the antenna has no power.",
            )
        elif entry.rms < RANGES["sc8"].low:
            yield notice(
                "low",
                [entry],
                f"The level of {entry.name} is {entry.rms:.2g} steps (rms), which is low.",
                "About 20 of 127 steps are best.",
            )


def unequal(scene):
    """Inputs that differ in level as no two receivers of one kind do."""
    there = [entry for entry in scene.inputs if not entry.silent and entry.finite]
    if len(there) < 2:
        return
    strong = max(there, key=lambda entry: entry.rms)
    weak = [entry for entry in there if entry.rms * 10 < strong.rms]
    if weak:
        yield notice(
            "unequal",
            weak,
            f"{names(weak)} {are(weak)} more than 20 dB weaker than {strong.name}.",
            "Look whether the antenna is connected, and whether its amplifier "
            "has power; give all receivers the same gain, with automatic gain switched off.",
        )


def dc(scene):
    """A constant beside the signal."""
    for entry in scene.inputs:
        if entry.silent or not entry.finite or entry.rms == 0:
            continue
        share = max(map(abs, entry.mean)) / entry.rms
        middle = "middle" if len(entry.mean) == 2 else "lower end"
        text = (
            f"{entry.name} has a constant of {_value(entry.mean)} beside a signal of "
            f"{entry.rms:.3g} (rms): a line at the {middle} of the band."
        )
        if share > 1:
            yield problem(
                "dc-offset",
                [entry],
                text,
                "If the file has unsigned bytes, its type is cu8 (or u8), not a signed one. "
                "Otherwise tune the receiver some kHz beside what you look for, and leave the "
                "channel there away.",
            )
        elif share > 0.1:
            yield notice(
                "dc-offset",
                [entry],
                text,
                "All receivers that mix to baseband have one; leave this channel away.",
            )


def one_part(scene):
    """Complex samples of which half is missing."""
    for entry in scene.inputs:
        if entry.silent or not entry.finite or len(entry.parts) != 2:
            continue
        weak, strong = sorted(entry.parts)
        if weak * 4 < strong:
            yield problem(
                "one-component",
                [entry],
                f"Real and imaginary part of {entry.name} differ in "
                f"level ({entry.parts[0]:.3g} and {entry.parts[1]:.3g}): what is above the centre "
                "frequency appears below as well.",
                "One channel of the receiver's converter is dead, or these are real samples (type "
                "s8, s16 or f32, not complex).",
            )


def images(scene):
    """Images of what is above the centre frequency, below it."""
    for entry in scene.inputs:
        if not entry.image:
            continue
        level = 20 * np.log10(entry.image)
        report = problem if entry.image > BAD_IMAGE else notice
        yield report(
            "image",
            [entry],
            f"{entry.name} has an I/Q image of {level:.0f} dB: whatever is above the centre "
            "frequency appears below it as well, that much weaker, and the other way round.",
            "The two components of this receiver differ in gain, or are not 90° apart: let its "
            "driver correct that (I/Q balance, calibration), or tune such that nothing strong "
            "has its image where you look.",
        )


def gain_steps(scene):
    """Levels that change from one moment to the next."""
    for entry in scene.inputs:
        if not entry.steps:
            continue
        at, jump = entry.steps[0]
        more = len(entry.steps) - 1
        yield problem(
            "gain-steps",
            [entry],
            f"The level of {entry.name} changes by {jump:+.1f} dB {length_text(at)} after the "
            "beginning, from one moment to the next"
            + (f", and {more} more time{'s' if more > 1 else ''}" if more else "")
            + ": the sky does not do that.",
            "Switch automatic gain off, at the tuner and in the digital part, and set a gain; if "
            "it is off, look for a loose connector or a transmitter nearby that is keyed.",
        )


def lines(scene):
    """Interference."""
    for entry in scene.inputs:
        if not entry.lines:
            continue
        share = sum(line[1] for line in entry.lines)
        places = names([scene.channel_text(offset) for offset, _ in entry.lines[:3]])
        count = len(entry.lines)
        text = (
            f"{entry.name} has "
            + ("a narrow line" if count == 1 else f"{count} narrow lines")
            + f" with {share:.0%} of the power, at {places}"
            + (" and elsewhere." if count > 3 else ".")
        )
        if share > 0.5:
            yield problem(
                "interference",
                [entry],
                text + " It is most of what this input sees.",
                "Find the transmitter (computers, power supplies and monitors are near ones), go "
                "away from it, or tune away. Leave these channels away in what you make of it.",
            )
        else:
            yield notice("interference", [entry], text, "Leave these channels away.")


# --- inputs beside each other -------------------------------------------------------------------


def _name(scene, number):
    return scene.inputs[number].name


def identical(scene):
    """One receiver that was recorded twice."""
    for pair in scene.pairs:
        if pair.equal:
            a, b = _name(scene, pair.reference), _name(scene, pair.number)
            later = f", {abs(pair.lag)} samples apart" if pair.lag else ""
            yield problem(
                "identical" if pair.equal > 0 else "opposite",
                [a, b],
                f"{a} and {b} have the same samples"
                + ("" if pair.equal > 0 else " with opposite signs")
                + f"{later}: both came from "
                "one receiver.",
                "Two receivers never have the same noise. Give each dongle a serial number of its "
                "own and name it in the recorder (see aperture_doctor receivers), or name two "
                "different files.",
            )


def reversed_band(scene):
    """Spectra that run against each other."""
    for pair in scene.pairs:
        if pair.reversed:
            a, b = _name(scene, pair.reference), _name(scene, pair.number)
            yield problem(
                "reversed",
                [a, b],
                f"{b} sees what {a} sees with its band reversed (coherence "
                f"{pair.coherence:.2f} when it is conjugated, none as it is).",
                "One of them has its real and imaginary parts exchanged, or another sideband. Read "
                f"{b} with inverted=yes in a file of its own, or exchange the two parts where it "
                "is recorded.",
            )


def _light_time(description):
    """Seconds that light takes between the antennas that are farthest apart."""
    places = np.array([entry.position for entry in description.antennas])
    return np.max(np.linalg.norm(places[:, None] - places[None], axis=-1)) / SPEED_OF_LIGHT


def two_clocks(scene):
    """Phases that run faster than the Earth rotates."""
    sky = scene.signals.center_frequency
    natural = EARTH * _light_time(scene.signals.description) * sky
    for pair in scene.pairs:
        if abs(pair.drift) <= 2 * natural:
            continue
        a, b = _name(scene, pair.reference), _name(scene, pair.number)
        yield problem(
            "two-clocks",
            [a, b],
            f"The phase between {a} and {b} runs through "
            f"{abs(pair.drift):.3g} cycles a second: they are on two clocks"
            + (f", which differ by {abs(pair.drift) / sky * 1e6:.2g} ppm." if sky > 0 else "."),
            "Give both receivers one clock (docs/lab/hardware.md); after that, record again. In a "
            "flowgraph, Clock Error of Stream Align follows two clocks, if there is a strong "
            "common source.",
        )


def walking(scene):
    """Phases that walk away, slower than those of two clocks and faster than the Earth rotates."""
    sky = scene.signals.center_frequency
    natural = EARTH * _light_time(scene.signals.description) * sky
    told = {pair.number for pair in scene.pairs if abs(pair.drift) > 2 * natural}
    for pair in scene.pairs:
        walk = scene.walks.get(pair.number)
        if walk is None or pair.number in told:
            continue
        a, b = _name(scene, pair.reference), _name(scene, pair.number)
        if walk.walks and abs(walk.rate) > 2 * natural:
            yield problem(
                "phase-walks",
                [a, b],
                f"The phase between {a} and {b} walks by {np.degrees(walk.total):+.0f}° in "
                f"{length_text(scene.seconds)}, {abs(walk.rate):.2g} cycles a second"
                + (f" ({abs(walk.rate) / sky * 1e6:.2g} ppm)" if sky > 0 else "")
                + ": more than the sky does.",
                "Their clocks differ a little, or one of them is bound to another reference: give "
                "both one clock. Integrations longer than a quarter of a cycle average it out.",
            )
        elif walk.wanders:
            yield problem(
                "phase-walks",
                [a, b],
                f"The phase between {a} and {b} wanders by {np.degrees(walk.wander):.0f}° rms in "
                f"{length_text(scene.seconds)}, here and there, as one clock does not.",
                "With RTL-SDRs on one clock it is the dithering of their tuners: a driver that "
                "switches it off (docs/clocks-and-alignment.md), or Interval of Stream Align. "
                "Otherwise a clock's cable, or a crystal without a temperature to keep.",
            )


def carriers(scene):
    """Pairs that have nothing in common but a carrier."""
    for number, (place, share, coherence) in scene.carriers.items():
        pair = next(entry for entry in scene.pairs if entry.number == number)
        a, b = _name(scene, pair.reference), _name(scene, pair.number)
        yield problem(
            "carrier",
            [a, b],
            f"{a} and {b} have a carrier in common at {scene.channel_text(place)}, with "
            f"{share:.0%} of the power and a coherence of {coherence:.2f} there, and nothing else: "
            "a carrier has no delay, so that it says nothing of when they began.",
            "Tune beside it, switch it off if it is yours, or give the inputs a noise source or a "
            "source on the sky, which has a band.",
        )


def offset(scene):
    """Receivers that did not begin at one time."""
    size = _light_time(scene.signals.description)
    rate = scene.signals.sample_rate
    for pair in scene.pairs:
        if not pair.found or pair.equal or abs(pair.offset) < 2 + size * rate:
            continue
        a, b = _name(scene, pair.reference), _name(scene, pair.number)
        late, early = (b, a) if pair.offset > 0 else (a, b)
        yield problem(
            "offset",
            [a, b],
            f"{late} begins {length_text(abs(pair.offset) / rate)} "
            f"({abs(pair.offset):.1f} samples) later than {early}, and no time says so: the "
            "fringes are lost, or rotate quickly along the band.",
            "In a flowgraph, put Stream Align behind the sources: it measures this and makes up "
            "for it. With raw: or sigmf:, give each file the time at which it began (time=...;... "
            f"for raw:), {length_text(abs(pair.offset) / rate)} apart.",
        )


def lost(scene):
    """Samples that one input lost while others went on."""
    rate = scene.signals.sample_rate
    for loss in scene.losses:
        name = _name(scene, loss.number)
        middle, within = (loss.begin + loss.end) / 2 / rate, (loss.end - loss.begin) / 2 / rate
        yield problem(
            "lost",
            [name],
            f"{name} lost {loss.samples} samples "
            f"({length_text(loss.samples / rate)}) {length_text(middle)} after the beginning "
            f"(within {length_text(within)}), and nothing marks them: from there on it is ahead of "
            "the other inputs, and the fringes are lost.",
            "The computer did not keep up. Record again with a lower sample rate or a faster disk, "
            "at best to memory (/dev/shm), or in a flowgraph with Receiver Tags and Stream Align, "
            "which notice a loss; of this recording, only use what comes before.",
        )


def nothing_in_common(scene):
    """Inputs that do not see the same signal."""
    apart = [pair for pair in scene.pairs if not pair.found and pair.number not in scene.carriers]
    common = [pair for pair in scene.pairs if pair.found]
    for pair in apart:
        a, b = _name(scene, pair.reference), _name(scene, pair.number)
        what = f"{a} and {b} do not see the same signal, in what was looked at."
        if len(common) > len(apart):
            yield problem(
                "nothing-in-common",
                [a, b],
                what + " The other inputs do.",
                f"Look at the antenna and the cables of {b}, at its frequency, and whether it runs "
                "on the same clock as the others.",
            )
        else:
            yield notice(
                "nothing-in-common",
                [a, b],
                what,
                "That is so for sources that are fainter than the receivers' noise. If a noise "
                "source or the Sun was on: one input's antenna, frequency or polarisation is "
                "another one, they run on two clocks, or they began more than "
                f"{length_text(pair.compared / 2 / scene.signals.sample_rate)} apart.",
            )


CHECKS = [
    unused,
    told,
    broken,
    part,
    short,
    times,
    frequency,
    not_numbers,
    silent,
    missing,
    packets,
    clamped,
    level,
    unequal,
    dc,
    one_part,
    images,
    gain_steps,
    lines,
    identical,
    reversed_band,
    two_clocks,
    walking,
    offset,
    lost,
    carriers,
    nothing_in_common,
]


# --- the examination ----------------------------------------------------------------------------


def input_text(text):
    """The text of an input that names a recording: itself, or with the kind that the ending of its
    first file's name says; None where neither does."""
    kind = text.partition(":")[0]
    if ":" in text and kind in kinds():
        return text
    found = kind_by_name(text)
    return f"{found}:{text}" if found else None


def _summary(scene, entry):
    parts = [f"rms {entry.rms:.3g}"]
    if entry.missing:
        parts.append(f"{entry.missing:.2g} missing")
    for pair in scene.pairs:
        if pair.number == entry.number and pair.found:
            parts.append(
                f"with {_name(scene, pair.reference)}: coherence {pair.coherence:.2f}, "
                f"offset {pair.offset:+.2f} samples, phase "
                f"{np.degrees(pair.phase):+.0f}°"
            )
    return ", ".join(parts)


def _head(signals, seconds):
    length = (
        "without end"
        if signals.samples is None
        else length_text(signals.samples / signals.sample_rate)
    )
    return (
        f"{signals.inputs} input{'s' if signals.inputs > 1 else ''} of {signals.sample_type}, "
        f"{signals.sample_rate / 1e6:.9g} Msample/s, centre "
        f"{signals.center_frequency / 1e6:.9g} MHz, from {_begin(signals)}, "
        f"{length}; the first {length_text(seconds)} were looked at"
    )


def examine_recording(text, seconds=SECONDS, array=None):
    """
    Looks at a recording.

    Parameters
    ----------
    text : str
        The text of an input, as input_text() gives it.
    seconds : float
        The most that is examined, as far as 512 MiB of samples go.
    array : str, optional
        The description of its array.

    Raises
    ------
    ValueError, RuntimeError, OSError
        It cannot be read; the message says why.
    """
    signals = open_input(text, array)
    if signals.live or signals.ports != 1:
        raise ValueError(
            f"{text}: is a receiver, not a recording; aperture_doctor receivers looks at receivers"
        )
    if signals.channels:
        raise ValueError(
            f"{text}: has {signals.channels} channels, and not samples, which are what is examined "
            "here (channel= of some formats chooses one)"
        )
    # with a byte of each input that says whether a sample is missing
    each = signals.inputs * (SAMPLE_TYPES[signals.sample_type].size + 1)
    wanted = seconds * signals.sample_rate
    if signals.samples is not None:
        wanted = min(wanted, signals.samples)
    count = int(max(1, min(wanted, MOST_BYTES // each)))
    samples = read_samples(signals, count)
    scene = Scene(
        signals,
        samples.count / signals.sample_rate,
        [measure(samples, number, signals) for number in range(signals.inputs)],
        samples.error,
        packets=samples.packets,
        frames=samples.frames,
        full=count < int(wanted),
    )
    good = [entry.number for entry in scene.inputs if entry.finite and not entry.silent]
    _compare_all(scene, samples, good[0] if good else None, good[1:MOST_COMPARED])
    findings = [found for check in CHECKS for found in check(scene)]
    things = [{"name": "the recording", "summary": _head(signals, scene.seconds)}]
    things += [
        {
            "name": entry.name,
            "summary": _summary(scene, entry),
            "rms": entry.rms,
            "mean": list(entry.mean),
            "clamped": entry.peak,
            "missing": entry.missing,
        }
        for entry in scene.inputs
    ]
    return Examination(
        "recording",
        things,
        findings,
        f" in the first {length_text(scene.seconds)}" if scene.rest else "",
    )


def _compare_all(scene, samples, reference, others):
    """Compares inputs with a reference: the Pairs and Losses of a scene."""
    rate, wide, losses = scene.signals.sample_rate, MOST_WIDE, {}
    for number in others:
        pair = compare(
            samples,
            reference,
            number,
            scene.signals.center_frequency,
            rate,
            **({} if wide else {"most": COMPARED}),
        )
        if pair is None:
            continue
        wide -= pair.compared > COMPARED
        scene.pairs.append(pair)
        if not pair.found:
            carrier = _carrier(scene, samples, pair)
            if carrier:
                scene.carriers[number] = carrier
        for loss in find_losses(samples, pair, max(FEWEST_PLACES, PLACES // len(others))):
            # a loss of the reference shows in every pair
            near = round(loss.begin / rate) if loss.number == reference else loss.begin
            losses.setdefault((loss.number, loss.samples, near), loss)
    scene.losses = sorted(losses.values(), key=lambda loss: loss.begin)
    lost = {loss.number for loss in scene.losses}
    for pair in scene.pairs:
        if pair.found and not pair.equal and not lost & {pair.number, pair.reference}:
            scene.walks[pair.number] = walk_of(samples, pair, rate)


def _carrier(scene, samples, pair):
    """The carrier that a pair has in common, as carrier_of() has it."""
    if scene.signals.real:
        return None
    values = [
        plain(samples.series(number, pair.first, pair.compared))
        for number in (pair.reference, pair.number)
    ]
    found = [scene.inputs[number].lines for number in (pair.reference, pair.number)]
    return carrier_of(*values, *found, scene.signals.sample_rate)
