#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx: an FX correlator from samples to a file of visibilities.

source -> f_engine -> xengine -> uvh5_sink, all inputs in one port.
"""

import argparse
import sys

from gnuradio import gr

from .. import f_engine, xengine
from ..arguments.argument_types import positive_seconds, whole_number
from ..files.growing_file import check_path
from ..uvh5_sink import uvh5_sink
from .engines import BYTES, block_multiple, channelizer_parameters
from .fx_plan import make_plan
from .fx_report import summary
from .input_options import add_input_options
from .inputs import keep_what_is_read, length_of, open_input, silent
from .levels import TARGET_RMS, fill_gains, gain_text, measure_gains
from .progress import ProgressBar
from .running import INTERRUPTED, CommandError, error_text, run_chain, say, warn
from .tables import seconds_text, with_prefix


def history(options, plan, gains):
    """What made the file, in one line."""
    text = (f"aperture_fx: {options.input}, {plan.channels} channels, {options.taps} taps, "
            f"{options.window}, {options.format}")
    if gains is not None:
        text += ", gains " + " ".join(f"{gain:.6g}" for gain in gains)
    return text


class Chain(gr.top_block):
    """The correlator as a flowgraph, made but not started.

    gains: of each input, for sc8; None for fc32.
    """

    def __init__(self, signals, plan, options, gains):
        super().__init__("aperture_fx")
        self.source = signals.source(plan.samples or 0)
        first_gain = 0 if gains is None else float(gains[0])
        self.f_engine = f_engine(output_type=options.format,
                                 spectra_per_frame=plan.spectra_per_frame, gain=first_gain,
                                 **channelizer_parameters(signals, plan, options))
        if gains is not None:
            for number, gain in enumerate(gains):
                self.f_engine.set_gain(complex(gain), number)
        self.correlator = xengine(channels=plan.channels, inputs=signals.inputs,
                                  spectra_per_frame=plan.spectra_per_frame, type=options.format,
                                  integration=plan.blocks, integration_unit="blocks",
                                  device=options.device)
        self.sink = silent(uvh5_sink, filename=options.output, array=signals.description,
                           channels=plan.channels, history=history(options, plan, gains))
        for block in (self.f_engine, self.correlator):
            block.set_log_level("warning")  # lost samples, for example
        self.connect(self.source, self.f_engine, self.correlator, self.sink)

    def samples_done(self):
        """Samples of each input that the F-engine has taken."""
        return self.f_engine.nitems_read(0)

    def errors(self):
        """What went wrong while it ran, as texts."""
        return [text for block in (self.source, self.f_engine, self.correlator, self.sink)
                for text in [getattr(block, "error", lambda: "")()] if text]


def correlate(options):
    """Does what the options say; returns the exit code. Raises CommandError and what the blocks
    raise for parameters that they refuse."""
    signals = open_input(options)
    # before gains are measured
    keep_what_is_read(options, [options.output])
    check_path(options.output, overwrite=True)
    samples, duration = length_of(signals, options.duration)
    plan = make_plan(inputs=signals.inputs, sample_rate=signals.sample_rate, real=signals.real,
                     taps=options.taps, bytes_per_value=BYTES[options.format], samples=samples,
                     duration=duration, channels=options.channels,
                     spectra_per_block=options.spectra_per_block,
                     integration=options.integration,
                     multiple=block_multiple(options))
    for text in signals.warnings:
        warn(text)
    length = "until Ctrl-C" if plan.samples is None else \
        seconds_text(plan.spectra * plan.hop / plan.sample_rate)
    say(f"{options.input}: {signals.inputs} "
        f"input{'s'[:signals.inputs > 1]}, {signals.sample_type}, "
        f"{with_prefix(plan.sample_rate, 'sample/s')}, {length}")
    say(f"{plan.channels} channels of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}, "
        f"integrations of {seconds_text(plan.integration)}: {plan.blocks} "
        f"block{'s'[:plan.blocks > 1]} of {plan.spectra_per_frame} spectra")
    for text in plan.notes:
        say("note: " + text)
    gains = None
    if options.format == "sc8":
        gains, warnings = fill_gains(measure_gains(signals, plan, options),
                                     signals.description.input_names)
        for text in warnings:
            warn(text)
        say(f"gain for an rms of {TARGET_RMS:g} steps: {gain_text(gains)}")

    chain = Chain(signals, plan, options, gains)
    bar = ProgressBar(sys.stderr, plan.samples, plan.sample_rate)
    elapsed, interrupts = run_chain(chain, bar)
    bar.clear()
    errors = chain.errors()
    if errors:
        raise CommandError("; ".join(errors))
    if chain.sink.integrations() == 0:
        raise CommandError(f"{options.output}: nothing was written, the input gave no integration")
    say(summary(chain, signals, plan, options, gains, elapsed))
    if interrupts > 1:
        warn("stopped at once: what was in flight is not in the file")
        return INTERRUPTED
    if interrupts and plan.samples is not None:
        warn("interrupted before the end of the input")
        return INTERRUPTED
    return 0


def parser():
    """The command line of aperture_fx."""
    result = argparse.ArgumentParser(
        prog="aperture_fx",
        description="FX correlator: channelises all inputs of a recording or of a simulated "
        "array, multiplies all pairs, integrates, and writes UVH5.",
        epilog="Ctrl-C ends the input and writes all that was in flight; once more, it stops at "
        "once. Exit code: 0 only if all went well, 1 after an error, 2 for wrong arguments, 130 "
        "if the input was interrupted (not for endless simulations, which end so).")
    add = result.add_argument
    add_input_options(add)
    add("-o", "--output", required=True, metavar="FILE.uvh5",
        help="visibilities; a file of that name is replaced")
    add("--spectra-per-block", type=whole_number(1, 1 << 24), metavar="N",
        help="(default: so that blocks have 1 to 128 MB where possible, and an integration is a "
        "whole number of them)")
    add("--integration", type=positive_seconds(False), metavar="SECONDS",
        help="rounded to whole blocks (default: 1, or the whole input if that is shorter)")
    return result


def main(arguments=None):
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    # GNU Radio tells much about its buffers, as warnings too, that is of no use here.
    gr.logging().set_default_level(gr.log_levels.err)
    try:
        return correlate(options)
    except KeyboardInterrupt:
        print("aperture_fx: interrupted before the correlator started", file=sys.stderr)
        return INTERRUPTED
    except (CommandError, ValueError, OSError, RuntimeError) as error:
        print(f"aperture_fx: error: {error_text(error)}", file=sys.stderr)
        return 1
