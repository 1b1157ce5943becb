#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of powers of other programs, made and read by nothing of ours but struct and NumPy."""

import struct
from pathlib import Path

import numpy as np

#: the form in which a value is stored
FORMS = {
    "rawdatafile": "s",
    "source_name": "s",
    "signed": "b",
    **dict.fromkeys("fch1 foff tstart tsamp src_raj src_dej az_start za_start refdm".split(), "d"),
}
#: the keywords of headers, in the order in which other programs write them
STYLES = {
    "sigproc": "rawdatafile source_name machine_id telescope_id src_raj src_dej az_start za_start "
    "data_type fch1 foff nchans nbeams ibeam nbits tstart tsamp nifs",
    "presto": "telescope_id machine_id source_name rawdatafile src_raj src_dej az_start za_start "
    "data_type refdm tstart tsamp nbits signed nsamples fch1 foff nchans nifs nbeams ibeam",
    "blimpy": "machine_id telescope_id src_raj az_start data_type source_name tsamp foff src_dej "
    "tstart nbits nchans fch1 za_start nifs rawdatafile",
    "your": "rawdatafile source_name machine_id barycentric pulsarcentric telescope_id src_raj "
    "src_dej az_start za_start data_type fch1 foff nchans nbeams ibeam nbits tstart tsamp nifs",
    "peasoup": "telescope_id nbits fch1 data_type nchans tsamp foff tstart source_name nifs "
    "machine_id",
}
DEFAULTS = {
    "rawdatafile": "a.raw",
    "source_name": "B0329+54",
    "telescope_id": 4,
    "src_raj": 33259.37,
    "src_dej": 543443.57,
    "data_type": 1,
    "nifs": 1,
    "tstart": 58849.25,
    "tsamp": 1e-3,
    "nbeams": 1,
    "ibeam": 1,
}


def word(text):
    """A text as SIGPROC has it: its length, and its letters."""
    return struct.pack("<i", len(text)) + text.encode()


def sigproc_header(style="sigproc", **values):
    """The bytes of a header; values: of its keywords, or of further ones."""
    keys = STYLES[style].split()
    found = word("HEADER_START")
    for key in keys + [key for key in values if key not in keys]:
        value = values.get(key, DEFAULTS.get(key, 0))
        form = FORMS.get(key, "i")
        found += word(key) + (word(value) if form == "s" else struct.pack("<" + form, value))
    return found + word("HEADER_END")


def read_filterbank(path):
    """The header of a file as a dictionary, and the bytes behind it, by the format's definition."""
    data = Path(path).read_bytes()
    place, header = 0, {}

    def value(form):
        nonlocal place
        (number,) = struct.unpack_from("<" + form, data, place)
        place += struct.calcsize("<" + form)
        return number

    def string():
        nonlocal place
        length = value("i")
        place += length
        return data[place - length : place].decode()

    assert string() == "HEADER_START"
    while (key := string()) != "HEADER_END":
        form = FORMS.get(key, "i")
        header[key] = string() if form == "s" else value(form)
    return header, data[place:]


def packed(values, bits, high_first=False):
    """The bytes of values in the order of the array: of less than 8 bits the first in the lowest
    bits of a byte, or in the highest; of 8 and 16 integers, of 32 floats."""
    values = np.asarray(values).reshape(-1)
    if bits >= 8:
        kind = {8: "i1" if values.min() < 0 else "u1", 16: "<i2" if values.min() < 0 else "<u2"}
        return values.astype(kind.get(bits, "<f4")).tobytes()
    each = (values[:, np.newaxis] >> np.arange(bits)) & 1  # lowest bit first
    if high_first:
        return np.packbits(each[:, ::-1].astype(np.uint8), bitorder="big").tobytes()
    return np.packbits(each.astype(np.uint8), bitorder="little").tobytes()


def write_sigproc(path, values, bits, low, width, falling=True, style="sigproc", **keys):
    """
    Writes a filterbank file.

    values : array [sample][if][channel], channels in ascending order of frequency.
    low, width : MHz, of the lowest channel, and of one.
    """
    values = np.asarray(values)
    band = dict(
        fch1=low + width * (values.shape[2] - 1) if falling else low,
        foff=-width if falling else width,
        nchans=values.shape[2],
        nbits=bits,
    )
    # 8 and 16 bits are unsigned where nothing else is said
    signed = {"signed": 1} if bits < 32 and values.min() < 0 else {}
    shown = values[..., ::-1] if falling else values
    with open(path, "wb") as file:
        file.write(
            sigproc_header(style, **{"nifs": values.shape[1], **band, **signed, **keys})
            + packed(shown, bits)
        )


def dispersed_pulses(samples, frequencies, interval, pulses, seed=1):
    """
    Noise, float [sample][channel], rms 1 and mean 0, with pulses.

    frequencies : array, MHz; pulses : (time, dm, width, height), s at infinite frequency,
    pc/cm^3, s, and in units of the noise of a channel.
    """
    found = np.random.default_rng(seed).standard_normal((samples, len(frequencies)))
    middles = (np.arange(samples)[:, np.newaxis] + 0.5) * interval
    for time, dm, width, height in pulses:
        # the delay of a cold plasma, s, with the constant of pulsar astronomy, 1 / 2.41e-4
        late = time + dm / 2.41e-4 / np.asarray(frequencies) ** 2
        found += height * (np.abs(middles - late) < width / 2)
    return found


def write_psrfits(
    path, rows, bits, low, width, falling=True, scale=1.0, offset=0.0, weights=None, **keys
):
    """
    Writes a PSRFITS file in search mode by astropy.

    Parameters
    ----------
    rows : array [row][sample][product][channel]
        Numbers as they are in the file, channels in ascending order of frequency.
    low, width : float
        MHz, of the lowest channel, and of one.
    scale, offset : float or array [row][product][channel]
    weights : array [row][channel]
        None: 1.
    keys : of the table SUBINT, or, in capitals with PRIMARY_ before them, of the primary header;
        offsets: OFFS_SUB of each row, s.
    """
    from astropy.io import fits

    rows = np.asarray(rows)
    count, block, products, channels = rows.shape
    interval = keys.pop("TBIN", 1e-3)
    offsets = keys.pop("offsets", (np.arange(count) + 0.5) * block * interval)
    turned = slice(None, None, -1 if falling else 1)
    full = lambda value: np.broadcast_to(value, (count, products, channels))[..., turned]
    data = rows[..., turned].reshape(count, -1)
    if bits < 8:
        packed_rows = [
            np.frombuffer(packed(row & (1 << bits) - 1, bits, True), np.uint8) for row in data
        ]
        column = f"{len(packed_rows[0])}B", np.array(packed_rows)
    else:
        kind = {8: "u1", 16: ">i2", 32: ">f4"}[bits]
        data = data.astype("i1").view("u1") if bits == 8 and rows.min() < 0 else data.astype(kind)
        column = f"{data.shape[1]}{ {8: 'B', 16: 'I', 32: 'E'}[bits] }".replace(" ", ""), data
    frequencies = low + width * np.arange(channels)
    columns = [
        fits.Column("TSUBINT", "1D", array=np.full(count, block * interval)),
        fits.Column("OFFS_SUB", "1D", array=offsets),
        fits.Column("DAT_FREQ", f"{channels}D", array=np.tile(frequencies[turned], (count, 1))),
        fits.Column(
            "DAT_WTS",
            f"{channels}E",
            array=(np.ones((count, channels)) if weights is None else weights)[:, turned],
        ),
        fits.Column("DAT_OFFS", f"{products * channels}E", array=full(offset).reshape(count, -1)),
        fits.Column("DAT_SCL", f"{products * channels}E", array=full(scale).reshape(count, -1)),
        fits.Column("DATA", column[0], array=column[1]),
    ]
    primary = fits.PrimaryHDU()
    primary.header.update(
        {
            "FITSTYPE": "PSRFITS",
            "OBS_MODE": "SEARCH",
            "TELESCOP": "Parkes",
            "SRC_NAME": "B0329+54",
            "RA": "03:32:59.37",
            "DEC": "-54:34:43.57",
            "OBSFREQ": float(frequencies.mean()),
            "OBSBW": width * channels,
            "STT_IMJD": 58849,
            "STT_SMJD": 21600,
            "STT_OFFS": 0.25,
        }
    )
    for key in [key for key in keys if key.startswith("PRIMARY_")]:
        primary.header[key[8:]] = keys.pop(key)
    table = fits.BinTableHDU.from_columns(columns, name="SUBINT")
    table.header.update(
        {
            "NBITS": bits,
            "NPOL": products,
            "NCHAN": channels,
            "NSBLK": block,
            "TBIN": interval,
            "POL_TYPE": {1: "AA+BB", 2: "AABB", 4: "IQUV"}.get(products, "?"),
            **keys,
        }
    )
    fits.HDUList([primary, table]).writeto(path, overwrite=True)
