#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx: an FX correlator from samples to a file of visibilities.

source -> f_engine -> xengine -> uvh5_sink, all inputs in one port.
"""

import argparse
import math
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
from gnuradio import blocks, gr

from .. import dada_source, devices, f_engine, pfb_channelizer, xengine
from ..array.array_description import load_array
from ..array.telescopes import array_of_recording
from ..array_source import array_source
from ..files.growing_file import check_path
from ..uvh5_sink import uvh5_sink
from .fx_plan import make_plan, spectra_of
from .fx_report import ProgressBar, device_text, seconds_text, table, with_prefix

GPU_SPECTRA = 16         # the X-engine takes 8-bit blocks of a multiple of this on a GPU
BYTES = {"sc8": 2, "fc32": 8}
TARGET_RMS = 20.0        # steps of 8 bits, of the real and of the imaginary part
GAIN_SPECTRA = 256       # that the gain is measured from, at most
GAIN_BYTES = 64 << 20    # and the memory for them
MOST_SAMPLES = 2**62     # of a simulation that ends
DEFAULT_DURATION = 1.0   # s, of simulations
TOGETHER = 0.2           # s
INTERRUPTED = 130        # exit code, as shells count signals: 128 + SIGINT


class FxError(Exception):
    """Something that the user can change; the message says what."""


@dataclass
class Signals:
    """Where the samples come from.

    description: the array's; sample_type: of the samples; sample_rate: Hz; samples: of each
    input, None if the length is to be chosen; inverted: as pfb_channelizer has it; source(n):
    makes the block for n samples of each input, 0: without end; warnings: for the user.
    """
    description: object
    sample_type: str
    sample_rate: float
    samples: int
    inverted: bool
    source: object
    warnings: list

    @property
    def real(self):
        return self.sample_type in ("f32", "s16", "s8")

    @property
    def inputs(self):
        return len(self.description.inputs)


def open_simulation(name, seed):
    """A simulated array: `name` is a YAML file or that of a description that is shipped."""
    description = load_array(name)

    def source(samples):
        return array_source(description, type="fc32", samples=samples, seed=seed,
                            inputs_per_port=len(description.inputs))

    return Signals(description, "fc32", description.sample_rate, None, False, source, [])


def silent(make, **parameters):
    """Makes a block whose warnings and errors are shown here, once, and not by its logger."""
    gr.logging().set_default_level(gr.log_levels.off)
    try:
        block = make(**parameters)
    finally:
        gr.logging().set_default_level(gr.log_levels.err)
    block.set_log_level("off")
    return block


def open_recording(filename, array):
    """A PSRDADA file; `array` names its description, None: as the file's header says."""
    first = silent(dada_source, filename=filename)
    warnings = [first.warning()] if first.warning() else []
    rate, inputs = first.sample_rate(), first.inputs()
    if array is None:
        name = first.header().get("TELESCOPE", "")
        description, more = array_of_recording(name, inputs, rate, first.center_frequency())
        warnings += [f"{filename}: {text}" for text in more]
    else:
        description = load_array(array)
        if len(description.inputs) != inputs:
            raise FxError(f"--array {array}: it has {len(description.inputs)} inputs, "
                          f"{filename} has {inputs}")
        for what, here, there in (("sample rate", rate, description.sample_rate),
                                  ("centre frequency", first.center_frequency(),
                                   description.center_frequency)):
            if not math.isclose(here, there, rel_tol=1e-9):
                warnings.append(f"{array}: {what} {there:.10g} Hz, but {filename} says "
                                f"{here:.10g} Hz, which is used")

    def source(samples):
        return silent(dada_source, filename=filename, samples=samples)

    return Signals(description, first.type(), rate, first.samples(), first.inverted(), source,
                   warnings)


def open_input(options):
    """What --input names; see Signals."""
    kind, colon, name = options.input.partition(":")
    if not colon or kind not in ("sim", "dada") or not name:
        raise FxError(f"--input {options.input}: expected sim:ARRAY.yaml, the name of a shipped "
                      "array as in sim:NAME, or dada:FILE")
    if kind == "sim":
        if options.array is not None:
            raise FxError(f"--array {options.array}: a simulation has its array in --input")
        return open_simulation(name, 1 if options.seed is None else options.seed)
    if options.seed is not None:
        raise FxError(f"--seed {options.seed}: only simulations have one")
    return open_recording(name, options.array)


def keep_what_is_read(options, outputs):
    """Refuses files to write that are among those to read, which would be lost."""
    read = {"--input": options.input.partition(":")[2], "--array": options.array,
            "--beams": getattr(options, "beams", None)}
    for option, name in read.items():
        for path in outputs:
            if name and os.path.exists(path) and os.path.exists(os.path.expanduser(name)) \
                    and os.path.samefile(path, os.path.expanduser(name)):
                raise FxError(f"-o {path}: is the file that {option} names, and would be replaced")


def length_of(signals, duration):
    """Samples of a recording and seconds of a simulation to read: (samples, duration), both
    None for an endless simulation."""
    if signals.samples is None:
        duration = DEFAULT_DURATION if duration is None else duration
        longest = MOST_SAMPLES / signals.sample_rate
        if longest < duration < math.inf:
            raise FxError(f"--duration {duration:g}: expected at most {longest:g} s, or inf")
        return None, None if math.isinf(duration) else duration
    if duration is None or math.isinf(duration):
        return signals.samples, None
    samples = max(1, round(duration * signals.sample_rate))
    if samples > signals.samples:
        signals.warnings.append(
            f"--duration {duration:g}: the recording ends after "
            f"{seconds_text(signals.samples / signals.sample_rate)}")
    return min(samples, signals.samples), None


def block_multiple(options):
    """What the number of spectra in a block must be a multiple of."""
    on_cpu = options.device == "cpu" or (options.device == "auto" and devices() == ["cpu"])
    return 1 if on_cpu or options.format != "sc8" else GPU_SPECTRA


def channelizer_parameters(signals, plan, options):
    """What the F-engine is given in both passes."""
    return dict(channels=plan.channels, inputs=signals.inputs, inputs_per_port=signals.inputs,
                input_type=signals.sample_type, taps=options.taps, window=options.window,
                inverted=signals.inverted, device=options.device)


def gains_for(spectra):
    """The gain of each input that brings its voltages to an rms of TARGET_RMS steps.

    spectra: complex [spectrum][input][channel] at gain 1. The rms is that of the real and
    imaginary parts. Channels with more than ten times the power that nine in ten channels stay
    below (interference) do not count, because one strong carrier would drown all other
    channels in the rounding; spectra that are all zero (lost samples) do not either.
    Returns gains [input], NaN for an input that is zero throughout.
    """
    gains = np.full(spectra.shape[1], np.nan)
    for number in range(spectra.shape[1]):
        voltages = spectra[:, number]
        voltages = voltages[np.any(voltages != 0, axis=1)]
        if len(voltages):
            power = np.mean(np.abs(voltages.astype(np.complex128))**2, axis=0)
            power = power[power <= 10 * np.percentile(power, 90)]
            gains[number] = TARGET_RMS / np.sqrt(np.mean(power) / 2)
    return gains


def fill_gains(gains, names):
    """Of inputs that were zero where the gains were measured, that of the others (their median, 1 if
    there are none): they may come alive. Returns gains [input] and warnings for the user."""
    unknown = np.isnan(gains)
    filled = np.where(unknown, 1.0 if unknown.all() else np.nanmedian(gains), gains)
    return filled, [f"input {names[number]} is zero where the gain is measured: its gain is "
                    f"{filled[number]:.4g}" + ("" if unknown.all() else ", as that of the others")
                    for number in np.flatnonzero(unknown)]


def measure_gains(signals, plan, options):
    """Channelises the first part of the input and returns gains_for() it."""
    inputs, channels = signals.inputs, plan.channels
    count = max(1, min(GAIN_SPECTRA, GAIN_BYTES // (8 * inputs * channels)))
    if plan.spectra is not None:
        count = min(count, plan.spectra)
    flowgraph = gr.top_block("aperture_fx gains")
    source = signals.source((count + plan.taps - 1) * plan.hop)
    channelizer = pfb_channelizer(output_type="fc32",
                                  **channelizer_parameters(signals, plan, options))
    sink = blocks.vector_sink_c(inputs * channels)
    flowgraph.connect(source, channelizer, sink)
    flowgraph.handle_sigint = False  # it would swallow Ctrl-C
    try:
        flowgraph.run()
    except KeyboardInterrupt:
        flowgraph.stop()
        raise
    spectra = np.array(sink.data(), np.complex64).reshape(-1, inputs, channels)
    if len(spectra) == 0:
        raise FxError("the gain cannot be measured: the first part of the input gave no spectra")
    return gains_for(spectra)


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
        self.f_engine = f_engine(output_type=options.format, times=plan.times, gain=first_gain,
                                 **channelizer_parameters(signals, plan, options))
        if gains is not None:
            for number, gain in enumerate(gains):
                self.f_engine.set_gain(complex(gain), number)
        self.correlator = xengine(channels=plan.channels, inputs=signals.inputs,
                                  times=plan.times, type=options.format,
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


class Interrupts:
    """Counts Ctrl-C (and SIGTERM) while it is entered, instead of KeyboardInterrupt. Such that come
    together are one: `timeout -s INT` sends two."""

    def __init__(self):
        self.count = 0
        self._before = {}
        self._last = -math.inf

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, *_):
        now = time.monotonic()
        if now - self._last > TOGETHER:
            self.count += 1
        self._last = now

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)


def run_chain(chain, bar):
    """Runs the flowgraph to its end. The first interrupt ends the source, so that all that
    was in flight is written; the second stops the flowgraph as it is.

    Returns the seconds it took and the number of interrupts.
    """
    with Interrupts() as interrupts:
        begin = time.monotonic()
        chain.start()
        # In the main thread wait() would keep Python from seeing signals.
        waiter = threading.Thread(target=chain.wait, daemon=True)
        waiter.start()
        handled = 0
        while waiter.is_alive():
            waiter.join(0.1)
            if interrupts.count > handled:
                handled += 1
                if handled == 1:
                    chain.source.finish()
                else:
                    chain.stop()
            bar.show(chain.samples_done(), "ending, again Ctrl-C stops at once"
                     if handled == 1 else "stopping" if handled else "")
        return time.monotonic() - begin, interrupts.count


def gain_text(gains):
    """The gains in one cell of a table."""
    low, high = np.min(gains), np.max(gains)
    return f"{low:.4g}" if len(gains) == 1 or high - low < 1e-3 * high \
        else f"{low:.4g} to {high:.4g}"


def input_table(description, gains, clamped, missing):
    """Lines on each input, of at most 16; of more, those that lost or clamped something."""
    names = list(description.input_names)
    rows = [(names[i], f"{gains[i]:.4g}" if gains is not None else "-", str(clamped[i]),
             str(missing[i])) for i in range(len(names))
            if len(names) <= 16 or clamped[i] or missing[i]]
    return table([("input", "gain", "clamped", "missing"), *rows[:16]]) if rows else ""


def summary(chain, signals, plan, options, gains, elapsed):
    """The table at the end, as text."""
    samples = chain.samples_done()
    spectra = spectra_of(samples, plan.hop, plan.taps)
    clamped = np.add(chain.f_engine.clamped(), chain.f_engine.clamped_samples())
    missing = chain.f_engine.missing()
    values = max(1, spectra * plan.channels * signals.inputs)
    rate = samples / max(elapsed, 1e-9)
    rows = [
        ("inputs", f"{signals.inputs}: {', '.join(signals.description.input_names[:16])}"
         + (", ..." if signals.inputs > 16 else "")),
        ("channels", f"{plan.channels} of "
         f"{with_prefix(plan.sample_rate / plan.hop, 'Hz')}, {options.taps} taps, "
         f"{options.window}"),
        ("integrations", f"{chain.sink.integrations()} of {seconds_text(plan.integration)} "
         f"({plan.blocks} x {plan.times} spectra)"),
        ("spectra", f"{spectra} of each input"),
        ("missing", f"{sum(missing)} spectra of all inputs"),
        ("clamped", f"{sum(clamped)} voltages and samples of all inputs, "
         f"{100 * sum(clamped) / values:.3g} %"),
        ("gain", gain_text(gains) if gains is not None else "1 (fc32)"),
        ("rate", f"{with_prefix(rate, 'sample/s')} of each input, "
         f"{with_prefix(rate * signals.inputs, 'sample/s')} of all"),
        ("real time", f"x {rate / plan.sample_rate:.3g} "
         f"({seconds_text(samples / plan.sample_rate)} in {seconds_text(elapsed, 3)})"),
        ("device", device_text(("F-engine", chain.f_engine), ("X-engine", chain.correlator))),
        ("file", f"{options.output}, {with_prefix(os.path.getsize(options.output), 'B')}"),
    ]
    lines = [table(rows)]
    if len(signals.description.inputs) > 1:
        lines.append(input_table(signals.description, gains, clamped, missing))
    return "\n\n".join(line for line in lines if line)


def error_text(error):
    """What an exception tells a user."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def say(text):
    """A line for the user, at once: the run may take long."""
    print(text, flush=True)


def warn(text, program="aperture_fx"):
    print(f"{program}: warning: {text}", file=sys.stderr, flush=True)


def correlate(options):
    """Does what the options say; returns the exit code. Raises FxError and what the blocks
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
        f"block{'s'[:plan.blocks > 1]} of {plan.times} spectra")
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
        raise FxError("; ".join(errors))
    if chain.sink.integrations() == 0:
        raise FxError(f"{options.output}: nothing was written, the input gave no integration")
    say(summary(chain, signals, plan, options, gains, elapsed))
    if interrupts > 1:
        warn("stopped at once: what was in flight is not in the file")
        return INTERRUPTED
    if interrupts and plan.samples is not None:
        warn("interrupted before the end of the input")
        return INTERRUPTED
    return 0


def whole_number(low, high, even=False):
    """An argparse type: a whole (or even) number from low to high."""
    def convert(text):
        kind = "an even number" if even else "a whole number"
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high or (even and value % 2):
            raise argparse.ArgumentTypeError(f"{text}: expected {kind} from {low} to {high}")
        return value
    return convert


def positive_seconds(endless):
    """An argparse type: seconds above 0, `inf` where endless is true."""
    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not value > 0 or (math.isinf(value) and not endless):
            allowed = "a number of seconds above 0" + (" or inf" if endless else "")
            raise argparse.ArgumentTypeError(f"{text}: expected {allowed}")
        return value
    return convert


def device_name(text):
    """An argparse type: auto, cpu, cuda, cuda:N."""
    number = text.partition(":")[2]
    if text not in ("auto", "cpu", "cuda") and not (text.startswith("cuda:") and
                                                    number.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: expected auto, cpu, cuda or cuda:N")
    return text


def add_input_options(add):
    """Those of the commands that channelise an input."""
    add("--input", required=True, metavar="INPUT",
        help="sim:ARRAY.yaml or sim:NAME of a shipped array (simulation), or dada:FILE "
        "(PSRDADA recording)")
    add("--array", metavar="FILE",
        help="array description of a recording (default: from its header; of two streams the "
        "first is x, the second y)")
    add("--channels", type=whole_number(4, 65536, even=True), metavar="N",
        help="even, 4 to 65536 (default: 1024, fewer of an input with less than 100 spectra)")
    add("--taps", type=whole_number(1, 64), default=8, metavar="T",
        help="of the polyphase filter bank, 1 to 64 (default: %(default)s)")
    add("--window", default="hann", metavar="NAME",
        help="hann, hamming, blackman, rect or kaiser(BETA) (default: %(default)s)")
    add("--format", choices=("sc8", "fc32"), default="sc8",
        help="of the voltages after the F-engine; for sc8 the gain of each input is measured "
        f"from the first part of the input, for an rms of {TARGET_RMS:g} steps of the real and "
        "the imaginary part (default: %(default)s)")
    add("--duration", type=positive_seconds(True), metavar="SECONDS",
        help=f"of a simulation (default: {DEFAULT_DURATION:g}; inf: until Ctrl-C), or of a "
        "recording from its start (default: all)")
    add("--device", type=device_name, default="auto", metavar="NAME",
        help="auto, cpu, cuda or cuda:N (default: %(default)s: a GPU if there is one)")
    add("--seed", type=whole_number(0, 2**31 - 1), metavar="N",
        help="of a simulation (default: 1)")


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
    except (FxError, ValueError, OSError, RuntimeError) as error:
        print(f"aperture_fx: error: {error_text(error)}", file=sys.stderr)
        return 1
