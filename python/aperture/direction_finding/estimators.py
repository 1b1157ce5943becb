#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Estimators of directions from the covariance matrix of an array's inputs.

R = E[x x^H] is the matrix whose element [a][b] is the X-engine's product x_a conj(x_b). A plane
wave of frequency f from the unit vector s has the steering vector a_i = exp(2 pi i f r_i.s/c)
(geometry.py).

- MUSIC (Schmidt 1986, IEEE Trans. AP 34, 276): 1/|E^H a|^2, E being the eigenvectors of noise.
- Capon (1969, Proc. IEEE 57, 1408): the power 1/(a^H R^-1 a).
- The number of sources has the least MDL or AIC (Wax & Kailath 1985, IEEE Trans. ASSP 33, 387).
- Forward-backward averages and spatial smoothing (Shan, Wax & Kailath 1985, IEEE Trans. ASSP 33,
  806) tell coherent sources apart, such as a transmitter and its reflection, on lines of antennas
  at equal spacings.

Waves are plane: transmitters are further away than geometry.fraunhofer_distance().
"""

from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from ..parameters.rules import refuse

METHODS = ("music", "capon")
CRITERIA = ("mdl", "aic")
SMOOTHINGS = ("none", "forward-backward", "spatial")
SEARCHES = ("azimuth", "sky")
FEWEST, MOST = 3, 16  # antennas
STEP = 1.0  # degrees of azimuth from one point of a spectrum to the next
#: relative deviation of places from a line, or of spacings from each other, that does not matter
SAME = 1e-3
#: relative addition to the diagonal of R, so that it can be inverted
LOADING = 1e-9
_GOLDEN = (np.sqrt(5) - 1) / 2
_PRECISION = 1e-3  # degrees, of a maximum
#: degrees of the elevations of a search of the sky; in direction cosines, the first step around a
#: maximum and its precision
_HEIGHTS = np.arange(0.0, 89.0, 3.0)
_FIRST_STEP, _LAST_STEP = 0.03, 1e-6
_AROUND = np.array([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)], float)
_MOST_KEPT = 8  # frequencies whose steering vectors of the sky are kept


@dataclass(frozen=True)
class Line:
    """
    A line of antennas. axis: unit vector [east, north, up] along it; order: the antennas along it;
    spacing: metres between neighbours where all are equal, else None.
    """

    axis: np.ndarray
    order: np.ndarray
    spacing: float | None


def line_of(positions):
    """The Line on which antennas at positions [antenna][east, north, up] lie, or None."""
    positions = np.asarray(positions, float)
    places = positions - positions.mean(axis=0)
    _, sizes, axes = np.linalg.svd(places)
    if sizes[0] == 0 or sizes[1] > SAME * sizes[0]:
        return None
    # to the north, or to the east of it
    axis = axes[0] * (1 if (axes[0][1], axes[0][0]) > (0, 0) else -1)
    along = places @ axis
    order = np.argsort(along)
    steps = np.diff(along[order])
    equal = np.ptp(steps) <= SAME * steps.mean()
    return Line(axis, order, float(steps.mean()) if equal else None)


def ambiguity(positions, frequency, search="azimuth"):
    """
    Returns what a user is to be told of directions that these antennas cannot tell apart at a
    frequency (Hz) in a search; "" if there are none.

    Antennas that are more than half a wavelength from their nearest neighbours see a wave from
    several directions alike, or nearly so; a line sees both of its sides alike, and a plane, where
    the sky is searched, both of its own. The phases in a level plane depend on the cosine of the
    elevation, whose slope is 0 at the horizon; at the zenith there is no azimuth.
    """
    positions = np.asarray(positions, float)
    apart = np.linalg.norm(positions[:, None] - positions, axis=-1)
    np.fill_diagonal(apart, np.inf)
    nearest, half = float(apart.min(axis=1).max()), geometry.SPEED_OF_LIGHT / frequency / 2
    texts = []
    if nearest > half * (1 + SAME):
        texts.append(
            f"spacings of {nearest:.3g} m are above half a wavelength, {half:.3g} m at "
            f"{frequency / 1e6:.6g} MHz: a direction may be another one (ambiguous)"
        )
    if line_of(positions) is not None:
        texts.append("a line of antennas cannot tell its two sides apart: one of them is shown")
    elif search == "sky":
        _, sizes, axes = np.linalg.svd(positions - positions.mean(axis=0))
        if sizes[2] <= SAME * sizes[0] and abs(axes[2][2]) > 1 - SAME:
            texts.append(
                "antennas in a level plane: elevations near the horizon are uncertain, and "
                "sources below it are shown above"
            )
        elif sizes[2] <= SAME * sizes[0]:
            texts.append("a plane of antennas cannot tell its two sides apart: one is shown")
    return "; ".join(texts)


def covariance(products, inputs):
    """The matrix [...][a][b] of the X-engine's products [...][product] of so many inputs."""
    products = np.asarray(products)
    a, b = np.tril_indices(inputs)
    found = np.zeros((*products.shape[:-1], inputs, inputs), complex)
    found[..., a, b] = products
    found[..., b, a] = products.conj()
    return found


def vectors_of(positions, frequency, towards):
    """Steering vectors [...][antenna] of plane waves from unit vectors [...][east, north, up]."""
    return np.exp(-2j * np.pi * frequency * geometry.delays(positions, towards))


def steering(positions, frequency, azimuth, elevation=0.0):
    """Steering vectors [...][antenna] of plane waves from azimuths and elevations (degrees)."""
    return vectors_of(positions, frequency, geometry.direction(azimuth, elevation))


def number_of_sources(matrix, snapshots, criterion="mdl", averaged=False):
    """
    Returns how many sources a covariance matrix has, at most one fewer than antennas.

    Parameters
    ----------
    matrix : array [antenna][antenna]
    snapshots : float
        Independent samples of which it is the mean.
    criterion : str
        "mdl", or "aic", which sees weaker sources, and more that are none.
    averaged : bool
        Whether forward-backward averages were taken, which leave half of the free parameters (Xu,
        Roy & Kailath 1994, IEEE Trans. SP 42, 2196).
    """
    if criterion not in CRITERIA:
        refuse("criterion", criterion, ", ".join(CRITERIA))
    values = np.sort(np.linalg.eigvalsh(matrix))[::-1]
    values = np.maximum(values, values[0] * 1e-12)
    count, scores = len(values), []
    for number in range(count):
        rest = values[number:]
        misfit = -snapshots * (np.log(rest).sum() - len(rest) * np.log(rest.mean()))
        free = number * (2 * count - number + averaged) / (2 if averaged else 1)
        scores.append(misfit + (free * np.log(snapshots) / 2 if criterion == "mdl" else free))
    return int(np.argmin(scores))


@dataclass(frozen=True)
class Found:
    """
    The directions of sources.

    azimuths, elevations: degrees [source], the strongest first; powers: of each source in an
    antenna, in units of the matrix; noise: the same of the noise; spectrum: pseudo-spectrum of
    MUSIC or power of Capon over `grid`, azimuths in degrees; sources: how many there are by the
    criterion, or as it was told; heights: of a search of the sky the elevations, degrees, of the
    rows of spectrum [elevation][azimuth], None otherwise.
    """

    azimuths: np.ndarray
    elevations: np.ndarray
    powers: np.ndarray
    noise: float
    spectrum: np.ndarray
    grid: np.ndarray
    sources: int
    heights: np.ndarray | None = None


class Finder:
    """
    Finds directions with an array of 3 to 16 antennas.

    Parameters
    ----------
    positions : array [antenna][east, north, up]
        Metres.
    method : str
        "music" or "capon".
    sources : int
        How many there are; 0: as `criterion` says.
    criterion : str
        "mdl" or "aic".
    smoothing : str
        "none"; "forward-backward" or "spatial", for lines of equal spacing.
    elevation : float
        Degrees above the horizon at which sources are, where azimuths are searched.
    search : str
        "azimuth", or "sky": the azimuth and elevation of each source are found, by antennas that
        are on no line.

    Raises ParameterError (a ValueError) that names the parameter.
    """

    def __init__(
        self,
        positions,
        method="music",
        sources=0,
        criterion="mdl",
        smoothing="none",
        elevation=0.0,
        search="azimuth",
    ):
        self.positions = np.asarray(positions, float)
        count = len(self.positions)
        if not FEWEST <= count <= MOST:
            refuse("antennas", count, f"{FEWEST} to {MOST} for finding directions")
        if len(np.unique(self.positions.round(6), axis=0)) < count:
            refuse("antennas", "two in one place", "all in different places")
        for name, value, choices in (
            ("method", method, METHODS),
            ("criterion", criterion, CRITERIA),
            ("smoothing", smoothing, SMOOTHINGS),
            ("search", search, SEARCHES),
        ):
            if value not in choices:
                refuse(name, value, ", ".join(choices))
        self.line = line_of(self.positions)
        if search == "sky" and self.line is not None:
            refuse("search", search, "azimuth for antennas on a line, which hear cones around it")
        self.search, self._kept = search, {}
        self._order = np.arange(count)
        if smoothing != "none":
            if self.line is None or self.line.spacing is None:
                refuse("smoothing", smoothing, "none but for lines of antennas at equal spacings")
            self._order = self.line.order
        # two thirds of the line, and two of them at least
        self._used = (
            count if smoothing != "spatial" else max(2, min(count - 1, (2 * count + 2) // 3))
        )
        if not 0 <= sources < self._used:
            refuse("sources", sources, f"0 (unknown) to {self._used - 1}")
        self.method, self.sources, self.criterion = method, sources, criterion
        self.smoothing, self.elevation = smoothing, float(elevation)
        self._places = self.positions[self._order[: self._used]]
        first, end = self._span()
        self.grid = np.arange(first, end, STEP)

    def _span(self):
        """The azimuths that can be told apart: of a level line those of its northern side, of one
        from south to north those of its eastern side."""
        if self.line is None or abs(self.line.axis[2]) > SAME:
            return 0.0, 360.0
        axis = float(np.degrees(np.arctan2(self.line.axis[0], self.line.axis[1])))
        across = axis + 90 if np.cos(np.radians(axis + 90)) > -SAME else axis - 90
        return across - 90, across + 90 + STEP / 2

    def _smooth(self, matrix):
        matrix = matrix[np.ix_(self._order, self._order)]
        if self.smoothing == "spatial":
            parts = len(matrix) - self._used + 1
            size = self._used
            matrix = sum(matrix[k : k + size, k : k + size] for k in range(parts)) / parts
        if self.smoothing != "none":
            matrix = (matrix + matrix[::-1, ::-1].conj()) / 2
        return matrix

    def find(self, matrices, frequencies, snapshots):
        """
        The directions of sources: Found.

        Parameters
        ----------
        matrices : array [band][antenna][antenna]
            Covariances of one or more bands, each so narrow that no delay across the array is
            much of 1/width.
        frequencies : array [band]
            Hz, of their middles.
        snapshots : array [band]
            Independent samples of which each is the mean.
        """
        matrices = np.asarray(matrices, complex)
        parts = [self._smooth(matrix) for matrix in matrices]
        averaged = self.smoothing != "none"
        strongest = int(np.argmax(snapshots))
        sources = self.sources or number_of_sources(
            parts[strongest], snapshots[strongest], self.criterion, averaged
        )
        nulls = [
            self._null(part, frequency, max(sources, 1))
            for part, frequency in zip(parts, frequencies)
        ]

        def depth(vectors_at):
            """The mean over bands of what is smallest where sources are: vectors_at gives the
            steering vectors [...][antenna] at a frequency."""
            total = 0.0
            for (matrix, scale), frequency in zip(nulls, frequencies):
                vectors = vectors_at(frequency)
                total = total + scale * np.sum(vectors.conj() * (vectors @ matrix.T), axis=-1).real
            return np.maximum(total / len(nulls), 1e-15)

        if self.search == "sky":
            values = depth(self._sky_vectors)
            azimuths, elevations = self._sky_minima(depth, values, sources)
        else:

            def along(azimuths):
                return depth(lambda f: steering(self._places, f, azimuths, self.elevation))

            values = along(self.grid)
            azimuths = self._minima(along, values, sources)
            elevations = np.full(len(azimuths), self.elevation)
        powers, noise = self._powers(parts[strongest], frequencies[strongest], azimuths, elevations)
        order = np.argsort(-powers)
        return Found(
            azimuths[order] % 360,
            elevations[order],
            powers[order],
            noise,
            1 / values,
            self.grid % 360,
            sources,
            _HEIGHTS if self.search == "sky" else None,
        )

    def _sky_vectors(self, frequency):
        """Steering vectors [elevation][azimuth][antenna] of the grid of the sky."""
        if frequency not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[frequency] = steering(
                self._places, frequency, self.grid, _HEIGHTS[:, np.newaxis]
            )
        return self._kept[frequency]

    def _sky_minima(self, depth, values, sources):
        """Azimuths and elevations, degrees, of the deepest minima of values
        [elevation][azimuth], at most `sources`, refined in direction cosines."""
        padded = np.pad(values, ((1, 1), (0, 0)), constant_values=np.inf)
        least = np.ones(values.shape, bool)
        for up, along in _AROUND.astype(int):
            if up or along:
                # the later one of equal neighbours is taken
                other = np.roll(padded, -along, axis=1)[1 + up : 1 + up + len(values)]
                least &= values <= other if (up, along) < (0, 0) else values < other
        rows, columns = np.nonzero(least)
        found = []
        for place in np.argsort(values[rows, columns]):
            if len(found) == sources:
                break
            point = self._refined(
                depth, geometry.direction(self.grid[columns[place]], _HEIGHTS[rows[place]])[:2]
            )
            # around the zenith several points of the grid lead to one
            if all(np.hypot(*(point - other)) > 1e-3 for other in found):
                found.append(point)
        east, north = np.reshape(found, (-1, 2)).T
        elevations = np.degrees(np.arccos(np.minimum(np.hypot(east, north), 1)))
        return np.degrees(np.arctan2(east, north)), elevations

    def _refined(self, depth, point):
        """The minimum near a point [east, north] of direction cosines: the best of it and its
        eight neighbours, nearer and nearer."""
        step = _FIRST_STEP
        while step > _LAST_STEP:
            points = point + step * _AROUND
            reach = np.maximum(np.hypot(*points.T), 1)  # no further down than the horizon
            points = points / reach[:, np.newaxis]
            up = np.sqrt(np.maximum(1 - np.sum(points**2, axis=1), 0))
            towards = np.column_stack([points, up])
            at = depth(lambda f, s=towards: vectors_of(self._places, f, s))
            best = int(np.argmin(at))
            if at[best] < at[len(_AROUND) // 2]:
                point = points[best]
            else:
                step /= 2
        return point

    def _null(self, matrix, frequency, sources):
        """(matrix N, scale): scale a^H N a is small where sources are."""
        count = len(matrix)
        if self.method == "music":
            _, vectors = np.linalg.eigh(matrix)
            noise = vectors[:, : count - sources]
            return noise @ noise.conj().T, 1 / count
        mean = np.trace(matrix).real / count
        loaded = matrix + LOADING * mean * np.eye(count)
        return np.linalg.inv(loaded), mean

    def _minima(self, depth, values, sources):
        """The azimuths of the deepest minima, at most `sources`, refined."""
        if sources == 0:
            return np.empty(0)
        closed = self.grid[-1] - self.grid[0] > 358
        before, after = np.roll(values, 1), np.roll(values, -1)
        if not closed:
            before[0], after[-1] = np.inf, np.inf
        places = np.flatnonzero((values <= before) & (values < after))
        places = places[np.argsort(values[places])][:sources]
        found = []
        for place in places:
            low, high = self.grid[place] - STEP, self.grid[place] + STEP
            while high - low > _PRECISION:
                step = _GOLDEN * (high - low)
                if depth(np.array(high - step)) < depth(np.array(low + step)):
                    high = low + step
                else:
                    low = high - step
            found.append((low + high) / 2)
        return np.array(found)

    def _powers(self, matrix, frequency, azimuths, elevations):
        """The power of each source and of the noise, by least squares in R = A P A^H + noise."""
        values = np.linalg.eigvalsh(matrix)
        noise = float(values[: len(matrix) - max(len(azimuths), 0)].mean())
        if not len(azimuths):
            return np.empty(0), noise
        vectors = steering(self._places, frequency, azimuths, elevations).T
        inverse = np.linalg.pinv(vectors)
        rest = matrix - noise * np.eye(len(matrix))
        return np.maximum(np.diag(inverse @ rest @ inverse.conj().T).real, 0.0), noise
