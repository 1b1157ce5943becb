#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx: an FX correlator from samples to a file of visibilities.

source -> f_engine -> xengine -> uvh5_sink, all inputs in one port; with --track, `delay_tracker` is
between source and f_engine and sends that its delays; with --voltages, a `voltage_sink` is behind
f_engine, too. A `snapshot` takes some of the frames, for the statistics of the inputs. A
measurement set or a UVFITS file is made of the UVH5 file at the end.
"""

import os

from gnuradio import gr

from .. import f_engine, snapshot, xengine
from ..arguments.argument_types import positive_seconds, whole_number
from ..tracking.directions import parse_direction
from ..files.uvh5 import COMPRESSIONS
from ..streams.input_statistics import frames_a_second
from ..streams.silent_block import silent
from ..uvh5_sink import uvh5_sink
from .calibrating import Calibrator, calibrated_array
from .engines import BYTES, channelizer_parameters, frame_multiple, losses_text
from .fx_plan import make_plan
from .fx_output import ENDINGS, FxOutput
from .fx_report import summary
from .input_options import EPILOG, HelpFormatter, add_input_options, add_output_options
from .inputs import keep_what_is_read, length_of, open_input
from .levels import TARGET_RMS, fill_gains, gain_text, measure_gains
from .output_names import check_output_name, check_writable
from .plan import INPUT_SCHEMA, PlanParser, extend
from .running import CommandError, observe, run_command
from .tables import seconds_text, with_prefix
from .terminal import say, warn
from .tracking import (TRACKING_SCHEMA, add_tracking_options, make_tracker, most_delay,
                       phase_centers_of, start_text)
from .voltages import (VOLTAGES_SCHEMA, add_voltage_options, check_voltages, make_voltage_sink,
                       pairs_of)

PROGRAM = "aperture_fx"
SCHEMA = {**extend(INPUT_SCHEMA, engines={"spectra_per_frame": "spectra_per_frame"},
                   calibration={"by": "calibrate", "scale": "scale"},
                   outputs={name: name for name in ("keep_uvh5", "compression")}),
          **TRACKING_SCHEMA, **VOLTAGES_SCHEMA}
#: of the frames that wait to be measured
MEASURED_BYTES = 64 << 20
#: who applies a calibration -> what the sink is told
CALIBRATE = {"f-engine": "applied", "sink": "apply", "nobody": "note"}


def history(options, plan, gains):
    """What made the file, in one line."""
    # the format wants UTF-8, and a name of a file may be anything
    source = os.fsencode(options.input).decode("utf-8", "backslashreplace")
    text = (f"{PROGRAM}: {source}, {plan.channels} channels, {options.taps} taps, "
            f"{options.window}, {options.format}")
    if options.track is not None:
        text += f", delays tracked {parse_direction(options.track)}"
    if gains is not None:
        text += ", gains " + " ".join(f"{gain:.6g}" for gain in gains)
    return text


class Chain(gr.top_block):
    """The correlator as a flowgraph, made but not started; set_levels() connects it."""

    def __init__(self, signals, plan, options, filename, calibrator):
        super().__init__(PROGRAM)
        self._calibrator = calibrator
        self._signals, self._plan, self._options = signals, plan, options
        self._filename = filename
        self.source = signals.source(plan.samples or 0)
        self.tracker = make_tracker(options, signals, plan.channels, self.source)
        delays = {}
        if self.tracker:
            delays["most_delay"] = (most_delay(signals.description, plan.sample_rate)
                                    + calibrator.most_delay(plan.sample_rate))
        self.f_engine = f_engine(output_type=options.format,
                                 spectra_per_frame=plan.spectra_per_frame,
                                 gain=0 if options.format == "fc32" else 1,
                                 **channelizer_parameters(signals, plan, options), **delays)
        self.correlator = xengine(channels=plan.channels, inputs=signals.inputs,
                                  spectra_per_frame=plan.spectra_per_frame, type=options.format,
                                  integration=plan.frames, integration_unit="frames",
                                  device=options.device)
        frame = plan.channels * signals.inputs * plan.spectra_per_frame * BYTES[options.format]
        self.tap = snapshot(
            item_size=frame, depth=max(1, min(4, MEASURED_BYTES // frame)), device=options.device,
            rate=frames_a_second(plan.channels, signals.inputs, plan.spectra_per_frame))
        self.sink = self._make_sink("", None)  # complains about what no file can hold
        polarizations, order, names = pairs_of(signals.description)
        self.voltages = make_voltage_sink(
            options, plan, signals.description, inputs=signals.inputs,
            polarizations=polarizations, selected_inputs=order, names=names,
            description=history(options, plan, None))
        for block in (self.f_engine, self.correlator):
            block.set_log_level("warning")  # lost samples, for example

    def _make_sink(self, text, gains):
        return silent(uvh5_sink, filename=self._filename, array=self._signals.description,
                      channels=self._plan.channels, overwrite=self._options.overwrite,
                      history=text, gains=gains, tracked=self._options.track,
                      phase_centers=phase_centers_of(self._options) or None,
                      compression=self._options.compression,
                      statistics=self.tap, statistics_type=self._options.format,
                      calibration=self._options.calibration or "",
                      calibrate=CALIBRATE[self._options.calibrate], scale=self._options.scale)

    def set_levels(self, gains):
        """Sets the gain of each input (None: as they are, of fc32), and connects the blocks."""
        for number, gain in enumerate([] if gains is None else gains):
            self.f_engine.set_gain(complex(gain), number)
        if self._options.calibrate == "f-engine":
            self._calibrator.set(self.f_engine)
        self.sink = self._make_sink(history(self._options, self._plan, gains), gains)
        self.connect(*[block for block in (self.source, self.tracker, self.f_engine,
                                           self.correlator, self.sink) if block])
        self.connect(self.f_engine, self.tap)
        if self.voltages:
            self.connect(self.f_engine, self.voltages)
        if self.tracker:
            self.msg_connect(self.tracker, "delays", self.f_engine, "delays")

    def samples_done(self):
        """Samples of each input that the F-engine has taken."""
        # at the end it reads on into what it needs for delays, which nobody has sent
        return min(self.f_engine.nitems_read(0), self.source.nitems_written(0))

    def losses(self):
        """What was missing or clamped so far, as text."""
        return losses_text(self.f_engine)

    def errors(self):
        """What went wrong while it ran, as texts."""
        return [text for block in (self.source, self.tracker, self.f_engine, self.correlator,
                                   self.sink, self.voltages)
                for text in [getattr(block, "error", lambda: "")()] if text]


def correlate(options):
    """Does what the options say; returns the exit code. Raises CommandError and what the blocks
    raise for parameters that they refuse."""
    check_output_name(options.output, ENDINGS, ["time", "phase_center"])
    check_voltages(options, "input")
    output = FxOutput(PROGRAM, options)
    signals = open_input(options)
    # before gains are measured
    keep_what_is_read(options, signals, output.files)
    for path in output.files:
        check_writable(path, options.overwrite)
    samples, duration = length_of(signals, options.duration)
    plan = make_plan(inputs=signals.inputs, sample_rate=signals.sample_rate, real=signals.real,
                     taps=options.taps, bytes_per_value=BYTES[options.format], samples=samples,
                     duration=duration, channels=options.channels,
                     spectra_per_frame=options.spectra_per_frame,
                     integration=options.integration,
                     multiple=frame_multiple(options))
    # what the blocks refuse is to be known before anything is said, or computed
    if options.scale != "model" and options.calibration is None:
        raise CommandError(f"--scale {options.scale}: needs a --calibration")
    calibrator = Calibrator(signals, plan.channels, options, options.scale)
    if calibrator and options.calibrate != "nobody":
        # what is tracked are delays without those that the calibration makes up for
        signals.description = calibrated_array(signals.description, calibrator.calibration)
    chain = Chain(signals, plan, options, output.uvh5, calibrator)
    keep_what_is_read(options, signals, chain.sink.files())
    if chain.voltages:
        keep_what_is_read(options, signals, chain.voltages.files(), "--voltages")
    for text in (*signals.warnings, *calibrator.warnings):
        warn(PROGRAM, text)
    length = "until Ctrl-C" if plan.samples is None else \
        seconds_text(plan.spectra * plan.hop / plan.sample_rate)
    say(f"{options.input}: {signals.inputs} "
        f"input{'s'[:signals.inputs > 1]}, {signals.sample_type}, "
        f"{with_prefix(plan.sample_rate, 'sample/s')}, {length}")
    say(f"{plan.channels} channels of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}, "
        f"integrations of {seconds_text(plan.integration)}: {plan.frames} "
        f"frame{'s'[:plan.frames > 1]} of {plan.spectra_per_frame} spectra")
    if chain.tracker:
        direction = chain.tracker.direction()
        text, set_ = start_text(direction, signals)
        say(f"tracking {direction}: {text}")
        if set_:
            warn(PROGRAM, f"{direction.name} is below the horizon at the start")
    for text in plan.notes:
        say("note: " + text)
    gains = None
    if options.format == "sc8":
        in_engine = calibrator.set if options.calibrate == "f-engine" else None
        gains, warnings = fill_gains(measure_gains(signals, plan, options, in_engine),
                                     signals.description.input_names)
        for text in warnings:
            warn(PROGRAM, text)
        say(f"gain for an rms of {TARGET_RMS:g} steps: {gain_text(gains)}")
    chain.set_levels(gains)
    code = observe(PROGRAM, chain, plan, options.output,
                   lambda run: summary(chain, signals, plan, options, gains, run))
    for path in chain.sink.files():
        code = output.convert(path) or code
    return code


def parser():
    """The command line of aperture_fx."""
    result = PlanParser(
        SCHEMA, prog=PROGRAM,
        description="FX correlator: channelises all inputs of a recording or of a simulated "
        "array, multiplies all pairs, integrates, and writes UVH5, a measurement set or UVFITS.",
        epilog=EPILOG, formatter_class=HelpFormatter)
    add = result.add_argument
    add_input_options(add)
    add_output_options(add, "FILE", "visibilities: .uvh5, or .ms or .uvfits, which are made of a "
                       "UVH5 file at the end; {time} in the name becomes the UTC time of the first "
                       "integration")
    add("--keep-uvh5", action="store_true",
        help="of -o x.ms or x.uvfits: keep the UVH5 file, x.uvh5 (default: it is removed)")
    add("--compression", choices=tuple(COMPRESSIONS), default="none",
        help="of the visibilities, without loss: lzf is fast, gzip smaller, bitshuffle both, where "
        "hdf5plugin is installed (default: %(default)s)")
    add_tracking_options(add)
    add_voltage_options(add, "input")
    add("--spectra-per-frame", type=whole_number(1, 1 << 24), metavar="N",
        help="spectra that the X-engine gets at once (default: so that a frame has 1 to 128 MB "
        "where possible, and an integration is a whole number of frames)")
    add("--calibrate", choices=tuple(CALIBRATE), default="f-engine", metavar="BY",
        help="who applies the --calibration: f-engine (delays and gains of the voltages), sink "
        "(the visibilities), or nobody (the file notes it) (default: %(default)s)")
    add("--scale", choices=("model", "kelvin"), default="model",
        help="of calibrated visibilities: in units of the source that the calibration was measured "
        "with, or kelvin (default: %(default)s)")
    add("--integration", type=positive_seconds(False), metavar="SECONDS",
        help="rounded to whole frames (default: 1, or the whole input if that is shorter)")
    return result


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), correlate, arguments)
