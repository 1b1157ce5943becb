#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx: an FX correlator from samples to a file of visibilities.

source -> f_engine -> xengine -> uvh5_sink, all inputs in one port; with --track, `delay_tracker` is
between source and f_engine and sends that its delays; with --voltages, a `voltage_sink` is behind
f_engine, too; with --flag, f_engine flags, and its masks go to xengine, whose counts go to
uvh5_sink. A `snapshot` takes some of the frames, for the statistics of the inputs. A
measurement set or a UVFITS file is made of the UVH5 file at the end.
"""

import os

from .. import f_engine, snapshot, xengine
from ..arguments.argument_types import positive_seconds, whole_number
from ..tracking.directions import parse_direction
from ..files.uvh5 import COMPRESSIONS
from ..streams.input_statistics import frames_a_second
from ..streams.silent_block import silent
from ..uvh5_sink import uvh5_sink
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .engines import BYTES, channelizer_parameters, connect_input, frame_multiple
from .flagging import FLAGGING_SCHEMA, add_flagging_options, flagging_parameters
from .fx_plan import make_plan
from .fx_output import ENDINGS, FxOutput
from .fx_report import summary
from .input_options import EPILOG, HelpFormatter, add_input_options, add_output_options
from .inputs import keep_what_is_read, length_of, open_input
from .levels import TARGET_RMS, gain_text
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
          **FLAGGING_SCHEMA, **TRACKING_SCHEMA, **VOLTAGES_SCHEMA}
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
    flagging = flagging_parameters(options, plan)
    if flagging:
        text += ", flagged by " + ", ".join(f"{name} {value}" for name, value in flagging.items()
                                            if value)
    if gains is not None:
        text += ", gains " + " ".join(f"{gain:.6g}" for gain in gains)
    return text


class Chain(CommandChain):
    """The correlator as a flowgraph, made but not started."""

    def __init__(self, signals, plan, options, filename, calibrator):
        super().__init__(PROGRAM, signals, plan, options)
        self.source = signals.source(plan.samples or 0)
        self.tracker = make_tracker(options, signals, plan.channels, self.source)
        delays = {}
        if self.tracker:
            delays["most_delay"] = (most_delay(signals.description, plan.sample_rate)
                                    + calibrator.most_delay(plan.sample_rate))
        self.flagging = flagging_parameters(options, plan)
        self.f_engine = f_engine(output_type=options.format,
                                 spectra_per_frame=plan.spectra_per_frame,
                                 gain=0 if options.format == "fc32" else 1,
                                 **channelizer_parameters(signals, plan, options), **delays,
                                 **self.flagging)
        self.correlator = xengine(channels=plan.channels, inputs=signals.inputs,
                                  spectra_per_frame=plan.spectra_per_frame, type=options.format,
                                  integration=plan.frames, integration_unit="frames",
                                  spectra_per_slice=self.flagging.get("spectra_per_slice", 0),
                                  device=options.device)
        frame = plan.channels * signals.inputs * plan.spectra_per_frame * BYTES[options.format]
        self.tap = snapshot(
            item_size=frame, depth=max(1, min(4, MEASURED_BYTES // frame)), device=options.device,
            rate=frames_a_second(plan.channels, signals.inputs, plan.spectra_per_frame))
        self.sink = silent(uvh5_sink, filename=filename, array=signals.description,
                           channels=plan.channels, overwrite=options.overwrite,
                           history=history(options, plan, None), tracked=options.track,
                           phase_centers=phase_centers_of(options) or None,
                           compression=options.compression,
                           statistics=self.tap, statistics_type=options.format,
                           calibration=options.calibration or "",
                           calibrate=CALIBRATE[options.calibrate], scale=options.scale,
                           counts=bool(self.flagging))
        polarizations, order, names = pairs_of(signals.description)
        self.voltages = make_voltage_sink(
            options, plan, signals.description, inputs=signals.inputs,
            polarizations=polarizations, selected_inputs=order, names=names,
            description=history(options, plan, None))
        for block in (self.f_engine, self.correlator):
            block.set_log_level("warning")  # lost samples, for example
        connect_input(self, self.source, self.tracker, self.f_engine, signals.ports)
        self.connect(self.f_engine, self.correlator, self.sink)
        if self.flagging:
            self.connect((self.f_engine, 1), (self.correlator, 1))
            self.connect((self.correlator, 1), (self.sink, 1))
        self.connect(self.f_engine, self.tap)
        if self.voltages:
            self.connect(self.f_engine, self.voltages)
        if self.tracker:
            self.msg_connect(self.tracker, "delays", self.f_engine, "delays")
        if options.calibrate == "f-engine":
            calibrator.set(self.f_engine)

    def parts(self):
        return [block for block in (self.source, self.tracker, self.f_engine, self.correlator,
                                    self.sink, self.voltages) if block]

    def take_gains(self, gains):
        self.sink.take_gains(gains, history(self._options, self._plan, gains))


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
    if options.format == "sc8":
        chain.level(calibrator.set if options.calibrate == "f-engine" else None,
                    lambda gains: say(f"gain for an rms of {TARGET_RMS:g} steps: "
                                      f"{gain_text(gains)}"))
    code = observe(PROGRAM, chain, plan, options.output,
                   lambda run: summary(chain, signals, plan, options, chain.gains, run))
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
    add_flagging_options(add)
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
