#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The contents of a UVH5 file that grows: how integrations get into it."""

import os
import zlib
from dataclasses import replace

import h5py
import numpy as np

from .growing_hdf5 import GrowingHdf5
from .header import STATISTICS
from .repeated import deflate_repeated

ROWS, TIMES = "Header/Nblts", "Header/Ntimes"
VISIBILITIES, FLAGS, SAMPLES = "Data/visdata", "Data/flags", "Data/nsamples"
#: name -> value that a file has where there is no chunk, see header.create_data
NOTHING_STORED = {FLAGS: False, SAMPLES: 1}
NO_FILTER = 1  # the mask of a chunk whose only filter was left out
LEVEL = 1  # gzip's, for flags and samples


class Uvh5Contents:
    """
    The contents of a `GrowingFile`: integrations, and InputStatistics.

    An integration is ordered, scaled and written a chunk at a time, of so many channels as stay in
    the processor's cache. Its flags and samples are not stored where all was there, which is what
    a file says of chunks that it does not have; where they do not change along the channels, a
    stream of gzip is composed that says so; what is left is stored as it is, or compressed if the
    visibilities are.

    Parameters
    ----------
    layout : Uvh5Layout
    space : files.growing_file.Space
        Of an empty file.
    """

    def __init__(self, layout, space):
        self._layout, self._space = layout, space
        self._file = GrowingHdf5(space, layout.fill, (ROWS, TIMES))
        self._baselines, self._channels, polarizations = layout.shape
        self._chunk = self._file.chunk(VISIBILITIES)
        self._parts = [
            slice(first, min(first + self._chunk[1], self._channels))
            for first in range(0, self._channels, self._chunk[1])
        ]
        self._waiting, self._statistics = [], []  # pieces whose rows are not written yet
        self._rows = layout.rows_of_each()
        self._count = 0  # integrations
        self._times = 0  # different times
        self._newest = np.empty(0)  # times of the last integration
        # there is one for a whole chunk, and one for the last, which may have fewer channels
        self._buffers = {
            (name, count): np.zeros((self._baselines, count, polarizations), kind)
            for name, kind in ((VISIBILITIES, np.complex64), (FLAGS, bool), (SAMPLES, np.float32))
            for count in {part.stop - part.start for part in self._parts} | {self._chunk[1]}
        }
        self._compressor = (
            _Compressor(self._chunk, layout.compression) if layout.compression else None
        )

    @property
    def roots(self):
        """The states that are published, as GrowingHdf5 has them."""
        return self._file.roots

    @roots.setter
    def roots(self, roots):
        self._file.roots = roots

    def write(self, piece):
        """Adds an Integration, or InputStatistics; after an error, nothing was added."""
        if not hasattr(piece, "visibilities"):
            names = self._layout.statistics_rows([])
            self._file.reserve(dict.fromkeys(names, len(self._statistics) + 1), {})
            self._statistics.append(piece)
            return
        self._file.reserve(
            {name: (len(self._waiting) + 1) * rows for name, rows in self._rows.items()},
            dict.fromkeys((VISIBILITIES, FLAGS, SAMPLES), len(self._parts)),
        )
        end = self._space.end
        try:
            stored = self._data(piece)
        except BaseException:
            self._space.end = end
            raise
        first = self._count * self._baselines
        for name, chunks in stored.items():
            if chunks:
                numbers, addresses, sizes, masks = np.transpose(chunks)
                offsets = np.zeros((len(numbers), 3), int)
                offsets[:, 0], offsets[:, 1] = first, numbers * self._chunk[1]
                self._file.add_chunks(name, offsets, addresses, sizes, masks)
            self._file.grow(name, self._baselines)
        self._waiting.append(replace(piece, visibilities=None, counted=None, factors=None))
        self._count += 1
        # parts of averages that end early may have the same middle, and that of one before
        self._times += len(np.setdiff1d(piece.times, self._newest))
        self._newest = np.unique(piece.times)

    def go_on(self, path, count):
        """
        Takes the first integrations of a file of the same layout, as they are, before any other.

        Raises
        ------
        ValueError
            Its layout is another one: the error names the first entry that differs.
        """
        with h5py.File(path, "r", locking=False) as file:
            self._check(file, path)
            rows = {name: count * each for name, each in self._rows.items()}
            measured = {}
            times = np.unique(file["Header/time_array"][: count * self._baselines])
            if STATISTICS in file:
                end = file["Header/time_array"][rows["Header/time_array"] - 1]
                kept = int(np.sum(file[f"{STATISTICS}/time_array"][:] <= end))
                measured = dict.fromkeys(self._layout.statistics_rows([]), kept)
            chunks = {name: count * len(self._parts) for name in (VISIBILITIES, FLAGS, SAMPLES)}
            self._file.reserve({**rows, **measured}, chunks)
            self._add_rows({name: file[name][:each] for name, each in {**rows, **measured}.items()})
            for name in chunks:
                self._take_chunks(file[name], name, count * self._baselines)
        self._count, self._times, self._newest = count, len(times), times

    def _take_chunks(self, data, name, rows):
        """Takes the stored chunks of a dataset that are among its first rows."""
        for number in range(data.id.get_num_chunks()):
            stored = data.id.get_chunk_info(number)
            if stored.chunk_offset[0] < rows:
                _, values = data.id.read_direct_chunk(stored.chunk_offset)
                address = self._space.allocate(values)
                self._file.add_chunks(
                    name, [stored.chunk_offset], [address], len(values), stored.filter_mask
                )
        self._file.grow(name, rows)

    def _check(self, file, path):
        """Refuses a file that is not of this layout."""
        with h5py.File(f"same {id(self)}", "w", driver="core", backing_store=False) as same:
            self._layout.fill(same)
            names = []
            same.visititems(lambda name, _: names.append(name))
            for name in names:
                if isinstance(same[name], h5py.Group) or name in (ROWS, TIMES):
                    continue
                if name not in file:
                    raise ValueError(f"{path}: was not written by this plan: it has no {name}")
                here, there = (_entry(each[name]) for each in (file, same))
                if not _same(here, there):
                    here, there = _shown(here, there)
                    raise ValueError(
                        f"{path}: was not written by this plan: {name} is {here}, and by the plan "
                        f"{there}"
                    )

    def flush(self):
        """Writes what write() has left for later: the rows of headers."""
        if self._waiting:
            self._add_rows(self._layout.rows(self._waiting))
            self._waiting = []
        if self._statistics:
            self._add_rows(self._layout.statistics_rows(self._statistics))
            self._statistics = []
        self._file.set(ROWS, self._count * self._baselines)
        self._file.set(TIMES, self._times)

    def publish(self, alone):
        """Publishes what was flushed; alone: as `GrowingFile` says."""
        self._file.publish(alone)

    def _add_rows(self, rows):
        for name, values in rows.items():
            self._file.write_rows(name, values)
        for name, values in rows.items():
            self._file.grow(name, len(values))

    def _data(self, integration):
        """Writes an integration's chunks: name -> (number, address, bytes, mask) of each."""
        stored = {VISIBILITIES: [], FLAGS: [], SAMPLES: []}
        order, layout, factors = self._layout.order, self._layout, integration.factors
        wrong = {}  # number of a part -> what is no number in it
        for number, part in enumerate(self._parts):
            values = self._buffers[VISIBILITIES, part.stop - part.start]
            if not order.visibilities(
                integration.visibilities[part], values, None if factors is None else factors[part]
            ):
                wrong[number] = ~np.isfinite(values)
                values[wrong[number]] = 0
            if integration.delays is not None:
                order.rotate(
                    values,
                    integration.delays,
                    layout.frequencies[part.start],
                    layout.frequency_step,
                )
            self._store(stored, VISIBILITIES, number, values)
        if integration.counted.ndim < 2 and not wrong:
            self._store_repeated(stored, self._fractions(integration))
            return stored
        for number, part in enumerate(self._parts):
            fractions, flags = (
                self._buffers[name, part.stop - part.start] for name in (SAMPLES, FLAGS)
            )
            if integration.counted.ndim == 2:
                # counts of parts, which are shorter than others, are divided below
                parts = layout.times > 1
                all_there, any_flagged = order.fractions(
                    integration.counted[part],
                    1 if parts else int(integration.spectra[0]),
                    fractions,
                    flags,
                )
                if parts:
                    fractions /= integration.spectra[layout.map.part][:, np.newaxis, np.newaxis]
                    all_there = (fractions == 1).all()
            else:
                fractions[:] = self._fractions(integration)[:, np.newaxis]
                np.equal(fractions, 0, out=flags)
                all_there, any_flagged = (fractions == 1).all(), flags.any()
            if number in wrong:
                fractions[wrong[number]], flags[wrong[number]] = 0, True
                all_there, any_flagged = False, True
            if not all_there:
                self._store(stored, SAMPLES, number, fractions)
            if any_flagged:
                self._store(stored, FLAGS, number, flags)
        return stored

    def _fractions(self, integration):
        """[baseline][polarisation] of an integration with the same counts in all channels."""
        found = self._layout.map.fractions(integration.counted, integration.spectra)
        return found.astype(np.float32)

    def _store_repeated(self, stored, fractions):
        """Writes flags and samples that are the same in all channels."""
        for name, values in ((FLAGS, fractions == 0), (SAMPLES, fractions)):
            if (values == NOTHING_STORED[name]).all():
                continue
            stream = deflate_repeated(values, self._chunk[1])
            for number in range(len(self._parts)):
                stored[name].append((number, self._space.allocate(stream), len(stream), 0))

    def _store(self, stored, name, number, values):
        """Writes a chunk; one that is cut at the last channel is stored whole."""
        if values.shape != self._chunk:
            whole = self._buffers[name, self._chunk[1]]
            whole[:, : values.shape[1]], whole[:, values.shape[1] :] = values, 0
            values = whole
        mask = 0
        if self._compressor is None:
            mask = 0 if name == VISIBILITIES else NO_FILTER
        elif name == VISIBILITIES:
            mask, values = self._compressor.compress(values)
        else:
            values = zlib.compress(values, LEVEL)
        address = self._space.allocate(values)
        stored[name].append((number, address, memoryview(values).nbytes, mask))


def history_of(path):
    """The history of a file."""
    with h5py.File(path, "r", locking=False) as file:
        return file["Header/history"][()].decode("utf-8", "replace")


def _entry(data):
    """Returns what has to be the same of a dataset: of one that grows its form, of others all."""
    if data.maxshape[:1] != (None,):
        return data[()]
    filters = data.id.get_create_plist()
    names = [filters.get_filter(number)[0] for number in range(filters.get_nfilters())]
    return f"{data.dtype} {data.shape[1:]} in chunks {data.chunks}, filters {names}"


def _same(here, there):
    if np.shape(here) != np.shape(there):
        return False
    if np.asarray(here).dtype.kind == "f":
        # frequencies come from the tags of the stream, which may be rounded
        return bool(np.allclose(here, there, rtol=1e-12, atol=0))
    return bool(np.all(here == there))


def _shown(*values):
    """Texts of values that differ, of long ones from where they do."""
    texts = [
        " ".join((value.decode() if isinstance(value, bytes) else str(value)).split())
        for value in values
    ]
    first = max(0, len(os.path.commonprefix(texts)) - 20)
    return [
        repr(text)
        if max(map(len, texts)) < 100
        else repr(("..." if first else "") + text[first : first + 80])
        for text in texts
    ]


class _Compressor:
    """HDF5's filters, which it applies to a chunk of a file in memory."""

    def __init__(self, chunk, compression):
        # HDF5 knows a file in memory by its name
        name = f"compressed {id(self)}"
        self._file = h5py.File(name, "w", driver="core", backing_store=False, rdcc_nbytes=0)
        self._data = self._file.create_dataset(
            "chunk", chunk, np.complex64, chunks=chunk, **compression
        )

    def compress(self, values):
        """Returns which filters were left out, as bits, and the bytes of a chunk."""
        self._data[...] = values
        self._file.flush()
        return self._data.id.read_direct_chunk((0, 0, 0))
