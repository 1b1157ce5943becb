#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Inputs of packets: their common options, and the block that they become."""

from fractions import Fraction

from .. import aperture_python
from ..aperture_python import packet_layouts
from ..parameters.input_files import look_for
from ..parameters.rules import number_reader, numbers_reader, whole_reader
from ..parameters.sample_types import SAMPLE_TYPES
from ..parameters.times import read_time
from ..streams.silent_block import silent
from .input_format import Option, one_of
from .recordings import describe
from .signals import Signals
from .values import CENTER, RATE

LAYOUTS = ("plain", "vdif", "FILE.yml")
CODINGS = ("s8", "s16", "s16_be", "f32", "f32_be", "u8", "u16", "offset1", "offset2", "offset4")
MOST_STREAMS = 65536


def texts(text):
    """Reads texts with a plus between."""
    parts = text.split("+")
    if not all(parts):
        raise ValueError("expected names with a plus between them")
    return parts


def layout(text):
    """Reads the name of a layout whose packets have samples, or a file of one."""
    if text.endswith((".yml", ".yaml")):
        text = look_for(text) or text
    try:
        found = packet_layouts.find(text)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("layout: ")) from None
    if found["channelised"]:
        raise ValueError(
            f"packets of layout {found['name']} have channels; only those with samples are read "
            "here, packet_source reads all"
        )
    return text


OPTIONS = {
    "layout": Option(
        layout,
        "layout of the packets: plain (a sequence number, then samples), vdif, or a file of YAML "
        "that says where their fields are; default: plain",
        "|".join(LAYOUTS),
    ),
    "samples": Option(
        whole_reader(1, 1 << 20), "samples of each input in a packet; must be given", "N"
    ),
    "inputs": Option(
        whole_reader(1, MOST_STREAMS), "inputs in a packet, sample by sample; default: 1", "N"
    ),
    "streams": Option(
        numbers_reader(MOST_STREAMS - 1, "+"),
        "streams that are read, in this order: threads of vdif; default: all "
        "addresses of plain, thread 0",
        "N[+N...]",
    ),
    "coding": Option(
        one_of(*CODINGS), "type of a component: " + ", ".join(CODINGS) + "; default: s8", "NAME"
    ),
    "complex": Option(
        one_of("yes", "no"), "yes if a sample is two components; default: yes", "yes|no"
    ),
    "rate": Option(RATE, "samples a second of each input; must be given", "HZ"),
    "freq": Option(CENTER, "sky frequency of the middle of the band; must be given", "HZ"),
    "time": Option(
        read_time,
        "time of packet 0, in UTC as 2024-06-01T12:30:00Z or in seconds since 1970; "
        "default: by when packets come, which is approximate (vdif says its time)",
        "TIME",
    ),
    "window": Option(
        whole_reader(2, 65536), "packets by which they may be out of order; default: 32", "N"
    ),
    "most_gap": Option(
        number_reader(0, 1e6, "s"), "longest gap that is filled with zeros; default: 60", "SECONDS"
    ),
    "senders": Option(
        texts,
        "senders that are allowed: addresses or networks, as 10.1.0.0/16; default: all",
        "ADDRESS[+ADDRESS...]",
    ),
}


def parameters_of(request):
    """Parameters of packet_source, of the options that all kinds have."""
    values = request.values
    said = packet_layouts.find(values.get("layout", "plain"))
    for key, example in (("samples", "1024"), ("rate", "4e6"), ("freq", "1420.4e6")):
        if key not in values and not said.get(key):
            raise request.error(
                f"{key} is missing: packets do not say it; add {key}={example}, for example"
            )
    start = values.get("time", Fraction(0))
    given = {
        "window": "window",
        "most_gap": "most_gap",
        "senders": "senders",
        "streams": "streams",
        "inputs": "inputs",
        "coding": "coding",
        "layout": "layout",
    }
    return dict(
        samples=values.get("samples", 0),
        complex=values.get("complex", "yes") == "yes",
        rate=float(values["rate"]),
        center_frequency=float(values["freq"]),
        start_time=(int(start), float(start % 1)),
        **{name: values[key] for key, name in given.items() if key in values},
        **({"inputs": 0} if said["inputs"] and "inputs" not in values else {}),
    )


def signals_of_packets(request, parameters, start_time, files=()):
    """
    Signals of a packet_source.

    start_time: a function of a block that is made, giving (seconds, fraction); files: that are
    read, as text.
    """

    def source(samples):
        block = silent(aperture_python.packet_source, items=samples or 0, **parameters)
        if not samples:
            block.set_log_level("warning")  # hides that nothing comes, for example
        return block

    made = source(0)
    inputs = made.output_signature().sizeof_stream_item(0) // SAMPLE_TYPES[made.type()].size
    rate, center = parameters["rate"], parameters["center_frequency"]
    kind = request.text.partition(":")[0]
    what = f"{kind}:" + ",".join(request.names)
    description, warnings = describe(
        request, what, inputs=inputs, sample_rate=rate, center_frequency=center, polarizations=False
    )
    return Signals(
        description,
        made.type(),
        rate,
        center,
        None,
        source,
        start_time(source),
        files=list(files),
        warnings=warnings,
        endless=True,
    )
