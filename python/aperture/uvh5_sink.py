#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes visibilities into a UVH5 file."""

import contextlib
from dataclasses import dataclass

import numpy as np
import pmt

from . import tags
from .arrays import earth_rotation
from .arrays.array_description import load_array
from .arrays.array_model import MOUNTS
from .calibration.calibration import Calibration
from .calibration.calibration_file import load_calibration
from .files.file_names import PHASE_CENTER, TIME, check_fields, check_text, name_text, names_at
from .files.growing_file import GrowingFile, check_path, file_name
from .files.roll_over import RecordingSink, RollOver
from .formats.uvh5.header import (
    COMPRESSIONS,
    GAINS,
    NOT_APPLIED,
    all_products,
    check_products,
    gains_text,
    load_bitshuffle,
    map_products,
)
from .join_averages import PARTS
from .parameters.ascii_text import ascii_text
from .parameters.description import Anything, Integer, Number, Switch, Text, Together, fields_of
from .parameters.groups import FileCalibration
from .parameters.rules import inputs_of, item_bytes, refuse
from .parameters.times import utc_text
from .streams.input_statistics import StatisticsReader
from .streams.levels import without_noise
from .streams.publishing import Publishing
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.settings import DIRECTION, HeldSettings
from .streams.settings import GAINS as GAINS_SET
from .streams.tag_values import require, spectrum_interval, tag_value, time_of
from .tracking.directions import Direction, parse_direction
from .tracking.phase_center import parse_phase_centers

TABLES = 1 << 18  # bytes
SETTINGS = ", settings: "  # before those in a history
NEEDED = (tags.rx_time, tags.rx_freq, tags.bandwidth, tags.spectra, tags.counted)
#: the use of a calibration -> the file's text on it
CALIBRATE = {
    "apply": "applied to the visibilities",
    "applied": "applied by the F-engine",
    "note": NOT_APPLIED,
}
CALIBRATED = fields_of(FileCalibration)


@dataclass(frozen=True)
class _Setting:
    """The properties that have to be the same for all integrations of a file."""

    frequency: float  # Hz, of channel n // 2
    bandwidth: float  # Hz, of all channels
    interval: float  # s, from a spectrum to the next


class _Output:
    """A file, and the layout of its phase centre."""

    def __init__(self, filename, layout, overwrite, kept=0):
        self._layout, self._waiting = layout, []
        self.written = self.published = 0  # integrations
        self._closed = False

        def begin(space):
            contents = layout.begin(space)
            if kept:
                contents.go_on(filename, kept)
            return contents

        self._file = GrowingFile(filename, begin, overwrite)

    def add(self, integration, statistics=()):
        """Adds an integration, a list of arguments of the layout's (None: none), and
        InputStatistics; the latter wait until there is an integration."""
        self._waiting += statistics
        if integration is not None:
            self._file.write(self._layout.integration(*integration))
            self.written += 1
        while self.written and self._waiting:
            self._file.write(self._waiting[0])
            del self._waiting[0]

    def publish(self):
        """Lets readers see all that was added."""
        self._file.publish()
        self.published = self.written

    def size(self):
        """Bytes of the file."""
        return self._file.size

    def integration_bytes(self):
        """Bytes of one more integration, at most."""
        return self._layout.integration_bytes()

    def close(self):
        """Publishes what was added, and closes the file, once."""
        if self._closed:
            return
        self._closed = True
        try:
            self.publish()
        finally:
            self._file.close()


class uvh5_sink(RecordingSink, python_block):
    """
    Writes visibilities into a UVH5 file, which pyuvdata, and what stands on it, reads.

    In: `[channel][product]` of fc32 from `xengine`, one item an integration, with the tags
    rx_time, rx_freq, bandwidth, spectra and counted. With `counts`, a second port takes what the
    X-engine counted, `[channel][product]` of u32, an item for each integration.

    A product (ant_1, ant_2, pq) of the file is conj(x_p of ant_1) x_q of ant_2. Antennas are
    numbered in the order of their names. time_array is the middle of an integration, nsamples
    the fraction of its spectra that was there (with `counts`, and not flagged, in each channel),
    flags where that is 0. A product that is no number (NaN, or infinite) is written as 0, with
    nsamples 0; so is the weight of all products of an input without noise, which is zero or does
    not change throughout an integration (a receiver that is stuck): a warning names it.
    Coordinates are those of the description; x is taken to point north and y east. Phases are those
    of the integrations (phase centre unprojected, or what was tracked), or are rotated to phase
    centres, each in a file of its own: such a file is as if pyuvdata had phased it. Antennas at one
    place are written 2 mm apart, with a warning, because pyuvdata refuses others.

    The file appears with the first integration and is whole from then on: a reader, or `cp`, may
    open it at any time and keep it open, with HDF5's locks or without. It grows once in
    `publish_every` seconds, and when the flowgraph stops or the file ends; a process that is killed
    loses what came since then, and a disk that is full nothing that fitted. Hidden files,
    `.NAME.lock` and for a moment `.NAME.new`, are beside it; see `GrowingFile`. A flowgraph that is
    stopped (or locked) and started again begins a new file of the same name, or with {time} in it
    of another.

    A file holds one frequency and bandwidth, and one set of settings: the direction that is
    tracked, gains, delays and the length of integrations, as the tag `settings` tells them
    (docs/tags.md). Where they change while the flowgraph runs, and the name has {time} in it, the
    file ends before the change, and a new one begins with it. So it does by time, by size and when
    it is asked for (`set_roll_over()`, `roll_over()`). The file's `history` lists the settings that
    hold, each with its time, and its phase centre and GAINS are those of the stream.

    Any error (a tag that is missing, a full disk, another frequency or direction where there is no
    {time} in the name, somebody else who writes this file) is logged, ends the flowgraph, and is
    given by `error()`.

    Raises:
        ValueError, OSError: A parameter is not allowed; the file could not be written there.
        RuntimeError: The package for bitshuffle is not there: the message has the command that
            installs it.
    """

    def __init__(
        self,
        filename: Text(
            "The file to be written. {time} in it becomes the rx_time of the first "
            "integration in UTC, to the second: `vis-{time}.uvh5` becomes "
            "vis-20240101T123456Z.uvh5. {phase_center} becomes the name of the phase centre, "
            "and must be there where these are several."
        ) = "visibilities-{time}.uvh5",
        array: Text(
            "An array description, or the file or shipped name of one; its inputs are the "
            "X-engine's."
        ) = "two-dish",
        channels: Integer("Channels of an item.", 1, 2**31 - 1) = 1024,
        overwrite: Switch(
            "True if an existing file is replaced (when the first integration comes), or with "
            "{time} in the name gets a neighbour with -2 behind its time; if not, "
            "it is refused, at once where its name is known."
        ) = True,
        history: Text("For the file's `history`.") = "",
        mount: Text(
            "Mount of those antennas whose description says none: fixed, alt-az, equatorial, "
            "phased, ... (`arrays.array_model.MOUNTS`).",
            *MOUNTS,
        ) = "fixed",
        inputs: Anything(
            "If given, how many inputs the array must have (a flowgraph that was drawn for so "
            "many has items of that size)."
        ) = None,
        phase_centers: Anything(
            'Directions in which the phases are to be zero: sun, Cas A, "23:23:24 +58:48:54", '
            '"az=180, el=45", as `aperture.parse_direction` has them. None: they are left as '
            "they are."
        ) = None,
        tracked: Anything(
            "The direction that the F-engine's delays track (see `delay_tracker`), so that "
            "the phases are zero there, until the stream says another one. None: nothing."
        ) = None,
        calibration: CALIBRATED.calibration = "",
        calibrate: CALIBRATED.calibrate = "apply",
        scale: CALIBRATED.scale = "model",
        gains: CALIBRATED.gains = None,
        compression: Text(
            'Compression of the visibilities, without loss: "none"; "lzf", fast, and read by '
            'all that reads by h5py; "gzip", smaller, and read by all HDF5 libraries; '
            '"bitshuffle", fast and smaller than lzf, and read where hdf5plugin is installed, '
            "which it needs, too.",
            *COMPRESSIONS,
        ) = "none",
        statistics: Anything(
            "A snapshot of the frames of which the visibilities are made: what it takes of "
            "them is measured, for each input (rms, kurtosis, clamped and missing voltages), "
            "and written into a group InputStatistics of the file. None: nothing is."
        ) = None,
        statistics_type: Text("The type of these frames.", "fc32", "sc8", "sc4") = "fc32",
        counts: Switch(
            "True if there is a second port, for the counts of an X-engine that takes masks "
            "(`spectra_per_slice`)."
        ) = False,
        products: Anything(
            "Pairs of inputs (a, b), those of the products of an item, in their order: V[a,b]. Of "
            "averages that are shorter than others, which `join_averages` has put into one item, "
            "(a, b, number, count): of part `number`, from 0, of `count` equal ones. None: all, as "
            "an X-engine sends them."
        ) = None,
        statistics_channels: Integer(
            "Number of channels in these frames, where they are those of a range of the "
            "channels; 0: all channels.",
            0,
        ) = 0,
        publish_every: Number(
            "What was written is published, for who reads the file while it grows, at most so "
            "often; at once where an integration is as long. 0: each integration is.",
            0,
            unit="s",
        ) = 1.0,
        calibrated: Together(
            FileCalibration, "The calibration in one object; None: by its arguments."
        ) = None,
    ):
        array = load_array(array)
        if compression == "bitshuffle":
            load_bitshuffle()
        self._compression = compression
        self._publishing = Publishing(self._publish, publish_every)
        inputs = inputs_of(array, inputs)
        self._statistics = (
            None
            if statistics is None
            else StatisticsReader(
                statistics, int(statistics_channels or channels), inputs, statistics_type
            )
        )
        self._products = None if products is None else check_products(products, inputs)
        # [product]: the two inputs, and whether it is of a part of the integration
        self._pairs = np.array(self._products or all_products(inputs))
        products = len(self._pairs)
        item_bytes("channels", 8, channels=channels, products=products)
        map_products(array, self._products)  # complains about what no file can hold
        self._take_calibration(array, calibration, calibrate, scale, gains)
        # not at the top: to load h5py takes as long as to load all else of gnuradio.aperture
        from .formats.uvh5.writer import Uvh5Layout

        self._make_layout = Uvh5Layout
        self._name, self._channels = file_name(filename), int(channels)
        self._shape = (int(channels), products)
        self._autos = np.flatnonzero(self._pairs[:, 0] == self._pairs[:, 1])
        self._roll = RollOver(self._name)
        self._overwrite, self._history, self._mount = overwrite, history, mount
        self._held = HeldSettings()
        self._kept = self._passed_over = 0  # see go_on()
        self._tracked = None if tracked is None else parse_direction(tracked, "tracked")
        # one file, whose phase centre may be none
        self._centers = parse_phase_centers(phase_centers) or [None]
        check_fields(self._name, ("time", "phase_center"))
        self._start()
        if len(set(self._filenames)) < len(self._filenames):
            refuse(
                "filename",
                self._name,
                f"a name with {PHASE_CENTER} in it, and phase centres "
                "of different names, as there is a file for each",
            )
        # a text that cannot be written is refused before anything is computed
        check_text("history", history)
        for path in self._filenames:
            check_path(path, overwrite)
            GrowingFile.check_names(path)
        size = self._channels * products
        kinds = [np.complex64, np.uint32] if counts else [np.complex64]
        super().__init__(
            "uvh5_sink", out_sig=None, in_sig=[vector_of(kind, size) for kind in kinds]
        )

    def _take_calibration(self, array, calibration, calibrate, scale, gains):
        """Checks what is given of the calibration."""
        self._array = array
        if gains is not None:
            gains = np.asarray(gains, float)
            self._check_gains(gains)
        # GRC has no text field for nothing
        name = "" if calibration is None or isinstance(calibration, Calibration) else calibration
        if not isinstance(calibration, Calibration):
            calibration = load_calibration(calibration) if calibration else None
        if calibration is not None:
            for entry in array.inputs:
                calibration.of(entry.name)
            if calibrate != "note":
                # complains about what the calibration does not have
                calibration.bandpasses(calibration.band.frequencies[:1], array.input_names, scale)
        self._calibration, self._calibrate, self._scale = calibration, calibrate, scale
        self._gains, self._calibration_name = gains, name
        self._factors = None  # factors of the visibilities, [channel][product]

    def _check_gains(self, gains):
        inputs, gains = len(self._array.inputs), np.asarray(gains, float)
        if gains.shape != (inputs,) or not np.all(np.isfinite(gains) & (gains > 0)):
            raise ValueError(
                f"gains: {gains} are not allowed: a factor above 0 for each of {inputs} inputs"
            )

    def _calibrated(self):
        """Returns whether the file has calibrated visibilities."""
        return self._calibration is not None and self._calibrate != "note"

    def _keywords(self):
        """The file's extra keywords, and what is added to its history."""
        found, history = {}, self._history
        if self._calibration is not None:
            ours = self._calibration
            when = f", measured {utc_text(ours.measured[0], 3)}Z" if ours.measured else ""
            name = printable(str(self._calibration_name)) or "calibration"
            found["CALIB"] = f"{name}: {ours.source}{when}"
            found["CALSTATE"] = CALIBRATE[self._calibrate]
            history = ", ".join(filter(None, [history, f"{found['CALIB']}, {found['CALSTATE']}"]))
            if self._calibrated() and self._scale == "kelvin":
                found["VISUNITS"] = "K"
        if self._gains is not None and not self._calibrated():
            found[GAINS] = gains_text(self._array.input_names, self._gains)
        if lines := self._held.lines():
            history += (SETTINGS if history else SETTINGS[2:]) + "; ".join(lines)
        return found, history

    def _unit(self):
        """Returns the unit of the visibilities, as the format has it, which knows no kelvin."""
        known = self._calibrated() and self._scale == "model"
        return (known and self._calibration.unit) or "uncalib"

    def _factors_of(self, frequencies):
        """Returns what visibilities are multiplied with, complex64 [channel][product], or None."""
        if not self._calibrated():
            return None
        inputs = len(self._array.inputs)
        factors = np.ones((inputs, self._channels), complex)
        if self._calibrate == "apply":
            factors *= self._calibration.corrections(
                frequencies, self._array.input_names, self._scale
            )
        elif self._gains is None:
            return None
        if self._gains is not None:
            factors /= self._gains[:, np.newaxis]
        a, b = self._pairs[:, 0], self._pairs[:, 1]
        return np.ascontiguousarray((factors[a] * factors[b].conj()).T, np.complex64)

    def take_gains(self, gains, history):
        """Sets `gains` and `history` as the parameters of these names; to be called before the
        first integration comes, by who measured levels of receivers that run."""
        check_text("history", history)
        self._check_gains(gains)
        self._gains, self._history = np.asarray(gains, float), history

    def go_on(self, kept, passed_over=0):
        """
        Makes the file that is there, of this name and without {time} in it, go on behind so many
        of its integrations, which stay as they are; to be called before the start. The first
        integrations that come, `passed_over` of them, are not written.

        With the first one that is, the file becomes one with those that are kept and the new one; a
        file of another array, band or history is refused then, and stays as it is.

        Raises:
            ValueError: The name has {time} or {phase_center} in it.
        """
        if TIME in self._name or PHASE_CENTER in self._name or len(self._centers) > 1:
            refuse("filename", self._name, "the name of one file, which is to go on")
        self._kept, self._passed_over = int(kept), int(passed_over)

    def _history_before(self, history):
        """The history of the file that goes on, where it differs in nothing but the times of
        settings, which this run sees from its own start on."""
        from .formats.uvh5.contents import history_of

        before = history_of(self._filenames[0])
        same = before.split(SETTINGS)[0] == ascii_text(history).split(SETTINGS)[0]
        return before if same else history

    def files(self):
        """The paths, one for each phase centre, and again for each frequency; with {time} in them
        until the first integration has come."""
        return self._ended + self._filenames

    def _ended_files(self):
        return self._ended

    def integrations(self):
        """Integrations that were written and published, of each phase centre."""
        return self._written + min((output.published for output in self._outputs), default=0)

    def statistics(self):
        """Means of what was measured of the inputs since the start, an InputStatistics; None:
        nothing was."""
        return None if self._statistics is None else self._statistics.mean()

    def _start(self):
        if self._statistics is not None:
            self._statistics.restart()
        self._next = self._last_setting = None
        self._silent = set()  # numbers of inputs that have nothing in them
        # files that were ended by another frequency, and integrations in each of them
        self._ended, self._written, self._left_out = [], 0, 0
        self._left = getattr(self, "_passed_over", 0)  # integrations that are passed over first
        self._begin()

    def _begin(self):
        """Forgets what is known of files, for those that come next."""
        self._filenames = [
            self._name.replace(
                PHASE_CENTER,
                name_text(
                    (center or self._tracked).name if center or self._tracked else "unprojected"
                ),
            )
            for center in self._centers
        ]
        self._setting, self._outputs, self._begun = None, [], None

    def _end(self):
        """Ends the files whole; others follow."""
        for output in self._outputs:
            output.close()
        self._publishing.done()
        self._written = self.integrations()
        self._ended += self._filenames
        self._last_setting = self._setting
        self._begin()

    def _publish(self):
        for output in self._outputs:
            output.publish()

    def _stop(self):
        self._publishing.stop()
        try:
            if self._statistics is not None and self.error() is None:
                rows = self._statistics.take_last()
                for output in self._outputs:
                    output.add(None, rows)
        finally:
            self._close()

    def _close(self):
        """Closes all files, whatever becomes of one of them."""
        with contextlib.ExitStack() as closing:
            for output in self._outputs:
                closing.callback(output.close)

    def _work(self, input_items, output_items):
        with self._publishing.lock:
            try:
                self._write(*input_items)
            except Exception:
                with contextlib.suppress(OSError):
                    self._close()
                raise
        return len(input_items[0])

    def _say(self, error):
        text = text_of(error)
        if any(text.startswith(printable(f"{path}: ")) for path in self._filenames):
            return text
        return printable(f"{self._filenames[0]}: ") + text

    def _write(self, items, counts=None):
        found = self.described(0, len(items))
        for i, item in enumerate(items):
            here = found[i]
            changed = self._take_settings(here)
            if (
                self._setting is not None
                and TIME in self._name
                and (
                    not self._roll.recording
                    or changed
                    or self._changes(here)
                    or self._is_full(here)
                )
            ):
                self._end()
            if self._left:
                self._left -= 1
                self._pass_over(here)
                self._left_out -= 1  # the file has it already, and what was measured of it
                if self._statistics is not None:
                    self._statistics.take()
                continue
            if not self._roll.recording:
                self._pass_over(here)
                continue
            self._add(self._integration(item, here, None if counts is None else counts[i]))

    def _take_settings(self, found):
        """Takes what was set of the stream; returns whether a file that was begun says something
        else."""
        changed = False
        for setting in self._held.take(found):
            tracked = self._tracked
            if setting.kind == DIRECTION:
                self._tracked = Direction(**setting.value[tags.direction])
                if self._setting is None:
                    self._begin()  # files are named after it
                if self._tracked.same_as(tracked):
                    continue
            elif setting.kind == GAINS_SET:
                self._take_set_gains(setting.value)
            changed = True
            if self._setting is None or TIME in self._name:
                continue
            if setting.kind == DIRECTION:
                raise ValueError(
                    f"tags: settings: {setting} after {tracked or 'no direction'}: a file holds "
                    f"one phase centre; with {TIME} in its name a new one would begin"
                )
            self.logger.warn(
                printable(
                    f"{self._filenames[0]}: {setting}: the file does not say so; with {TIME} in "
                    "its name a new one would begin"
                )
            )
        return changed

    def _take_set_gains(self, value):
        """Takes gains of the F-engine that were set while it runs."""
        if self._gains is None or tags.model in value:
            return
        gain = value.get(tags.gain)
        if gain is None or np.ndim(gain) or np.imag(gain) or not np.real(gain) > 0:
            self.logger.warn(
                printable(
                    f"{self._filenames[0]}: gains that are no single positive number for each "
                    f"input were set: files do not say {GAINS} from here on"
                )
            )
            self._gains = None
            return
        gains = np.array(self._gains)
        gains[value.get(tags.input, slice(None))] = np.real(gain)
        self._gains = gains

    def _add(self, integration):
        rows = [] if self._statistics is None else self._statistics.take()
        for output in self._outputs:
            output.add(integration, rows)
        # the file appears with the first one
        at_once = any(not output.published for output in self._outputs)
        self._publishing.added(self._length, at_once)

    def _is_full(self, found):
        """Returns whether the file ends before an integration."""
        if self._begun is None:
            return False
        if self._roll.ends(self._begun, self._time_of(found), self._length):
            return True
        # the format's own tables grow by up to TABLES at a time
        most = max(self._roll.size - TABLES, self._roll.size / 2)
        return bool(self._roll.size) and any(
            output.size() + output.integration_bytes() > most
            for output in self._outputs
            if output.written
        )

    def _time_of(self, found):
        """Whole seconds and a fraction, of an integration with these tags."""
        if tags.rx_time in found:
            return tag_value(found, tags.rx_time, time_of)
        return self._next

    def _pass_over(self, found):
        """Passes over an integration that is not written: where the next one begins."""
        if self._last_setting is None:
            require(found, NEEDED, "X-engine")
        self._last_setting = self._setting_of(found)
        self._count_on(
            *self._time_of(found),
            tag_value(found, tags.spectra, pmt.to_uint64),
            self._last_setting.interval,
        )
        self._left_out += 1

    def _count_on(self, seconds, fraction, spectra, hop):
        """The next integration begins where this one ends."""
        self._length = spectra * hop
        end = fraction + self._length
        self._next = seconds + int(end), end - int(end)

    def _integration(self, item, found, counts=None):
        """One item and its tags -> what Uvh5Layout.integration() takes."""
        if self._setting is None and self._last_setting is None:
            require(found, NEEDED, "X-engine")
        seconds, fraction = self._time_of(found)
        self._set(found, seconds + fraction)
        if self._begun is None:
            self._begun = seconds, fraction
        spectra = tag_value(found, tags.spectra, pmt.to_uint64)
        counted = tag_value(found, tags.counted, pmt.u64vector_elements)
        if spectra == 0 or len(counted) not in (1, self._shape[1]) or max(counted) > spectra:
            raise ValueError(
                f"tags: spectra {spectra} and {len(counted)} counts up to "
                f"{max(counted, default=0)} do not fit {self._shape[1]} products"
            )
        if counts is not None:
            counted = np.reshape(counts, self._shape)
            if counted.max() > spectra:
                raise ValueError(
                    f"counts: {counted.max()} are more than the {spectra} spectra of "
                    "the integration: they are not of these visibilities"
                )
        hop = self._setting.interval
        # rx_time is the middle of the first spectrum
        middle = earth_rotation.julian_date(seconds, fraction + (spectra - 1) / 2 * hop)
        self._count_on(seconds, fraction, spectra, hop)
        if self.integrations() == 0 and (text := earth_rotation.warning(middle)):
            self.logger.warn(printable(f"{self._filenames[0]}: {text}"))
        visibilities = np.reshape(item, self._shape)
        counted = self._without_silent(visibilities, counted, (seconds, fraction))
        parts = None if PARTS not in found else tag_value(found, PARTS, pmt.f64vector_elements)
        return visibilities, middle, spectra, counted, hop, self._factors, parts

    def _without_silent(self, visibilities, counted, time):
        """The counts, 0 of the products of inputs that have nothing in them, which are told."""
        # real parts are every other float
        power = np.take(visibilities.view(np.float32), 2 * self._autos, axis=1)
        counted = np.asarray(counted)
        if counted.ndim == 2:
            there = counted[:, self._autos] > 0
        else:
            there = np.broadcast_to(counted, self._shape[1:])[self._autos] > 0
        silent = set(self._pairs[self._autos[np.flatnonzero(without_noise(power, there))], 0])
        for number in sorted(silent - self._silent):
            self.logger.warn(
                printable(
                    f"{self._filenames[0]}: input {self._array.input_names[number]} does not "
                    f"change from {utc_text(time, 3)}Z on (a receiver that is stuck, or "
                    "off?): its products are flagged while that is so"
                )
            )
        self._silent = silent
        if not silent:
            return counted
        shape = self._shape if counted.ndim == 2 else self._shape[1:]
        without = np.array(np.broadcast_to(counted, shape))
        without[..., np.isin(self._pairs[:, :2], list(silent)).any(axis=1)] = 0
        return without

    def _warn_of_calibration(self, time):
        """Warns of a calibration that is not valid, or has no correction of an input."""
        if self._calibration is not None:
            for text in self._calibration.warnings(time):
                self.logger.warn(printable(f"{self._filenames[0]}: {text}"))

    def _setting_of(self, found):
        """Returns the setting that the tags of an integration say, with what they do not say as
        before; or None."""
        old = self._setting or self._last_setting
        said = {tags.rx_freq, tags.bandwidth, tags.spectrum_rate} & found.keys()
        if old is not None and not said:
            return old
        last = {} if old is None else {tags.rx_freq: old.frequency, tags.bandwidth: old.bandwidth}
        frequency, bandwidth = (
            tag_value(found, key, pmt.to_double, last) for key in (tags.rx_freq, tags.bandwidth)
        )
        if not (np.isfinite(frequency) and np.isfinite(bandwidth) and bandwidth > 0):
            raise ValueError(
                f"tags: rx_freq {frequency} and bandwidth {bandwidth} are "
                "not allowed: both finite, bandwidth above 0"
            )
        before = old.interval if old is not None and old.bandwidth == bandwidth else None
        interval = spectrum_interval(found, self._channels, bandwidth, before)
        return _Setting(frequency, bandwidth, interval)

    def _changes(self, found):
        """Returns whether an integration is of another frequency than those in the file."""
        return self._setting is not None and self._setting_of(found) != self._setting

    def _set(self, found, time):
        """Frequencies come with the first integration of a file, which is at this time (seconds
        since 1970), and must not change."""
        old, new = self._setting, self._setting_of(found)
        if old is None:
            width = new.bandwidth / self._channels
            channels = np.arange(self._channels) - self._channels // 2
            frequencies = new.frequency + channels * width
            self._factors = self._factors_of(frequencies)
            keywords, history = self._keywords()
            if self._kept:
                history = self._history_before(history)
            layouts = [
                self._make_layout(
                    self._array,
                    frequencies,
                    width,
                    history,
                    self._mount,
                    center,
                    self._tracked,
                    keywords,
                    self._compression,
                    self._statistics is not None,
                    self._unit(),
                    self._products,
                )
                for center in self._centers
            ]
            self._filenames = names_at(self._filenames, time, self._ended, self._overwrite)
            self._warn_of_calibration(time)
            if layouts[0].moved:
                self.logger.warn(
                    printable(
                        f"{self._filenames[0]}: the array description has several antennas at one "
                        f"place; {layouts[0].moved} of them are written a few millimetres to the "
                        "east, without which pyuvdata refuses the file: give their positions for "
                        "anything that needs baselines"
                    )
                )
            for path, layout in zip(self._filenames, layouts):
                # a file that has come since names were looked for is not replaced either
                overwrite = self._overwrite and TIME not in self._name
                self._outputs.append(_Output(path, layout, overwrite, self._kept))
            self._roll.begun()
            self._setting = new
        elif new != old:
            raise ValueError(
                f"tags: rx_freq {new.frequency} Hz, bandwidth {new.bandwidth} Hz "
                f"come after {old.frequency} Hz, {old.bandwidth} Hz: a file holds "
                f"one setting; with {TIME} in its name a new one would begin"
            )
