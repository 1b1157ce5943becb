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

import ast
import functools
import inspect
import operator
import re
import weakref
from numbers import Complex

import numpy as np

from .errors import ParameterTypeError
from .input_files import look_for
from .rules import refuse

#: types, as _kind() gives them -> their names for a user
KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "True or False",
    "buffer": "bytes, or an array",
    "list[int]": "a list of integers",
    "list[float]": "a list of numbers",
    "list[complex]": "a list of numbers",
    "list[str]": "a list of texts",
    "list[list[int]]": "a list of rows of integers",
    "list[tuple[int, int]]": "a list of pairs of integers",
    "tuple[int, int]": "two integers",
    "tuple[int, float]": "two numbers, an integer and a fraction",
    "array[complex64]": "an array of complex numbers",
    "array[float32]": "an array of real numbers",
    "array[int32]": "an array of integers",
}

#: parameters of blocks in C++ that are input files: a name, or a list of names
FILES = ("filename", "files")

#: The names that versions of pybind11 have for one type, and the one that is used here: up to
#: 2.11 List[int], from 2.12 on list[int], in 3 collections.abc.Sequence[typing.SupportsInt].
NAMES = [
    (r"\b(typing|typing_extensions|collections\.abc)\.", ""),
    (r"\b(List|Sequence)\b", "list"),
    (r"\bTuple\b", "tuple"),
    (r"\bBuffer\b", "buffer"),
    (r"\b(int|SupportsInt)( \| SupportsIndex)?(?!\w)", "int"),
    (r"\b(complex|SupportsComplex)( \| Supports(Float|Index))*(?!\w)", "complex"),
    (r"\b(float|SupportsFloat)( \| SupportsIndex)?(?!\w)", "float"),
    (r"\bnumpy\.ndarray\[numpy\.(\w+)\]", r"array[\1]"),
    (r"\bnumpy\.NDArray\[numpy\.(\w+)\]", r"array[\1]"),
    (r"\bAnnotated\[numpy\.ArrayLike, numpy\.(\w+)\]", r"array[\1]"),
]


def _kind(text):
    """The name of a type in a signature of any version of pybind11 to the one used here."""
    for pattern, name in NAMES:
        text = re.sub(pattern, name, text)
    return text


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


def _parameters_of_pybind(signature):
    """Returns the parameters in "__init__(self: module.xengine, channels: int = 1024, ...) ->
    None": {name: (type, whether it has to be given)}."""
    found = {}
    for part in split(signature[signature.index("(") + 1 : signature.rindex(")")])[1:]:
        name, rest = part.split(":", 1)
        kind, *default = split(rest, "=")
        found[name.strip()] = _kind(kind), not default
    return found


def _parameters_of_python(function):
    """Returns the same of a function in Python: None as the type, which it checks itself."""
    return {
        name: (None, entry.default is entry.empty)
        for name, entry in inspect.signature(function).parameters.items()
        if name != "self"
    }


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


#: blocks in C++ -> (the signature of their constructor, arguments, keywords)
_made = weakref.WeakKeyDictionary()


def parameters_of(block):
    """
    Returns the parameters of a block in C++: {name: value} of all that are numbers or texts, also
    where they were left at their defaults; {} if it is not known.
    """
    if block not in _made:
        return {}
    signature, arguments, keywords = _made[block]
    values = {}
    for part in split(signature[signature.index("(") + 1 : signature.rindex(")")])[1:]:
        name, rest = part.split(":", 1)
        try:
            values[name.strip()] = ast.literal_eval(split(rest, "=")[1])
        except (IndexError, ValueError, SyntaxError):
            values[name.strip()] = None  # no default, or one that is no literal
    values.update(zip(list(values), arguments))
    values.update(keywords)
    return {name: value for name, value in values.items() if isinstance(value, (int, float, str))}


def _remember(block, signature, arguments, keywords):
    # data that a block was given may be large
    plain = [value if isinstance(value, (int, float, str)) else None for value in arguments]
    try:
        _made[block] = (
            signature,
            plain,
            {
                name: value
                for name, value in keywords.items()
                if isinstance(value, (int, float, str))
            },
        )
    except TypeError:  # a struct of parameters, which is no block
        pass


def _found_if(is_file, value):
    """A value as it is, or, of what names input files, a name or a list of names under which the
    block can open them, if only to say why it cannot."""
    if is_file and isinstance(value, (list, tuple)):
        return [_found_if(True, entry) for entry in value]
    return look_for(value) or value if is_file and isinstance(value, (str, bytes)) else value


def _bits(value):
    """Returns how many bits wide an integer is."""
    return operator.index(value).bit_length() + 1


def complain(name, parameters, arguments, keywords):
    """
    Raises a TypeError for arguments that do not fit, if it is known why.

    name: of the block; parameters: {name: (type or None, whether it must be given)}; arguments,
    keywords: as given.
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
    for given, (_, needed) in parameters.items():
        if needed and given not in values:
            raise TypeError(f"{given}: is missing, and {name} needs it")
    known = {given: parameters[given][0] for given in values if parameters[given][0]}
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


def clear_errors(block):
    """
    Lets a block, or a function that makes one, say in one line which argument does not fit.

    block: a class of pybind11's or of Python's, whose constructor is replaced, or a function, for
    which another is returned.
    """
    function = block.__init__ if inspect.isclass(block) else block
    in_python = inspect.isfunction(function)

    @functools.wraps(function)
    def checked(*arguments, **keywords):
        ours = arguments[inspect.isclass(block) :]
        try:
            if in_python:
                # apart from the call: type errors from within that are none of its arguments'
                signature.bind(*arguments, **keywords)
            else:
                named = [name in FILES for name in parameters][: len(ours)]
                ours = [*map(_found_if, named, ours), *ours[len(named) :]]
                keywords = {
                    name: _found_if(name in FILES, value) for name, value in keywords.items()
                }
                function(arguments[0], *ours, **keywords)
                _remember(arguments[0], text, ours, keywords)
                return
        except TypeError as error:
            if not in_python and "incompatible constructor arguments" not in str(error):
                raise
        else:
            return function(*arguments, **keywords)
        complain(block.__name__, parameters, ours, keywords)
        raise TypeError(
            f"{block.__name__}: these arguments do not fit: it takes "
            + ", ".join(
                f"{name} ({KINDS.get(kind, kind)})" if kind else name
                for name, (kind, _) in parameters.items()
            )
        )

    if in_python:
        signature = inspect.signature(function)
        parameters = _parameters_of_python(function)
    else:
        text = function.__doc__.split("\n")[0]
        parameters = _parameters_of_pybind(text)
    if not inspect.isclass(block):
        return checked
    block.__init__ = checked
    return block


def clear_errors_of(module):
    """clear_errors() of all blocks of a module of pybind11's."""
    for block in vars(module).values():
        if inspect.isclass(block) and (block.__init__.__doc__ or "").startswith("__init__(self: "):
            clear_errors(block)
