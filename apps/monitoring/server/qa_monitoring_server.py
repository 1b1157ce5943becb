#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server answers who may ask, and nobody else, whatever they send."""

import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.monitoring.section import Section, SectionError
from gnuradio.aperture.monitoring.server import connections
from gnuradio.aperture.testing.fed_server import TOKEN, FedServer, write_certificate, write_token
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true
from gnuradio.aperture.testing.tiers import long_test

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
GAINS = "/api/v1/blocks/f_engine/gains"


class qa_monitoring_server(gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = FedServer({"token_file": write_token(cls.folder.name)})
        cls.port = int(cls.server.url.rstrip("/").rpartition(":")[2])
        for _ in range(3):
            cls.server.feed()
        cls.server.status("f_engine", event="lost", reason="<script>alert(1)</script>\x1b[31m")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    # ---- how to ask

    def ask(self, path, method="GET", body=None, headers=None, host=None, port=None):
        """status, headers, body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host or f"127.0.0.1:{port or self.port}")
            for key, value in (headers or {}).items():
                connection.putheader(key, value)
            if body is not None and "Content-Length" not in (headers or {}):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def post(self, value, path=GAINS, headers=None):
        """status and JSON of an answer to a command; value: bytes, or for JSON."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        status, _, text = self.ask(path, "POST", body, {**BEARER, **JSON, **(headers or {})})
        return status, json.loads(text)

    def raw(self, *parts, pause=0.0):
        """Returns what comes back for bytes, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
            for part in parts:
                sock.sendall(part)
                time.sleep(pause)
            found = b""
            try:
                while piece := sock.recv(65536):
                    found += piece
            except ConnectionError:
                pass
            return found

    def wait_for(self, condition):
        found = comes_true(condition, pause=0.05)
        self.assertTrue(found)
        return found

    # ---- what is right

    def test_state_has_what_was_fed(self):
        def newest():
            self.server.feed()
            found = json.loads(self.ask("/api/v1/state")[2])
            return (
                found
                if found["fringes"].get("newest")
                and found["sky"].get("serial")
                and abs(found["fringes"]["newest"][0]["coherence"] - 0.3) < 0.02
                else None
            )

        found = self.wait_for(newest)
        self.assertEqual("fed", found["name"])
        self.assertEqual(1.01, found["figures"]["times_real_time"])
        self.assertEqual(
            [one.name + "x" for one in self.server.array.antennas],
            [state["name"] for state in found["bandpasses"]["inputs"]],
        )
        # sqrt(power / 2) of the real part alone, without what one channel in ten has
        self.assertAlmostEqual(10.0, found["bandpasses"]["inputs"][0]["rms"], delta=0.3)
        self.assertTrue(found["fringes"]["newest"][0]["clear"])
        status, headers, picture = self.ask("/api/v1/sky.png")
        self.assertEqual((200, "image/png"), (status, headers["Content-Type"]))
        self.assertTrue(picture.startswith(b"\x89PNG"))

    def test_beams_are_told(self):
        def newest():
            self.server.feed()
            found = json.loads(self.ask("/api/v1/state")[2])["beams"]
            past = json.loads(self.ask("/api/v1/beams")[2])
            return (found, past) if found and len(past["times"]) > 2 else None

        found, past = self.wait_for(newest)
        self.assertEqual(
            [
                ("Cas A", "at Cas A", 1.0, 0.0),
                ("zenith", "at zenith", 2.0, 3.0103),
                ("dead", "at dead", None, None),
            ],
            [
                (beam["name"], beam["direction"], beam["power"], beam["decibels"])
                for beam in found["beams"]
            ],
        )
        # 700 channels, three of them a point
        self.assertEqual([234] * 3, [len(curve) for curve in found["decibels"]])
        self.assertEqual(234, len(found["frequencies"]))
        self.assertEqual(
            [("Cas A", {0.0}), ("zenith", {3.0103}), ("dead", {None})],
            [(beam["name"], set(beam["decibels"])) for beam in past["beams"]],
        )
        self.assertTrue(all(len(beam["decibels"]) == len(past["times"]) for beam in past["beams"]))
        self.assertEqual(sorted(set(past["times"])), past["times"])
        paths = json.loads(self.ask("/openapi.json")[2])["paths"]
        self.assertIn("/api/v1/beams", paths)

    def test_metrics_are_those_of_prometheus(self):
        from prometheus_client.parser import text_string_to_metric_families

        self.wait_for(
            lambda: (
                (state := json.loads(self.ask("/api/v1/state")[2]))["bandpasses"]
                and state["beams"]
                and state["figures"].get("integrations", 0) >= 2
            )
        )
        text = self.ask("/metrics")[2].decode()
        found = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        self.assertEqual(1.0, found["aperture_up",])
        self.assertEqual(1.01, found["aperture_times_real_time",])
        self.assertEqual(12.0, found["aperture_edge_items", "f_engine", "source"])
        self.assertEqual(0.0, found["aperture_clamped_values_total", "N1x", "f_engine"])
        self.assertGreaterEqual(found["aperture_clamped_values_total", "W2x", "f_engine"], 100.0)
        self.assertGreater(found["aperture_server_resident",], 1e6)
        self.assertEqual(
            {("aperture_beam_power", "Cas A"): 1.0, ("aperture_beam_power", "zenith"): 2.0},
            {key: value for key, value in found.items() if key[0] == "aperture_beam_power"},
        )

    def test_no_series_comes_twice(self):
        """Names and labels of each series are unlike those of all others, whatever is called alike:
        Prometheus takes nothing of an answer with two that are alike."""
        from prometheus_client.parser import text_string_to_metric_families

        with FedServer(beams=("same", "same", "same (2)")) as server:
            # several ports between two blocks
            server.feed(edges=[["source", "f_engine", 12], ["source", "f_engine", 3]])
            port = int(server.url.rstrip("/").rpartition(":")[2])

            def drawn():
                text = self.ask("/metrics", port=port)[2].decode()
                found = list(text_string_to_metric_families(text))
                return found if text.count("aperture_beam_power{") > 1 else None

            families = self.wait_for(drawn)
        samples = [sample for family in families for sample in family.samples]
        series = [(sample.name, *sorted(sample.labels.items())) for sample in samples]
        self.assertEqual(sorted(set(series)), sorted(series))
        values = dict(zip(series, (sample.value for sample in samples)))
        self.assertEqual(
            15.0, values["aperture_edge_items", ("reader", "f_engine"), ("writer", "source")]
        )
        self.assertEqual(len(families), len({family.name for family in families}))
        for family in families:
            with self.subTest(family=family.name):
                self.assertRegex(family.name, "^aperture_[a-z_]+[a-z]$")
                self.assertTrue(family.documentation)
                self.assertIn(family.type, ("counter", "gauge"))
                # names of counters, and of nothing else, end in _total by Prometheus' conventions
                for sample in family.samples:
                    self.assertEqual(family.type == "counter", sample.name.endswith("_total"))

    def test_repeated_lines_are_counted(self):
        """A flood of messages that are alike but for their numbers is one line with their count,
        and pushes nothing else out of the log."""
        with FedServer() as server:
            server.status("f_engine", event="lost", reason="a loss that matters")
            for number in range(3 * 500):
                server.status(
                    "ring",
                    event="refused",
                    id=f"manual-{number:x}",
                    reason=f"queue: {number} dumps wait",
                )
            server.status("tracker", event="below_horizon", reason="the last one")
            port = int(server.url.rstrip("/").rpartition(":")[2])

            def whole():
                lines = json.loads(self.ask("/api/v1/log", port=port)[2])["lines"]
                return lines if lines and "last" in lines[-1]["text"] else None

            lost, refused, last = self.wait_for(whole)
        self.assertIn("a loss that matters", lost["text"])
        self.assertEqual((1, 1), (lost["count"], last["count"]))
        self.assertEqual(1500, refused["count"])
        self.assertEqual("alarm", refused["level"])
        self.assertIn("queue: 1499 dumps wait", refused["text"])
        self.assertLess(refused["first"], refused["serial"])
        self.assertLessEqual(refused["since"], refused["time"])

    def test_the_dashboard_asks_for_what_there_is(self):
        """Every figure in Grafana's dashboard is one of /metrics."""
        folder = pathlib.Path(__file__).resolve().parents[3] / "examples/monitoring"
        dashboard = json.loads((folder / "grafana.json").read_text())
        asked = {
            name
            for panel in dashboard["panels"]
            for target in panel["targets"]
            for name in re.findall(r"aperture_\w+", target["expr"])
        }
        self.assertGreater(len(asked), 15)
        there = set(re.findall(r"^# TYPE (\w+)", self.ask("/metrics")[2].decode(), re.M))
        self.assertEqual(set(), asked - there)

    def test_a_command_is_handed_on(self):
        before = len(self.server.commands)
        self.assertEqual((200, {"done": True}), self.post({"gain": [3.0, 0.5], "input": 2}))
        self.assertEqual(
            ("f_engine", "gains", {"gain": [3.0, 0.5], "input": 2}), self.server.commands[before]
        )

    def test_what_the_block_refuses_is_told(self):
        for status in (422, 409, 504):
            self.server.error, self.server.status_of_error = "delay: too long", status
            try:
                self.assertEqual((status, {"error": "delay: too long"}), self.post({"gain": 1}))
            finally:
                self.server.error = None

    # ---- who asks

    def test_a_token_is_needed_to_change_something(self):
        before = len(self.server.commands)
        for wrong in (
            {},
            {"Authorization": "Bearer " + TOKEN[:-1]},
            {"Authorization": "Bearer " + TOKEN + "0"},
            {"Authorization": TOKEN},
            {"Authorization": "Basic " + TOKEN},
            {"Cookie": "token=" + TOKEN},
        ):
            status, headers, _ = self.ask(GAINS, "POST", b'{"gain":1}', {**JSON, **wrong})
            self.assertEqual(401, status, wrong)
            self.assertIn("Bearer", headers["WWW-Authenticate"])
        # nobody is locked out by the wrong ones of others
        statuses = [
            self.ask(GAINS, "POST", b"{}", {**JSON, "Authorization": "Bearer x"})[0]
            for _ in range(connections.MOST_OF_ONE)
        ]
        self.assertEqual(429, statuses[-1])
        self.assertEqual(before, len(self.server.commands))
        self.assertEqual(200, self.post({"gain": 1})[0])

    def test_tokens_are_not_taken_from_addresses(self):
        for path in (f"{GAINS}?token={TOKEN}", f"/api/v1/state?access_token={TOKEN}"):
            status, _, text = self.ask(
                path, "POST" if "gains" in path else "GET", b'{"gain":1}', JSON
            )
            self.assertEqual(400, status)
            self.assertNotIn(TOKEN.encode(), text)

    def test_other_names_of_this_host_are_refused(self):
        """DNS rebinding: the attacker's name leads to 127.0.0.1."""
        for host in (
            "evil.example",
            f"evil.example:{self.port}",
            f"127.0.0.1.evil:{self.port}",
            "127.0.0.1:1",
            f"127.0.0.1:{self.port}@evil",
            f"0.0.0.0:{self.port}",
        ):
            self.assertEqual(421, self.ask("/api/v1/state", host=host)[0], host)
            self.assertEqual(421, self.ask("/", host=host)[0], host)
        self.assertEqual(200, self.ask("/api/v1/state", host=f"localhost:{self.port}")[0])
        self.assertIn(b" 421 ", self.raw(b"GET /api/v1/state HTTP/1.0\r\n\r\n").split(b"\r\n")[0])
        twice = f"Host: 127.0.0.1:{self.port}\r\nHost: evil\r\n".encode()
        self.assertRegex(
            self.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n" + twice + b"\r\n"),
            b"^HTTP/1.. 4(21|00) ",
        )

    def test_other_pages_are_refused(self):
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://127.0.0.1:{self.port}"},
            {"Origin": f"http://127.0.0.1:{self.port + 1}"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            self.assertEqual(403, self.ask("/api/v1/state", headers=headers)[0], headers)
            self.assertEqual(403, self.post({"gain": 1}, headers=headers)[0], headers)
        self.assertEqual(
            200,
            self.post(
                {"gain": 1},
                headers={
                    "Origin": f"http://127.0.0.1:{self.port}",
                    "Sec-Fetch-Site": "same-origin",
                },
            )[0],
        )

    def test_forms_of_other_pages_are_no_commands(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            self.assertEqual(415, self.post({"gain": 1}, headers={"Content-Type": kind})[0])

    def test_a_proxy_that_is_not_named_is_refused(self):
        for name in ("X-Forwarded-For", "Forwarded", "Via"):
            self.assertEqual(403, self.ask("/api/v1/state", headers={name: "for=1.2.3.4"})[0])

    # ---- what is asked

    def test_all_answers_have_their_policy(self):
        for path in ("/", "/api/v1/state", "/nothing", "/openapi.json", "/page/main.js"):
            _, headers, _ = self.ask(path)
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual("nosniff", headers["X-Content-Type-Options"])
            self.assertEqual("gr-aperture", headers["Server"])
            self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_no_path_reaches_the_file_system(self):
        names = (
            "../serve.py",
            "..%2fserve.py",
            "%2e%2e/serve.py",
            "..\\serve.py",
            "/etc/passwd",
            "%2fetc%2fpasswd",
            "main.js%00.png",
            "....//serve.py",
            "main.js/../../serve.py",
            "~root",
            "file:///etc/passwd",
        )
        for folder in ("/page/", "/", "/api/v1/candidates/", "/api/v1/status/"):
            for name in names:
                status, _, text = self.ask(folder + name)
                self.assertIn(status, (400, 404), folder + name)
                self.assertNotIn(b"import", text)
                self.assertNotIn(b"root:", text)
        self.assertEqual(404, self.ask("/api/v1/candidates/..png.png")[0])

    def test_names_are_those_of_blocks(self):
        for name in (
            "x" * 65,
            "a/b",
            "a b",
            "<b>",
            "%00",
            "a%0d%0ab",
            "é",
            "__class__",
            "system",
            "-" * 64,
        ):
            quoted = "".join(
                letter if ord(letter) < 128 and letter != " " else "%20" for letter in name
            )
            for path in (
                f"/api/v1/blocks/{quoted}/gains",
                f"/api/v1/blocks/f_engine/{quoted}",
                f"/api/v1/status/{quoted}",
            ):
                method = "POST" if "blocks" in path else "GET"
                status, _, text = self.ask(path, method, b"{}", {**BEARER, **JSON})
                self.assertIn(status, (400, 404), path)
                self.assertNotIn(b"<b>", text)

    def test_values_are_checked(self):
        before = len(self.server.commands)
        for value in (
            {},
            [],
            1,
            "x",
            None,
            True,
            {"gain": "1"},
            {"gain": True},
            {"gain": [1]},
            {"gain": [1, 2, 3]},
            {"gain": 1, "input": 8},
            {"gain": 1, "input": -1},
            {"gain": 1, "input": 1.5},
            {"gain": 1e31},
            {"gain": 1, "__proto__": 1},
            {"gain": 1, "time": [1, 2]},
            {"gain": {"re": 1}},
        ):
            status, found = self.post(value)
            self.assertEqual(422, status, value)
            self.assertIn("value", found["error"])
        self.assertIn(
            "value.gain[1]: must be of type number", self.post({"gain": [1, "2"]})[1]["error"]
        )
        for path, value in (
            ("ring/trigger", {"before": 1, "id": "../../x"}),
            ("ring/trigger", {"before": 1, "id": "a\n"}),
            ("ring/trigger", {"before": 1, "filename": "/etc/x"}),
            ("xengine/integration", {"seconds": 0}),
            ("xengine/integration", {"seconds": -1}),
            ("tracker/direction", {"direction": "x" * 129}),
            ("tracker/direction", {"direction": ""}),
            ("calibrator/command", {"command": "rm"}),
        ):
            self.assertEqual(422, self.post(value, f"/api/v1/blocks/{path}")[0], value)
        self.assertEqual(before, len(self.server.commands))

    def test_json_is_strict(self):
        for body in (
            b"",
            b"{",
            b"nothing",
            b'{"gain":NaN}',
            b'{"gain":Infinity}',
            b'{"gain":-Infinity}',
            b'{"gain":1e999}',
            b'{"gain":1,"gain":2}',
            b"\xff\xfe",
            b'{"gain":1}x',
            b'{"gain":' + b"9" * 5000 + b"}",
            b"{'gain':1}",
            b'{"gain":"\xed\xa0\x80"}',
        ):
            self.assertEqual(400, self.post(body)[0], body[:40])
        deep = b"[" * 100000 + b"]" * 100000
        for body in (deep, b'{"a":' * 20000 + b"1" + b"}" * 20000, b"[" * 9):
            status, found = self.post(body)
            self.assertEqual(400, status)
            self.assertIn("deep", found["error"])
        # within a text brackets are letters
        self.assertEqual(
            200, self.post({"direction": "[" * 50}, "/api/v1/blocks/tracker/direction")[0]
        )

    def test_bodies_are_limited(self):
        large = b'{"gain":"' + b"x" * connections.LARGEST_BODY + b'"}'
        self.assertEqual(413, self.post(large)[0])
        head = (
            f"POST {GAINS} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer "
            f"{TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        # nothing comes where the server closes before all was sent
        with contextlib.suppress(ConnectionError):
            self.assertIn(self.raw(head.encode(), *[chunk] * 5, b"0\r\n\r\n")[9:12], (b"413", b""))
        bomb = self.post(b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"})[0]
        self.assertIn(bomb, (400, 415))

    def test_methods_are_those_of_the_path(self):
        for method, path in (
            ("POST", "/api/v1/state"),
            ("GET", GAINS),
            ("PUT", GAINS),
            ("DELETE", "/"),
            ("OPTIONS", GAINS),
            ("TRACE", "/"),
        ):
            self.assertIn(self.ask(path, method, b"", BEARER)[0], (404, 405), (method, path))

    def test_broken_requests_are_refused(self):
        host = f"Host: 127.0.0.1:{self.port}\r\n".encode()
        for request in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
            b"GET\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"A: " + b"x" * 20000 + b"\r\n\r\n",
            b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        ):
            with self.subTest(request=request[:40]):
                self.assertRegex(self.raw(request), b"^HTTP/1.. 400 ")
        self.assertEqual(200, self.ask("/api/v1/state")[0])

    def test_log_lines_are_data(self):
        """Log lines come as JSON, never as markup; the page writes them as text."""

        def lines():
            _, headers, body = self.ask("/api/v1/log")
            self.assertTrue(headers["Content-Type"].startswith("application/json"))
            return [line for line in json.loads(body)["lines"] if "script" in line["text"]]

        self.assertEqual("alarm", self.wait_for(lines)[0]["level"])

    # ---- how much, and how slowly

    def test_heads_have_an_end(self):
        """Many headers, none of them too long."""
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
            with self.assertRaises(OSError):
                sock.sendall(head)
                for number in range(100000):
                    sock.sendall(f"X-{number}: {'x' * 1000}\r\n".encode())

    def test_connections_are_limited(self):
        # connections with much time
        server = FedServer(request_time=10 * PATIENCE)
        self.addCleanup(server.close)
        port = int(server.url.rstrip("/").rpartition(":")[2])
        open_ones = []
        try:
            for _ in range(connections.MOST_OF_ONE + 8):
                open_ones.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
            open_ones[-1].settimeout(PATIENCE)
            try:
                self.assertEqual(b"", open_ones[-1].recv(1))
            except ConnectionResetError:
                pass
            # the first connections are still open: their time did not end this one
            open_ones[10].setblocking(False)
            with self.assertRaises(BlockingIOError):
                open_ones[10].recv(1)
        finally:
            for sock in open_ones:
                sock.close()

        def answers():
            try:
                return self.ask("/api/v1/state", port=port)[0] == 200
            except (ConnectionError, http.client.HTTPException):
                return False  # closed connections still count

        self.wait_for(answers)

    @long_test
    def test_slow_heads_are_ended(self):
        """Slowloris: a letter now and then does not keep a connection open; qa_guard has when."""
        server = FedServer(request_time=4.0)
        self.addCleanup(server.close)
        port = int(server.url.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
            ended = threading.Event()

            def drip():
                try:
                    sock.sendall(b"GET / HTTP/1.1\r\n")
                    while not ended.wait(0.5):
                        sock.sendall(b"X: y\r\n")
                except OSError:
                    pass

            dripping = threading.Thread(target=drip)
            dripping.start()
            try:
                self.assertEqual(b"", sock.recv(1))
            except ConnectionResetError:
                pass
            ended.set()
            dripping.join()

    def test_a_page_that_does_not_read_costs_nothing(self):
        """A page that does not read is sent the newest only, and memory does not grow with what it
        misses."""

        def state():
            return json.loads(self.ask("/api/v1/state")[2])

        # the first pictures need memory, too
        self.wait_for(lambda: state()["sky"].get("serial") and state()["beams"])
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(
                f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
            )
            sock.recv(1)
            before = resident(self.server.pid)
            for _ in range(100):
                self.server.feed()
            self.wait_for(
                lambda: state()["figures"]["integrations"] == self.server.integrations - 1
            )
            self.assertLess(resident(self.server.pid) - before, 20e6)


class qa_monitoring_section(InFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.token = write_token(self.folder)

    def refused(self, key, **section):
        with self.assertRaises(SectionError) as raised:
            Section.of(section)
        self.assertIn(f"monitoring.{key}", str(raised.exception))

    def test_off_loopback_needs_a_token_and_tls_or_a_proxy(self):
        cert, key = write_certificate(self.folder)
        for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.1:8080"):
            self.refused("token_file", listen=listen)
            self.refused("token_file", listen=listen, tls_certificate=cert, tls_key=key)
            self.refused("tls_certificate", listen=listen, token_file=self.token)
            Section.of(
                {
                    "listen": listen,
                    "token_file": self.token,
                    "tls_certificate": cert,
                    "tls_key": key,
                }
            )
            Section.of(
                {
                    "listen": listen,
                    "token_file": self.token,
                    "proxy": "127.0.0.1",
                    "hosts": "telescope.example",
                }
            )
        # somebody who comes by a proxy is not on this machine
        self.refused("token_file", proxy="127.0.0.1", hosts="telescope.example")
        self.refused("hosts", proxy="127.0.0.1", token_file=self.token)

    def test_the_tokens_file_is_nobody_elses(self):
        for mode in (0o644, 0o640, 0o660, 0o700, 0o604):
            self.refused("token_file", token_file=write_token(self.folder, mode=mode))
        for mode in (0o600, 0o400):
            Section.of({"token_file": write_token(self.folder, mode=mode)})
        link = self.path("link")
        os.symlink(self.token, link)
        fifo = self.path("fifo")
        os.mkfifo(fifo, 0o600)
        for path in (link, fifo, str(self.folder), "/nowhere", "a\0b"):
            self.refused("token_file", token_file=path)
        for token in ("short", "x" * 31, "x" * 600, "ä" * 40, "a b" * 20):
            self.refused("token_file", token_file=write_token(self.folder, token))

    def test_relative_names(self):
        """Names of files are relative to the folder in which the program is started, and the
        server, which is in another one, opens the same files."""
        write_certificate(self.folder)
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            section = {
                "token_file": os.path.basename(self.token),
                "tls_certificate": "cert.pem",
                "tls_key": "key.pem",
            }
            with FedServer(section) as server:
                port = int(server.url.rstrip("/").rpartition(":")[2])
                context = ssl.create_default_context(cafile="cert.pem")
                connection = http.client.HTTPSConnection(
                    "localhost", port, timeout=PATIENCE, context=context
                )
                with contextlib.closing(connection):
                    connection.request("POST", GAINS, b'{"gain":1}', {**BEARER, **JSON})
                    self.assertEqual(200, connection.getresponse().status)
        finally:
            os.chdir(before)

    def test_certificates(self):
        """Certificates that the server could not start with are refused before."""
        cert, key = write_certificate(self.folder)
        other = self.folder / "other"
        other.mkdir()
        other_cert, _ = write_certificate(other)
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        for path in ("/nowhere.pem", str(self.folder), fifo, "/dev/zero", self.token, other_cert):
            self.refused("tls_certificate", tls_certificate=path, tls_key=key)
        locked = self.path("locked.pem")
        subprocess.run(
            ["openssl", "rsa", "-aes256", "-passout", "pass:x", "-in", key, "-out", locked],
            check=True,
            capture_output=True,
        )
        os.chmod(locked, 0o600)
        self.refused("tls_certificate", tls_certificate=cert, tls_key=locked)

    def test_keys_and_values(self):
        self.refused("lissten", lissten="127.0.0.1:1")
        for listen in (
            "",
            "8080",
            "localhost",
            "127.0.0.1:x",
            "127.0.0.1:70000",
            "evil:1",
            "127.0.0.1:-1",
            ":8080",
        ):
            self.refused("listen", listen=listen)
        self.refused("tls_key", tls_certificate="x")
        self.refused("hosts", hosts="a b")
        self.refused("listen", listen=8080)
        with self.assertRaises(SectionError):
            Section.of([])

    def test_tls(self):
        """Reading needs the token there; and the first bytes of plain HTTP get nothing."""
        cert, key = write_certificate(self.folder)
        context = ssl.create_default_context(cafile=cert)
        with FedServer(
            {
                "listen": "0.0.0.0:0",
                "token_file": self.token,
                "tls_certificate": cert,
                "tls_key": key,
                "hosts": "localhost",
            }
        ) as server:
            port = int(server.url.rstrip("/").rpartition(":")[2])

            def ask(headers):
                connection = http.client.HTTPSConnection(
                    "localhost", port, timeout=PATIENCE, context=context
                )
                with contextlib.closing(connection):
                    connection.request("GET", "/api/v1/state", headers=headers)
                    answer = connection.getresponse()
                    return answer.status, answer.getheader("Strict-Transport-Security")

            self.assertEqual(401, ask({})[0])
            status, strict = ask(BEARER)
            self.assertEqual(200, status)
            self.assertIn("max-age", strict)
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
                sock.sendall(b"GET /api/v1/state HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try:
                    self.assertNotIn(b"HTTP/1.1 200", sock.recv(4096))
                except ConnectionResetError:
                    pass

    def test_behind_a_proxy(self):
        """Only the proxy may connect, and reading needs the token, as all come from elsewhere."""
        section = {"token_file": self.token, "proxy": "127.0.0.1", "hosts": "telescope.example"}
        with FedServer(section) as server:
            port = int(server.url.rstrip("/").rpartition(":")[2])

            def ask(host, headers, **where):
                connection = http.client.HTTPConnection(
                    "127.0.0.1", port, timeout=PATIENCE, **where
                )
                with contextlib.closing(connection):
                    connection.request("GET", "/api/v1/state", headers={"Host": host, **headers})
                    return connection.getresponse().status

            self.assertEqual(401, ask("telescope.example", {"X-Forwarded-For": "192.0.2.7"}))
            self.assertEqual(200, ask("telescope.example", BEARER))
            self.assertEqual(421, ask(f"127.0.0.1:{port}", BEARER))
            self.assertEqual(
                403, ask("telescope.example", {**BEARER, "Origin": "http://telescope.example"})
            )
            self.assertEqual(
                200, ask("telescope.example", {**BEARER, "Origin": "https://telescope.example"})
            )
            # somebody else on the same network
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                ask("telescope.example", BEARER, source_address=("127.0.0.2", 0))


class DrivenLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still but for what a test adds to it."""

    now = 0.0

    def time(self):
        return self.now


class qa_guard(unittest.TestCase):
    """Tests of how long one connection may take, by a clock that the test drives."""

    def setUp(self):
        self.loop = DrivenLoop()
        self.addCleanup(self.loop.close)
        self.transport = mock.Mock()
        self.transport.get_extra_info.return_value = ("192.0.2.7", 1)
        self.guard = connections.Connections(mock.Mock)()

    async def goes_on(self, seconds):
        """Returns whether the connection is open so many seconds later."""
        self.loop.now += seconds
        # callbacks that are due now are called after this has gone on once
        for _ in range(2):
            await asyncio.sleep(0)
        return not self.transport.abort.called

    def test_slow_heads(self):
        """Slowloris: a letter now and then does not prolong the time."""

        async def drip():
            self.guard.connection_made(self.transport)
            while await self.goes_on(0.5):
                self.guard.data_received(b"X: y\r\n")

        self.loop.run_until_complete(drip())
        self.assertEqual(connections.REQUEST_TIME, self.loop.now)

    def test_answers(self):
        """Each part of an answer, and the next request, has its own time."""

        async def follow():
            self.guard.connection_made(self.transport)
            self.assertTrue(await self.goes_on(connections.REQUEST_TIME - 1))
            self.guard.begin()
            for _ in range(3):
                self.assertTrue(await self.goes_on(connections.ANSWER_TIME - 1))
                self.guard.go_on()
            self.guard.end()
            self.assertTrue(await self.goes_on(connections.REQUEST_TIME - 1))
            self.assertFalse(await self.goes_on(1))

        self.loop.run_until_complete(follow())


class qa_monitoring_process(unittest.TestCase):
    def test_without_gnu_radio(self):
        """The server's process has loaded no library of GNU Radio, and ends with its socket."""
        with FedServer() as server:
            server.feed()
            loaded = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
            self.assertIn("numpy", loaded)
            for library in ("gnuradio", "aperture_python", "pmt"):
                self.assertNotIn(library, loaded)
            arguments = pathlib.Path(f"/proc/{server.pid}/cmdline").read_bytes()
            self.assertNotIn(TOKEN.encode(), arguments)
        self.assertEqual(0, server.ended())

    def test_a_port_that_is_taken(self):
        with FedServer() as server:
            address = server.url.partition("//")[2].rstrip("/")
            with self.assertRaisesRegex(RuntimeError, "does not listen"):
                self.start_on(address)

    @staticmethod
    def start_on(address):
        from gnuradio.aperture.monitoring import start
        from gnuradio.aperture.observatory.instrument import Instrument

        start(Instrument("lab"), {"listen": address})

    def test_sigterm(self):
        with FedServer() as server:
            os.kill(server.pid, signal.SIGTERM)
            self.assertTrue(comes_true(lambda: server.ended() is not None))
            self.assertEqual(0, server.ended())


def resident(process):
    """Bytes of memory of a process."""
    return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main(verbosity=2)
