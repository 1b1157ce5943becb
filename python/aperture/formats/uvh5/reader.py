#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reads UVH5 files, those of other programs as well.

The layout of the files is that of the UVH5 memo
(https://github.com/RadioAstronomySoftwareGroup/pyuvdata/blob/main/docs/references/uvh5_memo.pdf):
the product (ant_1, ant_2, pq) is conj(p of ant_1) times (q of ant_2).
"""

import contextlib
import os
from dataclasses import dataclass
from typing import NamedTuple

import h5py
import numpy as np

from ...arrays.geometry import enu_to_ecef_rotation
from ...packages import environment
from ...parameters.input_files import look_for, looked_in
from ...parameters.regular_file import check_regular
from ...parameters.times import SECONDS_PER_DAY
from . import header as uvh5

#: code of the format -> polarisation product, or Stokes parameter
POLARIZATIONS = {
    1: "I",
    2: "Q",
    3: "U",
    4: "V",
    **{code: name for name, code in uvh5.POLARIZATIONS.items()},
}

REQUIRED = (
    "Header/ant_1_array",
    "Header/ant_2_array",
    "Header/time_array",
    "Header/freq_array",
    "Header/polarization_array",
    "Data/visdata",
    "Data/flags",
    "Data/nsamples",
)


#: deflate makes data at most so many times smaller: no file holds more
MOST_COMPRESSION = 1032
#: the range of a number in the header: Hz, Julian dates (to the year 22666), seconds
FREQUENCIES, DATES, LENGTHS = (-1e15, 1e15), (0.0, 1e7), (0.0, 1e10)


class Uvh5Error(ValueError):
    """A file that is not there or that is not UVH5; the message is for the user."""


def _printable(text):
    """A text of a file as it can be drawn; it need not be UTF-8."""
    text = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)
    return "".join(letter if letter.isprintable() else "?" for letter in text[:80])


#: endings of visibilities in other formats -> what those are
OTHER_FORMATS = {".ms": "a measurement set", ".uvfits": "UVFITS"}


def check_uvh5(filename, what_for):
    """Refuses visibilities in formats that only aperture_convert reads, and what is no file on a
    disk, before it is opened; what_for: as of check_regular()."""
    name = os.fspath(filename).rstrip("/")
    root, ending = os.path.splitext(name)
    other = OTHER_FORMATS.get(ending.lower())
    if other and os.path.exists(name):
        raise Uvh5Error(
            f"{name}: this is {other}, and UVH5 is read here: aperture_convert {name} "
            f"{root}.uvh5 makes it of that"
        )
    check_regular(filename, what_for)


class Site(NamedTuple):
    """The place of an array: degrees (WGS84) and metres."""

    latitude: float
    longitude: float
    height: float


@dataclass(frozen=True)
class Product:
    """conj(signal of antenna `first` in `polarization[0]`) times that of `second` in [1]."""

    first: int
    second: int
    polarization: str

    @property
    def is_auto(self):
        return self.first == self.second and len(set(self.polarization)) == 1


class VisibilityFile:
    """A UVH5 file, opened for reading; use as a context manager.

    Attributes: `telescope`; `frequencies` [channel], Hz; `channel_width`, Hz;
    `polarizations`, in the file's order, like "xx"; `times` [integration], Julian dates of
    their middles; `integration_time`, s; `pairs`, (antenna, antenna) numbers; `names`,
    antenna number to name; `positions`, antenna number to metres (any fixed frame); `site`,
    a Site, None where the file does not say; `keywords`, the texts among its extra keywords;
    `unit`, of the visibilities, "Jy", "K str" or "K", "" where they are not calibrated. For
    each row, a baseline at a time: `first` and `second`, its antennas, and `integration_of`, an
    index of `times`.
    """

    def __init__(self, filename):
        self._filename = filename = look_for(filename) or filename
        if not os.path.exists(filename):
            raise Uvh5Error(f"{filename}: no such file{looked_in(filename)}")
        self._size = os.path.getsize(filename)
        try:
            self._file = h5py.File(filename, "r")
        except (OSError, RuntimeError) as error:
            raise Uvh5Error(f"{filename}: not a readable HDF5 file ({error})") from None
        try:
            with self._damage_told():
                self._read_header(filename)
        except BaseException:
            self._file.close()
            raise

    @contextlib.contextmanager
    def _damage_told(self):
        """Turns whatever h5py raises of a damaged file (nearly anything) into an Uvh5Error."""
        try:
            yield
        except Uvh5Error:
            raise
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise Uvh5Error(f"{self._filename}: damaged, or not a UVH5 file: {text}") from None

    def _dataset(self, name, kinds="iuf"):
        """A dataset of the file, which must have a type of these kinds and be as large as it says:
        a file with a wrong length in it would make NumPy ask for all memory."""
        dataset = self._file[name]
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in kinds:
            raise Uvh5Error(f"{self._filename}: {name} is not what UVH5 has there")
        filtered = dataset.id.get_create_plist().get_nfilters()
        most = self._size * (MOST_COMPRESSION if filtered else 1)
        if dataset.size is None or dataset.size * dataset.dtype.itemsize > most:
            raise Uvh5Error(
                f"{self._filename}: damaged: {name} is said to be of shape "
                f"{dataset.shape}, and the file has {self._size} bytes"
            )
        return dataset

    def statistics(self):
        """
        Statistics of the inputs, a dictionary: `inputs`, their names; `times`, Julian dates of the
        measurements; `spectra`, of each of these; and arrays [measurement][input], as
        `streams.input_statistics.InputStatistics` has them. None: the file has none.
        """
        if uvh5.STATISTICS not in self._file:
            return None
        with self._damage_told():
            group = f"{uvh5.STATISTICS}/"
            names = [
                name.decode(errors="replace") if isinstance(name, bytes) else str(name)
                for name in self._dataset(group + "inputs", "SO")[()]
            ]
            found = {
                "inputs": names,
                "times": self._numbers(group + "time_array", "f", DATES),
                "spectra": self._numbers(group + "spectra", "iu"),
            }
            shape = (len(found["times"]), len(names))
            for name in uvh5.MEASURED:
                found[name] = self._dataset(group + name, "f")[()]
                if found[name].shape != shape:
                    raise Uvh5Error(
                        f"{self._filename}: damaged: {group}{name} has the shape "
                        f"{found[name].shape}, and not {shape}"
                    )
        return found if shape[0] else None

    def _numbers(self, name, kinds="iuf", limits=None):
        """All numbers of a dataset in one axis, which must be within the limits."""
        values = np.ravel(self._dataset(name, kinds)[()])
        if limits and not np.all((values >= limits[0]) & (values <= limits[1])):
            raise Uvh5Error(
                f"{self._filename}: damaged: {name} has values outside of "
                f"{limits[0]:g} to {limits[1]:g}"
            )
        return values

    def _read_header(self, filename):
        absent = [name for name in REQUIRED if name not in self._file]
        if absent:
            raise Uvh5Error(f"{filename}: not a UVH5 file: it lacks {', '.join(absent)}")
        header = self._file["Header"]
        self._data = self._dataset("Data/visdata", "cV")
        if uvh5.has_bitshuffle(self._data):
            try:
                uvh5.load_bitshuffle()
            except environment.PackageError as error:
                raise Uvh5Error(f"{filename}: compressed with bitshuffle: {error}") from None
        self.first = self._numbers("Header/ant_1_array", "iu")
        self.second = self._numbers("Header/ant_2_array", "iu")
        times = self._numbers("Header/time_array", "f", DATES)
        rows = self._data.shape[0]
        lengths = {
            "time_array": len(times),
            "ant_1_array": len(self.first),
            "ant_2_array": len(self.second),
        }
        wrong = [f"{name} has {length}" for name, length in lengths.items() if length != rows]
        if wrong:
            raise Uvh5Error(f"{filename}: visdata has {rows} rows, but {', '.join(wrong)}")
        if rows == 0:
            raise Uvh5Error(f"{filename}: no integrations in it")
        self.times, self.integration_of = np.unique(times, return_inverse=True)
        frequencies = self._numbers("Header/freq_array", limits=FREQUENCIES).astype(float)
        polarizations = self._numbers("Header/polarization_array")
        for name, kinds in (("Data/visdata", "cV"), ("Data/flags", "biu"), ("Data/nsamples", "f")):
            found = self._dataset(name, kinds).shape
            if np.prod(found, dtype=object) != rows * len(frequencies) * len(polarizations):
                raise Uvh5Error(
                    f"{filename}: {name} is of shape {found}, but there are {rows} "
                    f"rows, {len(frequencies)} channels, {len(polarizations)} "
                    "polarisations"
                )
        # Other programs write descending frequencies too; here they always ascend.
        self._direction = -1 if frequencies[0] > frequencies[-1] else 1
        self.frequencies = frequencies[:: self._direction]
        if len(self.frequencies) > 1:
            self.channel_width = abs(float(np.median(np.diff(self.frequencies))))
        else:
            self.channel_width = abs(float(self._numbers("Header/channel_width")[0]))
        if not 0 < self.channel_width <= FREQUENCIES[1]:
            raise Uvh5Error(f"{filename}: damaged: channels of {self.channel_width:g} Hz")
        self.polarizations = [
            POLARIZATIONS.get(int(number), str(number)) for number in polarizations
        ]
        self.integration_time = self.first_integration_time = None
        self._mixed = False
        if "integration_time" in header:
            lengths = self._numbers("Header/integration_time", limits=LENGTHS)
            self.integration_time = float(np.median(lengths))
            if len(lengths) == len(self.integration_of):
                self._mixed = uvh5.is_baseline_dependent(times * SECONDS_PER_DAY, lengths)
                lengths = lengths[self.integration_of == 0]
            self.first_integration_time = float(np.median(lengths))
        telescope = "?"
        if "telescope_name" in header:
            telescope = np.ravel(self._dataset("Header/telescope_name", "SOU")[()])[0]
        self.telescope = _printable(telescope)
        self.site = self._read_site(header)
        self.keywords = self._read_keywords(header)
        self.unit = self._read_unit(header)
        self.pairs = sorted(set(zip(self.first.tolist(), self.second.tolist())))
        self.names, self.positions = self._read_antennas(header)

    def refuse_baseline_dependent(self):
        """Raises Uvh5Error for a file with baseline-dependent averages: to be called by who takes
        all baselines of an integration to have its length."""
        if self._mixed:
            raise Uvh5Error(
                f"{self._filename}: its baselines have integrations of different lengths "
                "(baseline-dependent averages), which this does not take"
            )

    def _read_site(self, header):
        """The Site; None where a part of it is not there."""
        names = ("latitude", "longitude", "altitude")
        if not all(name in header for name in names):
            return None
        return Site(
            *(float(self._numbers(f"Header/{name}", "iuf", (-1e8, 1e8))[0]) for name in names)
        )

    def _read_keywords(self, header):
        """Extra keywords that are texts."""
        found = {}
        if isinstance(header.get("extra_keywords"), h5py.Group):
            for name, entry in header["extra_keywords"].items():
                if (
                    isinstance(entry, h5py.Dataset)
                    and entry.dtype.kind in "SO"
                    and entry.shape == ()
                ):
                    text = entry[()]
                    found[name] = (
                        text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
                    )
        return found

    def _read_unit(self, header):
        if "vis_units" in header:
            unit = _printable(np.ravel(self._dataset("Header/vis_units", "SOU")[()])[0])
            if unit.lower() not in ("uncalib", ""):
                return unit
        # for what the format does not know
        return _printable(self.keywords.get("VISUNITS", ""))

    def _read_antennas(self, header):
        numbers = sorted(set(self.first.tolist()) | set(self.second.tolist()))
        names = {number: str(number) for number in numbers}
        positions = {}
        if "antenna_numbers" in header:
            listed = self._numbers("Header/antenna_numbers", "iu").tolist()
            if "antenna_names" in header:
                texts = map(_printable, self._dataset("Header/antenna_names", "SOU")[:])
                names.update(zip(listed, texts))
            if "antenna_positions" in header:
                places = self._dataset("Header/antenna_positions")[()].reshape(-1, 3)
                positions = {
                    number: place
                    for number, place in zip(listed, places)
                    if np.all(np.abs(place) < 1e8)
                }
        return names, positions

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    @property
    def antennas(self):
        """Numbers of the antennas with data, ascending."""
        return sorted({antenna for pair in self.pairs for antenna in pair})

    def autos(self):
        """The autocorrelation of each input: products of an antenna and a polarisation."""
        hands = [p for p in self.polarizations if len(p) == 2 and p[0] == p[1]]
        return [Product(a, a, p) for a in self.antennas if (a, a) in self.pairs for p in hands]

    def crosses(self):
        """The products worth a panel: parallel hands of all baselines; of a single antenna
        its cross-hand."""
        hands = [p for p in self.polarizations if len(p) == 1 or p[0] == p[1]]
        between = [Product(a, b, p) for a, b in self.pairs if a != b for p in hands]
        if between:
            return between
        crossed = [p for p in self.polarizations if p in ("xy", "rl")]
        return [Product(a, b, p) for a, b in self.pairs if a == b for p in crossed]

    def autos_of(self, product):
        """The two autocorrelations that normalise a product."""
        p, q = product.polarization[0], product.polarization[-1]
        return Product(product.first, product.first, p + p), Product(
            product.second, product.second, q + q
        )

    def label(self, product):
        """Returns, for example, "A1x–A2x"; the antenna's name and polarisation for an
        autocorrelation."""
        p, q = product.polarization[0], product.polarization[-1]
        # matplotlib would take what is between two dollars for a formula
        first, second = (
            self.names[number].replace("$", r"\$") + letter
            for number, letter in ((product.first, p), (product.second, q))
        )
        return first if product.is_auto else f"{first}–{second}"

    @property
    def start(self):
        """Julian date at which the first integration begins; its middle where the file does not
        say how long integrations are."""
        return self.times[0] - (self.first_integration_time or 0) / 2 / 86400

    def length(self, product):
        """Length of the baseline in metres; None where the file has no positions."""
        ends = [self.positions.get(a) for a in (product.first, product.second)]
        if any(end is None for end in ends):
            return None
        return float(np.linalg.norm(ends[1] - ends[0]))

    def phase_lengths(self):
        """
        w in metres [row], towards the phase centre, 0 in rows whose phases were left as they are:
        visibilities of the file have been multiplied with exp(-2 pi i f w / c).
        """
        with self._damage_told():
            header, rows = self._file["Header"], len(self.first)
            if "phase_center_catalog" not in header:
                return np.zeros(rows)
            types = {
                number: _printable(np.ravel(entry["cat_type"][()])[0])
                for number, entry in header["phase_center_catalog"].items()
            }
            if set(types.values()) <= {"unprojected"}:
                return np.zeros(rows)
            centers = self._numbers("Header/phase_center_id_array", "iu")
            lengths = self._dataset("Header/uvw_array", "f")[()].reshape(rows, 3)[:, 2]
            return np.where(
                [types.get(str(center)) == "unprojected" for center in centers], 0.0, lengths
            )

    def phase_center(self):
        """Name, ICRS right ascension and declination (degrees) of the phase centre; None where
        there are several, or none that is fixed on the sky."""
        with self._damage_told():
            header = self._file["Header"]
            if "phase_center_catalog" not in header:
                return None
            entries = list(header["phase_center_catalog"].values())
            text = lambda entry, key: _printable(np.ravel(entry[key][()])[0])
            if (
                len(entries) != 1
                or text(entries[0], "cat_type") != "sidereal"
                or text(entries[0], "cat_frame") not in ("icrs", "fk5")
            ):
                return None
            ra, dec = (
                float(np.degrees(np.ravel(entries[0][key][()])[0]))
                for key in ("cat_lon", "cat_lat")
            )
            return text(entries[0], "cat_name"), ra, dec

    def header(self, names):
        """Returns those entries of the header that are there, by their names, as h5py gives
        them."""
        with self._damage_told():
            return {
                name: self._file[f"Header/{name}"][()]
                for name in names
                if name in self._file["Header"]
            }

    def places(self):
        """Antenna number to east, north and up of the site in metres, of those with a position;
        none where the file does not say where the site is."""
        if self.site is None:
            return {}
        rotation = enu_to_ecef_rotation(*self.site[:2])
        return {number: place @ rotation for number, place in self.positions.items()}

    def integrations(self, chosen=None):
        """
        Each integration (all, or those of the numbers that are given, in the order of the file):
        its number, the numbers of its rows, and what `rows` gives of them. It comes in parts where
        the rows of a file are not in order of time.
        """
        wanted = np.ones(len(self.times), bool)
        if chosen is not None:
            wanted[:] = False
            wanted[chosen] = True
        step = max(1, 8_000_000 // (len(self.frequencies) * len(self.polarizations)))
        for start in range(0, len(self.first), step):
            stop = min(start + step, len(self.first))
            numbers = self.integration_of[start:stop]
            if not wanted[numbers].any():
                continue
            data, weights = self.rows(start, stop)
            for number in np.unique(numbers):
                if wanted[number]:
                    rows = np.flatnonzero(numbers == number)
                    yield int(number), start + rows, data[rows], weights[rows]

    def rows(self, start, stop):
        """Visibilities [row][channel][polarisation], complex, and their weights, 0 where
        flagged. Old files have an axis of length 1 for the spectral window."""
        with self._damage_told():
            return self._rows(start, stop)

    def _rows(self, start, stop):
        shape = (stop - start, len(self.frequencies), len(self.polarizations))
        data = self._data[start:stop].reshape(shape)[:, :: self._direction]
        if data.dtype.fields:  # integers {r, i}, as correlators write them
            data = data["r"] + 1j * data["i"]
        weights = np.where(
            self._file["Data/flags"][start:stop], 0, self._file["Data/nsamples"][start:stop]
        ).reshape(shape)
        weights = weights[:, :: self._direction]
        usable = (weights > 0) & np.isfinite(data)
        return np.where(usable, data, 0), np.where(usable, weights, 0)

    def read(self, products, integrations=None, max_cells=4_000_000, max_times=400):
        """Reads products in one pass through the file, averaging in time to what a picture
        can show.

        integrations: numbers of those to read (default: all). Neighbours are averaged,
        weighted by nsamples, so that there are at most `max_times` of them and `max_cells`
        values in all.
        Returns complex128 [product][time][channel], NaN where all was flagged, and the middle
        [time] of each average as Julian date.
        """
        chosen = np.arange(len(self.times)) if integrations is None else np.asarray(integrations)
        channels = len(self.frequencies)
        limit = max(1, min(max_times, max_cells // max(1, len(products) * channels)))
        bins = min(limit, len(chosen))
        bin_of = np.full(len(self.times), -1)
        bin_of[chosen] = np.arange(len(chosen)) * bins // len(chosen)
        sums = np.zeros((len(products), bins, channels), complex)
        weights = np.zeros(sums.shape)
        wanted = {}
        for index, product in enumerate(products):
            pol = self.polarizations.index(product.polarization)
            wanted.setdefault((product.first, product.second), []).append((index, pol))

        step = max(1, 8_000_000 // (channels * len(self.polarizations)))
        bin_of_row = bin_of[self.integration_of]
        for start in range(0, len(self.first), step):
            stop = min(start + step, len(self.first))
            rows = [
                row
                for row in range(start, stop)
                if bin_of_row[row] >= 0 and (int(self.first[row]), int(self.second[row])) in wanted
            ]
            if not rows:
                continue
            data, weight = self.rows(start, stop)
            for row in rows:
                for index, pol in wanted[int(self.first[row]), int(self.second[row])]:
                    w = weight[row - start, :, pol]
                    sums[index, bin_of_row[row]] += w * data[row - start, :, pol]
                    weights[index, bin_of_row[row]] += w
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(weights > 0, sums / weights, np.nan)
        times = np.array([self.times[bin_of == b].mean() for b in range(bins)])
        return values, times
