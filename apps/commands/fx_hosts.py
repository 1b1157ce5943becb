#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
aperture_fx on several hosts: F-engines that send voltages, and X-engines that receive those of
their channels.

    --role f: source -> f_engine -> spead_sink
    --role x: spead_source -> xengine -> uvh5_sink
"""

import dataclasses
import math

import numpy as np

from ..parameters.sample_types import SAMPLE_TYPES
from ..parameters.times import time_text
from ..plan.texts import Part
from ..spead_sink import spead_sink
from ..spead_source import spead_source
from ..streams.silent_block import silent
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .correlating import Correlating
from .engines import frame_multiple
from .front_end import FrontEnd
from .fx_output import FxOutput
from .fx_plan import make_plan
from .hosts import polarizations_of, sync_of
from .inputs import keep_what_is_read, length_of, open_input
from .levels import TARGET_RMS, gain_text
from .output_names import check_writable
from .running import CommandError, observe
from .tables import device_text, seconds_text, table, with_prefix
from .terminal import say, warn
from .voltages import make_input_voltages

PACKET = 8192  # bytes of payload
SILENCE = 3.0  # s, after which a host is not waited for at the end
FEWEST_CHUNKS, MOST_CHUNKS = 2, 1 << 14
MOST_WINDOW = 1 << 30  # bytes of the frames of a window


@dataclasses.dataclass(frozen=True)
class Split:
    """The split that all hosts agree on. plan: of all channels; inputs: of the array."""

    plan: object
    inputs: int
    polarizations: int
    sync: object
    sample_rate: object

    @staticmethod
    def of(signals, options, multiple):
        """Returns the split of the options; multiple: of the spectra in a frame."""
        samples, duration = length_of(signals, options.duration)
        if (
            options.spectra_per_frame is not None
            and options.spectra_per_frame % options.spectra_per_heap
        ):
            raise CommandError(
                f"--spectra-per-frame {options.spectra_per_frame}: expected a "
                f"multiple of --spectra-per-heap {options.spectra_per_heap}"
            )
        plan = make_plan(
            inputs=signals.inputs,
            sample_rate=signals.sample_rate,
            real=signals.real,
            taps=options.taps,
            bytes_per_value=SAMPLE_TYPES["sc8"].size,
            samples=samples,
            duration=duration,
            channels=options.channels,
            spectra_per_frame=options.spectra_per_frame,
            integration=options.integration,
            multiple=math.lcm(multiple, options.spectra_per_heap),
        )
        return Split(
            plan,
            signals.inputs,
            polarizations_of(signals.description),
            sync_of(signals, options),
            signals.sample_rate,
        )

    def heaps(self):
        """Returns the common parameters of spead_sink and spead_source."""
        return dict(
            kind="voltages",
            sample_rate=self.sample_rate,
            sync_time=self.sync,
            polarizations=self.polarizations,
            taps=self.plan.taps,
            samples_per_spectrum=self.plan.hop,
        )


class SendingChain(CommandChain):
    """The F-engine of some inputs."""

    def __init__(self, program, signals, split, options, first, count, calibrator):
        plan = split.plan
        super().__init__(program, signals, plan, options)
        self.front = FrontEnd(signals, plan, options, calibrator)
        self.source, self.tracker, self.f_engine = (
            self.front.source,
            self.front.tracker,
            self.front.f_engine,
        )
        if hasattr(self.source, "align_to"):
            self.source.align_to(plan.hop)
        whole = signals.inputs == split.inputs
        number = first // split.polarizations
        self.sink = silent(
            spead_sink,
            address=options.to,
            inputs=signals.inputs,
            first_input=first if whole else 0,
            sent_inputs=count if whole else 0,
            senders=list(range(number, number + count // split.polarizations)),
            channels=plan.channels,
            spectra_per_frame=plan.spectra_per_frame,
            spectra_per_heap=options.spectra_per_heap,
            packet_size=PACKET,
            rate_factor=options.rate_factor,
            interface=options.interface,
            **split.heaps(),
        )
        self.voltages = make_input_voltages(options, plan, signals, program)
        self.front.connect(self)
        self.connect(self.f_engine, self.sink)
        if self.voltages:
            self.connect(self.f_engine, self.voltages)
        if calibrator and options.calibrate == "f-engine":
            calibrator.set(self.f_engine)

    def parts(self):
        return [*self.front.parts(), self.sink, *([self.voltages] if self.voltages else [])]

    def take_gains(self, gains):
        pass

    def integrations(self):
        return self.sink.counts().get("heaps", 0)


class ReceivingChain(CommandChain):
    """The X-engine of some channels. note: of the file's history."""

    def __init__(self, program, signals, split, options, filename, which, note=""):
        plan = split.plan
        first, count = which.range_of("--channels-of", plan.channels)
        own = dataclasses.replace(plan, channels=count, spectra=None)
        super().__init__(program, signals, own, options)
        self.plan = own
        center = signals.center_frequency
        if signals.real and signals.inverted:
            # the middle of the band is in channel n // 2 - 1
            center += plan.sample_rate / plan.hop
        frame = plan.spectra_per_frame * plan.hop / plan.sample_rate
        size = count * split.inputs * plan.spectra_per_frame * SAMPLE_TYPES["sc8"].size
        chunks = max(
            FEWEST_CHUNKS,
            min(math.ceil(options.heap_window / frame), MOST_CHUNKS, MOST_WINDOW // size),
        )
        self.source = silent(
            spead_source,
            address=options.listen,
            center_frequency=center,
            inputs=split.inputs,
            channels=count,
            first_channel=first,
            total_channels=plan.channels,
            spectra_per_frame=plan.spectra_per_frame,
            spectra_per_heap=options.spectra_per_heap,
            window=chunks,
            align=plan.frames,
            packet_size=9200,
            silence=SILENCE,
            interface=options.interface,
            **split.heaps(),
        )
        self.correlating = Correlating(
            f"{program}, channels {first} to {first + count - 1} of {plan.channels}",
            signals,
            own,
            options,
            filename,
            {},
            note=note,
        )
        self.correlator, self.sink = self.correlating.correlator, self.correlating.sink
        self.voltages = None
        self.connect(self.source, self.correlator)
        self.connect(self.correlator, self.sink)
        self.connect(self.source, self.correlating.tap)

    def parts(self):
        return [self.source, *self.correlating.parts()]

    def take_gains(self, gains):
        self.correlating.take_gains(gains)

    def samples_done(self):
        return self.correlator.nitems_read(0) * self._plan.spectra_per_frame * self._plan.hop

    def losses(self):
        missing = self.source.counts().get("missing", 0)
        return f"{missing} heaps missing" if missing else ""


def count_rows(counts):
    """Rows of what spead_source or spead_sink counted."""
    shown = [
        f"{value} {name.replace('_', ' ')}"
        for name, value in counts.items()
        if value and name not in ("buffer", "heaps", "packets", "stops")
    ]
    return [
        ("heaps", str(counts.get("heaps", 0))),
        *([("of these", ", ".join(shown))] if shown else []),
    ]


def make_sending(program, options, make=SendingChain):
    """
    The flowgraph of --role f, with `plan` of all channels, and `texts` that say what it does.
    make: SendingChain, or a class derived of it.
    """
    signals = open_input(options)
    split = Split.of(signals, options, 1)
    which = options.inputs_of or Part(0, 1)
    first, count = which.range_of("--inputs-of", signals.inputs, split.polarizations)
    calibrator = Calibrator(signals, split.plan.channels, options, options.scale)
    if calibrator and options.calibrate != "nobody":
        signals.description = calibrated_array(signals.description, calibrator.calibration)
    if signals.part is not None and count < signals.inputs:
        signals = signals.part(first, count)
        # the description here has only the inputs of this host
        calibrator = Calibrator(signals, split.plan.channels, options, options.scale)
    chain = make(program, signals, split, options, first, count, calibrator)
    plan, names = split.plan, signals.description.input_names
    chain.plan, chain.warnings = plan, signals.warnings
    chain.texts = [
        f"{options.input}: inputs {first} to {first + count - 1} of {split.inputs} ({names[0]} "
        f"...), {with_prefix(plan.sample_rate, 'sample/s')}, to {options.to}",
        f"{plan.channels} channels of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}, heaps of "
        f"{options.spectra_per_heap} spectra since {time_text(split.sync)}",
    ]
    chain.calibrate = calibrator.set if options.calibrate == "f-engine" else None
    return chain


def level_sending(chain, tell):
    """Uses the gain of --gain, or measures those of all inputs, and tells what they are."""
    chain.level(
        chain.calibrate,
        lambda gains: tell(f"gain for an rms of {TARGET_RMS:g} steps: {gain_text(gains)}"),
    )


def send_voltages(program, options):
    """--role f; returns the exit code."""
    chain = make_sending(program, options)
    for text in chain.warnings:
        warn(program, text)
    for text in chain.texts:
        say(text)
    level_sending(chain, say)
    return observe(
        program,
        chain,
        chain.plan,
        options.to,
        lambda run: table(
            [
                (
                    "sent",
                    f"{chain.sink.nitems_read(0)} frames of {chain.plan.spectra_per_frame} spectra",
                ),
                *count_rows(chain.sink.counts()),
                ("missing", f"{sum(chain.f_engine.missing())} spectra of all inputs"),
                (
                    "clamped",
                    f"{sum(np.add(chain.f_engine.clamped(), chain.f_engine.clamped_samples()))} "
                    "voltages and samples of all inputs",
                ),
                ("gain", gain_text(chain.gains)),
                ("device", device_text(("F-engine", chain.f_engine))),
            ]
        ),
    )


def make_receiving(program, options, filename, signals, make=ReceivingChain):
    """
    The flowgraph of --role x, with `plan` of its channels, and `texts` that say what it does.
    signals: of the input; make: ReceivingChain, or a class derived of it.
    """
    split = Split.of(signals, options, frame_multiple(options))
    which = options.channels_of or Part(0, 1)
    calibrator = Calibrator(signals, split.plan.channels, options, options.scale)
    if calibrator and options.calibrate != "nobody":
        signals.description = calibrated_array(signals.description, calibrator.calibration)
    chain = make(program, signals, split, options, filename, which)
    plan = chain.plan
    chain.texts = [
        f"{options.listen}: {plan.channels} of {split.plan.channels} channels of "
        f"{split.inputs} inputs, counted from {time_text(split.sync)}",
        f"integrations of {seconds_text(plan.integration)}: {plan.frames} "
        f"frame{'s'[: plan.frames > 1]} of {plan.spectra_per_frame} spectra",
        *("note: " + text for text in plan.notes),
    ]
    if options.gain is not None:
        chain.take_gains(np.full(split.inputs, options.gain))
    return chain


def receive_voltages(program, options):
    """--role x; returns the exit code."""
    output = FxOutput(program, options)
    signals = open_input(options)
    keep_what_is_read(options, signals, output.files)
    for path in output.files:
        check_writable(path, options.overwrite)
    chain = make_receiving(program, options, output.uvh5, signals)
    for text in chain.texts:
        say(text)
    plan = chain.plan
    code = observe(
        program,
        chain,
        plan,
        options.output,
        lambda run: table(
            [
                (
                    "integrations",
                    f"{chain.sink.integrations()} of {seconds_text(plan.integration)}",
                ),
                *count_rows(chain.source.counts()),
                ("device", device_text(("X-engine", chain.correlator))),
                *[("file", path) for path in chain.sink.files()],
            ]
        ),
    )
    for path in chain.sink.files():
        code = output.convert(path) or code
    return code


def correlate_part(program, options):
    """Does the work of one host of several; returns the exit code."""
    return (send_voltages if options.role == "f" else receive_voltages)(program, options)
