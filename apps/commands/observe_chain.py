#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flowgraph of aperture_observe: source -> f_engine, and behind it a correlator, beams with
what is searched in them, a ring of voltages, and files of voltages, as the configuration says."""

import json
import math

from gnuradio import gr

from ..arguments.version import __version__
from ..inputs.registry import find_kind
from ..monitoring.array_values import array_section
from ..monitoring.beam_values import beams_section
from ..pointing import Drift
from ..streams.python_block import printable
from ..tracking.directions import parse_direction
from .beam_forming import (
    BeamForming,
    beams_to_form,
    blind_beams,
    check_beam_voltages,
    choose_products,
)
from .beams_plan import make_beams_plan
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .correlating import Correlating, history
from .engines import plan_parameters
from .flagging import flagging_parameters
from .front_end import FrontEnd
from .fx_plan import DEFAULT_INTEGRATION, Plan, make_plan
from .inputs import keep_what_is_read, length_of, open_input
from .levels import gain_text
from .observe_plan import PROGRAM, InputFailure, beam_options
from .running import CommandError
from .searching import make_ring
from .several_devices import check_several_devices, use_first_device
from .tables import seconds_text, with_prefix
from .tracking import start_text, untracked_texts
from .voltages import make_input_voltages


def versions():
    """Returns the versions of what runs, in one line."""
    return f"{PROGRAM} {__version__} on GNU Radio {gr.version()}"


def engines_by_name(name, engine):
    """An engine by its name; those of several devices are name0, name1 and so on."""
    several = getattr(engine, "engines", None)
    return (
        {name: engine}
        if several is None
        else {f"{name}{number}": each for number, each in enumerate(several)}
    )


class Observed:
    """The interface of a flowgraph for a service, beside CommandChain's. `texts`: for the log."""

    texts = ()

    def sinks(self):
        """The blocks whose files end where a disk is nearly full."""
        raise NotImplementedError

    def results(self):
        """Returns results whose files are small and are written even if the disk is full."""
        return []

    def rolling(self):
        """All blocks whose files follow on each other."""
        return self.sinks() + self.results()

    def named_blocks(self):
        """All blocks, by name."""
        raise NotImplementedError

    def progress(self):
        """A number that grows as long as data come."""
        raise NotImplementedError

    def about(self):
        """Returns a description in plain values."""
        plan, signals = self._plan, self._signals
        return {
            "array": array_section(signals.description),
            "engines": {
                "sample_rate": plan.sample_rate,
                "center_frequency": signals.center_frequency,
                "channels": plan.channels,
                "taps": plan.taps,
                "spectra_per_frame": plan.spectra_per_frame,
                "integration": plan.integration,
                "format": self._options.format,
                "inputs": signals.inputs,
                "live": signals.live,
            },
        }

    def whole_files(self):
        """Paths of files that do not change any more."""
        return [path for sink in self.rolling() for path in sink.whole_files()]

    def files(self):
        """Paths of all files that were begun."""
        return [path for sink in self.rolling() for path in sink.files() if "{time}" not in path]

    def set_roll_over(self):
        """Sets when files roll over, by the options."""
        for sink in self.rolling():
            sink.set_roll_over(
                seconds=self._options.roll_seconds or 0, size=self._options.roll_bytes or 0
            )

    def roll_over(self):
        """Begins new files."""
        for sink in self.rolling():
            sink.roll_over()

    def release(self):
        """Lets go of what would outlive the flowgraph, which has ended for good."""

    def integrations(self):
        return self.progress()


class ObservatoryChain(Observed, CommandChain):
    """
    The instrument as a flowgraph, made but not started.

    plan: of the correlator; powers: BeamsPlan of the beams, None without; texts: for the log.
    """

    def __init__(self, signals, plan, powers, options, beams, calibrator, sections):
        super().__init__(PROGRAM, signals, plan, options)
        note = f"configuration of {options.name}: " + json.dumps(sections, ensure_ascii=False)
        self.texts = []
        flagging = flagging_parameters(options, plan)
        self.front = FrontEnd(signals, plan, options, calibrator, flagging)
        self.source, self.f_engine = self.front.source, self.front.f_engine
        self.correlating = self.forming = self.ring = None
        if options.output is not None:
            self.correlating = Correlating(
                versions(),
                signals,
                plan,
                options,
                options.output,
                flagging,
                self.f_engine,
                note=printable(note),
            )
        tracked = None if options.track is None else parse_direction(options.track)
        if beams:
            self.forming = BeamForming(
                PROGRAM,
                signals,
                powers,
                beam_options(options),
                beams,
                self.source,
                tracked,
                flagging,
            )
        self.voltages = make_input_voltages(
            options, plan, signals, f"{history(versions(), options, plan, flagging)}, {note}"
        )
        if options.ring is not None:
            self.ring = make_ring(
                "ring.file",
                options,
                plan,
                signals,
                signals.description,
                filename=options.ring,
                seconds=options.ring_seconds,
                disk_limit=options.ring_bytes,
                description=printable(note),
            )
        self.front.connect(self, self.forming and self.forming.pointing)
        for part in (self.correlating, self.forming):
            if part:
                part.connect(self, self.f_engine)
        for block in (self.voltages, self.ring):
            if block:
                self.connect(self.f_engine, block)
        if self.ring and self.forming and self.forming.searching and options.ring_by_search:
            self.msg_connect(self.forming.searching.search, "candidates", self.ring, "trigger")
        if options.calibrate == "f-engine":
            calibrator.set(self.f_engine)
        self.set_roll_over()

    # ---- what a service asks for

    def sinks(self):
        return [
            sink
            for sink in (
                self.correlating and self.correlating.sink,
                self.forming and self.forming.sink,
                self.forming and self.forming.voltages,
                self.voltages,
            )
            if sink
        ]

    def results(self):
        searching = self.forming and self.forming.searching
        folding = self.forming and self.forming.folding
        return [sink for sink in (searching and searching.table, folding and folding.sink) if sink]

    def named_blocks(self):
        found = {
            "source": self.source,
            "tracker": self.front.tracker,
            **engines_by_name("f_engine", self.f_engine),
            "voltages": self.voltages,
            "ring": self.ring,
        }
        if self.correlating:
            found |= {
                **engines_by_name("xengine", self.correlating.correlator),
                "snapshot": self.correlating.tap,
                "visibilities": self.correlating.sink,
            }
        if self.forming:
            found |= {
                "pointing": self.forming.pointing,
                "beams": self.forming.beamformer,
                "powers": self.forming.sink,
                "voltage_beams": self.forming.voltage_beams,
                "beam_voltages": self.forming.voltages,
            }
            if self.forming.searching:
                searching = self.forming.searching
                found |= {
                    "normalizer": searching.normalizer,
                    "dedisperser": searching.dedisperser,
                    "search": searching.search,
                    "candidates": searching.table,
                }
                if searching.ring:
                    found["dumps"] = searching.ring
            if self.forming.folding:
                found |= {
                    "folder": self.forming.folding.folder,
                    "profiles": self.forming.folding.sink,
                }
        return {name: block for name, block in found.items() if block}

    def about(self):
        forming = self.forming
        return {
            **super().about(),
            "beams": beams_section(self._signals.description, forming.beams, self._options.products)
            if forming
            else [],
        }

    def progress(self):
        if self.correlating:
            sink = self.correlating.sink
            return sink.integrations() + sink.left_out()
        if self.forming:
            return self.forming.beamformer.nitems_written(0)
        return self.f_engine.nitems_written(0)

    def release(self):
        searching = self.forming and self.forming.searching
        for ring in (self.ring, searching and searching.ring):
            if ring:
                ring.release()

    # ---- as the other chains of commands

    def parts(self):
        return [
            *self.front.parts(),
            *(self.correlating.parts() if self.correlating else []),
            *(self.forming.parts() if self.forming else []),
            *(block for block in (self.voltages, self.ring) if block),
        ]

    def ended(self):
        ends = [
            block.detail().done()
            for block in (self.correlating and self.correlating.sink, self.voltages)
            if block
        ]
        if self.forming:
            ends.append(self.forming.ended())
        return bool(ends) and all(ends)

    def take_gains(self, gains):
        for part in (self.correlating, self.forming):
            if part:
                part.take_gains(gains)


def make_plans(options, signals, weights_hold):
    """The plan of the correlator and, with beams, that of their powers, or None."""
    duration = math.inf if options.duration is None else options.duration
    samples, duration = length_of(signals, duration)
    shared = plan_parameters(options, signals, samples, duration)
    if options.beams is None:
        return make_plan(
            spectra_per_frame=options.spectra_per_frame, integration=options.integration, **shared
        ), None
    wanted = options.integration or DEFAULT_INTEGRATION
    # a frame is not longer than an integration: it lasts a quarter of what weights hold
    powers = make_beams_plan(
        integration=options.beam_integration, weights_hold=min(weights_hold, 4 * wanted), **shared
    )
    frames = max(1, round(wanted / powers.frame_length))
    plan = Plan(
        powers.channels,
        powers.taps,
        powers.hop,
        powers.sample_rate,
        powers.spectra,
        powers.spectra_per_frame,
        frames,
        powers.notes,
    )
    if abs(plan.integration - wanted) > 1e-9 * wanted:
        plan = Plan(
            plan.channels,
            plan.taps,
            plan.hop,
            plan.sample_rate,
            plan.spectra,
            plan.spectra_per_frame,
            frames,
            (
                *plan.notes,
                f"integrations of visibilities of {plan.integration:.9g} s "
                f"instead of {wanted:.9g} s: {frames} frame{'s'[: frames > 1]} of "
                f"{plan.spectra_per_frame} spectra",
            ),
        )
    return plan, powers


def open_or_wait(options):
    """
    The Signals of the input.

    Raises
    ------
    InputFailure
        It could not be opened, and may be there a moment later: receivers and networks.
    CommandError, ValueError, RuntimeError, OSError
        It could not be opened, and waiting would not help.
    """
    try:
        return open_input(options)
    except (CommandError, ValueError, RuntimeError, OSError) as error:
        if find_kind(options.input)[0].live:
            raise InputFailure(str(error)) from error
        raise


def make_chain(configuration):
    """
    The flowgraph of a Configuration, with `texts` for the log.

    Raises
    ------
    InputFailure
        The input could not be opened.
    CommandError, ValueError, RuntimeError, OSError
        As the commands and blocks raise them.
    """
    options = configuration.options
    if options.role != "fx":
        # not at the top: it needs spead2
        from .observe_hosts import make_part  # pylint: disable=import-outside-toplevel

        return make_part(configuration, versions())
    use_first_device(options)
    signals = open_or_wait(options)
    array, start = signals.description, sum(signals.start_time)
    beams, weights_hold = [], math.inf
    if options.beams is not None:
        beams = beams_to_form(options, array, start)
        tracked = None if options.track is None else parse_direction(options.track)
        weights_hold = Drift(
            array, beams, [array.center_frequency + signals.sample_rate / 2], tracked=tracked
        ).span(options.phase_error)
    plan, powers = make_plans(options, signals, weights_hold)
    check_several_devices(options, signals, plan)
    texts = list(signals.warnings)
    if beams:
        choose_products(options, powers, array)
        check_beam_voltages(beam_options(options), beams)
        texts += blind_beams(beams, array, start)
    calibrator = Calibrator(signals, plan.channels, options, options.scale)
    texts += calibrator.warnings
    if options.output is not None:
        texts += untracked_texts(options, array, plan.integration)
    if calibrator and options.calibrate != "nobody":
        signals.description = calibrated_array(array, calibrator.calibration)
    chain = ObservatoryChain(
        signals, plan, powers, options, beams, calibrator, configuration.sections
    )
    keep_what_is_read(options, signals, [path for sink in chain.rolling() for path in sink.files()])
    chain.texts = texts + describe(options, signals, plan, powers, chain)
    if options.format == "sc8":
        chain.level(
            calibrator.set if options.calibrate == "f-engine" else None,
            lambda gains: chain.texts.append(f"gain of the inputs: {gain_text(gains)}"),
        )
    return chain


def describe(options, signals, plan, powers, chain):
    """Returns a description of the chain, a line each."""
    lines = [
        f"{printable(options.input)}: {signals.inputs} inputs, {signals.sample_type}, "
        f"{with_prefix(plan.sample_rate, 'sample/s')}",
        f"{plan.channels} channels of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}, "
        f"integrations of {seconds_text(plan.integration)}",
    ]
    if chain.front.tracker:
        direction = chain.front.tracker.direction()
        lines.append(f"tracking {direction}: {start_text(direction, signals)[0]}")
    if powers:
        lines.append(
            f"{len(chain.forming.beams)} beams, powers of {seconds_text(powers.integration)}"
        )
        if chain.forming.searching:
            lines.append(f"search: {chain.forming.searching.text()}")
    return lines + ["note: " + text for text in plan.notes]
