#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The flowgraph of a plan.

    source -> (zoom) -> (tracker) -> (pointing) -> F-engines -> X-engines -> file of visibilities
                                                   -> beams -> powers, search, folding, voltages
                                                   -> files of voltages, ring of voltages
                                                   -> network, to X-engines of other hosts

What stands behind the F-engines is what sections of the plan say. On a host that has X-engines of
some channels, frames come from the network.
"""

import math
from fractions import Fraction
from dataclasses import replace

import numpy as np

from .. import devices
from ..monitoring.array_values import array_section
from ..monitoring.beam_values import beams_section
from ..parameters.errors import ParameterError
from ..parameters.rules import INT32
from ..parameters.sample_types import SAMPLE_TYPES
from ..plan.signal_sections import DEFAULT_INTEGRATION
from ..tracking.directions import age_warnings, azimuth_elevation
from ..tracking.smearing import FINE_CYCLES, MOST_CYCLES, Smearing, half_power_radius
from .beams import Beams, Sky, blind_beams, power_files
from .calibrating import Calibrator, calibration_loop
from .correlator import Correlator, history, rotates_before
from .front_end import FrontEnd, tracked_delay
from .input import keep_what_is_read, length_of, open_input
from .levels import fill_gains, measure_gains, samples_for_gains
from .part_graph import PartGraph
from .products import averaged_of, make_products
from .recorded_channels import check_recorded
from .resume import Resumption
from .sizes import choose_sizes, points_of, ratio_of
from .units import seconds_text
from .voltages import InputVoltages, Ring

MOST_DENOMINATOR = 32  # in the ratio of oversampling that readers of recorded channels take
GPU_SPECTRA = 16  # the X-engine takes 8-bit frames of a multiple of this on a GPU


def frame_multiple(plan):
    """Returns the factor of the number of spectra in a frame."""
    device, found, flags = plan.device.first, 1, plan.flagging
    on_cpu = device == "cpu" or (device == "auto" and devices() == ["cpu"])
    # F-engines alone take any number
    if plan.engines.format == "sc8" and not on_cpu and plan.network.role != "f":
        found = GPU_SPECTRA
    if flags.wanted and flags.spectra_per_slice is not None:
        found = math.lcm(found, flags.spectra_per_slice)
    if plan.network.role != "fx":
        found = math.lcm(found, plan.network.spectra_per_heap)
    return found


def split_of(plan, signals):
    """Channels that each channel is split into, points of the transform for that, and its taps."""
    fine = plan.engines.upchannelise
    if fine is None:
        return 1, 1, 1
    if signals.channels:
        rate = signals.sample_rate / signals.channels / signals.channel_width
        ratio = Fraction(rate).limit_denominator(MOST_DENOMINATOR)
    else:
        ratio = ratio_of(plan.engines.oversampling)
    return fine, points_of(fine, ratio), plan.engines.fine_taps


def sizes_of(plan, signals, weights_hold=math.inf):
    """The Sizes of a plan; weights_hold: seconds, of its beams."""
    samples, duration = length_of(plan, signals)
    role, heap, engines = plan.network.role, plan.network.spectra_per_heap, plan.engines
    if role != "fx" and (engines.spectra_per_frame or 0) % heap:
        called = plan.naming("network.spectra_per_heap")
        raise plan.error(
            "engines.spectra_per_frame", f"expected a multiple of {called} {heap}", shown=True
        )
    writes, detects = plan.outputs.file is not None, plan.beams.directions is not None
    if detects and not writes and samples is None and duration is None:
        # nobody waits longer for what never ends
        weights_hold = min(weights_hold, 4 * DEFAULT_INTEGRATION)
    try:
        sizes = choose_sizes(
            inputs=signals.inputs,
            sample_rate=signals.sample_rate,
            real=signals.real,
            taps=1 if signals.channels else engines.taps,
            bytes_per_value=SAMPLE_TYPES[engines.format].size,
            samples=samples,
            duration=duration,
            channels=signals.channels or engines.channels,
            oversampling="1" if signals.channels else engines.oversampling,
            spectra_per_frame=engines.spectra_per_frame,
            correlates=writes or not detects,
            integration=engines.integration,
            firm=writes and role != "f",
            detects=detects,
            power_integration=plan.beams.integration,
            multiple=frame_multiple(plan),
            weights_hold=weights_hold,
            split=split_of(plan, signals),
            shorter=[
                (f"products.{name}.integration", product.integration)
                for name, product in plan.products.items()
                if product.fast
            ],
            averaging=lambda *lengths: averaged_of(plan, signals, *lengths),
        )
        recorded = bool(signals.channels)
        return replace(sizes, recorded=recorded, spacing=signals.channel_width)
    except ParameterError as error:
        raise plan.error(error.field, error.problem, shown=True) from None
    except ValueError as error:
        if plan.input.start is None:
            raise
        # the start leaves too little, as the number of channels is what was asked for
        raise plan.error("input.start", f"leaves too little: {error}", shown=True) from None


def check_frames(plan, signals, sizes):
    """Refuses frames of a chosen length that are larger than an item can be."""
    chosen = plan.engines.spectra_per_frame
    size = signals.inputs * sizes.channels * SAMPLE_TYPES[plan.engines.format].size
    if chosen is not None and chosen * size > INT32:
        raise plan.error(
            "engines.spectra_per_frame",
            f"{signals.inputs} inputs and {sizes.channels} channels make {size} bytes a spectrum, "
            f"and a frame has at most {INT32}: expected at most {INT32 // size}",
            shown=True,
        )


def check_devices(plan, signals, sizes):
    """Refuses what several devices cannot do, before anything is computed."""
    names = plan.device.several
    if names is None:
        return
    for what, count in (("inputs", signals.inputs), ("channels", sizes.channels)):
        if len(names) > count:
            raise plan.error(
                "device.names", f"{len(names)} devices are more than the {count} {what}", shown=True
            )
    if 1 < signals.ports < len(names):
        raise plan.error(
            "device.names",
            f"the input has {signals.ports} streams, and {len(names)} devices need one each",
            shown=True,
        )


def smeared(plan, array, sizes, rotated):
    """Returns what to tell a user whose integrations or channels are so long and wide that phases
    of what moves with the sky change within them: without tracking, and with it at half power of
    the primary beam, where the antennas' diameters are known. rotated: phases are rotated to phase
    centres before integrations of the X-engine are averaged."""
    width, half = sizes.width, sizes.channels / 2
    top, angle, where = array.center_frequency + half * width, None, "of a source on the sky "
    follow = f"{plan.naming('tracking.direction')} follows a source, or " * (not sizes.recorded)
    if plan.tracking.direction is not None:
        diameters = [array.antenna_of(name).diameter for name in array.input_names]
        if None in diameters or array.center_frequency <= 0:
            return []
        angle = half_power_radius(min(diameters), array.center_frequency)
        where = f"{np.degrees(angle):.2g}° from the tracked direction, at half power, "
        follow = ""
    smearing = Smearing(array.input_positions(), array.latitude, top, angle)

    def baseline(longest):
        first, second = (array.antenna_of(n).name for n in (longest.first, longest.second))
        return f"the phase {where}on baseline {first}-{second} makes up to"

    told = []
    cycles = smearing.fringe_frequency * sizes.integration / (sizes.averaged if rotated else 1)
    if cycles > MOST_CYCLES:
        told.append(
            f"{plan.naming('engines.integration')} {seconds_text(sizes.integration)}: "
            f"{baseline(smearing.fastest)} {cycles:.2g} cycles in an integration, which averages "
            f"it out: {follow}take {seconds_text(FINE_CYCLES / smearing.fringe_frequency, 2)} or "
            "less"
        )
    cycles = smearing.delay * width
    if cycles > MOST_CYCLES:
        called, needed = f"{plan.naming('engines.channels')} {sizes.channels}", ""
        channels = 2 ** math.ceil(math.log2(sizes.channels * cycles / FINE_CYCLES))
        if sizes.recorded or sizes.fine > 1:
            called, needed = f"{sizes.channels} channels", plan.naming("engines.upchannelise") + " "
            channels = math.ceil(sizes.fine * cycles / FINE_CYCLES)
        told.append(
            f"{called}: {baseline(smearing.longest)} "
            f"{cycles:.2g} cycles across a channel of {width / 1e3:.4g} kHz, which averages it "
            f"out: {follow}take {needed}{channels} or more"
        )
    return told


def set_directions(direction, signals):
    """Returns what to tell a user of a direction that has set at the start."""
    start = sum(signals.start_time)
    below = azimuth_elevation(direction, start, signals.description)[1] < 0
    found = [f"{direction.name} is below the horizon at the start"] if below else []
    return found + age_warnings([direction], start)


class Flowgraph(PartGraph):
    """
    The flowgraph of a plan, made but not started.

    Parameters
    ----------
    plan : Plan
        Of this host, checked.
    program : str
        What stands in front of histories; None: the plan's program.
    note : str
        What stands behind them.

    Attributes
    ----------
    plan : Plan
    signals : Signals
        Of the array that this host has, as its calibration makes it.
    sizes : Sizes
    front : FrontEnd or Receiver
    source : block
    split : Split
        None where one host has the whole correlator.
    correlator, beams, sender, voltages, ring : Part
        What stands behind the frames; None where the plan has none.
    products : list of Part
        More products of the correlation.
    gains : array
        Of the inputs; None before they are known, and of fc32.
    warnings : list of str
        What to tell the user at the start.

    Raises
    ------
    InputFailure
        The input could not be opened.
    ValueError, RuntimeError, OSError
        As the plan and the blocks raise them.
    """

    def __init__(self, plan, program=None, note=""):
        super().__init__(plan.program)
        self.plan, self.gains, self._tell, self._warn = plan, None, None, None
        signals = open_input(plan)
        check_recorded(plan, signals)
        sky = Sky(plan, signals)
        self.sizes = sizes_of(plan, signals, sky.weights_hold)
        check_devices(plan, signals, self.sizes)
        check_frames(plan, signals, self.sizes)
        self._calibrator = Calibrator(plan, signals, self.sizes.coarse.channels)
        #: gains are measured from these, also where a run goes on in the middle
        self._whole = signals, self.sizes
        self.resumed = None
        if plan.outputs.resume:
            signals = self._resume(plan, signals, sky.beams)
        self.split = self.correlator = self.beams = None
        self.products = []
        self.sender = self.voltages = self.ring = None
        role, written = plan.network.role, program or plan.program
        if role != "fx":
            # not at the top: it needs spead2
            from .network import Receiver, Sender, Split

            self.split = Split(plan, signals, self.sizes)
            self.sizes = self.split.sizes
        if role == "f" and signals.part is not None and self.split.count < signals.inputs:
            signals = signals.part(self.split.first, self.split.count)
            self._calibrator = Calibrator(plan, signals, self.sizes.channels)
        self.signals, array = signals, signals.description
        self.warnings = [*signals.warnings, *self._calibrator.warnings]
        if role == "x":
            self.front = Receiver(plan, signals, self.split)
            last = self.split.first + self.split.count - 1
            written += f", channels {self.split.first} to {last} of {self.split.whole.channels}"
        else:
            self.front = FrontEnd(plan, signals, self.sizes, self._calibrator)
        self.source, flagging = self.front.source, self.front.flagging
        if role == "f":
            if hasattr(self.source, "align_to"):
                self.source.align_to(self.sizes.hop)
            self.sender = Sender(plan, signals, self.split)
        elif plan.outputs.file is not None:
            self.correlator = Correlator(
                plan,
                signals,
                self.sizes,
                flagging,
                self.front.stream if role == "fx" else None,
                written,
                note,
                calibration_loop(plan, signals, self.sizes, self.source),
            )
            self.products = make_products(
                plan,
                signals,
                self.sizes,
                self.front,
                self.correlator,
                written,
                note,
            )
            if self.resumed:
                self.correlator.sink.go_on(self.resumed.kept, self.resumed.passed_over)
        if sky.beams:
            self.beams = Beams(plan, signals, self.sizes, sky.beams, self.front)
            self.warnings += blind_beams(sky.beams, array, sum(signals.start_time))
            self.warnings += age_warnings(sky.beams, sum(signals.start_time))
            self.warnings += sky.problems(plan, self.sizes.frame_length)
            if self.beams.vlbi:
                self.warnings += self.beams.vlbi.warnings(plan)
            if self.resumed:
                self.beams.go_on(self.resumed, self._whole[0])
        if plan.voltages.file is not None:
            text = history(written, plan, self.sizes, flagging, note)
            self.voltages = InputVoltages(plan, signals, self.sizes, text)
        if plan.ring.file is not None:
            self.ring = Ring(plan, signals, self.sizes, note)
        if self.correlator and role == "fx":
            self.warnings += smeared(plan, array, self.sizes, rotates_before(plan, signals))
        if self.front.tracker:
            self.warnings += set_directions(self.front.tracker.direction(), signals)
        self._connect()
        for field, block in {**self._of_parts("sinks"), **self._of_parts("results")}.items():
            keep_what_is_read(plan, signals, field, block.files())

    def _resume(self, plan, signals, beams):
        """Goes on where the files end; the Signals from there on."""
        refuse = lambda why: plan.error("outputs.resume", f"{plan.input.source} {why}")
        if signals.source_from is None or self.sizes.spectra is None:
            raise refuse("is not read twice: only recordings are")
        before = 0
        if plan.tracking.direction is not None:
            before = 2 * tracked_delay(signals, self._calibrator)
        powers = power_files(plan, self.sizes, signals.description, beams) if beams else ()
        self.resumed = Resumption(plan, signals, self.sizes, before, powers)
        self.sizes = self.resumed.rest_of(self.sizes)
        return signals.after(self.resumed.first) if self.resumed.first else signals

    def _connect(self):
        followers = [each for part in self.parts for each in part.followers()]
        self.front.connect(self, followers)
        for part in self.parts:
            part.connect(self, self.front)
        searching = self.beams and self.beams.searching
        if self.ring and searching and self.plan.ring.by_search:
            self.msg_connect(searching.search, "candidates", self.ring.ring, "trigger")
        outputs = self.plan.outputs
        if outputs.roll_seconds or outputs.roll_bytes:
            for sink in self.rolling():
                sink.set_roll_over(seconds=outputs.roll_seconds or 0, size=outputs.roll_bytes or 0)

    @property
    def parts(self):
        """All that stands behind the frames; the first one that counts says how far it is."""
        found = (
            self.correlator,
            *self.products,
            self.beams,
            self.sender,
            self.voltages,
            self.ring,
        )
        return [part for part in found if part]

    # ---- levels

    def level(self, tell, warn):
        """
        Measures the gains for 8 bits and uses them, a recording's at once; receivers cannot be
        read twice, so theirs are measured from their first samples while they run, and nothing
        leaves them before. The plan's gain is used instead. tell(gains), warn(text) tell the user.
        """
        if self.plan.engines.format != "sc8":
            return
        self._warn = warn
        if self.plan.engines.gain is not None:
            self._use(np.full(self.signals.inputs, self.plan.engines.gain))
        elif isinstance(self.front, FrontEnd):
            if self.signals.live:
                self._tell = tell
                count = samples_for_gains(self.signals, self.sizes)
                self.source.keep_first(self.signals.before(count))
            elif not (self.signals.channels and self.signals.sample_type == "sc8"):
                # channels of 8 bits or less fit as they are
                self._measure(tell)

    def _measure(self, tell, samples=None):
        signals, sizes = self._whole if self.resumed else (self.signals, self.sizes)
        self._use(measure_gains(self.plan, signals, sizes, self._calibrator.set, samples))
        tell(self.gains)

    def _use(self, measured):
        self.gains, warnings = fill_gains(measured, self.signals.description.input_names)
        for text in warnings:
            self._warn(text)
        self.front.set_gains(self.gains)
        for part in self.parts:
            part.take_gains(self.gains)

    # ---- while it runs

    def start(self, *arguments):
        if self.front.live:
            self.source.prepare()
        super().start(*arguments)

    def after_gains(self):
        """Is called when the gains of receivers were measured and set, before they are used."""

    def adjust(self):
        """Looks after receivers; to be called from time to time while it runs."""
        if self.front.live:
            self.source.watch()
        samples = self.source.first_samples() if self._tell else None
        if samples is None:
            return
        tell, self._tell = self._tell, None
        if samples.shape[1] < self.signals.before(self.sizes.coarse.span(1)):
            self.stop()  # the input ended before its first spectrum
            return
        self._measure(tell, samples)
        self.after_gains()
        self.source.release()

    # ---- what a service asks for

    def about(self):
        """Returns a description in plain values."""
        sizes, signals = self.sizes, self.signals
        return {
            "array": array_section(signals.description),
            "engines": {
                "sample_rate": sizes.sample_rate,
                "center_frequency": signals.center_frequency,
                "channels": sizes.channels,
                "taps": sizes.taps,
                "spectra_per_frame": sizes.spectra_per_frame,
                "integration": sizes.seconds(sizes.visibilities or sizes.powers),
                "format": self.plan.engines.format,
                "inputs": signals.inputs,
                "live": signals.live,
            },
            "beams": beams_section(signals.description, self.beams.beams, self.beams.products)
            if self.beams
            else [],
        }
