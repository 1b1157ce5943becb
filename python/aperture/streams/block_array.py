#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Arrays of NumPy that refuse on the CPU what a GPU would refuse, so that a block which works here
works there. They are in the memory of GNU Radio's buffers, and valid for one call of work().
"""

import functools

import numpy as np


class Call:
    """A call of work(): a context, after which the arrays of the call are of no use."""

    def __init__(self, kind):
        """Begins a call with arrays of one kind. kind: BlockArray or a subclass of it, of the
        arrays."""
        self._kind = kind
        self.over = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over = True

    def take(self, array):
        """The array as one of this call."""
        taken = array.view(self._kind)
        taken._call = self
        return taken


class BlockArray(np.ndarray):
    """
    An array of an input or output, or a part of one. A complex value is not put into a real array,
    and an array that was kept is not used. What is computed with it is an array of NumPy.
    """

    #: the call whose memory the array is in; None: memory of its own
    _call = None

    def __array_finalize__(self, origin):
        if not self.flags.owndata:  # no copy
            self._call = getattr(origin, "_call", None)

    def _check(self):
        if self._call is not None and self._call.over:
            raise RuntimeError(
                "the array is used after work() has returned: its memory belongs "
                "to the next calls; copy what is to be kept"
            )

    def _accept(self, key, value):
        """Raises for a value that is not to be put at a key."""
        kind = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
        if kind.kind == "c" and self.dtype.kind != "c":
            raise TypeError(
                f"the elements are {kind}, the output's are {self.dtype}: the "
                "imaginary part would be lost; take .real or abs()"
            )

    def __setitem__(self, key, value):
        self._check()
        if isinstance(value, BlockArray):
            value._check()
        if self._call is not None:
            self._accept(key, value)
        super().__setitem__(key, value)

    def __getitem__(self, key):
        self._check()
        return super().__getitem__(key)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **others):
        if out is not None:
            others["out"] = tuple(map(_plain, out))
        made = getattr(ufunc, method)(*map(_plain, inputs), **others)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return tuple(map(self._made, made)) if isinstance(made, tuple) else self._made(made)

    def __array_function__(self, function, types, arguments, others):
        if function is np.copyto and len(arguments) > 1 and isinstance(arguments[0], BlockArray):
            arguments[0]._accept(Ellipsis, arguments[1])
        made = function(*_plain(arguments), **_plain(others))
        if others.get("out") is not None:
            return others["out"]
        if type(made) in (list, tuple):
            return type(made)(map(self._made, made))
        return self._made(made)

    def _made(self, result):
        """Returns what a function of NumPy has made of it, for the caller."""
        return result


class RestrictedArray(BlockArray):
    """
    An array that also refuses what arrays="device" refuses on a GPU: to put into an output another
    type, another shape, or an array that was not made of the arrays of the call and would be on the
    host there.
    """

    def _accept(self, key, value):
        shape = np.ndarray.__getitem__(self, key).shape
        if not isinstance(value, RestrictedArray):
            if shape == () and np.ndim(value) == 0:  # an element
                super()._accept(key, value)
                return
            what = (
                "this is an array on the host"
                if isinstance(value, np.ndarray)
                else f"{type(value).__name__} is no array of the device"
            )
            raise TypeError(
                f'{what}, which a GPU does not take: with arrays="device", the '
                "default, outputs get what was made of the inputs; with "
                'arrays="cupy" work() computes by self.xp, which is CuPy on a GPU '
                "and otherwise NumPy"
            )
        if value.dtype != self.dtype:
            raise TypeError(
                f"the elements are {value.dtype}, the output's are {self.dtype}: "
                f"output[...] = result.astype(numpy.{self.dtype}) converts them"
            )
        if value.shape != shape:
            raise ValueError(f"the shape is {value.shape}, the output's is {shape}")

    def _made(self, result):
        return result.view(RestrictedArray) if isinstance(result, np.ndarray) else result


def _plain(value):
    """The same as an array of NumPy, also within what a function is given; raises for one that was
    kept."""
    if isinstance(value, BlockArray):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {key: _plain(entry) for key, entry in value.items()}
    return value


def _checked(name):
    """A method of NumPy's that does not take an array that was kept."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def checked(self, *arguments, **others):
        self._check()
        return method(self, *arguments, **others)

    return checked


for _name in (
    "__iter__",
    "__float__",
    "__complex__",
    "__int__",
    "__bool__",
    "astype",
    "copy",
    "tobytes",
    "tolist",
    "item",
    "view",
    "reshape",
    "ravel",
    "flatten",
    "transpose",
    "sum",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "dot",
    "sort",
    "fill",
):
    setattr(BlockArray, _name, _checked(_name))
