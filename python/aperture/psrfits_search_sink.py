#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes the powers of beams into PSRFITS files in search mode."""

import math

import numpy as np

from . import tags
from .arrays import geometry
from .beams.weights import beam_directions, find_polarizations
from .files.file_names import check_text
from .formats.power_lists import cells_of
from .formats.psrfits.primary import primary_header
from .formats.psrfits.search_writer import COLUMNS, POLARIZATIONS, SearchWriter
from .parameters.description import Integer, Switch, Text
from .parameters.rules import one_of, refuse
from .parameters.times import whole_and_fraction
from .pointing import ZENITH
from .power_file_sink import ARRAY, BEAMS, CHANNELS, COUNTS, OVERWRITE, PRODUCT, ROWS, PowerFileSink
from .tracking.directions import icrs
from .transients.dispersion import channel_frequencies

ROW_SECONDS = 1.0  # length of a row, about
LEAST_ROW, MOST_ROW = 64, 1 << 16  # samples of a row, where the user does not say
ROW_BYTES = 1 << 28  # memory for the rows of all beams, where the user does not say
MOST_BYTES = 1 << 32  # memory for them at most


class psrfits_search_sink(PowerFileSink):
    """
    Writes the powers of beams into PSRFITS files in search mode (.sf), which PRESTO, DSPSR and what
    stands on them read. `psrfits_sink` writes folded profiles.

    In: `[beam][product][channel]` of f32 from `power_detector` or `beam_power`, one item an
    integration, with the tags rx_time, rx_freq, rx_rate, bandwidth and spectra. Where an array has
    two polarisations, a beam here is a pair of the beamformer's (of products `power`: each of
    both). With `counts`, a second port takes what these blocks counted, `[beam][channel]` of u32,
    an item for each integration.

    There is a file for each beam: {beam} in the name becomes that of the beam, and must be there
    where there are several. STT_IMJD, STT_SMJD and STT_OFFS are when the first integration begins,
    and OFFS_SUB is the middle of a row after that. POL_TYPE is AA (BB of the second polarisation)
    of `power`, AA+BB of `I`, IQUV and AABBCRCI, with the signs of docs/conventions.md: V is above
    0 of right-hand circular polarisation, CR + i CI is X times the conjugate of Y.

    Powers are numbers of 8 bits, or of 1, 2, 4 or 16, with a scale and an offset of each row,
    product and channel; with 32 they are floats. With 8 and 16 bits a row takes all its powers, to
    1/255 and 1/65500 of their range. With fewer, levels lie around the mean of the row as they are
    best for noise, and stronger powers are clamped.

    Time is exact in spite of losses. An integration for which a beam received nothing (`counted` is
    0), or a channel of which all is flagged, becomes the mean of its channel in the row; DAT_WTS is
    0 where all of a channel in a row are. Integrations that a jump of rx_time by up to ten minutes
    leaves out are likewise, and such that come a second time are left out. A text file beside the
    file, of its name and .missing, lists the samples that were filled: lines of first, count,
    product (-1: all). `filled()` counts them, `flagged()` gives the fraction that was flagged.

    A row is written when it is whole, of all beams, and the header then has one row more: a process
    that is killed leaves a file that lacks the row that was under way, and on a full disk nothing
    that fitted is lost. The last row may have fewer samples: means fill it, and NSTOT is the number
    of samples. A last integration that is partial is left out.

    A flowgraph that is stopped (or locked) and started again begins new files of the same names, or
    with {time} of others. With {time}, new files also begin by time, by size and when it is asked
    for (`set_roll_over()`, `roll_over()`), each time with the row that follows, and at once where
    settings change (where beams look, gains, delays, weights, as the tag `settings` tells them, see
    docs/tags.md); they follow on the last ones without a gap, and each has a start of its own. A
    text file beside the file, of its name and .settings, lists the settings that hold, each with
    its time, once one has changed.

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
            "The files to be written, such as `{beam}-{time}.sf`. {time} becomes the rx_time of "
            "the first integration in UTC, to the second."
        ) = "beams-{time}.sf",
        array: ARRAY = "two-dish",
        beams: BEAMS = ZENITH,
        channels: CHANNELS = 1024,
        products: PRODUCT = "power",
        nbits: Integer("Bits of a power: 1, 2, 4, 8, 16 or 32 (float).") = 8,
        row_samples: Integer(
            "Samples of a row; 0: a power of two that takes about a second, 64 to 65536, and less "
            "where rows of all beams would take more than 256 MiB of memory.",
            0,
            1 << 24,
        ) = 0,
        descending: Switch(
            "True if the highest channel comes first, and CHAN_BW is below 0."
        ) = False,
        source: Text("The name of what is looked at; empty: that of the beam.") = "",
        overwrite: OVERWRITE = True,
        rows: ROWS = None,
        counts: COUNTS = False,
    ):
        check_text("source", source)
        one_of("nbits", nbits, tuple(COLUMNS))
        self._nbits, self._wanted = int(nbits), int(row_samples)
        self._descending, self._source = bool(descending), source
        super().__init__(
            "psrfits_search_sink",
            filename,
            array,
            beams,
            channels,
            products,
            overwrite,
            rows,
            counts,
        )
        beams, products, channels = self._shape
        if beams > 1 and "{beam}" not in self._filename:
            refuse(
                "filename",
                filename,
                f"a name with {{beam}} in it: there is a file for each of {beams} beams",
            )
        if products * channels * self._nbits % 8:
            refuse(
                "nbits",
                nbits,
                f"so many that {products} products of {channels} channels are whole bytes",
            )
        if self._wanted * math.prod(self._shape) * 4 > MOST_BYTES:
            refuse(
                "row_samples",
                row_samples,
                f"at most {MOST_BYTES // math.prod(self._shape) // 4}: rows of {beams} beams x "
                f"{products} products x {channels} channels may take {MOST_BYTES} bytes of memory",
            )

    # ---- inside

    def _start(self):
        super()._start()
        self._writers, self._row = [], None
        self._in_row = 0  # samples in the row that is under way
        self._failed = False  # true once a row could not be written

    def _row_samples(self):
        """Samples of a row."""
        if self._wanted:
            return self._wanted
        wanted = max(LEAST_ROW, min(MOST_ROW, ROW_SECONDS * self._setting[tags.rx_rate]))
        fits = max(1, ROW_BYTES // 4 // math.prod(self._shape))
        return 1 << int(math.log2(min(wanted, fits)))

    def _size_of_sample(self):
        products, channels = self._shape[1:]
        each = SearchWriter.bytes_beside(products, channels) / self._row_samples()
        return products * channels * self._nbits / 8 + each

    def _together(self):
        return self._row_samples()

    def _under_way(self):
        return self._in_row

    def _add_piece(self, powers, lost):
        first = 0
        while first < len(powers):
            part = powers[first:][: self._room_in_row()]
            to = self._hold(len(part))
            np.copyto(to, part.swapaxes(0, 1))
            missing = None if lost is None else lost[first : first + len(part)]
            if missing is not None:
                np.copyto(to, np.nan, where=cells_of(missing).swapaxes(0, 1))
            self._count(len(part), missing)
            self._write_whole_row()
            first += len(part)

    def _write_gap(self, count):
        while count:
            samples = min(count, self._room_in_row())
            self._hold(samples).fill(np.nan)
            yield samples
            self._write_whole_row()
            count -= samples

    def _room_in_row(self):
        """Samples for which the row that is under way has room; makes the files of the first."""
        if not self._files:
            self._create()
        return self._row.shape[1] - self._in_row

    def _hold(self, samples):
        """Room for so many samples, which are held from now on: [beam][sample][product][channel]"""
        self._in_row += samples
        return self._row[:, self._in_row - samples : self._in_row]

    def _write_whole_row(self):
        if self._in_row == self._row.shape[1]:
            self._write_row()

    def _write_row(self):
        """Adds the row that is under way to the files; the samples that it lacks are missing."""
        row, samples = self._row, self._in_row
        row[:, samples:] = np.nan
        columns = self._directions(self._middle())
        try:
            for number, writer in enumerate(self._writers):
                beam = number * len(self._beams) // len(self._names)
                here = {name: values[beam] for name, values in columns.items()}
                writer.add(row[number], samples, here)
        except OSError:
            self._failed = True
            raise
        self._in_row = 0

    def _directions(self, time):
        """Columns of a row whose middle is at a time, of each beam: name -> [beam]."""
        array, count = self._array, len(self._beams)
        azimuth, elevation = geometry.azimuth_elevation(beam_directions(array, self._beams, time))
        sidereal = float(geometry.local_sidereal_time(time, array.longitude))
        ra, dec = geometry.azel_to_radec(
            azimuth, elevation, time, array.latitude, array.longitude, array.height
        )
        longitude, latitude = geometry.galactic(ra, dec)
        return {
            "LST_SUB": np.full(count, sidereal * 240),
            "RA_SUB": ra,
            "DEC_SUB": dec,
            "GLON_SUB": longitude,
            "GLAT_SUB": latitude,
            "PAR_ANG": geometry.parallactic_angle(azimuth, elevation, array.latitude),
            "TEL_AZ": azimuth,
            "TEL_ZEN": 90 - elevation,
        }

    def _middle(self):
        """UTC since 1970, s, of the middle of the row that is under way."""
        first = self._written - self._in_row + self._row.shape[1] / 2
        return float(self._start_of_file()) + first / self._setting[tags.rx_rate]

    def _finish(self):
        self._write_rest()
        for file in self._files:
            file.check()

    def _write_rest(self):
        if self._in_row and not self._failed:
            self._write_row()

    def _create(self):
        self._name_files()
        self._writers = []
        shape = (self._shape[0], self._row_samples(), *self._shape[1:])
        if self._row is None or self._row.shape != shape:
            self._row = np.empty(shape, np.float32)
        start, setting = whole_and_fraction(self._start_of_file()), self._setting
        frequencies = channel_frequencies(
            self._shape[2], setting[tags.rx_freq], setting[tags.bandwidth]
        )
        primaries = [
            self._primary(number, start, frequencies) for number in range(len(self._paths))
        ]
        # all before any is cut: one may be written by somebody else
        for path in self._paths:
            self._files.append(self._open(path))
        for number, (file, primary) in enumerate(zip(self._files, primaries)):
            self._writers.append(
                SearchWriter(
                    file,
                    primary,
                    bits=self._nbits,
                    row_samples=shape[1],
                    interval=1 / setting[tags.rx_rate],
                    products=self._polarizations(number),
                    frequencies=frequencies,
                    width=setting[tags.bandwidth] / self._shape[2],
                    descending=self._descending,
                )
            )
        self._list_what_is_missing()

    def _polarizations(self, number):
        """POL_TYPE of a file."""
        if self._products == "power" and number % (len(self._names) // len(self._beams)):
            return "BB"
        return POLARIZATIONS[self._products]

    def _primary(self, number, start, frequencies):
        beam = self._beam_of(number)
        ra, dec = icrs(beam, sum(start), self._array)[:2]
        width = self._setting[tags.bandwidth] / self._shape[2] / 1e6
        return primary_header(
            "SEARCH",
            channels=frequencies,
            width=-width if self._descending else width,
            beam=self._names[number],
            source=self._source or self._names[number],
            seconds=0.0,
            site=self._array,
            start=start,
            direction=(float(ra), float(dec)),
            letters=find_polarizations(self._array),
            tracks=beam.moving,
        )
