#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes candidates of pulses into a table, with a picture of each."""

import math
import os
import queue
import threading
import time
from collections import deque

import numpy as np
import pmt

from . import tags
from .files.file_names import TIME, check_fields, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RollingSink, RollOver
from .parameters.description import Integer, Number, Switch, Text
from .parameters.rules import as_number, item_bytes, refuse
from .streams.python_block import python_block, text_of, vector_of
from .streams.tag_values import time_of
from .transients.candidates import Candidate, CandidateTable
from .transients.dispersion import channel_frequencies, delay

TYPES = {"f32": np.float32, "s8": np.int8, "u8": np.uint8}
ENDINGS = (".ecsv", ".csv")
MOST_KEPT = 2**36  # bytes of powers
WAITING = 4  # pictures that wait to be drawn
PATIENCE = 10.0  # seconds that the last item of powers waits for the last candidates
#: seconds for which powers wait for a search that stands still
LONGEST_WAIT = 60.0
POLL = 0.005
LONGEST_LINE = 1024  # bytes of a table, at most
PORT = pmt.intern("candidates")


class candidate_sink(RollingSink, python_block):
    """
    Writes candidates of `pulse_search` into a table, and draws a picture of each.

    In: the messages of pulse_search on the port `candidates`; and, unless `pictures` is 0, the
    powers that `dedisperser` takes, `[beam][channel]` of f32, s8 or u8, one item a time, with the
    tag rx_time. The last `seconds` of these are kept, beams * channels * seconds / sample_time
    values; a picture of a candidate whose powers are not there any more is not drawn.

    The table has a line for each candidate; it is on the disk when the next one comes. A picture
    (NAME.png in the folder NAME-pictures beside the table, NAME being the candidate's id) shows
    the dedispersed waterfall, and the S/N over dispersion measure and time, which is computed from
    the powers; both are empty where the stream had not begun. Pictures are drawn beside the
    flowgraph; those that come too fast are left out, or, with `wait`, the flowgraph waits for them,
    and with `follow()` until the search is done with powers that would be overwritten.

    With {time} in the name a new table begins after `rows_per_file` candidates, and by time, by
    size and when it is asked for (`set_roll_over()`, `roll_over()`), with the candidate that is
    the first in it; one of an earlier time that comes after that is in the new table, too.

    A message that is no candidate is logged and left out. Any other error (a full disk, somebody
    else who writes the table) is logged, ends the flowgraph if there are powers, and is given by
    `error()`.

    Raises:
        ValueError, OSError: A parameter is not allowed; the table could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "The table: .ecsv or .csv. {time} becomes the UTC at which the flowgraph starts, "
            "and in the names of the tables that follow that of their first candidate."
        ) = "candidates-{time}.ecsv",
        beams: Integer("Beams of the powers.", 1, 65536) = 1,
        channels: Integer("Channels of the powers.", 1, 2**24) = 1024,
        center_frequency: Number(
            "Centre frequency of the powers, that of channel channels // 2.", 0, 1e15, unit="Hz"
        ) = 408e6,
        bandwidth: Number("Bandwidth of the powers.", 1e-3, 1e15, unit="Hz") = 20e6,
        sample_time: Number(
            "From one item of powers to the next, seconds.", 1e-9, 1e3, unit="s"
        ) = 51.2e-6,
        type: Text("Type of the powers: f32, s8 or u8.", "f32", "s8", "u8") = "f32",
        pictures: Number(
            "Most pictures in a minute of the stream; 0: none, and there is no port for powers.",
            0,
            6000,
        ) = 10.0,
        seconds: Number(
            "Time for which powers are kept: longer than the sweep of a pulse and what the "
            "search takes.",
            0,
            1e5,
            unit="s",
        ) = 4.0,
        rows_per_file: Integer(
            "Most candidates of a table, with {time} in the name.", 1, 2**31 - 1
        ) = 100000,
        overwrite: Switch(
            "True if an existing table is replaced, or with {time} in the name gets a neighbour "
            "with -2 behind its time; if not, it is refused."
        ) = True,
        wait: Switch(
            "True if the stream waits for the pictures, as a recording can, which comes "
            "faster than they are drawn."
        ) = False,
    ):
        self._beams = int(beams)
        self._channels = int(channels)
        self._rows_per_file = int(rows_per_file)
        lowest = (channels // 2 + 0.5) * bandwidth / channels
        as_number("center_frequency", center_frequency, lowest, 1e15, "Hz")
        self._sample_time = float(sample_time)
        self._pictures = float(pictures)
        as_number("seconds", seconds, sample_time, 1e5)
        self._row = self._beams * self._channels
        kind = np.dtype(TYPES[type])
        item_bytes("channels", kind.itemsize, beams=beams, channels=channels)
        self._kept = math.ceil(seconds / sample_time)
        if pictures > 0 and self._kept * self._row * kind.itemsize > MOST_KEPT:
            refuse(
                "seconds",
                seconds,
                f"at most {MOST_KEPT} bytes of powers, and these are "
                f"{self._kept * self._row * kind.itemsize}",
            )
        self._name = file_name(filename)
        if not self._name.endswith(ENDINGS):
            refuse("filename", self._name, f"a name that ends in {' or '.join(ENDINGS)}")
        check_fields(self._name, ("time",))
        if TIME not in self._name:
            check_path(self._name, overwrite)
        self._frequencies = channel_frequencies(self._channels, center_frequency, bandwidth)
        self._kind, self._overwrite, self._wait = kind, bool(overwrite), bool(wait)
        self._roll = RollOver(self._name)
        self._table = self._thread = self._powers = self._position = None
        self._reset()
        shape = vector_of(kind.type, self._row)
        super().__init__("candidate_sink", in_sig=[shape] if pictures > 0 else None, out_sig=None)
        self.message_port_register_in(PORT)
        self.set_msg_handler(PORT, self._handle)

    def files(self):
        """The paths of all tables since the start."""
        return list(self._paths)

    def candidates(self):
        """Candidates that were written since the start."""
        return self._written

    def drawn(self):
        """Pictures that were drawn since the start."""
        return self._drawn

    def not_drawn(self):
        """Candidates without a picture: they came too fast, or their powers were not there."""
        return self._left_out

    def follow(self, position):
        """
        With `wait`: position() gives the item of the powers before which no candidate that is still
        to come needs any; None: nobody knows, and nothing is waited for. To be called before the
        flowgraph starts.
        """
        self._position = position

    # ---- inside

    def _ended_files(self):
        return self._paths if self._table is None else self._paths[:-1]

    def _reset(self):
        self._paths, self._written, self._rows = [], 0, 0
        self._drawn = self._left_out = 0
        self._times = []  # times of candidates with pictures in the last minutes
        self._clocks = deque()  # (item, seconds, fraction), oldest first
        self._come = 0  # items
        self._alone = None  # since when there is one item only
        self._stood = None  # (items, position, since when) of powers that wait for the search
        self._early = deque()  # messages whose powers have not come

    def _start(self):
        self._reset()
        if self._pictures > 0:
            # memory that is not used takes no room
            self._powers = np.zeros((self._kept, self._row), self._kind)
            self._waiting = queue.Queue(WAITING)
            self._thread = threading.Thread(
                target=self._draw_all, daemon=True, name="candidate pictures"
            )
            self._thread.start()
        now = time.time()
        self._begin_table((int(now), now % 1))

    def _begin_table(self, moment):
        (path,) = names_at([self._name], moment[0], self._paths, self._overwrite)
        table = CandidateTable(path, self._overwrite)
        if self._table is not None:
            self._table.close()
        self._table, self._rows, self._begun = table, 0, moment
        self._paths.append(path)
        self._roll.begun()

    def _is_full(self, moment):
        """Returns whether another table begins with the candidate of this time."""
        if TIME not in self._name:
            return False
        size = self._roll.size
        return (
            self._rows >= self._rows_per_file
            or bool(size)
            and self._rows > 0
            and self._table.size + LONGEST_LINE > size
            or self._roll.ends(self._begun, max(moment, self._begun), 0.0)
        )

    def _stop(self):
        # messages may come after the last call of the scheduler
        while (message := self.delete_head_nowait(PORT)) is not None:
            self._handle(message)
        self._take_messages(ended=True)
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = self._powers = None
        if self._table is not None:
            table, self._table = self._table, None
            table.close()

    def _work(self, input_items, output_items):
        # Powers end before the search that gets the same, and with them this block would. GNU
        # Radio ends one that does nothing when the search says that it is done.
        powers = input_items[0][:-1]
        if len(powers) == 0:
            now = time.monotonic()
            self._alone = self._alone or now
            if now - self._alone < PATIENCE:
                time.sleep(POLL)
                return 0
            powers = input_items[0]
        self._alone = None
        powers = powers[: self._room(len(powers))]
        if len(powers) == 0:
            time.sleep(POLL)
            return 0
        self._keep(powers)
        self._take_messages()
        return len(powers)

    def _room(self, count):
        """Returns how many of the next so many items take the place of none that the search still
        needs."""
        position = self._position() if self._wait and self._position else None
        if position is None:
            return count
        room = int(position) + self._kept - self._come
        now = time.monotonic()
        if room > 0 or self._stood is None or self._stood[:2] != (self._come, position):
            self._stood = self._come, position, now
        elif now - self._stood[2] > LONGEST_WAIT:
            # better than to stand for ever
            self._position = None
            self.logger.warn(
                "seconds: the search needs more powers than are kept; the stream goes on, and "
                "candidates may be without a picture"
            )
            return count
        return max(0, min(count, room))

    def _keep(self, powers):
        first = self.nitems_read(0)
        for tag in self.get_tags_in_window(0, 0, len(powers)):
            if pmt.symbol_to_string(tag.key) == tags.rx_time:
                self._clocks.append((tag.offset, *time_of(tag.value)))
        kept = min(len(powers), self._kept)
        place = (first + len(powers) - kept) % self._kept
        rows = powers[len(powers) - kept :].reshape(kept, self._row)
        until_end = min(kept, self._kept - place)
        self._powers[place : place + until_end] = rows[:until_end]
        self._powers[: kept - until_end] = rows[until_end:]
        self._come = first + len(powers)
        while len(self._clocks) > 1 and self._clocks[1][0] <= self._come - self._kept:
            self._clocks.popleft()

    def _handle(self, message):
        self._early.append(message)
        self._take_messages()

    def _take_messages(self, ended=False):
        """Takes messages in their order, as far as the powers of their pictures have come."""
        while self._early and (ended or not self._is_early(self._early[0])):
            message = self._early.popleft()
            if self._error is None and self._table is not None:
                self._guarded(self._take, message)

    def _is_early(self, message):
        """Returns whether the search of a recording was faster than the powers come here."""
        if not self._wait or self._powers is None:
            return False
        try:
            candidate = Candidate.of_message(message)
        except ValueError:
            return False
        if candidate.beam >= self._beams:
            return False
        if not self._clocks:
            return self._come == 0
        first, middle, cutout = self._place(candidate)
        return not middle < self._come or self._come - first < cutout.count // 4

    def _take(self, message):
        try:
            candidate = Candidate.of_message(message)
        except ValueError as error:
            self.logger.warn(text_of(error))
            return
        if self._rows == 0:  # times of a recording are before the start
            self._begun = min(self._begun, candidate.time)
        if self._is_full(candidate.time):
            self._begin_table(candidate.time)
        picture = self._ask_for_picture(candidate) if self._pictures > 0 else ""
        self._table.add(candidate, picture)
        self._rows += 1
        self._written += 1

    def _ask_for_picture(self, candidate):
        """The name of the picture relative to the table, if there will be one."""
        now = sum(candidate.time)
        # candidates do not come in the order of their times, and not far from it
        self._times = [moment for moment in self._times if abs(moment - now) < 600]
        same = sum(abs(moment - now) < 60 for moment in self._times)
        job = None
        if same < self._pictures and (self._wait or not self._waiting.full()):
            job = self._cut_out(candidate)
        if job is None:
            self._left_out += 1
            return ""
        folder = os.path.splitext(self._paths[-1])[0] + "-pictures"
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, candidate.id + ".png")
        self._times.append(now)
        self._waiting.put((path, *job))
        return os.path.join(os.path.basename(folder), candidate.id + ".png")

    def _cut_out(self, candidate):
        """Returns the candidate's powers [time][channel] and where they lie, or None if they are
        not there."""
        if candidate.beam >= self._beams or not self._clocks:
            return None
        first, middle, cutout = self._place(candidate)
        oldest = max(0, self._come - self._kept)
        # begin and end may not be there, but the pulse at the highest channel must be
        end = min(first + cutout.count, self._come)
        if not oldest <= middle < end or end - first < cutout.count // 4:
            return None
        there = max(first, oldest)
        places = np.arange(there, end) % self._kept
        begin = candidate.beam * self._channels
        powers = np.full((end - first, self._channels), np.nan, np.float32)
        powers[there - first :] = self._powers[places, begin : begin + self._channels]
        return powers, candidate, cutout

    def _place(self, candidate):
        """Returns the items at which its picture begins and the pulse is at the highest channel,
        and the Cutout."""
        # matplotlib takes a second to load: not before it is needed
        from .transients.pictures import Cutout  # pylint: disable=import-outside-toplevel

        cutout = Cutout(candidate, self._frequencies, self._sample_time)
        after = delay(candidate.dm, self._frequencies[-1]) + cutout.first
        item, seconds, fraction = self._clock_at(candidate.time, after)
        away = (candidate.time[0] - seconds) + (candidate.time[1] - fraction) + after
        first = item + round(away / self._sample_time)
        return first, first - round(cutout.first / self._sample_time), cutout

    def _clock_at(self, moment, after):
        """The last stamp that is not after a moment, or the first one."""
        found = self._clocks[0]
        for clock in self._clocks:
            if (moment[0] - clock[1]) + (moment[1] - clock[2]) + after >= 0:
                found = clock
        return found

    def _draw_all(self):
        """The thread that draws, until None comes."""
        while (job := self._waiting.get()) is not None:
            path, powers, candidate, cutout = job
            try:
                from .transients.pictures import draw  # pylint: disable=import-outside-toplevel

                draw(path, powers, candidate, cutout)
                self._drawn += 1
            except Exception as error:  # no picture is worth a flowgraph
                self._left_out += 1
                self.logger.warn(f"{path}: no picture: {text_of(error)}")
