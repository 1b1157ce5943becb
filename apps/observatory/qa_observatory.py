#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Services: their messages to systemd, their waits, and their care for the disk."""

import os
import socket
import subprocess
import unittest
from types import SimpleNamespace
from unittest import mock

from gnuradio.aperture.observatory.backoff import Backoff
from gnuradio.aperture.observatory.disk_guard import DiskGuard, groups_of
from gnuradio.aperture.observatory.notify import Notifier
from gnuradio.aperture.observatory.written import Written
from gnuradio.aperture.testing.folders import InFolder


class qa_notify(InFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(1)

    def tearDown(self):
        self.socket.close()

    def read(self):
        text = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in text.split("\n"))

    def test_messages(self):
        for address, name in ((self.path, self.path), (f"\0{self.path}-2", f"@{self.path}-2")):
            self.socket.close()
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as self.socket:
                self.socket.settimeout(1)
                self.socket.bind(address)
                notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000000"})
                self.assertEqual(200.0, notifier.interval)
                notifier.ready("two\nlines")
                self.assertEqual(
                    {"READY": "1", "STATUS": "two lines", "MAINPID": str(os.getpid())}, self.read()
                )
                notifier.status("two\nlines")  # not told twice
                notifier.alive()
                self.assertEqual({"WATCHDOG": "1"}, self.read())
                notifier.alive()  # too soon
                notifier.stopping("over")
                self.assertEqual({"STOPPING": "1", "STATUS": "over"}, self.read())

    def test_without_anybody(self):
        for environment in (
            {},
            {"NOTIFY_SOCKET": self.path},
            {"NOTIFY_SOCKET": ""},
            {"WATCHDOG_USEC": "x"},
            {"WATCHDOG_USEC": "10", "WATCHDOG_PID": "1"},
        ):
            notifier = Notifier(environment)
            self.assertIsNone(notifier.interval)
            notifier.alive()
            self.assertFalse(notifier.send(READY=1))

    def test_one_that_does_not_read(self):
        """A full socket does not stop the service."""
        self.socket.bind(self.path)
        notifier = Notifier({"NOTIFY_SOCKET": self.path})
        sent = [notifier.send(STATUS="x" * 1000) for _ in range(10000)]
        self.assertTrue(sent[0])
        self.assertFalse(sent[-1])


class qa_backoff(unittest.TestCase):
    def test_waits(self):
        backoff = Backoff(1.0, 10.0)
        self.assertEqual([1, 2, 4, 8, 10, 10], [backoff.wait() for _ in range(6)])
        backoff.went_well(49)
        self.assertEqual(10, backoff.wait())
        backoff.went_well(60)
        self.assertEqual(1, backoff.wait())


class qa_disk_guard(InFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.size = 1000

    def statvfs(self, _):
        """A disk of 100 blocks of 10 bytes; each file takes 10 blocks."""
        used = sum(not path.name.endswith(".yml") for path in self.folder.iterdir())
        return SimpleNamespace(f_bavail=100 - 10 * used, f_frsize=10)

    def make(self, *names):
        for name in names:
            (self.folder / name).write_text("x")

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def guard(self, *templates, least=450, when_full="oldest"):
        return DiskGuard(
            [str(self.folder / name) for name in templates], least, when_full, self.statvfs
        )

    def test_which_files(self):
        self.make(
            "v-20240101T000000Z.uvh5",
            "v-20240101T000000Z-2.uvh5",
            "v-x.uvh5",
            "w-20240101T000000Z.uvh5",
            "v-20230101T000000Z.uvh5",
            "v-20240101T000000Z.fil",
            "v-20240101T000000Z.uvh5.bak",
            ".v-20240101T000000Z.uvh5.a",
        )
        found = groups_of(str(self.folder / "v-{time}.uvh5"))
        self.assertEqual(["20230101T000000Z", "20240101T000000Z"], [each.time for each in found])
        self.assertEqual(
            ["v-20240101T000000Z-2.uvh5", "v-20240101T000000Z.uvh5"],
            [os.path.basename(path) for path in found[1].paths],
        )
        self.make("b[1]-20240101T000000Z-A.0000.raw", "b[1]-20240101T000000Z-B.0012.raw")
        self.assertEqual(2, len(groups_of(str(self.folder / "b[1]-{time}-{input}.raw"))[0].paths))
        self.make("s-20240101T000000Z-3.sigmf-meta", "s-20240101T000000Z-3.sigmf-data")
        self.assertEqual(
            2, len(groups_of(str(self.folder / "s-{time}-{channel}.sigmf-meta"))[0].paths)
        )

    def test_the_oldest_go(self):
        times = [f"v-2024010{day}T000000Z.uvh5" for day in range(1, 8)]
        self.make("notes.txt", *times, "p-20240102T000000Z.fil", "p-20240102T000000Z.fil.yml")
        guard = self.guard("v-{time}.uvh5", "p-{time}.fil")
        texts = guard.look([self.folder / times[0]])
        # 9 files leave 100 bytes free; four have to go for 450 or more, the first one grows
        self.assertEqual(["notes.txt", times[0], *times[4:]], self.names())
        self.assertEqual(4, guard.removed)
        self.assertEqual(4, len(texts))
        self.assertIn(f"{times[1]}: removed", texts[0] + texts[1])
        self.assertTrue(guard.recording)
        self.assertEqual(500, guard.free)
        self.assertEqual([], guard.look())

    def test_where_none_is_left_recording_stops(self):
        self.make(*[f"other{number}" for number in range(6)], "v-20240101T000000Z.uvh5")
        guard = self.guard("v-{time}.uvh5")
        texts = guard.look()
        self.assertEqual(6, len(self.names()))
        self.assertIn("recording stops", texts[-1])
        self.assertFalse(guard.recording)

    def test_recording_stops_and_goes_on(self):
        self.make(*[f"v-2024010{day}T000000Z.uvh5" for day in range(1, 8)])
        guard = self.guard("v-{time}.uvh5", when_full="stop")
        self.assertIn("recording stops", guard.look()[0])
        self.assertEqual(7, len(self.names()))
        os.unlink(self.folder / self.names()[0])
        os.unlink(self.folder / self.names()[0])
        # 500 are free: enough not to stop, not to go on
        self.assertEqual([], guard.look())
        self.assertFalse(guard.recording)
        os.unlink(self.folder / self.names()[0])
        self.assertIn("goes on", guard.look()[0])
        self.assertTrue(guard.recording)

    def test_one_that_cannot_be_removed(self):
        self.make(*[f"v-2024010{day}T000000Z.uvh5" for day in range(1, 8)])
        guard = self.guard("v-{time}.uvh5")
        with mock.patch("os.unlink", side_effect=PermissionError(13, "Permission denied")):
            texts = guard.look()
        self.assertIn("cannot be removed: Permission denied", texts[0])
        self.assertFalse(guard.recording)

    def test_a_folder_that_is_gone(self):
        """A folder that is not there is told once, each time that it goes."""
        folder = self.folder / "out"
        folder.mkdir()
        guard = DiskGuard([str(folder / "v-{time}.uvh5")], 0)
        self.assertEqual([], guard.look())
        for _ in range(2):
            folder.rmdir()
            self.assertEqual([f"{folder}: No such file or directory"], guard.look())
            self.assertEqual([], guard.look())
            folder.mkdir()
            self.assertEqual([], guard.look())

    def test_free_bytes_of_each_file_system(self):
        """File systems that are not looked after have their free bytes told, too."""
        guard = DiskGuard(
            [self.path("v-{time}.uvh5")], 0, statvfs=self.statvfs, others=["/proc/d-{id}.dada"]
        )
        guard.look()
        mount = subprocess.run(
            ["stat", "--format=%m", self.folder], capture_output=True, text=True, check=True
        ).stdout.strip()
        self.assertEqual({mount: 1000, "/proc": 1000}, guard.free_of)

    def test_nothing_to_look_after(self):
        self.make(*[f"v-2024010{day}T000000Z.uvh5" for day in range(1, 8)])
        guard = self.guard("v-{time}.uvh5", least=0)
        self.assertEqual([], guard.look())
        self.assertEqual((True, 300), (guard.recording, guard.free))


class Output:
    """A sink with files, of which some are whole."""

    def __init__(self, *names, whole=0, left_out=0):
        self.names, self.whole, self.left = list(map(str, names)), whole, left_out

    def files(self):
        return self.names

    def whole_files(self):
        return self.names[: self.whole]

    def left_out(self):
        return self.left


class qa_written(InFolder, unittest.TestCase):
    def test_counts_never_go_back(self):
        first, second = self.folder / "a", self.folder / "b"
        written = Written()
        written.begin()
        sink = Output(first, self.folder / "c-{time}", second, left_out=3)
        # one that has its name when it is whole, and one that is not there yet
        (self.folder / ".a.part").write_bytes(bytes(100))
        written.look({"v": sink})
        self.assertEqual({"v": {"files": 1, "bytes": 100, "left_out": 3}}, written.counts())
        os.rename(self.folder / ".a.part", first)
        second.write_bytes(bytes(7))
        sink.whole, sink.left = 1, 5
        written.look({"v": sink})
        self.assertEqual({"v": {"files": 2, "bytes": 107, "left_out": 5}}, written.counts())
        # somebody takes files away
        first.unlink()
        second.unlink()
        written.look({"v": sink})
        self.assertEqual({"v": {"files": 2, "bytes": 107, "left_out": 5}}, written.counts())
        # another flowgraph
        written.begin()
        first.write_bytes(bytes(11))
        written.look({"v": Output(first, left_out=1), "w": Output()})
        self.assertEqual(
            {
                "v": {"files": 3, "bytes": 118, "left_out": 6},
                "w": {"files": 0, "bytes": 0, "left_out": 0},
            },
            written.counts(),
        )


if __name__ == "__main__":
    unittest.main()
