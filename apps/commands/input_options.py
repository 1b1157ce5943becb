#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The options of all commands that channelise an input and write files."""

import argparse
import textwrap

from ..arguments.argument_types import device_name, positive_seconds, whole_number
from ..inputs.registry import kinds, kinds_text, options_text
from .inputs import DEFAULT_DURATION
from .levels import TARGET_RMS

EPILOG = (
    f"Inputs (--help-input KIND has their options):\n{kinds_text()}\n\n"
    "Ctrl-C ends the input and writes all that was in flight; once more, it stops at once. A "
    "terminal that is closed does the same as Ctrl-C. Exit code: 0 only if all data were "
    "written, whether or not anybody could read what is printed; 1 after an error, 2 for "
    "wrong arguments, 130 if the input was interrupted (not for endless simulations, which "
    "end so)."
)


class HelpFormatter(argparse.HelpFormatter):
    """Leaves paragraphs of more than one line as they are."""

    def _fill_text(self, text, width, indent):
        return "\n\n".join(
            part if "\n" in part else textwrap.fill(part, width) for part in text.split("\n\n")
        )


class _HelpInput(argparse.Action):
    """Prints what may be said of inputs of a kind."""

    def __call__(self, parser, namespace, values, option_string=None):
        print(options_text(values))
        parser.exit()


def add_input_options(add):
    """Adds the options of the commands that channelise an input."""
    add(
        "--input",
        required=True,
        metavar="INPUT",
        help="source of the samples, KIND:NAME; the kinds are listed below",
    )
    add(
        "--help-input",
        action=_HelpInput,
        choices=list(kinds()),
        metavar="KIND",
        dest=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
        help="show the options of inputs of a kind, and exit",
    )
    add(
        "--array",
        metavar="FILE",
        help="array description of a recording or of receivers (default: of a recording, from its "
        "header, of two streams the first is x, the second y; of receivers, an antenna each)",
    )
    add(
        "--channels",
        type=whole_number(4, 65536, even=True),
        metavar="N",
        help="even, 4 to 65536 (default: 1024, fewer of an input with less than 100 spectra)",
    )
    add(
        "--taps",
        type=whole_number(1, 64),
        default=8,
        metavar="T",
        help="taps of the polyphase filter bank, 1 to 64 (default: %(default)s)",
    )
    add(
        "--window",
        default="hann",
        metavar="NAME",
        help="hann, hamming, blackman, rect or kaiser(BETA) (default: %(default)s)",
    )
    add(
        "--format",
        choices=("sc8", "fc32"),
        default="sc8",
        help="of the voltages after the F-engine; for sc8 the gain of each input is measured "
        "from the first part of the input (of receivers while they run), for an rms of "
        f"{TARGET_RMS:g} steps of the real and "
        "the imaginary part (default: %(default)s)",
    )
    add(
        "--duration",
        type=positive_seconds(True),
        metavar="SECONDS",
        help=f"of a simulation (default: {DEFAULT_DURATION:g}; inf: until Ctrl-C), of "
        "receivers (default: until Ctrl-C), or of a recording from its start (default: all)",
    )
    add(
        "--device",
        type=device_name,
        default="auto",
        metavar="NAME",
        help="auto, cpu, cuda or cuda:N (default: %(default)s: a GPU if there is one)",
    )
    add(
        "--calibration",
        metavar="CAL.yml",
        help="calibration that makes the inputs equal, as aperture_calibrate writes it; "
        "takes the place of the description's gains and cable delays",
    )
    add(
        "--seed",
        type=whole_number(0, 2**31 - 1),
        metavar="N",
        help="seed of a simulation (default: 1)",
    )


def add_no_overwrite(add, what):
    """Adds the option that keeps files which are there; what: they, and what happens without it."""
    add("--no-overwrite", dest="overwrite", action="store_false", help=f"refuse to replace {what}")


def add_output_options(add, metavar, text, required=True):
    """Adds the options of the commands that write files; text: what these are."""
    add("-o", "--output", required=required, metavar=metavar, help=text)
    add_no_overwrite(add, "files (default: they are replaced when the first integration comes)")
