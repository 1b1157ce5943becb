#!/usr/bin/env python3
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Reads recordings that come with packages of others, and compares every sample with what the packages
read: the table of docs/files-of-others.md.

    tools/run build/venv/bin/python tests/outside/recordings_of_others.py [FOLDER [PYTHON]]

FOLDER has drx-test.dat, drx8-sim-test.dat, cor-test.dat, tbx-test.dat and vdif-test.dat of
lwa-project/lsl (tests/data; the last is difx's vdifio_1.vdif, too), PYTHON is one that imports lsl.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import baseband.data as samples
import numpy as np
from astropy import units as u
from astropy.time import Time
from baseband import dada, gsb, guppi, mark4, mark5b, vdif

from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.played_inputs import read_all

NEAR = Time("2015-01-01")
HERE = os.path.dirname(samples.__file__)
DECODE_DRX = """
import sys
import numpy as np
from lsl.reader import drx, drx8, errors
from lsl.reader import {module} as module
found = {{}}  # (tuning, polarisation): time tag: samples
with open(sys.argv[1], "rb") as file:
    while True:
        try:
            frame = module.read_frame(file)
        except errors.EOFError:
            break
        beam, tuning, part = frame.id
        found.setdefault((tuning, part), {{}})[frame.payload.timetag] = frame.payload.data
tags = sorted(found[1, 0] | found[1, 1])
step = min(np.diff(tags))
out = np.zeros(((tags[-1] - tags[0]) // step + 1, 4096, 2), np.complex64)
for part in (0, 1):
    for tag, values in found[1, part].items():
        out[(tag - tags[0]) // step, :, part] = values
np.save(sys.argv[2], out.reshape(-1, 2))
"""


def theirs(module, path, **settings):
    """Samples [time][input] or [time][input][channel] as baseband reads them."""
    with module.open(path, "rs", squeeze=False, **settings) as file:
        return file.read()


def of_lsl(python, module):
    """A function that reads the first tuning of a file by lsl, [time][polarisation]."""

    def read(path):
        if not python:
            return None
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.npy")
            code = DECODE_DRX.format(module=module)
            subprocess.run([python, "-W", "ignore", "-c", code, path, out], check=True)
            return np.load(out)

    return read


def table(folder, python):
    """Rows of (file, what it is, the input's text with FILE for its name, reader or None)."""
    phased = [name for pair in samples.SAMPLE_GSB_PHASED for name in pair]
    mark = lambda path: theirs(mark4, path, ref_time=NEAR)
    two_bits = lambda rate: lambda path: theirs(vdif, path, sample_rate=rate)
    rows = [
        ("sample.dada", "PSRDADA of Effelsberg", "dada:FILE", lambda path: theirs(dada, path)),
        ("sample_meerkat.dada", "PSRDADA of MeerKAT", "dada:FILE", lambda path: theirs(dada, path)),
        ("sample.vdif", "VDIF, EVN, 2 bits", "vdif:FILE,freq=0", two_bits(None)),
        ("sample_vlbi.vdif", "VDIF, EVN, as recorded", "vdif:FILE,freq=0", two_bits(None)),
        (
            "sample_mwa.vdif",
            "VDIF of the MWA, 8 bits",
            "vdif:FILE,freq=0,rate=1.28MHz",
            two_bits(1.28 * u.MHz),
        ),
        (
            "sample_bps1.vdif",
            "VDIF, 1 bit, 16 channels",
            "vdif:FILE,freq=0,rate=8MHz",
            two_bits(8 * u.MHz),
        ),
        (
            "sample_arochime.vdif",
            "VDIF, CHIME's backend at ARO, 4 bits",
            "vdif:FILE,band=falling,freq=600MHz,rate=390.625kHz",
            lambda path: theirs(vdif, path, sample_rate=390625 * u.Hz)[..., ::-1],
        ),
        ("sample_drao_corrupted.vdif", "VDIF of DRAO, damaged", "vdif:FILE,freq=0", None),
        (
            "sample_puppi.raw",
            "GUPPI raw of Arecibo",
            "guppi:FILE",
            lambda path: theirs(guppi, path),
        ),
        ("sample_vegas.raw", "GUPPI raw of Green Bank, cut off", "guppi:FILE", None),
    ]
    for name, what in (
        ("sample.m4", "Mark 4, 64 tracks, fan-out 4"),
        ("sample_16track.m4", "Mark 4, 16 tracks, fan-out 4"),
        ("sample_32track.m4", "Mark 4, 32 tracks, fan-out 4, both sidebands"),
        ("sample_32track_fanout2.m4", "Mark 4, 32 tracks, fan-out 2"),
        ("sample_64track_fanout2_ft.m4", "Mark 4, 64 tracks of Fortaleza's order"),
    ):
        rows.append((name, what, "mark4:FILE,date=2015-01-01,freq=0,inverted=no", mark))
    rows += [
        (
            "sample.m5b",
            "Mark 5B, 8 channels of 2 bits",
            "mark5b:FILE,date=2014,nchan=8,freq=0",
            lambda path: theirs(mark5b, path, nchan=8, ref_time=NEAR),
        ),
        (
            "gsb/sample_gsb_rawdump.timestamp",
            "GSB, raw samples",
            f"gsb:FILE,{samples.SAMPLE_GSB_RAWDUMP},frame=8192,freq=0",
            lambda path: theirs(gsb, path, raw=samples.SAMPLE_GSB_RAWDUMP, samples_per_frame=8192),
        ),
        (
            "gsb/sample_gsb_phased.timestamp",
            "GSB, phased array of 512 channels",
            f"gsb:FILE,{','.join(phased)},frame=8,freq=150MHz",
            lambda path: theirs(gsb, path, raw=samples.SAMPLE_GSB_PHASED, samples_per_frame=8),
        ),
    ]
    rows = [(os.path.join(HERE, name), *rest) for name, *rest in rows]
    if folder:
        in_folder = lambda name: os.path.join(folder, name)
        rows += [
            (in_folder("drx-test.dat"), "DRX", "drx:FILE,tuning=1", of_lsl(python, "drx")),
            (in_folder("drx8-sim-test.dat"), "DRX8", "drx:FILE,tuning=1", of_lsl(python, "drx8")),
            (in_folder("cor-test.dat"), "COR of the LWA", "drx:FILE", None),
            (in_folder("tbx-test.dat"), "TBX of the LWA", "drx:FILE", None),
            (
                in_folder("vdif-test.dat"),
                "VDIF of the LWA, and vdifio_1.vdif of difx",
                "vdif:FILE,freq=0,rate=512MHz",
                lambda path: theirs(vdif, path, sample_rate=512 * u.MHz),
            ),
        ]
    return rows


def agreement(ours, expected, lost):
    """Says what samples [time][input or more] that are not missing have to do with those of a
    package."""
    count = min(len(ours), len(expected))
    expected = np.ascontiguousarray(expected[:count]).reshape(count, ours.shape[1], -1)
    here, there = ours[:count][~lost[:count]], expected[~lost[:count]]
    said = f" in {count} of its {len(expected)} times" if len(expected) > count else ""
    if np.array_equal(here, there):
        return f"equal{said}"
    here, there = here.ravel(), there.ravel()
    if np.iscomplexobj(there):
        here, there = (values.astype(np.complex64).view(np.float32) for values in (here, there))
    levels = {}
    for level, own in zip(there.tolist(), here.tolist()):
        levels.setdefault(level, set()).add(own)
    if all(len(own) == 1 for own in levels.values()):
        shown = [f"{level:.4g} is {min(own):g}" for level, own in sorted(levels.items())]
        return f"equal but for the levels ({', '.join(shown[-2:])}){said}"
    alike = np.corrcoef(here, there)[0, 1]
    return f"**{np.mean(here != there):.2%} differ**, correlation {alike:.6f}{said}"


def row_of(path, what, text, read):
    """A row of the table."""
    name, given = os.path.basename(path), text.replace("FILE", path)
    for found in (samples.SAMPLE_GSB_RAWDUMP, *(n for p in samples.SAMPLE_GSB_PHASED for n in p)):
        text = text.replace(found, "...")
    text = text.replace(",...,...", "").replace("FILE", name)
    try:
        signals = open_input(given)
        found, tags = read_all(signals)
    except (ValueError, RuntimeError, OSError) as error:
        folder = os.path.dirname(path)
        said = str(error).replace(folder + "/", "").replace(os.path.dirname(folder) + "/", "")
        return name, what, f"`{text}`", f"refused: {said}", ""
    shape = f"{signals.inputs} input{'s'[signals.inputs == 1 :]} of {signals.sample_type}, "
    shape += f"{signals.channels} channels, " if signals.channels else ""
    shape += f"{len(found)} times"
    lost = np.zeros(found.shape[:2], bool)
    for _, key, value in tags:
        if key == "missing":
            lost[value["first"] : value["first"] + value["count"], value["input"]] = True
    shape += f", {np.mean(lost):.2g} of them missing" if lost.any() else ""
    if not signals.real:
        found = found[..., 0] + 1j * found[..., 1]
    expected = None if read is None else read(path)
    said = "" if expected is None else agreement(found.reshape(*lost.shape, -1), expected, lost)
    return name, what, f"`{text}`", shape, said


def main():
    warnings.simplefilter("ignore")
    folder, python = (*sys.argv[1:], None, None)[:2]
    print("| file | what it is | input | what is read | against its package |")
    print("|---|---|---|---|---|")
    for entry in table(folder, python):
        print(f"| {' | '.join(row_of(*entry))} |", flush=True)


if __name__ == "__main__":
    main()
