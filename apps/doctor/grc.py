#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Flowgraphs of GNU Radio Companion, as its own reader sees them, and what our blocks' ports
carry."""

import contextlib
import functools
import io
import math
from dataclasses import dataclass

from gnuradio import gr

PREFIX = "aperture_"
#: blocks that pass samples on at the rate at which they come
SAME_RATE = {
    "blocks_throttle",
    "blocks_throttle2",
    "blocks_multiply_const_xx",
    "blocks_multiply_const_vxx",
    "blocks_add_xx",
    "blocks_add_const_vxx",
    "blocks_delay",
    "blocks_copy",
    "blocks_head",
    "blocks_complex_to_interleaved_char",
    "blocks_complex_to_interleaved_short",
    "channels_channel_model",
    "aperture_receiver_tags",
    "aperture_stream_align",
    "aperture_copy",
    "aperture_delay_tracker",
    "aperture_pointing",
}
RATES = ("samp_rate", "sample_rate", "samples_per_second")
REAL = ("f32", "s16", "s12", "s10", "s8")

FRAME = dict(channels="channels", inputs="inputs", spectra="spectra_per_frame", type="type")
VISIBILITIES = dict(channels="channels", inputs="inputs")
SAMPLES = dict(type="input_type", interleaved="inputs_per_port")
#: block -> what its inputs carry, and what its outputs do: {what: parameter that says it}; channels
#: of an output are those that are selected
EDGES = {
    "array_source": ({}, dict(type="type", interleaved="inputs_per_port")),
    "input_source": ({}, dict(type="type", interleaved="inputs")),
    "dada_source": ({}, dict(type="type", interleaved="inputs")),
    "stream_align": (dict(type="type"), dict(type="type")),
    "pfb_channelizer": (
        SAMPLES,
        dict(channels="channels", type="output_type", interleaved="inputs_per_port"),
    ),
    "corner_turn": (dict(channels="channels", type="type", interleaved="inputs_per_port"), FRAME),
    "f_engine": (SAMPLES, {**FRAME, "type": "output_type"}),
    "flagger": (FRAME, FRAME),
    "xengine": (FRAME, VISIBILITIES),
    "fx_correlator": (SAMPLES, VISIBILITIES),
    "spectrometer": (SAMPLES, {}),
    "hydrogen_source": ({}, {}),
    "beamformer": (
        FRAME,
        dict(channels="channels", beams="beams", spectra="spectra_per_frame", type="output_type"),
    ),
    "power_detector": (
        dict(channels="channels", beams="beams", spectra="spectra_per_frame", type="type"),
        {},
    ),
    "beam_power": (FRAME, {}),
    "select": (VISIBILITIES, {}),
    "uvh5_sink": (VISIBILITIES, {}),
    "calibrator": (VISIBILITIES, {}),
    "fringe_display": (VISIBILITIES, {}),
    "sky_display": (VISIBILITIES, {}),
}


class FlowgraphError(ValueError):
    """A file that is no flowgraph; the message says why."""


@functools.lru_cache(maxsize=1)
def _platform():
    """GNU Radio Companion's blocks, which take seconds to read."""
    try:
        from gnuradio.grc.core.platform import Platform
    except ImportError as error:
        raise RuntimeError(
            f"GNU Radio Companion is not installed ({error}), which reads flowgraphs"
        ) from None
    platform = Platform(
        name="aperture_doctor",
        prefs=gr.prefs(),
        version=gr.version(),
        version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()),
    )
    platform.build_library()
    return platform


@contextlib.contextmanager
def _quiet():
    """Keeps GRC from printing what checks say in other words."""
    from gnuradio.grc.core import Messages

    before, Messages.MESSENGERS_LIST[:] = list(Messages.MESSENGERS_LIST), []
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        Messages.MESSENGERS_LIST[:] = before


def load_flowgraph(filename):
    """
    GRC's flowgraph of a file, with all its values computed and checked, and the connections of the
    file that GRC could not make, [(block, port, block, port)].
    """
    platform = _platform()
    flowgraph = platform.make_flow_graph()
    flowgraph.grc_file_path = filename
    try:
        with _quiet():
            data = platform.parse_flow_graph(filename)
            flowgraph.import_data(data)
    except Exception as error:
        raise FlowgraphError(
            f"{filename}: is not a flowgraph that GNU Radio Companion can read: "
            f"{' '.join(str(error).split())}"
        ) from None
    # twice, as GRC does: ports depend on parameters
    flowgraph.rewrite()
    flowgraph.rewrite()
    flowgraph.validate()
    made = {tuple(map(str, entry.export_data())) for entry in flowgraph.connections}
    wanted = [tuple(map(str, entry[:4])) for entry in data.get("connections", [])]
    return flowgraph, [entry for entry in wanted if entry not in made]


def value(block, key):
    """Returns a block's parameter, computed; None where it has no such parameter, or where it
    cannot be computed."""
    if key not in block.params:
        return None
    try:
        found = block.params[key].evaluate()
    except Exception:
        return None
    return found.strip("'\"") if isinstance(found, str) else found


def number(block, key):
    """Returns a parameter as value() does if it is a finite number; None for all else."""
    found = value(block, key)
    return found if isinstance(found, (int, float)) and math.isfinite(found) else None


def label(block, key):
    """Returns the label of a parameter in GRC's window of the block."""
    return block.params[key].name


def ours(block):
    """The name of one of our blocks without aperture_, or ""."""
    return block.key[len(PREFIX) :] if block.key.startswith(PREFIX) else ""


def is_throttle(block):
    return block.key.startswith("blocks_throttle")


@dataclass(frozen=True)
class Quantity:
    """A property of an edge, as a block at one of its ends gives it: value, and parameter that says
    so."""

    value: object
    key: str


def edge(block, is_source):
    """{what: Quantity} of a block's ports; empty of blocks that are not in EDGES."""
    found = {}
    for what, key in EDGES.get(ours(block), ({}, {}))[1 if is_source else 0].items():
        this = value(block, key)
        if what == "channels" and is_source and "selected_channels" in block.params:
            first, selected = number(block, "first_channel"), number(block, "selected_channels")
            if None not in (this, first, selected):
                this = selected or this - first
        if this is not None:
            found[what] = Quantity(this, key)
    return found


@dataclass
class Flowgraph:
    """
    A flowgraph for checks: flowgraph, GRC's; filename, from the root on; not_made, the connections
    that GRC could not make, as load_flowgraph() gives them; started, the folder in which the
    examination was started.

    Blocks that are disabled or bypassed are not among `blocks`, nor are connections to them among
    `connections`, which are those of streams.
    """

    flowgraph: object
    filename: str
    not_made: list
    started: str

    @functools.cached_property
    def blocks(self):
        return sorted(self.flowgraph.iter_enabled_blocks(), key=lambda block: block.name)

    @functools.cached_property
    def connections(self):
        return sorted(
            (
                entry
                for entry in self.flowgraph.connections
                if entry.enabled
                and entry.source_port.domain == "stream"
                and entry.sink_port.domain == "stream"
            ),
            key=lambda entry: (
                entry.source_block.name,
                entry.sink_block.name,
                entry.source_port.key,
                entry.sink_port.key,
            ),
        )

    def of(self, *kinds):
        """Our blocks of these kinds."""
        return [block for block in self.blocks if ours(block) in kinds]

    def upstream(self, block):
        """Blocks whose streams go into a block."""
        return list(
            dict.fromkeys(
                entry.source_block for entry in self.connections if entry.sink_block is block
            )
        )

    def above(self, block, passing=lambda block: True):
        """[(block, those between)] of all from which streams come, through such as `passing`
        lets through."""
        found, todo = {}, [(entry, ()) for entry in self.upstream(block)]
        while todo:
            this, between = todo.pop(0)
            if this in found:
                continue
            found[this] = between
            if passing(this):
                todo += [(entry, (*between, this)) for entry in self.upstream(this)]
        return list(found.items())

    def rates(self, block):
        """[(block, parameter, samples a second)] of what comes into a block without a change of
        rate on the way; throttles, which may be slower or faster than that, come last."""
        found = []
        for this, _ in self.above(block, lambda entry: entry.key in SAME_RATE):
            for key in (*RATES, *(["rate"] if ours(this) == "receiver_tags" else [])):
                rate = number(this, key)
                if rate and (this.key in SAME_RATE or not self.upstream(this)):
                    found.append((this, key, rate))
        return sorted(found, key=lambda entry: is_throttle(entry[0]))
