#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes voltages of channels or beams into SigMF or GUPPI raw files."""

import contextlib
import math

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .dumps.voltage_edge import VoltageEdge, inputs_last
from .files import file_lock
from .files.checked_file import part_name
from .files.file_names import TIME, check_fields, check_text, is_taken, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RollOver, WritersSink
from .formats.guppi.header import sequence
from .formats.voltage_files import VoltageFiles, missing_of
from .formats.voltages import GUPPI_ENDING, VOLTAGE_ENDINGS, Moment, Recording, sc4_to_sc8
from .parameters.description import Anything, Integer, Switch, Text
from .parameters.rules import refuse, whole_numbers
from .parameters.sample_types import SAMPLE_TYPES
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.settings import HeldSettings
from .streams.tag_values import missing_run, require, tag_value, time_of

NEEDED = (tags.rx_time, tags.rx_freq, tags.rx_rate, tags.bandwidth)
SETTING = (tags.rx_freq, tags.bandwidth, tags.rx_rate)
SENDER = "F-engine or beamformer"
KINDS = ("inputs", "beams")
AS_SC8 = sc4_to_sc8()
ROUNDING = 1e-3  # spectra, by which times that agree may differ


class voltage_sink(WritersSink, python_block):
    """
    Writes voltages of inputs or beams into SigMF recordings or GUPPI raw files.

    In: frames `[channel][input][time]` of sc8, sc4 or fc32 from `f_engine` or `corner_turn`, or
    `[channel][beam][time]` from `beamformer`, with the tags rx_time, rx_freq, rx_rate and
    bandwidth. The samples of a channel are its spectra, one after another; the time of a sample is
    that of the middle of the spectrum, and the frequency that of the middle of the channel.

    The ending of the name chooses the format.

    - .sigmf-meta (or .sigmf-data): a recording is NAME.sigmf-meta and NAME.sigmf-data and has one
      channel, because SigMF has one frequency at a time; with several channels, {channel} in the
      name makes a recording for each. Inputs or beams are interleaved (core:num_channels), or with
      {input} or {beam} in recordings of their own. For sc8 and sc4 the samples are ci8, for fc32
      cf32_le. A jump in time, and another frequency, begin a new capture; what is missing is zeros
      and has an annotation.
    - .raw: GUPPI raw, 8 bits, a sequence NAME.0000.raw, NAME.0001.raw, ... of blocks
      [channel][time][polarisation], one for each frame. A sequence has one input or beam (with
      `polarizations=2` a pair): {input} or {beam} in the name makes one for each. Channels are at
      least two, and neighbours. PKTIDX counts samples; DROPBLK and NDROP say how many of a block
      are missing, which are zeros.

    A file has its name when it is whole: until then it is `.NAME.part`. When a disk becomes full,
    or anything else goes wrong, what was written until then becomes whole files; a process that is
    killed leaves the hidden file of that moment. A flowgraph that is stopped (or locked) and
    started again begins new files of the same names, or with {time} of others.

    Where frequency, bandwidth or rate change, or rx_time jumps, new files begin if the name has
    {time} in it; else, but for what SigMF can say in a capture, it is an error. With {time}, they
    also begin by time, by size and when it is asked for (`set_roll_over()`, `roll_over()`), and
    where a setting changes that the tag `settings` tells of (docs/tags.md). SigMF recordings have
    settings as annotations, GUPPI raw in its cards SET00000 and so on. Any error (a tag
    that is missing, a full disk, somebody else who writes this file) is logged, ends the flowgraph,
    and is given by `error()`.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "The files to be written. {time} becomes the rx_time of the first frame in UTC, "
            "to the second; {input} or {beam} (as `kind` says) a name, {channel} the number "
            "of a channel."
        ) = "voltages-{time}-{channel}.sigmf-meta",
        channels: Integer("Channels of a frame.", 1, 2**31 - 1) = 1024,
        inputs: Integer("Inputs or beams of a frame.", 1, 2**31 - 1) = 2,
        spectra_per_frame: Integer("Spectra of a frame.", 1, 2**31 - 1) = 256,
        type: Text(
            "fc32, sc8 or sc4; of GUPPI raw one of the latter.", "fc32", "sc8", "sc4"
        ) = "fc32",
        kind: Text('The kind of the voltages: "inputs" or "beams".', "inputs", "beams") = "inputs",
        polarizations: Integer(
            "1, or 2: of the inputs or beams that are written, the first and second are the "
            "two polarisations of a pair, the third and fourth those of the next one, and so "
            "on.",
            1,
            2,
        ) = 1,
        selected_channels: Anything(
            "Those that are written, from 0; None: all. With channels that is the first one "
            "if nothing is said, since SigMF takes two files for each."
        ) = (0,),
        selected_inputs: Anything(
            "Those that are written, from 0; None: all. With channels that is the first one "
            "if nothing is said, since SigMF takes two files for each."
        ) = None,
        names: Anything(
            "Names of the inputs or beams, or pairs, that are written; None: their numbers."
        ) = None,
        array: Anything(
            "An array description, or the file or shipped name of one, for the telescope's "
            'name and place; None or "": they are not known.'
        ) = None,
        description: Text("For SigMF's core:description.") = "",
        overwrite: Switch(
            "True if existing files are replaced, or with {time} in the name get neighbours with "
            "-2 behind their time; if not, they are refused, at once where "
            "their names are known."
        ) = True,
        blocks_per_file: Integer("Frames in each file of a GUPPI sequence.", 1, 2**31 - 1) = 128,
    ):
        self._edge = VoltageEdge.checked(kind, type, channels, inputs, spectra_per_frame)
        self._shape = self._edge.channels, self._edge.inputs, self._edge.spectra
        self._polarizations = int(polarizations)
        self._blocks = int(blocks_per_file)
        check_text("description", description)
        array = None if array is None or array == "" else load_array(array)
        self._array, self._description = array, description
        self._overwrite, self._given_names = bool(overwrite), names
        self._name = file_name(filename)
        self._roll, self._held = RollOver(self._name), HeldSettings()
        channel = [] if self._name.endswith(GUPPI_ENDING) else ["channel"]
        check_fields(self._name, ("time", self._edge.field[1:-1], *channel))
        self._voltages = VoltageFiles(
            self._name,
            VOLTAGE_ENDINGS,
            self._edge,
            whole_numbers("selected_channels", selected_channels, self._shape[0]),
            whole_numbers("selected_inputs", selected_inputs, self._shape[1]),
            self._polarizations,
            self._names_of,
            "selected_channels",
        )
        self._guppi, self._parts = self._voltages.guppi, self._voltages.parts
        self._pairs, self._patterns = self._voltages.pairs, self._voltages.patterns
        self._start()
        for path in self._patterns:
            self._check_path(path)
        size = self._edge.item_size
        super().__init__("voltage_sink", out_sig=None, in_sig=[vector_of(np.uint8, size)])

    def _names_of(self, pairs):
        """The names of pairs, of which `_names` becomes {number of the first input: name}."""
        names = self._given_names
        names = [str(pair[0]) for pair in pairs] if names is None else list(names)
        if len(names) != len(pairs) or not all(isinstance(name, str) for name in names):
            refuse("names", names, f"{len(pairs)} texts, one for each of what is written")
        self._names = {pair[0]: name for pair, name in zip(pairs, names)}
        return names

    def _is_taken(self, path):
        """Returns whether one of the files of a path is there, or about to be."""
        return self._voltages.is_there(path) or any(map(is_taken, self._voltages.first_names(path)))

    def _check_path(self, path):
        for name in self._voltages.first_names(path):
            check_path(name, self._overwrite)
            file_lock.is_there(part_name(name))
        if self._guppi and not self._overwrite:
            for name in sequence(path):
                check_path(name, False)

    def files(self):
        """The paths of all files that were begun, whole ones and those that will be; before the
        first frame the first ones, with {time} in them."""
        writers = self._ended + self._writers
        if not writers:
            return [name for path in self._patterns for name in self._voltages.first_names(path)]
        return [name for writer in writers for name in writer.paths]

    def frames(self):
        """Frames that were written."""
        return self._written

    def missing(self):
        """Samples that are zeros because nothing was received: of each input or beam that is
        written, counted in each channel once."""
        return list(self._missing)

    # ---- inside

    def _start(self):
        self._left_out = self._frames = 0
        self._setting = self._clock = None
        self._writers, self._ended, self._used = [], [], set()
        self._room = {}
        self._written = 0
        self._missing = [0] * (len(self._pairs) * self._polarizations)

    def _stop(self):
        self._finish()

    def _say(self, error):
        if isinstance(error, OSError) and error.strerror and error.filename:
            return text_of(error)
        return printable(f"{self._patterns[0]}: ") + text_of(error)

    def _work(self, input_items, output_items):
        try:
            self._take(input_items[0])
        except Exception:
            with contextlib.suppress(OSError):
                self._finish()
            raise
        return len(input_items[0])

    def _take(self, items):
        first = self.nitems_read(0)
        lost = {}
        found = self.tags_by_item(0, len(items), lost)
        for item, frame in enumerate(items):
            here = found.get(item, {})
            news = self._held.take(here)
            if here or self._setting is None:
                self._follow(here, first + item)
            if news:
                self._take_settings(news)
            if not self._roll.recording:
                self._finish()
                self._left_out += 1
                continue
            if TIME in self._name and (not self._writers or self._is_full(first + item)):
                self._finish()
                self._begin(self._setting, self._moment(first + item), first + item)
            self._write(frame, self._runs(lost.get(item, [])), first + item)

    def _take_settings(self, news):
        """Takes what was set of the stream, from the next frame on, where files were begun."""
        if not self._frames:
            return
        if TIME in self._name:
            self._finish()
            return
        for setting in news:
            if not self._guppi:
                for writer in self._writers:
                    writer.note(str(setting))
                continue
            self.logger.warn(
                printable(
                    f"{self._patterns[0]}: {setting}: the files do not say so; with {TIME} in "
                    "their name new ones would begin"
                )
            )

    def _runs(self, values):
        """Returns the `missing` tags of a frame: [(input, first, count)], within the frame."""
        spectra, found = self._shape[2], []
        for value in values:
            number, first, count = tag_value({tags.missing: value}, tags.missing, missing_run)
            first %= spectra
            found.append((number, first, min(count, spectra - first)))
        return found

    def _is_full(self, item):
        """Returns whether the files end before this frame."""
        begun, moment = self._first
        time = self._moment(item)
        length = self._shape[2] / self._rate
        if self._roll.ends(
            (moment.seconds, moment.fraction), (time.seconds, time.fraction), length
        ):
            return True
        channels, numbers = self._parts[0]
        each = len(channels) * len(numbers) * self._shape[2] * self._edge.file_dtype.itemsize
        return (
            bool(self._roll.size)
            and self._frames > 0
            and (self._frames + 1) * each > self._roll.size
        )

    # ---- time and frequency

    def _follow(self, here, item):
        """The tags of a frame: begins files, captures, or ends with an error."""
        if self._setting is None:
            require(here, NEEDED, SENDER, "frame")
        old = self._setting or {}
        new = {key: tag_value(here, key, pmt.to_double, old, SENDER, "a frame") for key in SETTING}
        if not (
            all(math.isfinite(value) for value in new.values())
            and new[tags.bandwidth] > 0
            and new[tags.rx_rate] > 0
        ):
            raise ValueError(
                f"tags: {new} are not allowed: finite numbers, bandwidth and rx_rate above 0"
            )
        moment = (
            Moment(*tag_value(here, tags.rx_time, time_of, None, SENDER, "a frame"))
            if tags.rx_time in here
            else self._moment(item)
        )
        if self._setting is None:
            self._begin(new, moment, item)
            return
        step = moment.since(self._moment(item)) * self._rate
        changed = [key for key in SETTING if not math.isclose(new[key], old[key], rel_tol=1e-9)]
        if abs(step) < ROUNDING and not changed:
            return
        drifted = abs(step) < 1 and not changed
        if (
            drifted
            or not self._guppi
            and TIME not in self._name
            and changed in ([], [tags.rx_freq])
        ):
            self._setting, self._clock = new, (item, moment)
            if not self._guppi:
                for writer, (channels, _) in zip(self._writers, self._parts):
                    writer.capture(moment, self._frequencies(channels)[0])
            return
        if TIME not in self._name:
            what = (
                f"{changed[0]} {new[changed[0]]:.12g} after {old[changed[0]]:.12g}"
                if changed
                else f"an rx_time that jumps by {step / self._rate:.6g} s"
            )
            raise ValueError(
                f"tags: {what} does not fit into one file; with {TIME} in its name a "
                "new one would begin"
            )
        self._finish()
        self._begin(new, moment, item)

    def _moment(self, item):
        """The time of a frame as the clock goes on."""
        begun, moment = self._clock
        return moment.later((item - begun) * self._shape[2] / self._rate)

    @property
    def _rate(self):
        """Spectra a second."""
        return self._setting[tags.rx_rate] * self._shape[2]

    def _frequencies(self, channels):
        width = self._setting[tags.bandwidth] / self._shape[0]
        middle = self._shape[0] // 2
        return tuple(
            self._setting[tags.rx_freq] + (channel - middle) * width for channel in channels
        )

    def _begin(self, setting, moment, item):
        """Begins new files, from a frame on."""
        self._setting, self._clock, self._first = setting, (item, moment), (item, moment)
        self._frames = 0
        if not self._roll.recording:
            return
        self._roll.begun()
        site = (
            None
            if self._array is None
            else (self._array.latitude, self._array.longitude, self._array.height)
        )
        names = names_at(
            self._patterns, moment.seconds, self._used, self._overwrite, self._is_taken
        )
        self._used.update(names)
        for path, (channels, numbers) in zip(names, self._parts):
            recording = Recording(
                frequencies=self._frequencies(channels),
                width=setting[tags.bandwidth] / self._shape[0],
                rate=self._rate,
                start=moment,
                names=tuple(self._input_names(numbers)),
                source=", ".join(self._names[number] for number in numbers[:: self._polarizations]),
                channel=channels[0],
                telescope=self._array.name if self._array else "",
                site=site,
                description=self._description,
                settings=tuple(self._held.lines()),
            )
            writer = self._voltages.writer(
                path,
                recording,
                self._edge.file_dtype,
                self._shape[2],
                self._blocks,
                self._overwrite,
            )
            self._writers.append(writer)

    def _input_names(self, numbers):
        if self._polarizations == 1:
            return [self._names[number] for number in numbers]
        return [f"{self._names[first]} {number}" for first in numbers[::2] for number in (1, 2)]

    # ---- voltages

    def _write(self, frame, lost, item):
        frame = frame.view(SAMPLE_TYPES[self._edge.type].number).reshape(self._shape)
        for writer, (channels, numbers) in zip(self._writers, self._parts):
            voltages = self._arranged(frame, channels, numbers)
            missing = missing_of(numbers, lost)
            if self._guppi:
                begun, moment = self._first
                first = round(self._moment(item).since(moment) * self._rate)
                writer.add(voltages, first, missing)
            else:
                writer.add(voltages[0], missing)
        for place, number in enumerate(number for pair in self._pairs for number in pair):
            self._missing[place] += sum(count for of, _, count in lost if of == number)
        self._written += 1
        self._frames += 1

    def _arranged(self, frame, channels, numbers):
        """[channel][time][input] of these channels and inputs, contiguous, until the next call."""
        part = frame[channels[0] : channels[0] + len(channels)]
        out = self._room.get(len(numbers))
        if out is None:
            # one for all frames: new memory would cost more than what is done with it
            out = self._room[len(numbers)] = np.empty(
                (len(channels), self._shape[2], len(numbers)), self._edge.file_dtype
            )
        inputs_last(AS_SC8[part] if self._edge.type == "sc4" else part, numbers, out)
        return out
