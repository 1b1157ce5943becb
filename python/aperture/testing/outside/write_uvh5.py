#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes the files that check_uvh5.py checks with pyuvdata: write_uvh5.py FOLDER

This part runs with GNU Radio's Python, the other in the venv of tools/outside-venv. What the
numbers in a file are to be goes into a JSON or NumPy file beside it.
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture.arrays import earth_rotation, geometry
from gnuradio.aperture.arrays.array_description import (
    Antenna,
    Input,
    Source,
    load_array,
    save_array,
)
from gnuradio.aperture.commands import fx
from gnuradio.aperture.files.growing_file import GrowingFile
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.packages.environment import PackageError
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.item_stream import caller
from gnuradio.aperture.testing.uvh5_files import write_file

DATA = os.environ.get("APERTURE_DATA", Path(__file__).resolve().parents[4] / "../shared/data")
RECORDING = Path(DATA, "effelsberg-b2016+28.dada")

DATES = {"2013": 1372729060, "2024": 1704067200, "2026": 1780000000}
LEAP_SECOND = {"leap": 1483225200}  # an hour before one

PLACES = {
    "B2": (3.0, 140.0, 1.0),
    "A10": (-220.0, 5.0, -3.0),
    "A9": (0.0, 0.0, 0.0),
    "C": (100.0, -50.0, 2.0),
}


def array_of(inputs, site=(52.0, 5.0, 10.0)):
    return make_array(
        PLACES, inputs=[Input(name[:-1], name[-1]) for name in inputs], center=1.4e9, site=site
    )


def write_products(folder):
    """Random voltages; their products are left to the checker."""
    rng = np.random.default_rng(1)
    for name, inputs in (
        ("linear", ["Cy", "A9y", "B2x", "A9x", "B2y", "A10x", "Cx", "A10y"]),
        ("circular", ["B2l", "A9r", "B2r", "A9l"]),
        ("single", ["Cx", "A9x", "A10x"]),
        ("only-y", ["A9y"]),
        ("lacking", ["Cx", "A10y", "A9x", "A9y"]),
    ):
        channels, spectra = 6, 20
        parts = rng.integers(-7, 8, (2, 3, len(inputs), channels, spectra))
        voltages = parts[0] + 1j * parts[1]
        layout = Uvh5Layout(
            array_of(inputs),
            1.4e9 + 1e5 * np.arange(channels),
            1e5,
            "a test",
            unit="Jy" if name == "circular" else "uncalib",
        )
        a, b = np.tril_indices(len(inputs))
        counted = rng.integers(0, spectra + 1, (3, len(a)))
        integrations = [
            layout.integration(
                np.sum(x[a] * x[b].conj(), axis=-1).T.astype(np.complex64),
                earth_rotation.julian_date(1704067200 + moment, 0.25),
                spectra,
                counted[moment],
                1e-5,
            )
            for moment, x in enumerate(voltages)
        ]
        write_file(folder / f"products-{name}.uvh5", layout, integrations)
        np.savez(
            folder / f"products-{name}.npz",
            inputs=inputs,
            voltages=voltages,
            counted=counted,
            spectra=spectra,
        )


def write_dates(folder):
    for name, seconds in {**DATES, **LEAP_SECOND}.items():
        for site in ((52.0, 5.0, 10.0), (-30.7, -170.0, 1050.0)):
            layout = Uvh5Layout(array_of(["A9x", "Cx"], site), [1.4e9], 1e6)
            integrations = [
                layout.integration(
                    np.ones((1, 3), np.complex64),
                    earth_rotation.julian_date(seconds + 600 * i),
                    1,
                    [1],
                    1.0,
                )
                for i in range(6)
            ]
            write_file(folder / f"date-{name}-{site[1]:.0f}.uvh5", layout, integrations)


def visibilities_of_source(array, ra, dec, frequencies, seconds):
    """[channel][product] of one source at a time, by the definitions of signal and product."""
    azimuth, elevation = geometry.radec_to_azel(
        ra, dec, seconds, array.latitude, array.longitude, array.height
    )
    delays = geometry.delays(array.input_positions(), geometry.direction(azimuth, elevation))
    voltages = np.exp(-2j * np.pi * np.multiply.outer(frequencies, delays))
    a, b = np.tril_indices(len(delays))
    return (voltages[:, a] * voltages[:, b].conj()).astype(np.complex64)


def write_source(folder):
    """A source at an exact place, without noise: phases are good to a float's rounding."""
    for name, seconds in DATES.items():
        array = array_of(["A9x", "A9y", "B2y", "A10x", "A10y", "B2x", "Cx"])
        ra, dec = geometry.azel_to_radec(
            130.0, 40.0, seconds, array.latitude, array.longitude, array.height
        )
        frequencies = 1.4e9 + 1e6 * np.arange(5)
        layout = Uvh5Layout(array, frequencies, 1e6)
        integrations = [
            layout.integration(
                visibilities_of_source(array, ra, dec, frequencies, seconds + 900 * i),
                earth_rotation.julian_date(seconds + 900 * i),
                1,
                [1],
                1e-3,
            )
            for i in range(8)
        ]
        write_file(folder / f"source-{name}.uvh5", layout, integrations)
        write_json(folder / f"source-{name}.json", ra=float(ra), dec=float(dec))


def write_phase_centers(folder):
    """Noise at several phase centres, of an F-engine that tracked nothing, or something else."""
    array = array_of(["A9x", "B2x", "A10x", "Cx"])
    frequencies = 1.4e9 + 1e6 * np.arange(5)
    noise = np.random.default_rng(1).normal(size=(2, 8, 5, 10))
    for name, center in (
        ("none", None),
        ("star", "350.85, 58.8"),
        ("sun", "sun"),
        ("moon", "moon"),
        ("fixed", "az=120, el=50"),
        ("pulsar", "B1133+16"),
        ("pole", "10, -89.9"),
    ):
        for tracked in (None, "20, 70"):
            layout = Uvh5Layout(
                array,
                frequencies,
                1e6,
                phase_center=center and aperture.parse_direction(center),
                tracked=tracked and aperture.parse_direction(tracked),
            )
            write_file(
                folder / f"center-{name}-{'untracked' if tracked is None else 'tracked'}.uvh5",
                layout,
                [
                    layout.integration(
                        (noise[0, i] + 1j * noise[1, i]).astype(np.complex64),
                        earth_rotation.julian_date(1704067200 + 900 * i),
                        1,
                        [1],
                        1e-3,
                    )
                    for i in range(8)
                ],
            )


def write_json(path, **values):
    path.write_text(json.dumps(values))


def run_chain(source, inputs, path, array, channels, integration, input_type, format):
    gain = 0 if input_type == "sc8" or format == "fc32" else 10
    blocks = [
        source,
        aperture.pfb_channelizer(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs,
            input_type=input_type,
            output_type=format,
            gain=gain,
        ),
        aperture.corner_turn(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs,
            spectra_per_frame=16,
            type=format,
        ),
        aperture.xengine(
            channels=channels,
            inputs=inputs,
            spectra_per_frame=16,
            type=format,
            integration=integration,
        ),
        aperture.uvh5_sink(path, array, channels),
    ]
    top = gr.top_block()
    top.connect(*blocks)
    top.run()
    if blocks[-1].error() is not None:
        raise SystemExit(blocks[-1].error())


def write_chain(folder):
    """Simulated arrays through all blocks; one of them in two orders of inputs and antennas."""
    rng = np.random.default_rng(1)
    # 8 antennas within 600 m at 1.4 GHz; 32 dual-polarisation ones within 350 m, of which 6
    y8, mwa = load_array("y8"), load_array("mwa-32t")
    some = {antenna.name for antenna in mwa.antennas[::6]}
    mwa = replace(
        mwa,
        antennas=[entry for entry in mwa.antennas if entry.name in some],
        inputs=[entry for entry in mwa.inputs if entry.antenna in some],
    )
    shuffled = replace(
        mwa,
        antennas=list(rng.permutation(np.array(mwa.antennas, object))),
        inputs=list(rng.permutation(np.array(mwa.inputs, object))),
    )
    for name, array, format, seconds in (
        ("y8", y8, "fc32", 1372729060),
        ("mwa", mwa, "sc8", 1704067200),
        ("mwa-shuffled", shuffled, "sc8", 1704067200),
    ):
        ra, dec = geometry.azel_to_radec(
            200.0, 60.0, seconds, array.latitude, array.longitude, array.height
        )
        sky = [Source("test", ra=float(ra), dec=float(dec), flux=25.0)]
        inputs, channels = len(array.inputs), 32
        source = aperture.array_source(
            array, sky, samples=100000, start_time=seconds, inputs_per_port=inputs
        )
        run_chain(
            source, inputs, folder / f"chain-{name}.uvh5", array, channels, 50, "fc32", format
        )
        write_json(folder / f"chain-{name}.json", ra=float(ra), dec=float(dec), flux=25.0)


def write_tracked(folder):
    """aperture_fx with and without tracking: the same array and source, dead cables and all."""
    array = load_array("y8")
    array.sources = [Source("s", ra=350.85, dec=58.815, flux=25.0)]
    save_array(array, folder / "tracked.yml")
    for name, options in (
        ("untracked", []),
        ("tracked", ["--track", "Cas A"]),
        ("coordinates", ["--track", "23:23:24 +58:48:54"]),
    ):
        code = fx.main(
            [
                "--device",
                "cpu",
                "--input",
                f"sim:{folder / 'tracked.yml'}",
                "--format",
                "fc32",
                "--channels",
                "32",
                "--duration",
                "0.1",
                "--integration",
                "0.05",
                "-o",
                str(folder / f"fx-{name}.uvh5"),
                *options,
            ]
        )
        if code != 0:
            raise SystemExit(code)


def write_turned(folder):
    """Another direction is tracked in the middle: two files, of the source in the first one."""
    directions = [("Cas A", 350.85, 58.815), ("Cyg A", 299.868153, 40.733916)]
    array = array_of(["A9x", "B2x", "Cx", "A10x"])
    array.sample_rate, count = 1e5, 4
    sky = [Source("s", ra=directions[0][1], dec=directions[0][2], flux=100.0)]
    top = gr.top_block()
    source = aperture.array_source(
        array, sky, samples=80000, start_time=DATES["2024"], inputs_per_port=count
    )
    tracker = aperture.delay_tracker(array, "Cas A", 16, item_size=8 * count)
    turns = caller(8 * count, 40000, lambda: tracker.track("Cyg A"))
    engine = aperture.f_engine(
        channels=16, inputs=count, inputs_per_port=count, spectra_per_frame=24, most_delay=16
    )
    correlator = aperture.xengine(
        channels=16, inputs=count, spectra_per_frame=24, type="fc32", integration=20
    )
    sink = aperture.uvh5_sink(folder / "turned-{time}.uvh5", array, 16, tracked="Cas A")
    top.connect(source, turns, tracker, engine, correlator, sink)
    top.msg_connect(tracker, "delays", engine, "delays")
    top.run()
    files = [Path(path).name for path in sink.files()]
    write_json(folder / "turned.json", directions=directions, files=files)


def write_recording(folder):
    if not RECORDING.exists():
        return
    source = aperture.dada_source(str(RECORDING))
    array = make_array(
        {"Effelsberg": (0.0, 0.0, 0.0)},
        inputs=[Input("Effelsberg", "x"), Input("Effelsberg", "y")],
        rate=source.sample_rate(),
        center=source.center_frequency(),
        site=(50.524836, 6.883616, 416.7),
        name="Effelsberg",
    )
    run_chain(source, 2, folder / "recording.uvh5", array, 64, 4, "sc8", "sc8")


def write_averages(folder):
    """Products of some baselines, averages of several lengths, and the same at one length."""
    array = array_of(["A9x", "A9y", "B2x", "B2y", "A10x", "Cx"])
    frequencies = 1.4e9 + 1e6 * np.arange(5)
    pairs = [(2, 0), (3, 1), (2, 1), (4, 0), (5, 5)]
    noise = np.random.default_rng(3).normal(size=(2, 6, 4, 5, len(pairs)))
    fine = (noise[0] + 1j * noise[1]).astype(np.complex64)
    lengths = [1, 1, 1, 2, 4]
    products = [
        (*pair, number, 4 // length)
        for one in (1, 2, 4)
        for number in range(4 // one)
        for pair, length in zip(pairs, lengths)
        if length == one
    ]
    for name, center in (("none", None), ("star", "350.85, 58.8"), ("sun", "sun")):
        more = dict(phase_center=center and aperture.parse_direction(center))
        some = Uvh5Layout(array, frequencies, 1e6, products=[(*p, 0, 1) for p in pairs], **more)
        several = Uvh5Layout(array, frequencies, 1e6, products=products, **more)
        written = {"fine": [], "averaged": []}
        for number, values in enumerate(fine):
            # integrations of 4 x 100 spectra of 10 ms
            for part in range(4):
                middle = earth_rotation.julian_date(1704067200 + 4 * number + part, 0.495)
                written["fine"].append(some.integration(values[part], middle, 100, [90], 1e-2))
            joined = np.empty((5, len(products)), np.complex64)
            for index, (a, b, part, count) in enumerate(products):
                within = slice(part * 4 // count, (part + 1) * 4 // count)
                joined[:, index] = values[within, :, pairs.index((a, b))].mean(axis=0)
            counted = [360 // count for *_, count in products]
            middle = earth_rotation.julian_date(1704067200 + 4 * number, 1.995)
            written["averaged"].append(several.integration(joined, middle, 400, counted, 1e-2))
        write_file(folder / f"averages-{name}-fine.uvh5", some, written["fine"])
        write_file(folder / f"averages-{name}-averaged.uvh5", several, written["averaged"])
        # the last ones end after the first of the short ones
        parts = [0, 100, 90, 25, 93, 25, 96, 25, 0, 100, 90, 50, 0, 100]
        middle = earth_rotation.julian_date(1704067200 + 24, 0.495)
        early = several.integration(joined, middle, 100, counted, 1e-2, parts=parts)
        write_file(folder / f"averages-{name}-early.uvh5", several, [*written["averaged"], early])


def write_one_place(folder):
    """Antennas of which the description does not say where they are."""
    array = array_of(["A9x", "A10x", "B2x", "Cx"])
    array.antennas = [Antenna(name, (0.0, 0.0, 0.0)) for name in PLACES]
    layout = Uvh5Layout(array, 1.4e9 + 1e5 * np.arange(6), 1e5)
    write_file(
        folder / "one-place.uvh5",
        layout,
        [
            layout.integration(
                np.ones((6, 10), np.complex64), earth_rotation.julian_date(1704067200), 1, [1], 1.0
            )
        ],
    )


def write_compressed(folder):
    """The same visibilities with and without bitshuffle, which comes from the venv of the check."""
    os.environ["APERTURE_VENV"] = str(folder.parents[4] / "outside-venv")
    rng = np.random.default_rng(4)
    values = rng.normal(size=(3, 6, 10, 2)).astype(np.float32).view(np.complex64)[..., 0]
    for compression in ("none", "bitshuffle"):
        try:
            layout = Uvh5Layout(
                array_of(["A9x", "A10x", "B2x", "Cx"]),
                1.4e9 + 1e5 * np.arange(6),
                1e5,
                compression=compression,
            )
        except PackageError:
            print("there is no hdf5plugin: no file with bitshuffle")
            return
        write_file(
            folder / f"compressed-{compression}.uvh5",
            layout,
            [
                layout.integration(
                    each, earth_rotation.julian_date(1704067200 + number), 1, [1], 1.0
                )
                for number, each in enumerate(values)
            ],
        )


def write_killed(folder):
    """Leaves behind the files of a process that is killed."""
    layout = Uvh5Layout(array_of(["A9x", "A9y", "Cx"]), 1.4e9 + 1e5 * np.arange(6), 1e5)
    path = folder / "killed.uvh5"
    path.unlink(missing_ok=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        file = GrowingFile(path, layout.begin)
        for number in range(10**6):
            file.add(
                [
                    layout.integration(
                        np.full((6, 6), number, np.complex64),
                        earth_rotation.julian_date(1704067200 + number),
                        1,
                        [1],
                        1.0,
                    )
                ]
            )
            os.write(writer, b".")
    os.close(writer)
    # some integrations, and somewhere within another one
    for _ in range(3):
        os.read(reader, 1)
    time.sleep(0.123)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    write_products(target)
    write_dates(target)
    write_source(target)
    write_phase_centers(target)
    write_averages(target)
    write_one_place(target)
    write_compressed(target)
    write_killed(target)
    write_chain(target)
    write_tracked(target)
    write_turned(target)
    write_recording(target)
