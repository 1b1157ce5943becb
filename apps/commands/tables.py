#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Numbers with units, and tables of them, as the commands print them."""

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def with_prefix(value, unit):
    """Returns, for example, 16 Msample/s for 1.6e7 and "sample/s"; three to four digits."""
    for size, letter in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.4g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def seconds_text(seconds, digits=6):
    """A length of time with the unit that fits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds * 1e9:.{digits}g} ns"


def speed_text(speed, sample_rate):
    """Cells for how fast samples of each input were taken, and for how much faster than they came;
    speed, sample_rate: samples a second, the former None if the run was too short to measure."""
    if speed is None:
        return "too short to measure", "too short to measure"
    return f"{with_prefix(speed, 'sample/s')} of each input", f"x {speed / sample_rate:.3g}"


def device_text(*blocks):
    """Returns where blocks run, all on one device, and how; blocks: (what it is, block) of each."""
    _, block = blocks[0]
    what = block.device_description()
    return (
        block.device_name()
        + (f" ({what})" if what else "")
        + ": "
        + ", ".join(f"{name} {one.implementation()}" for name, one in blocks)
    )


def table(rows):
    """Rows of texts, the first of each a name, as lines of aligned columns."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in rows
    )


def unused_rows(source):
    """Returns what a source found in its files, or what came to it, and was not used, as rows of
    the table at the end; none if it counts nothing, or there was nothing."""
    counts = {what: count for what, count in getattr(source, "counts", dict)().items() if count}
    if "received" in counts or "dropped" in counts:
        return _packet_rows(counts)
    skipped = counts.pop("skipped", 0)
    texts = [f"{count} {what} frame{'s'[: count != 1]}" for what, count in counts.items()]
    texts += [f"{skipped} bytes between frames"] if skipped else []
    return [("not used", ", ".join(texts))] if texts else []


def _packet_rows(counts):
    """Returns the rows of packet_source."""
    senders = counts.pop("senders", 0)
    came = ", ".join(f"{counts.pop(name, 0)} {name}" for name in ("received", "used"))
    lost = [f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items())]
    return [
        ("packets", f"{came}, of {senders} sender{'s'[: senders != 1]}"),
        *([("", ", ".join(lost))] if lost else []),
    ]
