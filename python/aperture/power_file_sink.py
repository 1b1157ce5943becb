#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common part of blocks that write the powers of beams into files, each in a format."""

import contextlib
import errno
import math
import time as host
from fractions import Fraction

import numpy as np
import pmt

from . import tags
from .arrays import earth_rotation
from .arrays.array_description import load_array
from .beams.weights import find_polarizations
from .files.file_names import TIME, check_different, check_fields, name_text, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RecordingSink, RollOver
from .files.sample_file import SampleFile, check_names
from .formats.power_lists import MISSING, SETTINGS, MissingSamples, write_settings
from .parameters.description import Anything, Integer, Switch, Text
from .parameters.rules import item_bytes, refuse
from .pointing import as_beams, looking_at
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.settings import DIRECTIONS, HeldSettings
from .streams.tag_values import require, tag_value, time_of

NEEDED = (tags.rx_time, tags.rx_freq, tags.rx_rate, tags.bandwidth, tags.spectra)
LONGEST_GAP = 600.0  # s; a clock that jumps further forward is wrong
LONGEST_OVERLAP = 1.0  # s; so is one that jumps further back
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


# parameters that all of them have
ARRAY = Text("An array description, or the file or shipped name of one.")
BEAMS = Anything(
    "Objects of `aperture.Beam`, or dictionaries as in a file of beams (see "
    "`pointing`); incoherent ones are the last, as in beam_power's items."
)
CHANNELS = Integer("Channels of an item.", 1, 2**31 - 1)
PRODUCT = Text("power, I, IQUV or coherency, as in the power detector.", *PRODUCTS)
OVERWRITE = Switch(
    "True if existing files are replaced (when the first integration comes), or with "
    "{time} in the name get neighbours with -2 behind their time; if not, "
    "they are refused, at once where their names are known."
)
ROWS = Anything(
    "If given, how many beams an item must have (a flowgraph that was drawn for so "
    "many has items of that size)."
)
COUNTS = Switch(
    "True if there is a second port, for the counts of a block that takes masks "
    "(`spectra_per_slice`)."
)


class PowerFileSink(RecordingSink, python_block):
    """
    A block that writes files of powers: names, times, gaps, what was flagged, and when new files
    begin. What comes through its ports is `[beam][product][channel]`, see filterbank_sink.

    Subclasses have

    - _create(): makes the files, whose paths _name_files() gives, and `_files`
    - _add_piece(powers, lost): adds powers, as _add() is given them, and counts them by _count()
    - _write_gap(count): fills so many samples, some at a time, and gives how many
    - _gap_added(count): so many samples were filled
    - _finish(): writes all that came, before files end
    - _write_rest(): writes what can be written after an error
    - _size_of_sample(): bytes of a sample in a file
    - _together(): samples that files have a whole number of where others follow on them
    - _under_way(): samples that are counted and not in the files yet
    """

    #: samples of files that go on, and integrations that are in them, where a block can do that
    _kept = _passed_over = 0

    def __init__(self, name, filename, array, beams, channels, products, overwrite, rows, counts):
        array = load_array(array)
        if products != "power" and len(find_polarizations(array)) != 2:
            refuse("products", products, f"power: array {array.name!r} has one polarisation")
        self._array, self._products = array, products
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
        self._start()
        # a file that cannot be written is to be known before anything is computed
        self._check_paths()
        kinds = [(np.float32, size)]
        if counts:
            kinds.append((np.uint32, self._shape[0] * self._shape[2]))
        super().__init__(name, out_sig=None, in_sig=[vector_of(*kind) for kind in kinds])

    def files(self):
        """The paths, one for each beam or one for all; with {time} in them until the first
        integration has come. Those of files on which others followed come first."""
        return self._ended + self._paths

    def integrations(self):
        """Integrations that are in the files."""
        return self._written_before + self._written - self._under_way()

    def filled(self):
        """Integrations in the files that are missing in whole or of some beams, and were filled."""
        return self._filled

    def flagged(self):
        """Returns, of what came with counts, the fraction of beams and channels that was flagged in
        whole, and so was filled."""
        return self._flagged / max(self._cells, 1)

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
        self._setting = self._clock = None
        # in the files that grow, and in those before them
        self._written = self._written_before = 0
        self._filled = self._left_out = 0
        self._flagged = self._cells = 0  # channels of beams in integrations that were written
        self._told = False  # true once a gap was reported
        self._shift = 0  # samples of the file less integrations that came
        self._behind = 0  # integrations that are to come a second time

    def _stop(self):
        try:
            if self.error() is None:
                self._finish()
        finally:
            if self._filled:
                self._warn(
                    f"{self._filled} of {self.integrations()} integrations were filled, "
                    f"which *{MISSING} lists"
                )
            self._close()

    def _work(self, input_items, output_items):
        try:
            self._take(*input_items)
        except Exception:
            with contextlib.suppress(OSError):
                try:
                    self._write_rest()
                finally:
                    self._close()
            raise
        return len(input_items[0])

    def _close(self):
        """Closes all files, even where one cannot be closed as it should."""
        files, self._files = self._files, []
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
        together = self._together()
        most = self._roll.room(self._clock[1:], interval, self._size_of_sample(), together)
        left = max(0, most - self._written)
        return left if left == math.inf else left + -(self._written + left) % together

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
        self._finish()
        self._close()
        self._ended += self._paths
        self._paths, self._missing = list(self._patterns), []
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

    def _add_gap(self, count):
        """Adds so many samples of which nothing is there."""
        if self._is_left_out(count):
            return
        for first, end in self._pieces(count):
            for samples in self._write_gap(end - first):
                self._count(samples, np.ones((samples, *self._shape[:2]), bool))
            self._gap_added(end - first)

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

    def _together(self):
        return 1

    def _gap_added(self, count):
        pass

    def _name_files(self):
        """Gives the files their names, and looks whether they can be made."""
        self._paths = names_at(self._patterns, self._clock[1], self._ended, self._overwrite)
        self._check_paths()
        self._roll.begun()

    def _open(self, path, *replaces):
        """Makes a SampleFile."""
        try:
            return SampleFile(path, *(replaces or (b"",)), self._overwrite)
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise OSError(
                    error.errno,
                    f"{len(self._paths)} files are more than this process may open (ulimit -n)",
                    path,
                ) from None
            raise

    def _list_what_is_missing(self):
        """Makes the lists beside new files."""
        self._missing = [MissingSamples(path) for path in self._paths]
        self._write_settings()

    def _start_of_file(self):
        """When the first integration of the files begins, UTC since 1970, exactly: rx_time is the
        middle of its first spectrum."""
        _, seconds, fraction = self._clock
        return seconds + Fraction(fraction) - Fraction(self._hop) / 2

    def _beam_of(self, number):
        """The beam of a row of an item."""
        return self._beams[number // (len(self._names) // len(self._beams))]
