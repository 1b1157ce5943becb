#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks name the parameter that does not fit and what it may be, in one line."""

import dataclasses
import inspect
import math

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.parameters.constructors import KINDS, clear_errors
from gnuradio.aperture.parameters.description import Integer, Number, Text, parameters_of
from gnuradio.aperture.parameters.errors import ParameterError, ParameterTypeError

CPU = {"device": "cpu"}
#: all blocks that flowgraphs are made of, classes and functions, but for those of the template
BLOCKS = {
    name: block
    for name, block in sorted(vars(aperture).items())
    if name not in ("block_on_device", "device_block", "device_block_gateway", "tap")
    and (
        inspect.isclass(block)
        and hasattr(block, "to_basic_block")
        or name in ("array_source", "folder")
    )
}


def outside(parameter):
    """Values that a parameter's rule does not allow."""
    if parameter.choices:
        return ["none of these"]
    values = []
    if parameter.kind not in ("int", "float"):
        return values
    if math.isfinite(parameter.least):
        below = parameter.least - max(1, abs(parameter.least) / 2)
        values += [below] + [parameter.least] * parameter.open
    if math.isfinite(parameter.most) and parameter.most < 2**31 - 1:
        values.append(parameter.most + max(1, parameter.most / 2))
    if parameter.kind == "int":
        return [int(value) for value in values]
    return [value for value in values if math.isfinite(value)] + [math.nan] * parameter.limited


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

    def test_descriptions(self):
        """Each parameter of each block has a meaning and a known type, and says whether it can be
        set while the block runs; a class without a description is none of ours."""
        seen = 0
        for name, block in BLOCKS.items():
            made = block if inspect.isclass(block) else getattr(aperture.aperture_python, name)
            for parameter in parameters_of(block):
                with self.subTest(block=name, parameter=parameter.name):
                    seen += 1
                    self.assertTrue(parameter.meaning.strip())
                    self.assertIn(parameter.kind, {*KINDS, "object"})
                    self.assertEqual(parameter.settable, hasattr(made, f"set_{parameter.name}"))
                    if not parameter.needed and parameter.default is not None:
                        parameter.check(parameter.default)
        self.assertGreater(seen, 450)

    def test_limits(self):
        """A value outside of a parameter's rule is refused, in the words of the rule."""
        checked = 0
        for name, block in BLOCKS.items():
            # values for what has no default
            needed = {
                "bandwidth": 20e6,
                "center_frequency": 408e6,
                "sample_time": 1e-3,
                "dms": [0.0],
                "data": bytes(8),
                "filename": "x",
                "files": ["x"],
                "filenames": ["x"],
                "pieces": [(0, 0, 1, 0, 0)],
                "layout": [(0, 0, 0, 1024, 0, 2, 2048, 0, 0)],
                "frame_bytes": 8032,
                "frames_per_second": 1,
                "selected": [(0, 0)],
                "samples": 1,
                "segments": [],
                "inputs": [],
                "sources": [],
            }
            described = parameters_of(block)
            given = {p.name: needed[p.name] for p in described if p.needed}
            for parameter in described:
                for value in outside(parameter):
                    with self.subTest(block=name, parameter=parameter.name, value=value):
                        checked += 1
                        with self.assertRaises((ValueError, TypeError)) as caught:
                            block(**{**given, parameter.name: value})
                        text = str(caught.exception)
                        self.assertTrue(text.startswith(parameter.name + ": "), text)
                        self.assertIn("not allowed; it must be ", text)
        self.assertGreater(checked, 500)

    def test_words_of_rules(self):
        """Rules of one kind have the same words in C++ and in Python."""
        for parameter, words in (
            (Integer("", 1, 16), "1 to 16"),
            (Number("", 0, 1e9, open=True, unit="s"), "above 0 and at most 1000000000 s"),
            (Number("", 0, unit="Hz"), "at least 0 Hz"),
            (Text("", "a", "b", "c"), "a, b or c"),
            (Text("", "a"), "a"),
        ):
            self.assertEqual(parameter.rule, words)
        for keywords, words in (
            ({"integration": 0}, "above 0 and at most 1000000000"),
            ({"inputs": 0}, "1 to 65536"),
            ({"type": "s8"}, "fc32, sc8 or sc4"),
            ({"latency": 11}, "0 to 10 s"),
        ):
            with self.assertRaises(ValueError) as caught:
                aperture.xengine(**keywords, **CPU)
            self.assertTrue(str(caught.exception).endswith(f"; it must be {words}"), keywords)
        with self.assertRaises(ParameterError) as caught:
            aperture.f_engine(window="foo")
        self.assertEqual(caught.exception.field, "window")
        self.assertRegex(caught.exception.problem, "^'foo' is not allowed; it must be hann")
        with self.assertRaisesRegex(ValueError, "center_frequency: inf .* it must be finite"):
            aperture.receiver_tags(center_frequency=math.inf)

    def test_arguments_that_come_together(self):
        """An object gives several arguments at once; each of them is given once, by its rule."""
        shape = {"kind": "samples", "inputs": 1}
        for group in (None, aperture.RingSize(size=1 << 20), aperture.RingSize(1, 2.0, 1000.0)):
            ring = aperture.voltage_ring(**shape, ring=group, **CPU)
            bytes_of_ring = {None: 1 << 27}.get(group) or (1 << 20, 16000)[group.seconds > 0]
            self.assertEqual(ring.capacity() * 8, bytes_of_ring)
        with self.assertRaisesRegex(TypeError, "^size: is given to voltage_ring twice, .* ring$"):
            aperture.voltage_ring(**shape, size=1 << 20, ring=aperture.RingSize(), **CPU)
        with self.assertRaisesRegex(ParameterError, "^ring: 3 is not allowed.*None, or a RingSize"):
            aperture.voltage_ring(**shape, ring=3, **CPU)
        with self.assertRaisesRegex(ParameterError, "^taps: 1025 is not allowed"):
            aperture.spead_sink(sizes=aperture.HeapSizes(taps=1025))
        with self.assertRaisesRegex(ParameterError, "^calibrate: 'x' is not allowed"):
            aperture.uvh5_sink(calibrated=aperture.FileCalibration(calibrate="x"))
        for group in (aperture.HeapSizes, aperture.FileCalibration, aperture.RingSize):
            for field in dataclasses.fields(group):
                self.assertTrue(field.type.meaning)
                field.type.check(field.default)

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
                and name not in ("block_on_device", "device_block_gateway")
            ):
                count += 1
                self.assertIn(
                    "no_such_thing: is no parameter of " + name,
                    self.refused(block, no_such_thing=1),
                )
        self.assertGreaterEqual(count, 14)
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
