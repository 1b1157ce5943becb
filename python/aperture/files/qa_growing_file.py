#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A file that grows stays whole: killed writers, full disks, readers, no hard links."""

import errno
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
from unittest import mock

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.files.growing_file import GrowingFile, Space
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.system import linux
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.disks import immutable, small_disk
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import PATIENCE
from gnuradio.aperture.testing.tiers import ALL

CHANNELS, INPUTS = 64, 4
PRODUCTS = INPUTS * (INPUTS + 1) // 2

ARRAY = make_array({f"A{i}": (10.0 * i, 0.0, 0.0) for i in range(INPUTS)})
LAYOUT = Uvh5Layout(ARRAY, 1e8 + 1e3 * np.arange(CHANNELS), 1e3)


def integration(number):
    """One whose values say which it is."""
    values = np.full((CHANNELS, PRODUCTS), number, np.complex64)
    return LAYOUT.integration(values, 2460310.5 + number / 86400, 100, [100], 0.01)


def open_file(path, **arguments):
    return GrowingFile(path, LAYOUT.begin, **arguments)


def file_size(path):
    """Bytes that the file's superblock says it has."""
    return struct.unpack_from("<Q", path.read_bytes(), 40)[0]


def open_file_on_a_full_disk(path):
    """The check of the path needs room for a folder's entry, which comes from elsewhere here."""
    with mock.patch("gnuradio.aperture.files.growing_file.check_path"):
        return open_file(path)


class qa_growing_file(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        # behind what a test cleans up itself
        self.path = self.folder / "test.uvh5"

    def check(self, path=None):
        """The file is whole: integrations 0 ... n-1, everywhere. Returns n."""
        with h5py.File(path or self.path, "r") as file:
            header, data = file["Header"], file["Data"]
            count, rows = int(header["Ntimes"][()]), int(header["Nblts"][()])
            self.assertEqual(rows, count * PRODUCTS)
            expected = np.repeat(np.arange(count), PRODUCTS)
            for values in (
                *data.values(),
                *(
                    header[name]
                    for name in header
                    if name.startswith("phase_center_app")
                    or name in ("time_array", "lst_array", "ant_1_array", "uvw_array")
                ),
            ):
                self.assertEqual(len(values), rows)
            np.testing.assert_array_equal(
                data["visdata"][()],
                np.broadcast_to(expected[:, np.newaxis, np.newaxis], (rows, CHANNELS, 1)),
            )
            np.testing.assert_array_equal(data["nsamples"][()], 1)
            np.testing.assert_array_equal(data["flags"][()], False)
            np.testing.assert_allclose(
                header["time_array"][()], 2460310.5 + expected / 86400, rtol=0, atol=1e-9
            )
        return count

    def names(self):
        return sorted(entry.name for entry in self.folder.iterdir())

    def test_grows(self):
        file = open_file(self.path)
        self.assertEqual(self.names(), [])
        number = 0
        for count in (1, 1, 2, 5, 1, 1):
            file.add([integration(number + i) for i in range(count)])
            number += count
            self.assertEqual(self.check(), number)
        file.close()
        self.assertEqual(self.names(), ["test.uvh5"])
        self.assertEqual(self.check(), number)
        self.assertEqual(self.path.stat().st_size, file_size(self.path))

    def test_size_of_an_integration(self):
        """A file grows by no more than is said of it, but for tables."""
        # values that cannot be compressed, and one baseline (many small chunks)
        rng = np.random.default_rng(1)
        one = make_array(
            ARRAY.antennas[:1], inputs=ARRAY.inputs[:1], site=(0.0, 0.0, 0.0), name="one"
        )
        for layout in (LAYOUT, Uvh5Layout(one, [1e8], 1e3)):
            products = layout.map.product.max() + 1
            file = GrowingFile(self.path, layout.begin)
            for number in range(230):
                size = file.size
                file.write(
                    layout.integration(
                        rng.normal(size=(len(layout.frequencies), products, 2))
                        .astype(np.float32)
                        .view(np.complex64)[:, :, 0],
                        2460310.5,
                        1000,
                        rng.integers(0, 1001, products),
                        0.01,
                    )
                )
                self.assertLessEqual(file.size - size, layout.integration_bytes() + (1 << 18))
                if number % 7 == 0:
                    file.publish()
            file.close()
            self.assertLess(self.path.stat().st_size, 230 * layout.integration_bytes() + (1 << 18))

    def test_published(self):
        """Readers see what was published, and nothing of what was only written."""
        file = open_file(self.path)
        file.write(integration(0))
        self.assertFalse(self.path.exists())
        file.publish()
        for number in range(1, 30):
            file.write(integration(number))
            # states after integrations 0, 3, 7, 11, ...
            self.assertEqual(self.check(), number // 4 * 4 or 1)
            if number % 4 == 3:
                file.publish()
                self.assertEqual(self.check(), number + 1)
        file.close()
        self.assertEqual(self.check(), 30)

    def test_room_of_older_states(self):
        """States take no room where nobody reads; while somebody does, each has its own."""
        file = open_file(self.path)
        file.add([integration(0)])

        def growth(count):
            """Bytes beyond those of the integrations, of so many states."""
            before, number = file.size, self.check()
            for each in range(count):
                file.add([integration(number + each)])
            self.assertEqual(self.check(), number + count)
            return file.size - before - count * bytes_of_one

        bytes_of_one = 8 * CHANNELS * PRODUCTS
        self.assertEqual(growth(20), 0)
        reader, ready = self.child_that_reads()
        while_read = growth(20)
        self.assertGreater(while_read, 20 * 1000)
        os.write(ready, b"x")
        os.close(ready)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]), 21)
        # one is made before it is known that nobody reads any more
        self.assertLessEqual(growth(10), while_read / 10)
        self.assertEqual(growth(10), 0)
        file.close()

    def test_copy_of_two_states(self):
        """A copy of which the later part is read when the file has grown is that of its start."""
        file = open_file(self.path)
        for number in range(3):
            file.add([integration(number)])
        copy = self.folder / "copy"
        # a program that copies has the file open
        with open(self.path, "rb", buffering=0) as reader:
            whole = reader.read()
            for number in range(3, 200):
                file.add([integration(number)])
            for start in (96, 1000, len(whole) // 3, len(whole) - 1, len(whole)):
                reader.seek(start)
                copy.write_bytes(whole[:start] + reader.read())
                self.assertEqual(self.check(copy), 3)
        file.close()

    def test_names_that_are_no_utf8(self):
        """Names that another program wrote in another code are read all the same."""
        file = open_file(self.path)
        file.add([integration(0)])
        file.close()
        with h5py.File(self.path, "r+") as file:
            names = file["Header/antenna_names"]
            names[0] = b"\xe9A"
            del file["Header/telescope_name"]
            file["Header/telescope_name"] = np.bytes_(b"caf\xe9")
        with VisibilityFile(self.path) as found:
            self.assertEqual((found.telescope, found.names[0]), (r"caf\xe9", r"\xe9A"))

    # ---- what may happen to a writer

    def write_until_killed(self, pipe, states=1):
        """In a child process: adds integrations, publishes so many at once, and reports each that
        was added."""
        try:
            file = open_file(self.path)
            for number in range(10**6):
                file.write(integration(number))
                if number % states == 0:
                    file.publish()
                os.write(pipe, b".")
        finally:
            os._exit(1)

    def test_killed(self):
        moments = random.Random(1)
        counts = []
        for turn in range(50 if ALL else 12):
            states = (1, 5)[turn % 2]
            self.path.unlink(missing_ok=True)
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                self.write_until_killed(writer, states)
            os.close(writer)
            reported = moments.randrange(1, 40)
            for _ in range(reported):
                os.read(reader, 1)
            # an integration takes some 0.3 ms
            time.sleep(moments.uniform(0, 0.001))
            os.kill(child, signal.SIGKILL)
            self.assertTrue(os.WIFSIGNALED(os.waitpid(child, 0)[1]))
            while got := len(os.read(reader, 4096)):
                reported += got
            os.close(reader)
            # the last one may be there and its report not; what was not published is lost
            self.assertIn(self.check() - reported, range(1 - states, 2))
            counts.append(reported)
        self.assertGreater(len(set(counts)), len(counts) // 5)
        # the next writer removes what is left of the killed one
        file = open_file(self.path)
        file.add([integration(0)])
        file.close()
        self.assertEqual(self.names(), ["test.uvh5"])

    def test_disk_full(self):
        # a limit of the file size stands for a disk: any place where it ends
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        for limit in range(130_000, 330_000, 20_011):
            self.path.unlink(missing_ok=True)
            file = open_file(self.path)
            number = 0
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            try:
                with self.assertRaises(OSError) as caught:
                    while True:
                        file.add([integration(number)])
                        number += 1
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual(caught.exception.errno, errno.EFBIG)
            if number or self.path.exists():
                self.assertEqual(self.check(), number)
            # the disk has room again: nothing was lost but what could not be added
            file.add([integration(number)])
            self.assertEqual(self.check(), number + 1)
            file.close()
            self.assertEqual(self.names(), ["test.uvh5"])

    def test_disk_nearly_full_from_the_start(self):
        """A disk with however little space gives one error, and what is there is whole."""
        with small_disk(self, 600) as disk:
            path = disk / "test.uvh5"
            for free in (
                0,
                1,
                3,
                4,
                7,
                8,
                12,
                16,
                20,
                27,
                28,
                29,
                32,
                40,
                60,
                100,
                200,
                300,
                400,
                500,
            ):
                size = os.statvfs(disk).f_bavail * 4096 - free * 1024
                (disk / "ballast").write_bytes(bytes(max(0, size)))
                file, number = open_file_on_a_full_disk(path), 0
                with self.assertRaises(OSError) as caught:
                    while True:
                        file.add([integration(number)])
                        number += 1
                self.assertEqual(caught.exception.errno, errno.ENOSPC)
                if number or path.exists():
                    self.assertEqual(self.check(path), number)
                file.close()
                self.assertEqual(set(os.listdir(disk)) - {"ballast", "test.uvh5"}, set())
                for name in os.listdir(disk):
                    os.unlink(disk / name)

    def test_files_that_may_not_grow_at_all(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        file = open_file(self.path)
        file.add([integration(0)])
        file.close()
        size = self.path.stat().st_size
        self.path.unlink()
        for limit in (0, 1, 100, 2047, 2048, 5000, *range(10_000, size, size // 11), size - 1):
            file = open_file(self.path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            try:
                with self.assertRaises(OSError) as caught:
                    file.add([integration(0)])
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual(caught.exception.errno, errno.EFBIG)
            file.close()
            self.assertEqual(self.names(), [])

    def test_folder_becomes_immutable(self):
        """The file grows in place, but for a copy; closing it frees the lock although the hidden
        file stays."""
        file = open_file(self.path)
        for number in range(3):
            file.add([integration(number)])
        with immutable(self, self.folder):
            file.add([integration(3)])
            with self.assertRaisesRegex(OSError, f"could not be removed.*{self.path}"):
                file.close()
            self.assertEqual(self.check(), 4)
            file.close()
        self.path.unlink()
        file = open_file(self.path)
        file.add([integration(0)])
        os.link(self.path, self.folder / "other")
        with immutable(self, self.folder):
            for _ in range(2):
                with self.assertRaises(PermissionError):
                    file.add([integration(1)])
            self.assertEqual(self.check(), 1)
        file.add([integration(1)])
        file.close()
        self.assertEqual(self.check(), 2)
        self.assertEqual(self.check(self.folder / "other"), 1)
        self.assertEqual(self.names(), ["other", "test.uvh5"])

    def test_write_fails_anywhere(self):
        """Whichever write fails, with half of it done: nothing is lost but what it was of, and the
        next attempt makes it good."""
        write, places = Space.write, []

        def failing_at(place):
            left = iter(range(place, -1, -1))

            def failing(space, data, address):
                if next(left, None) != 0:
                    return write(space, data, address)
                data = memoryview(data).cast("B")
                # the number that publishes is written or not
                write(space, data[: len(data) // 2 if len(data) > 8 else 0], address)
                raise OSError(errno.EIO, "test")

            return mock.patch.object(Space, "write", failing)

        def until_it_works(call, published):
            for place in range(1000):
                with failing_at(place):
                    try:
                        call()
                        places.append(place)
                        return
                    except OSError as error:
                        self.assertEqual(error.errno, errno.EIO)
                if published:
                    self.assertEqual(self.check(), published)

        for leases in (True, False):
            file = open_file(self.path)
            file.add([integration(0)])
            file._leases = leases
            for number in range(1, 40):
                until_it_works(lambda number=number: file.write(integration(number)), number)
                until_it_works(file.publish, number)
                self.assertEqual(self.check(), number + 1)
            file.close()
            self.assertEqual(self.check(), 40)
        # a state takes data, or a root and two numbers, and rows; and sometimes tables
        self.assertEqual(min(places), 1)
        self.assertGreater(max(places), 10)

    def test_the_first_write_fails(self):
        """There is no file until a state is complete; what was written waits for it."""
        for kind in ("write", "publish"):
            file = open_file(self.path)
            if kind == "publish":
                file.write(integration(0))
            with (
                mock.patch.object(Space, "write", side_effect=OSError(errno.EIO, "test")),
                self.assertRaises(OSError),
            ):
                file.write(integration(0)) if kind == "write" else file.publish()
            self.assertFalse(self.path.exists())
            if kind == "write":
                file.write(integration(0))
            file.add([integration(1)])
            self.assertEqual(self.check(), 2)
            file.close()
            self.assertEqual(self.names(), ["test.uvh5"])
            self.path.unlink()

    # ---- other users of the file

    def test_readers(self):
        # readers that keep the file open see what was there when they opened it
        file = open_file(self.path)
        readers = []
        for number in range(12):
            file.add([integration(number)])
            if number % 3 != 2:
                # another process's lock: HDF5 in this one would share its state
                reader, ready = self.child_that_reads()
                readers.append((number + 1, reader, ready))
        file.close()
        for count, reader, ready in readers:
            os.write(ready, b"x")
            os.close(ready)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]), count)
        self.assertEqual(self.check(), 12)

    def child_that_reads(self):
        """A process that opens the file, waits for a byte, and exits with the number of
        integrations that it sees then, each with the right value."""
        wait, ready = os.pipe()
        opened, report = os.pipe()
        child = os.fork()
        if child == 0:
            # the other side ends when this process does
            os.close(ready)
            seen = 255
            try:
                with h5py.File(self.path, "r") as file:
                    os.write(report, b"x")
                    os.read(wait, 1)
                    values = file["Data/visdata"][::PRODUCTS, 0, 0]
                    if np.array_equal(values, np.arange(len(values))):
                        seen = len(values)
            finally:
                os._exit(seen)
        os.close(wait)
        os.close(report)
        self.assertEqual(os.read(opened, 1), b"x")
        os.close(opened)
        return child, ready

    def writer(self):
        """A process that adds integrations until it is killed."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self.write_until_killed(writer)
        os.close(writer)
        os.read(reader, 1)

        def end():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)

        self.addCleanup(end)

    def test_readers_without_locks(self):
        """A reader that is slow while some dozens of integrations are added sees one state of the
        file."""
        self.writer()
        script = f"""
import sys, time
import h5py, numpy as np
for _ in range(10):
    with h5py.File({str(self.path)!r}, "r") as file:
        count = int(file["Header/Ntimes"][()])
        time.sleep(0.05)
        for name in ("Data/visdata", "Data/nsamples", "Header/time_array", "Header/uvw_array"):
            values = file[name][()]
            assert len(values) == count * {PRODUCTS}, name
            if name == "Data/visdata":
                assert np.array_equal(values[::{PRODUCTS}, 0, 0], np.arange(count))
"""
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", script],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"},
            )
            for _ in range(4)
        ]
        for reader in readers:
            errors = reader.communicate(timeout=PATIENCE)[1]
            self.assertEqual(reader.returncode, 0, errors)

    def test_copies(self):
        self.writer()
        for number in range(12):
            copy = self.folder / f"copy{number}"
            subprocess.run(["cp", self.path, copy], check=True)
            self.check(copy)
        # one that takes as long as dozens of integrations
        with open(self.path, "rb") as file:
            time.sleep(0.02)
            start = file.read(20_000)
            time.sleep(0.1)
            copy.write_bytes(start + file.read())
        self.check(copy)

    def test_other_names(self):
        """A file that somebody has linked or renamed is his, and stays as it is."""
        file = open_file(self.path)
        given = {}
        for number in range(8):
            file.add([integration(number)])
            other = self.folder / f"{number}.uvh5"
            if number % 4 == 0:
                os.link(self.path, other)
            if number % 4 == 2:
                os.rename(self.path, other)
            if number % 2 == 0:
                given[other] = other.read_bytes()
        file.close()
        self.assertEqual(self.check(), 8)
        for number, (other, content) in zip((0, 2, 4, 6), given.items()):
            self.assertEqual(self.check(other), number + 1)
            # the hole at its end is gone
            self.assertTrue(content.startswith(other.read_bytes()))
            self.assertFalse(any(content[other.stat().st_size :]))

    def test_other_name_while_something_waits(self):
        """A file that somebody has renamed has nothing that was not published."""
        file = open_file(self.path)
        file.add([integration(0)])
        size = file_size(self.path)
        file.write(integration(1))
        other = self.folder / "other.uvh5"
        os.rename(self.path, other)
        file.publish()
        self.assertEqual((self.check(), self.check(other)), (2, 1))
        self.assertEqual(other.stat().st_size, size)
        # one that is removed, or replaced, comes again
        self.path.unlink()
        file.add([integration(2)])
        self.assertEqual(self.check(), 3)
        self.path.unlink()
        self.path.write_text("another one")
        file.add([integration(3)])
        self.assertEqual(self.check(), 4)
        file.close()
        self.assertEqual(self.names(), ["other.uvh5", "test.uvh5"])

    def test_no_leases(self):
        """HDF5's locks tell who reads where the kernel cannot."""
        for error in (errno.EAGAIN, errno.EINVAL):
            with mock.patch.object(
                linux, "lease", side_effect=OSError(error, "no leases")
            ) as claim:
                file = open_file(self.path)
                for number in range(5):
                    file.add([integration(number)])
                self.assertEqual(claim.call_count, 1)
                reader, ready = self.child_that_reads()
                for number in range(5, 8):
                    file.add([integration(number)])
                file.close()
            os.write(ready, b"x")
            os.close(ready)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]), 5)
            self.assertEqual(self.check(), 8)

    def test_reader_in_this_process(self):
        file = open_file(self.path)
        file.add([integration(0)])
        with h5py.File(self.path, "r") as reader:
            for number in range(1, 5):
                file.add([integration(number)])
            self.assertEqual(reader["Header/Ntimes"][()], 1)
        self.assertEqual(self.check(), 5)
        file.close()

    def test_no_hard_links(self):
        refuse = mock.Mock(side_effect=OSError(errno.EPERM, "no hard links here"))
        with mock.patch("os.link", refuse):
            file = open_file(self.path, overwrite=False)
            for number in range(5):
                file.add([integration(number)])
                self.assertEqual(self.check(), number + 1)
            file.close()
        self.assertEqual(refuse.call_count, 1)
        self.assertEqual(self.names(), ["test.uvh5"])

    def test_two_writers(self):
        """The second one is kept out and costs the first one nothing, until that has closed the
        file."""
        first, second = open_file(self.path), open_file(self.path)
        for number in range(2):
            first.add([integration(number)])
        for _ in range(2):
            with self.assertRaises(FileExistsError) as caught:
                second.add([integration(0)])
            self.assertRegex(str(caught.exception), f"another program or block.*{self.path}")
            second.close()
        first.add([integration(2)])
        self.assertEqual(self.check(), 3)
        first.close()
        second.add([integration(0)])
        self.assertEqual(self.check(), 1)
        second.close()
        self.assertEqual(self.names(), ["test.uvh5"])

    def test_no_locks(self):
        """One writer can do without locks where the file system has none."""
        with mock.patch("fcntl.flock", side_effect=OSError(errno.ENOLCK, "no locks here")):
            file = open_file(self.path)
            for number in range(3):
                file.add([integration(number)])
            file.close()
        self.assertEqual(self.check(), 3)
        self.assertEqual(self.names(), ["test.uvh5"])

    def test_names_that_are_taken(self):
        """A name that is no file is refused at once, not followed, not waited for, and left as it
        is."""
        precious = self.folder / "precious"
        precious.write_text("precious")
        for key in ("new", "lock"):
            name = self.folder / f".test.uvh5.{key}"
            for make in (
                lambda: name.symlink_to(precious),
                lambda: name.symlink_to("absent"),
                lambda: os.mkfifo(name),
                name.mkdir,
            ):
                file = open_file(self.path)
                make()
                before = os.lstat(name)
                for add in (lambda: open_file(self.path), lambda: file.add([integration(0)])):
                    with self.assertRaises(FileExistsError) as caught:
                        add()
                    self.assertRegex(str(caught.exception), f"which is left as it is.*{name}")
                file.close()
                self.assertEqual(os.lstat(name).st_ino, before.st_ino)
                self.assertEqual(self.names(), [name.name, "precious"])
                (os.rmdir if name.is_dir() and not name.is_symlink() else os.unlink)(name)
        self.assertEqual(precious.read_text(), "precious")

    def test_not_overwritten_at_the_last_moment(self):
        """The file comes between the check and the first integration's being published."""
        for links in (True, False):
            file = open_file(self.path, overwrite=False)
            begin = file._begin

            def late(space):
                self.path.write_text("precious")
                return begin(space)

            with (
                mock.patch.object(file, "_begin", late),
                mock.patch(
                    "os.link",
                    os.link
                    if links
                    else mock.Mock(side_effect=OSError(errno.EPERM, "no hard links here")),
                ),
                self.assertRaisesRegex(FileExistsError, "overwrite is False"),
            ):
                file.add([integration(0)])
            file.close()
            self.assertEqual(self.path.read_text(), "precious")
            self.assertEqual(self.names(), ["test.uvh5"])
            self.path.unlink()

    # ---- where it may be

    def test_overwrite(self):
        self.path.write_text("precious")
        with self.assertRaises(FileExistsError) as caught:
            open_file(self.path, overwrite=False)
        self.assertIn(str(self.path), str(caught.exception))
        file = open_file(self.path)
        self.assertEqual(self.path.read_text(), "precious")
        file.add([integration(0)])
        self.assertEqual(self.check(), 1)
        file.close()
        # the other file comes while the first integration is computed
        other = self.folder / "other.uvh5"
        file = open_file(other, overwrite=False)
        other.write_text("precious")
        with self.assertRaises(FileExistsError):
            file.add([integration(0)])
        self.assertEqual(other.read_text(), "precious")

    def test_bad_places(self):
        with self.assertRaises(FileNotFoundError) as caught:
            open_file(self.folder / "absent" / "test.uvh5")
        self.assertIn("absent", str(caught.exception))
        with self.assertRaises(FileExistsError):
            open_file(self.folder)
        with self.assertRaisesRegex(OSError, "no file can be made in its folder.*/proc/test.uvh5"):
            open_file("/proc/test.uvh5")
        for path in ("", f"{self.folder}/new/"):
            with self.assertRaises(ValueError) as caught:
                open_file(path)
            self.assertEqual(
                str(caught.exception),
                f"filename: {path!r} is not allowed; it must be the name of a file",
            )
        self.assertEqual(self.names(), [])

    def test_symbolic_link(self):
        target = self.folder / "target.uvh5"
        self.path.symlink_to(target)
        file = open_file(self.path)
        file.add([integration(0)])
        file.add([integration(1)])
        file.close()
        self.assertTrue(self.path.is_symlink())
        self.assertEqual(self.check(target), 2)


if __name__ == "__main__":
    gr_unittest.run(qa_growing_file)
