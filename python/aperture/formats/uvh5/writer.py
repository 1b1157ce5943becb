#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The layout of UVH5 files, an integration after another."""

from dataclasses import dataclass

import numpy as np

from ...arrays import earth_rotation
from ...arrays.array_model import MOUNTS
from ...arrays.earth_rotation import sidereal_time, unix_seconds
from ...arrays.geometry import SPEED_OF_LIGHT, enu_to_ecef_rotation
from ...parameters.ascii_text import ascii_names, ascii_text
from ...parameters.rules import one_of, refuse
from ...parameters.times import SECONDS_PER_DAY
from ...tracking.phase_center import catalogue_entry, ephemeris, has_ephemeris, place_at
from .contents import Uvh5Contents
from .header import (
    COMPRESSIONS,
    MEASURED,
    POLARIZATIONS,
    STATISTICS,
    create_data,
    load_bitshuffle,
    map_products,
)

NOMINAL_SPACING = 0.002  # m
CATALOGUE = "Header/phase_center_catalog/0"


@dataclass
class Integration:
    """One integration, made by `Uvh5Layout.integration`."""

    #: Julian dates (UTC) of the middles of its parts, of which it has one unless some averages are
    #: shorter than others, [part]
    times: np.ndarray
    #: seconds, [part]
    lengths: np.ndarray
    #: [channel][product] of the X-engine, complex64
    visibilities: np.ndarray
    #: spectra from the beginning to the end of a part, [part]
    spectra: np.ndarray
    #: spectra that were summed, of each product or one number for all, or [channel][product]
    counted: np.ndarray
    #: [channel][product], by which the visibilities are multiplied; None: 1
    factors: np.ndarray = None
    #: [part]: tracking.phase_center.Place of the phase centre; None: unprojected
    places: list = None
    #: seconds by which each baseline is rotated to the phase centre, [baseline]; None: it is not
    delays: np.ndarray = None


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


def _even_step(frequencies, width):
    """Returns the distance of channels, which is to be the same from all to the next."""
    if len(frequencies) == 1:
        return float(width)
    step = (frequencies[-1] - frequencies[0]) / (len(frequencies) - 1)
    even = frequencies[0] + step * np.arange(len(frequencies))
    if not np.allclose(even, frequencies, rtol=0, atol=1e-3 * abs(step)):
        refuse("frequencies", frequencies, "evenly spaced")
    return step


class Uvh5Layout:
    """
    The layout of a file: what is the same for all its integrations.

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
        Mount of those antennas whose description says none, one of `MOUNTS`.
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
        True if InputStatistics are written, too, which go into a group of their own beside
        Header and Data.
    products : list
        Those that come, as check_products() returns them; None: all, in the X-engine's order.
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
        products=None,
    ):
        one_of("mount", mount, MOUNTS)
        if compression not in COMPRESSIONS:
            raise ValueError(
                f"compression: {compression!r} is not allowed: {', '.join(COMPRESSIONS)}"
            )
        if compression == "bitshuffle":
            load_bitshuffle()
        #: arguments of h5py
        self.compression = COMPRESSIONS[compression]
        self.array = array
        self.map = map_products(array, products)
        self.order = self.map.order()
        self.frequencies = np.asarray(frequencies, float)
        #: from one channel to the next
        self.frequency_step = _even_step(self.frequencies, channel_width)
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
        """Baselines of an integration, autocorrelations included; those with averages that are
        shorter than others as often as they come."""
        return len(self.map.ant_1)

    @property
    def times(self):
        """Different times of an integration: 1, or as many as it has parts."""
        return len(self.map.parts)

    @property
    def shape(self):
        """[baseline][channel][polarisation] of an integration."""
        return self.baselines, len(self.frequencies), len(self.map.polarizations)

    def begin(self, space):
        """Contents of a file without integrations, for a `GrowingFile`."""
        return Uvh5Contents(self, space)

    def integration(
        self, visibilities, time, spectra, counted, spectrum_length, factors=None, parts=None
    ):
        """
        Returns an integration for a `GrowingFile`. Its arrays are read when it is written.

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
        factors : array of complex64
            what the visibilities are multiplied by, of the same shape; None: 1
        parts : list of float
            of each part, in the order in which products name them, spectra from the beginning of
            the integration to its own, and those that it spans; None: they are equal, without gaps
        """
        times, lengths = self._parts(time, spectra, parts, spectrum_length)
        places = delays = None
        if self.phase_center is not None:
            places = [
                place_at(self.phase_center, float(unix_seconds(each)), self.array) for each in times
            ]
            delays = self._delays(places, times)
        return Integration(
            times,
            lengths * spectrum_length,
            np.ascontiguousarray(visibilities, np.complex64),
            lengths,
            np.ascontiguousarray(counted, np.uint32)
            if np.ndim(counted) == 2
            else np.asarray(counted),
            factors,
            places,
            delays,
        )

    def _parts(self, time, spectra, parts, spectrum_length):
        """The middle of each part, a Julian date, and its spectra; as integration() has them."""
        if self.times == 1:
            return np.array([time]), np.array([spectra])
        if parts is None:
            number, count = np.array(self.map.parts).T
            begin, length = number * spectra / count, spectra / count
        else:
            begin, length = np.reshape(parts, (-1, 2))[self.map.order_of_parts].T
        middles = (begin + length / 2 - spectra / 2) * spectrum_length
        return time + middles / SECONDS_PER_DAY, length

    def _delays(self, places, times):
        """Seconds from what was tracked to the phase centre, [baseline]; None: they are one."""
        towards = np.array([place.to_uvw[2] for place in places])
        if self._tracked is not None:
            if self._tracked.same_as(self.phase_center):
                return None
            towards -= [
                place_at(self._tracked, float(unix_seconds(time)), self.array).to_uvw[2]
                for time in times
            ]
        if len(times) == 1:
            return self._baselines() @ towards[0] / SPEED_OF_LIGHT
        return (self._baselines() * towards[self.map.part]).sum(axis=1) / SPEED_OF_LIGHT

    def _baselines(self):
        """(east, north, up) [baseline][3] from ant_1 to ant_2, in metres."""
        return self._enu[self.map.ant_2] - self._enu[self.map.ant_1]

    def integration_bytes(self):
        """Bytes of one integration in a file, at most, without the format's own tables."""
        # visibilities, flags and nsamples (compressed; if that fails, a little more than as they
        # are), the header's rows, and the format's own tables
        return np.prod(self.shape) * (8 + 1 + 4) * 1.01 + self.baselines * 128 + 4096

    def fill(self, file):
        """Makes groups and datasets of a file without integrations in an h5py.File."""
        self._write_header(file.create_group("Header"))
        create_data(file.create_group("Data"), self.shape, **self.compression)
        if self._statistics:
            self._write_statistics(file.create_group(STATISTICS))

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

    def rows_of_each(self):
        """Returns how many rows an integration has in each dataset of `rows`."""
        return {
            name: self.times if name.startswith(CATALOGUE) else self.baselines
            for name in self.rows([])
        }

    @staticmethod
    def statistics_rows(rows):
        """Returns the datasets' entries, by name, of InputStatistics."""
        times = [earth_rotation.julian_date(int(row.time), row.time % 1) for row in rows]
        found = {"time_array": times, "spectra": [row.spectra for row in rows]}
        found.update((name, [getattr(row, name) for row in rows]) for name in MEASURED)
        return {f"{STATISTICS}/{name}": values for name, values in found.items()}

    def rows(self, integrations):
        """Returns the datasets' entries, by name, beside the data: of each baseline of each
        integration, and of a body that moves, of each of its parts."""
        found = {f"Header/{name}": each for name, each in self._rows(integrations).items()}
        if self.phase_center is not None and has_ephemeris(self.phase_center):
            times = [time for integration in integrations for time in integration.times]
            for name, values in ephemeris(self.phase_center, times, self.array).items():
                found[f"{CATALOGUE}/{name}"] = values
        return found

    def _rows(self, integrations):
        """Returns the header's entries of each row (a baseline at a time)."""
        count = len(integrations)
        shape = count, self.times
        times, lengths = (
            np.reshape([getattr(each, name) for each in integrations], shape).astype(float)
            for name in ("times", "lengths")
        )
        sidereal = sidereal_time(times.ravel(), self.array.longitude).reshape(shape)
        each_row = lambda values: values[:, self.map.part].ravel()
        rows = count * self.baselines
        # unprojected: east, north, up, and the zenith
        uvw = [self._baselines()] * count
        app_ra, app_dec, frame_pa = sidereal, np.deg2rad(self.array.latitude) + 0 * times, 0 * times
        if self.phase_center is not None:
            uvw = [self._projected(integration.places) for integration in integrations]
            app_ra, app_dec, frame_pa = (
                np.reshape(
                    [[getattr(place, name) for place in each.places] for each in integrations],
                    shape,
                ).astype(float)
                for name in ("app_ra", "app_dec", "frame_pa")
            )
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

    def _projected(self, places):
        """(u, v, w) [baseline][3] in metres, with a Place for each part."""
        baselines = self._baselines()
        if len(places) == 1:
            return baselines @ places[0].to_uvw.T
        turned = np.array([place.to_uvw for place in places])[self.map.part]
        return np.einsum("bij,bj->bi", turned, baselines)

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
            "mount_type": np.array(
                [(antenna.mount or self.mount).encode() for antenna in antennas]
            ),
            "Nfeeds": len(feeds),
            "feed_array": np.array([[feed.encode() for feed in feeds]] * len(antennas)),
            "feed_angle": np.array([[angles[feed] for feed in feeds]] * len(antennas)),
            "Nants_data": len({*self.map.ant_1, *self.map.ant_2}),
            "Nbls": len(set(zip(self.map.ant_1, self.map.ant_2))),
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
            "blts_are_rectangular": self.times == 1,
        }
        if self.times == 1:  # averages that end early are not in the order of their middles
            values["blt_order"] = text("time, baseline")
            values["time_axis_faster_than_bls"] = False
        diameters = [antenna.diameter for antenna in antennas]
        if None not in diameters:  # the format has those of all antennas, or of none
            values["antenna_diameters"] = np.array(diameters, float)
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
