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

import os
from dataclasses import replace

import numpy as np

from .. import beam_power, beamformer, f_engine
from ..arguments.argument_types import degrees, positive_seconds, whole_number
from ..beams.beams import coherent, in_order, load_beams
from ..beams.weights import (NORMS, TAPERS, beam_directions, beam_masks, find_polarizations,
                             incoherent_masks, live_beams)
from ..files.regular_file import check_regular
from ..filterbank_sink import PRODUCTS, filterbank_sink, paths_of, row_names
from ..streams.python_block import printable
from ..pointing import Drift, pointing, update_interval
from ..streams.silent_block import silent
from .beams_plan import make_beams_plan
from .beams_report import beam_table, summary
from .calibrating import Calibrator, calibrated_array
from .command_chain import CommandChain
from .engines import BYTES, channelizer_parameters, connect_input, frame_multiple
from .folding import (FOLD_SCHEMA, Folding, add_fold_options, check_fold)
from .input_options import EPILOG, HelpFormatter, add_input_options, add_output_options
from .inputs import keep_what_is_read, length_of, open_input
from .levels import gain_text
from .output_names import check_output_name, check_writable
from .plan import INPUT_SCHEMA, PlanParser, extend
from .running import CommandError, observe, run_command
from .searching import SEARCH_SCHEMA, Searching, add_search_options, check_search
from .tables import seconds_text, with_prefix
from .terminal import say, warn
from .voltages import VOLTAGES_SCHEMA, add_voltage_options, check_voltages, make_voltage_sink

PROGRAM = "aperture_beams"
ENDING = ".fil"
SCHEMA = {**extend(INPUT_SCHEMA, outputs={"nbits": "nbits"}, engines={
    name: name for name in ("beams", "incoherent", "products", "sum_channels", "taper", "normalise",
                            "phase_error")}), **VOLTAGES_SCHEMA, **SEARCH_SCHEMA, **FOLD_SCHEMA}


class BeamChain(CommandChain):
    """The beamformer as a flowgraph, made but not started.

    beams: list of Beam, incoherent ones behind the others.
    """

    def __init__(self, signals, plan, options, beams, calibrator):
        super().__init__(PROGRAM, signals, plan, options)
        array, inputs, channels = signals.description, signals.inputs, plan.channels
        self.beams = beams
        self.source = signals.source(plan.samples or 0)
        self.f_engine = f_engine(output_type=options.format,
                                 spectra_per_frame=plan.spectra_per_frame,
                                 gain=0 if options.format == "fc32" else 1,
                                 **channelizer_parameters(signals, plan, options))
        sizes = dict(channels=channels, inputs=inputs, type=options.format,
                     spectra_per_frame=plan.spectra_per_frame, device=options.device)
        polarizations = find_polarizations(array)
        pointed, others = coherent(beams), [beam for beam in beams if beam.incoherent]
        masks = [beam_masks(array, pointed)] if pointed else []
        masks += [incoherent_masks(array, others)] if others else []
        self.pointing = self._make_pointing() if pointed else None
        self.beamformer = beam_power(
            beams=len(pointed) * len(polarizations),
            incoherent_beams=len(others) * len(polarizations), masks=np.concatenate(masks),
            products=options.products, basis="circular" if polarizations[0] in "rl" else "linear",
            spectra=plan.integrated, summed_channels=options.sum_channels, **sizes)
        self.sink = silent(filterbank_sink, filename=options.output, array=array, beams=beams,
                           channels=channels // options.sum_channels, products=options.products,
                           nbits=options.nbits, overwrite=options.overwrite) \
            if options.output is not None else None
        rows = len(row_names(array, beams, options.products))
        self.searching = Searching(options, plan, signals, array, rows) if options.search else None
        self.folding = Folding(options, plan, signals, array, beams, rows) \
            if options.fold else None
        #: what stands beside the filterbank file
        self.more = [part for part in (self.searching, self.folding) if part]
        # incoherent beams have no voltages
        self.voltages = make_voltage_sink(
            options, plan, array, kind="beams", inputs=len(pointed) * len(polarizations),
            polarizations=len(polarizations), names=[beam.name for beam in pointed],
            description=f"{PROGRAM}: " + printable(options.input)) if pointed else None
        self.voltage_beams = beamformer(
            beams=len(pointed) * len(polarizations), masks=masks[0], output_type=options.format,
            **sizes) if self.voltages else None
        for block in filter(None, (self.f_engine, self.beamformer, self.voltage_beams)):
            block.set_log_level("warning")  # lost samples, for example

        connect_input(self, self.source, self.pointing, self.f_engine, signals.ports)
        self.connect(self.f_engine, self.beamformer)
        if self.sink:
            self.connect(self.beamformer, self.sink)
        if self.searching:
            self.searching.connect(self, self.beamformer, self.f_engine)
        if self.folding:
            self.folding.connect(self, self.beamformer)
        if self.pointing:
            self.msg_connect(self.pointing, "weights", self.beamformer, "weights")
        if self.voltages:
            self.connect(self.f_engine, self.voltage_beams, self.voltages)
            self.msg_connect(self.pointing, "weights", self.voltage_beams, "weights")
        calibrator.set(self.f_engine)

    def parts(self):
        return [block for block in (self.source, self.pointing, self.f_engine, self.beamformer,
                                    self.sink, self.voltage_beams, self.voltages) if block] \
            + [block for part in self.more for block in part.parts()]

    def ended(self):
        return super().ended() and all(part.last().detail().done() for part in self.more)

    def integrations(self):
        return self.sink.integrations() if self.sink else self.beamformer.nitems_written(0)

    def take_gains(self, gains):
        """What was levelled for 8 bits is the same in all inputs: the weights take it out."""
        if self.pointing:
            own = np.array([entry.gain for entry in self._signals.description.inputs])
            self.pointing.set_calibration(np.divide(
                np.max(gains), own * gains, out=np.zeros(self._signals.inputs, complex),
                where=own != 0))

    def _make_pointing(self):
        """What sends weights of the coherent beams."""
        signals, plan, options = self._signals, self._plan, self._options
        return silent(
            pointing, array=signals.description, beams=self.beams, channels=plan.channels,
            phase_error=options.phase_error, frame_length=plan.frame_length, taper=options.taper,
            normalise=options.normalise,
            item_size=self.source.output_signature().sizeof_stream_item(0), real=signals.real,
            inverted=signals.inverted)


def beams_to_form(options, array, time):
    """What --beams and --incoherent name; time: of the start, s."""
    check_regular(os.path.expanduser(options.beams), "the description of beams")
    beams = load_beams(options.beams, array, time)
    if options.incoherent is None:
        return beams
    antennas = tuple(options.incoherent.split("+")) if options.incoherent else None
    names = {beam.name for beam in beams}
    name = "incoherent"
    while name in names:
        name += "_"
    # of a direction only its file knows
    more = replace(beams[0], name=name, antennas=antennas, incoherent=True)
    incoherent_masks(array, [more])  # complains about antennas
    return in_order([*beams, more])


def blind_beams(beams, array, time):
    """Warnings of beams that cannot see where they look, or anything at all."""
    pointed = coherent(beams)
    if not pointed:
        return []
    low = beam_directions(array, pointed, time)[:, 2] < 0
    dead = ~live_beams(array, pointed).all(axis=1)
    texts = []
    for what, which in (("below the horizon at the start", low),
                        ("zeros, as all inputs of a polarisation have a gain of 0", dead)):
        names = [repr(beam.name) for beam, is_one in zip(pointed, which) if is_one]
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            texts.append(f"{what}: {', '.join(names[:4])}{more}")
    return texts


def form_beams(options):
    """Does what the options say; returns the exit code. Raises CommandError and what the blocks
    raise for parameters that they refuse."""
    if options.output is not None:
        check_output_name(options.output, ENDING, ["beam", "time"])
    elif not (options.search or options.fold):
        raise CommandError("-o: expected the name of a file, unless there is --search or --fold")
    check_search(options)
    check_fold(options)
    check_voltages(options, "beam")
    signals = open_input(options)
    array = signals.description
    samples, duration = length_of(signals, options.duration)
    seconds, fraction = signals.start_time
    beams = beams_to_form(options, array, seconds + fraction)
    drift = Drift(array, beams, [array.center_frequency + signals.sample_rate / 2])
    weights_hold = drift.span(options.phase_error)
    plan = make_beams_plan(inputs=signals.inputs, sample_rate=signals.sample_rate,
                           real=signals.real, taps=options.taps,
                           bytes_per_value=BYTES[options.format], samples=samples,
                           duration=duration, channels=options.channels,
                           integration=options.integration, multiple=frame_multiple(options),
                           weights_hold=weights_hold)
    if plan.channels % options.sum_channels:
        raise CommandError(f"--sum-channels {options.sum_channels}: it must divide the "
                           f"{plan.channels} channels")
    polarizations = find_polarizations(array)
    if options.products is None:
        options.products = "I" if len(polarizations) == 2 else "power"
    elif options.products != "power" and len(polarizations) != 2:
        raise CommandError(f"--products {options.products}: array {array.name!r} has one "
                           "polarisation")
    # before gains are measured, which takes a while
    paths = paths_of(options.output, row_names(array, beams, options.products)) \
        if options.output is not None else []
    keep_what_is_read(options, signals, paths)
    for path in paths:
        check_writable(path, options.overwrite)
    if options.voltages is not None:
        if not coherent(beams):
            raise CommandError(f"--voltages {options.voltages}: incoherent beams have none")
        if options.format == "sc8" and options.normalise != "noise":
            raise CommandError(f"--normalise {options.normalise}: --voltages of 8 bits need noise, "
                               "with which they fit these (or --format fc32)")
    calibrator = Calibrator(signals, plan.channels, options)
    if calibrator:
        # weights are for what the F-engine makes of it
        array = signals.description = calibrated_array(array, calibrator.calibration)
    # what the blocks refuse is to be known before anything is said, or computed
    chain = BeamChain(signals, plan, options, beams, calibrator)
    if chain.voltages:
        keep_what_is_read(options, signals, chain.voltages.files(), "--voltages")
    for text in (*signals.warnings, *calibrator.warnings,
                 *blind_beams(beams, array, seconds + fraction)):
        warn(PROGRAM, text)
    length = "until Ctrl-C" if plan.samples is None else \
        seconds_text(plan.spectra * plan.hop / plan.sample_rate)
    say(f"{options.input}: {signals.inputs} input{'s'[:signals.inputs > 1]}, "
        f"{signals.sample_type}, {with_prefix(plan.sample_rate, 'sample/s')}, {length}")
    say(f"{len(beams)} beam{'s'[:len(beams) > 1]}, {plan.channels} channels of "
        f"{with_prefix(plan.sample_rate / plan.hop, 'Hz')}, integrations of "
        f"{seconds_text(plan.integration)}: {plan.integrated} spectra; frames of "
        f"{plan.spectra_per_frame}")
    say(beam_table(beams))
    if chain.searching:
        say(f"search: {chain.searching.text()}")
    for text in (*plan.notes, *(chain.searching.notes if chain.searching else [])):
        say("note: " + text)
    error = drift.error(update_interval(weights_hold, plan.frame_length) + plan.frame_length)
    if error > options.phase_error * (1 + 1e-6):
        warn(PROGRAM, f"--phase-error {options.phase_error:g}: weights hold for "
             f"{seconds_text(weights_hold)}, frames last {seconds_text(plan.frame_length)}: phases "
             f"are wrong by up to {error:.3g}°")
    if options.format == "sc8":
        chain.level(calibrator.set, lambda gains: say(f"gain of the inputs: {gain_text(gains)}"))
    return observe(PROGRAM, chain, plan, options.output or options.input,
                   lambda run: summary(chain, signals, plan, options, run))


def parser():
    """The command line of aperture_beams."""
    result = PlanParser(
        SCHEMA, prog=PROGRAM,
        description="Tied-array beams: channelises all inputs of a recording or of a simulated "
        "array, adds them in phase for each direction, detects powers or Stokes parameters, "
        "integrates, and writes filterbank files.",
        epilog=EPILOG, formatter_class=HelpFormatter)
    add = result.add_argument
    add_input_options(add)
    add("--beams", required=True, metavar="BEAMS",
        help="a YAML file, or grid:az=180,el=60,columns=8,rows=2,spacing=1.5 (degrees; ra and dec "
        "instead follow the sky), or grid:ra=83.63,dec=22.01,width=3,overlap=0.5 to fill a circle")
    add("--incoherent", nargs="?", const="", metavar="ANTENNA+ANTENNA",
        help="one more beam: the sum of the powers of all inputs, or of those of these antennas")
    add_output_options(add, "FILE.fil", "filterbank file of all beams, or with {beam} in its name "
                       "one for each; {time} becomes the UTC time of the first "
                       "integration; may be left out with --search or --fold", required=False)
    add("--products", choices=tuple(PRODUCTS),
        help="(default: I of an array with two polarisations, else power)")
    add("--integration", type=positive_seconds(False), metavar="SECONDS",
        help="rounded to whole spectra, and of more than 8 MB of voltages to whole frames "
        "(default: 0.001)")
    add("--sum-channels", type=whole_number(1, 65536), default=1, metavar="N",
        help="neighbours that become one in the file (default: %(default)s)")
    add_voltage_options(add, "beam")
    add_search_options(add)
    add_fold_options(add)
    add("--nbits", type=int, choices=(8, 32), default=32, help="(default: %(default)s)")
    add("--taper", choices=TAPERS, default="none",
        help="of the weights from the middle of the array to its edge (default: %(default)s)")
    add("--normalise", choices=NORMS, default="noise",
        help="noise: a beam has the noise of an input; signal: a source has the power that it has "
        "in an input (default: %(default)s)")
    add("--phase-error", type=degrees(0.001, 90), default=1.0, metavar="DEGREES",
        help="that weights of beams on the sky may be off (default: %(default)s)")
    return result


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), form_beams, arguments)
