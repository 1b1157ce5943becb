#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_doctor: looks at something, and says what is wrong with it and what to do."""

import argparse
import json
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from ..arguments.argument_types import number
from ..arguments.command_parser import CommandParser
from ..doctor.desk import Desk
from ..doctor.findings import NOTICE, PROBLEM
from ..doctor.flowgraphs import ENDING, examine_flowgraph
from ..doctor.packets import SECONDS as PACKET_SECONDS
from ..doctor.packets import examine_packets, is_complete, is_of_packets
from ..doctor.receivers import examine_receivers
from ..doctor.recordings import SECONDS, examine_recording, input_text
from ..doctor.satellites import examine_satellites, is_of_satellites
from .running import CommandError, run_command
from .terminal import say

PROGRAM = "aperture_doctor"
WIDTH = 96
WIDTH_OF_PAGES = 79
RECEIVER_SECONDS = 2.0
#: findings with which packets cannot be read as samples
UNREADABLE = {"packets-none", "packets-layout", "packets-counter", "packets-unknown"}
HEADINGS = {PROBLEM: "Wrong", NOTICE: "Good to know"}

EPILOG = """\
The exit status is 0 where nothing is wrong, and 1 where something is, or where it could not be
looked at. docs/receivers.md and docs/troubleshooting.md say more of each of its findings.

Examples:
  aperture_doctor receivers
  aperture_doctor receivers --seconds 20 --sample-rate 2.048e6
  aperture_doctor interferometer.grc
  aperture_doctor recording.dada
  aperture_doctor sigmf:a.sigmf-meta,b.sigmf-meta --seconds 1
  aperture_doctor raw:a.cu8,b.cu8,rate=2.4e6,freq=1420.4e6 --json
  aperture_doctor weather.tle
  aperture_doctor udp:4015
  aperture_doctor pcap:capture.pcap,layout=my.yml
"""


@dataclass(frozen=True)
class Subject:
    """
    Something that can be examined.

    takes: takes(text), whether what was typed is of this kind; help: of what is to be typed;
    examine: examine(options) gives an Examination.
    """

    takes: Callable
    help: str
    examine: Callable


def _receivers(options):
    seconds = RECEIVER_SECONDS if options.seconds is None else options.seconds
    return examine_receivers(Desk(), seconds, options.sample_rate)


def _recording(options):
    if options.seconds == 0:
        raise CommandError("--seconds 0: of a recording, something has to be looked at")
    seconds = SECONDS if options.seconds is None else options.seconds
    return examine_recording(input_text(options.subject), seconds, options.array)


def _packets(options):
    if options.seconds == 0:
        raise CommandError("--seconds 0: of packets, something has to be looked at")
    seconds = PACKET_SECONDS if options.seconds is None else options.seconds
    found = examine_packets(options.subject, seconds)
    # their samples, where it is known how they are read, and they can be
    if UNREADABLE & {finding.name for finding in found.problems}:
        return found
    if not is_complete(options.subject):
        return found
    samples = examine_recording(options.subject, seconds, options.array)
    return replace(
        samples,
        things=[*found.things, *samples.things],
        findings=[*found.findings, *samples.findings],
        lines=found.lines,
    )


def _flowgraph(options):
    return examine_flowgraph(options.subject)


#: in the order in which they are asked
SUBJECTS = [
    Subject(
        lambda text: text == "receivers",
        "receivers: the RTL-SDRs and other receivers that are plugged in",
        _receivers,
    ),
    Subject(
        lambda text: text.endswith(ENDING),
        "FLOWGRAPH.grc: a flowgraph of GNU Radio Companion, which is not run",
        _flowgraph,
    ),
    Subject(
        is_of_satellites,
        "tle=FILE, or a name that ends in .tle: elements of satellites, damaged or old ones",
        lambda options: examine_satellites(options.subject),
    ),
    Subject(
        is_of_packets,
        "udp:PORT, udp:ADDRESS:PORT or pcap:FILE: packets, with what their layout is said to be "
        "(layout=ata, layout=my.yml), or to find the layout that fits",
        _packets,
    ),
    Subject(
        lambda text: input_text(text) is not None,
        "a recording: an input, as of aperture_fx --input, or just the name of its file where "
        "that ends in what it is, as .sigmf-meta",
        _recording,
    ),
]


def parser():
    found = CommandParser(
        PROGRAM,
        description="Looks at something, and says what is wrong with it and what to do.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("subject", help="; ".join(subject.help for subject in SUBJECTS))
    found.add_argument("--json", action="store_true", help="print what was found for programs")
    found.add_argument(
        "--seconds",
        type=number(0),
        metavar="S",
        help="how long all receivers are run together, to see whether samples are "
        f"lost (0: open none; default: {RECEIVER_SECONDS:g}), or how much of a "
        f"recording is looked at, from its beginning on (default: {SECONDS:g})",
    )
    group = found.add_argument_group("recordings")
    group.add_argument(
        "--array",
        metavar="ARRAY",
        help="the description of its array, a file or the name of a shipped one",
    )
    group = found.add_argument_group("receivers")
    group.add_argument(
        "--sample-rate",
        type=number(0, above=True),
        metavar="HZ",
        help="sample rate in that (default: what is common, 2.4e6 for an RTL-SDR)",
    )
    return found


def _paragraph(text, indent, width=WIDTH):
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _thing_text(thing):
    """A line about a thing that was looked at."""
    parts = [
        thing.get("summary", ""),
        " ".join(filter(None, (thing.get("manufacturer"), thing.get("product")))),
    ]
    if thing.get("serial"):
        parts.append(f"serial {thing['serial']}")
    if thing.get("speed_mbit"):
        parts.append(f"{thing['speed_mbit']:g} Mbit/s")
    text = ", ".join(filter(None, parts))
    line = f"{thing['name']}" + (f": {text}" if text else "")
    return _paragraph(line, "    ")[2:]


def _finding_text(finding, number, width):
    head = f"{number}. "
    lines = [head + _paragraph(finding.what, " " * len(head), width).lstrip()]
    if finding.remedy:
        lines.append(_paragraph(finding.remedy, "   -> ", width).replace("\n   -> ", "\n      "))
    # whole, to be copied
    lines += [f"         {command}" for command in finding.commands]
    return "\n".join(lines)


def report(examination):
    """All that was found, for people."""
    parts, width = [], WIDTH
    if examination.lines:
        parts.append("\n".join(examination.lines))
        width = WIDTH_OF_PAGES
    if examination.things and not (examination.lines and examination.subject == "packets"):
        title = examination.subject.capitalize()
        parts.append("\n".join([f"{title}:", *map(_thing_text, examination.things)]))
    for kind, heading in HEADINGS.items():
        found = [finding for finding in examination.findings if finding.kind == kind]
        if found:
            parts.append(
                "\n".join(
                    [f"{heading}:"]
                    + [
                        _finding_text(finding, number, width)
                        for number, finding in enumerate(found, 1)
                    ]
                )
            )
    if not examination.problems:
        parts.append(f"Nothing wrong was found{examination.where}.")
    return "\n\n".join(parts)


def as_json(examination):
    """All that was found, for programs."""
    return json.dumps(
        {
            "subject": examination.subject,
            "healthy": not examination.problems,
            examination.subject: examination.things,
            "findings": [asdict(finding) for finding in examination.findings],
        },
        indent=2,
        ensure_ascii=False,
    )


def examine(options):
    """Does what the options say; returns the exit code."""
    for subject in SUBJECTS:
        if subject.takes(options.subject):
            examination = subject.examine(options)
            say(as_json(examination) if options.json else report(examination))
            return 1 if examination.problems else 0
    raise CommandError(
        f"{options.subject}: nothing that can be examined has this name; what can "
        "be is " + "; ".join(subject.help for subject in SUBJECTS)
    )


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), examine, arguments)
