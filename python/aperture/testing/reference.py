#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Models of the blocks, in float64 and as plain as they can be written.

The blocks are tested against these functions, and they are tested against closed forms
(qa_reference.py). They share no code with the blocks. Slow: for tests, and for reading.

Shapes are written slowest axis first: `spectra [input][spectrum][channel]`. Complex
integers (sc4, sc8, sc16) are integer arrays with a last axis of two, re and im. Formulas and
signs: README and the documentation of the blocks.
"""

import re
from fractions import Fraction

import numpy as np

#: NumPy type of a component, and components of a sample
SAMPLE_TYPES = {
    "fc32": (np.dtype(np.complex64), 1),
    "sc16": (np.dtype(np.int16), 2),
    "sc8": (np.dtype(np.int8), 2),
    "sc4": (np.dtype(np.int8), 2),
    "f32": (np.dtype(np.float32), 1),
    "s16": (np.dtype(np.int16), 1),
    "s12": (np.dtype(np.int16), 1),
    "s10": (np.dtype(np.int16), 1),
    "s8": (np.dtype(np.int8), 1),
}

#: bits of a component, in types whose components lie one after the other, highest bit first
PACKED_BITS = {"sc4": 4, "s12": 12, "s10": 10}


def is_complex(sample_type):
    """Returns whether a sample of the type (a key of SAMPLE_TYPES) is complex."""
    return sample_type in ("fc32", "sc16", "sc8", "sc4")


# ---- samples


def samples_in_item(sample_type, inputs=1):
    """Samples of each input in an item of a port: the fewest that fill whole bytes."""
    dtype, components = SAMPLE_TYPES[sample_type]
    bits = PACKED_BITS.get(sample_type, 8 * dtype.itemsize) * components * inputs
    return 8 // np.gcd(8, bits)


def samples_to_bytes(samples, sample_type):
    """
    Samples as they lie in memory: uint8 [time][bytes of an item].

    samples: [time][input] (of complex integers [time][input][2]) of one port. For packed
      types an item holds samples_in_item() times, and as many must go into the length.
    """
    dtype, _ = SAMPLE_TYPES[sample_type]
    samples = np.ascontiguousarray(samples, dtype=dtype)
    if sample_type in PACKED_BITS:
        width = PACKED_BITS[sample_type]
        components = int(np.prod(samples.shape[1:]))
        times = 8 // np.gcd(8, components * width)
        bits = (samples[..., None] >> np.arange(width)[::-1]) & 1
        rows = bits.reshape(len(samples) // times, times * components * width)
        return np.packbits(rows.astype(np.uint8), axis=1)
    item = int(np.prod(samples.shape[1:])) * dtype.itemsize
    return np.frombuffer(samples.tobytes(), dtype=np.uint8).reshape(len(samples), item)


def samples_from_bytes(data, sample_type, inputs=1):
    """
    The opposite of samples_to_bytes(): [time][input], of complex integers [time][input][2].

    data: bytes, or an array of uint8 of any shape
    """
    dtype, components = SAMPLE_TYPES[sample_type]
    data = np.ascontiguousarray(data).tobytes()
    if sample_type in PACKED_BITS:
        width = PACKED_BITS[sample_type]
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).reshape(-1, width)
        values = (bits @ (1 << np.arange(width)[::-1])).astype(np.int64)
        values = (values - ((values >> (width - 1)) << width)).astype(dtype)
    else:
        values = np.frombuffer(data, dtype=dtype)
    shape = (-1, inputs, 2) if components == 2 else (-1, inputs)
    return values.reshape(shape)


def decode(samples, sample_type):
    """
    Samples as numbers, and where they were clamped.

    8-bit samples of -128 are read as -127, 4-bit ones of -8 as -7. A complex sample counts
    once.

    samples: [...] (complex integers [...][2])
    Returns complex128 or float64 [...], and bool [...]
    """
    if sample_type == "fc32":
        values = np.asarray(samples, dtype=np.complex128)
        return values, np.zeros(values.shape, dtype=bool)
    values = np.asarray(samples, dtype=np.float64)
    low = np.zeros(values.shape, dtype=bool)
    lowest = {"sc8": -128, "s8": -128, "sc4": -8}.get(sample_type)
    if lowest is not None:
        low = values == lowest
        values = np.where(low, lowest + 1, values)
    if is_complex(sample_type):
        return values[..., 0] + 1j * values[..., 1], low.any(axis=-1)
    return values, low


def quantise(values):
    """
    Complex numbers as sc8: re and im rounded half to even, limited to -127 ... 127.

    values: complex [...]
    Returns int8 [...][2], and bool [...]: where re or im did not fit
    """
    values = np.asarray(values)
    rounded = np.rint(np.stack([values.real, values.imag], axis=-1))
    clamped = (np.abs(rounded) > 127).any(axis=-1)
    return np.clip(rounded, -127, 127).astype(np.int8), clamped


# ---- prototype filter


def window(name, length):
    """
    Symmetric window w[j], j = 0 ... length-1, with u = 2 j / (length-1) - 1:

    rect 1, hann (1 + cos(pi u))/2, hamming 0.54 + 0.46 cos(pi u),
    blackman 0.42 + 0.5 cos(pi u) + 0.08 cos(2 pi u),
    kaiser(beta) I0(beta sqrt(1 - u^2)) / I0(beta)
    """
    u = 2 * np.arange(length) / (length - 1) - 1
    cosines = {
        "rect": (1, 0, 0),
        "hann": (0.5, 0.5, 0),
        "hamming": (0.54, 0.46, 0),
        "blackman": (0.42, 0.5, 0.08),
    }
    if name in cosines:
        return sum(a * np.cos(i * np.pi * u) for i, a in enumerate(cosines[name]))
    kaiser = re.fullmatch(r"kaiser\(([^)]*)\)", name)
    if not kaiser:
        raise ValueError(
            f"window: {name!r} is not allowed: hann, hamming, blackman, rect, kaiser(beta)"
        )
    beta = float(kaiser.group(1))
    return np.i0(beta * np.sqrt(np.maximum(0, 1 - u**2))) / np.i0(beta)


def prototype(hop, taps, window_name="hann"):
    """
    h[j] = c sinc((j - (L-1)/2) / hop) w[j], j = 0 ... L-1, L = taps hop, sum h^2 = 1.

    hop: n for n channels of complex samples, 2n for n channels of real ones
    Returns float64 [L]
    """
    length = taps * hop
    j = np.arange(length)
    h = np.sinc((j - (length - 1) / 2) / hop) * window(window_name, length)
    return h / np.sqrt(np.sum(h**2))


def response(h, frequency):
    """
    H(f) = sum_j h[j] exp(2 pi i f j): what the filter makes of a tone that lies `frequency`
    (cycles a sample) above the middle of a channel.

    frequency: [...]; returns complex128 [...]
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    return np.exp(2j * np.pi * frequency[..., None] * np.arange(len(h))) @ h


# ---- channeliser


def spectra_of(samples, hop, taps, oversampling=1):
    """Whole spectra that fit: floor(samples/hop) - taps + 1, and not below 0. Oversampled, one
    begins every hop/oversampling samples."""
    return max(0, (samples - taps * hop) // int(hop / Fraction(oversampling)) + 1)


def pfb(samples, channels, h, inverted=False, missing=None, oversampling=1):
    """
    Polyphase filter bank.

    Complex samples, n channels:
      y_k[m] = sum_j h[j] x[m n + j] exp(-2 pi i (k - n/2) j / n)
    Real samples, n channels of a transform of 2n points:
      y_k[m] = sum_j h[j] x[2 n m + j] exp(-2 pi i k j / (2n)), k = 0 ... n-1
    inverted: complex samples are conjugated first; of real ones y_k becomes
      conj(y_(n-1-k)).
    oversampling: P/Q, anything that Fraction() takes: spectrum m begins at sample m D, D = n Q/P
      (2n Q/P), and j is m D + j in the exponent.

    samples: [...][time], complex or real
    h: [taps n], or [taps 2n]
    missing: bool [...][spectrum] of spectra that are zeros, as from missing_spectra()
    Returns complex128 [...][spectrum][channel]
    """
    samples = np.asarray(samples)
    real = not np.iscomplexobj(samples)
    if inverted and not real:
        samples = samples.conj()
    hop = 2 * channels if real else channels
    taps = len(h) // hop
    count = spectra_of(samples.shape[-1], hop, taps, oversampling)
    begins = np.arange(count) * int(hop / Fraction(oversampling))
    h = np.asarray(h, dtype=np.float64).reshape(taps, hop)
    # exp(-2 pi i (k - n/2) j / n) has period n in j: the taps of a branch can be summed
    folded = np.zeros(samples.shape[:-1] + (count, hop), dtype=np.complex128)
    for tap in range(taps):
        folded += h[tap] * samples[..., begins[:, None] + tap * hop + np.arange(hop)]
    # bin k of the transform is of the frequency k/hop, negative ones behind
    turns = np.multiply.outer(begins % hop, np.arange(hop)) % hop / hop
    spectra = np.fft.fft(folded, axis=-1) * np.exp(-2j * np.pi * turns)
    if real:
        spectra = spectra[..., :channels]
        if inverted:
            spectra = spectra[..., ::-1].conj()
    else:
        spectra = np.roll(spectra, channels // 2, axis=-1)
    if missing is not None:
        spectra = np.where(np.asarray(missing)[..., None], 0, spectra)
    return spectra


def upchannelise(spectra, fine, h, oversampling=1, coarse=None, coarse_taps=1, missing=None):
    """
    Filter banks in the channels of another one.

    z_(k,f)[m] = g_f sum_j h[j] y_k[m M + j] exp(-2 pi i (f - floor(fine/2)) (m M + j) / M), with
    M = fine P/Q.

    spectra: [...][time][channel], y_k
    h: [taps M]
    oversampling: P/Q of these channels
    coarse: the prototype that they were made with, [coarse_taps points]; None: g_f is 1, otherwise
      sqrt(points Q/P) / |H((f - floor(fine/2)) / fine)|, H with a sum of squares of 1
    missing: bool [...][spectrum] of fine spectra that are zeros
    Returns complex128 [...][spectrum][channel x fine]
    """
    points = int(fine * Fraction(oversampling))
    offsets = np.arange(fine) - fine // 2
    bank = pfb(np.swapaxes(np.asarray(spectra), -1, -2), points, h)
    found = np.moveaxis(bank[..., points // 2 + offsets], -3, -2)
    if coarse is not None:
        length = len(coarse) // coarse_taps
        shape = np.abs(response(coarse, offsets / fine / length)) / np.sqrt(np.sum(coarse**2))
        found = found * np.sqrt(length / float(Fraction(oversampling))) / shape
    found = found.reshape(found.shape[:-2] + (-1,))
    if missing is not None:
        found = np.where(np.asarray(missing)[..., None], 0, found)
    return found


def delayed_pfb(samples, channels, h, delay, phase=0.0, inverted=False, oversampling=1):
    """
    Polyphase filter bank of an input that is delayed, to line it up with others: what a
    tone in the middle of channel k becomes is that of pfb() times
      exp(i (phase - 2 pi (f_k - f_c) delay)),
    f_k the frequency of channel k at baseband, f_c that of channel n/2. Whole samples of the
    delay shift the input, which does so to all frequencies; what is left of it is a slope
    over the channels.

    samples: [time], complex or real; before the first one and behind the last lie zeros
    delay: in samples, phase: in radians; [spectrum] or one for all. The whole samples are
      those of the first delay
    Returns complex128 [spectrum][channel]
    """
    samples = np.asarray(samples)
    real = not np.iscomplexobj(samples)
    length = 2 * channels if real else channels
    delay = np.atleast_1d(np.asarray(delay, dtype=np.float64))
    whole = int(np.rint(delay[0]))
    time = np.arange(samples.shape[-1]) - whole
    inside = (time >= 0) & (time < len(time))
    shifted = np.where(inside, samples[np.clip(time, 0, len(time) - 1)], 0)
    spectra = pfb(shifted, channels, h, inverted, oversampling=oversampling)
    # cycles by which the shift and by which the delay rotate channel k
    k = np.arange(channels)
    wanted = -(k - channels // 2) / length * delay[:, None]
    frequency = k - (0 if real else channels // 2)
    if real and inverted:
        frequency = k - channels + 1
    rotated = -frequency / length * whole
    phase = np.atleast_1d(np.asarray(phase, dtype=np.float64))[:, None]
    return spectra * np.exp(1j * phase + 2j * np.pi * (wanted - rotated))


# ---- lost samples


def lay_out(items, losses=(), start=0):
    """
    Places the items of a port on the clock that all ports share.

    items: [item][...]
    losses: (item, length) for each loss just before `item`; a length of 0 is one of
      unknown length
    start: tick (a moment of that clock, one item long) of the first item; those before
      tick 0 are dropped
    Returns the items at ticks 0, 1, ... with zeros where there are none, and
      int [tick]: which uninterrupted stretch it belongs to, -1 for none
    """
    items = np.asarray(items)
    pieces = np.split(np.arange(len(items)), [item for item, _ in losses])
    lengths = [0] + [length for _, length in losses]
    end = start + len(items) + sum(lengths)
    laid_out = np.zeros((max(0, end),) + items.shape[1:], dtype=items.dtype)
    stretch = np.full(max(0, end), -1)
    tick = start
    for number, (piece, length) in enumerate(zip(pieces, lengths)):
        tick += length
        at = tick + np.arange(len(piece))
        kept = at >= 0
        laid_out[at[kept]] = items[piece[kept]]
        stretch[at[kept]] = number
        tick += len(piece)
    return laid_out, stretch


def missing_spectra(stretch, hop, taps, oversampling=1):
    """
    Spectra that are lost because a sample under their prototype is, or because samples were
    lost between two of them.

    stretch: int [tick] from lay_out()
    Returns bool [spectrum]
    """
    stretch = np.asarray(stretch)
    step = int(hop / Fraction(oversampling))
    count = spectra_of(len(stretch), hop, taps, oversampling)
    windows = [stretch[m * step : m * step + taps * hop] for m in range(count)]
    return np.array([w[0] < 0 or (w != w[0]).any() for w in windows], dtype=bool)


# ---- corner turn


def corner_turn(spectra, spectra_per_frame, first_channel=0, selected_channels=0, missing=None):
    """
    Frames, in which time is the fastest axis. The last one is filled with zeros.

    spectra: [input][spectrum][channel] (complex integers [input][spectrum][channel][2])
    selected_channels: 0 for all from first_channel on
    missing: bool [input][spectrum]
    Returns [frame][channel][input][time] (complex integers with the axis of 2 behind it),
      and bool [frame][input][time]: missing, the padding included
    """
    spectra = np.asarray(spectra)
    inputs, count, channels = spectra.shape[:3]
    end = first_channel + selected_channels if selected_channels else channels
    frames = -(-count // spectra_per_frame)
    padded = np.zeros((inputs, frames * spectra_per_frame) + spectra.shape[2:], dtype=spectra.dtype)
    padded[:, :count] = spectra
    lost = np.ones((inputs, frames * spectra_per_frame), dtype=bool)
    lost[:, :count] = False if missing is None else missing
    padded = padded[:, :, first_channel:end]
    padded = padded.reshape((inputs, frames, spectra_per_frame) + padded.shape[2:])
    # [input][frame][time][channel] -> [frame][channel][input][time]
    voltages = np.moveaxis(padded, (1, 3, 0, 2), (0, 1, 2, 3))
    return voltages, lost.reshape(inputs, frames, spectra_per_frame).swapaxes(0, 1)


# ---- correlator


def products(inputs):
    """Pairs (a, b), a >= b, in the order of their index a (a+1)/2 + b."""
    return [(a, b) for a in range(inputs) for b in range(a + 1)]


def correlate(voltages, frames=1, missing=None, normalise=True):
    """
    V[a,b] = sum_t x_a(t) conj(x_b(t)), summed over `frames` frames; the last integration
    may have fewer.

    voltages: [frame][channel][input][time], complex or int8 [frame][channel][input][time][2]
    missing: bool [frame][input][time]; those voltages have to be zero
    normalise: divide each product by the spectra that neither of its inputs misses; 0
      where there are none
    Returns [integration][channel][product]: complex128, or of integers complex64, which is
      the exact sum times the scale, rounded once; and the spectra that were counted, int64
      [integration][product]
    """
    voltages = np.asarray(voltages)
    integers = not np.iscomplexobj(voltages)
    count, channels, inputs, times = voltages.shape[:4]
    pairs = products(inputs)
    rows, columns = np.array(pairs).T
    if missing is None:
        missing = np.zeros((count, inputs, times), dtype=bool)
    there = ~np.asarray(missing)
    integrations = -(-count // frames)
    dtype = np.complex64 if integers else np.complex128
    visibilities = np.zeros((integrations, channels, len(pairs)), dtype=dtype)
    counted = np.zeros((integrations, len(pairs)), dtype=np.int64)
    for i in range(integrations):
        part = slice(i * frames, (i + 1) * frames)
        both = there[part].astype(np.int64)
        counted[i] = np.einsum("bit,bjt->ij", both, both)[rows, columns]
        scale = np.ones(len(pairs))
        if normalise:
            scale = np.where(counted[i] > 0, 1 / np.maximum(counted[i], 1), 0)
        # [channel][input][frame and time]
        x = np.moveaxis(voltages[part], 0, 2)
        x = x.reshape((channels, inputs, -1) + voltages.shape[4:])
        if integers:
            re, im = (x[..., c].astype(np.int64) for c in (0, 1))
            re_t, im_t = re.swapaxes(1, 2), im.swapaxes(1, 2)
            sums_re = (re @ re_t + im @ im_t)[:, rows, columns]
            sums_im = (im @ re_t - re @ im_t)[:, rows, columns]
            visibilities[i].real = sums_re.astype(np.float64) * scale
            visibilities[i].imag = sums_im.astype(np.float64) * scale
        else:
            x = x.astype(np.complex128)
            sums = x @ x.conj().swapaxes(1, 2)
            visibilities[i] = sums[:, rows, columns] * scale
    return visibilities, counted


def select(visibilities, pairs):
    """
    Some products: V[a,b], which is conj(V[b,a]) where a < b.

    visibilities: [...][product]
    pairs: (a, b) of input numbers
    Returns [...] for each pair
    """
    picked = []
    for a, b in pairs:
        high, low = max(a, b), min(a, b)
        product = visibilities[..., high * (high + 1) // 2 + low]
        picked.append(product if a >= b else product.conj())
    return picked


# ---- beams


def beamform(voltages, weights, gains=1.0):
    """
    y_m(t) = gain_m sum_i w[m,i] x_i(t), nothing conjugated.

    voltages: complex [frame][channel][input][time]
    weights: [channel][beam][input]; gains: [beam]
    Returns complex128 [frame][channel][beam][time]
    """
    gains = np.asarray(gains, dtype=np.float64)[..., None]
    return gains * np.einsum("kmi,bkit->bkmt", weights, np.asarray(voltages, np.complex128))


def lost_beams(missing, used):
    """
    Spectra of beams that are missing: where all inputs are that the beam uses; of a beam that
    uses none, where all inputs are.

    missing: bool [frame][input][time]; used: bool [beam][input]
    Returns bool [frame][beam][time]
    """
    used = used | ~used.any(axis=1, keepdims=True)
    return ~(np.einsum("bit,mi->bmt", ~missing, used) > 0)


def detect(beams, spectra, products="power", basis="linear", summed=1, mean=True, missing=None):
    """
    Powers of beams, or of their pairs 2m, 2m+1, x and y (circular: r and l).

    beams: complex [frame][channel][beam][time]
    spectra: in an integration; the last one may have fewer
    summed: neighbouring channels that become one
    missing: bool [frame][beam][time]; those voltages have to be zero
    mean: each part (|x|^2, |y|^2, x conj(y)) divided by its own count, and by `summed`
    Returns float64 [integration][beam or pair][product][channel], and the counts, int64
      [integration][beam or pair][product]: of products of both beams, where neither is
      missing
    """
    count, channels, number, times = beams.shape
    beams = np.moveaxis(beams, 0, 2).reshape(channels, number, count * times)
    there = np.ones((number, count * times), dtype=bool)
    if missing is not None:
        there = ~np.moveaxis(missing, 0, 1).reshape(number, count * times)
    x, y = (beams, beams) if products == "power" else (beams[:, ::2], beams[:, 1::2])
    has_x, has_y = (there, there) if products == "power" else (there[::2], there[1::2])
    starts = np.arange(0, count * times, spectra)

    def total(values, has):
        """[channel][row][time] -> [integration][row][channel], and what was counted."""
        sums = np.add.reduceat(values, starts, axis=2)
        sums = sums.reshape(channels // summed, summed, *sums.shape[1:]).sum(axis=1)
        counts = np.add.reduceat(has.astype(np.int64), starts, axis=1)
        if mean:
            sums = sums * np.where(counts > 0, 1 / np.maximum(counts, 1), 0) / summed
        return np.moveaxis(sums, (0, 1, 2), (2, 1, 0)), counts.T

    (xx, count_x), (yy, count_y) = total(abs(x) ** 2, has_x), total(abs(y) ** 2, has_y)
    xy, count_xy = total(x * y.conj(), has_x & has_y)
    made = {
        "power": [xx],
        "I": [xx + yy],
        "coherency": [xx, yy, xy.real, xy.imag],
        "IQUV": [xx + yy, xx - yy, 2 * xy.real, 2 * xy.imag]
        if basis == "linear"
        else [xx + yy, 2 * xy.real, 2 * xy.imag, xx - yy],
    }[products]
    counts = [count_xy] * len(made)
    if products == "coherency":
        counts = [count_x, count_y, count_xy, count_xy]
    return np.stack(made, axis=2), np.stack(counts, axis=2)


# ---- what the tags of an edge say


def channel_frequencies(rx_freq, bandwidth, channels):
    """Sky frequencies of the channels of an edge: rx_freq + (k - floor(n/2)) bandwidth/n."""
    return rx_freq + (np.arange(channels) - channels // 2) * bandwidth / channels


def pfb_edge(rx_freq, rx_rate, channels, taps, real=False, inverted=False, oversampling=1):
    """
    Tags behind the channeliser, as a dictionary, from those before it.

    rx_freq: sky frequency of the middle of the band, Hz: baseband 0 of complex samples and a
      quarter of the rate of real ones. That is channel n/2, but where the channels of real
      samples are reversed, bin n/2 becomes channel n - 1 - n/2.
    `delay` is what is to be added to rx_time: the middle of the taps*hop samples of a
    spectrum lies (taps*hop - 1)/2 sample intervals behind the first.
    """
    hop = 2 * channels if real else channels
    spacing = rx_rate / hop
    if real and inverted:
        rx_freq += (channels // 2 - (channels - 1 - channels // 2)) * spacing
    step = int(hop / Fraction(oversampling))
    return {
        "rx_freq": rx_freq,
        "rx_rate": rx_rate / step,
        "bandwidth": channels * spacing,
        "samples_per_item": step,
        "delay": (taps * hop - 1) / 2 / rx_rate,
    }


def corner_turn_edge(edge, channels, spectra_per_frame, first_channel=0, selected_channels=0):
    """Tags behind corner_turn from those before it (dictionaries as of pfb_edge())."""
    selected = selected_channels or channels - first_channel
    spacing = edge["bandwidth"] / channels
    offset = first_channel + selected // 2 - channels // 2
    return {
        "rx_freq": edge["rx_freq"] + offset * spacing,
        "rx_rate": edge["rx_rate"] / spectra_per_frame,
        "bandwidth": selected * spacing,
        "samples_per_item": edge["samples_per_item"] * spectra_per_frame,
        "delay": edge["delay"],
    }


def detector_edge(edge, channels, spectra_per_frame, spectra, summed=1):
    """Tags behind power_detector from those before it (dictionaries as of pfb_edge())."""
    made = channels // summed
    middle = made // 2 * summed + (summed - 1) / 2
    return {
        **edge,
        "rx_freq": edge["rx_freq"] + (middle - channels // 2) * edge["bandwidth"] / channels,
        "rx_rate": edge["rx_rate"] * spectra_per_frame / spectra,
        "samples_per_item": edge["samples_per_item"] * spectra // spectra_per_frame,
    }


def xengine_edge(edge, frames):
    """Tags behind xengine from those before it (dictionaries as of pfb_edge())."""
    return {
        **edge,
        "rx_rate": edge["rx_rate"] / frames,
        "samples_per_item": edge["samples_per_item"] * frames,
    }
