#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Errors of a call whose arguments do not fit a block's constructor.

Python and pybind11 refuse a misspelt name or a value of the wrong type with a TypeError, which
is as right as it is hard to read: pybind11's has the whole signature and all that was given. Here
it becomes one line, which names the parameter, its value and what is allowed.
"""

import functools
import inspect
import operator
import weakref
from numbers import Complex

import numpy as np

from .description import parameters_of as described
from .description import spread, with_arguments
from .errors import ParameterError, ParameterTypeError
from .input_files import look_for
from .rules import refuse

#: kinds of parameters -> their names for a user
KINDS = {
    "int": "an integer",
    "float": "a number",
    "complex": "a number",
    "str": "text",
    "bool": "True or False",
    "buffer": "bytes, or an array",
    "list[int]": "a list of integers",
    "list[float]": "a list of numbers",
    "list[complex]": "a list of numbers",
    "list[str]": "a list of texts",
    "list[list[int]]": "a list of rows of integers",
    "list[tuple[int, int]]": "a list of pairs of integers",
    "list[tuple[float, float]]": "a list of pairs of numbers",
    "tuple[int, int]": "two integers",
    "list[object]": "a list",
    "tuple[int, float]": "two numbers, an integer and a fraction",
    "array[complex64]": "an array of complex numbers",
    "array[float32]": "an array of real numbers",
    "array[int32]": "an array of integers",
}

#: parameters of blocks in C++ that are input files, a name or a list of names: True, or how names
#: end that are no names of what is built in
FILES = {"filename": True, "files": True, "layout": (".yml", ".yaml")}


def split(text, at=","):
    """Parts of a text between commas that are in no brackets and no quotes."""
    parts, depth, quoted = [""], 0, None
    for letter in text:
        if quoted:
            quoted = None if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if letter == at and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _fits(value, kind):
    """Returns whether pybind11 takes a value for a type; None: of some other type."""
    if kind == "int":
        return hasattr(type(value), "__index__")
    if kind == "float":
        return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if kind == "complex":
        return isinstance(value, Complex)
    if kind == "str":
        return isinstance(value, (str, bytes))
    if kind == "bool":
        return value is None or hasattr(type(value), "__bool__")
    try:
        if kind == "buffer":
            memoryview(value)
            return True
        if kind.startswith("array["):
            np.asarray(value).astype(kind[len("array[") : -1])
            return True
        if kind.startswith("list["):
            return not isinstance(value, (str, bytes)) and all(
                _fits(entry, kind[5:-1]) is not False for entry in value
            )
        if kind.startswith("tuple["):
            kinds = split(kind[6:-1])
            return len(value) == len(kinds) and all(
                _fits(entry, part) is not False for entry, part in zip(value, kinds)
            )
    except (TypeError, ValueError):
        return False
    return None


#: blocks in C++ -> {name: value} of what they were made with
_made = weakref.WeakKeyDictionary()


def values_of(block):
    """
    Returns the parameters of a block in C++: {name: value} of all that are numbers or texts, also
    where they were left at their defaults; {} if it is not known.
    """
    return _made.get(block, {})


def _remember(block, parameters, arguments, keywords):
    values = {name: parameter.default for name, parameter in parameters.items()}
    values.update(zip(parameters, arguments))
    values.update(keywords)
    try:
        # data that a block was given may be large
        _made[block] = {
            name: value for name, value in values.items() if isinstance(value, (int, float, str))
        }
    except TypeError:  # a struct of parameters, which is no block
        pass


def _found_if(is_file, value):
    """A value as it is, or, of what names input files, a name or a list of names under which the
    block can open them, if only to say why it cannot. is_file: True, or how names of files end."""
    if isinstance(is_file, tuple):
        is_file = isinstance(value, str) and value.endswith(is_file)
    if is_file and isinstance(value, (list, tuple)):
        return [_found_if(True, entry) for entry in value]
    return look_for(value) or value if is_file and isinstance(value, (str, bytes)) else value


def _bits(value):
    """Returns how many bits wide an integer is."""
    return operator.index(value).bit_length() + 1


def complain(name, parameters, arguments, keywords):
    """
    Raises a TypeError for arguments that do not fit, if it is known why.

    name: of the block; parameters: {name: Parameter}; arguments, keywords: as given.
    """
    for given in keywords:
        if given not in parameters:
            import difflib

            close = difflib.get_close_matches(given, parameters, 1)
            raise TypeError(
                f"{given}: is no parameter of {name}; "
                + (f"did you mean {close[0]}?" if close else f"those are {', '.join(parameters)}")
            )
    if len(arguments) > len(parameters):
        raise TypeError(
            f"{name} takes {len(parameters)} arguments at most, and not "
            f"{len(arguments)}: {', '.join(parameters)}"
        )
    values = dict(zip(parameters, arguments))
    for given in keywords:
        if given in values:
            raise TypeError(f"{given}: is given to {name} twice, by its place and by its name")
    values.update(keywords)
    for given, parameter in parameters.items():
        if parameter.needed and given not in values:
            raise TypeError(f"{given}: is missing, and {name} needs it")
    known = {given: parameters[given].kind for given in values}
    for given, kind in known.items():
        if _fits(values[given], kind) is False:
            refuse(given, values[given], KINDS.get(kind, kind), ParameterTypeError)
    widest = max(
        (given for given, kind in known.items() if kind == "int"),
        key=lambda given: _bits(values[given]),
        default=None,
    )
    if widest and _bits(values[widest]) > 32:
        refuse(
            widest,
            values[widest],
            f"an integer of at most {64 if _bits(values[widest]) > 64 else 32} bits",
            ParameterTypeError,
        )


def _construct(function, parameters, block, arguments, keywords):
    """Calls a constructor in C++, whose errors become those of the parameters that they name."""
    try:
        function(block, *arguments, **keywords)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        if type(error) is ValueError and name in parameters:
            raise ParameterError(name, problem) from None
        raise


def clear_errors(block):
    """
    Lets a block, or a function that makes one, say in one line which argument does not fit.

    block: a class of pybind11's or of Python's, whose constructor is replaced, or a function, for
    which another is returned.
    """
    function = block.__init__ if inspect.isclass(block) else block
    parameters = {parameter.name: parameter for parameter in described(block)}
    in_python = inspect.isfunction(function)
    signature = inspect.signature(function) if in_python else None

    @functools.wraps(function)
    def checked(*arguments, **keywords):
        ours = arguments[inspect.isclass(block) :]
        bound = None
        try:
            if in_python:
                # apart from the call: type errors from within that are none of its arguments'
                bound = signature.bind(*arguments, **keywords).arguments
            else:
                named = [FILES.get(name, False) for name in parameters][: len(ours)]
                ours = [*map(_found_if, named, ours), *ours[len(named) :]]
                keywords = {
                    name: _found_if(FILES.get(name, False), value)
                    for name, value in keywords.items()
                }
                _construct(function, parameters, arguments[0], ours, keywords)
                _remember(arguments[0], parameters, ours, keywords)
                return
        except TypeError as error:
            if not in_python and "incompatible constructor arguments" not in str(error):
                raise
        if bound is not None:
            bound = spread(block.__name__, parameters.values(), bound)
            for name, value in bound.items():
                if name in parameters and value is not parameters[name].default:
                    parameters[name].check(value)
            return function(**bound)
        complain(block.__name__, parameters, ours, keywords)
        raise TypeError(
            f"{block.__name__}: these arguments do not fit: it takes "
            + ", ".join(
                name if parameter.kind == "object" else f"{name} ({KINDS[parameter.kind]})"
                for name, parameter in parameters.items()
            )
        )

    if all(parameter.meaning for parameter in parameters.values()):
        block.__doc__ = checked.__doc__ = with_arguments(block.__doc__, parameters.values())
    if not inspect.isclass(block):
        return checked
    block.__init__ = checked
    return block


def clear_errors_of(module):
    """clear_errors() of all blocks of a module of pybind11's."""
    for block in vars(module).values():
        if hasattr(block, "_describe"):
            clear_errors(block)
