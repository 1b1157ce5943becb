#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Faults of a flowgraph of GNU Radio Companion, found without running it.

A check is a function of the Flowgraph which yields findings; CHECKS is the table of them.
"""

import os
import re

from ..arrays.array_description import load_array
from ..inputs.registry import open_input
from ..parameters.sample_types import FRAME_TYPES, SAMPLE_TYPES
from ..streams.python_block import text_of
from .findings import Examination, are, names, notice, problem
from .grc import (
    RATES,
    REAL,
    Flowgraph,
    edge,
    is_throttle,
    label,
    load_flowgraph,
    number,
    ours,
    value,
)

ENDING = ".grc"
LARGEST_FRAME = 128 << 20  # bytes
MOST_FRAMES = 2000  # a second, at 10 to 20 µs a call
#: the kind of an edge -> how a value of it is named
WORDS = {
    "channels": "{} channels",
    "inputs": "{} inputs",
    "beams": "{} beams",
    "spectra": "{} spectra a frame",
    "type": "samples of the type {}",
    "interleaved": "{} inputs in a port",
}
HARDWARE = re.compile(r"(soapy_\w*source|uhd_usrp_source|osmosdr_source|rtlsdr_source)$")
WITHOUT_TAGS = re.compile(r"(soapy|osmosdr|rtlsdr)_")
RECEIVING = ("soapy", "uhd", "osmosdr")  # inputs that would open a device


def _is_hardware(block):
    return bool(HARDWARE.match(block.key))


# --- what GRC says ------------------------------------------------------------------------------


def unknown_blocks(scene):
    """Blocks that are not installed."""
    for block in scene.flowgraph.blocks:
        if block.is_dummy_block:
            yield problem(
                "unknown-block",
                [block],
                f"{block.name} is a block that this GNU Radio does not have.",
                "Install the module that it is from. Blocks of gr-aperture are found "
                "where it is installed, or by tools/run.",
            )


def lost_connections(scene):
    """Connections to ports that a block does not have (any more)."""
    for source, port, sink, other in scene.not_made:
        yield problem(
            "lost-connection",
            [source, sink],
            f"The connection from {source} (output {port}) to "
            f"{sink} (input {other}) cannot be made: one of the blocks has no such port.",
            "Its number of inputs or inputs per port has changed, or it is another block than "
            "before. Set that back, or connect what is there.",
        )


def refused_values(scene):
    """Values that cannot be computed, and such as the block refuses."""
    for block in scene.blocks:
        bad = [param for param in block.params.values() if not param.is_valid()]
        for param in bad:
            text = " ".join(" ".join(param.get_error_messages()).split())
            yield problem(
                "value",
                [block],
                f"{param.name} of {block.name} is {param.get_value()}, which "
                f"cannot be used: {text}",
                "Variables are blocks of their own: look whether the "
                "name is right, and whether its block is enabled.",
            )
        messages = [text for text in block._error_messages if "Port is not" not in text]
        if messages and not bad:
            said = _constructor_says(scene, block)
            for text in [said] if said else messages:
                text = " ".join(str(text).split())
                found = re.match(r'Assertion "(.*)" (failed|did not evaluate)\.?$', text)
                text = f"{found[1]} does not hold" if found else text
                yield problem(
                    "value",
                    [block],
                    f"{block.name} ({block.label}) cannot be made: {text}.",
                    "Open the block and change that value.",
                )


def _constructor_says(scene, block):
    """Returns why one of our blocks refuses its parameters, in its own words; None if it does
    not."""
    if not ours(block) or ours(block).endswith("_display"):
        return None
    scope = dict(scene.flowgraph.namespace)
    try:
        exec(block.templates.render("imports"), scope)
        exec(block.templates.render("make").strip(), scope)
    except ValueError as error:
        return str(error).rstrip(".")
    except Exception:
        pass  # GRC's words have to do
    return None


def not_connected(scene):
    """Ports that lead nowhere."""
    for block in scene.blocks:
        for ports, is_source in ((block.active_sources, True), (block.active_sinks, False)):
            for number_, port in enumerate(ports):
                if any("not connected" in text for text in port._error_messages):
                    side = "output" if is_source else "input"
                    yield problem(
                        "not-connected",
                        [block],
                        f"The {side} {port.name or number_} of {block.name} is not connected.",
                        "Connect it, or disable the block. An "
                        "output that nobody wants goes into a Null Sink; a block with more ports "
                        "than antennas has the wrong number of inputs.",
                    )


# --- edges --------------------------------------------------------------------------------------


def edges_fit(scene):
    """Neighbours that do not agree about what is between them."""
    for entry in scene.connections:
        source, sink = entry.source_block, entry.sink_block
        there, here = edge(source, True), edge(sink, False)
        apart = [what for what in here if what in there and there[what].value != here[what].value]
        for what in apart:
            gives, wants = there[what], here[what]
            word = WORDS[what]
            yield problem(
                "edge",
                [source, sink],
                f"{source.name} sends {word.format(gives.value)}, and "
                f"{sink.name} expects {word.format(wants.value)}.",
                f"Set {label(sink, wants.key)} of {sink.name} to {gives.value}, or "
                f"{label(source, gives.key)} of {source.name} to {wants.value}. A variable that "
                "both use keeps them equal.",
            )
        messages = [*entry._error_messages]
        if messages and not apart:
            sizes = [
                f"{port.vlen} × {port.dtype}, {port.item_size} bytes"
                for port in (entry.source_port, entry.sink_port)
            ]
            yield problem(
                "edge",
                [source, sink],
                f"{source.name} sends items of {sizes[0]}, and {sink.name} "
                f"expects items of {sizes[1]}.",
                "Make type and vector length "
                f"{_sized_by(source, sink)} equal; one of the two has an old value.",
            )


def _sized_by(*blocks):
    keys = ("vlen", "channels", "inputs", "spectra_per_frame", "type")
    found = [
        f"{label(block, key)} of {block.name}"
        for block in blocks
        for key in keys
        if key in block.params
    ]
    return f"({', '.join(found)})" if found else ""


def frame_sizes(scene):
    """Frames that need too much memory, or come too often."""
    for block in scene.of("f_engine", "corner_turn"):
        carried = {what: found.value for what, found in edge(block, True).items()}
        if carried.get("type") not in FRAME_TYPES or not {"channels", "inputs", "spectra"} <= set(
            carried
        ):
            continue
        size = SAMPLE_TYPES[carried["type"]].size
        size *= carried["channels"] * carried["inputs"] * carried["spectra"]
        key = label(block, "spectra_per_frame")
        if size > LARGEST_FRAME:
            yield problem(
                "large-frames",
                [block],
                f"A frame of {block.name} has {size >> 20} MiB, and rings "
                "hold four of them at least.",
                f"Make {key} smaller: frames of 1 to 128 MB are best.",
            )
        rates = [rate for _, _, rate in scene.rates(block)]
        hop = _hop(scene, block)
        if rates and hop and size < 1 << 20:
            often = max(rates) / hop / carried["spectra"]
            if often > MOST_FRAMES:
                yield notice(
                    "small-frames",
                    [block],
                    f"{block.name} makes {often:.0f} frames a second, of "
                    f"{size / 1000:.3g} kB each: the calls cost more than the work.",
                    f"Make {key} larger, until a frame has 1 MB or takes a few milliseconds.",
                )


def _hop(scene, block):
    """Samples from one spectrum to the next, of an F-engine; None of other blocks."""
    if ours(block) != "f_engine":
        return None
    channels = number(block, "channels")
    return channels and channels * (2 if value(block, "input_type") in REAL else 1)


def integrations(scene):
    """Integrations that are not near a whole number of frames."""
    for block in scene.of("xengine"):
        if value(block, "integration_unit") != "seconds":
            continue
        seconds, spectra = number(block, "integration"), number(block, "spectra_per_frame")
        for before in scene.upstream(block):
            hop, rates = _hop(scene, before), scene.rates(before)
            if not (hop and rates and seconds and spectra):
                continue
            frame = hop * spectra / rates[0][2]
            count = max(1, round(seconds / frame))
            text = (
                f"{block.name} is to integrate {seconds:.4g} s, and a frame has {frame:.4g} s: "
                f"it will be {count} frame{'s' if count > 1 else ''}, {count * frame:.4g} s."
            )
            remedy = (
                f"Set {label(block, 'integration')} of {block.name} to a multiple of a "
                f"frame, or make {label(before, 'spectra_per_frame')} of {before.name} and "
                f"{block.name} smaller."
            )
            if seconds < frame / 2:
                yield problem("integration", [block, before], text, remedy)
            elif abs(count * frame / seconds - 1) > 0.05:
                yield notice("integration", [block, before], text, remedy)


def gains(scene):
    """Gains to 8 bits that leave nothing, or clamp everything."""
    for block in scene.of("f_engine", "pfb_channelizer"):
        gain, kind = number(block, "gain"), value(block, "input_type")
        if (
            value(block, "output_type") != "sc8"
            or gain is None
            or kind not in ("fc32", "f32", "sc8", "s8")
        ):
            continue
        floats = kind in ("fc32", "f32")
        low, high = (1, 5000) if floats else (0.02, 6)
        if gain == 0 or low < gain < high:
            continue  # 0 is the block's own, or refused by it
        typical = (
            "samples of receivers are below 1"
            if floats
            else "samples of 8 bits have an rms of about 20 steps"
        )
        too = "small" if gain <= low else "large"
        yield problem(
            "gain",
            [block],
            f"{label(block, 'gain')} of {block.name} is {gain:.4g}, which is too "
            f"{too} for {kind} into sc8: {typical}, and voltages of 8 bits should have an rms of "
            f"20 steps; these will be {'rounded to zero' if too == 'small' else 'clamped'}.",
            "Set it to 20 divided by the rms of the samples; Bandpass Display shows the level, "
            "and aperture_fx measures the gain by itself.",
        )


# --- rates, times and receivers -----------------------------------------------------------------


def sample_rates(scene):
    """Rates that differ along one stream."""
    told = set()
    for block in scene.blocks:
        rates = scene.rates(block)
        if is_throttle(block) or ours(block) in ("receiver_tags", "fx_correlator"):
            rates += [
                (block, key, number(block, key)) for key in (*RATES, "rate") if number(block, key)
            ]
        for first, first_key, first_rate in rates:
            for other, other_key, rate in rates:
                pair = frozenset((first.name, other.name))
                if rate <= first_rate or pair in told or len(pair) < 2:
                    continue
                told.add(pair)
                throttles = [entry for entry in (first, other) if is_throttle(entry)]
                text = (
                    f"{first.name} runs at {first_rate:.9g} samples a second, and {other.name} "
                    f"in the same stream, or beside it into {block.name}, at {rate:.9g}"
                )
                remedy = (
                    f"Set {label(first, first_key)} of {first.name} and "
                    f"{label(other, other_key)} of {other.name} to the same variable."
                )
                if len(throttles) == 1:
                    yield notice(
                        "throttle-rate",
                        [first, other],
                        f"{text}: it is played "
                        f"{'faster' if other in throttles else 'slower'} than it was "
                        "received.",
                        "That may be meant. If not: " + remedy,
                    )
                else:
                    yield problem("sample-rates", [first, other], text + ".", remedy)


def _correlating(scene):
    return scene.of("f_engine", "pfb_channelizer", "fx_correlator")


def receivers_lined_up(scene):
    """Receivers that begin whenever they like."""
    for block in _correlating(scene):
        loose = [
            entry
            for entry, between in scene.above(
                block, lambda entry: not entry.key == "aperture_stream_align"
            )
            if _is_hardware(entry)
        ]
        if len(loose) > 1:
            yield problem(
                "not-aligned",
                [block, *loose],
                f"{names(loose)} go into {block.name} without "
                "Stream Align: receivers begin at different samples, so that there will be no "
                "fringes.",
                "Put Receiver Tags behind each source, and Stream Align between them "
                f"and {block.name}.",
            )


def receivers_tagged(scene):
    """Receivers whose samples have no time and no frequency."""
    for block in [*_correlating(scene), *scene.of("stream_align")]:
        bare = [
            entry
            for entry, between in scene.above(
                block,
                lambda entry: entry.key not in ("aperture_receiver_tags", "aperture_stream_align"),
            )
            if WITHOUT_TAGS.match(entry.key) and _is_hardware(entry)
        ]
        if bare:
            yield problem(
                "no-tags",
                [block, *bare],
                f"{names(bare)} {'say' if len(bare) > 1 else 'says'} "
                f"neither when nor at which frequency the samples for {block.name} were received.",
                "Put Receiver Tags behind each source, with the same variables for rate and "
                "centre frequency.",
            )


def clocks(scene):
    """Receivers on crystals of their own."""
    devices = [block for block in scene.blocks if _is_hardware(block)]
    if len(devices) < 2:
        return
    telling = [block for block in devices if "clock_source0" in block.params]
    internal = [
        block for block in telling if value(block, "clock_source0") in ("", "internal", None)
    ]
    if len(internal) > 1:
        yield problem(
            "own-clocks",
            internal,
            f"{names(internal)} each run on a clock of their own: their "
            "phases drift against each other, and the fringes with them.",
            "Give all of them one 10 MHz reference, and set Clock Source to external.",
        )
    elif len(telling) < len(devices):
        other = [block for block in devices if block not in telling]
        yield notice(
            "clocks-unknown",
            other,
            f"Nobody can tell whether {names(other)} {are(other)} on one clock.",
            "Dongles have to be wired so: docs/receivers.md. "
            "Otherwise set Clock Error of Stream Align.",
        )


def throttled_hardware(scene):
    """A throttle where a receiver sets the pace."""
    for block in scene.blocks:
        if is_throttle(block):
            devices = [entry for entry, _ in scene.above(block) if _is_hardware(entry)]
            if devices:
                yield problem(
                    "throttle",
                    [block, *devices],
                    f"{block.name} slows down the stream of "
                    f"{names(devices)}: the receiver sets the pace, and two clocks lose samples.",
                    f"Bypass {block.name} (select it and press B), or delete it.",
                )


# --- files --------------------------------------------------------------------------------------


def _where_it_looks(scene, name):
    """Returns what to do about a file that is not there."""
    folder = os.path.dirname(scene.filename)
    if os.path.exists(os.path.join(scene.started, name)):
        return (
            f"It is in {scene.started}, but GNU Radio Companion starts the flowgraph in "
            f"{folder}: give its name as it is from there, or its whole name."
        )
    return f"GNU Radio Companion starts the flowgraph in {folder}: it is looked for there."


def _makes_files(scene):
    """Returns whether a snippet runs before the blocks are made, which may write what they read."""
    return any(
        value(block, "section") == "init_before_blocks"
        or block.params["section"].value == "init_before_blocks"
        for block in scene.blocks
        if block.key == "snippet"
    )


def files(scene):
    """Files that are not there."""
    made = _makes_files(scene)
    for block in scene.blocks:
        for key, param in block.params.items():
            name = value(block, key) if param.dtype == "file_open" and key != "array" else None
            if isinstance(name, str) and name and not os.path.exists(name):
                if made:
                    yield notice(
                        "no-file",
                        [block],
                        f"{name}, which {block.name} reads, is not "
                        "there yet; a snippet of the flowgraph may make it.",
                    )
                else:
                    yield problem(
                        "no-file",
                        [block],
                        f"{name}, which {block.name} reads, is not there.",
                        _where_it_looks(scene, name),
                    )


def arrays(scene):
    """Descriptions of arrays that cannot be read, or are of another number of inputs."""
    for block in scene.blocks:
        name = value(block, "array") if ours(block) else None
        if not isinstance(name, str) or not name:
            continue
        try:
            count = len(load_array(name).inputs)
        except (ValueError, OSError) as error:
            yield problem(
                "array",
                [block],
                f"{label(block, 'array')} of {block.name} cannot be read: {text_of(error)}.",
                _where_it_looks(scene, name),
            )
            continue
        inputs = number(block, "inputs")
        if inputs is not None and inputs != count:
            yield problem(
                "array-inputs",
                [block],
                f"{block.name} has {inputs} inputs, and the array {name} has {count}.",
                f"Set {label(block, 'inputs')} of {block.name} to {count}, or name another array.",
            )


def inputs(scene):
    """Inputs that cannot be opened, or are of another type or number."""
    for block in scene.of("input_source"):
        text = value(block, "input")
        if not isinstance(text, str) or text.partition(":")[0] in RECEIVING:
            continue
        try:
            signals = open_input(text, value(block, "array") or None)
        except (ValueError, OSError, RuntimeError) as error:
            if isinstance(error, FileNotFoundError) and _makes_files(scene):
                yield notice(
                    "no-file",
                    [block],
                    f"What {block.name} reads is not there yet; a "
                    "snippet of the flowgraph may make it.",
                )
                continue
            yield problem(
                "input",
                [block],
                f"{block.name} cannot be opened: {text_of(error)}.",
                "aperture_fx --help-input KIND says "
                "what may stand there; aperture_doctor looks at recordings as well.",
            )
            continue
        for key, has in (("type", signals.sample_type), ("inputs", signals.inputs)):
            if value(block, key) != has:
                yield problem(
                    "input",
                    [block],
                    f"{label(block, key)} of {block.name} is "
                    f"{value(block, key)}, and {text} has {has}.",
                    f"Set {label(block, key)} of {block.name} to {has}.",
                )


def disabled(scene):
    """Blocks that do not take part."""
    found = [block for block in scene.flowgraph.blocks if not block.enabled]
    if found:
        yield notice(
            "disabled",
            found,
            f"{names(sorted(block.name for block in found))} {are(found)} disabled.",
            "Select a block and press E to enable it.",
        )


CHECKS = [
    unknown_blocks,
    lost_connections,
    refused_values,
    not_connected,
    edges_fit,
    frame_sizes,
    integrations,
    gains,
    sample_rates,
    receivers_lined_up,
    receivers_tagged,
    clocks,
    throttled_hardware,
    files,
    arrays,
    inputs,
    disabled,
]


def examine_flowgraph(filename):
    """
    Looks at a flowgraph of GNU Radio Companion, without running it.

    Its expressions and imports are evaluated, as they are when GNU Radio Companion opens it, and
    names of files are looked for as they are when that runs it: in its folder.

    Raises
    ------
    ValueError, OSError, RuntimeError
        It cannot be read; the message says why.
    """
    with open(filename, "rb"):
        pass  # Python says why it cannot be read
    started, filename = os.getcwd(), os.path.abspath(filename)
    os.chdir(os.path.dirname(filename))
    try:
        flowgraph, not_made = load_flowgraph(filename)
        scene = Flowgraph(flowgraph, filename, not_made, started)
        findings = [found for check in CHECKS for found in check(scene)]
    finally:
        os.chdir(started)
    title = value(flowgraph.options_block, "title") or ""
    count = len(
        [
            block
            for block in scene.blocks
            if not block.is_variable and block is not flowgraph.options_block
        ]
    )
    things = [
        {
            "name": os.path.basename(filename),
            "summary": ", ".join(
                filter(None, (title, f"{count} blocks, {len(scene.connections)} streams"))
            ),
        }
    ]
    return Examination("flowgraph", things, findings)
