#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Command lines whose options are shorthands for a plan."""

import argparse
import dataclasses
import os
import textwrap

from ..arguments.command_parser import CommandParser
from ..inputs.registry import kinds, kinds_text, options_text
from ..parameters.errors import ParameterError
from .fields import FX, NEVER, OF_SAMPLES
from .plan import NAMED, Plan, about_section, fields_for, needed_by
from .product_sections import SHORTHANDS, read_shorthand
from .yaml_plans import load_plan, plan_text

INPUTS = f"Inputs (--help-input KIND has their options):\n{kinds_text()}\n\n"
EPILOG = (
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


class _Product(argparse.Action):
    """Keeps the product that an option makes, which is one."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(
                self, "is given twice: more products of a kind are for the products of a --plan"
            )
        setattr(namespace, self.dest, values)


def product_reader(shorthand):
    """Returns the type, as argparse has it, of an option that makes a product."""

    def read(text):
        try:
            return read_shorthand(shorthand, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


class PlanParser(CommandParser):
    """
    The command line of a program, with an option for each field of a plan that has one.

    program: its name. parse_args() returns a namespace of `plan`, a Plan, and `write_plan`, the
    name of a file or None.
    """

    def __init__(self, program, description):
        super().__init__(
            prog=program,
            description=description,
            epilog=(INPUTS if program in OF_SAMPLES else "") + EPILOG,
            formatter_class=HelpFormatter,
        )
        self._actions_of, self._products = {}, {}
        self.add_argument(
            "--plan",
            metavar="FILE.yml",
            help="take what this file says; options take the place of what it says",
        )
        self.add_argument(
            "--write-plan",
            metavar="FILE.yml",
            help="write the plan of these options into a new file, and do no more",
        )
        for section, fields in fields_for(program).items():
            group = self.add_argument_group(section, about_section(section, program))
            for field in () if section in NAMED else fields.values():
                if field.place.options:
                    self._actions_of[field.name] = field.added_to(group)
            if section == "input" and program in OF_SAMPLES:
                group.add_argument(
                    "--help-input",
                    action=_HelpInput,
                    choices=list(kinds()),
                    metavar="KIND",
                    dest=argparse.SUPPRESS,
                    default=argparse.SUPPRESS,
                    help="show the options of inputs of a kind, and exit",
                )
            if section == "products":
                for option, shorthand in SHORTHANDS.items():
                    self._products[option] = group.add_argument(
                        option,
                        action=_Product,
                        metavar=shorthand.metavar,
                        help=shorthand.help,
                        dest=f"products.{shorthand.name}",
                        type=product_reader(shorthand),
                    )
            if section == "hosts":
                group.add_argument(
                    "--host",
                    metavar="NAME",
                    help="takes what the section `hosts` of the plan says of this host",
                )
        self._require(())

    def _require(self, given):
        for name in needed_by(self.prog):
            self._actions_of[name].required = name not in given

    def parse_args(self, args=None, namespace=None):
        """Parses as argparse does; what a plan says holds where no option says something else."""
        first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        first.add_argument("--plan")
        path = first.parse_known_args(args)[0].plan
        plan = Plan(program=self.prog) if path is None else self._loaded(path)
        self._require(plan.source.keys)
        # options that are not given stay NEVER
        found = super().parse_args(
            args, argparse.Namespace(**dict.fromkeys(self._actions_of, NEVER))
        )
        if found.plan != path:
            self.error("--plan must be written in full")  # not as --pla, which argparse allows
        values = {
            name: getattr(found, name)
            for name in self._actions_of
            if getattr(found, name) is not NEVER
        }
        made = {
            action.dest.partition(".")[2]: (option, getattr(found, action.dest))
            for option, action in self._products.items()
            if getattr(found, action.dest) is not None
        }
        source = dataclasses.replace(
            plan.source,
            options=frozenset(values),
            products={name: option for name, (option, _) in made.items()},
        )
        plan = plan.replaced(
            values,
            source=source,
            host=getattr(found, "host", None),
            products=plan.products | {name: product for name, (_, product) in made.items()},
        )
        missing = plan.program == FX and plan.outputs.file is None
        if missing and plan.network.role != "f" and plan.host is None:
            self.error("the following arguments are required: -o/--output")
        return argparse.Namespace(plan=plan, write_plan=found.write_plan)

    def _loaded(self, path):
        if not os.path.isfile(path):
            self.error(f"--plan {path}: there is no such file")  # a FIFO would wait
        try:
            return load_plan(path, self.prog)
        except ParameterError as error:
            self.error(str(error))  # the error names the file
        except (OSError, ValueError) as error:
            self.error(f"--plan {path}: {error}")

    @staticmethod
    def write_plan(options):
        """Writes the file of --write-plan, which must not be there."""
        with open(options.write_plan, "x", encoding="utf-8") as file:
            file.write(plan_text(options.plan))
