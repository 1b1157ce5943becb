#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes VDIF, and sends it."""

import contextlib
import ipaddress
import math
import time
from fractions import Fraction

import numpy as np
import pmt

from . import tags, vdif
from .files import file_lock
from .files.checked_file import part_name
from .files.file_names import TIME, check_different, check_fields, name_text, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RollOver, WritersSink
from .formats.vdif.reader import begin_of_epoch
from .formats.vdif.writer import (
    BEST_STEPS,
    HEADER_BYTES,
    FrameForm,
    VdifWriter,
    epoch_at,
    station_number,
)
from .network.addresses import parse_addresses
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import item_bytes, one_of, refuse, whole_numbers
from .parameters.sample_types import SAMPLE_TYPES
from .parameters.times import utc_after, whole_and_fraction
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.settings import HeldSettings
from .streams.status_port import StatusPort
from .streams.tag_values import missing_run, require, tag_value, time_of

TYPES = ("f32", "s16", "s8", "fc32", "sc16", "sc8")
SENDER = "synthesizer or source"
BEAM = "{beam}"
LONGEST_GAP = 60  # s that invalid frames fill
LAST_SECOND = begin_of_epoch(130)  # 2065: 30 bits of seconds after the last epoch end in it
MOST_AT_ONCE = 1 << 24  # bytes of frames that are made at a time
BESIDE = 0.01  # samples by which a time may be beside a whole one without a warning
MOST_DATAGRAM = 65507  # bytes
PACED = 16  # packets that are sent in a row
TOLD = 1.12  # ratio of levels that is told, 1 dB

#: tests have their own
clock, wait = time.monotonic, time.sleep


class vdif_sink(WritersSink, python_block):
    """
    Writes samples of beams into VDIF files, and sends them in packets of UDP.

    In: samples of `inputs` beams or polarisations, interleaved sample by sample, from `synthesizer`
    or any source, with the tags rx_time and rx_rate. Each input becomes a thread, and, with
    `inputs_per_frame`, so many neighbours the channels of one. With `polarizations=2`, inputs 0 and
    1 are the threads of a beam, 2 and 3 those of the next one, which with {beam} in the name has a
    file of its own, and its own address.

    Samples are quantised to offset-binary codes by the level of their input, the rms of a
    component. It is that of the first frame, and then followed slowly, as a mean over
    `level_time` seconds in which newer frames count more; what is missing changes no level.
    `levels()`, the status and the log tell it. With 2 bits the threshold is 0.98 rms; 4 and 8 bits
    have a step of 0.3534 and 0.03087 rms, with which noise keeps most of its correlation: 0.883 of
    it with 2 bits, 0.637 with 1, 0.987 with 4.

    Frames begin at whole multiples of their length since the second of UTC began; what comes
    before the first such time is left out, and so is what does not fill a frame at the end. A
    frame of which anything is missing, or not a number, is marked as invalid, and is there: frames
    are never left out. A jump of rx_time forward by up to a minute is filled with invalid frames,
    whose data are the word 0x11223344; samples that come a second time are left out. After a
    longer jump new files begin if the name has {time} in it; else it is an error. Leap seconds are
    counted as VDIF does, as seconds since the reference epoch, which is the half year in which the
    flowgraph begins.

    A file has its name when it is whole: until then it is `.NAME.part`. When a disk becomes full,
    or anything else goes wrong, what was written until then becomes whole files. A flowgraph that
    is stopped (or locked) and started again begins new files of the same names, or with {time} of
    others. With {time}, new files also begin by time, by size and when it is asked for
    (`set_roll_over()`, `roll_over()`), and where a setting changes, which `settings` tells.

    Packets have a frame each, behind a sequence number of 8 bytes with `sequence_numbers`, as VTP
    has it. They are sent at most `rate_factor` times as fast as the samples were taken; a stream
    that comes faster waits.

    Message port `status`: what `counts()` gives, and `levels`, once a second. Any error (a tag that
    is missing or contradicts sample_rate, a full disk, an address that cannot be sent to) is
    logged, ends the flowgraph, and is given by `error()`.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "The files to be written; empty: none. {time} becomes the UTC time of the first frame, "
            "to the second, {beam} the name of a beam."
        ) = "beam-{time}.vdif",
        address: Text(
            "HOST:PORT in digits, to which frames are sent, one for all or one for each beam; "
            "empty: none are."
        ) = "",
        inputs: Integer("Beams or polarisations that are interleaved.", 1, 65536) = 2,
        type: Text(
            "f32, s16 or s8 of real samples, fc32, sc16 or sc8 of complex ones.", *TYPES
        ) = "f32",
        sample_rate: Number("Samples a second of each input.", 1, 1e12, unit="Hz") = 64e6,
        bits: Integer("Bits of a component in the frames: 1, 2, 4 or 8.") = 2,
        station: Anything(
            "The station ID: two characters as Ef, or a number from 0 to 65535."
        ) = "AP",
        data_bytes: Integer(
            "Bytes of data of a frame, besides 32 of its header: such that a second has a whole "
            "number of frames.",
            8,
            (1 << 27) - 40,
        ) = 8000,
        polarizations: Integer("Threads of a beam: 1 or 2.", 1, 2) = 2,
        inputs_per_frame: Integer(
            "Neighbours that become the channels of one thread; a power of two.", 1, 65536
        ) = 1,
        threads: Anything("Numbers of the threads of a beam; None: 0, 1, ...") = None,
        edv: Integer(
            "Extended data version of headers: 0, or 1 or 3, which say the rate (3: of frames of "
            "5000 or 1000 bytes)."
        ) = 0,
        step: Number(
            "The threshold of 2 bits, or the step of 4 and 8 bits, in rms; 0: the best one.", 0, 100
        ) = 0.0,
        level: Number(
            "The rms of a component, which does not change; 0: it is measured and followed.",
            0,
            1e30,
        ) = 0.0,
        level_time: Number(
            "Seconds over which the level is followed.", 0, 1e9, unit="s", open=True
        ) = 10.0,
        names: Anything("Names of the beams; None: their numbers.") = None,
        sequence_numbers: Switch(
            "True if packets have a sequence number of 8 bytes in front of the frame."
        ) = False,
        rate_factor: Number(
            "Packets are sent at most so many times as fast as samples were taken; 0: as fast as "
            "they come.",
            0,
            1e6,
        ) = 1.05,
        interface: Text("Network interface that multicast uses; empty: the system's choice.") = "",
        overwrite: Switch(
            "True if existing files are replaced, or with {time} in the name get neighbours with "
            "-2 behind their time; if not, they are refused, at once where "
            "their names are known."
        ) = True,
    ):
        one_of("bits", bits, BEST_STEPS)
        self._inputs, kind = int(inputs), SAMPLE_TYPES[type]
        components = 2 if type in ("fc32", "sc16", "sc8") else 1
        self._dtype = np.dtype(kind.component)
        self._find_beams(int(inputs_per_frame), int(polarizations), threads, names)
        self._form = FrameForm(
            int(bits), components, int(inputs_per_frame), int(data_bytes), float(sample_rate)
        )
        self._find_files(filename, bool(overwrite))
        self._find_addresses(address, bool(sequence_numbers), interface)
        if not self._name and not self._addresses:
            refuse("filename", filename, "a name, where there is no address either")
        per_second = self._form.frames_per_second
        self._encoder = vdif.encoder(
            type=type,
            inputs=self._inputs,
            channels=int(inputs_per_frame),
            threads=self._threads * len(self._beams),
            files=len(self._beams),
            bits=self._form.bits,
            data_bytes=self._form.data_bytes,
            step=float(step) or BEST_STEPS[self._form.bits],
            level=float(level),
            level_frames=max(1.0, float(level_time) * per_second),
            frames_per_second=per_second,
            station=station_number(station),
            extended=self._form.extended_words(edv),
        )
        self._pace = 1 / (float(rate_factor) * per_second) if rate_factor else 0.0
        self._roll, self._held = RollOver(self._name), HeldSettings()
        self._clear()
        size = kind.size * self._inputs
        item_bytes("inputs", kind.size, inputs=self._inputs)
        super().__init__("vdif_sink", out_sig=None, in_sig=[vector_of(np.uint8, size)])
        # frames are made of whole ones in the buffer
        self.set_output_multiple(self._form.samples)
        self._status = StatusPort(self)

    def _find_beams(self, together, polarizations, threads, names):
        """Spreads inputs over threads and beams."""
        of_beam = together * polarizations
        if together & (together - 1):
            refuse("inputs_per_frame", together, "a power of two")
        if self._inputs % of_beam:
            refuse(
                "inputs",
                self._inputs,
                f"a multiple of {of_beam}, inputs_per_frame times polarizations",
            )
        count = self._inputs // of_beam
        if threads is None:
            self._threads = list(range(polarizations))
        else:
            self._threads = whole_numbers("threads", threads, 1024)
            if len(self._threads) != polarizations or len(set(self._threads)) != polarizations:
                refuse("threads", threads, f"{polarizations} numbers, polarizations, of their own")
        self._beams = [str(i) for i in range(count)] if names is None else list(names)
        if len(self._beams) != count or not all(isinstance(name, str) for name in self._beams):
            refuse("names", names, f"{count} texts, one for each beam")

    def _find_files(self, filename, overwrite):
        self._name, self._overwrite = file_name(filename), overwrite
        self._patterns = []
        if not self._name:
            return
        check_fields(self._name, ("time", "beam"))
        if len(self._beams) > 1 and BEAM not in self._name:
            refuse(
                "filename",
                self._name,
                f"a name with {BEAM} in it: a file has one of the {len(self._beams)} beams",
            )
        self._patterns = [self._name.replace(BEAM, name_text(beam)) for beam in self._beams]
        check_different(self._name, self._patterns, "beams")
        for path in self._patterns:
            check_path(path, overwrite)
            file_lock.is_there(part_name(path))

    def _find_addresses(self, address, numbered, interface):
        self._addresses, self._numbered = [], numbered
        if not address:
            return
        found = parse_addresses("address", address)
        if len(found) not in (1, len(self._beams)):
            refuse("address", address, f"one address, or one for each of {len(self._beams)} beams")
        for host, port in found:
            try:
                ip = ipaddress.ip_address(host)
            except ValueError:
                refuse("address", address, "HOST:PORT with the host in digits, as 10.0.0.1:50000")
            self._addresses.append(f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}")
        size = self._form.data_bytes + HEADER_BYTES + 8 * numbered
        if size > MOST_DATAGRAM:
            refuse(
                "data_bytes",
                self._form.data_bytes,
                f"at most {MOST_DATAGRAM - HEADER_BYTES - 8 * numbered}, which a packet holds",
            )
        self._udp = vdif.sender(self._addresses, interface)

    def files(self):
        """The paths of all files that were begun, whole ones and those that will be; before the
        first frame the first ones, with {time} in them."""
        writers = self._ended + self._writers
        return [name for writer in writers for name in writer.paths] or list(self._patterns)

    def counts(self):
        """
        Returns what was counted since the start: `frames` of all threads that were made, those of
        them that are `invalid`, samples of each input that were `skipped` in front of the first
        frame, or since they came a `repeated` time, and frames `left_out` while nothing was
        recorded.
        """
        return dict(self._counts)

    def levels(self):
        """Returns the rms of a component of each input, by which samples are quantised; 0 where
        nothing has come yet."""
        return np.array(self._encoder.levels())

    def frame_length(self):
        """Returns the length of a frame in seconds, a Fraction."""
        return Fraction(1, self._form.frames_per_second)

    # ---- inside

    def _clear(self):
        self._counts = dict.fromkeys(("frames", "invalid", "skipped", "repeated", "left_out"), 0)
        self._left_out = 0
        self._writers, self._ended, self._used = [], [], set()
        self._epoch = None
        self._next = None  # (item, number of its sample since the epoch), where the clock is
        self._frame = None  # number of the next frame
        self._seen = None  # items up to which tags were read
        self._breaks = []  # (item, number of its sample): from where the clock is another one
        self._changes = []  # items from which new settings hold
        self._lost = [[] for _ in range(self._inputs)]  # items of each input: (first, end)
        self._number, self._due = 0, None
        self._told = None  # levels that the log has
        self._encoder.reset()

    def _start(self):
        self._clear()
        self._held = HeldSettings()

    def _stop(self):
        self._finish()
        self._status.tick(self._report, last=True)

    def _report(self):
        return {**self.counts(), "levels": self.levels()}

    def _say(self, error):
        text = text_of(error)
        if not self._patterns or isinstance(error, OSError) and error.strerror and error.filename:
            return text
        return printable(f"{self._patterns[0]}: ") + text

    def _work(self, input_items, output_items):
        try:
            taken = self._take(input_items[0])
        except Exception:
            with contextlib.suppress(OSError):
                self._finish()
            raise
        self._status.tick(self._report)
        return taken

    def _take(self, items):
        """Takes items; returns how many: what does not fill a frame yet comes again."""
        first = self.nitems_read(0)
        end = first + len(items)
        self._read_tags(first, end)
        while True:
            begin, number = self._next
            stop = self._breaks[0][0] if self._breaks else end
            whole = self._take_run(items[begin - first : stop - first], begin, number)
            if not self._breaks:
                self._next = begin + whole, number + whole
                return begin + whole - first
            self._break_up(*self._breaks.pop(0))

    def _break_up(self, item, number):
        """The clock is another one from an item on."""
        begin, before = self._next
        jump = (number - (before + item - begin)) / self._form.sample_rate
        self._next = item, number
        if abs(jump) <= LONGEST_GAP:
            return
        if TIME not in self._name and self._name:
            raise ValueError(
                f"tags: an rx_time that jumps by {jump:.6g} s does not fit into one file, where up "
                f"to {LONGEST_GAP} s are filled; with {TIME} in its name a new one would begin"
            )
        self._finish()
        self._frame = None

    # ---- tags

    def _read_tags(self, first, end):
        """Reads the tags of items whose tags were not read yet."""
        if self._seen is None:
            self._seen = first
        lost = {}
        found = self.tags_by_item(0, end - first, lost)
        for item in sorted(found.keys() | lost.keys() | ({0} if self._next is None else set())):
            if first + item < self._seen:
                continue
            here = found.get(item, {})
            if self._next is None:
                require(here, (tags.rx_time, tags.rx_rate), SENDER, "sample")
            if tags.rx_rate in here:
                self._check_rate(tag_value(here, tags.rx_rate, pmt.to_double))
            if tags.rx_time in here:
                self._place(here, first + item)
            if news := self._held.take(here):
                self._change(news, first + item)
            for value in lost.get(item, ()):
                self._lose(value)
        self._seen = end

    def _change(self, news, item):
        """Settings hold from an item on."""
        if TIME in self._name:
            self._changes.append(item)
        elif self._name and self._writers:
            self.logger.warn(
                printable(
                    f"{self._patterns[0]}: {news[-1]}: the file does not say so; with {TIME} in "
                    "its name a new one would begin"
                )
            )

    def _check_rate(self, rate):
        if not math.isclose(rate, self._form.sample_rate, rel_tol=1e-9):
            raise ValueError(
                f"tags: rx_rate {rate:.12g} contradicts sample_rate {self._form.sample_rate:.12g}"
            )

    def _place(self, here, item):
        """Takes an rx_time: the clock begins, or jumps."""
        seconds, fraction = tag_value(here, tags.rx_time, time_of, None, SENDER, "a sample")
        when = Fraction(seconds) + Fraction(fraction)
        if self._epoch is None:
            if not begin_of_epoch(0) <= seconds < LAST_SECOND:
                where = "before 2000" if seconds < LAST_SECOND else "in 2065 or later"
                raise ValueError(
                    f"tags: rx_time {seconds + fraction:.9f} is {where}, which VDIF does not "
                    f"count: the {SENDER} has to tell the time (docs/vlbi.md)"
                )
            self._epoch = epoch_at(seconds)
            self._encoder.set_epoch(self._epoch)
        exactly = self._form.number_of(self._epoch, when)
        number = round(exactly)
        begin, known = self._breaks[-1] if self._breaks else self._next or (item, None)
        if known is not None and number == known + item - begin:
            return
        if abs(exactly - number) > BESIDE:
            self.logger.warn(
                printable(
                    f"rx_time {seconds}+{fraction:.12f} is {float(exactly - number):.3f} samples "
                    "behind a whole one since the second began: times in the frames are wrong by "
                    "as much"
                )
            )
        if known is None:
            self._next = item, number
        else:
            self._breaks.append((item, number))

    def _lose(self, value):
        number, first, count = tag_value({tags.missing: value}, tags.missing, missing_run)
        if 0 <= number < self._inputs and count > 0:
            self._lost[number].append((first, first + count))

    # ---- frames

    def _take_run(self, items, begin, number):
        """Takes samples that follow on each other, from an item and the number of its sample on;
        returns how many it has taken: whole frames, and what is before the first one."""
        length = self._form.samples
        lead = -number % length
        if lead >= len(items):
            self._skip(len(items), "skipped")
            return len(items)
        frame = (number + lead) // length
        count = (len(items) - lead) // length
        if self._frame is None:
            self._skip(lead, "skipped")
            self._frame = frame
        again = min(max(0, self._frame - frame), count)
        self._skip(again * length, "repeated")
        lead, frame, count = lead + again * length, frame + again, count - again
        if count:
            if frame > self._frame:
                self._make(None, frame - self._frame, None)
            self._make(items[lead : lead + count * length], count, begin + lead)
        for lost in self._lost:
            lost[:] = [run for run in lost if run[1] > begin + lead + count * length]
        return lead + count * length

    def _skip(self, count, why):
        self._counts[why] += count

    def _make(self, items, count, begin):
        """Makes frames of items, or without them invalid ones; begin: the first item."""
        length = self._form.samples
        threads = len(self._threads) * len(self._beams)
        most = max(1, MOST_AT_ONCE // (threads * (self._form.data_bytes + HEADER_BYTES)))
        done = 0
        while done < count:
            some = min(most, count - done)
            item = None if items is None else begin + done * length
            some = self._until_end_of_file(some, item)
            part = None if items is None else items[done * length : (done + some) * length]
            self._make_some(part, some, item, threads)
            done += some

    def _until_end_of_file(self, count, item):
        """Lets files end and begin where they are to; returns how many of these frames go into
        those that are there."""
        if not self._roll.recording:
            self._finish()
            return count
        while self._changes and item is not None and self._changes[0] <= item:
            del self._changes[0]
            self._finish()
        if self._changes and item is not None:
            ahead = -(-(self._changes[0] - item) // self._form.samples)
            count = min(count, max(1, ahead))
        if not self._name:
            return count
        if self._writers and self._room() < 1:
            self._finish()
        if not self._writers:
            self._begin()
        return int(max(1, min(count, self._room())))

    def _room(self):
        """Frames of each thread that the files still take."""
        if TIME not in self._name:
            return math.inf
        size = len(self._threads) * (self._form.data_bytes + HEADER_BYTES)
        interval = 1 / self._form.frames_per_second
        return self._roll.room(self._begun, interval, size) - self._written

    def _begin(self):
        """Begins files with the next frame."""
        self._roll.begun()
        since = Fraction(self._frame, self._form.frames_per_second)
        self._begun = whole_and_fraction(utc_after(Fraction(begin_of_epoch(self._epoch)), since))
        names = names_at(self._patterns, self._begun[0], self._used, self._overwrite)
        self._used.update(names)
        self._written = 0
        for path in names:
            self._writers.append(VdifWriter(path, self._overwrite))

    def _make_some(self, items, count, item, threads):
        if not self._roll.recording:
            self._left_out += count
            self._counts["left_out"] += count * threads
            self._frame += count
            return
        missing = np.zeros((count, threads), bool)
        if items is None:
            missing[:] = True
        else:
            self._mark(missing, item)
            items = items.reshape(-1).view(self._dtype)
        frames = self._encoder.encode(items, count, self._frame, missing)
        self._counts["frames"] += missing.size
        self._counts["invalid"] += int(np.count_nonzero(missing))
        for writer, data in zip(self._writers, frames):
            writer.add(data)
        self._written = self._written + count if self._writers else 0
        self._frame += count
        if self._addresses:
            self._send(frames)
        self._tell_levels()

    def _mark(self, missing, begin):
        """Marks the frames of which an input is missing; missing: [frame][thread], whose first one
        begins with an item."""
        length = self._form.samples
        for number, runs in enumerate(self._lost):
            for first, end in runs:
                low, high = max(0, (first - begin) // length), -(-(end - begin) // length)
                if high > 0:
                    missing[low:high, number // self._form.channels] = True

    def _tell_levels(self):
        levels = self.levels()
        if not levels.any():
            return
        if self._told is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(
                    self._told > 0, levels / self._told, np.where(levels > 0, np.inf, 1)
                )
            if np.all((ratio < TOLD) & (ratio > 1 / TOLD)):
                return
        self._told = levels
        texts = [f"{level:.4g}" for level in levels[:8]]
        more = f" and {len(levels) - 8} more" if len(levels) > 8 else ""
        self.logger.info(f"levels (rms of a component): {', '.join(texts)}{more}")

    # ---- packets

    def _send(self, frames):
        """Sends frames [beam][frame][thread][byte] in the order of time."""
        by_time = np.ascontiguousarray(frames.transpose(1, 0, 2, 3))
        separate = len(self._addresses) > 1
        beams = len(self._beams) if separate else 1
        for time_slice in by_time.reshape(len(by_time), beams, -1, by_time.shape[-1]):
            self._wait()
            for beam, packets in enumerate(time_slice):
                self._udp.send(packets, beam, self._number if self._numbered else None)
            self._number += len(time_slice[0])

    def _wait(self):
        """Waits until the packets of the next time are due."""
        if not self._pace:
            return
        now = clock()
        # a burst of a few packets makes up for what came late, and no longer one
        due = now if self._due is None else max(self._due, now - PACED * self._pace)
        if due > now:
            wait(due - now)
        self._due = due + self._pace
