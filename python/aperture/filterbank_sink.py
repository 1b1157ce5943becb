#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes the powers of beams into filterbank files."""

import contextlib
import errno
import math
import os
import time as host

import numpy as np
import pmt

from . import tags
from .arrays import earth_rotation, geometry
from .arrays.array_description import load_array
from .beams.weights import beam_directions, find_polarizations
from .files.file_names import TIME, check_different, check_fields, name_text, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RecordingSink, RollOver
from .files.sample_file import SampleFile, check_names, take_places
from .formats.filterbank.header import HEADER_START, header_bytes, sexagesimal, telescope_id
from .formats.filterbank.reader import FilterbankFile
from .formats.filterbank.writer import (
    LEVEL,
    MISSING,
    SETTINGS,
    SIGNED_LEVEL,
    Levels,
    MissingSamples,
    RecentMean,
    cells_of,
    write_settings,
)
from .parameters.description import Anything, Integer, Switch, Text
from .parameters.rules import as_whole, item_bytes, one_of, refuse
from .pointing import ZENITH, as_beams, looking_at
from .streams.publishing import Publishing
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.settings import DIRECTIONS, HeldSettings
from .streams.tag_values import require, tag_value, time_of
from .tracking.directions import icrs

NEEDED = (tags.rx_time, tags.rx_freq, tags.rx_rate, tags.bandwidth, tags.spectra)
LONGEST_GAP = 600.0  # s; a clock that jumps further forward is wrong
LONGEST_OVERLAP = 1.0  # s; so is one that jumps further back
FILLED_AT_ONCE = 1 << 24  # bytes
# bytes of a file that are gathered for one write, and of all files
WRITTEN_AT_ONCE = 1 << 16
GATHERED = 1 << 26
LONGEST_GATHERING = 0.25  # s
#: products of the power detector -> of each of them, whether it may be negative
PRODUCTS = {
    "power": (False,),
    "I": (False,),
    "IQUV": (False, True, True, True),
    "coherency": (False, False, True, True),
}


def row_names(array, beams, products):
    """Names of what an item has one of: of a beam; with "power", where the array has two
    polarisations, of a beam and polarisation."""
    letters = find_polarizations(array)
    if products == "power" and len(letters) > 1:
        return [f"{beam.name} {letter}" for beam in beams for letter in letters]
    return [beam.name for beam in beams]


def paths_of(filename, names):
    """The files, one for each name in the place of {beam}, or one for all; {time} is left as it
    is."""
    check_fields(filename, ("beam", "time"))
    if "{beam}" not in filename:
        return [filename]
    paths = [filename.replace("{beam}", name_text(name)) for name in names]
    check_different(filename, paths, "beams")
    return paths


class filterbank_sink(RecordingSink, python_block):
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
        array: Text("An array description, or the file or shipped name of one.") = "two-dish",
        beams: Anything(
            "Objects of `aperture.Beam`, or dictionaries as in a file of beams (see "
            "`pointing`); incoherent ones are the last, as in beam_power's items."
        ) = ZENITH,
        channels: Integer("Channels of an item.", 1, 2**31 - 1) = 1024,
        products: Text(
            "power, I, IQUV or coherency, as in the power detector.", *PRODUCTS
        ) = "power",
        nbits: Integer("32 (float) or 8.") = 32,
        overwrite: Switch(
            "True if existing files are replaced (when the first integration comes), or with "
            "{time} in the name get neighbours with -2 behind their time; if not, "
            "they are refused, at once where their names are known."
        ) = True,
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
        rows: Anything(
            "If given, how many beams an item must have (a flowgraph that was drawn for so "
            "many has items of that size)."
        ) = None,
        counts: Switch(
            "True if there is a second port, for the counts of a block that takes masks "
            "(`spectra_per_slice`)."
        ) = False,
    ):
        array = load_array(array)
        self._machine = int(machine_id)
        self._level_integrations = int(level_integrations)
        self._telescope = (
            telescope_id(array.name) if telescope is None else as_whole("telescope", telescope, 0)
        )
        one_of("nbits", nbits, (8, 32))
        if products != "power" and len(find_polarizations(array)) != 2:
            refuse("products", products, f"power: array {array.name!r} has one polarisation")
        self._array, self._products, self._nbits = array, products, int(nbits)
        self._beams = as_beams(array, beams, host.time())
        self._names = row_names(array, self._beams, products)
        if rows is not None and rows != len(self._names):
            refuse("rows", rows, f"{len(self._names)}: as many beams of {products} as there are")
        self._shape = (len(self._names), len(PRODUCTS[products]), int(channels))
        axes = dict(zip(("beams", "products", "channels"), self._shape))
        size = item_bytes("channels", 4, **axes) // 4
        self._overwrite = overwrite
        self._filename = file_name(filename)
        self._patterns = paths_of(self._filename, self._names)
        self._held, self._is_set = HeldSettings(), False  # true once one has changed
        self._roll = RollOver(file_name(filename))
        self._publishing = Publishing(self._write_gathered, LONGEST_GATHERING)
        self._kept = self._passed_over = 0  # see go_on()
        self._start()
        # a file that cannot be written is to be known before anything is computed
        self._check_paths()
        kinds = [(np.float32, size)]
        if counts:
            kinds.append((np.uint32, self._shape[0] * self._shape[2]))
        super().__init__(
            "filterbank_sink", out_sig=None, in_sig=[vector_of(*kind) for kind in kinds]
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

    def files(self):
        """The paths, one for each beam or one for all; with {time} in them until the first
        integration has come. Those of files on which others followed come first."""
        return self._ended + self._paths

    def integrations(self):
        """Integrations that are in the files."""
        return self._written_before + self._written - self._gathered

    def filled(self):
        """Integrations in the files that are missing in whole or of some beams, and were filled."""
        return self._filled

    def flagged(self):
        """Returns, of what came with counts, the fraction of beams and channels that was flagged in
        whole, and so was filled."""
        return self._flagged / max(self._cells, 1)

    def levels(self):
        """Returns offset and step of 8-bit samples, float [beam][product][channel], in ascending
        frequency, such that the power is offset + step x byte; None before they are set."""
        if self._levels is None:
            return None
        return self._levels.offset, self._levels.step

    # ---- inside

    def _ended_files(self):
        return self._ended

    def _check_paths(self):
        for path in self._paths:
            check_path(path, self._overwrite)
            check_names(path, MISSING, SETTINGS)
            if not self._overwrite:
                check_path(path + MISSING, False)
                check_path(path + SETTINGS, False)

    def _start(self):
        self._paths, self._ended = list(self._patterns), []
        self._files, self._missing = [], []
        self._floats = []  # 32-bit files that are about to be replaced
        self._levels = self._setting = self._clock = None
        # 8 bits: the contents of the file before the levels are set: (powers, lost) as of _add(),
        # and numbers of gaps
        self._waiting = []
        self._recent = RecentMean(self._shape, self._level_integrations)
        self._room = np.empty(0, np.uint8)
        # samples in it that are not in the files yet, bytes from those of a file to the next one's,
        # and the error with which they could not be written
        self._gathered, self._step, self._unwritten = 0, 0, None
        # in the files that grow, and in those before them
        self._written = self._written_before = 0
        self._filled = self._left_out = 0
        self._flagged = self._cells = 0  # channels of beams in integrations that were written
        self._told = False  # true once a gap was reported
        self._shift = 0  # samples of the file less integrations that came
        self._behind = 0  # integrations that are to come a second time

    def _stop(self):
        self._publishing.stop()
        try:
            if self.error() is None:
                self._write_gathered()
                for file in self._files:
                    file.check()
                self._set_levels()
        finally:
            if self._filled:
                self._warn(
                    f"{self._filled} of {self.integrations()} integrations were filled, "
                    f"which *{MISSING} lists"
                )
            self._close()

    def _work(self, input_items, output_items):
        count = len(input_items[0])
        with self._publishing.lock:
            try:
                self._take(*input_items)
                if self._gathered:
                    self._publishing.added(count / self._setting[tags.rx_rate])
            except Exception:
                with contextlib.suppress(OSError):
                    try:
                        self._write_gathered()
                    finally:
                        self._close()
                raise
        return count

    def _close(self):
        """Closes all files, even where one cannot be closed as it should."""
        files, self._files, self._floats = self._files + self._floats, [], []
        with contextlib.ExitStack() as stack:
            for file in files:
                stack.callback(file.close)

    def _warn(self, text):
        self.logger.warn(printable(f"{self._paths[0]}: {text}"))

    def _say(self, error):
        text = text_of(error)
        named = isinstance(error, OSError) and error.strerror and error.filename in self._paths
        if named or any(text.startswith(printable(f"{path}: ")) for path in self._paths):
            return text
        return printable(f"{self._paths[0]}: ") + text

    def _take(self, items, counts=None):
        """Takes items, tags first: what comes before one that is not right is good."""
        first = self.nitems_read(0)
        runs = self.runs(0, len(items))
        powers = items.reshape(len(items), *self._shape)
        if counts is not None:
            counts = counts.reshape(len(items), self._shape[0], self._shape[2])
        begin = end = 0  # range of good ones that are not in the files yet
        lost = []  # (first, end, what _lost() says) of integrations
        absent = 0  # integrations that are missing behind them

        def add():
            nonlocal begin, end, absent
            if begin < end:
                flags = None
                if lost:
                    flags = np.zeros((end - begin, *self._shape[:2]), bool)
                    for first_lost, end_lost, rows in lost:
                        flags[first_lost - begin : end_lost - begin] = rows
                    lost.clear()
                if counts is not None:
                    flags = self._with_flagged(counts[begin:end], flags)
                self._add(powers[begin:end], flags)
            begin = end
            if absent:
                self._add_gap(absent)
                absent = 0

        problem = None
        for run in runs:
            item, stop = run.first - first, run.end - first
            here = run.at(run.first)
            try:
                if news := self._held.take(here):
                    add()
                    self._take_settings(news)
                gap = self._place(here, run.first)
                flags = self._lost(here)
            except ValueError as error:
                problem = error
                break
            item += self._pass_over(stop - item)
            if item == stop or (tags.partial in here and pmt.to_bool(here[tags.partial])):
                continue
            absent += gap
            if flags is not None and flags.all():
                absent += stop - item
                continue
            if absent or item > end:
                add()
                begin = item
            end = stop
            if flags is not None:
                lost.append((item, stop, flags))
        add()
        if problem is not None:
            raise problem

    def _take_settings(self, news):
        """Takes what was set of the stream: other files say so, where the name has the time."""
        self._is_set = self._is_set or self._setting is not None
        beams = self._beams
        for setting in news:
            if setting.kind == DIRECTIONS:
                beams = looking_at(beams, setting.value[tags.directions])
        looks_elsewhere = any(
            not one.same_as(other) for one, other in zip(beams, self._beams, strict=True)
        )
        if not looks_elsewhere and all(setting.kind == DIRECTIONS for setting in news):
            return
        if self._written:
            if TIME in self._filename:
                self._follow_on()
            elif looks_elsewhere:
                raise ValueError(
                    f"tags: settings: {news[-1]}: a file holds one direction of each beam; with "
                    f"{TIME} in its name a new one would begin"
                )
            else:
                self._write_settings()
        if looks_elsewhere:
            self._beams = beams
            names = row_names(self._array, beams, self._products)
            if len(set(names)) == len(names):
                self._names = names
                self._patterns = paths_of(self._filename, names)
                self._paths = list(self._patterns)

    def _write_settings(self):
        for path in self._paths:
            write_settings(path, self._held.lines() if self._is_set else [])

    def _with_flagged(self, counts, lost):
        """Returns what is lost, with channels of which nothing was counted: as lost, or
        [...][channel]."""
        flagged = counts == 0
        self._cells += flagged.size
        number = np.count_nonzero(flagged)
        if number == 0:
            return lost
        self._flagged += number
        shape = (len(counts), *self._shape)
        cells = np.broadcast_to(flagged[:, :, np.newaxis], shape)
        return cells.copy() if lost is None else cells | lost[..., None]

    @staticmethod
    def _value(here, key, convert):
        return tag_value(here, key, convert, sender="power detector")

    def _lost(self, here):
        """Returns the powers of which nothing was counted: bool [row][product], None: all was."""
        if tags.counted not in here:
            return None
        counted = self._value(here, tags.counted, pmt.u64vector_elements)
        if 0 not in counted:
            return None
        rows, products = self._shape[:2]
        if len(counted) not in (1, rows * products):
            raise ValueError(
                f"tags: counted has {len(counted)} numbers: one, or one for each of "
                f"{rows} beams x {products} products"
            )
        lost = np.equal(counted, 0).reshape(-1, products if len(counted) > 1 else 1)
        return np.broadcast_to(lost, (rows, products))

    def _place(self, here, item):
        """Returns how many samples are missing in front of this integration. The setting comes with
        the first one and must not change."""
        if self._setting is None:
            require(here, NEEDED, "power detector")
            values = {
                key: self._value(here, key, pmt.to_double)
                for key in (tags.rx_freq, tags.bandwidth, tags.rx_rate)
            }
            spectra = self._value(here, tags.spectra, pmt.to_uint64)
            if not (
                all(np.isfinite(list(values.values())))
                and values[tags.bandwidth] > 0
                and values[tags.rx_rate] > 0
                and spectra > 0
            ):
                raise ValueError(
                    f"tags: {values} and {spectra} spectra are not allowed: finite numbers, above 0"
                )
            self._setting = values
            seconds, fraction = self._value(here, tags.rx_time, time_of)
            if self._kept:
                # the files began earlier, and some of what comes is in them
                fraction -= (self._kept - self._passed_over) / values[tags.rx_rate]
                seconds, fraction = seconds + math.floor(fraction), fraction - math.floor(fraction)
                self._behind, self._written = self._passed_over, self._kept
            self._clock = (item - self._kept, seconds, fraction)
            self._hop = 1 / values[tags.rx_rate] / spectra
            if text := earth_rotation.warning(earth_rotation.julian_date(*self._clock[1:])):
                self._warn(text)
            return 0
        for key, value in self._setting.items():
            if key in here and not math.isclose(
                self._value(here, key, pmt.to_double), value, rel_tol=1e-9
            ):
                raise ValueError(
                    f"tags: {key} {pmt.to_double(here[key]):.10g} comes after "
                    f"{value:.10g}: a file holds one setting"
                )
        if tags.rx_time in here:
            seconds, fraction = self._value(here, tags.rx_time, time_of)
            begun, whole, part = self._clock
            interval = 1 / self._setting[tags.rx_rate]
            off = (seconds - whole) + (fraction - part) - (item - begun + self._shift) * interval
            if not -LONGEST_OVERLAP <= off <= LONGEST_GAP:
                raise ValueError(
                    f"tags: rx_time jumps by {off:.6g} s: all samples of a file "
                    f"follow on each other, and only {LONGEST_GAP:g} s are filled"
                )
            count = round(off / interval)
            if count < 0 and not self._behind:
                self._warn(f"{-count} integrations come a second time, and are left out")
            self._behind = max(0, -count)
            if count > 0:
                self._shift += count
                return count
        return 0

    def _pass_over(self, count):
        """Returns how many of the next so many integrations are there already."""
        count = min(count, self._behind)
        self._behind -= count
        self._shift -= count
        return count

    def _room_left(self):
        """Samples for which the files have room; none: others follow on them."""
        interval = 1 / self._setting[tags.rx_rate]
        size = math.prod(self._shape) * self._nbits / 8 / len(self._patterns)
        return max(0, self._roll.room(self._clock[1:], interval, size) - self._written)

    def _is_left_out(self, count):
        """Returns whether so many samples are not to be written; the clock goes on."""
        if self._roll.recording:
            return False
        if self._written:
            self._follow_on()
        self._go_on(count)
        self._left_out += count
        return True

    def _go_on(self, count):
        """Sets the clock to that of the sample that comes so many after the files' first one."""
        begun, seconds, fraction = self._clock
        end = fraction + count / self._setting[tags.rx_rate]
        self._clock = (
            begun + count - self._shift,
            seconds + math.floor(end),
            end - math.floor(end),
        )
        self._shift = 0

    def _follow_on(self):
        """Ends the files, which others follow."""
        self._write_gathered()
        for file in self._files:
            file.check()
        self._set_levels()
        self._close()
        self._ended += self._paths
        self._paths, self._missing, self._levels = list(self._patterns), [], None
        self._go_on(self._written)
        self._written_before += self._written
        self._written = 0

    def _pieces(self, count):
        """Cuts so many samples where files end: gives (first, end) of those of a file, and lets the
        next one begin."""
        first = 0
        while first < count:
            if self._written and self._room_left() == 0:
                self._follow_on()
            end = min(count, first + max(1, self._room_left()))
            yield first, end
            first = end

    def _add(self, powers, lost=None):
        """Adds powers to the files. powers: [sample][beam][product][channel], highest channel last;
        lost: bool [sample][beam][product], or [sample][beam][product][channel]."""
        if self._is_left_out(len(powers)):
            return
        for first, end in self._pieces(len(powers)):
            self._add_piece(powers[first:end], None if lost is None else lost[first:end])

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

    def _add_gap(self, count):
        """Adds so many samples of which nothing is there."""
        if self._is_left_out(count):
            return
        for first, end in self._pieces(count):
            for samples in self._write_gap(end - first):
                self._count(samples, np.ones((samples, *self._shape[:2]), bool))
            if self._nbits == 8 and self._levels is None:
                self._waiting.append(end - first)

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

    def _count(self, samples, lost):
        """Counts what was written; lost as of _add()."""
        first = self._written
        self._written += samples
        if lost is None:
            return
        if lost.ndim == 4:
            lost = lost.all(axis=3)
            if not lost.any():
                return
        filled = np.flatnonzero(lost.any(axis=(1, 2)))
        if not self._told:
            self._warn(
                f"nothing was received for sample {first + filled[0]}: it is filled, as "
                f"are more of such, and *{MISSING} lists them"
            )
        self._told = True
        self._filled += len(filled)
        one = len(self._missing) == 1
        for number, missing in enumerate(self._missing):
            missing.add(first, lost.reshape(len(lost), -1) if one else lost[:, number])

    def _create(self):
        # floats are there already
        replaces = self._levels is not None
        if not replaces:
            self._paths = names_at(self._patterns, self._clock[1], self._ended, self._overwrite)
            self._check_paths()
            self._roll.begun()
        headers = [header_bytes(self._header(number)) for number in range(len(self._paths))]
        # all before any is cut: one may be written by somebody else
        for path in self._paths:
            try:
                self._files.append(
                    SampleFile(path, HEADER_START if replaces else b"", self._overwrite)
                )
            except OSError as error:
                if error.errno == errno.EMFILE:
                    raise OSError(
                        error.errno,
                        f"{len(self._paths)} files are more than this process may open (ulimit -n)",
                        path,
                    ) from None
                raise
            if self._floats:
                # the lock has a successor
                self._floats.pop(0).close()
        if self._kept and not self._written_before:
            self._keep(headers)
            return
        for file, header in zip(self._files, headers):
            file.begin(header)
        if not replaces:
            self._missing = [MissingSamples(path) for path in self._paths]
            self._write_settings()

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
        per_beam = len(self._names) // len(self._beams)
        beam = self._beams[number // per_beam]
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
