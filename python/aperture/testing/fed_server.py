#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server of monitoring without a flowgraph: fed with what a simulated array would say."""

import os
import subprocess
import threading
import time

import numpy as np

from ..arrays.array_description import load_array
from ..monitoring import channel, schemas
from ..monitoring.array_values import array_section
from ..monitoring.section import Section
from ..monitoring.server_process import ServerProcess
from .qa_tools import PATIENCE

TOKEN = "0123456789abcdef0123456789abcdef"
START = 1704067200.0


def write_token(folder, token=TOKEN, mode=0o600):
    """A file with a token in a folder; its path."""
    path = os.path.join(str(folder), f"token-{mode:o}")
    if os.path.exists(path):
        os.remove(path)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(token + "\n")
    os.chmod(path, mode)
    return path


def write_certificate(folder):
    """Names of a certificate for localhost, that nobody has signed, and of its key."""
    names = [os.path.join(str(folder), name) for name in ("cert.pem", "key.pem")]
    subprocess.run(
        [
            "openssl",
            "req",
            *(
                "-x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext "
                f"subjectAltName=DNS:localhost -out {names[0]} -keyout {names[1]}"
            ).split(),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.chmod(names[1], 0o600)
    return names


def controls():
    """Returns some controls of each kind, as controls.py makes them for blocks."""
    part = schemas.number(-1e30, 1e30)
    which = schemas.integer(0, 7, "which input; all without it")
    one = {
        "xengine": {
            "integration": schemas.mapping(["seconds"], seconds=schemas.number(1e-6, 1e6, "s"))
        },
        "f_engine": {
            "gains": schemas.mapping(
                ["gain"], gain=schemas.either(part, schemas.array(part, 2, 2)), input=which
            )
        },
        "tracker": {"direction": schemas.mapping(["direction"], direction=schemas.text(128))},
        "calibrator": {
            "command": schemas.mapping(["command"], command=schemas.text(16, choices=["measure"]))
        },
        "ring": {
            "trigger": schemas.mapping(
                ["before"],
                id=schemas.text(64, pattern=schemas.ID),
                before=schemas.number(0, 1e6),
                after=schemas.number(0, 1e6),
            )
        },
    }
    return {
        block: {
            port: {"schema": schema, "about": f"Sets {port}."} for port, schema in ports.items()
        }
        for block, ports in one.items()
    }


class FedServer:
    """
    A server that runs, with `url`; commands that it was given are in `commands`, and answered with
    `error`. To be closed.

    section: the section monitoring; port 0 of listen: a free one; request_time: s within which
    requests must come; pause: s from one update to the next; beams: names; correlator: name of its
    block, or None.
    """

    def __init__(
        self,
        section=None,
        array="y8",
        name="fed",
        request_time=60.0,
        pause=0.2,
        beams=("Cas A", "zenith", "dead"),
        correlator="xengine",
    ):
        self.array, self.beams, self._correlator = load_array(array), list(beams), correlator
        self.commands, self.error, self.status_of_error = [], None, 422
        self._process = ServerProcess(
            Section.of({"listen": "127.0.0.1:0", **(section or {})}),
            *f"--request-time {request_time} --pause {pause}".split(),
        )
        self.pid = self._process.pid
        ready = threading.Event()
        self.url = ""
        self._answers = threading.Lock()

        def read():
            try:
                while (found := channel.receive(self._process.socket)) is not None:
                    message = found[0]
                    if message["kind"] == "ready":
                        self.url = message["url"]
                        ready.set()
                    else:
                        self.commands.append((message["block"], message["port"], message["value"]))
                        self.send(
                            {
                                "kind": "answer",
                                "id": message["id"],
                                "error": self.error,
                                "status": self.status_of_error if self.error else 200,
                            }
                        )
            except OSError:
                pass

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()
        until = time.monotonic() + PATIENCE
        while not ready.wait(0.05):
            if self._process.ended() is not None or time.monotonic() > until:
                self.close()
                raise RuntimeError("the server does not listen")
        self.send(
            {
                "kind": "about",
                "controls": controls(),
                "correlates": correlator is not None,
                "instrument": {
                    "name": name,
                    "version": "1.2.3",
                    "state": "running",
                    "restarts": 0,
                    "array": array_section(self.array),
                    "configuration": {},
                    "beams": [{"name": beam, "direction": f"at {beam}"} for beam in self.beams],
                    "blocks": {
                        block: {"type": block, "in": [], "out": ["status"]}
                        for block in (
                            "source",
                            "f_engine",
                            correlator,
                            "tracker",
                            "ring",
                            "calibrator",
                        )
                        if block
                    },
                },
            }
        )
        self._noise = np.random.default_rng(1)
        self.integrations = 0

    def send(self, message, payload=b""):
        """A message as a publisher sends it."""
        with self._answers:
            self._process.send(message, payload)

    def feed(self, seconds=1.0, channels=64, draw=True, **figures):
        """Sends what a publisher says in so many seconds: an integration, unless it is not to be
        drawn, counts and figures, of which some may be given."""
        if draw:
            if self._correlator:
                self._send_integration(seconds, channels)
            self._send_powers(seconds)
        inputs = len(self.array.inputs)
        clamped = [0] * (inputs - 1) + [50 * self.integrations]
        self.send(
            {
                "kind": "status",
                "block": "f_engine",
                "time": time.time(),
                "value": {
                    "event": "counts",
                    "spectra": 100 * (self.integrations + 1),
                    "channels": channels,
                    "clamped": clamped,
                    "clamped_samples": [0] * inputs,
                    "missing": [0] * inputs,
                },
            }
        )
        self.send(
            {
                "kind": "figures",
                "time": time.time(),
                "state": "running",
                "blocks": {"source": {"items_out": 1000 * self.integrations}},
                "edges": [["source", "f_engine", 12]],
                "integrations": self.integrations,
                "times_real_time": 1.01,
                "latency": 0.3,
                "queue": 0,
                "dropped": 0,
                "server_restarts": 0,
                "recording": True,
                "free": {"/data": 5 * 10**9},
                "outputs": {"visibilities": {"files": 2, "bytes": 3 * 10**6, "left_out": 0}},
                "dumps": {"ring": {"written": 1, "failed": 0, "refused": 595}},
                **figures,
            }
        )
        self.integrations += 1

    def _send_integration(self, seconds, channels):
        now = START + self.integrations * seconds
        inputs = len(self.array.inputs)
        count = inputs * (inputs + 1) // 2
        noise = self._noise.standard_normal((2, channels, count)).astype(np.float32)
        values = (0.1 * (noise[0] + 1j * noise[1])).astype(np.complex64)
        rows, columns = np.tril_indices(inputs)
        autos = rows == columns
        phases = 0.01 * self.integrations * (rows - columns) * 2 + 0.3 * rows
        values += 60 * np.exp(1j * phases)
        values[:, autos] = 200 * (1 + 0.3 * np.sin(np.arange(channels) / 9))[:, None]
        self.send(
            {
                "kind": "visibilities",
                "block": self._correlator,
                "number": self.integrations,
                "time": now,
                "told": True,
                "type": "sc8",
                "interval": seconds,
                "inputs": list(range(inputs)),
                "channels": channels,
                "first": self.array.center_frequency - 1e5,
                "width": 2e5 / channels,
                "counted": [100.0],
                "spectra": 100,
            },
            values,
        )

    def _send_powers(self, seconds, channels=700, together=3):
        """Each beam has twice the power of the one before it; the last has none."""
        count = len(self.beams)
        if not count:
            return
        powers = 2.0 ** np.arange(count)
        powers[-1] = 0
        points = -(-channels // together)
        self.send(
            {
                "kind": "powers",
                "block": "beams",
                "number": self.integrations,
                "time": START + self.integrations * seconds,
                "told": True,
                "interval": seconds,
                "beams": list(range(count)),
                "all": count,
                "channels": channels,
                "together": together,
                "powers": [power or None for power in powers.tolist()],
                "first": self.array.center_frequency - 1e5,
                "width": 2e5 / channels,
                "directions": [None] * count,
            },
            np.repeat(powers, points).astype(np.float32),
        )

    def status(self, block, **value):
        """A message of a block's port status."""
        self.send({"kind": "status", "block": block, "time": time.time(), "value": value})

    def ended(self):
        """Returns its exit status, None while it runs."""
        return self._process.ended()

    def close(self):
        """Ends the server."""
        self._process.stop()
        self._reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
