#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Coherences and lags of visibilities, and the choice of products by names."""

import numpy as np
from scipy.interpolate import CubicSpline

from ..formats.uvh5.reader import Product


def coherence(cross, first, second):
    """Correlation coefficient: a cross-product over the root of its two autocorrelations.

    Arguments: arrays of one shape, any units, NaN where flagged. Returns the complex
    coefficient, |.| <= 1 but for noise; NaN where flagged or where a power is not positive.
    """
    power = np.real(first) * np.real(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(power > 0, cross / np.sqrt(power), np.nan)


def without_edge(spectra):
    """A copy of spectra [...][channel] without the first channel, NaN, of which the delay is not
    taken: of complex samples both ends of the band are in it, with other phases each. Fewer than
    four channels are all kept."""
    spectra = np.array(spectra)
    if spectra.shape[-1] >= 4:
        spectra[..., 0] = np.nan
    return spectra


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
            transform = lags(values[index, start : start + step], channel_width)[1]
            power[index] += np.sum(np.abs(transform) ** 2, axis=0)
    return delays, np.sqrt(power / max(1, times))


def finer_lags(delays, magnitudes, span, points=401):
    """Lag amplitudes of one product at `points` delays to +-span seconds.

    delays, magnitudes: [delay], as from root_mean_square_lags(). Their squares have no faster
    ripple than one period in 1/bandwidth, of which these are 8 points: cubic splines follow them
    to some 1e-4 of the highest. There are no delays beyond half of 1/channel width.
    """
    if len(delays) < 4:
        return delays, magnitudes
    span = min(span, -delays[0])
    finer = np.linspace(-span, span, points)
    # a few more on either side, so that the ends are good: lags repeat themselves there
    length, step = len(delays), delays[1] - delays[0]
    near = np.flatnonzero(np.abs(delays) <= span)
    places = np.arange(near[0] - 4, near[-1] + 5)
    power = CubicSpline(delays[0] + step * places, magnitudes[places % length] ** 2)(finer)
    return finer, np.sqrt(np.maximum(power, 0))


def vertex(before, top, after):
    """Offset of a maximum from the middle one of three equally spaced values, in their distance."""
    bend = before - 2 * top + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0


def peak_of(delays, magnitudes):
    """The delay of the highest of equally spaced lag amplitudes [delay], from a parabola through
    it and its neighbours."""
    best = int(np.argmax(magnitudes))
    if not 0 < best < len(delays) - 1:
        return float(delays[best])
    offset = vertex(*magnitudes[best - 1 : best + 2])
    return float(delays[best] + offset * (delays[1] - delays[0]))


def correlation_matrix(file, integration):
    """Correlation coefficient of every pair of inputs in one integration, over the whole
    band: the highest value of |lags|, with the phase that this has at the band's centre
    (where, unlike elsewhere, the phase does not depend on how exactly the peak is hit).

    Returns complex [input][input], NaN where the file has no such product, element
    (i, j) being conj(input i) times input j; and the list of inputs as (antenna, polarisation).
    """
    inputs = [(product.first, product.polarization[0]) for product in file.autos()]
    number = {name: index for index, name in enumerate(inputs)}
    spectra = file.read(file.autos(), [integration])[0][:, 0].real
    matrix = np.full((len(inputs),) * 2, np.nan, complex)
    step = max(1, 2_000_000 // len(file.frequencies))
    rows = np.flatnonzero(file.integration_of == integration)
    centre = (file.frequencies[-1] - file.frequencies[0]) / 2
    for start in range(rows[0], rows[-1] + 1, step):
        stop = min(start + step, rows[-1] + 1)
        data, weights = file.rows(start, stop)
        data = np.where(weights > 0, data, np.nan)
        for row in rows[(rows >= start) & (rows < stop)]:
            for pol, (p, *q) in enumerate(file.polarizations):
                i = number.get((int(file.first[row]), p))
                j = number.get((int(file.second[row]), q[0] if q else p))
                if i is None or j is None:
                    continue
                rho = coherence(data[row - start, :, pol], spectra[i], spectra[j])
                if np.isfinite(rho).any():
                    delays, peaks = lags(rho, file.channel_width, 2)
                    best = np.argmax(np.abs(peaks))
                    phasor = np.exp(-2j * np.pi * delays[best] * centre)
                    matrix[i, j] = peaks[best] * phasor
                    matrix[j, i] = np.conj(matrix[i, j])
    return matrix, inputs


def find_products(file, text):
    """The products that `--baselines` names.

    text: names separated by commas, each two antennas ("A1-A2": all parallel hands, of one
    antenna the cross-hand) or two inputs, antenna and polarisation ("A1x-A2y").
    """
    antennas = {file.names[number]: number for number in file.antennas}
    inputs = {
        file.names[product.first] + product.polarization[0]: (
            product.first,
            product.polarization[0],
        )
        for product in file.autos()
    }
    found = []
    for item in (part.strip() for part in text.split(",")):
        matches = _pairs_named(file, item, antennas, inputs)
        if not matches:
            names = ", ".join(list(antennas)[:12]) + (", ..." if len(antennas) > 12 else "")
            raise ValueError(
                f"--baselines {item}: no such baseline in the file; expected two "
                f"antennas (A-B) or inputs (Ax-By), antennas are {names}"
            )
        found += [product for product in matches if product not in found]
    return found


def _pairs_named(file, item, antennas, inputs):
    # Antenna names may contain hyphens: every hyphen is tried as the one between two names.
    for place in (place for place, letter in enumerate(item) if letter == "-"):
        one, two = item[:place].strip(), item[place + 1 :].strip()
        if one in antennas and two in antennas:
            a, b = antennas[one], antennas[two]
            hands = [
                p for p in file.polarizations if (p in ("xy", "rl") if a == b else len(set(p)) == 1)
            ]
            return [
                Product(*pair, p) for pair in ((a, b), (b, a)) if pair in file.pairs for p in hands
            ][: len(hands)]
        if one in inputs and two in inputs:
            (a, p), (b, q) = inputs[one], inputs[two]
            candidates = [Product(a, b, p + q), Product(b, a, q + p)]
            return [
                product
                for product in candidates
                if (product.first, product.second) in file.pairs
                and product.polarization in file.polarizations
            ][:1]
    return []


def spread(products, count, file):
    """Returns at most `count` of the products, evenly spread over the lengths of their
    baselines."""
    if len(products) <= count:
        return products
    ordered = sorted(
        products, key=lambda product: (file.length(product) or 0, product.first, product.second)
    )
    chosen = {ordered[i] for i in np.linspace(0, len(ordered) - 1, count).round().astype(int)}
    return [product for product in ordered if product in chosen]
