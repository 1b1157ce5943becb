#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The contents of a display of the sky: images of the last seconds, and words on them."""

import threading
from collections import deque
from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from ..imaging.direct_image import Peak, longest_for, make_direct_image
from ..imaging.dirty_image import WHOLE_SKY, DirtyImage, Field, horizontal, towards
from ..imaging.live_visibilities import VisibilityMatrices, add_up
from ..imaging.names import names_near, nearest_name
from ..imaging.visibilities import ImagingError
from ..imaging.weighting import RULE, parse_weighting
from ..parameters.rules import as_number, as_whole, refuse
from ..parameters.times import utc_text
from ..tracking.angle_text import angle_text, hours_text
from ..tracking.directions import distances, parse_direction, unit_vectors
from ..tracking.phase_center import place_at

#: centre of an image of all that is above the horizon
WHOLE = "sky"
ZENITH = parse_direction("zenith")
#: pixels along each side of an image whose number is left to us
FEWEST, MOST = 128, 512
#: multiplications and additions of an image at most, where the number of pixels is left to us:
#: about a fifth of a second of one core with the slowest BLAS
MOST_WORK = 2e9
#: pixels for the narrowest fringe of a field whose width is left to us
FIELD_PIXELS = 4
#: direction cosines across a field from which only bright sources are named
WIDE = 0.35
#: contrast from which a maximum is called a source
LEAST_CONTRAST = 6
#: parts in which the last seconds are kept, so that the oldest can be left out one by one
PARTS = 32
POLARIZATIONS = {1: "one polarization", 2: "mean of both polarizations"}


def even(number):
    """The even number at or above a number."""
    return 2 * int(np.ceil(number / 2))


@dataclass(frozen=True)
class SkyPicture:
    """
    One image of the sky and what is to be said of it.

    image: DirtyImage; whole: whether it is of the whole sky; to_uvw: matrix [3][3] from (east,
    north, up) to (l, m, n) of the image; peak: Peak; azimuth, elevation, ra, dec: of the peak, in
    degrees; sources: (name, l, m) of those that are marked; time: UTC seconds since 1970, the
    middle of what is in it; seconds: how much; brightest: a sentence; lines: (name, text) pairs.
    """

    image: DirtyImage
    whole: bool
    to_uvw: np.ndarray
    peak: Peak
    azimuth: float
    elevation: float
    ra: float
    dec: float
    nearest: tuple | None
    sources: list
    time: float
    seconds: float
    frequency: float
    bandwidth: float
    brightest: str
    lines: list


class SkyView:
    """
    Makes SkyPictures of integrations.

    Parameters
    ----------
    array : ArrayDescription
        Its inputs are the X-engine's.
    channels : int
        Channels of an integration.
    centre : Direction, str
        "sky": all that is above the horizon, or what parse_direction() takes.
    width : float
        Width of a field, in degrees; 0: 64 beams.
    pixels : int
        Along each side; 0: enough for the longest baseline, as far as the time allows.
    weight : str
        A weighting that parse_weighting() takes.
    averaging : float
        Seconds of visibilities in an image.
    tracked : Direction or str
        The direction that the F-engine's delays track; None: nothing.
    satellites : list of Direction
        They are marked as the named sources are, where they are at the time of an image.

    Raises ValueError that names the parameter.
    """

    def __init__(
        self,
        array,
        channels,
        centre=WHOLE,
        width=0.0,
        pixels=0,
        weight="briggs",
        averaging=2.0,
        tracked=None,
        satellites=(),
    ):
        self._array = array
        try:
            self._matrices = VisibilityMatrices(array, channels)
        except ImagingError as error:
            raise ValueError(f"array: {error}") from None
        self._satellites = list(satellites)
        self._lock = threading.RLock()
        self._kept = deque()  # (time, seconds, BinnedVisibilities)
        self._key = None  # the properties in which integrations have to agree
        self._pixels = even(as_whole("pixels", pixels, 16, 2048) if pixels else 0)
        self._tracked = parse_direction(tracked, "tracked") if tracked else None
        self.set_centre(centre, width)
        self.set_weight(weight)
        self.set_averaging(averaging)
        self._check_size()

    def _check_size(self):
        """Refuses a picture of the whole sky in which no baseline could be used."""
        with self._lock:
            frequency = max(self._array.center_frequency, 1.0)
            if self._centre is not None:
                return
            pixels = self._pixels or MOST
            shortest = self._matrices.lengths().min()
            most = longest_for(WHOLE_SKY / pixels, frequency)
            if shortest > most:
                refuse(
                    "centre",
                    WHOLE,
                    f"a direction such as 'zenith' or 'Cas A', around which a "
                    f"field is shown: of array {self._array.name!r} the shortest baseline, "
                    f"{shortest:.3g} m, is too long for a picture of the whole sky with "
                    f"{pixels} pixels at {frequency / 1e6:.6g} MHz ({most:.3g} m)",
                )

    def set_centre(self, centre, width=None):
        """Shows another part of the sky from the next image on."""
        whole = isinstance(centre, str) and centre.strip().lower() == WHOLE
        found = None if whole else parse_direction(centre, "centre")
        with self._lock:
            before = getattr(self, "_centre", None)
            self._centre = found
            try:
                self._check_size()
                if width is not None:
                    self.set_width(width)
            except ValueError:
                self._centre = before
                raise

    def set_width(self, width):
        """Sets the width of a field, in degrees; 0: 64 beams."""
        with self._lock:
            self._width = as_number("width", width, 0, 110, "degrees, 0 being 64 beams")

    def set_weight(self, weight):
        """Sets natural, uniform, briggs, briggs=R."""
        try:
            found = parse_weighting(weight)
        except (ValueError, AttributeError):
            refuse("weight", weight, RULE)
        with self._lock:
            self._weight = found

    def set_averaging(self, averaging):
        """Sets seconds of visibilities in an image."""
        with self._lock:
            self._averaging = as_number("averaging", averaging, 0, 3600, "seconds")

    def set_tracked(self, tracked):
        """Sets what the F-engine's delays track from the next integration on; None: nothing."""
        found = parse_direction(tracked, "tracked") if tracked else None
        with self._lock:
            if found != self._tracked:
                self._tracked = found
                self._kept.clear()

    def forget(self):
        """Leaves out of the next image all that came before."""
        with self._lock:
            self._kept.clear()

    # ---- images

    def picture(self, values, weights, frequencies, time, seconds):
        """
        The SkyPicture of what has come in the last `averaging` seconds, this being the newest.

        Parameters
        ----------
        values : complex64 [channel][product]
            Mean of one or more integrations.
        weights : [product] or [1]
            Of the products, such as counted spectra.
        frequencies : [channel]
            Hz.
        time, seconds : float
            UTC since 1970 of the middle, and the length.

        Raises ImagingError where no image can be made.
        """
        with self._lock:
            centre, weighting, averaging = self._centre, self._weight, self._averaging
            whole = centre is None
            to_uvw = np.eye(3) if whole else place_at(centre, time, self._array).to_uvw
            field, longest, bins = self._field(frequencies)
            key = (centre, bins, len(frequencies), float(frequencies[0]), float(frequencies[-1]))
            if key != self._key:
                self._kept.clear()
                self._key = key
            tracked = (
                None
                if self._tracked is None
                else geometry.delays(
                    self._matrices.places,
                    unit_vectors([self._tracked], time, self._array)[0],
                    distances([self._tracked], time, self._array)[0],
                )
            )
            self._keep(
                time,
                seconds,
                self._matrices.reduce(values, weights, frequencies, to_uvw, bins, tracked),
                averaging,
            )
            kept = list(self._kept)
        middle = kept[len(kept) // 2][0]
        binned = add_up([part for _, _, part in kept]).within(longest)
        if not (binned.weights > 0).any():
            raise ImagingError("nothing is there of any pair of antennas")
        image, peak = make_direct_image(binned, field, weighting)
        return self._described(
            image,
            peak,
            whole,
            to_uvw,
            middle,
            sum(seconds for _, seconds, _ in kept),
            frequencies,
            longest,
        )

    def _keep(self, time, seconds, binned, averaging):
        """Adds visibilities, and drops those that are too old, or of a time that jumped."""
        kept = self._kept
        while kept and not -seconds < time - kept[0][0] < averaging:
            kept.popleft()
        if kept and kept[-1][1] + seconds <= averaging / PARTS:
            before, length, others = kept.pop()
            part = seconds / (length + seconds) if length + seconds else 0.5
            time, seconds = before + part * (time - before), length + seconds
            binned = add_up([others, binned])
        kept.append((time, seconds, binned))

    def _field(self, frequencies):
        """The Field, metres of the longest baseline that is used, and bins of channels."""
        frequency = float(frequencies[-1])
        lengths = self._matrices.lengths()
        reach = float(lengths.max())
        wave = geometry.SPEED_OF_LIGHT / frequency
        if self._centre is not None:
            pixels = self._pixels or 256
            width = (
                2 * np.sin(np.radians(self._width / 2))
                if self._width
                else min(pixels * wave / reach / FIELD_PIXELS, 2 * np.sin(np.radians(55)))
            )
            field = Field(self._centre, pixels, width / pixels)
            longest = longest_for(field.cell, frequency)
            bins = self._matrices.bins(frequencies, width, longest)
            return field, longest, bins
        if self._pixels:
            choices = [self._pixels]
        else:
            wanted = even(min(max(FIELD_PIXELS * WHOLE_SKY * reach / wave, FEWEST), MOST))
            choices = sorted({FEWEST, wanted, *range(FEWEST, wanted, 32)}, reverse=True)
        for pixels in choices:
            field = Field(ZENITH, pixels, WHOLE_SKY / pixels)
            longest = longest_for(field.cell, frequency)
            bins = self._matrices.bins(frequencies, WHOLE_SKY, longest)
            work = 8 * len(self._matrices.places) ** 2 * np.pi / 4 * pixels**2 * bins
            smaller = longest_for(WHOLE_SKY / max(pixels - 32, FEWEST), frequency)
            if work <= MOST_WORK or smaller < lengths.min():
                break
        if lengths.min() > longest:
            raise ImagingError(
                f"the shortest baseline, {lengths.min():.3g} m, is too long for a picture of the "
                "whole sky: choose a field around a direction"
            )
        return field, longest, bins

    # ---- words

    def _described(self, image, peak, whole, to_uvw, time, seconds, frequencies, longest):
        array, field = self._array, image.field
        azimuth, elevation = horizontal(peak.l, peak.m, to_uvw)
        ra, dec = (
            float(value)
            for value in geometry.azel_to_radec(
                azimuth, elevation, time, array.latitude, array.longitude, array.height
            )
        )
        wide = whole or field.width > WIDE
        nearest = nearest_name(towards(peak.l, peak.m, to_uvw), time, array, bright=wide)
        sources = names_near(field, time, array, to_uvw, wide, self._satellites)
        frequency = float(np.mean(frequencies))
        step = (frequencies[-1] - frequencies[0]) / max(len(frequencies) - 1, 1)
        reach = float(self._matrices.lengths().max())
        letters = len({entry.polarization for entry in array.inputs})
        sidereal = geometry.local_sidereal_time(time, array.longitude) / 15
        lines = [
            ("time", f"{utc_text(time, between=' ')} UTC"),
            ("sidereal time", f"{int(sidereal):02d}h{int(sidereal * 60 % 60):02d}m"),
            (
                "frequency",
                f"{frequency / 1e6:.6g} MHz, {step * len(frequencies) / 1e6:.3g} MHz wide",
            ),
            ("averaged", f"{seconds:.3g} s, {POLARIZATIONS.get(letters, POLARIZATIONS[2])}"),
            (
                "beam",
                f"{angle_text(image.beam.major)} × {angle_text(image.beam.minor)}, weights "
                f"{self._weight}",
            ),
            (
                "baselines",
                f"up to {min(reach, longest):.3g} m"
                + ("" if reach <= longest else f" of {reach:.3g} m: longer ones need more pixels"),
            ),
        ]
        return SkyPicture(
            image,
            whole,
            to_uvw,
            peak,
            azimuth,
            elevation,
            ra,
            dec,
            nearest,
            sources,
            time,
            seconds,
            frequency,
            float(step * len(frequencies)),
            self._words(peak, azimuth, elevation, nearest),
            [("right ascension, declination", hours_text(ra, dec, image.beam.minor / 10)), *lines],
        )

    @staticmethod
    def _words(peak, azimuth, elevation, nearest):
        """Returns what a student is told of the brightest place."""
        if peak.contrast < LEAST_CONTRAST:
            return (
                f"nothing stands out: the brightest place, az {azimuth:.1f}°, el "
                f"{elevation:.1f}°, is {peak.contrast:.1f} times the scatter of the picture"
            )
        text = f"brightest: az {azimuth:.1f}°, el {elevation:.1f}°"
        if nearest is None:
            return f"{text}; no named source is above the horizon"
        name, angle = nearest
        return f"{text}; nearest named source: {name}, {degrees_text(angle)} away"


def degrees_text(angle):
    """Degrees with one digit; of less than a tenth with two."""
    return f"{angle:.1f}°" if angle >= 0.095 else f"{angle:.2f}°"
