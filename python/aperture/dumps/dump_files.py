#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The files of a dump: their names, and what is in which of them."""

import contextlib
import math
import os
import re
import resource

from ..arrays.array_description import load_array
from ..files.file_names import TIME, check_fields, check_text, name_text, time_text
from ..files.growing_file import check_path, file_name
from ..formats.dada import DadaWriter
from ..formats.guppi.writer import GuppiWriter, numbered, sequence
from ..formats.sigmf.writer import SigmfWriter, both_names
from ..formats.voltages import DADA_ENDING, GUPPI_ENDING, SIGMF_ENDINGS, Recording
from ..parameters.rules import as_whole, one_of, refuse, whole_numbers
from .exact_clock import moment_of
from .voltage_edge import arranged, time_first

ID, CHANNEL = "{id}", "{channel}"
SPARE_FILES = 64  # descriptors that are left to everything else
LONGEST_ID = 64
DESCRIPTION = ".json"  # ending of what is said of a dump


class DumpFiles:
    """
    The writer of an edge's dumps; the parameters are those of `voltage_ring`.

    Raises
    ------
    ValueError, OSError
    """

    def __init__(
        self,
        edge,
        filename,
        polarizations,
        selected_channels,
        selected_inputs,
        names,
        array,
        description,
        blocks_per_file,
    ):
        one_of("polarizations", polarizations, (1, 2))
        as_whole("blocks_per_file", blocks_per_file, 1)
        check_text("description", description)
        array = None if array is None or array == "" else load_array(array)
        self.edge, self.polarizations = edge, int(polarizations)
        self.array, self.description, self.blocks = array, description, int(blocks_per_file)
        self.names = (
            [str(number) for number in range(edge.inputs)] if names is None else list(names)
        )
        if len(self.names) != edge.inputs or not all(isinstance(name, str) for name in self.names):
            refuse("names", names, f"{edge.inputs} texts, one for each of the {edge.rows}")
        self.name = file_name(filename)
        self.guppi = self.name.endswith(GUPPI_ENDING)
        self.sigmf = self.name.endswith(SIGMF_ENDINGS)
        self._check_name()
        self._channels = whole_numbers("selected_channels", selected_channels, edge.channels)
        self._inputs = whole_numbers("selected_inputs", selected_inputs, edge.inputs)
        self.select()  # complains of what the format cannot hold
        for path in self.select().paths("x" * LONGEST_ID, 0):
            check_path(path, True)

    def _check_name(self):
        endings = (SIGMF_ENDINGS[0], GUPPI_ENDING, DADA_ENDING)
        if not self.name.endswith((*SIGMF_ENDINGS, GUPPI_ENDING, DADA_ENDING)):
            refuse("filename", self.name, f"a name that ends in {', '.join(endings)}")
        check_fields(
            self.name, ("id", "time", self.edge.field[1:-1], *([] if self.guppi else ["channel"]))
        )
        for field in (ID, TIME):
            if field not in os.path.basename(self.name):
                refuse(
                    "filename",
                    self.name,
                    f"a name with {field} in it, or one dump would replace another",
                )
        if self.guppi and self.edge.of_samples:
            refuse(
                "filename",
                self.name,
                "SigMF or DADA: GUPPI raw has two channels or more, and samples are one",
            )
        if self.guppi and self.edge.type == "fc32":
            refuse("type", self.edge.type, "sc8 or sc4: GUPPI raw has 8 bits")

    def select(self, channels=None, inputs=None):
        """A Selection; None: what the constructor was told. ParameterError: it is not allowed."""
        if channels is not None:
            channels = whole_numbers("channels", channels, self.edge.channels)
        if inputs is not None:
            inputs = whole_numbers("inputs", inputs, self.edge.inputs)
        return Selection(self, channels or self._channels, inputs or self._inputs)


class Selection:
    """
    Channels and inputs that a dump has, and how they are spread over files.

    channels, inputs: their numbers in the edge. parts: of each file (channels, numbers of inputs).
    """

    def __init__(self, files, channels, inputs):
        self.files, self.channels, self.inputs = files, channels, inputs
        edge, together = files.edge, files.polarizations
        if len(inputs) % together:
            refuse(
                "polarizations",
                together,
                f"1: {len(inputs)} {edge.rows} are written, which are no pairs",
            )
        self.pairs = [inputs[i : i + together] for i in range(0, len(inputs), together)]
        self._check_format()
        rows = self.pairs if edge.field in files.name else [inputs]
        groups = [[channel] for channel in channels] if CHANNEL in files.name else [channels]
        self.parts = [(group, row) for group in groups for row in rows]
        self._patterns = [self._pattern(*part) for part in self.parts]
        if len(set(self._patterns)) < len(self.parts):
            refuse("names", files.names, f"such that no two {edge.rows} have one file")
        count = len(self.parts) * (2 if files.sigmf else 1) + 1
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES
        if count > most:
            refuse(
                "filename",
                files.name,
                f"at most {most} files at a time, as this process may "
                f"open no more (ulimit -n), and these are {count}: choose channels or inputs",
            )

    def _check_format(self):
        files, channels = self.files, self.channels
        one_each = CHANNEL in files.name
        if files.sigmf and len(channels) > 1 and not one_each:
            refuse(
                "filename",
                files.name,
                f"a name with {CHANNEL} in it: a SigMF recording has "
                f"one frequency, and {len(channels)} channels are written (or choose one of "
                "them)",
            )
        if (
            not files.sigmf
            and not one_each
            and channels != list(range(channels[0], channels[0] + len(channels)))
        ):
            refuse(
                "channels",
                channels,
                "neighbours in ascending order, as GUPPI raw and DADA have them",
            )
        if files.guppi and len(channels) < 2:
            refuse(
                "channels",
                channels,
                "at least two: readers of GUPPI raw take those of one for real samples",
            )
        if files.guppi and len(self.pairs) > 1 and files.edge.field not in files.name:
            refuse(
                "filename",
                files.name,
                f"a name with {files.edge.field} in it: a GUPPI raw "
                f"file has one of the {len(self.pairs)} {files.edge.rows} (or pairs of them)",
            )

    def _pattern(self, channels, inputs):
        edge = self.files.edge
        digits = len(str(edge.channels - 1))
        return self.files.name.replace(CHANNEL, f"{channels[0]:0{digits}d}").replace(
            edge.field, name_text(self.files.names[inputs[0]])
        )

    @property
    def item_bytes(self):
        """Bytes that an item has in the files, without what is said of it."""
        edge = self.files.edge
        return len(self.channels) * len(self.inputs) * edge.spectra * edge.file_dtype.itemsize

    def paths(self, id, seconds, number=1):
        """Names of the files of a recording, as the writers take them."""
        text = time_text(seconds) + (f"-{number}" if number > 1 else "")
        return [path.replace(ID, id).replace(TIME, text) for path in self._patterns]

    def description(self, id, seconds, number=1):
        """The name of the file that says what is in a dump."""
        bare = re.sub(r"[-_.]?\{(channel|input|beam)\}", "", os.path.basename(self.files.name))
        text = time_text(seconds) + (f"-{number}" if number > 1 else "")
        stem = os.path.splitext(bare)[0].replace(ID, id).replace(TIME, text)
        return os.path.join(os.path.dirname(self.files.name), stem + DESCRIPTION)

    def free_number(self, id, seconds):
        """The first one with which none of these files is there."""
        number = 1
        while any(map(self._is_there, self.paths(id, seconds, number))) or os.path.lexists(
            self.description(id, seconds, number)
        ):
            number += 1
        return number

    def _is_there(self, path):
        if self.files.guppi:
            return bool(sequence(path)) or os.path.lexists(numbered(path, 0))
        return any(map(os.path.lexists, both_names(path) if self.files.sigmf else [path]))

    def begin(self, paths, stretch, item):
        """A Section from an item on, of which a Stretch says time and frequency."""
        return Section(self, paths, stretch, item)


class Section:
    """Files of voltages without a jump in time or frequency."""

    def __init__(self, selection, paths, stretch, item):
        self._selection, self._edge = selection, selection.files.edge
        self.start, self.samples = stretch.time(item), 0
        self._writers = []
        self.paths = []
        try:
            for path, part in zip(paths, selection.parts):
                self._writers.append(self._writer(path, stretch, *part))
        except BaseException:
            with contextlib.suppress(OSError):
                self.finish()
            raise

    def _writer(self, path, stretch, channels, inputs):
        files, edge = self._selection.files, self._edge
        rate = stretch.samples_a_second
        if edge.of_samples:
            width = rate if edge.file_dtype.kind in "uc" else rate / 2
            frequencies = (stretch.frequency,)
        else:
            width = stretch.bandwidth / edge.channels
            # frames a second are rounded, the width of a channel is what they come from
            rate = width if math.isclose(rate, width, rel_tol=1e-12) else rate
            frequencies = tuple(
                stretch.frequency + (channel - edge.channels // 2) * width for channel in channels
            )
        array = files.array
        recording = Recording(
            frequencies=frequencies,
            width=width,
            rate=rate,
            start=moment_of(self.start),
            names=tuple(files.names[number] for number in inputs),
            source=", ".join(files.names[number] for number in inputs[:: files.polarizations]),
            channel=channels[0],
            telescope=array.name if array else "",
            site=None if array is None else (array.latitude, array.longitude, array.height),
            description=files.description,
        )
        if files.guppi:
            return GuppiWriter(path, recording, edge.spectra, files.blocks, False)
        return (SigmfWriter if files.sigmf else DadaWriter)(path, recording, edge.file_dtype, False)

    def capture(self, stretch, item):
        """Begins a capture: from the next item on the clock says something a little different."""
        if self._selection.files.sigmf:
            for writer, (channels, _) in zip(self._writers, self._selection.parts):
                frequency = stretch.frequency
                if not self._edge.of_samples:
                    frequency += (
                        (channels[0] - self._edge.channels // 2)
                        * stretch.bandwidth
                        / self._edge.channels
                    )
                writer.capture(moment_of(stretch.time(item)), frequency)

    def add(self, samples, moved, missing):
        """
        Adds samples to the files.

        Parameters
        ----------
        samples : array
            [item][channel, from the lowest of the selection to the highest][input][time].
        moved : int
            Samples from the start of this section to the first of these, as the clock has it.
        missing : list of (input, first, count, reason)
            An input of None: of all.
        """
        lowest = min(self._selection.channels)
        for writer, (channels, inputs) in zip(self._writers, self._selection.parts):
            places = [channel - lowest for channel in channels]
            lost = _missing_of(inputs, missing)
            if self._selection.files.guppi:
                self._add_blocks(writer, samples, places, inputs, moved, lost)
                continue
            if len(channels) == 1:
                writer.add(arranged(samples, places, inputs)[0], lost)
            else:
                writer.add(time_first(samples, places, inputs), lost)
        self.samples += len(samples) * self._edge.spectra

    def _add_blocks(self, writer, samples, places, inputs, moved, missing):
        """A block for each item."""
        length = self._edge.spectra
        for item in range(len(samples)):
            begin = item * length
            cut = [
                (
                    place,
                    max(first, begin) - begin,
                    min(first + count, begin + length) - max(first, begin),
                )
                for place, first, count, _ in missing
            ]
            writer.add(
                arranged(samples[item : item + 1], places, inputs),
                moved + begin,
                [run for run in cut if run[2] > 0],
            )

    def finish(self):
        """Makes all files whole, also where one cannot be; OSError: some are not."""
        writers, self._writers = self._writers, []
        with contextlib.ExitStack() as stack:
            for writer in reversed(writers):
                stack.callback(self._finish_one, writer)

    def _finish_one(self, writer):
        paths = writer.paths
        try:
            writer.finish()
        finally:
            self.paths += [path for path in writer.paths or paths if os.path.exists(path)]


def _missing_of(inputs, missing):
    """The runs of a file's inputs, by their places; None where all of them are missing."""
    of_all = [(None, *run[1:]) for run in missing if run[0] is None]
    runs = [[run[1:] for run in missing if run[0] == number] for number in inputs]
    if all(run == runs[0] for run in runs):
        return of_all + [(None, *run) for run in runs[0]]
    return of_all + [(place, *run) for place, several in enumerate(runs) for run in several]
