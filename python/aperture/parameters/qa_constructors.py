#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks name the parameter that does not fit and what it may be, in one line."""

import inspect

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.parameters.constructors import KINDS, _kind, clear_errors
from gnuradio.aperture.parameters.errors import ParameterError, ParameterTypeError

CPU = {"device": "cpu"}


def own(array, seed=1):
    """Stands for what makes a block in Python."""
    raise TypeError(f"of {array} and {seed}, from within")


class qa_constructors(gr_unittest.TestCase):
    def refused(self, block, *arguments, **keywords):
        """Returns the block's message, without a trace of the error that it comes from."""
        with self.assertRaises(TypeError) as caught:
            block(*arguments, **keywords)
        text = str(caught.exception)
        self.assertNotIn("\n", text)
        self.assertLess(len(text), 600)  # 30 parameters of f_engine
        return text

    def test_types(self):
        weights = np.ones((1, 2), complex)
        for block, name, value, rule in (
            (aperture.xengine, "channels", 256.0, "an integer"),
            (aperture.xengine, "type", 8, "text"),
            (aperture.xengine, "integration", "1", "a number"),
            (aperture.xengine, "normalise", "no", "True or False"),
            (aperture.xengine, "device", None, "text"),
            (aperture.xengine, "inputs", 2**40, "an integer of at most 32 bits"),
            (aperture.dada_source, "samples", 2**70, "an integer of at most 64 bits"),
            (aperture.select, "products", [(1, 0), 3], "a list of pairs of integers"),
            (aperture.f_engine, "prototype", "hann", "an array of real numbers"),
            (aperture.beamformer, "weights", "ones", "an array of complex numbers"),
            (aperture.beamformer, "beams", "1", "an integer"),
            (aperture.replay, "data", 3, "bytes, or an array"),
        ):
            others = {"samples": {"filename": "x"}, "beams": {"weights": weights}}.get(name, {})
            with self.subTest(block=block.__name__, name=name):
                self.assertEqual(
                    self.refused(block, **others, **{name: value}),
                    f"{name}: {value!r} is not allowed; it must be {rule}",
                )
        with self.assertRaises(ParameterTypeError) as caught:
            aperture.xengine(channels=256.0)
        self.assertEqual(caught.exception.field, "channels")
        # the original error does not show
        self.assertIsNone(caught.exception.__context__)

    def test_types_of_all_versions(self):
        """The texts of one type are understood as pybind11 2.10, 2.13 and 3.0 write them."""
        for kind, names in (
            ("int", ("int", "typing.SupportsInt", "typing.SupportsInt | typing.SupportsIndex")),
            (
                "float",
                ("float", "typing.SupportsFloat", "typing.SupportsFloat | typing.SupportsIndex"),
            ),
            ("buffer", ("buffer", "Buffer", "collections.abc.Buffer")),
            (
                "list[int]",
                (
                    "List[int]",
                    "list[int]",
                    "Sequence[int]",
                    "collections.abc.Sequence[typing.SupportsInt]",
                ),
            ),
            (
                "list[complex]",
                (
                    "List[complex]",
                    "list[complex]",
                    "collections.abc.Sequence["
                    "typing.SupportsComplex | typing.SupportsFloat | typing.SupportsIndex]",
                ),
            ),
            (
                "list[tuple[int, int]]",
                (
                    "List[Tuple[int, int]]",
                    "list[tuple[int, int]]",
                    "collections.abc.Sequence[tuple[typing.SupportsInt, typing.SupportsInt]]",
                ),
            ),
            (
                "array[float32]",
                (
                    "numpy.ndarray[numpy.float32]",
                    "numpy.typing.NDArray[numpy.float32]",
                    "typing.Annotated[numpy.typing.ArrayLike, numpy.float32]",
                ),
            ),
        ):
            for name in names:
                self.assertEqual(_kind(name), kind)
            self.assertIn(kind, KINDS)

    def test_names(self):
        for block, keywords, text in (
            (
                aperture.xengine,
                {"chanels": 4},
                "chanels: is no parameter of xengine; did you mean channels?",
            ),
            (aperture.copy, {"size": 4}, "size: is no parameter of copy; did you mean item_size?"),
            (
                aperture.copy,
                {"colour": 4},
                "colour: is no parameter of copy; those are item_size, device, latency",
            ),
            (aperture.dada_source, {}, "filename: is missing, and dada_source needs it"),
            (
                aperture.pointing,
                {"array": "y8", "beams": [], "channel": 3},
                "channel: is no parameter of pointing; did you mean channels?",
            ),
            (clear_errors(own), {"seed": 2}, "array: is missing, and own needs it"),
            (
                aperture.array_source,
                {"array": "y8", "sede": 3},
                "sede: is no parameter of array_source; did you mean seed?",
            ),
        ):
            with self.subTest(block=block.__name__, **keywords):
                self.assertEqual(self.refused(block, **keywords), text)
        self.assertEqual(
            self.refused(aperture.copy, 4, item_size=4),
            "item_size: is given to copy twice, by its place and by its name",
        )
        self.assertEqual(
            self.refused(aperture.copy, *range(4)),
            "copy takes 3 arguments at most, and not 4: item_size, device, latency",
        )

    def test_errors_from_within_are_left_alone(self):
        self.assertEqual(self.refused(clear_errors(own), 3), "of 3 and 1, from within")

    def test_all_blocks(self):
        """All blocks refuse unknown arguments, and the C++ ones wrong values with their own
        message."""
        count = 0
        for name, block in vars(aperture).items():
            if (
                inspect.isclass(block)
                and hasattr(block, "to_basic_block")
                and block is not aperture.block_on_device
            ):
                count += 1
                self.assertIn(
                    "no_such_thing: is no parameter of " + name,
                    self.refused(block, no_such_thing=1),
                )
        self.assertGreaterEqual(count, 14)
        self.assertTrue(aperture.xengine.__init__.__doc__.startswith("__init__(self: "))
        with self.assertRaisesRegex(ValueError, "^channels: 0 is not allowed; it must be"):
            aperture.xengine(channels=0, **CPU)
        with self.assertRaisesRegex(ParameterError, "^lead: -1 is not allowed"):
            aperture.pointing("y8", [{"name": "a", "azimuth": 0, "elevation": 80}], lead=-1)

    def test_what_fits(self):
        """NumPy's numbers, and arguments by their places, are taken as before."""
        block = aperture.xengine(np.int64(3), np.uint8(2), 16, "fc32", np.float32(2), **CPU)
        self.assertEqual(block.frames_per_integration(), 2)
        aperture.beamformer(channels=1, inputs=2, beams=1, weights=[1, 1j], **CPU)
        aperture.select(products=np.array([[1, 0]]))


if __name__ == "__main__":
    gr_unittest.run(qa_constructors)
