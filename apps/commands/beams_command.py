#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_beams: tied-array beams from samples to filterbank files.

source -> f_engine -> beam_power -> filterbank_sink, all inputs in one port;
`pointing`, between source and f_engine, sends weights to beam_power, unless all beams are
incoherent. With --voltages, f_engine -> beamformer -> voltage_sink stands beside it, with the same
weights; with --fold, beam_power -> folder -> psrfits_sink, and with --search what searching.py
says.
"""

from ..filterbank_sink import paths_of, row_names
from ..plan.bridge import options_of
from ..plan.fields import BEAMS
from ..plan.plan_parser import PlanParser
from ..pointing import Drift, update_interval
from .beam_forming import (
    BeamForming,
    beams_to_form,
    blind_beams,
    check_beam_voltages,
    choose_products,
)
from .beams_plan import make_beams_plan
from .beams_report import beam_table, summary
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .engines import input_text, plan_parameters
from .front_end import FrontEnd
from .inputs import keep_what_is_read, length_of, open_input
from .levels import gain_text
from .output_names import check_writable
from .running import observe, run_command
from .tables import seconds_text, with_prefix
from .terminal import say, warn

PROGRAM = BEAMS


class BeamChain(CommandChain):
    """The beamformer as a flowgraph, made but not started.

    beams: list of Beam, incoherent ones behind the others.
    """

    def __init__(self, signals, plan, options, beams, calibrator):
        super().__init__(PROGRAM, signals, plan, options)
        self.front = FrontEnd(signals, plan, options, calibrator)
        self.source, self.f_engine = self.front.source, self.front.f_engine
        self.forming = BeamForming(PROGRAM, signals, plan, options, beams, self.source)
        self.beams, self.more = beams, self.forming.more
        self.pointing, self.beamformer = self.forming.pointing, self.forming.beamformer
        self.searching = self.forming.searching
        self.sink, self.voltages = self.forming.sink, self.forming.voltages
        self.front.connect(self, self.pointing)
        self.forming.connect(self, self.f_engine)
        calibrator.set(self.f_engine)

    def parts(self):
        return [*self.front.parts(), *self.forming.parts()]

    def ended(self):
        return self.forming.ended()

    def integrations(self):
        return self.sink.integrations() if self.sink else self.beamformer.nitems_written(0)

    def problems(self):
        return self.searching.problems() if self.searching else ([], False)

    def take_gains(self, gains):
        self.forming.take_gains(gains)


def form_beams(options):
    """Does what the options say; returns the exit code. Raises CommandError and what the blocks
    raise for parameters that they refuse."""
    options.plan.check()
    options = options_of(options.plan)
    signals = open_input(options)
    array = signals.description
    samples, duration = length_of(signals, options.duration)
    seconds, fraction = signals.start_time
    beams = beams_to_form(options, array, seconds + fraction)
    drift = Drift(array, beams, [array.center_frequency + signals.sample_rate / 2])
    weights_hold = drift.span(options.phase_error)
    plan = make_beams_plan(
        integration=options.integration,
        weights_hold=weights_hold,
        **plan_parameters(options, signals, samples, duration),
    )
    choose_products(options, plan, array)
    # before gains are measured, which takes a while
    paths = (
        paths_of(options.output, row_names(array, beams, options.products))
        if options.output is not None
        else []
    )
    keep_what_is_read(options, signals, paths)
    for path in paths:
        check_writable(path, options.overwrite)
    check_beam_voltages(options, beams)
    calibrator = Calibrator(signals, plan.channels, options)
    if calibrator:
        # weights are for what the F-engine makes of it
        array = signals.description = calibrated_array(array, calibrator.calibration)
    # parameters that the blocks refuse are reported before anything is said, or computed
    chain = BeamChain(signals, plan, options, beams, calibrator)
    if chain.voltages:
        keep_what_is_read(options, signals, chain.voltages.files(), "--voltages")
    for text in (
        *signals.warnings,
        *calibrator.warnings,
        *blind_beams(beams, array, seconds + fraction),
    ):
        warn(PROGRAM, text)
    say(input_text(options, signals, plan))
    say(
        f"{len(beams)} beam{'s'[: len(beams) > 1]}, {plan.channels} channels of "
        f"{with_prefix(plan.sample_rate / plan.hop, 'Hz')}, integrations of "
        f"{seconds_text(plan.integration)}: {plan.integrated} spectra; frames of "
        f"{plan.spectra_per_frame}"
    )
    say(beam_table(beams))
    if chain.searching:
        say(f"search: {chain.searching.text()}")
    for text in (*plan.notes, *(chain.searching.notes if chain.searching else [])):
        say("note: " + text)
    error = drift.error(update_interval(weights_hold, plan.frame_length) + plan.frame_length)
    if error > options.phase_error * (1 + 1e-6):
        warn(
            PROGRAM,
            f"--phase-error {options.phase_error:g}: weights hold for "
            f"{seconds_text(weights_hold)}, frames last {seconds_text(plan.frame_length)}: phases "
            f"are wrong by up to {error:.3g}°",
        )
    if options.format == "sc8":
        chain.level(calibrator.set, lambda gains: say(f"gain of the inputs: {gain_text(gains)}"))
    return observe(
        PROGRAM,
        chain,
        plan,
        options.output or options.input,
        lambda run: summary(chain, signals, plan, options, run),
    )


def parser():
    """The command line of aperture_beams."""
    return PlanParser(
        PROGRAM,
        "Tied-array beams: channelises all inputs of a recording or of a simulated array, adds "
        "them in phase for each direction, detects powers or Stokes parameters, integrates, and "
        "writes filterbank files.",
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), form_beams, arguments)
