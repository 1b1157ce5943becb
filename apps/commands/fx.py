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

from ..plan.bridge import options_of
from ..plan.fields import FX
from ..plan.plan_parser import PlanParser
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .correlating import Correlating
from .engines import input_text, plan_parameters
from .flagging import flagging_parameters
from .front_end import FrontEnd
from .fx_output import FxOutput
from .fx_plan import make_plan
from .fx_report import summary
from .inputs import keep_what_is_read, length_of, open_input
from .levels import TARGET_RMS, gain_text
from .output_names import check_writable
from .running import observe, run_command
from .several_devices import check_several_devices, use_first_device
from .tables import seconds_text, with_prefix
from .terminal import say, warn
from .tracking import start_text, untracked_texts
from .voltages import make_input_voltages

PROGRAM = FX


class Chain(CommandChain):
    """The correlator as a flowgraph, made but not started."""

    def __init__(self, signals, plan, options, filename, calibrator):
        super().__init__(PROGRAM, signals, plan, options)
        self.flagging = flagging_parameters(options, plan)
        self.front = FrontEnd(signals, plan, options, calibrator, self.flagging)
        self.source, self.tracker, self.f_engine = (
            self.front.source,
            self.front.tracker,
            self.front.f_engine,
        )
        self.correlating = Correlating(
            PROGRAM, signals, plan, options, filename, self.flagging, self.f_engine
        )
        self.correlator, self.sink = self.correlating.correlator, self.correlating.sink
        self.voltages = make_input_voltages(options, plan, signals, self.correlating.history())
        self.front.connect(self)
        self.correlating.connect(self, self.f_engine)
        if self.voltages:
            self.connect(self.f_engine, self.voltages)
        if options.calibrate == "f-engine":
            calibrator.set(self.f_engine)

    def parts(self):
        return [
            *self.front.parts(),
            *self.correlating.parts(),
            *([self.voltages] if self.voltages else []),
        ]

    def take_gains(self, gains):
        self.correlating.take_gains(gains)


def correlate(options):
    """Does what the options say; returns the exit code. Raises CommandError and what the blocks
    raise for parameters that they refuse."""
    plan = options.plan.of_host(options.host)
    plan.check()
    options = options_of(plan)
    if options.role != "fx":
        # not at the top: to load it takes time that most do not need
        from .fx_hosts import correlate_part

        return correlate_part(PROGRAM, options)
    use_first_device(options)
    output = FxOutput(PROGRAM, options)
    signals = open_input(options)
    # before gains are measured
    keep_what_is_read(options, signals, output.files)
    for path in output.files:
        check_writable(path, options.overwrite)
    samples, duration = length_of(signals, options.duration)
    plan = make_plan(
        spectra_per_frame=options.spectra_per_frame,
        integration=options.integration,
        **plan_parameters(options, signals, samples, duration),
    )
    check_several_devices(options, signals, plan)
    # parameters that the blocks refuse are reported before anything is said, or computed
    calibrator = Calibrator(signals, plan.channels, options, options.scale)
    if calibrator and options.calibrate != "nobody":
        # tracked delays are without those that the calibration makes up for
        signals.description = calibrated_array(signals.description, calibrator.calibration)
    chain = Chain(signals, plan, options, output.uvh5, calibrator)
    keep_what_is_read(options, signals, chain.sink.files())
    if chain.voltages:
        keep_what_is_read(options, signals, chain.voltages.files(), "--voltages")
    for text in (
        *signals.warnings,
        *calibrator.warnings,
        *untracked_texts(options, signals.description, plan.integration),
    ):
        warn(PROGRAM, text)
    say(input_text(options, signals, plan))
    say(
        f"{plan.channels} channels of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}, "
        f"integrations of {seconds_text(plan.integration)}: {plan.frames} "
        f"frame{'s'[: plan.frames > 1]} of {plan.spectra_per_frame} spectra"
    )
    if chain.tracker:
        direction = chain.tracker.direction()
        text, set_ = start_text(direction, signals)
        say(f"tracking {direction}: {text}")
        if set_:
            warn(PROGRAM, f"{direction.name} is below the horizon at the start")
    for text in plan.notes:
        say("note: " + text)
    if options.format == "sc8":
        chain.level(
            calibrator.set if options.calibrate == "f-engine" else None,
            lambda gains: say(f"gain for an rms of {TARGET_RMS:g} steps: {gain_text(gains)}"),
        )
    code = observe(
        PROGRAM,
        chain,
        plan,
        options.output,
        lambda run: summary(chain, signals, plan, options, chain.gains, run),
    )
    for path in chain.sink.files():
        code = output.convert(path) or code
    return code


def parser():
    """The command line of aperture_fx."""
    return PlanParser(
        PROGRAM,
        "FX correlator: channelises all inputs of a recording or of a simulated array, multiplies "
        "all pairs, integrates, and writes UVH5, a measurement set or UVFITS.",
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), correlate, arguments)
