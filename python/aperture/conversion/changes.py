#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Changes of visibilities on their way: they are calibrated, phased to a place, averaged.

Each function changes a piece of a file, a pyuvdata.UVData object. The mean of visibilities V with
the weights w (nsamples, the part of an integration that was there, times its length t) is sum(w V)
/ sum(w) over those that are not flagged, its nsamples sum(w) / sum(t). It is flagged where all are.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from ..calibration.calibration import INTERPOLATIONS, SCALES
from ..formats.uvh5.header import GAINS, NOT_APPLIED, POLARIZATIONS, gains_of
from ..parameters.ascii_text import ascii_text
from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_JD, utc_text
from .visibility_files import ConversionError, quiet

LETTERS = {code: name for name, code in POLARIZATIONS.items()}
#: interpolation -> in words
RULES = {"linear": "linear in between", "nearest": "the nearest one"}
STEEP = 120.0  # degrees from one calibration to the next, of which the user is told
MOST_TEXTS = 3


def is_phased(data):
    """Returns whether all phase centres are fixed on the sky."""
    return all(centre["cat_type"] == "sidereal" for centre in data.phase_center_catalog.values())


def phase(data, ra, dec, name):
    """Phases visibilities to a place, ICRS right ascension and declination in degrees: the phase of
    a source there becomes 0, and u, v, w are along its east, north and line of sight."""
    with quiet():
        data.phase(
            lon=np.radians(ra),
            lat=np.radians(dec),
            cat_name=ascii_text(name),
            cat_type="sidereal",
            phase_frame="icrs",
            epoch="J2000",
        )


@dataclass(frozen=True)
class Series:
    """
    Calibrations that were measured one after the other, or one of them.

    calibrations: list of Calibration; name: for the file; scale: model or kelvin; interpolation:
    one of INTERPOLATIONS, what an integration between two of them gets.
    """

    calibrations: list
    name: str = "calibration"
    scale: str = SCALES[0]
    interpolation: str = INTERPOLATIONS[0]

    def check(self):
        """Raises ConversionError where the calibrations contradict each other."""
        if len(self.calibrations) > 1 and not all(each.measured for each in self.calibrations):
            raise ConversionError(
                "--calibration: of several, each has to say when it was measured (measured)"
            )
        if len({each.unit for each in self.calibrations}) > 1:
            raise ConversionError("--calibration: some are in Jy, others are not")

    @property
    def unit(self):
        """The unit of calibrated visibilities, as the format has it."""
        return (self.scale == "model" and self.calibrations[0].unit) or "uncalib"

    def __str__(self):
        first = self.calibrations[0]
        when = f", measured {utc_text(first.measured[0], 3)}Z" if first.measured else ""
        count = len(self.calibrations)
        more = f"; {count} calibrations, {RULES[self.interpolation]}" if count > 1 else ""
        return f"{self.name}: {first.source}{when}{more}"


@dataclass(frozen=True)
class _Correction:
    """
    The correction that a calibration has for an input, referred to the first one's reference.

    delay: s; phase: radians at the frequency that all have in common; sizes, bends: magnitude and
    phase of the bandpass, [channel]; found: whether there was a signal.
    """

    delay: float
    phase: float
    sizes: np.ndarray
    bends: np.ndarray
    found: bool

    def towards(self, other, part):
        """The correction that is a part, 0 to 1, of the way to another one: delays and magnitudes
        are linear, and so are phases, from one to the next by the shorter way around; at other
        frequencies than the common one they go where the delays lead them."""
        near = lambda one, two: one + part * np.angle(np.exp(1j * (two - one)))
        line = lambda one, two: one + part * (two - one)
        return _Correction(
            line(self.delay, other.delay),
            near(self.phase, other.phase),
            line(self.sizes, other.sizes),
            near(self.bends, other.bends),
            self.found and other.found,
        )

    def factors(self, away):
        """Complex [channel]; away: Hz from the common frequency."""
        return self.sizes * np.exp(1j * (self.phase + self.bends - 2 * np.pi * away * self.delay))


class Corrections:
    """
    The factors that calibrations have for a file's visibilities.

    An integration has the calibration that was measured at its time. Between the middles of two
    of them it has what lies between (see `_Correction`) or the nearer one, as the series says, and
    before the first and after the last one these as they are. An input that one of both did not
    find has none.

    Parameters
    ----------
    series : Series
    meta : UVData
        The file that is corrected.

    Raises
    ------
    ConversionError
        The calibrations contradict each other, or the file says its gains wrongly.
    """

    def __init__(self, series, meta):
        series.check()
        self._series = series
        of_time = lambda each: sum(each.measured or (0.0, 0.0)) / 2
        self._calibrations = sorted(series.calibrations, key=of_time)
        self._middles = np.array([of_time(each) for each in self._calibrations])
        self._common = self._calibrations[0].reference_frequency
        keywords = {key.upper(): str(value) for key, value in meta.extra_keywords.items()}
        try:
            self._levels = gains_of(keywords.get(GAINS, ""))
        except ValueError as error:
            raise ConversionError(str(error)) from None
        state = keywords.get("CALSTATE", NOT_APPLIED)
        self._before = "" if state == NOT_APPLIED else state
        self._names = dict(
            zip(meta.telescope.antenna_numbers.tolist(), map(str, meta.telescope.antenna_names))
        )
        self._found = {}

    def _at(self, seconds):
        """The calibrations before and behind a time, numbers, and which part of the way it is."""
        last = len(self._middles) - 1
        behind = int(np.searchsorted(self._middles, seconds, side="right"))
        one, two = max(behind - 1, 0), min(behind, last)
        if one == two:
            return one, two, 0.0
        part = (seconds - self._middles[one]) / (self._middles[two] - self._middles[one])
        if self._series.interpolation == "nearest":
            one = two = two if part > 0.5 else one
            part = 0.0
        return one, two, float(part)

    def _reference(self, letter):
        """The input of a polarisation to which the first calibration refers; None: it has none."""
        names = self._calibrations[0].references
        return next((name for name in names if name[-1] == letter), None)

    def _of_input(self, number, name, frequencies):
        """The _Correction that a calibration has for an input."""
        key = number, name
        if key in self._found:
            return self._found[key]
        calibration, reference = self._calibrations[number], self._reference(name[-1])
        # CalibrationError names the input, or the channels
        (values,) = calibration.bandpasses(frequencies, [name], self._series.scale)
        delay, phase = self._line(calibration, name)
        bends = np.angle(values)
        if number and reference is not None and reference not in calibration.references:
            # two references would make a phase of their own, which is none of the inputs'
            if not calibration.of(reference).found:
                raise ConversionError(
                    f"--calibration: that of {utc_text(self._middles[number], 3)}Z has no signal "
                    f"in {reference}, to which the first one refers: measure all of them with "
                    "one --reference"
                )
            of_reference = self._line(calibration, reference)
            delay, phase = delay - of_reference[0], phase - of_reference[1]
            bends = bends - np.angle(calibration.bandpasses(frequencies, [reference])[0])
        self._found[key] = _Correction(
            delay, phase, np.abs(values), bends, calibration.of(name).found
        )
        return self._found[key]

    def _line(self, calibration, name):
        """Delay and phase, at the common frequency, that a calibration has for an input."""
        return float(calibration.delays([name])[0]), float(
            calibration.phases(self._common, [name])[0]
        )

    def apply(self, data):
        """Corrects visibilities; flags those of inputs that the calibration did not find."""
        frequencies = data.freq_array
        away = frequencies - self._common
        times, place = np.unique(data.time_array, return_inverse=True)
        moments = [self._at((time - UNIX_EPOCH_JD) * SECONDS_PER_DAY) for time in times]
        # integrations with the same factors are corrected together
        unique, which = np.unique(np.array(moments), axis=0, return_inverse=True)
        number_of = np.ravel(which)[np.ravel(place)]
        keys = np.stack([number_of, data.ant_1_array, data.ant_2_array])
        unique_keys, of_row = np.unique(keys, axis=1, return_inverse=True)
        order = np.argsort(np.ravel(of_row), kind="stable")
        ends = np.cumsum(np.bincount(np.ravel(of_row)))
        made, current, moment = {}, None, None

        def of_input(antenna, letter):
            """The factors of an input at the moment, and whether it was found at all."""
            name = self._names[antenna] + letter
            if name not in made:
                one, two, part = moment
                found = self._of_input(int(one), name, frequencies)
                if part:
                    found = found.towards(self._of_input(int(two), name, frequencies), part)
                made[name] = found.factors(away) / self._levels.get(name, 1.0), found.found
            return made[name]

        for (number, first, second), rows in zip(unique_keys.T.tolist(), np.split(order, ends)):
            if number != current:
                current, moment = number, unique[number]
                made.clear()
            for column, code in enumerate(data.polarization_array.tolist()):
                p, q = LETTERS.get(code, "??")
                # the file's product is conj(x_p) of ant_1 times x_q of ant_2
                one, is_one = of_input(first, p)
                two, is_two = of_input(second, q)
                data.data_array[rows, :, column] *= one.conj() * two
                if not (is_one and is_two):
                    data.flag_array[rows, :, column] = True
        self._describe(data)

    def _describe(self, data):
        """Lets the data say that they are calibrated, and their unit."""
        for key in [key for key in data.extra_keywords if key.upper() in (GAINS, "VISUNITS")]:
            del data.extra_keywords[key]
        data.extra_keywords.update(
            CALIB=ascii_text(str(self._series)), CALSTATE="applied to the visibilities"
        )
        if self._series.scale == "kelvin":
            # for what the format does not know
            data.extra_keywords["VISUNITS"] = "K"
        data.vis_units = self._series.unit
        # each hand of an unpolarised source has the flux, which is their mean
        data.pol_convention = "avg" if data.vis_units == "Jy" else None

    def warnings(self, start, stop):
        """Texts for the user who corrects what is from `start` to `stop`, seconds since 1970."""
        texts = [f"a calibration was {self._before}: this one comes on top"] * bool(self._before)
        several = len(self._series.calibrations) > 1
        for each in self._series.calibrations:
            texts += each.warnings(*(each.measured if several else (start, stop)))
        if self._series.interpolation == "linear":
            texts += self._steep()
        return list(dict.fromkeys(texts))

    def _steep(self):
        """Texts on phases of which it is hardly known which way around they went."""
        texts = []
        for number, (one, two) in enumerate(itertools.pairwise(self._calibrations)):
            if one.references != two.references:
                continue
            names = [name for name in one.names if name in two.names]
            steps = two.phases(self._common, names) - one.phases(self._common, names)
            steps = np.abs(np.angle(np.exp(1j * steps), deg=True))
            if len(names) and steps.max() > STEEP:
                first, last = (utc_text(self._middles[number + place], 3) + "Z" for place in (0, 1))
                texts.append(
                    f"the phase of {names[int(np.argmax(steps))]} changes by {steps.max():.0f}° "
                    f"from {first} to {last}, and perhaps the other way around: measure "
                    "calibrations more often"
                )
        return texts[:MOST_TEXTS]


def _means(data, rows, starts, axis, lengths):
    """
    Means along an axis of visibilities, flags and samples, [row][channel][polarisation].

    pyuvdata 3.2.8 has such a function, which fails where all samples of a mean are 0, as those of
    an input that was missing are.

    Parameters
    ----------
    data : UVData
    rows : array of int, or slice
        Its rows, in the order in which they are taken.
    starts : array of int
        The place on the axis where each mean begins; it ends where the next one begins.
    axis : int
    lengths : array of float
        Of what each place on the axis stands for; 1, or seconds.
    """
    lengths = np.reshape(lengths, np.where(np.arange(3) == axis, -1, 1))
    counts = np.diff(np.append(starts, lengths.size))
    sum_of = lambda values: np.add.reduceat(values, starts, axis=axis)
    each = lambda values: np.repeat(values, counts, axis=axis)
    flags, samples = data.flag_array[rows], data.nsample_array[rows].astype(float) * lengths
    flagged = np.logical_and.reduceat(flags, starts, axis=axis)
    # the mean of visibilities that are all flagged is kept below the flag
    samples[flags & ~each(flagged)] = 0
    weight = sum_of(samples)
    weights = np.where(each(weight == 0), lengths, samples)
    means = sum_of(data.data_array[rows] * weights) / sum_of(weights)
    return (
        means.astype(data.data_array.dtype),
        flagged,
        (weight / sum_of(lengths)).astype(data.nsample_array.dtype),
    )


def average_channels(data, count):
    """Averages neighbouring channels, of which there is a multiple of `count`."""
    if count == 1:
        return
    starts = np.arange(0, data.Nfreqs, count)
    windows = data.flex_spw_id_array
    if (windows != np.repeat(windows[starts], count)).any():
        raise ConversionError(
            f"--average-channels {count}: some are in two spectral windows: select those of one "
            "(--select-channels)"
        )
    data.data_array, data.flag_array, data.nsample_array = _means(
        data, slice(None), starts, 1, np.ones(data.Nfreqs)
    )
    data.freq_array = np.add.reduceat(data.freq_array, starts) / count
    data.channel_width = np.add.reduceat(data.channel_width, starts)
    data.flex_spw_id_array = windows[starts]
    data.Nfreqs = len(starts)


def average_times(data, group_of_time):
    """
    Averages integrations.

    Parameters
    ----------
    data : UVData
    group_of_time : dict
        Julian date of each integration -> number of the average that it goes into.

    Returns
    -------
    UVData
        A row for each baseline of a group, in the order of the first ones in the data. Its u, v, w
        are those of the middle of what was averaged.
    """
    times, place = np.unique(data.time_array, return_inverse=True)
    groups = np.array([group_of_time[time] for time in times])[place]
    order = np.lexsort((data.ant_2_array, data.ant_1_array, groups))
    keys = np.stack([groups, data.ant_1_array, data.ant_2_array])[:, order]
    starts = np.flatnonzero(np.append(True, np.any(keys[:, 1:] != keys[:, :-1], axis=0)))
    sum_of = lambda values: np.add.reduceat(values, starts)
    lengths = data.integration_time[order]
    total = sum_of(lengths)
    # sums of Julian dates would lose microseconds
    middle = sum_of((data.time_array[order] - times[0]) * lengths) / total + times[0]
    means, flagged, samples = _means(data, order, starts, 0, lengths)
    first = order[starts]  # the rows that become the averages
    ascending = np.argsort(first)
    with quiet():
        result = data.select(blt_inds=first[ascending], inplace=False)
        result.data_array, result.flag_array = means[ascending], flagged[ascending]
        result.nsample_array = samples[ascending]
        result.time_array, result.integration_time = middle[ascending], total[ascending]
        result.Ntimes = len(np.unique(result.time_array))
        result.set_rectangularity(force=True)
        result.set_lsts_from_time_array()
        result._set_app_coords_helper()  # pylint: disable=protected-access
        bare = result.copy(metadata_only=True)
        bare.set_uvws_from_antenna_positions()
        result.uvw_array = bare.uvw_array
    return result
