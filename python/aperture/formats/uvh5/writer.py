#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes UVH5 files with h5py, an integration after another."""

import errno
from dataclasses import dataclass

import h5py
import numpy as np

from ...arrays import earth_rotation
from ...arrays.earth_rotation import sidereal_time, unix_seconds
from ...arrays.geometry import SPEED_OF_LIGHT, enu_to_ecef_rotation
from ...parameters.ascii_text import ascii_names, ascii_text
from ...parameters.rules import one_of
from ...tracking.phase_center import catalogue_entry, ephemeris, has_ephemeris, place_at
from .header import (
    COMPRESSIONS,
    MEASURED,
    MOUNTS,
    POLARIZATIONS,
    STATISTICS,
    clear_not_numbers,
    create_data,
    load_bitshuffle,
    map_products,
)

NOMINAL_SPACING = 0.002  # m


def _open_to_append(path):
    try:
        return h5py.File(path, "r+")
    except OSError as error:
        # h5py reports another process's lock by this number; that of a reader in this process has
        # none
        raise BlockingIOError(errno.EAGAIN, str(error), path) from error


@dataclass
class Integration:
    """One integration as the file has it; made by `Uvh5Layout.integration`."""

    #: Julian date (UTC) of its middle
    time: float
    #: seconds
    length: float
    #: [baseline][channel][polarisation]
    visibilities: np.ndarray
    #: [baseline][polarisation], or [baseline][channel][polarisation], 0 to 1
    fractions: np.ndarray
    #: tracking.phase_center.Place of the phase centre; None: unprojected
    place: object = None


def nominal_places(places):
    """
    Positions [antenna][east, north, up] in metres of which no two are the same, and how many were.

    pyuvdata refuses a file with a baseline shorter than 1 mm. Antennas at one place, as those of a
    recording whose header does not say where they stand, are therefore written NOMINAL_SPACING
    apart to the east: too little to matter for any phase, enough to be read.
    """
    found = np.array(places, float)
    for number in range(1, len(found)):
        place = found[number]
        while (np.linalg.norm(found[:number] - place, axis=1) < 0.99 * NOMINAL_SPACING).any():
            place[0] += NOMINAL_SPACING
    return found, int(np.sum(found[:, 0] != np.asarray(places, float)[:, 0]))


class Uvh5Layout:
    """
    The layout of a file: what is the same for all its integrations, and how it is written with
    h5py.

    Parameters
    ----------
    array : ArrayDescription
    frequencies : array of float
        Centre of each channel in Hz.
    channel_width : float
        Hz
    history : str
        For the file's `history`.
    mount : str
        Mount of the antennas, one of `MOUNTS`.
    phase_center : Direction
        The direction in which the phases are to be zero; None: they are left as they are.
    tracked : Direction
        The direction that the F-engine's delays tracked, so that the phases are zero there; None:
        nothing.
    keywords : dict
        Extra keywords, names of up to 8 letters to texts.
    compression : str
        Compression of the visibilities, one of `COMPRESSIONS`.
    statistics : bool
        True if `append` is given InputStatistics, too, which go into a group of their own beside
        Header and Data.
    unit : str
        Unit of the visibilities, as the format has it: uncalib, Jy or K str.
    """

    def __init__(
        self,
        array,
        frequencies,
        channel_width,
        history="",
        mount="fixed",
        phase_center=None,
        tracked=None,
        keywords=None,
        compression="none",
        statistics=False,
        unit="uncalib",
    ):
        one_of("mount", mount, MOUNTS)
        if compression not in COMPRESSIONS:
            raise ValueError(
                f"compression: {compression!r} is not allowed: {', '.join(COMPRESSIONS)}"
            )
        if compression == "bitshuffle":
            load_bitshuffle()
        self._compression = COMPRESSIONS[compression]
        self.array = array
        self.map = map_products(array)
        self.frequencies = np.asarray(frequencies, float)
        self.channel_width = float(channel_width)
        self.history = history
        self.mount = mount
        self.phase_center = tracked if phase_center is None else phase_center
        self._tracked = tracked
        self.keywords = dict(keywords or {})
        self._statistics, self._unit = statistics, unit
        self._enu, self.moved = nominal_places(
            np.array([antenna.position for antenna in self.map.antennas], float)
        )

    @property
    def baselines(self):
        """Baselines of an integration, autocorrelations included."""
        return len(self.map.ant_1)

    def integration(self, visibilities, time, spectra, counted, spectrum_length):
        """
        Returns an integration as the file has it.

        Parameters
        ----------
        visibilities : array of complex64
            [channel][product] of the X-engine
        time : float
            Julian date (UTC) of the middle of the integration
        spectra : int
            that it spans
        counted : array of int
            spectra that were summed, of each product or one number for all, or
            [channel][product]; what is no number counts as missing
        spectrum_length : float
            seconds from one spectrum to the next
        """
        found = self.map.gather(visibilities)
        fractions = self.map.fractions(counted, spectra)
        # a sum finds out with one look at each; finite ones may overflow, and look wrong then
        if not np.isfinite(found.sum()):
            if fractions.ndim == 2:
                fractions = np.repeat(fractions[:, np.newaxis, :], found.shape[1], axis=1)
            clear_not_numbers(found, fractions)
        place = None
        if self.phase_center is not None:
            place = place_at(self.phase_center, float(unix_seconds(time)), self.array)
            found = self._rephased(found, place, time)
        return Integration(time, spectra * spectrum_length, found, fractions, place)

    def _rephased(self, visibilities, place, time):
        """Visibilities [baseline][channel][polarisation] as they are at the phase centre."""
        before = np.zeros(3)
        if self._tracked is not None:
            if self._tracked.same_as(self.phase_center):
                return visibilities
            before = place_at(self._tracked, float(unix_seconds(time)), self.array).to_uvw[2]
        w = self._baselines() @ (place.to_uvw[2] - before)
        cycles = np.multiply.outer(w, self.frequencies / SPEED_OF_LIGHT)
        return (visibilities * np.exp(-2j * np.pi * cycles)[..., np.newaxis]).astype(np.complex64)

    def _baselines(self):
        """(east, north, up) [baseline][3] from ant_1 to ant_2, in metres."""
        return self._enu[self.map.ant_2] - self._enu[self.map.ant_1]

    def integration_bytes(self):
        """Bytes of one integration in a file, at most, without the format's own tables."""
        values = self.baselines * len(self.frequencies) * len(self.map.polarizations)
        # visibilities, flags and nsamples (compressed; if that fails, a little more than as they
        # are), the header's rows, and the format's own tables
        return values * (8 + 1 + 4) * 1.01 + self.baselines * 128 + 4096

    def bytes(self, pieces):
        """A file grows by at most this many bytes when these pieces are added."""
        integrations = [piece for piece in pieces if isinstance(piece, Integration)]
        rows = (len(pieces) - len(integrations)) * len(self.array.inputs) * 4 * len(MEASURED)
        return int(len(integrations) * self.integration_bytes()) + rows + (1 << 18)

    def create(self):
        """The bytes of a file without integrations; `append` adds them."""
        # made in memory: HDF5 is in an undefined state after a write that failed
        with h5py.File("uvh5", "w", driver="core", backing_store=False) as file:
            self._write_header(file.create_group("Header"))
            data = file.create_group("Data")
            shape = (self.baselines, len(self.frequencies), len(self.map.polarizations))
            create_data(data, shape, **self._compression)
            if self._statistics:
                self._write_statistics(file.create_group(STATISTICS))
            file.flush()
            return file.id.get_file_image()

    def append(self, path, pieces, claim=None):
        """
        Adds integrations, and InputStatistics, at the end of a file that `create` made.
        claim(descriptor of the open file) is called before anything is written, and may raise.

        Raises
        ------
        BlockingIOError
            The file is open elsewhere, or is no HDF5 file; nothing was written.
        """
        with _open_to_append(path) as file:
            if claim is not None:
                claim(file.id.get_vfd_handle())
            rows = [piece for piece in pieces if not isinstance(piece, Integration)]
            if rows:
                self._append_statistics(file[STATISTICS], rows)
            integrations = [piece for piece in pieces if isinstance(piece, Integration)]
            if not integrations:
                return
            header, data = file["Header"], file["Data"]
            old = header["time_array"].shape[0]
            new = old + len(integrations) * self.baselines
            for name, values in self._rows(integrations).items():
                header[name].resize(new, axis=0)
                header[name][old:] = values
            if self.phase_center is not None and has_ephemeris(self.phase_center):
                times = [integration.time for integration in integrations]
                entry = header["phase_center_catalog/0"]
                for name, values in ephemeris(self.phase_center, times, self.array).items():
                    entry[name].resize(old // self.baselines + len(times), axis=0)
                    entry[name][old // self.baselines :] = values
            for name in ("visdata", "flags", "nsamples"):
                data[name].resize(new, axis=0)
            channels = len(self.frequencies)
            for i, integration in enumerate(integrations):
                rows = slice(old + i * self.baselines, old + (i + 1) * self.baselines)
                fractions = integration.fractions
                if fractions.ndim == 2:
                    fractions = np.repeat(fractions[:, np.newaxis, :], channels, axis=1)
                data["visdata"][rows] = integration.visibilities
                data["nsamples"][rows] = fractions
                data["flags"][rows] = fractions == 0
            header["Nblts"][()] = new
            header["Ntimes"][()] = new // self.baselines

    def _write_statistics(self, group):
        """An empty group of statistics; a row is a frame that was measured."""
        inputs = len(self.array.inputs)
        rows = max(1, min(256, 2048 // inputs))  # chunks of 8 kB, of which there are seven
        group["inputs"] = np.array([name.encode() for name in ascii_names(self.array.input_names)])
        for name, dtype in (("time_array", float), ("spectra", int)):
            group.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(rows,))
        for name in MEASURED:
            group.create_dataset(
                name, (0, inputs), np.float32, maxshape=(None, inputs), chunks=(rows, inputs)
            )

    @staticmethod
    def _append_statistics(group, rows):
        old = group["time_array"].shape[0]
        for name, values in (
            (
                "time_array",
                [earth_rotation.julian_date(int(row.time), row.time % 1) for row in rows],
            ),
            ("spectra", [row.spectra for row in rows]),
            *((name, [getattr(row, name) for row in rows]) for name in MEASURED),
        ):
            group[name].resize(old + len(rows), axis=0)
            group[name][old:] = values

    def _rows(self, integrations):
        """Returns the header's entries of each row (a baseline at a time)."""
        count = len(integrations)
        times = np.array([integration.time for integration in integrations])
        lengths = np.array([integration.length for integration in integrations])
        sidereal = sidereal_time(times, self.array.longitude)
        each_row = lambda values: np.repeat(values, self.baselines)
        rows = count * self.baselines
        # unprojected: east, north, up, and the zenith
        uvw = [self._baselines()] * count
        places = np.transpose(
            [sidereal, np.full(count, np.deg2rad(self.array.latitude)), np.zeros(count)]
        )
        if self.phase_center is not None:
            uvw = [self._baselines() @ integration.place.to_uvw.T for integration in integrations]
            places = np.array(
                [
                    (
                        integration.place.app_ra,
                        integration.place.app_dec,
                        integration.place.frame_pa,
                    )
                    for integration in integrations
                ]
            )
        app_ra, app_dec, frame_pa = np.reshape(places, (count, 3)).T
        return {
            "time_array": each_row(times),
            "integration_time": each_row(lengths),
            "lst_array": each_row(sidereal),
            "ant_1_array": np.tile(self.map.ant_1, count),
            "ant_2_array": np.tile(self.map.ant_2, count),
            "uvw_array": np.reshape(uvw, (rows, 3)).astype(float),
            "phase_center_id_array": np.zeros(rows, int),
            "phase_center_app_ra": each_row(app_ra),
            "phase_center_app_dec": each_row(app_dec),
            "phase_center_frame_pa": each_row(frame_pa),
        }

    def _write_header(self, header):
        array, antennas, feeds = self.array, self.map.antennas, self.map.feeds
        text = lambda value: np.bytes_(ascii_text(value).encode())
        # x points north and y east; circular feeds have no angle to speak of
        angles = {"x": 0.0, "y": np.pi / 2, "r": 0.0, "l": 0.0}
        values = {
            "version": text("1.2"),
            "telescope_frame": text("itrs"),
            "latitude": float(array.latitude),
            "longitude": float(array.longitude),
            "altitude": float(array.height),
            "telescope_name": text(array.name),
            "instrument": text("gr-aperture"),
            "Nants_telescope": len(antennas),
            "antenna_names": np.array(
                [name.encode() for name in ascii_names([antenna.name for antenna in antennas])]
            ),
            "antenna_numbers": np.arange(len(antennas)),
            "antenna_positions": self._enu
            @ enu_to_ecef_rotation(array.latitude, array.longitude).T,
            "mount_type": np.array([self.mount.encode()] * len(antennas)),
            "Nfeeds": len(feeds),
            "feed_array": np.array([[feed.encode() for feed in feeds]] * len(antennas)),
            "feed_angle": np.array([[angles[feed] for feed in feeds]] * len(antennas)),
            "Nants_data": len(set(self.map.ant_1)),
            "Nbls": self.baselines,
            "Nblts": 0,
            "Ntimes": 0,
            "Nfreqs": len(self.frequencies),
            "Npols": len(self.map.polarizations),
            "Nspws": 1,
            "freq_array": self.frequencies,
            "channel_width": np.full(len(self.frequencies), self.channel_width),
            "polarization_array": np.array(
                [POLARIZATIONS[name] for name in self.map.polarizations]
            ),
            "spw_array": np.array([0]),
            "flex_spw_id_array": np.zeros(len(self.frequencies), int),
            "vis_units": text(self._unit),
            "history": text(self.history),
            "Nphase": 1,
            "blt_order": text("time, baseline"),
            "blts_are_rectangular": True,
            "time_axis_faster_than_bls": False,
        }
        if set(feeds) <= set("xy"):
            # programs that do not know feed_angle read this
            values["x_orientation"] = text("north")
        if self._unit != "uncalib":
            # each hand of an unpolarised source has the flux, which is their mean
            values["pol_convention"] = text("avg")
        for name, value in values.items():
            header[name] = value
        if self.keywords:
            extra = header.create_group("extra_keywords")
            for name, value in self.keywords.items():
                extra[name] = text(value)
        self._write_phase_center(header.create_group("phase_center_catalog/0"))
        # rows are added to these; about 1000 of them in a chunk, whole integrations
        rows = self.baselines * -(-1024 // self.baselines)
        for name, value in self._rows([]).items():
            header.create_dataset(
                name, data=value, maxshape=(None, *value.shape[1:]), chunks=(rows, *value.shape[1:])
            )

    def _write_phase_center(self, group):
        """The entry of the catalogue; append() adds the places of a body that moves."""
        entry = {
            "cat_name": "unprojected",
            "cat_type": "unprojected",
            "cat_lon": 0.0,
            "cat_lat": np.pi / 2,
            "cat_frame": "altaz",
            "info_source": "gr-aperture",
        }
        if self.phase_center is not None:
            entry = catalogue_entry(self.phase_center)
            if has_ephemeris(self.phase_center):
                for name, values in ephemeris(self.phase_center, [], self.array).items():
                    group.create_dataset(name, data=values, maxshape=(None,), chunks=(256,))
        for name, value in entry.items():
            group[name] = np.bytes_(ascii_text(value).encode()) if isinstance(value, str) else value
