#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Folded profiles as PSRFITS, in its fold mode, which PSRCHIVE and PyPulse read.

One file is of one beam. Powers are 16-bit integers with a scale and an offset for each profile, by
which they are good to 1/65500 of the range of each. The file has the standard's tables HISTORY,
POLYCO (the model of the phase) and SUBINT; in the latter a column COUNTS, which is ours, has what
was counted in each bin (weights are the mean of it over the bins, 1 where that is the largest).
"""

import os

import numpy as np

from ...files.checked_file import whole_file
from ...parameters.ascii_text import ascii_text
from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD
from ...transients.folding import FoldedProfiles
from .primary import FITS_BLOCK, date_text, day_of, primary_header

#: products -> how PSRFITS calls them
POLARIZATIONS = {"power": "AA", "I": "INTEN", "IQUV": "IQUV", "coherency": "AABBCRCI"}
#: minutes that an entry of the polyco table spans are a 16-bit number
LONGEST_SPAN = 32767
POLYCO_COEFFICIENTS = 15


def _polyco_row(segment, begin, end):
    """Reference, minutes, phase, frequency and coefficients (of minutes) of a segment."""
    reference, length = segment.reference, segment.length
    if length == 0:  # a segment without an end
        length = end[0] - begin[0] + 7200
        reference = (begin[0] + (end[0] - begin[0]) // 2, 0.0)
    revolutions, frequency = segment.at(*reference)
    # to a reference elsewhere only the first two move, and the others are those of one segment
    higher = [c * 60.0 ** (k + 2) for k, c in enumerate(segment.coefficients[1:])]
    coefficients = ([0.0, 0.0] + higher + [0.0] * POLYCO_COEFFICIENTS)[:POLYCO_COEFFICIENTS]
    return (
        reference,
        min(LONGEST_SPAN, int(np.ceil(length / 60))),
        float(revolutions - np.floor(revolutions)),
        float(frequency),
        coefficients,
    )


def _polyco(fits, segments, folded):
    """The table of polynomials in minutes, relative to the frequency at the reference."""
    begin, end = folded.times[0], folded.times[-1]
    rows = [
        _polyco_row(segment, begin, end)
        for segment in segments or ()
        if segment.length == 0
        or (segment.start[0] <= end[0] + 1 and begin[0] <= segment.start[0] + segment.length)
    ]
    if not rows:
        return []
    count = len(rows)
    references = [day_of(row[0]) for row in rows]
    columns = [
        fits.Column("DATE_PRO", "24A", array=[date_text(begin)] * count),
        fits.Column("POLYVER", "16A", array=["gr-aperture"] * count),
        fits.Column("NSPAN", "1I", unit="min", array=[row[1] for row in rows]),
        fits.Column("NCOEF", "1I", array=[POLYCO_COEFFICIENTS] * count),
        fits.Column("NPBLK", "1I", array=[1] * count),
        fits.Column("NSITE", "8A", array=["@"] * count),
        fits.Column("REF_FREQ", "1D", unit="MHz", array=[0.0] * count),
        fits.Column("PRED_PHS", "1D", array=[0.0] * count),
        fits.Column(
            "REF_MJD",
            "1D",
            array=[
                day + (seconds + fraction) / SECONDS_PER_DAY
                for day, seconds, fraction in references
            ],
        ),
        fits.Column("REF_PHS", "1D", array=[row[2] for row in rows]),
        fits.Column("REF_F0", "1D", unit="Hz", array=[row[3] for row in rows]),
        fits.Column("LGFITERR", "1D", array=[-9.0] * count),
        fits.Column("COEFF", f"{POLYCO_COEFFICIENTS}D", array=np.array([row[4] for row in rows])),
    ]
    return [fits.BinTableHDU.from_columns(columns, name="POLYCO")]


def _shared(folded):
    """Keys that the tables HISTORY and SUBINT have in common, with their types in the former."""
    _, products, channels, bins = folded.powers.shape
    return {
        "SCALE": ("8A", "FluxDen"),
        "POL_TYPE": ("8A", POLARIZATIONS[folded.products[0]]),
        "NPOL": ("1I", products),
        "NBIN": ("1J", bins),
        "NBIN_PRD": ("1J", bins),
        "TBIN": ("1D", 1 / folded.frequencies[0] / bins),
        "NCHAN": ("1J", channels),
        "CHAN_BW": ("1D", _channel_width(folded)),
        "DM": ("1D", folded.dm),
        "RM": ("1D", 0.0),
    }


def _history(fits, folded, start):
    cells = {
        "DATE_PRO": ("24A", date_text(start)),
        "PROC_CMD": ("256A", "gr-aperture folder"),
        "NSUB": ("1J", len(folded.powers)),
        "CTR_FREQ": ("1D", float(np.mean(folded.channels)) * 1e-6),
        **_shared(folded),
        **dict.fromkeys(("PR_CORR", "FD_CORR", "BE_CORR", "RM_CORR", "DEDISP"), ("1I", 0)),
        **dict.fromkeys(("DDS_MTHD", "SC_MTHD", "CAL_MTHD", "RFI_MTHD"), ("32A", "NONE")),
        "CAL_FILE": ("256A", "NONE"),
    }
    return fits.BinTableHDU.from_columns(
        [fits.Column(name, kind, array=[value]) for name, (kind, value) in cells.items()],
        name="HISTORY",
    )


def _channel_width(folded):
    """MHz."""
    channels = folded.channels
    return float(channels[1] - channels[0]) * 1e-6 if len(channels) > 1 else 0.0


def _subint_header(fits, folded):
    """The header of the table SUBINT."""
    subints, products, channels, bins = folded.powers.shape
    profiles, dim = products * channels, f"({bins},{channels},{products})"
    columns = [
        fits.Column("TSUBINT", "1D", unit="s"),
        fits.Column("OFFS_SUB", "1D", unit="s"),
        fits.Column("PERIOD", "1D", unit="s"),
        fits.Column("DAT_FREQ", f"{channels}D", unit="MHz"),
        fits.Column("DAT_WTS", f"{channels}E"),
        fits.Column("DAT_OFFS", f"{profiles}E"),
        fits.Column("DAT_SCL", f"{profiles}E"),
        fits.Column("DATA", f"{profiles * bins}I", unit="Jy", dim=dim),
        fits.Column("COUNTS", f"{profiles * bins}E", dim=dim),
    ]
    table = fits.BinTableHDU.from_columns(columns, nrows=0, name="SUBINT")
    table.header["NAXIS2"] = subints
    keys = {key: value for key, (_, value) in _shared(folded).items()} | {
        "INT_TYPE": "TIME",
        "INT_UNIT": "SEC",
        "NBITS": 1,
        "NSBLK": 1,
        "REFFREQ": float(np.mean(folded.channels)) * 1e-6,
        "EPOCHS": "VALID",
        **dict.fromkeys(("PHS_OFFS", "ZERO_OFF"), 0.0),
        **dict.fromkeys(("SIGNINT", "NSUBOFFS", "NCHNOFFS", "NSTOT"), 0),
    }
    table.header.update(keys)
    return table.header


def _subint_rows(folded, start):
    """Gives the bytes of each row of the table SUBINT, until the next one is asked for: what one
    takes in double precision stays in the processor's cache."""
    _, products, channels, bins = folded.powers.shape
    counts = np.broadcast_to(folded.counts, folded.powers.shape)
    mean = np.array([np.asarray(each[0], float).mean(axis=-1) for each in counts])
    weights = mean / max(mean.max(), 1e-300)
    row = np.zeros(
        (),
        [
            *((name, ">f8") for name in ("TSUBINT", "OFFS_SUB", "PERIOD")),
            ("DAT_FREQ", ">f8", (channels,)),
            ("DAT_WTS", ">f4", (channels,)),
            ("DAT_OFFS", ">f4", (products, channels)),
            ("DAT_SCL", ">f4", (products, channels)),
            ("DATA", ">i2", (products, channels, bins)),
            ("COUNTS", ">f4", (products, channels, bins)),
        ],
    )
    row["DAT_FREQ"] = folded.channels * 1e-6
    for number, time in enumerate(folded.times):
        row["TSUBINT"] = folded.lengths[number]
        row["OFFS_SUB"] = (time[0] - start[0]) + (time[1] - start[1])
        row["PERIOD"] = 1 / float(folded.frequencies[number])
        row["DAT_WTS"] = weights[number]
        row["COUNTS"] = counts[number]
        for product, powers in enumerate(folded.powers[number]):
            values = np.array(powers, float)
            low, high = values.min(axis=-1), values.max(axis=-1)
            scale = np.where(high > low, (high - low) / 65500, 1.0).astype(np.float32)
            offset = ((low + high) / 2).astype(np.float32)
            row["DAT_OFFS"][product], row["DAT_SCL"][product] = offset, scale
            values -= offset[:, None]
            values /= scale[:, None]
            np.rint(values, out=values)
            np.clip(values, -32767, 32767, out=values)
            np.copyto(row["DATA"][product], values, casting="unsafe")
        yield row.data


def write_profiles(path, folded, site=None, start=None, direction=(0.0, 0.0), history=()):
    """
    Writes a FoldedProfiles; what is at `path` is replaced when the new file is whole.

    Parameters
    ----------
    path : str
    folded : FoldedProfiles
        Profiles with one sub-integration at least.
    site : ArrayDescription
        The site of the telescope.
    start : (whole seconds, fraction)
        UTC since 1970 when the observation began; None: as `folded` says, or with the first
        sub-integration.
    direction : (float, float)
        ICRS right ascension and declination, degrees.
    history : sequence of str
        Lines for the primary header's HISTORY.

    Raises OSError.
    """
    from astropy.io import fits

    start = start or folded.start
    if start is None:
        early = folded.times[0][1] - folded.lengths[0] / 2
        start = (folded.times[0][0] + int(np.floor(early)), float(early - np.floor(early)))
    files = [
        primary_header(
            "PSR",
            channels=folded.channels,
            width=_channel_width(folded),
            beam=folded.beam,
            source=folded.source,
            seconds=float(np.sum(folded.lengths)),
            site=site,
            start=start,
            direction=direction,
        )
    ]
    for line in history:
        files[0].header.add_history(ascii_text(line))
    files.append(_history(fits, folded, start))
    files += _polyco(fits, folded.segments, folded)
    header = _subint_header(fits, folded)
    with whole_file(path) as name:
        fits.HDUList(files).writeto(name, overwrite=True)
        # astropy would hold the whole table, twice
        with open(name, "ab") as file:
            file.write(header.tostring().encode("ascii"))
            for row in _subint_rows(folded, start):
                file.write(row)
            file.write(bytes(-file.tell() % FITS_BLOCK))


def read_profiles(path):
    """
    Reads a file of write_profiles(), or another PSRFITS file in fold mode: a FoldedProfiles.

    Raises ValueError that names the file and what it lacks; OSError.
    """
    from astropy.io import fits

    try:
        with fits.open(path, memmap=False) as file:
            header = file[0].header
            if header.get("FITSTYPE", "").strip() != "PSRFITS":
                raise ValueError("not PSRFITS: FITSTYPE is missing")
            if header.get("OBS_MODE", "").strip() not in ("PSR", "CAL"):
                raise ValueError(
                    f"OBS_MODE {header.get('OBS_MODE')!r} is not that of folded profiles, PSR"
                )
            return _read(header, file["SUBINT"])
    except (KeyError, ValueError, TypeError, IndexError, OSError) as error:
        # astropy's OSError of a file that is none of FITS has no name
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{os.fspath(path)}: {' '.join(str(error).split())}") from None


def _read(header, table):
    rows, names = table.data, table.columns.names
    if len(rows) == 0:
        raise ValueError("no sub-integrations")
    data = np.asarray(rows["DATA"], float)
    if data.ndim == 3:
        data = data[:, None]
    subints, products, channels, _ = data.shape
    shape = (subints, products, channels, 1)
    scale = np.asarray(rows["DAT_SCL"], float).reshape(shape)
    offset = np.asarray(rows["DAT_OFFS"], float).reshape(shape)
    weights = np.asarray(rows["DAT_WTS"], float).reshape(subints, 1, channels, 1)
    counts = (
        np.asarray(rows["COUNTS"], float)
        if "COUNTS" in names
        else np.broadcast_to(weights, data.shape)
    )
    counts = counts.reshape(data.shape)
    start = (int(header["STT_IMJD"]) - UNIX_EPOCH_MJD) * SECONDS_PER_DAY + int(header["STT_SMJD"])
    times = []
    for value in rows["OFFS_SUB"]:
        late = float(value) + float(header["STT_OFFS"])
        times.append((start + int(np.floor(late)), float(late - np.floor(late))))
    period = (
        np.asarray(rows["PERIOD"], float)
        if "PERIOD" in names
        else np.full(subints, float(table.header["TBIN"]) * data.shape[3])
    )
    frequencies = np.asarray(rows["DAT_FREQ"], float).reshape(subints, channels)[0] * 1e6
    order = np.argsort(frequencies, kind="stable")
    kinds = {name: kind for kind, name in POLARIZATIONS.items()}
    kind = kinds.get(table.header.get("POL_TYPE", "AA").strip(), "power")
    return FoldedProfiles(
        powers=(data * scale + offset)[:, :, order],
        counts=counts[:, :, order],
        times=times,
        lengths=np.asarray(rows["TSUBINT"], float),
        frequencies=1 / period,
        channels=frequencies[order],
        dm=float(table.header.get("DM", 0) or 0),
        source=header.get("SRC_NAME", "").strip(),
        beam=str(header.get("PNT_ID", "")).strip(),
        products=(kind,),
        start=(start, float(header["STT_OFFS"])),
    )
