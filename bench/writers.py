#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what the writers of files take of a processor, each beside write(2) of the same bytes into
as many files in the same place, in turns.

    tools/run python3 bench/writers.py [FOLDER] [--only guppi dada] [--megabytes 200] [--turns 5]
    tools/run build/venv/bin/python bench/writers.py --only ms uvfits     # these need pyuvdata

A figure is MB (1e6 bytes) of files a second of processor, of the block's work() as a flowgraph
calls it, without the start, or of what is called at the end; medians of the turns. `disk` is by the
clock: write(2) of as many bytes, and fsync. Files of visibilities have a program of their own,
uvh5.py.
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gnuradio import gr

from gnuradio.aperture import filterbank_sink, psrfits_search_sink, tags, vdif_sink, voltage_sink
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.dumps.voltage_edge import VoltageEdge, time_first
from gnuradio.aperture.formats.dada.writer import DadaWriter
from gnuradio.aperture.formats.psrfits.profiles import write_profiles
from gnuradio.aperture.formats.voltages import Moment, Recording
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import gr_tags
from gnuradio.aperture.transients.folding import FoldedProfiles

START = (1704067200, 0.0)
CALL = 1 << 20  # bytes: a call of a flowgraph has as many items, or one
PIECE = 1 << 20  # bytes of a plain write
ROW = 256  # samples of a row of PSRFITS in search mode


def driven(block):
    """A class of a sink that is called as by a flowgraph, with the tags of its first item."""

    class Driven(block):
        taken, first = 0, ()

        def nitems_read(self, port):
            return self.taken

        def get_tags_in_window(self, port, begin, end):
            return [] if self.taken else list(self.first)

    return Driven


def through(sink, items, said, size, warm_up=1):
    """Gives a sink items [item][...], again and again, until they are so many bytes. Returns the
    seconds that it took of a processor, without so many items at the beginning and what files take
    to be made, and the part of the bytes that is for."""
    sink.first = gr_tags(0, said)
    sink.start()
    begun = None
    try:
        for _ in range(max(1, round(size / items.nbytes)) + -(-warm_up // len(items))):
            if begun is None and sink.taken >= warm_up:
                begun = sink.taken, time.process_time()
            if sink.work([items], []) != len(items):
                raise RuntimeError(sink.error())
            sink.taken += len(items)
    finally:
        sink.stop()
    if sink.error():
        raise RuntimeError(sink.error())
    return time.process_time() - begun[1], 1 - begun[0] / sink.taken


def array_of(inputs):
    return make_array({f"A{i}": (10.0 * i, 0.1 * i * i, 0.0) for i in range(inputs)})


def noise(shape, kind):
    random = np.random.default_rng(1)
    if kind == "f32":
        return random.chisquare(64, shape).astype(np.float32)
    return random.integers(0, 255, shape, dtype=np.uint8)


def powers(folder, size, beams, nbits, name):
    channels = 1024
    block = psrfits_search_sink if name.endswith(".sf") else filterbank_sink
    count = max(1, CALL // (4 * channels * beams))
    sink = driven(block)(
        f"{folder}/{name}",
        array_of(2),
        [Beam(f"B{i}", 0.1 * i, 50.0) for i in range(beams)],
        channels,
        nbits=nbits,
        **({"row_samples": ROW} if name.endswith(".sf") else {}),
    )
    said = {tags.rx_time: START, tags.rx_freq: 4e8, tags.bandwidth: 2e7}
    said |= {tags.rx_rate: 2e7 / channels, tags.spectra: 1}
    # files are of nbits; their levels are set before the clock starts
    items = noise((count, beams * channels), "f32")
    warm_up = 65 if block is filterbank_sink and nbits == 8 else 1
    return through(sink, items, said, size * 32 / nbits, warm_up)


def voltages(folder, size, name, channels, inputs, kind, **parameters):
    spectra = 256
    sink = driven(voltage_sink)(
        f"{folder}/{name}",
        channels=channels,
        inputs=inputs,
        spectra_per_frame=spectra,
        type=kind,
        selected_channels=None,
        **parameters,
    )
    item = channels * inputs * spectra * {"sc8": 2, "fc32": 8}[kind]
    said = {tags.rx_time: START, tags.rx_freq: 4e8, tags.bandwidth: 2e7}
    said |= {tags.rx_rate: 2e7 / channels / spectra}
    return through(sink, noise((max(1, CALL // item), item), "u8"), said, size)


def vdif(folder, size, bits, kind, rate):
    """Samples of two polarisations."""
    sink = driven(vdif_sink)(
        f"{folder}/v.vdif", inputs=2, type=kind, sample_rate=rate, bits=bits, station="Bn"
    )
    count = 8 * 8000 * 8 // bits // (2 if kind == "fc32" else 1)
    items = np.random.default_rng(1).normal(size=(count, 4 if kind == "fc32" else 2))
    items = items.astype(np.float32).view(np.uint8).reshape(count, -1)
    said = {tags.rx_time: START, tags.rx_rate: rate}
    return through(sink, items, said, size * 32 / bits)


def dada(folder, size, channels, inputs, kind):
    """Writes as voltage_ring does, from frames that it has read."""
    spectra = 256
    edge = VoltageEdge.checked("inputs", kind, channels, inputs, spectra)
    recording = Recording(
        frequencies=tuple(4e8 + 1e4 * channel for channel in range(channels)),
        width=1e4,
        rate=1e4,
        start=Moment(*START),
        names=tuple(map(str, range(inputs))),
        source="bench",
        channel=0,
        telescope="bench",
        site=None,
        description="",
    )
    data = noise((max(1, CALL // edge.item_size), edge.item_size), "u8")
    everything = list(range(channels)), list(range(inputs))
    before = time.process_time()
    writer = DadaWriter(f"{folder}/bench.dada", recording, edge.file_dtype)
    for _ in range(max(1, round(size / data.nbytes))):
        writer.add(time_first(edge.samples_of(data, everything[0]), *everything))
    writer.finish()
    return time.process_time() - before, 1


def psrfits(folder, size, products):
    channels, bins = 1024, 256
    count = max(1, round(size / (6 * products * channels * bins)))
    powers = noise((1, products, channels, bins), "f32")
    folded = FoldedProfiles(
        powers=np.repeat(powers, count, axis=0),
        counts=np.full((count, products, channels, bins), 100, np.uint32),
        times=[(START[0] + 10 * i, 0.0) for i in range(count)],
        lengths=np.full(count, 10.0),
        frequencies=np.full(count, 1.4),
        channels=4e8 + 1e4 * np.arange(channels),
        products=("power" if products == 1 else "IQUV",),
    )
    write_profiles(f"{folder}/warm.fits", folded_part(folded))
    os.unlink(f"{folder}/warm.fits")
    before = time.process_time()
    write_profiles(f"{folder}/bench.fits", folded)
    return time.process_time() - before, 1


def folded_part(folded):
    """Returns its first sub-integration."""
    parts = ("powers", "counts", "times", "lengths", "frequencies")
    values = {name: getattr(folded, name)[:1] for name in parts}
    return FoldedProfiles(**values, channels=folded.channels, products=folded.products)


def converted(folder, size, ending):
    """Visibilities of 32 inputs from UVH5."""
    import uvh5
    from gnuradio.aperture.conversion.convert import convert

    inputs = 32
    items = uvh5.visibilities(inputs, 256)
    source = f"{folder}/source.uvh5"
    uvh5.of_sink(source, items, inputs, False, 1.0, max(2, int(size / items[0].nbytes)))
    before = time.process_time()
    convert(source, f"{folder}/bench{ending}")
    found = time.process_time() - before
    os.unlink(source)
    return found, 1


@dataclass(frozen=True)
class Case:
    """A row. write(folder, bytes): writes so many into an empty folder, and returns the seconds of
    a processor, and for which part of the bytes that is. group: by which it is chosen."""

    group: str
    text: str
    write: Callable


def case(group, text, function, *arguments, **more):
    return Case(group, text, lambda folder, size: function(folder, size, *arguments, **more))


# text, beams, bits, name of the file
POWERS = (
    ("64 beams of f32, one file", 64, 32, "beams.fil"),
    ("64 beams of f32, a file each", 64, 32, "{beam}.fil"),
    ("1000 beams of f32, a file each", 1000, 32, "{beam}.fil"),
    ("64 beams of 8 bits, one file", 64, 8, "beams.fil"),
    ("1000 beams of 8 bits, a file each", 1000, 8, "{beam}.fil"),
    ("4 beams of f32, search mode", 4, 32, "{beam}.sf"),
    ("4 beams of 8 bits, search mode", 4, 8, "{beam}.sf"),
    ("4 beams of 2 bits, search mode", 4, 2, "{beam}.sf"),
)
CASES = (
    *(
        case("psrfits" if name.endswith(".sf") else "filterbank", text, powers, beams, nbits, name)
        for text, beams, nbits, name in POWERS
    ),
    case("psrfits", "profiles of 1024 channels, I", psrfits, 1),
    case("psrfits", "profiles of 1024 channels, IQUV", psrfits, 4),
    case("sigmf", "one channel of 64 inputs, fc32", voltages, "v.sigmf-meta", 1, 64, "fc32"),
    case("sigmf", "64 channels of 16 inputs, sc8", voltages, "{channel}.sigmf-meta", 64, 16, "sc8"),
    case(
        "guppi",
        "1024 channels of 2 polarisations",
        voltages,
        "v.raw",
        1024,
        2,
        "sc8",
        polarizations=2,
    ),
    case("guppi", "256 channels of 16 inputs", voltages, "{input}.raw", 256, 16, "sc8"),
    case("vdif", "2 polarisations of 1 bit", vdif, 1, "f32", 128e6),
    case("vdif", "2 polarisations of 2 bits", vdif, 2, "f32", 128e6),
    case("vdif", "2 polarisations of 8 bits", vdif, 8, "f32", 128e6),
    case("vdif", "2 polarisations of 2 bits, complex", vdif, 2, "fc32", 128e6),
    case("dada", "256 channels of 16 inputs, sc8", dada, 256, 16, "sc8"),
    case("dada", "1024 channels of 2 inputs, fc32", dada, 1024, 2, "fc32"),
    case("ms", "32 inputs, from UVH5", converted, ".ms"),
    case("uvfits", "32 inputs, from UVH5", converted, ".uvfits"),
)


def files_in(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def plain(folder, sizes):
    """Writes files of these sizes; returns seconds of a processor."""
    data = memoryview(noise(PIECE, "u8"))
    before = time.process_time()
    for number, size in enumerate(sizes):
        with open(f"{folder}/{number}", "wb", buffering=0) as file:
            while size > 0:
                size -= file.write(data[:size])
    return time.process_time() - before


def disk(folder, size):
    """Bytes a second by the clock that reach the disk."""
    data, left = memoryview(noise(PIECE, "u8")), size
    path = Path(folder) / "disk"
    begin = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        while left > 0:
            left -= file.write(data[:left])
        os.fsync(file.fileno())
    taken = time.monotonic() - begin
    path.unlink()
    return size / taken


def measure(one, folder, size, turns):
    """Megabytes a second of a processor: of the writer, and of write(2)."""
    found = {"writer": [], "write": []}
    for _ in range(turns):
        with tempfile.TemporaryDirectory(prefix="bench-writers-", dir=folder) as made:
            taken, part = one.write(made, size)
            sizes = [path.stat().st_size for path in files_in(made)]
        found["writer"].append(part * sum(sizes) / taken / 1e6)
        with tempfile.TemporaryDirectory(prefix="bench-writers-", dir=folder) as made:
            found["write"].append(sum(sizes) / plain(made, sizes) / 1e6)
    return {name: statistics.median(each) for name, each in found.items()} | {"files": len(sizes)}


def main():
    groups = list(dict.fromkeys(each.group for each in CASES))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default="/dev/shm", type=Path)
    parser.add_argument("--only", nargs="+", choices=groups, default=groups, metavar="WRITER")
    parser.add_argument("--megabytes", type=float, default=200, help="of each row")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", help="write the figures into this file, too")
    options = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.err)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    size, rows = options.megabytes * 1e6, []
    by_clock = disk(options.folder, int(size)) / 1e6
    print(
        f"{options.folder}: disk {by_clock:.0f} MB/s by the clock; {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}\n\n"
        "| writer | what | files | MB/s | write(2) | of it |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for one in CASES:
        if one.group not in options.only:
            continue
        try:
            found = measure(one, options.folder, size, options.turns)
        except ImportError as error:
            print(f"| {one.group} | {one.text} | | {error} | | |")
            continue
        rows.append({"writer": one.group, "what": one.text, **found})
        print(
            f"| {one.group} | {one.text} | {found['files']} | {found['writer']:.0f} | "
            f"{found['write']:.0f} | {100 * found['writer'] / found['write']:.0f} % |",
            flush=True,
        )
    if options.json:
        figures = {"folder": str(options.folder), "disk": by_clock, "rows": rows}
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
