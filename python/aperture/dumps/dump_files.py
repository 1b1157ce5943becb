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

from ..arrays.array_description import load_array
from ..files.file_names import TIME, check_fields, check_text, time_text
from ..files.growing_file import check_path, file_name
from ..formats.voltage_files import VoltageFiles, missing_of
from ..formats.voltages import DUMP_ENDINGS, GUPPI_ENDING, Recording
from ..parameters.rules import as_whole, one_of, refuse, whole_numbers
from .exact_clock import moment_of
from .voltage_edge import arranged, time_first

ID = "{id}"
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
        self._check_name()
        self._channels = whole_numbers("selected_channels", selected_channels, edge.channels)
        self._inputs = whole_numbers("selected_inputs", selected_inputs, edge.inputs)
        self.select()  # complains of what the format cannot hold
        for path in self.select().paths("x" * LONGEST_ID, 0):
            check_path(path, True)

    def _check_name(self):
        if self.name.endswith(GUPPI_ENDING) and self.edge.of_samples:
            problem = "SigMF or DADA: GUPPI raw has two channels or more, and samples are one"
            refuse("filename", self.name, problem)
        channel = [] if self.name.endswith(GUPPI_ENDING) else ["channel"]
        check_fields(self.name, ("id", "time", self.edge.field[1:-1], *channel))
        for field in (ID, TIME):
            if field not in os.path.basename(self.name):
                problem = f"a name with {field} in it, or one dump would replace another"
                refuse("filename", self.name, problem)

    def select(self, channels=None, inputs=None):
        """A Selection; None: what the constructor was told. ParameterError: it is not allowed."""
        if channels is not None:
            channels = whole_numbers("channels", channels, self.edge.channels)
        if inputs is not None:
            inputs = whole_numbers("inputs", inputs, self.edge.inputs)
        return Selection(self, channels or self._channels, inputs or self._inputs)


class Selection(VoltageFiles):
    """Channels and inputs that a dump has: their numbers in the edge."""

    def __init__(self, files, channels, inputs):
        super().__init__(
            files.name,
            DUMP_ENDINGS,
            files.edge,
            channels,
            inputs,
            files.polarizations,
            lambda pairs: [files.names[pair[0]] for pair in pairs],
            more=1,
        )
        self.files, self.channels, self.inputs = files, channels, inputs

    @property
    def item_bytes(self):
        """Bytes that an item has in the files, without what is said of it."""
        edge = self.files.edge
        return len(self.channels) * len(self.inputs) * edge.spectra * edge.file_dtype.itemsize

    def paths(self, id, seconds, number=1):
        """Names of the files of a recording, as the writers take them."""
        text = time_text(seconds) + (f"-{number}" if number > 1 else "")
        return [path.replace(ID, id).replace(TIME, text) for path in self.patterns]

    def description(self, id, seconds, number=1):
        """The name of the file that says what is in a dump."""
        bare = re.sub(r"[-_.]?\{(channel|input|beam)\}", "", os.path.basename(self.files.name))
        text = time_text(seconds) + (f"-{number}" if number > 1 else "")
        stem = os.path.splitext(bare)[0].replace(ID, id).replace(TIME, text)
        return os.path.join(os.path.dirname(self.files.name), stem + DESCRIPTION)

    def free_number(self, id, seconds):
        """The first one with which none of these files is there."""
        number = 1
        while any(map(self.is_there, self.paths(id, seconds, number))) or os.path.lexists(
            self.description(id, seconds, number)
        ):
            number += 1
        return number

    def begin(self, paths, stretch, item, settings=()):
        """A Section from an item on, of which a Stretch says time and frequency; settings: texts on
        those that hold there."""
        return Section(self, paths, stretch, item, settings)


class Section:
    """Files of voltages without a jump in time or frequency."""

    def __init__(self, selection, paths, stretch, item, settings):
        self._settings = tuple(settings)
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
            settings=self._settings,
        )
        return self._selection.writer(
            path, recording, edge.file_dtype, edge.spectra, files.blocks, False
        )

    def capture(self, stretch, item):
        """Begins a capture: from the next item on the clock says something a little different."""
        if self._selection.sigmf:
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
            lost = missing_of(inputs, missing)
            if self._selection.guppi:
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
