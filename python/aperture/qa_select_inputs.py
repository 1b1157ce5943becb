#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block select_inputs: which inputs of frames and masks, in which order, with which tags."""

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import Flowgraph, frame_tags, tags_of

CPU = dict(device="cpu")


def vector_of(values):
    """A vector of PMTs."""
    made = pmt.make_vector(len(values), pmt.PMT_NIL)
    for number, value in enumerate(values):
        pmt.vector_set(made, number, value)
    return made


class qa_select_inputs(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(16)

    def test_frames(self):
        """Runs of neighbours, orders of their own, all inputs and one, of all types."""
        for sample_type, inputs, selected in (
            ("sc8", 7, [1, 2, 4]),
            ("fc32", 5, [4, 3, 0]),
            ("sc4", 3, [0, 1, 2]),
            ("sc8", 1, [0]),
        ):
            frame = dict(channels=5, inputs=inputs, spectra_per_frame=11)
            values = qa_tools.random_samples(self.rng, sample_type, (13, 5, inputs, 11))
            bytes_ = reference.samples_to_bytes(values, sample_type)
            block = aperture.select_inputs(**frame, type=sample_type, selected=selected, **CPU)
            out, _ = qa_tools.run(
                block, [bytes_], [bytes_.shape[1] // inputs * len(selected)], chunks=4
            )
            each = bytes_.reshape(13, 5, inputs, -1)
            np.testing.assert_array_equal(
                out[0].reshape(13, 5, len(selected), -1), each[:, :, selected]
            )

    def test_masks(self):
        """Masks of an odd number of bytes."""
        masks = self.rng.integers(0, 256, (9, 4 * 3 * 2), np.uint8)
        block = aperture.select_inputs(
            channels=4, inputs=3, spectra_per_frame=18, selected=[2, 0], spectra_per_slice=2, **CPU
        )
        out, _ = qa_tools.run(block, [masks], [4 * 2 * 2])
        np.testing.assert_array_equal(
            out[0].reshape(9, 4, 2, 2), masks.reshape(9, 4, 3, 2)[:, :, [2, 0]]
        )

    def test_tags(self):
        """Tags about inputs are those of the selected ones, by their new numbers."""
        delays, integration = pmt.intern("delays"), pmt.intern("integration")
        settings = [
            qa_tools.to_pmt({**setting, "time": (1700000000, 0.25)})
            for setting in (
                {"setting": delays, "input": 1, "delay": 1e-9},
                {"setting": delays, "input": 2, "delay": 2e-9},
                {"setting": delays, "delay": pmt.init_f64vector(3, [1e-9, 2e-9, 3e-9])},
                {"setting": integration, "seconds": 2.0},
            )
        ]
        tags = [
            *frame_tags(),
            (1, "missing", {"input": 2, "first": 3, "count": 4}),
            (1, "missing", {"input": 1, "first": 3, "count": 2}),
            (2, "settings", vector_of(settings)),
            (3, "settings", vector_of(settings[:1])),
            (4, "partial", True),
        ]
        frames = self.rng.integers(0, 256, (5, 6 * 3 * 16), np.uint8)
        block = aperture.select_inputs(
            channels=6, inputs=3, spectra_per_frame=16, type="sc4", selected=[2, 0], **CPU
        )
        _, said = qa_tools.run(block, [frames], [6 * 2 * 16], tags=[tags], chunks=2)
        for _, key, value in frame_tags():
            self.assertEqual(tags_of(said[0], key), [(0, value)])
        missing = tags_of(said[0], "missing")
        self.assertEqual(missing, [(1, {"input": 0, "first": 3, "count": 4})])
        self.assertEqual(tags_of(said[0], "partial"), [(4, True)])
        ((item, found),) = tags_of(said[0], "settings")
        self.assertEqual((item, len(found)), (2, 3))
        self.assertEqual((found[0]["input"], found[0]["delay"]), (0, 2e-9))
        self.assertEqual(list(found[1]["delay"]), [3e-9, 1e-9])
        self.assertEqual(found[2]["seconds"], 2.0)

    def test_correlation_of_some(self):
        """An X-engine behind it gives the products of the correlation of all, with their counts."""
        frame = dict(channels=3, spectra_per_frame=16, type="sc8")
        values = qa_tools.random_samples(self.rng, "sc8", (12, 3, 5, 16))
        tags = [*frame_tags(), (4, "missing", {"input": 3, "first": 64, "count": 5})]
        values[4, :, 3, :5] = 0
        bytes_ = reference.samples_to_bytes(values, "sc8")
        chosen = [3, 1, 4]
        outputs = []
        for inputs in (5, 3):
            engine = aperture.xengine(inputs=inputs, integration=3, **frame, **CPU)
            select = aperture.select_inputs(inputs=5, selected=chosen, **frame, **CPU)
            size = 8 * 3 * inputs * (inputs + 1) // 2
            chain = [engine] if inputs == 5 else [select, engine]
            out, out_tags = qa_tools.run(chain, [bytes_], [size], tags=[tags], chunks=5)
            outputs.append((out[0].view(np.complex64).reshape(4, 3, -1), out_tags[0]))
        (all_, all_tags), (some, some_tags) = outputs
        picked = []
        for a in range(3):
            for b in range(a + 1):
                high, low = max(chosen[a], chosen[b]), min(chosen[a], chosen[b])
                product = high * (high + 1) // 2 + low
                value = all_[:, :, product]
                picked.append((product, value if chosen[a] >= chosen[b] else value.conj()))
        np.testing.assert_array_equal(some, np.stack([value for _, value in picked], axis=-1))
        counts = dict(tags_of(all_tags, "counted"))[1]
        self.assertEqual(
            list(dict(tags_of(some_tags, "counted"))[1]), [counts[p] for p, _ in picked]
        )

    def test_restart(self):
        frames = self.rng.integers(0, 256, (20, 3 * 2 * 8 * 2), np.uint8)
        block = aperture.select_inputs(
            channels=3, inputs=2, spectra_per_frame=8, type="sc8", selected=[1], **CPU
        )
        graph = Flowgraph(block, [frames], [3 * 8 * 2])
        first, again = (graph.run()[0][0] for _ in range(2))
        np.testing.assert_array_equal(first, frames.reshape(20, 3, 2, 16)[:, :, 1].reshape(20, -1))
        np.testing.assert_array_equal(first, again)

    def test_refused(self):
        for wrong, text in (
            (dict(selected=[]), "an empty list is not allowed; it must be one input or more"),
            (dict(selected=[3]), "3 is not allowed; it must be inputs 0 to 2"),
            (dict(selected=[1, 1]), "1 twice is not allowed; it must be each input once"),
        ):
            with self.assertRaises(ValueError) as caught:
                aperture.select_inputs(inputs=3, **wrong, **CPU)
            self.assertEqual(str(caught.exception), "selected: " + text)


if __name__ == "__main__":
    gr_unittest.run(qa_select_inputs)
