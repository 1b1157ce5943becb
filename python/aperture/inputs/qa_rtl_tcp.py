#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`rtl_tcp:` against doubles of rtl_tcp, written from its protocol."""

import contextlib
import multiprocessing
import socket
import struct
import threading

import numpy as np
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input

R820T, GAINS = 5, 29
FREQUENCY, RATE, GAIN = 1, 2, 4


class RtlTcp:
    """
    A server of one dongle: it takes commands, and sends bytes again and again to its one client.
    `commands` are (number, value) in their order, once it is left. It is a process of its own:
    gr-osmosdr waits for it in C++ and lets no other thread of Python run. Entered and left by
    `with`.
    """

    def __init__(self, samples):
        self._samples = bytes(samples)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        together = multiprocessing.get_context("fork")
        self._ours, theirs = together.Pipe()
        self._process = together.Process(target=self._serve, args=(theirs,), daemon=True)

    def __enter__(self):
        self._process.start()
        self._listening.close()
        return self

    def __exit__(self, *_):
        self._ours.send(None)
        self.commands = self._ours.recv()
        self._process.join()

    def _serve(self, pipe):
        commands = []

        def take(connection):
            held = b""
            with contextlib.suppress(OSError):
                while part := connection.recv(4096):
                    held += part
                    while len(held) >= 5:
                        commands.append(struct.unpack_from(">BI", held))
                        held = held[5:]

        def stream():
            connection, _ = self._listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"RTL0" + struct.pack(">II", R820T, GAINS))
                threading.Thread(target=take, args=(connection,), daemon=True).start()
                while True:
                    connection.sendall(self._samples)

        threading.Thread(target=stream, daemon=True).start()
        pipe.recv()
        pipe.send(commands)


class qa_rtl_tcp(gr_unittest.TestCase):
    def test_samples(self):
        """Unsigned bytes, re then im, come as floats about 0; settings reach the server."""
        count = 1 << 16
        sent = np.random.default_rng(1).integers(0, 256, 2 * count, dtype=np.uint8)
        with RtlTcp(sent) as server:
            signals = open_input(
                f"rtl_tcp:127.0.0.1:{server.port},rate=2.4e6,freq=1420.4e6,gain=29.7"
            )
            self.assertEqual((signals.inputs, signals.sample_rate), (1, 2.4e6))
            source, sink = signals.source(count // 2), blocks.vector_sink_c()
            flowgraph = gr.top_block()
            flowgraph.connect(source, sink)
            flowgraph.run()
            got = np.array(sink.data(), np.complex64)
            del flowgraph, source, signals
        self.assertEqual(len(got), count // 2)
        wanted = sent[0::2] - 127.5 + 1j * (sent[1::2] - 127.5)
        # the receiver may have dropped what came before it ran: the place, by its first samples
        scale = np.max(got.real) / np.max(wanted.real)
        place = next(
            at
            for at in range(count)
            if np.allclose(np.roll(wanted, -at)[:8] * scale, got[:8], atol=0.02)
        )
        np.testing.assert_allclose(got, np.roll(wanted, -place)[: len(got)] * scale, atol=0.01)
        last = dict(server.commands)
        self.assertEqual((last[FREQUENCY], last[RATE], last[GAIN]), (1420400000, 2400000, 297))

    def test_refused(self):
        with RtlTcp([0]) as server:
            name = f"rtl_tcp:127.0.0.1:{server.port},rate=2.4e6,freq=1e9"
            with self.assertRaisesRegex(InputError, "channels=2: a server of rtl_tcp has one"):
                open_input(name + ",channels=2")
        with self.assertRaisesRegex(InputError, "rate is missing"):
            open_input("rtl_tcp:127.0.0.1,freq=1e9")
        # nobody listens there any more
        with self.assertRaisesRegex(InputError, f"rtl_tcp=127.0.0.1:{server.port} cannot"):
            open_input(name)


if __name__ == "__main__":
    gr_unittest.run(qa_rtl_tcp)
