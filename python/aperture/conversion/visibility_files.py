#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of visibilities that pyuvdata reads, a piece at a time: UVH5, measurement sets, UVFITS.

A piece is some of a file's integrations, as a pyuvdata.UVData object. No more of a file is in
memory at a time, whatever its length.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import warnings

import h5py
import numpy as np
from astropy.coordinates import EarthLocation
from astropy.coordinates.sites import SiteRegistry
from astropy.utils import iers

# nothing is downloaded: what comes with astropy is as good as a prediction for a year
iers.conf.auto_download = False
iers.conf.auto_max_age = None
# pyuvdata asks for a list of sites, which astropy would download; files say where antennas are
EarthLocation._site_registry = SiteRegistry()  # pylint: disable=protected-access
EarthLocation._site_registry.add_site(  # pylint: disable=protected-access
    ["Greenwich"], EarthLocation.from_geodetic(0.0, 51.4769, 46.0)
)

# pyuvdata asks git for its version, which must not find that of a tree that it is installed in
os.environ.setdefault("GIT_CEILING_DIRECTORIES", os.path.join(sys.prefix, "lib"))

from pyuvdata import UVData

from ..formats.uvh5.header import (
    clear_not_numbers,
    has_bitshuffle,
    is_baseline_dependent,
    load_bitshuffle,
)
from ..parameters.ascii_text import ascii_names, ascii_text
from ..parameters.times import SECONDS_PER_DAY
from .uvfits_groups import Groups, GroupsError

#: ending -> what a format is called
FORMATS = {".uvh5": "UVH5", ".ms": "measurement set", ".uvfits": "UVFITS"}
PIECE = 1 << 22  # visibilities that are read at a time, if an integration has no more


class ConversionError(ValueError):
    """A file that cannot be converted; the message is for the user."""


def format_of(path):
    """The ending of a path in small letters, one of FORMATS; a / may follow it."""
    ending = os.path.splitext(str(path).rstrip("/"))[1].lower()
    if ending not in FORMATS:
        raise ConversionError(
            f"{path}: its ending is to be one of "
            + ", ".join(f"{ending} ({name})" for ending, name in FORMATS.items())
        )
    return ending


def remove(path):
    """Removes a file or a folder with what is in it, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _make_ascii(data):
    """Makes all texts ASCII, which is all that pyuvdata writes, of what other programs wrote."""
    telescope = data.telescope
    for owner, name in ((data, "history"), (telescope, "name"), (telescope, "instrument")):
        text = getattr(owner, name)
        if isinstance(text, str):
            setattr(owner, name, ascii_text(text))
    telescope.antenna_names = np.array(ascii_names([str(name) for name in telescope.antenna_names]))
    for entries in (data.extra_keywords, *data.phase_center_catalog.values()):
        for key, value in entries.items():
            if isinstance(value, str):
                entries[key] = ascii_text(value)


@contextlib.contextmanager
def quiet():
    """Keeps what pyuvdata prints from the output, and gives the list of its warnings."""
    with (
        warnings.catch_warnings(record=True) as caught,
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
    ):
        warnings.simplefilter("always")
        yield caught


class VisibilityReader:
    """
    A file of visibilities, of which pieces are read.

    Parameters
    ----------
    path : str
    folder : str
        For copies of pieces, which a measurement set needs; they are removed after use.

    Attributes
    ----------
    meta : UVData
        Names and places of antennas, channels, polarisations and phase centres, without data.
    times, lengths, fields : arrays
        Of each integration, in order of time: Julian date of its middle, seconds, number of the
        phase centre.
    is_baseline_dependent : bool
        True if integrations of some baselines are longer than those of others at their time.
    notes : list of str
        What there is to say of what was read.

    Raises
    ------
    ConversionError
        There is no such file, or pyuvdata cannot read it.
    """

    def __init__(self, path, folder=None):
        self.path = str(path).rstrip("/")
        if not os.path.exists(self.path):
            raise ConversionError(f"{self.path}: no such file")
        self._ending = format_of(self.path)
        self._folder = folder or os.path.dirname(self.path) or "."
        self._notes, self._not_numbers, self._no_weights = {}, 0, 0
        #: baselines, channels and polarisations of pieces: see `choose`
        self._rows, self._axes = None, {}
        if self._ending == ".uvh5":
            # pyuvdata tells of a file that is no UVH5
            with contextlib.suppress(OSError, KeyError), h5py.File(self.path) as file:
                if has_bitshuffle(file["Data/visdata"]):
                    load_bitshuffle()
        self._groups = None
        if self._ending == ".ms":
            self._open_measurement_set()
        elif self._ending == ".uvfits" and self._open_groups():
            pass
        else:
            self.meta = self._read(self.path, read_data=False)
            self._ant_1, self._ant_2 = self.meta.ant_1_array, self.meta.ant_2_array
            self._sort(
                self.meta.time_array, self.meta.integration_time, self.meta.phase_center_id_array
            )
        _make_ascii(self.meta)

    def _read(self, path, **options):
        if self._ending == ".ms":
            # otherwise windows of one channel are left out, as those of simulators are
            options["ignore_single_chan"] = False
        with quiet() as caught:
            try:
                # autocorrelations that are NaN are cleared; who writes them checks them
                found = UVData.from_file(
                    path,
                    check_extra=True,
                    run_check_acceptability=True,
                    check_autos=False,
                    **options,
                )
            except Exception as error:  # h5py, casacore, astropy and pyuvdata have theirs
                text = f"{error}"
                if " " not in text:  # a KeyError says no more than a key
                    text = f"{type(error).__name__} {text}"
                raise ConversionError(f"{self.path}: pyuvdata cannot read it: {text}") from None
        for warning in caught:
            self._notes[str(warning.message)] = None
        return found

    def _open_groups(self):
        """Opens UVFITS, of which pieces are copied; False: pyuvdata is to read it as a whole, as a
        file without lengths of integrations, which only all of its times say."""
        try:
            groups = Groups(self.path)
        except (GroupsError, OSError, LookupError):
            return False  # pyuvdata says what is wrong with it
        if "INTTIM" not in groups.parameters or groups.count == 0:
            return False
        self._groups = groups
        with self._copy(".uvfits") as copy:
            groups.copy_parameters(copy)
            rows = self._read(copy, read_data=False)
        self._ant_1, self._ant_2 = rows.ant_1_array, rows.ant_2_array
        self._sort(rows.time_array, rows.integration_time, rows.phase_center_id_array)
        self.meta = self._copied(np.flatnonzero(self._integration == 0), read_data=False)
        return True

    @contextlib.contextmanager
    def _copy(self, ending):
        """The name of a copy of a piece, which is removed after use."""
        with tempfile.TemporaryDirectory(prefix=".piece-", dir=self._folder) as folder:
            yield os.path.join(folder, "piece" + ending)

    def _open_measurement_set(self):
        # not at the top: what is no measurement set needs no casacore
        from casacore.tables import table

        try:
            with quiet(), table(self.path, ack=False) as rows:
                times, lengths, fields, intervals = (
                    rows.getcol(name) for name in ("TIME", "EXPOSURE", "FIELD_ID", "INTERVAL")
                )
        except Exception as error:
            raise ConversionError(f"{self.path}: pyuvdata cannot read it: {error}") from None
        if not len(times):
            raise ConversionError(f"{self.path}: no integrations in it")
        # simulators leave it empty
        self._without_exposure = lengths == 0
        if self._without_exposure.any():
            lengths = np.where(self._without_exposure, intervals, lengths)
            self._notes[
                f"EXPOSURE is 0 in {np.count_nonzero(self._without_exposure)} rows: INTERVAL is "
                "taken for it"
            ] = None
        self._sort(times, lengths, fields)
        # pyuvdata keeps only those phase centres that rows have
        self.meta = None
        for field in np.unique(fields):
            found = self._piece([int(np.flatnonzero(self.fields == field)[0])])
            if self.meta is None:
                self.meta = found
            else:
                self.meta.phase_center_catalog.update(found.phase_center_catalog)
        self.meta.Nphase = len(self.meta.phase_center_catalog)
        self.times = self.times / SECONDS_PER_DAY + 2400000.5

    def _sort(self, times, lengths, fields):
        self.times, first, self._integration = np.unique(
            times, return_index=True, return_inverse=True
        )
        wrong = ~(np.isfinite(lengths) & (lengths > 0))
        if wrong.any():
            row = int(np.argmax(wrong))
            name = "EXPOSURE" if self._ending == ".ms" else "integration_time"
            raise ConversionError(
                f"{self.path}: {name} of row {row} is {lengths[row]:g} s, which is to be above 0"
            )
        self.lengths, self.fields = lengths[first].astype(float), fields[first]
        seconds = times if self._ending == ".ms" else times * SECONDS_PER_DAY
        self.is_baseline_dependent = is_baseline_dependent(seconds, lengths)

    @property
    def notes(self):
        told = list(self._notes)
        if self._not_numbers:
            told.append(
                f"{self._not_numbers} visibilities that were not flagged are no numbers (NaN, or "
                "infinite): they are flagged now"
            )
        if self._no_weights:
            told.append(
                f"{self._no_weights} visibilities that were not flagged have nsamples that are "
                "negative, NaN or infinite: they are flagged now"
            )
        return told

    def choose(self, pairs=None, channels=None, polarizations=None):
        """
        Restricts the pieces that come.

        Parameters
        ----------
        pairs : callable
            pairs(ant_1, ant_2) of arrays of numbers gives the rows that are wanted; None: all.
        channels : array of int
            Numbers in the order of the file; None: all.
        polarizations : list of int
            Codes of the format; None: all.
        """
        self._rows = pairs
        self._axes = {
            name: value
            for name, value in (("freq_chans", channels), ("polarizations", polarizations))
            if value is not None
        }

    def integrations_of_a_piece(self):
        """Returns how many integrations a piece has, 1 or more."""
        rows = np.bincount(self._integration).max()
        channels = len(self._axes.get("freq_chans", ())) or self.meta.Nfreqs
        return max(1, PIECE // (rows * channels * self.meta.Npols))

    def piece(self, numbers):
        """The integrations of these numbers as a UVData object; None: nothing of what was chosen
        is in them."""
        found = self._piece(numbers)
        if found is None:
            return None
        _make_ascii(found)
        found.phase_center_catalog = {
            key: dict(entry) for key, entry in self.meta.phase_center_catalog.items()
        }
        found.Nphase = len(found.phase_center_catalog)
        wrong = ~(np.isfinite(found.nsample_array) & (found.nsample_array >= 0))
        self._no_weights += np.count_nonzero(wrong & ~found.flag_array)
        found.nsample_array[wrong], found.flag_array[wrong] = 0, True
        self._not_numbers += clear_not_numbers(
            found.data_array, found.nsample_array, found.flag_array
        )
        return found

    def _piece(self, numbers):
        wanted = np.zeros(len(self.times), bool)
        wanted[numbers] = True
        rows = wanted[self._integration]
        if self._ending != ".ms":
            if self._rows is not None:
                rows &= self._rows(self._ant_1, self._ant_2)
            if not rows.any():
                return None
            if self._groups is not None:
                return self._copied(np.flatnonzero(rows), **self._axes)
            if rows.all() and not self._axes:
                return self._read(self.path)
            return self._read(self.path, blt_inds=np.flatnonzero(rows), **self._axes)
        if rows.all() and not self._without_exposure.any():
            found = self._read(self.path)
        else:
            found = self._copied(np.flatnonzero(rows))
        if self._rows is not None or self._axes:
            chosen = {}
            if self._rows is not None:
                chosen["blt_inds"] = np.flatnonzero(
                    self._rows(found.ant_1_array, found.ant_2_array)
                )
                if not len(chosen["blt_inds"]):
                    return None
            with quiet():
                found.select(**chosen, **self._axes)
        return found

    def _copied(self, rows, **options):
        """Reads rows of a measurement set or UVFITS, which pyuvdata reads as a whole, from a copy
        of them."""
        with self._copy(self._ending) as copy:
            if self._groups is not None:
                self._groups.copy(rows, copy)
                return self._read(copy, **options)
            # not at the top: what is no measurement set needs no casacore
            from casacore.tables import table

            with quiet(), table(self.path, ack=False) as whole:
                with whole.selectrows(rows) as chosen:
                    chosen.copy(copy, deep=True).close()
            if (wrong := self._without_exposure[rows]).any():
                with quiet(), table(copy, ack=False, readonly=False) as made:
                    taken = np.where(wrong, made.getcol("INTERVAL"), made.getcol("EXPOSURE"))
                    made.putcol("EXPOSURE", taken)
            return self._read(copy)
