#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Blocks that are made without arguments fit together, and run.

The default type is fc32 everywhere: it is what GNU Radio's sources give, and it needs no gain.
"""

import os
import shutil
import tempfile

from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import comes_true

#: block -> those that may follow it, as docs/flowgraphs.md and docs/blocks.md have them
FOLLOWERS = {
    "array_source": ("pfb_channelizer", "f_engine", "fx_correlator"),
    "pfb_channelizer": ("corner_turn",),
    "corner_turn": ("xengine", "beamformer", "beam_power", "voltage_sink"),
    "f_engine": ("xengine", "beamformer", "beam_power", "voltage_sink", "voltage_ring"),
    "xengine": ("select", "uvh5_sink", "sky_display", "bandpass_display"),
    "fx_correlator": ("fringe_display",),
    "beamformer": ("power_detector",),
    "power_detector": ("filterbank_sink", "psrfits_search_sink"),
    "beam_power": ("filterbank_sink", "psrfits_search_sink"),
}


def chains(first="array_source"):
    """Every way from the source to an end of FOLLOWERS, as lists of names."""
    if first not in FOLLOWERS:
        return [[first]]
    return [[first, *rest] for follower in FOLLOWERS[first] for rest in chains(follower)]


def came(block):
    """Returns how many items came to a block, or to a display, which is made of several."""
    return block.items() if hasattr(block, "items") else block.nitems_read(0)


class qa_defaults(gr_unittest.TestCase):
    def setUp(self):
        # sinks write files of their default names
        self.old, self.folder = os.getcwd(), tempfile.mkdtemp(prefix="qa_defaults")
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.old)
        shutil.rmtree(self.folder)

    def run_for_a_while(self, top, last, enough=lambda: True):
        """Runs an endless flowgraph until its last block has got something, and enough."""
        top.start()
        comes_true(lambda: came(last) and enough(), pause=0.01)
        top.stop()
        top.wait()
        self.assertGreater(came(last), 0)

    def test_chains(self):
        """Chains run with defaults from the simulator to every end."""
        for names in chains():
            with self.subTest(" -> ".join(names)):
                top = gr.top_block()
                made = [getattr(aperture, name)() for name in names]
                for before, after in zip(made, made[1:]):
                    for port in range(max(1, after.input_signature().min_streams())):
                        top.connect((before, port), (after, port))
                last = made[-1]
                if names[-1] == "select":
                    last = blocks.null_sink(last.output_signature().sizeof_stream_item(0))
                    top.connect(made[-1], last)
                self.run_for_a_while(top, last)
                if hasattr(made[-1], "error"):
                    self.assertIsNone(made[-1].error())

    def test_pointing(self):
        """The block runs between the source and the channeliser, and points the beamformer."""
        top = gr.top_block()
        source, pointing = aperture.array_source(), aperture.pointing()
        f_engine, beams = aperture.f_engine(), aperture.beamformer()
        power = aperture.power_detector()
        sink = blocks.null_sink(power.output_signature().sizeof_stream_item(0))
        top.connect((source, 0), pointing, (f_engine, 0))
        top.connect((source, 1), (f_engine, 1))
        top.connect(f_engine, beams, power, sink)
        top.msg_connect(pointing, "weights", beams, "weights")
        self.run_for_a_while(top, sink, lambda: any(beams.weights(0)))
        self.assertTrue(any(beams.weights(0)))

    def test_delay_tracker(self):
        """The block runs between the source and the F-engine, whose delays it sets."""
        top = gr.top_block()
        source, tracker = aperture.array_source(), aperture.delay_tracker()
        f_engine = aperture.f_engine()
        sink = blocks.null_sink(f_engine.output_signature().sizeof_stream_item(0))
        top.connect((source, 0), tracker, (f_engine, 0))
        top.connect((source, 1), (f_engine, 1))
        top.connect(f_engine, sink)
        top.msg_connect(tracker, "delays", f_engine, "delays")
        self.run_for_a_while(top, sink, f_engine.delays)
        self.assertEqual({setting["model"] for setting in f_engine.delays()}, {"geometry"})

    def test_blocks_for_any_items(self):
        """replay, copy and discard have items of one complex float, as a source's."""
        top = gr.top_block()
        f_engine, discard = aperture.f_engine(), aperture.discard()
        # data that is sent again and again has no default
        for port in range(2):
            top.connect(aperture.replay(bytes(8), repeats=0), aperture.copy(), (f_engine, port))
        last = blocks.null_sink(f_engine.output_signature().sizeof_stream_item(0))
        top.connect(f_engine, last)
        source = aperture.array_source()
        top.connect((source, 0), discard)
        top.connect((source, 1), aperture.discard())
        self.run_for_a_while(top, last, discard.items)
        self.assertGreater(discard.items(), 0)

    def test_8_bits_want_a_gain(self):
        """The gain for sc8 has no default: that for other samples only the user knows."""
        for make in (aperture.pfb_channelizer, aperture.f_engine):
            with self.assertRaisesRegex(ValueError, "gain"):
                make(output_type="sc8")
            make(output_type="sc8", gain=20)
            make(input_type="sc8", output_type="sc8")


if __name__ == "__main__":
    gr_unittest.run(qa_defaults)
