#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""UVH5 files: what visibilities and an array description become in them.

The format is that of pyuvdata's UVH5 memo (version 1.2), for visibilities of one phase centre,
which may be `unprojected`. uvh5_writer.py writes such files, and
uvh5_reader.py reads them.
"""

import contextlib
import re
from dataclasses import dataclass

import numpy as np

from ...parameters.ascii_text import ascii_names
from ...parameters.rules import refuse

#: polarisation products -> code of the format (AIPS memo 117): first of ant_1, then of ant_2
POLARIZATIONS = {"xx": -5, "yy": -6, "xy": -7, "yx": -8, "rr": -1, "ll": -2, "rl": -3, "lr": -4}

#: extra keyword with the gains for 8 bits by which the voltages were multiplied
GAINS = "GAINS"
#: the extra keyword CALSTATE of visibilities that no calibration has corrected
NOT_APPLIED = "not applied"

#: group of a file, beside Header and Data, with statistics of inputs, which other programs ignore
STATISTICS = "InputStatistics"
#: datasets [measurement][input]
MEASURED = ("rms_re", "rms_im", "kurtosis", "clamped", "missing")

#: entries of the header that each row, a baseline of an integration, has
OF_ROWS = (
    "time_array",
    "integration_time",
    "lst_array",
    "ant_1_array",
    "ant_2_array",
    "uvw_array",
    "phase_center_id_array",
    "phase_center_app_ra",
    "phase_center_app_dec",
    "phase_center_frame_pa",
)

#: parts of an integration by which the next one may begin before it ends
OVERLAP = 0.25
CHUNK = 1 << 20  # bytes of visibilities
BITSHUFFLE = 32008  # the HDF5 Group's number of this filter
#: the name of a compression -> the arguments of h5py; all without loss. Every installation of h5py
#: reads the first three; their bytes are shuffled, since the exponents of neighbours are alike.
COMPRESSIONS = {
    "none": {},
    "lzf": {"compression": "lzf", "shuffle": True},
    "gzip": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
    # blocks of a size that it chooses, each compressed by LZ4
    "bitshuffle": {"compression": BITSHUFFLE, "compression_opts": (0, 2)},
}


def clear_not_numbers(visibilities, samples, flags=None):
    """
    Makes visibilities that are no numbers (NaN, or infinite) 0, in place, and takes their samples:
    other programs take none, not even under flags, where programs of calibration leave them.

    Parameters
    ----------
    visibilities : array of complex
    samples, flags : arrays of the same shape
        flags may be None.

    Returns
    -------
    int
        How many were not flagged, and had samples.
    """
    wrong = ~np.isfinite(visibilities)
    if not wrong.any():
        return 0
    used = wrong & (samples > 0) if flags is None else wrong & (samples > 0) & ~flags
    visibilities[wrong] = 0
    samples[wrong] = 0
    if flags is not None:
        flags[wrong] = True
    return np.count_nonzero(used)


def is_baseline_dependent(seconds, lengths):
    """
    True if integrations of some baselines are longer than those of others at their time, as those
    of baseline-dependent averages are.

    seconds, lengths: of each row, the middle of its integration and how long it is.
    """
    times, first, number = np.unique(seconds, return_index=True, return_inverse=True)
    each = lengths[first]
    if not np.allclose(lengths, each[number], rtol=1e-6):
        return True
    return bool(np.any(np.diff(times) < (1 - OVERLAP) * (each[:-1] + each[1:]) / 2))


def create_data(group, shape, integrations=0, dtype=np.complex64, **compression):
    """
    Makes the datasets of visibilities, flags and samples.

    Parameters
    ----------
    group : h5py.Group
    shape : tuple
        [baseline][channel][polarisation] of an integration.
    integrations : int
        How many there are; 0: they will be appended.
    dtype : numpy.dtype
        Of the visibilities.
    compression
        Arguments of h5py for the visibilities.
    """
    most = None if integrations else (None, *shape[1:])
    size = dict(
        shape=(integrations * shape[0], *shape[1:]), maxshape=most, chunks=chunk_shape(shape)
    )
    group.create_dataset("visdata", dtype=dtype, **size, **compression)
    # both hardly vary, and where all was there, nothing is stored; gzip is the filter that every
    # HDF5 library has
    for name, value in (("flags", False), ("nsamples", np.float32(1))):
        group.create_dataset(
            name, dtype=type(value), fillvalue=value, compression="gzip", compression_opts=1, **size
        )


def chunk_shape(shape):
    """
    The shape of chunks, each of which is compressed and written once: of all baselines, and of so
    many channels that they take no more than 1 MiB, which stays in a processor's cache (and in
    HDF5's), but at least 8, for who reads a baseline. Channels are divided evenly where that is
    near.
    """
    baselines, channels, polarizations = shape
    most = max(8, CHUNK // (8 * baselines * polarizations))
    least = -(-channels // most)
    parts = next((n for n in range(least, 2 * least) if channels % n == 0), least)
    return baselines, -(-channels // parts), polarizations


def has_bitshuffle(dataset):
    """Returns whether a dataset of h5py's is compressed with it."""
    filters = dataset.id.get_create_plist()
    return BITSHUFFLE in (filters.get_filter(i)[0] for i in range(filters.get_nfilters()))


def load_bitshuffle():
    """Makes h5py know bitshuffle; PackageError, with the command that installs it: it cannot."""
    # not at the top: to load h5py takes as long as to load all else of gnuradio.aperture, and
    # what few need shall cost nobody else anything
    import h5py

    from ...packages import environment

    if not h5py.h5z.filter_avail(BITSHUFFLE):
        environment.load("hdf5plugin", "compression")


def gains_text(names, gains):
    """Gains for 8 bits as a file has them in its extra keyword GAINS: "A1x:12.5 A2x:13.1"."""
    return " ".join(f"{name}:{gain:.9g}" for name, gain in zip(ascii_names(names), gains))


def gains_of(text):
    """Name to gain of what gains_text() makes; ValueError: it is something else."""
    found, end = {}, 0
    # names may have blanks in them
    for match in re.finditer(r"\s*(\S.*?):([-+.\dEe]+)(?=\s|$)", text):
        if match.start() != end:
            break
        with contextlib.suppress(ValueError):
            if 0 < float(match[2]) < np.inf:
                found[match[1]] = float(match[2])
                end = match.end()
    if text[end:].strip():
        raise ValueError(f"{GAINS} has {text[end:].split()[0]!r}, which is no gain")
    return found


def entry_text(value):
    """An entry of a header as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def ascii_entry(value):
    """An entry of a header, as h5py gives it, with its texts in ASCII; others as they are."""
    array = np.asarray(value)
    if array.dtype.kind not in "SUO":
        return value
    texts = [entry_text(text) for text in array.ravel()]
    found = np.array([name.encode() for name in ascii_names(texts)], "S").reshape(array.shape)
    return found if array.shape else np.bytes_(found[()])


def _name_key(name):
    """Sorts A2 before A10; names that differ only in leading zeros keep an order."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], name


@dataclass(frozen=True)
class ProductMap:
    """
    A map of products of the X-engine to baselines and polarisations of the file.

    Antennas are numbered from 0 in the order of their names, whatever their order and that of
    the inputs is in the array description, so that the file does not depend on it.
    """

    #: Antenna of each number: all of the array description, with or without inputs
    antennas: list
    #: "x", "y" or "r", "l": feeds that are in use
    feeds: str
    #: "xx", "yy", ... in the order of the file's last axis
    polarizations: list
    #: [baseline]: numbers of the antennas, ant_1 <= ant_2; a baseline whose averages are shorter
    #: than those of others comes several times in an integration
    ant_1: np.ndarray
    ant_2: np.ndarray
    #: [baseline][polarisation]: index of the X-engine's product, -1: there is none
    product: np.ndarray
    #: [baseline][polarisation]: whether the product is to be conjugated
    conjugate: np.ndarray
    #: number of the products that come
    products: int
    #: [(number, count)], the parts of an integration that rows have: part `number`, from 0, of
    #: `count` equal ones, in order of time
    parts: list
    #: [part]: its number in the order in which products name them first
    order_of_parts: list
    #: [baseline]: index of its part
    part: np.ndarray

    def order(self):
        """Returns a `baselines.baseline_order`, which makes what stands in a file."""
        # the bindings, which the server of monitoring, a reader of this, does without
        from ... import baselines  # pylint: disable=import-outside-toplevel

        own = np.array([name[0] == name[1] for name in self.polarizations])
        # rounding may leave an imaginary part that an autocorrelation cannot have
        real = (self.ant_1 == self.ant_2)[:, np.newaxis] & own
        return baselines.baseline_order(self.products, self.product, self.conjugate, real)

    def fractions(self, counted, spectra):
        """Counted spectra of each product, or of all -> [baseline][polarisation], 0 to 1. spectra:
        of each of the parts, or of all."""
        counted = np.asarray(counted)
        spectra = np.broadcast_to(spectra, len(self.parts))[self.part][:, np.newaxis]
        if counted.ndim == 2:
            of_each = counted[:, self.product].swapaxes(0, 1)
            return np.where(self.product[:, np.newaxis] >= 0, of_each / spectra[:, np.newaxis], 0)
        if counted.size == 1:
            counted = np.broadcast_to(counted.reshape(1), (self.products,))
        return np.where(self.product >= 0, counted[self.product] / spectra, 0)


def all_products(inputs):
    """The products of an X-engine, in its order, as map_products() takes them."""
    return [(a, b, 0, 1) for a in range(inputs) for b in range(a + 1)]


def check_products(products, inputs):
    """
    Products of an array's inputs as (a, b, number, count), of a list of (a, b), or of (a, b,
    number, count), which is of part `number`, from 0, of `count` equal ones of an integration.

    Raises ParameterError, which names the entry.
    """
    found = []
    for entry in products:
        whole = tuple(entry) + (0, 1)[: max(0, 4 - len(entry))] if len(entry) in (2, 4) else ()
        if (
            len(whole) != 4
            or not all(isinstance(each, (int, np.integer)) for each in whole)
            or not all(0 <= each < inputs for each in whole[:2])
            or not 0 <= whole[2] < whole[3]
        ):
            refuse(
                "products",
                entry,
                f"a pair of inputs from 0 to {inputs - 1}, or with it a part of an integration and "
                "their number, (a, b, 0, 2)",
            )
        found.append(tuple(map(int, whole)))
    if not found:
        refuse("products", "an empty list", "one product or more")
    of_part = [(max(a, b), min(a, b), number, count) for a, b, number, count in found]
    if len(set(of_part)) < len(of_part):
        twice = next(each for i, each in enumerate(of_part) if each in of_part[:i])
        refuse("products", twice, "a product that there is once")
    return found


def map_products(array, products=None):
    """
    The one place that says which product is which in a UVH5 file.

    The X-engine has V[a,b] = sum_t x_a conj(x_b) for inputs a >= b at index a(a+1)/2 + b; the
    file's (ant_1, ant_2, pq) is conj(x_p of ant_1) x_q of ant_2: V[a,b] where the input of
    ant_2 has the larger index, its conjugate otherwise. Autocorrelations of an antenna carry
    both cross-hands.

    Parameters
    ----------
    array : ArrayDescription
    products : list
        Those that there are, as check_products() returns them; None: all, in the X-engine's order.

    Returns
    -------
    ProductMap

    Raises
    ------
    ValueError
        Linear and circular polarisations in one array, or one input twice.
    """
    antennas = sorted(array.antennas, key=lambda antenna: _name_key(antenna.name))
    number = {antenna.name: i for i, antenna in enumerate(antennas)}
    inputs = {}
    for i, signal in enumerate(array.inputs):
        key = number[signal.antenna], signal.polarization
        if key in inputs:
            raise ValueError(
                f"inputs {inputs[key]} and {i} of the array description are both "
                f"{signal.antenna} {signal.polarization}: a UVH5 file holds one"
            )
        inputs[key] = i
    found = {polarization for _, polarization in inputs}
    for feeds in ("xy", "rl"):
        if found <= set(feeds):
            break
    else:
        raise ValueError(
            f"polarisations {', '.join(sorted(found))} are in one array: a UVH5 "
            "file holds either x and y or l and r"
        )
    feeds = "".join(feed for feed in feeds if feed in found)
    names = [name for name in POLARIZATIONS if set(name) <= set(feeds)]

    if products is None:
        products = all_products(len(array.inputs))
    parts = sorted(
        {tuple(each[2:]) for each in products}, key=lambda part: (part[0] + 0.5) / part[1]
    )
    numbers = {each: number for number, each in enumerate(parts)}
    named = list(dict.fromkeys(each[2:] for each in products))
    place = {signal: key for key, signal in inputs.items()}
    rows, columns = {}, {name: column for column, name in enumerate(names)}
    for index, (a, b, *part) in enumerate(products):
        # an autocorrelation of an antenna has both of its cross-hands
        for first, second in {(a, b), (b, a)}:
            (one, p), (two, q) = place[first], place[second]
            if one <= two:
                key = numbers[tuple(part)], one, two
                rows.setdefault(key, {})[columns[p + q]] = index, first == a
    product = np.full((len(rows), len(names)), -1)
    conjugate = np.zeros(product.shape, bool)
    for row, key in enumerate(sorted(rows)):
        for column, (index, conjugated) in rows[key].items():
            product[row, column], conjugate[row, column] = index, conjugated
    part, ant_1, ant_2 = np.array(sorted(rows)).T
    autos = (ant_1 == ant_2)[:, np.newaxis] & np.array([name[0] == name[1] for name in names])
    conjugate &= ~autos
    return ProductMap(
        antennas,
        feeds,
        names,
        ant_1,
        ant_2,
        product,
        conjugate,
        len(products),
        parts,
        [named.index(each) for each in parts],
        part,
    )
