#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes the powers of beams into filterbank files."""

import math
import os

import numpy as np

from . import tags
from .arrays import earth_rotation, geometry
from .beams.weights import beam_directions
from .files.file_names import TIME
from .files.sample_file import take_places
from .formats.filterbank.header import HEADER_START, header_bytes, sexagesimal, telescope_id
from .formats.filterbank.reader import FilterbankFile
from .formats.filterbank.writer import LEVEL, SIGNED_LEVEL, Levels, RecentMean
from .formats.power_lists import MissingSamples, cells_of
from .parameters.description import Anything, Integer, Text
from .parameters.rules import as_whole, one_of, refuse
from .pointing import ZENITH
from .power_file_sink import (
    ARRAY,
    BEAMS,
    CHANNELS,
    COUNTS,
    OVERWRITE,
    PRODUCT,
    PRODUCTS,
    ROWS,
    PowerFileSink,
)
from .streams.publishing import Publishing
from .tracking.directions import icrs

FILLED_AT_ONCE = 1 << 24  # bytes
# bytes of a file that are gathered for one write, and of all files
WRITTEN_AT_ONCE = 1 << 16
GATHERED = 1 << 26
LONGEST_GATHERING = 0.25  # s


class filterbank_sink(PowerFileSink):
    """
    Writes the powers of beams into filterbank files (.fil), which SIGPROC, PRESTO and what stands
    on them read.

    In: `[beam][product][channel]` of f32 from `power_detector` or `beam_power`, one item an
    integration, with the tags rx_time, rx_freq, rx_rate, bandwidth and spectra. Where an array has
    two polarisations, a beam here is a pair of the beamformer's (of products `power`: each of
    both). With `counts`, a second port takes what these blocks counted, `[beam][channel]` of u32,
    an item for each integration.

    A `filename` with {beam} in it makes a file for each beam, the beam's name (what is not a
    letter, digit or one of ._+- as _, and no dots in front) in its place; any other one file for
    all, in which the beams are SIGPROC's IFs, [sample][beam][product][channel], and ibeam is 0.
    Channels are written from the highest down. tstart is when the first integration begins;
    az_start, za_start and, of beams that do not move with the sky as well, src_raj and src_dej are
    those of that moment (of a file of many beams, of the first). SIGPROC has no numbers for most
    telescopes and machines: these are 0.

    With 8 bits, the first `level_integrations` set the levels: the mean of each channel becomes 64
    (128 of Q, U, V and of Re and Im XY*), the standard deviation 10, and so it stays; `levels()`
    gives them, for a file does not hold them. Until then the file is one of 32 bits, so that
    nothing can be lost; that of 8 bits takes its place when the levels are set, or at the end. All
    of several files do or, if one cannot, none.

    Time is exact in spite of losses. An integration for which a beam received nothing (`counted` is
    0) becomes the mean of each channel, of the last `level_integrations` or so (with 8 bits: 64 or
    128), as do those that a jump of rx_time by up to ten minutes leaves out; such that come a
    second time are left out. A text file beside the file, of its name and .missing, lists the
    samples that were filled: lines of first, count, IF (-1: all). `filled()` counts them. Take
    `mean` powers: sums are less where spectra are missing.

    With `counts`, the power of a channel is the mean over the spectra that are not flagged, and a
    channel of which none is left (its count is 0) becomes that mean of the last integrations
    likewise, so that a search finds neither the interference nor a hole. The text file lists only
    samples of which all channels were filled; `flagged()` gives the fraction that was flagged.

    Samples are added as they come, with one write for each call of work(). Where these are short,
    since there are many files, they are gathered: a file gets 64 KiB at a time, and what there is
    a quarter of a second after it came. A process that is killed loses what was under way.
    A last integration that is partial is left out, because all samples of a file are of one length.
    A flowgraph that is stopped (or locked) and started again begins new files of the same names, or
    with {time} of others. With {time}, new files also begin by time, by size and when it is asked
    for (`set_roll_over()`, `roll_over()`), and where settings change (where beams look, gains,
    delays, weights, as the tag `settings` tells them, see docs/tags.md); they follow on the last
    ones without a gap, and set levels of their own. A text file beside the file, of its name and
    .settings, lists the settings that hold, each with its time, once one has changed.

    Any error (a tag that is missing, a full disk, a longer jump in time, one in frequency, beams
    that look elsewhere where there is no {time} in the name, somebody else who writes this file, or
    who removes, replaces, cuts or extends it while it grows) is logged, ends the flowgraph, and is
    given by `error()`. Files are whole up to then.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "The file, or with {beam} in it the files, to be written. {time} becomes the "
            "rx_time of the first integration in UTC, to the second: `obs-{time}.fil` becomes "
            "obs-20240101T123456Z.fil."
        ) = "beams-{time}.fil",
        array: ARRAY = "two-dish",
        beams: BEAMS = ZENITH,
        channels: CHANNELS = 1024,
        products: PRODUCT = "power",
        nbits: Integer("32 (float) or 8.") = 32,
        overwrite: OVERWRITE = True,
        machine_id: Integer("SIGPROC's number of the machine.", 0, 2**31 - 1) = 0,
        telescope: Anything(
            "SIGPROC's number of the telescope; None: that of the description's name, if "
            "there is one."
        ) = None,
        level_integrations: Integer(
            "Integrations that set the levels of 8 bits, and what is filled in with 32, from 2.",
            2,
            1048576,
        ) = 64,
        rows: ROWS = None,
        counts: COUNTS = False,
    ):
        one_of("nbits", nbits, (8, 32))
        self._machine, self._nbits = int(machine_id), int(nbits)
        self._level_integrations = int(level_integrations)
        self._publishing = Publishing(self._write_gathered, LONGEST_GATHERING)
        super().__init__(
            "filterbank_sink", filename, array, beams, channels, products, overwrite, rows, counts
        )
        self._telescope = (
            telescope_id(self._array.name)
            if telescope is None
            else as_whole("telescope", telescope, 0)
        )

    def go_on(self, kept, passed_over=0):
        """
        Makes the files that are there, of these names and without {time} in them, go on behind so
        many of their samples, which stay as they are; what is behind them is removed. To be called
        before the start. The first integrations that come, `passed_over` of them, are not written.

        A file whose header is another one is refused when the first integration comes, and stays as
        it is. Files are of 32 bits, because those of 8 do not hold their levels.

        Raises:
            ValueError: The name has {time} in it, or there are 8 bits.
        """
        if TIME in self._filename:
            refuse("filename", self._filename, "a name without {time}, of what is to go on")
        one_of("nbits", self._nbits, (32,))
        self._kept, self._passed_over = int(kept), int(passed_over)

    def levels(self):
        """Returns offset and step of 8-bit samples, float [beam][product][channel], in ascending
        frequency, such that the power is offset + step x byte; None before they are set."""
        if self._levels is None:
            return None
        return self._levels.offset, self._levels.step

    # ---- inside

    def _start(self):
        super()._start()
        self._floats = []  # 32-bit files that are about to be replaced
        self._levels = None
        # 8 bits: the contents of the file before the levels are set: (powers, lost) as of _add(),
        # and numbers of gaps
        self._waiting = []
        self._recent = RecentMean(self._shape, self._level_integrations)
        self._room = np.empty(0, np.uint8)
        # samples in it that are not in the files yet, bytes from those of a file to the next one's,
        # and the error with which they could not be written
        self._gathered, self._step, self._unwritten = 0, 0, None

    def _stop(self):
        self._publishing.stop()
        super()._stop()

    def _work(self, input_items, output_items):
        with self._publishing.lock:
            count = super()._work(input_items, output_items)
            if self._gathered:
                self._publishing.added(count / self._setting[tags.rx_rate])
        return count

    def _finish(self):
        self._write_gathered()
        for file in self._files:
            file.check()
        self._set_levels()

    def _write_rest(self):
        self._write_gathered()

    def _close(self):
        self._files, self._floats = self._files + self._floats, []
        super()._close()

    def _under_way(self):
        return self._gathered

    def _size_of_sample(self):
        return math.prod(self._shape) * self._nbits / 8 / len(self._patterns)

    def _follow_on(self):
        super()._follow_on()
        self._levels = None

    def _gap_added(self, count):
        if self._nbits == 8 and self._levels is None:
            self._waiting.append(count)

    def _add_piece(self, powers, lost):
        """Adds what goes into the files that grow, like _add()."""
        if self._levels is None:
            self._recent.add(powers, lost)
        self._write(powers, lost)
        self._count(len(powers), lost)
        if self._nbits == 8 and self._levels is None:
            self._waiting.append((powers.copy(), lost))
            if (
                sum(len(piece[0]) for piece in self._waiting if not isinstance(piece, int))
                >= self._level_integrations
            ):
                self._set_levels()

    def _fill(self):
        """Returns what takes the place of what is missing: [beam][product][channel] of the file's
        type."""
        if self._levels is None:
            return self._recent.mean
        levels = np.where(PRODUCTS[self._products], SIGNED_LEVEL, LEVEL).astype(np.uint8)
        return np.broadcast_to(levels[:, None], self._shape)

    def _set_levels(self):
        """Sets levels from what waits for them (at the end, from as much as there is), which is
        written anew with 8 bits."""
        self._write_gathered()
        pieces, self._waiting, written = self._waiting, [], self._written
        there = [
            np.where(False if lost is None else cells_of(lost), np.nan, powers)
            for powers, lost in (piece for piece in pieces if not isinstance(piece, int))
        ]
        if not there:
            return
        signed = np.tile(PRODUCTS[self._products], self._shape[0])
        powers = np.concatenate(there)[: self._level_integrations]
        levels = Levels.of(powers.reshape(len(powers), -1, self._shape[2]), signed)
        self._levels = Levels(*(part.reshape(self._shape) for part in (levels.offset, levels.step)))
        self._floats, self._files = self._files, []
        try:
            for piece in pieces:
                if isinstance(piece, int):
                    for _ in self._write_gap(piece):
                        pass
                else:
                    self._write(*piece)
            self._write_gathered()
            take_places(self._files)
        except OSError:
            # the files there are those of 32 bits
            self._levels, self._gathered, self._written = None, 0, written
            raise

    def _write(self, powers, lost):
        """Adds what _add() is given, in the file's type."""
        values = self._block(len(powers))
        if self._levels is None:
            np.copyto(values, powers)
        else:
            self._levels.write_bytes(powers, values)
        if lost is not None:
            np.copyto(values, self._fill(), where=cells_of(lost))
        self._store(len(powers))

    def _write_gap(self, count):
        """Fills so many samples, some at a time, and gives how many."""
        fill = self._fill()
        at_once = max(1, FILLED_AT_ONCE // fill.nbytes)
        for done in range(0, count, at_once):
            values = self._block(min(at_once, count - done))
            np.copyto(values, fill)
            self._store(len(values))
            yield len(values)

    def _rooms(self):
        """Returns samples that are gathered at most, the number of files, and bytes of a sample in
        one of them."""
        size = math.prod(self._shape) * (4 if self._levels is None else 1)
        files = len(self._paths)
        gathers = min(WRITTEN_AT_ONCE * files, GATHERED) // size if files > 1 else 1
        return max(1, gathers), files, size // files

    def _block(self, samples):
        """Room for so many samples behind those that are gathered, which is used again and again:
        [sample][beam][product][channel] of the file's type. Those that have no room are written
        first."""
        most, files, size = self._rooms()
        if self._gathered and self._gathered + samples > most:
            self._write_gathered()
        self._step = max(most, samples) * size
        if len(self._room) < files * self._step:
            self._room = np.empty(files * self._step, np.uint8)
        begin = self._gathered * size
        values = self._room[: files * self._step].reshape(files, self._step)
        values = values[:, begin : begin + samples * size]
        values = values.view("<f4" if self._levels is None else np.uint8)
        rows, *rest = self._shape
        if files == 1:
            values = values.reshape(samples, rows, *rest)
        else:
            values = values.reshape(rows, samples, *rest).swapaxes(0, 1)
        return values[..., ::-1]

    def _store(self, samples):
        """Takes so many samples that are in _block(), an equal part for each file, and writes them
        where there is no room for as many more."""
        if not self._files:
            self._create()
        self._gathered += samples
        if self._gathered + samples > self._rooms()[0]:
            self._write_gathered(samples)

    def _write_gathered(self, uncounted=0):
        """Adds what was gathered to the files, with one write for each. uncounted: how many of
        these are not among those that are written so far."""
        if self._unwritten is not None:
            # this came between two calls of work()
            raise self._unwritten
        samples, self._gathered = self._gathered, 0
        self._publishing.done()
        if not samples:
            return
        size = samples * self._rooms()[2]
        room = memoryview(self._room)
        try:
            for number, file in enumerate(self._files):
                file.add(room[number * self._step : number * self._step + size])
        except OSError as error:
            self._written -= samples - uncounted
            self._unwritten = error
            raise

    def _create(self):
        # floats are there already
        replaces = self._levels is not None
        if not replaces:
            self._name_files()
        headers = [header_bytes(self._header(number)) for number in range(len(self._paths))]
        # all before any is cut: one may be written by somebody else
        for path in self._paths:
            self._files.append(self._open(path, *([HEADER_START] if replaces else [])))
            if self._floats:
                # the lock has a successor
                self._floats.pop(0).close()
        if self._kept and not self._written_before:
            self._keep(headers)
            return
        for file, header in zip(self._files, headers):
            file.begin(header)
        if not replaces:
            self._list_what_is_missing()

    def _keep(self, headers):
        """Keeps what is in files that go on, and takes the mean of their last samples."""
        for number, path in enumerate(self._paths):
            self._check_header(path, self._header(number), len(headers[number]))
        size = self._rooms()[2]
        count = min(self._kept, self._level_integrations)
        recent = [
            np.fromfile(path, "<f4", count * size // 4, offset=len(header) + first * size)
            for first in [self._kept - count]
            for path, header in zip(self._paths, headers)
        ]
        rows, *rest = self._shape
        shape = (count, rows // len(recent), *rest)
        powers = np.concatenate([each.reshape(shape) for each in recent], axis=1)
        before = RecentMean(self._shape, self._level_integrations)
        before.add(np.ascontiguousarray(powers[..., ::-1]))
        self._recent = before
        for file, header in zip(self._files, headers):
            file.keep(len(header) + self._kept * size)
        self._missing = [MissingSamples(path, self._kept) for path in self._paths]

    @staticmethod
    def _check_header(path, ours, length):
        """Refuses a file that goes on, but whose header of so many bytes is not ours."""
        file = FilterbankFile(path)
        for key, value in ours.items():
            there = file.header.get(key)
            same = there == value
            if isinstance(value, float) and there is not None:
                # times are rounded to some 1e-11 of a day
                limit = 1e-9 if key == "tstart" else 1e-6 + 1e-9 * abs(value)
                same = abs(there - value) <= limit
            if not same:
                raise ValueError(
                    f"{path}: {key} is {there!r}, and by the plan {value!r}: it stays as it is"
                )
        if file.header_bytes != length:
            raise ValueError(
                f"{path}: its header has {file.header_bytes} bytes, and by the plan {length}: it "
                "stays as it is"
            )

    def _header(self, number):
        """Keywords and values of a file."""
        one_each = len(self._paths) > 1
        beam = self._beam_of(number)
        setting = self._setting
        width = setting[tags.bandwidth] / self._shape[2]
        top = setting[tags.rx_freq] + (self._shape[2] - 1 - self._shape[2] // 2) * width
        _, seconds, fraction = self._clock
        # rx_time is the middle of the first spectrum
        time = seconds + fraction - self._hop / 2
        azimuth, elevation = geometry.azimuth_elevation(
            beam_directions(self._array, [beam], time)[0]
        )
        ra, dec = icrs(beam, time, self._array)[:2]
        return {
            "rawdatafile": os.path.basename(self._paths[number]),
            "source_name": (
                self._names[number] if one_each or len(self._names) == 1 else self._array.name
            ),
            "machine_id": self._machine,
            "telescope_id": self._telescope,
            "src_raj": sexagesimal(float(ra), True),
            "src_dej": sexagesimal(float(dec), False),
            "az_start": float(azimuth),
            "za_start": 90 - float(elevation),
            "data_type": 1,
            "fch1": top / 1e6,
            "foff": -width / 1e6,
            "nchans": self._shape[2],
            "nbeams": len(self._names),
            "ibeam": number + 1 if one_each or len(self._names) == 1 else 0,
            "nbits": 32 if self._levels is None else 8,
            "tstart": earth_rotation.modified_julian_date(seconds, fraction - self._hop / 2),
            "tsamp": 1 / setting[tags.rx_rate],
            "nifs": self._shape[1] * (1 if one_each else len(self._names)),
            "barycentric": 0,
            "pulsarcentric": 0,
        }
