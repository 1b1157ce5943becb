#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_observe: an instrument that is one file."""

import json

from .. import monitoring
from ..arguments.command_parser import CommandParser
from ..arguments.version import __version__
from ..observatory.instrument import Instrument
from ..observatory.notify import Notifier
from ..plan.plan_parser import HelpFormatter
from .observe_plan import PROGRAM, Configuration, schema_of
from .running import CommandError, error_text, run_command
from .terminal import fail, say

WRONG = 2  # exit code of what is wrong with a file, as of arguments

EPILOG = (
    "SIGTERM and SIGINT end the input: all that has come is written, files are whole, and "
    "the exit code is 0; a second one stops at once. SIGHUP reads the file again: where it "
    "is as it was, new output files begin; where it has changed, the flowgraph is made "
    "anew; where something is wrong with it, what runs goes on.\n\n"
    "Exit code: 0 where the input ended or a signal asked for it, 1 after an error, 2 for "
    "what is wrong with the file or the arguments. docs/observe.md has all sections."
)


def parser():
    """The command line of aperture_observe."""
    result = CommandParser(
        prog=PROGRAM,
        description="Runs an instrument that one YAML file describes: input, "
        "engines, correlator, beams, search, voltages and what is done when something fails.",
        epilog=EPILOG,
        formatter_class=HelpFormatter,
    )
    result.add_argument(
        "configuration",
        nargs="?",
        metavar="CONFIG.yml",
        help="the file that describes the instrument",
    )
    result.add_argument(
        "--host", metavar="NAME", help="run what the section `hosts` says of this host"
    )
    result.add_argument(
        "--check",
        action="store_true",
        help="check the file, print what is wrong with it, and do no more",
    )
    result.add_argument(
        "--schema",
        action="store_true",
        help="print the JSON schema of such files, with which editors complete "
        "them, and do no more",
    )
    return result


def check(configuration):
    """Says what is wrong with a Configuration, if anything; returns the exit code."""
    # not at the top: all blocks are loaded by it
    from .dry_run import dry_run  # pylint: disable=import-outside-toplevel

    try:
        dry_run(configuration)
    except (CommandError, ValueError, OSError, RuntimeError, MemoryError) as error:
        fail(PROGRAM, error_text(configuration.error(error)))
        return WRONG
    say(f"{configuration.path}: nothing is wrong with it")
    return 0


def run_observatory(options):
    """Does what the options say; returns the exit code."""
    if options.schema:
        say(json.dumps(schema_of(), indent=2, ensure_ascii=False))
        return 0
    if options.configuration is None:
        fail(PROGRAM, "CONFIG.yml is missing")
        return WRONG
    try:
        configuration = Configuration(options.configuration, options.host)
    except (OSError, ValueError) as error:
        fail(PROGRAM, error_text(error))
        return WRONG
    if options.check:
        return check(configuration)
    # not at the top: all blocks are loaded by it
    from .observe_service import Service  # pylint: disable=import-outside-toplevel

    instrument = Instrument(configuration.plan.instrument.name, configuration.sections, __version__)
    publisher = None
    try:
        if "monitoring" in configuration.sections:
            publisher = monitoring.start(instrument, configuration.sections["monitoring"])
        return Service(configuration, instrument, Notifier()).run()
    except (CommandError, ValueError, OSError, RuntimeError) as error:
        raise configuration.error(error) from error
    finally:
        if publisher is not None:
            publisher.stop()


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), run_observatory, arguments)
