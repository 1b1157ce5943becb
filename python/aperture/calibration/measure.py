#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A calibration from visibilities: what is read of a UVH5 file, and what the solver makes of it."""

from dataclasses import dataclass, replace

import numpy as np

from ..arrays.earth_rotation import unix_seconds
from ..arrays.geometry import SPEED_OF_LIGHT
from ..formats.uvh5.header import GAINS, gains_of
from .calibration import Band, Calibration, CalibrationError, InputCalibration, Quality
from .outliers import parabolas, stand_out
from .solver import LEAST_SIGNAL, Ratios, band_signal, fit_line, over_channels, solve

MOST_TIMES = 32  # averages in time that are weighed one by one
MOST_CELLS = 20_000_000  # visibilities at a time
SUSPICIOUS = 0.1  # misfit of which the user is told
ODD_MISFIT = 3.0  # times the others' misfit
ODD_GAIN = 10.0  # times the others' gain, or a part of it
MOST_NAMES = 8  # inputs that a message names
FEWEST = 4  # inputs of which one can be told to be odd
MOST_MISFIT = 0.5  # at which there is no calibration
MOST_FLAGGED = 0.75  # part of the channels that may not be measured
WASHED_OUT = 0.5  # cycles of a fringe in an integration, of which the user is told
SEVERAL = 3  # passes in which channels that stand out are looked for


@dataclass(frozen=True)
class Visibilities:
    """
    Visibilities of one polarisation.

    letter: of the polarisation; names: of its inputs; ratios: for the solver.
    """

    letter: str
    names: list
    ratios: Ratios


def time_bins(integrations, pairs, channels):
    """Returns how many averages in time are made of so many integrations."""
    return int(max(1, min(MOST_TIMES, integrations, MOST_CELLS // max(1, pairs * channels))))


def places_of(file, model):
    """East, north and up in metres of each antenna's number; zeros for a noise source."""
    numbers = file.antennas
    if model.is_noise:
        return {number: np.zeros(3) for number in numbers}
    places = file.places()
    lacking = [file.names[number] for number in numbers if number not in places]
    if lacking:
        raise CalibrationError(
            "source",
            f"{model.name}: the file does not say where antenna "
            f"{lacking[0]} stands, so that only a noise source can be used",
        )
    return places


def read_visibilities(file, model, integrations=None, levels=None):
    """
    The ratios of a file's visibilities to a model, polarisation by polarisation.

    Parameters
    ----------
    file : VisibilityFile
    model : SkyModel
    integrations : array of int
        Numbers of those that are used; None: all.
    levels : dict
        Gains for 8 bits of the inputs that had one, name to gain, which are taken out.

    Returns
    -------
    list of Visibilities
        Of polarisations of which there are two inputs or more.
    """
    chosen = np.arange(len(file.times)) if integrations is None else np.asarray(integrations)
    pairs = [(a, b) for a, b in file.pairs if a != b]
    hands = [p for p in file.polarizations if len(p) == 2 and p[0] == p[1]]
    channels = len(file.frequencies)
    bins = time_bins(len(chosen), max(1, len(pairs) * len(hands)), channels)
    bin_of = np.full(len(file.times), -1)
    bin_of[chosen] = np.arange(len(chosen)) * bins // len(chosen)
    places = places_of(file, model)
    baselines = np.array([places[b] - places[a] for a, b in pairs]).reshape(-1, 3)
    directions = model.directions(
        unix_seconds(file.times), file.site if not model.is_noise else None
    )
    number_of = {pair: number for number, pair in enumerate(pairs)}
    shape = (len(hands), bins, len(pairs), channels)
    products, sizes = np.zeros(shape, complex), np.zeros(shape)
    columns = [file.polarizations.index(hand) for hand in hands]
    lengths = file.phase_lengths()
    for integration, where, data, weights in file.integrations(chosen):
        numbers = np.array(
            [
                number_of.get(pair, -1)
                for pair in zip(file.first[where].tolist(), file.second[where].tolist())
            ]
        )
        rows = np.flatnonzero(numbers >= 0)
        if len(rows) == 0:
            continue
        to = numbers[rows]
        # a row's product is conj(x of `first`) times x of `second`: i is the second one
        expected = model.visibilities(directions[integration], baselines[to], file.frequencies)
        if np.any(lengths[where]):
            expected = expected * np.exp(
                -2j * np.pi / SPEED_OF_LIGHT * np.outer(lengths[where][rows], file.frequencies)
            )
        for hand, column in enumerate(columns):
            weight = weights[rows, :, column]
            products[hand, bin_of[integration], to] += (
                weight * data[rows, :, column] * expected.conj()
            )
            sizes[hand, bin_of[integration], to] += weight * np.abs(expected) ** 2
    spectra = file.channel_width * (file.integration_time or 1.0)
    return [
        made
        for hand, name in enumerate(hands)
        for made in [
            _of_hand(
                file,
                name[0],
                pairs,
                products[hand],
                sizes[hand],
                spectra,
                chosen,
                bins,
                levels or {},
            )
        ]
        if made is not None
    ]


def _of_hand(file, letter, pairs, products, sizes, spectra, chosen, bins, levels):
    """The Visibilities of one polarisation; None where there is no pair."""
    there = [number for number in range(len(pairs)) if np.any(sizes[:, number] > 0)]
    antennas = sorted({antenna for number in there for antenna in pairs[number]})
    if not antennas:
        return None
    index = {antenna: number for number, antenna in enumerate(antennas)}
    second = np.array([index[pairs[number][0]] for number in there])
    first = np.array([index[pairs[number][1]] for number in there])
    names = [file.names[antenna] + letter for antenna in antennas]
    gain = np.array([levels.get(name, 1.0) for name in names])
    # the signals are those before the level, whatever it is
    level = gain[first] * gain[second].conj()
    products, sizes = products[:, there], sizes[:, there]
    values = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)
    values /= level[None, :, None]
    powers = _powers(file, antennas, letter, chosen, bins)
    if powers is not None:
        powers = powers / (np.abs(gain) ** 2)[:, None, None]
        noise = powers[first] * powers[second]  # [pair][time][channel]
        weights = spectra * np.divide(
            sizes,
            noise.transpose(1, 0, 2),
            out=np.zeros_like(sizes),
            where=noise.transpose(1, 0, 2) > 0,
        )
        powers = powers.mean(axis=1)
    else:
        weights = _weights_of_scatter(values, sizes)
    return Visibilities(
        letter, names, Ratios(len(antennas), first, second, values, weights, powers)
    )


def _powers(file, antennas, letter, chosen, bins):
    """Autocorrelations [input][time][channel]; None where one is not in the file."""
    from ..formats.uvh5.reader import Product

    wanted = [Product(antenna, antenna, letter * 2) for antenna in antennas]
    if not set(wanted) <= set(file.autos()):
        return None
    values, _ = file.read(wanted, chosen, max_cells=np.inf, max_times=bins)
    return np.nan_to_num(values.real)


def _weights_of_scatter(values, sizes):
    """Weights where powers are not known: neighbouring channels differ by their noise."""
    weights = np.zeros(sizes.shape)
    for pair in range(values.shape[1]):
        usable = (sizes[:, pair, 1:] > 0) & (sizes[:, pair, :-1] > 0)
        if not usable.any():
            continue
        # a difference has twice the noise; of noise, |n|^2 has its median at ln 2 of its mean
        steps = np.abs(np.diff(values[:, pair], axis=-1)) ** 2 * sizes[:, pair, 1:]
        variance = np.median(steps[usable]) / (2 * np.log(2))
        weights[:, pair] = sizes[:, pair] / max(variance, 1e-300)
    return weights


def visibilities_of(array, products, spectra, frequencies, model, times):
    """
    Returns Visibilities like read_visibilities(), from the integrations of the X-engine.

    Parameters
    ----------
    array : ArrayDescription
        Description of the array that has its inputs.
    products : list of array
        Integrations, complex [channel][product].
    spectra : float
        In each of them.
    frequencies : array of float
        [channel], Hz.
    model : SkyModel
    times : array of float
        Their middles, UTC seconds since 1970.
    """
    directions = model.directions(np.asarray(times, float), array)
    places = array.input_positions()
    made = []
    for letter in "xyrl":
        numbers = [
            number for number, entry in enumerate(array.inputs) if entry.polarization == letter
        ]
        if len(numbers) < 2:
            continue
        second, first = np.triu_indices(len(numbers), 1)
        larger, smaller = np.array(numbers)[first], np.array(numbers)[second]
        index = larger * (larger + 1) // 2 + smaller
        baselines = places[larger] - places[smaller]
        total = np.zeros((1, len(index), len(frequencies)), complex)
        sizes = np.zeros(total.shape)
        powers = np.zeros((len(numbers), len(frequencies)))
        for product, direction in zip(products, directions):
            expected = model.visibilities(direction, baselines, frequencies)
            total[0] += product.T[index] * expected.conj()
            sizes[0] += np.abs(expected) ** 2
            powers += product.T[[number * (number + 3) // 2 for number in numbers]].real
        powers /= len(products)
        noise = powers[first] * powers[second]
        weights = spectra * np.divide(sizes, noise, out=np.zeros_like(sizes), where=noise > 0)
        values = np.divide(total, sizes, out=np.zeros_like(total), where=sizes > 0)
        made.append(
            Visibilities(
                letter,
                [array.inputs[number].name for number in numbers],
                Ratios(len(numbers), first, second, values, weights, powers),
            )
        )
    return made


def choose_reference(visibilities, gains, asked):
    """
    Number of the reference of a polarisation's inputs.

    asked: name of an input, or None: the one with the most signal to noise. In an array with two
    polarisations the other one's reference is the same antenna.
    """
    strength = np.median(gains.signal, axis=1)
    if asked is None:
        return int(np.argmax(np.where(np.any(gains.gains != 0, axis=1), strength, -1)))
    antenna, names = asked[:-1], visibilities.names
    if asked in names:
        number = names.index(asked)
    elif antenna + visibilities.letter in names:
        number = names.index(antenna + visibilities.letter)
    else:
        number = None
    if number is None:
        raise CalibrationError(
            "reference",
            f"{asked!r} is not allowed; it must be one of "
            f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}",
        )
    if not np.any(gains.gains[number]):
        raise CalibrationError("reference", f"no signal was found in {names[number]}")
    return number


def fill_channels(values, flagged):
    """Complex values [input][channel], at flagged channels what neighbours say: a parabola through
    those on both sides; at the ends the nearest one."""
    channels = values.shape[-1]
    places = np.arange(channels)
    found = over_channels(values, places, ~flagged, channels)
    usable = np.flatnonzero(~flagged)
    if len(usable):
        between = flagged & (places > usable[0]) & (places < usable[-1])
        if between.any():
            fit = parabolas(values, np.broadcast_to(~flagged, values.shape).astype(float))
            found = np.where(between & np.isfinite(fit), fit, found)
        found[:, usable] = values[:, usable]
    return found


def _inputs_of(visibilities, gains, reference, frequencies):
    """InputCalibrations of a polarisation, and which channels were not measured."""
    center = frequencies[len(frequencies) // 2]
    phasor = np.exp(-1j * np.angle(gains.gains[reference]))
    referred = gains.gains * phasor
    found = np.any(referred != 0, axis=1)
    flagged = gains.flagged.copy()
    lines = []
    for _ in range(SEVERAL):
        lines = [
            fit_line(frequencies, row, np.where(flagged, 0, signal**2), center)
            for row, signal in zip(referred, gains.signal)
        ]
        straight = np.array(
            [
                row * np.exp(-1j * (line.phase - 2 * np.pi * (frequencies - center) * line.delay))
                for row, line in zip(referred, lines)
            ]
        )
        out = np.zeros(len(frequencies), bool)
        if gains.averaged == 1 and found.any():
            out = stand_out(np.where(flagged, np.nan, straight[found])) & ~flagged
        if not out.any():
            break
        flagged |= out
    smooth = fill_channels(straight, flagged)
    bandpasses = np.divide(1, smooth, out=np.zeros_like(smooth), where=smooth != 0)
    made = []
    for number, name in enumerate(visibilities.names):
        line = lines[number]
        quality = Quality(
            float(np.median(gains.signal[number, ~flagged])) if np.any(~flagged) else 0.0,
            float(gains.chi_squares[number]),
            float(gains.misfits[number]),
        )
        own = flagged | (smooth[number] == 0)
        if not found[number]:
            made.append(
                InputCalibration(
                    name,
                    bandpass=np.zeros(len(frequencies), complex),
                    flagged=np.ones(len(frequencies), bool),
                    quality=Quality(0.0),
                )
            )
        else:
            # the F-engine's delay is what makes up for it
            delay, phase, bandpass = -line.delay, -line.phase, bandpasses[number]
            if number == reference:
                delay, phase, bandpass = 0.0, 0.0, np.abs(bandpass)
            made.append(InputCalibration(name, delay, phase, bandpass, own, quality=quality))
    return made, flagged


def calibrate(
    visibilities,
    band,
    model,
    array="",
    measured=None,
    reference=None,
    average=0,
    most_misfit=MOST_MISFIT,
    most_flagged=MOST_FLAGGED,
    leave_out=(),
):
    """
    The calibration that makes visibilities those of a model.

    Parameters
    ----------
    visibilities : list of Visibilities
    band : Band
        Their channels.
    model : SkyModel
    array : str
        The name of the array.
    measured : (float, float)
        UTC seconds since 1970, from when to when the visibilities are.
    reference : str
        Name of the input that is left as it is but for its magnitude; None: that with the most
        signal to noise.
    average : int
        Channels that share a gain; 0: as many as it takes.
    most_misfit : float
        The largest residual, as a part of the model, with which there is a calibration.
    most_flagged : float
        Part of the channels that may not be measured, above which there is none.
    leave_out : sequence of str
        Names of inputs, or of antennas, that take no part: there is no signal in them.

    Returns
    -------
    (Calibration, list of str)
        And what the user is to be told.

    Raises
    ------
    CalibrationError
        There is nothing to calibrate, no signal, or the model is wrong.
    """
    if not visibilities:
        raise CalibrationError(
            "",
            "there are no two inputs of one polarisation in the data that "
            "are not flagged, whose product a calibration could be measured by",
        )
    visibilities = _left_out(visibilities, leave_out)
    frequencies = band.frequencies
    inputs, qualities, references, texts = [], {}, [], []
    for part in visibilities:
        gains = solve(part.ratios, frequencies, average)
        if not np.any(gains.gains):
            raise CalibrationError(
                "source",
                f"{model.name}: no two inputs of polarisation "
                f"{part.letter} correlate: there is no such signal in the data",
            )
        number = choose_reference(part, gains, reference)
        made, flagged = _inputs_of(part, gains, number, frequencies)
        if flagged.all():
            raise CalibrationError(
                "source",
                f"{model.name}: in no channel is there enough signal in polarisation {part.letter}",
            )
        if np.mean(flagged) > most_flagged:
            raise CalibrationError(
                "source",
                f"{model.name}: {100 * np.mean(flagged):.3g} % of the channels could not "
                f"be measured in polarisation {part.letter}, at most {100 * most_flagged:.3g} % "
                "are allowed: there is too little signal, or much interference",
            )
        references.append(part.names[number])
        inputs += made
        signal = np.median(gains.signal[np.any(gains.gains != 0, axis=1)][:, ~flagged])
        qualities[part.letter] = Quality(
            float(signal), float(gains.chi_squared), float(gains.misfit)
        )
        texts += _told(part, gains, flagged, model, most_misfit, frequencies, leave_out)
    return Calibration(
        array=array,
        band=band,
        inputs=inputs,
        source=model.name[:200],
        references=references,
        quality=qualities,
        measured=measured,
        unit=model.unit,
    ), texts


def levels_of(file):
    """Gains for 8 bits that a file says its inputs had, name to gain."""
    try:
        return gains_of(file.keywords.get(GAINS, ""))
    except ValueError as error:
        raise CalibrationError("", f"the file's {error}") from None


def mean_ratios(file, model, integrations=None, levels=None):
    """
    Returns for pictures: products of parallel hands, and for each the mean over time of its ratio
    to the model, complex [product][channel], nan where flagged.
    """
    # not at the top: to load h5py takes as long as to load all else of gnuradio.aperture
    from ..formats.uvh5.reader import Product

    numbers = {name: number for number, name in file.names.items()}
    products, means = [], []
    for part in read_visibilities(file, model, integrations, levels):
        antennas = [numbers[name[:-1]] for name in part.names]
        ratios = part.ratios
        total = ratios.weights.sum(axis=0)
        with np.errstate(all="ignore"):
            mean = (ratios.weights * ratios.values).sum(axis=0) / total
        for pair, row in enumerate(mean):
            # the file's product is x of its second antenna times conj(x of its first)
            products.append(
                Product(
                    antennas[ratios.second[pair]], antennas[ratios.first[pair]], part.letter * 2
                )
            )
            means.append(np.where(total[pair] > 0, row, np.nan))
    return products, np.array(means)


def intervals_of(file, numbers, seconds):
    """Numbers of a file's integrations in lists, each of which spans `seconds` at most if it is not
    a single one; the next one begins where they are over."""
    found = []
    times = unix_seconds(file.times)
    half = (file.integration_time or 0) / 2
    for number in numbers:
        # half an integration less, as times are rounded
        if not found or times[number] - times[found[-1][0]] > seconds - half:
            found.append([])
        found[-1].append(int(number))
    return found


def calibrate_file(file, model, integrations=None, **options):
    """
    A calibration from a UVH5 file.

    Parameters
    ----------
    file : VisibilityFile
    model : SkyModel
    integrations : array of int
        Numbers of those that are used; None: all.
    **options
        As of `calibrate`.

    Returns
    -------
    (Calibration, list of str)
    """
    band = Band.of(file.frequencies, file.channel_width)
    visibilities = read_visibilities(file, model, integrations, levels_of(file))
    times = unix_seconds(file.times if integrations is None else file.times[integrations])
    half = (file.integration_time or 0) / 2
    washed_out = _washed_out(file, model, times)
    try:
        calibration, texts = calibrate(
            visibilities,
            band,
            model,
            file.telescope,
            (float(times[0] - half), float(times[-1] + half)),
            **options,
        )
    except CalibrationError as error:
        if not washed_out:
            raise
        raise CalibrationError(error.field, f"{error.problem}; {washed_out}") from None
    return calibration, texts + [washed_out] * bool(washed_out)


def _washed_out(file, model, times):
    """Returns what to tell the user where sources moved by a part of a fringe in an integration, as
    they do where nothing was tracked; "": nothing."""
    length = file.integration_time or 0
    if model.is_noise or not length or np.any(file.phase_lengths()):
        return ""
    middle = float(np.mean(times))
    begin, end = model.directions([middle - length / 2, middle + length / 2], file.site)
    places = np.array(list(places_of(file, model).values()))
    # [source][antenna], metres towards the source
    moved = (end - begin) @ places.T
    cycles = float(np.ptp(moved, axis=1).max() * file.frequencies.max() / SPEED_OF_LIGHT)
    if cycles < WASHED_OUT:
        return ""
    return (
        f"an integration of {length:.4g} s is {cycles:.2g} cycles of the fringes on one of the "
        "baselines, which washes them out: record with aperture_fx --track, or shorter "
        "integrations"
    )


def _bad_inputs(part, gains, flagged):
    """Texts that name inputs which stand out of the others: by gain, or by residuals."""
    found = np.flatnonzero(np.any(gains.gains != 0, axis=1))
    if len(found) < FEWEST:
        return []  # nobody knows which of two or three is the odd one
    sizes = np.median(np.abs(gains.gains[found][:, ~flagged]), axis=1)
    misfits = gains.misfits[found]
    texts = []
    for place, number in enumerate(found):
        name = part.names[number]
        others = np.delete(np.arange(len(found)), place)
        part_of = sizes[place] / np.median(sizes[others])
        if not 1 / ODD_GAIN < part_of < ODD_GAIN:
            texts.append(f"{name}: its gain is {part_of:.3g} times that of the others")
        usual = np.median(misfits[others])
        if misfits[place] > max(SUSPICIOUS, ODD_MISFIT * usual):
            texts.append(
                f"{name}: the residuals of its baselines are {100 * misfits[place]:.3g} % of the "
                f"model, those of the others {100 * usual:.3g} %"
            )
    return texts


def _correlating(part, frequencies, names):
    """Returns those names of inputs that correlate with another one."""
    if not names:
        return []
    signal, _ = band_signal(part.ratios, frequencies)
    found = np.concatenate([part.ratios.first, part.ratios.second])[
        np.tile(signal, 2) >= LEAST_SIGNAL
    ]
    return [name for name in names if part.names.index(name) in found]


def _left_out(visibilities, names):
    """The visibilities without weight where an input of these names, or of an antenna, takes
    part."""
    made, known = [], set()
    for part in visibilities:
        out = np.array([name in names or name[:-1] in names for name in part.names])
        known.update(*((name, name[:-1]) for name in part.names))
        ratios = part.ratios
        drop = out[ratios.first] | out[ratios.second]
        weights = np.where(drop[None, :, None], 0, ratios.weights)
        made.append(replace(part, ratios=replace(ratios, weights=weights)))
    for name in names:
        if name not in known:
            raise CalibrationError(
                "leave_out", f"{name} is no input or antenna of {_names(visibilities)}"
            )
    return made


def _names(visibilities):
    """Names of inputs for a message."""
    names = [name for part in visibilities for name in part.names]
    return ", ".join(names[:12]) + ", ..." * (len(names) > 12)


def _told(part, gains, flagged, model, most_misfit, frequencies, left_out=()):
    """Raises CalibrationError where the model is wrong; texts of what else is remarkable."""
    texts = []
    if gains.misfit > most_misfit:
        raise CalibrationError(
            "source",
            f"{model.name} is not what the visibilities of polarisation {part.letter} "
            f"show: {100 * gains.misfit:.3g} % of the model are left as residuals beyond the "
            f"noise (chi-squared {gains.chi_squared:.3g}), at most {100 * most_misfit:.3g} % are "
            "allowed",
        )
    if gains.misfit > SUSPICIOUS:
        texts.append(
            f"polarisation {part.letter}: the residuals are {100 * gains.misfit:.3g} % of "
            f"the model {model.name} beyond the noise (chi-squared "
            f"{gains.chi_squared:.3g}): is it what the array looked at?"
        )
    lost = [
        name
        for name, row in zip(part.names, gains.gains)
        if not np.any(row) and not {name, name[:-1]} & set(left_out)
    ]
    unsteady = _correlating(part, frequencies, lost)
    texts += [
        f"{name}: it correlates with other inputs, but no gain fits what it measured: is its phase "
        "steady? The correction is 0 there"
        for name in unsteady[:MOST_NAMES]
    ]
    silent = [name for name in lost if name not in unsteady]
    if silent:
        texts.append(
            f"no signal was found in {', '.join(silent[:MOST_NAMES])}"
            f"{', ...' if len(silent) > MOST_NAMES else ''}: the correction is 0 there"
        )
    texts += _bad_inputs(part, gains, flagged)
    share = np.mean(flagged)
    if share > 0.5:
        texts.append(
            f"polarisation {part.letter}: {100 * share:.3g} % of the channels could not "
            "be measured, neighbours stand for them"
        )
    if gains.averaged > 1:
        texts.append(
            f"polarisation {part.letter}: {gains.averaged} channels share a gain, because "
            "there is little signal in one"
        )
    return texts
