#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What aperture_plot draws, without any drawing: reads UVH5 files, computes coherences and lags.

Only h5py and NumPy are needed. The layout of the files is that of the UVH5 memo
(https://github.com/RadioAstronomySoftwareGroup/pyuvdata/blob/main/docs/references/uvh5_memo.pdf):
the product (ant_1, ant_2, pq) is conj(p of ant_1) times (q of ant_2).
"""

import os
from dataclasses import dataclass

import h5py
import numpy as np

POLARIZATIONS = {1: "I", 2: "Q", 3: "U", 4: "V",
                 -1: "rr", -2: "ll", -3: "rl", -4: "lr",
                 -5: "xx", -6: "yy", -7: "xy", -8: "yx"}

REQUIRED = ("Header/ant_1_array", "Header/ant_2_array", "Header/time_array",
            "Header/freq_array", "Header/polarization_array",
            "Data/visdata", "Data/flags", "Data/nsamples")


class PlotError(ValueError):
    """A file or an argument that cannot be plotted; the message is for the user."""


@dataclass(frozen=True)
class Product:
    """conj(signal of antenna `first` in `polarization[0]`) times that of `second` in [1]."""
    first: int
    second: int
    polarization: str

    @property
    def is_auto(self):
        return self.first == self.second and len(set(self.polarization)) == 1


def decibels(power):
    """10 log10 of a power of any shape; NaN where it is not positive."""
    power = np.asarray(power, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(power > 0, 10 * np.log10(power), np.nan)


def coherence(cross, first, second):
    """Correlation coefficient: a cross-product over the root of its two autocorrelations.

    Arguments: arrays of one shape, any units, NaN where flagged. Returns the complex
    coefficient, |.| <= 1 but for noise; NaN where flagged or where a power is not positive.
    """
    power = np.real(first) * np.real(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(power > 0, cross / np.sqrt(power), np.nan)


def lags(spectrum, channel_width, oversampling=8):
    """Fourier transform of cross-spectra over frequency.

    D(t) = 1/n sum_k V_k exp(2 pi i f_k t), f_k counted from the first channel, over the n
    channels that are not flagged. With V = conj(x_1) x_2 and x_i a signal that arrives t_i
    later, V_k ~ exp(-2 pi i f_k (t_2 - t_1)): the peak lies at t_2 - t_1, positive where the
    signal reaches the second input later. Its height is |V| where V has one magnitude.

    spectrum: complex [...][channel], NaN where flagged; channel_width: Hz;
    oversampling: points for each 1/bandwidth.
    Returns delays in seconds, in ascending order, and complex D [...][delay].
    """
    spectrum = np.asarray(spectrum)
    good = np.isfinite(spectrum)
    channels = spectrum.shape[-1]
    points = channels * oversampling
    delays = np.fft.fftshift(np.fft.fftfreq(points, channel_width))
    sums = np.fft.ifft(np.where(good, spectrum, 0), points, axis=-1) * points
    counts = np.maximum(good.sum(axis=-1, keepdims=True), 1)
    return delays, np.fft.fftshift(sums, axes=-1) / counts


def root_mean_square_lags(values, channel_width):
    """|lags| of spectra [product][time][channel], as root mean square over time.

    Not their coherent mean: the fringes of a long observation would cancel in it.
    Returns delays [delay] in seconds and magnitudes [product][delay].
    """
    products, times, channels = values.shape
    delays = lags(values[0, :1], channel_width)[0] if products else np.zeros(0)
    power = np.zeros((products, len(delays)))
    step = max(1, 250_000 // channels)  # the transforms of whole files would not fit in memory
    for index in range(products):
        for start in range(0, times, step):
            transform = lags(values[index, start:start + step], channel_width)[1]
            power[index] += np.sum(np.abs(transform)**2, axis=0)
    return delays, np.sqrt(power / max(1, times))


class VisibilityFile:
    """A UVH5 file, opened for reading; use as a context manager.

    Attributes: `telescope`; `frequencies` [channel], Hz; `channel_width`, Hz;
    `polarizations`, in the file's order, like "xx"; `times` [integration], Julian dates of
    their middles; `integration_time`, s; `pairs`, (antenna, antenna) numbers; `names`,
    antenna number to name; `positions`, antenna number to metres (any fixed frame).
    """

    def __init__(self, filename):
        if not os.path.exists(filename):
            raise PlotError(f"{filename}: no such file")
        try:
            self._file = h5py.File(filename, "r")
        except OSError as error:
            raise PlotError(f"{filename}: not a readable HDF5 file ({error})") from None
        try:
            self._read_header(filename)
        except BaseException:
            self._file.close()
            raise

    def _read_header(self, filename):
        absent = [name for name in REQUIRED if name not in self._file]
        if absent:
            raise PlotError(f"{filename}: not a UVH5 file: it lacks {', '.join(absent)}")
        header = self._file["Header"]
        self._data = self._file["Data/visdata"]
        self.first = header["ant_1_array"][:]
        self.second = header["ant_2_array"][:]
        rows = self._data.shape[0]
        lengths = {"time_array": len(header["time_array"]), "ant_1_array": len(self.first),
                   "ant_2_array": len(self.second)}
        wrong = [f"{name} has {length}" for name, length in lengths.items() if length != rows]
        if wrong:
            raise PlotError(f"{filename}: visdata has {rows} rows, but {', '.join(wrong)}")
        if rows == 0:
            raise PlotError(f"{filename}: no integrations in it")
        self.times, self._integration_of = np.unique(header["time_array"][:], return_inverse=True)
        frequencies = header["freq_array"][:].reshape(-1).astype(float)
        # Other programs write descending frequencies too; here they always ascend.
        self._direction = -1 if frequencies[0] > frequencies[-1] else 1
        self.frequencies = frequencies[::self._direction]
        if len(self.frequencies) > 1:
            self.channel_width = abs(float(np.median(np.diff(self.frequencies))))
        else:
            self.channel_width = abs(float(np.ravel(header["channel_width"][()])[0]))
        self.polarizations = [POLARIZATIONS.get(int(number), str(number))
                              for number in header["polarization_array"][:]]
        self.integration_time = (float(np.median(header["integration_time"][()]))
                                 if "integration_time" in header else None)
        telescope = header["telescope_name"][()] if "telescope_name" in header else "?"
        self.telescope = telescope.decode() if isinstance(telescope, bytes) else str(telescope)
        self.pairs = sorted(set(zip(self.first.tolist(), self.second.tolist())))
        self.names, self.positions = self._read_antennas(header)

    def _read_antennas(self, header):
        numbers = sorted(set(self.first.tolist()) | set(self.second.tolist()))
        names = {number: str(number) for number in numbers}
        positions = {}
        if "antenna_numbers" in header:
            listed = header["antenna_numbers"][:].tolist()
            if "antenna_names" in header:
                texts = [name.decode() if isinstance(name, bytes) else str(name)
                         for name in header["antenna_names"][:]]
                names.update(zip(listed, texts))
            if "antenna_positions" in header:
                positions = dict(zip(listed, header["antenna_positions"][:]))
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
        return Product(product.first, product.first, p + p), \
            Product(product.second, product.second, q + q)

    def label(self, product):
        """For example "A1x–A2x"; the antenna's name and polarisation for an autocorrelation."""
        p, q = product.polarization[0], product.polarization[-1]
        first, second = self.names[product.first] + p, self.names[product.second] + q
        return first if product.is_auto else f"{first}–{second}"

    def length(self, product):
        """Length of the baseline in metres; None where the file has no positions."""
        ends = [self.positions.get(a) for a in (product.first, product.second)]
        if any(end is None for end in ends):
            return None
        return float(np.linalg.norm(ends[1] - ends[0]))

    def _rows(self, start, stop):
        """Visibilities [row][channel][polarisation], complex, and their weights, 0 where
        flagged. Old files have an axis of length 1 for the spectral window."""
        shape = (stop - start, len(self.frequencies), len(self.polarizations))
        data = self._data[start:stop].reshape(shape)[:, ::self._direction]
        if data.dtype.fields:  # integers {r, i}, as correlators write them
            data = data["r"] + 1j * data["i"]
        weights = np.where(self._file["Data/flags"][start:stop], 0,
                           self._file["Data/nsamples"][start:stop]).reshape(shape)
        weights = weights[:, ::self._direction]
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
        bin_of_row = bin_of[self._integration_of]
        for start in range(0, len(self.first), step):
            stop = min(start + step, len(self.first))
            rows = [row for row in range(start, stop) if bin_of_row[row] >= 0
                    and (int(self.first[row]), int(self.second[row])) in wanted]
            if not rows:
                continue
            data, weight = self._rows(start, stop)
            for row in rows:
                for index, pol in wanted[int(self.first[row]), int(self.second[row])]:
                    w = weight[row - start, :, pol]
                    sums[index, bin_of_row[row]] += w * data[row - start, :, pol]
                    weights[index, bin_of_row[row]] += w
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(weights > 0, sums / weights, np.nan)
        times = np.array([self.times[bin_of == b].mean() for b in range(bins)])
        return values, times

    def correlation_matrix(self, integration):
        """Correlation coefficient of every pair of inputs in one integration, over the whole
        band: the highest value of |lags|, with the phase that this has at the band's centre
        (where, unlike elsewhere, the phase does not depend on how exactly the peak is hit).

        Returns complex [input][input], NaN where the file has no such product, element
        (i, j) being conj(input i) times input j; and the list of inputs as (antenna, polarisation).
        """
        inputs = [(product.first, product.polarization[0]) for product in self.autos()]
        number = {name: index for index, name in enumerate(inputs)}
        spectra = self.read(self.autos(), [integration])[0][:, 0].real
        matrix = np.full((len(inputs),) * 2, np.nan, complex)
        step = max(1, 2_000_000 // len(self.frequencies))
        rows = np.flatnonzero(self._integration_of == integration)
        centre = (self.frequencies[-1] - self.frequencies[0]) / 2
        for start in range(rows[0], rows[-1] + 1, step):
            stop = min(start + step, rows[-1] + 1)
            data, weights = self._rows(start, stop)
            data = np.where(weights > 0, data, np.nan)
            for row in rows[(rows >= start) & (rows < stop)]:
                for pol, (p, *q) in enumerate(self.polarizations):
                    i = number.get((int(self.first[row]), p))
                    j = number.get((int(self.second[row]), q[0] if q else p))
                    if i is None or j is None:
                        continue
                    rho = coherence(data[row - start, :, pol], spectra[i], spectra[j])
                    if np.isfinite(rho).any():
                        delays, peaks = lags(rho, self.channel_width, 2)
                        best = np.argmax(np.abs(peaks))
                        turn = np.exp(-2j * np.pi * delays[best] * centre)
                        matrix[i, j] = peaks[best] * turn
                        matrix[j, i] = np.conj(matrix[i, j])
        return matrix, inputs


def find_products(file, text):
    """The products that `--baselines` names.

    text: names separated by commas, each two antennas ("A1-A2": all parallel hands, of one
    antenna the cross-hand) or two inputs, antenna and polarisation ("A1x-A2y").
    """
    antennas = {file.names[number]: number for number in file.antennas}
    inputs = {file.names[product.first] + product.polarization[0]:
              (product.first, product.polarization[0]) for product in file.autos()}
    found = []
    for item in (part.strip() for part in text.split(",")):
        matches = _pairs_named(file, item, antennas, inputs)
        if not matches:
            names = ", ".join(list(antennas)[:12]) + (", ..." if len(antennas) > 12 else "")
            raise PlotError(f"--baselines {item}: no such baseline in the file; expected two "
                            f"antennas (A-B) or inputs (Ax-By), antennas are {names}")
        found += [product for product in matches if product not in found]
    return found


def _pairs_named(file, item, antennas, inputs):
    # Antenna names may contain hyphens: every hyphen is tried as the one between two names.
    for place in (place for place, letter in enumerate(item) if letter == "-"):
        one, two = item[:place].strip(), item[place + 1:].strip()
        if one in antennas and two in antennas:
            a, b = antennas[one], antennas[two]
            hands = [p for p in file.polarizations
                     if (p in ("xy", "rl") if a == b else len(set(p)) == 1)]
            return [Product(*pair, p) for pair in ((a, b), (b, a)) if pair in file.pairs
                    for p in hands][:len(hands)]
        if one in inputs and two in inputs:
            (a, p), (b, q) = inputs[one], inputs[two]
            candidates = [Product(a, b, p + q), Product(b, a, q + p)]
            return [product for product in candidates if (product.first, product.second)
                    in file.pairs and product.polarization in file.polarizations][:1]
    return []


def spread(products, count, file):
    """At most `count` of the products, evenly spread over the lengths of their baselines."""
    if len(products) <= count:
        return products
    ordered = sorted(products, key=lambda product: (file.length(product) or 0, product.first,
                                                    product.second))
    chosen = {ordered[i] for i in np.linspace(0, len(ordered) - 1, count).round().astype(int)}
    return [product for product in ordered if product in chosen]
