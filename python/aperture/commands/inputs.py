#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What --input names: a recording or a simulated array, and how much of it is read."""


import math
import os
import stat
from dataclasses import dataclass

from gnuradio import gr

from .. import dada_source
from ..arrays.array_description import load_array
from ..arrays.telescopes import array_of_recording
from ..array_source import DEFAULT_START_TIME, array_source
from .running import CommandError
from .tables import seconds_text

MOST_SAMPLES = 2**62     # of a simulation that ends
DEFAULT_DURATION = 1.0   # s, of simulations


@dataclass
class Signals:
    """Where the samples come from.

    description: the array's; sample_type: of the samples; sample_rate: Hz; center_frequency: of the
    middle of the band, Hz; samples: of each input, None if the length is to be chosen; inverted: as
    pfb_channelizer has it; source(n): makes the block for n samples of each input, 0: without end;
    warnings: for the user.
    """
    description: object
    sample_type: str
    sample_rate: float
    center_frequency: float
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

    return Signals(description, "fc32", description.sample_rate, description.center_frequency, None,
                   False, source, [])


def silent(make, **parameters):
    """Makes a block whose warnings and errors are shown here, once, and not by its logger."""
    gr.logging().set_default_level(gr.log_levels.off)
    try:
        block = make(**parameters)
    finally:
        gr.logging().set_default_level(gr.log_levels.err)
    block.set_log_level("off")
    return block


def check_regular(filename, what_for):
    """Refuses what is there and no file on a disk: to open a FIFO waits until somebody writes."""
    if os.path.exists(filename) and not os.path.isfile(filename):
        what = ("a folder" if os.path.isdir(filename) else
                "a FIFO" if stat.S_ISFIFO(os.stat(filename).st_mode) else "a device or socket")
        raise CommandError(f"{filename}: this is {what}; {what_for} must be a file")


def open_recording(filename, array):
    """A PSRDADA file; `array` names its description, None: as the file's header says."""
    check_regular(filename, "a recording")
    # a name need not be UTF-8, which text would become on its way to C++
    filename_bytes = os.fsencode(filename)
    with open(filename, "rb"):
        pass  # what keeps it from being read is said by Python, which can say every name
    try:
        first = silent(dada_source, filename=filename_bytes)
    except (RuntimeError, ValueError) as error:
        raise CommandError(str(error)) from None
    warnings = [first.warning()] if first.warning() else []
    rate, inputs = first.sample_rate(), first.inputs()
    if array is None:
        name = first.header().get("TELESCOPE", "")
        description, more = array_of_recording(name, inputs, rate, first.center_frequency())
        warnings += [f"{filename}: {text}" for text in more]
    else:
        description = load_array(array)
        if len(description.inputs) != inputs:
            raise CommandError(f"--array {array}: it has {len(description.inputs)} inputs, "
                               f"{filename} has {inputs}")
        for what, here, there in (("sample rate", rate, description.sample_rate),
                                  ("centre frequency", first.center_frequency(),
                                   description.center_frequency)):
            if not math.isclose(here, there, rel_tol=1e-9):
                warnings.append(f"{array}: {what} {there:.10g} Hz, but {filename} says "
                                f"{here:.10g} Hz, which is used")

    def source(samples):
        return silent(dada_source, filename=filename_bytes, samples=samples)

    return Signals(description, first.type(), rate, first.center_frequency(), first.samples(),
                   first.inverted(), source, warnings)


def open_input(options):
    """What --input names; see Signals."""
    kind, colon, name = options.input.partition(":")
    if not colon or kind not in ("sim", "dada") or not name:
        raise CommandError(f"--input {options.input}: expected sim:ARRAY.yaml, the name of a "
                           "shipped array as in sim:NAME, or dada:FILE")
    if kind == "sim":
        if options.array is not None:
            raise CommandError(f"--array {options.array}: a simulation has its array in --input")
        return open_simulation(name, 1 if options.seed is None else options.seed)
    if options.seed is not None:
        raise CommandError(f"--seed {options.seed}: only simulations have one")
    return open_recording(name, options.array)


def keep_what_is_read(options, outputs):
    """Refuses files to write that are among those to read, which would be lost."""
    read = {"--input": options.input.partition(":")[2], "--array": options.array,
            "--beams": getattr(options, "beams", None), "--calibration": options.calibration}
    for option, name in read.items():
        for path in outputs:
            if name and os.path.exists(path) and os.path.exists(os.path.expanduser(name)) \
                    and os.path.samefile(path, os.path.expanduser(name)):
                raise CommandError(f"-o {path}: is the file that {option} names, and would be "
                                   "replaced")


def length_of(signals, duration):
    """Samples of a recording and seconds of a simulation to read: (samples, duration), both
    None for an endless simulation."""
    if signals.samples is None:
        duration = DEFAULT_DURATION if duration is None else duration
        longest = MOST_SAMPLES / signals.sample_rate
        if longest < duration < math.inf:
            raise CommandError(f"--duration {duration:g}: expected at most {longest:g} s, or inf")
        return None, None if math.isinf(duration) else duration
    if duration is None or math.isinf(duration):
        return signals.samples, None
    samples = max(1, round(duration * signals.sample_rate))
    if samples > signals.samples:
        signals.warnings.append(
            f"--duration {duration:g}: the recording ends after "
            f"{seconds_text(signals.samples / signals.sample_rate)}")
    return min(samples, signals.samples), None


def start_of(source):
    """(whole seconds, fraction) since 1970 of the first sample."""
    return source.start_time() if hasattr(source, "start_time") else (DEFAULT_START_TIME, 0.0)
