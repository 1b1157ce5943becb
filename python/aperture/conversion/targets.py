#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files that pieces of visibilities go into; each appears when it is whole."""

import os
import tempfile

import h5py
import numpy as np

from ..formats.uvh5.header import COMPRESSIONS, OF_ROWS, create_data
from ..parameters.times import SECONDS_PER_DAY
from .uvfits_groups import GrowingGroups
from .visibility_files import ConversionError, format_of, quiet, remove

#: pyuvdata's warning of units that are not Jy, of which the caller is told otherwise
UNITS_WARNING = "Writing in the MS file that the units of the data are uncalib"
CHECKS = dict(check_extra=True, run_check_acceptability=True)


class Target:
    """
    A file of visibilities that is written a piece at a time.

    Parameters
    ----------
    path : str
        Its ending chooses the format.
    overwrite : bool
        True if what is there is replaced.
    compression : str
        Compression of UVH5, one of `COMPRESSIONS`.

    Raises
    ------
    ConversionError, OSError
    """

    def __init__(self, path, overwrite=True, compression="none"):
        self.path = str(path).rstrip("/")
        self._ending = format_of(self.path)
        if os.path.lexists(self.path) and not overwrite:
            raise ConversionError(f"{self.path}: the file exists")
        folder, name = os.path.split(self.path)
        self.folder = folder or "."
        self._partial = os.path.join(folder, f".{name}.part{self._ending}")
        self._writer = {".uvh5": _Uvh5, ".ms": _MeasurementSet, ".uvfits": _Uvfits}[self._ending](
            self._partial, self.folder, compression
        )
        self._notes = {}
        self._antennas, self._pairs, self._times = set(), set(), set()
        self._channels = self._polarizations = 0
        self._rows = 0

    def __enter__(self):
        remove(self._partial)
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self._told(self._writer.finish)
                remove(self.path)
                os.rename(self._partial, self.path)
        finally:
            self._writer.close()
            remove(self._partial)

    def _told(self, action, *arguments):
        with quiet() as caught:
            try:
                action(*arguments)
            except (OSError, ConversionError):
                raise
            except Exception as error:
                raise ConversionError(f"{self.path}: pyuvdata cannot write it: {error}") from None
        for warning in caught:
            if not str(warning.message).startswith(UNITS_WARNING):
                self._notes[str(warning.message)] = None

    def add(self, data):
        """Adds a piece, a UVData object, whose times come after those of the pieces before."""
        self._told(self._writer.add, data)
        self._times.update(np.unique(data.time_array).tolist())
        self._antennas.update(data.ant_1_array.tolist() + data.ant_2_array.tolist())
        self._channels, self._polarizations = data.Nfreqs, data.Npols

    @property
    def notes(self):
        """Texts of what pyuvdata warned of."""
        return list(self._notes)

    @property
    def summary(self):
        """A line that says what was written."""
        return (
            f"{len(self._antennas)} antennas, {len(self._times)} times, {self._channels} channels, "
            f"{self._polarizations} polarisation{'s'[: self._polarizations > 1]}"
        )


class _Uvh5:
    """UVH5: the header of the first piece, and rows of all of them."""

    def __init__(self, path, folder, compression):
        self._path, self._folder = path, folder
        self._compression = COMPRESSIONS[compression]
        self._file = None
        self._times, self._pairs = set(), set()
        #: baselines of an integration, in the order of the rows, if it is the same in all of them
        self._sequence = None
        self._rectangular = True

    def add(self, data):
        _sort_times(data)
        data.check(**CHECKS)
        if self._file is None:
            self._begin(data)
        header, group = self._file["Header"], self._file["Data"]
        for name in OF_ROWS:
            _append(header[name], getattr(data, name))
        for name, values in (
            ("visdata", data.data_array),
            ("flags", data.flag_array),
            ("nsamples", data.nsample_array),
        ):
            _append(group[name], values)
        times, begins = np.unique(data.time_array, return_index=True)
        pairs = list(zip(data.ant_1_array.tolist(), data.ant_2_array.tolist()))
        count = data.Nblts // len(times)
        self._sequence = self._sequence or pairs[:count]
        self._rectangular &= pairs == self._sequence * len(times) and np.array_equal(
            begins, count * np.arange(len(times))
        )
        self._times.update(times.tolist())
        self._pairs.update(pairs)

    def _begin(self, data):
        """The file with a header, and datasets without rows."""
        with tempfile.TemporaryDirectory(prefix=".header-", dir=self._folder) as folder:
            one = data.select(times=[data.time_array[0]], inplace=False)
            one.phase_center_catalog, one.Nphase = data.phase_center_catalog, data.Nphase
            one.history = data.history
            name = os.path.join(folder, "header.uvh5")
            one.write_uvh5(name, run_check=False)
            self._file = h5py.File(self._path, "w")
            with h5py.File(name) as made:
                made.copy("Header", self._file)
        header = self._file["Header"]
        for name in OF_ROWS:
            values = np.asarray(getattr(data, name))
            del header[name]
            header.create_dataset(
                name,
                (0, *values.shape[1:]),
                values.dtype,
                maxshape=(None, *values.shape[1:]),
                chunks=(max(1024, min(len(values), 1 << 15)), *values.shape[1:]),
            )
        create_data(
            self._file.create_group("Data"),
            (one.Nblts, data.Nfreqs, data.Npols),
            dtype=data.data_array.dtype,
            **self._compression,
        )

    def finish(self):
        header = self._file["Header"]
        antennas = {antenna for pair in self._pairs for antenna in pair}
        for name, value in (
            ("Nblts", len(header["time_array"])),
            ("Ntimes", len(self._times)),
            ("Nbls", len({tuple(sorted(pair)) for pair in self._pairs})),
            ("Nants_data", len(antennas)),
        ):
            header[name][()] = value
        for name, value in (("blts_are_rectangular", True), ("time_axis_faster_than_bls", False)):
            header.pop(name, None)
            if self._rectangular:
                header[name] = value
        self.close()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None


def _append(dataset, values):
    before = len(dataset)
    dataset.resize(before + len(values), axis=0)
    dataset[before:] = values


class _MeasurementSet:
    """A measurement set: pyuvdata writes each piece, and rows of all but the first are moved."""

    def __init__(self, path, folder, _):
        self._path, self._folder = path, folder
        self._first = True
        self._span = np.inf, -np.inf

    def add(self, data):
        half = data.integration_time / 2 / SECONDS_PER_DAY
        self._span = (
            min(self._span[0], (data.time_array - half).min()),
            max(self._span[1], (data.time_array + half).max()),
        )
        # numbers of scans are of the whole file, and are set at its end
        data.scan_number_array = np.ones(data.Nblts, int)
        if self._first:
            data.write_ms(self._path, **CHECKS)
            self._first = False
            return
        # not at the top: what is no measurement set needs no casacore
        from casacore.tables import table

        with tempfile.TemporaryDirectory(prefix=".piece-", dir=self._folder) as folder:
            piece = os.path.join(folder, "piece.ms")
            data.write_ms(piece, **CHECKS)
            with (
                table(piece, ack=False) as source,
                table(self._path, ack=False, readonly=False) as target,
            ):
                source.copyrows(target)

    def finish(self):
        from casacore.tables import table

        with table(self._path, ack=False, readonly=False) as rows:
            fields, times = rows.getcol("FIELD_ID"), rows.getcol("TIME")
            order = np.argsort(times, kind="stable")
            changed = np.append(False, np.diff(fields[order]) != 0)
            scans = np.empty(len(fields), np.int32)
            scans[order] = 1 + np.cumsum(changed)
            rows.putcol("SCAN_NUMBER", scans)
        with table(self._path + "/ANTENNA", ack=False, readonly=False) as antennas:
            antennas.putcol("MOUNT", [mount.upper() for mount in antennas.getcol("MOUNT")])
        with table(self._path + "/FEED", ack=False, readonly=False) as feeds:
            # pyuvdata writes these two for two receptors, however many there are
            for row, count in enumerate(feeds.getcol("NUM_RECEPTORS").tolist()):
                feeds.putcell("BEAM_OFFSET", row, np.zeros((count, 2)))
                feeds.putcell("POL_RESPONSE", row, np.eye(count, dtype=complex))
        with table(self._path + "/POINTING", ack=False, readonly=False) as pointing:
            # pyuvdata says that all antennas point to the zenith, of which the file says nothing
            pointing.removerows(list(range(pointing.nrows())))
        with table(self._path + "/OBSERVATION", ack=False, readonly=False) as observation:
            span = (np.array(self._span) - 2400000.5) * SECONDS_PER_DAY
            observation.putcell("TIME_RANGE", 0, span)

    def close(self):
        pass


class _Uvfits:
    """UVFITS: pyuvdata writes each piece, and the rows of all are put one after the other."""

    def __init__(self, path, folder, _):
        self._folder, self._whole = folder, GrowingGroups(path)

    def add(self, data):
        _sort_times(data)
        _number_from_one(data)
        with tempfile.TemporaryDirectory(prefix=".piece-", dir=self._folder) as folder:
            piece = os.path.join(folder, "piece.uvfits")
            data.write_uvfits(piece, **CHECKS)
            self._whole.add(piece)

    def finish(self):
        self._whole.finish()

    def close(self):
        self._whole.close()


def _sort_times(data):
    """Brings rows into the order of their times, which other programs say wrongly, or not at
    all."""
    if np.any(np.diff(data.time_array) < 0):
        data.blt_order = None
        data.reorder_blts(order="time", minor_order="baseline")


def _number_from_one(data):
    """Numbers antennas from 1, as UVFITS has them (AIPS memo 117)."""
    if data.telescope.antenna_numbers.min() > 0:
        return
    data.telescope.antenna_numbers = data.telescope.antenna_numbers + 1
    data.ant_1_array = data.ant_1_array + 1
    data.ant_2_array = data.ant_2_array + 1
    data.baseline_array = data.antnums_to_baseline(data.ant_1_array, data.ant_2_array)
