#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Filterbank files, read back by their definition; python/aperture/testing/outside has blimpy."""

import errno
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import filterbank_sink, tags
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.files.sample_file import SampleFile
from gnuradio.aperture.formats.filterbank.header import header_bytes, sexagesimal, telescope_id
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.formats.filterbank.writer import Levels
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.disks import immutable
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.power_files import read_filterbank
from gnuradio.aperture.testing.qa_tools import comes_true, gr_tags, run_chain

BEAMS = [Beam("A", 120.0, 50.0), Beam("Cas A/1", ra=350.85, dec=58.815), Beam("c", 0.0, 90.0)]


def array_of(polarizations="xy", name="Effelsberg"):
    return make_array(
        {"1": (0.0, 0.0, 0.0), "2": (50.0, 0.0, 0.0)},
        inputs=polarizations,
        site=(50.5, 6.9, 400.0),
        name=name,
    )


def tags_of(
    item,
    time=(1704067200, 0.25),
    frequency=1e8,
    bandwidth=1e6,
    rate=100.0,
    spectra=50,
    partial=None,
    counted=None,
):
    """Returns the tags that the power detector puts on an integration; None leaves a tag out."""
    values = {
        tags.rx_time: time,
        tags.rx_freq: frequency,
        tags.bandwidth: bandwidth,
        tags.rx_rate: rate,
        tags.spectra: spectra,
        tags.partial: partial,
        tags.counted: np.array(counted) if counted else None,
    }
    return gr_tags(item, values)


class qa_filterbank_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "test.fil"
        self.rng = np.random.default_rng(1)

    def run_sink(self, items, found, path=None, array=None, beams=BEAMS, at_once=1000, **arguments):
        """Sends items [integration][beam][product][channel] with tags, so many a call at most;
        gives the sink."""
        items = np.asarray(items, np.float32)
        arguments.setdefault("products", "I")
        source = blocks.vector_source_f(items.ravel().tolist(), False, items[0].size, found)
        sink = filterbank_sink(
            str(path or self.path), array or array_of(), beams, items.shape[3], **arguments
        )
        sink.set_max_noutput_items(at_once)
        run_chain(source, sink)
        return sink

    def powers(self, *shape):
        return self.rng.normal(size=shape).astype(np.float32)

    def test_one_file_for_all(self):
        for products, count in (("I", 1), ("IQUV", 4), ("coherency", 4)):
            items = self.powers(9, 3, count, 7)
            sink = self.run_sink(items, tags_of(0), products=products)
            self.assertIsNone(sink.error())
            self.assertEqual((sink.integrations(), sink.files()), (9, [str(self.path)]))
            header, data = read_filterbank(self.path)
            data = np.frombuffer(data, "<f4").reshape(9, 3 * count, 7)
            # highest channel first
            np.testing.assert_array_equal(data[..., ::-1], items.reshape(9, 3 * count, 7))
            self.assertEqual(
                (
                    header["nifs"],
                    header["nchans"],
                    header["nbits"],
                    header["nbeams"],
                    header["ibeam"],
                    header["data_type"],
                ),
                (3 * count, 7, 32, 3, 0, 1),
            )

    def test_a_file_for_each_beam(self):
        items = self.powers(9, 3, 4, 7)
        sink = self.run_sink(items, tags_of(0), self.folder / "{beam}.fil", products="IQUV")
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()), ["A.fil", "Cas_A_1.fil", "c.fil"]
        )
        for number, path in enumerate(sink.files()):
            header, data = read_filterbank(path)
            data = np.frombuffer(data, "<f4").reshape(9, 4, 7)
            np.testing.assert_array_equal(data[..., ::-1], items[:, number])
            self.assertEqual(
                (
                    header["nifs"],
                    header["nbeams"],
                    header["ibeam"],
                    header["source_name"],
                    header["rawdatafile"],
                ),
                (4, 3, number + 1, BEAMS[number].name, os.path.basename(path)),
            )

    def run_gathering(self, items, fails_at=None, **arguments):
        """One integration a call, for three files, while no time passes; the write of this number
        fails. Gives the sink, and how many bytes were written at once, of each file."""
        writes, add = {}, SampleFile.add

        def counted(file, *pieces):
            size = sum(memoryview(piece).nbytes for piece in pieces)
            if len(writes.setdefault(file.path, [])) == fails_at:
                raise OSError(errno.ENOSPC, "No space left on device", file.path)
            writes[file.path].append(size)
            add(file, *pieces)

        with (
            mock.patch.object(SampleFile, "add", counted),
            mock.patch("gnuradio.aperture.streams.publishing.clock", lambda: 0.0),
        ):
            sink = self.run_sink(
                items,
                tags_of(0),
                self.folder / "{beam}.fil",
                products="IQUV",
                at_once=1,
                **arguments,
            )
        return sink, writes

    def check_gathered(self, items, sink):
        for number, path in enumerate(sink.files()):
            data = np.frombuffer(read_filterbank(path)[1], "<f4").reshape(-1, 4, items.shape[3])
            np.testing.assert_array_equal(data[..., ::-1], items[:, number])

    def test_gathers(self):
        """Short writes of many files become one of 64 KiB for each of them."""
        items = self.powers(100, 3, 4, 91)
        size = 4 * 91 * 4
        sink, writes = self.run_gathering(items)
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 100)
        self.check_gathered(items, sink)
        for header, *samples in writes.values():
            self.assertLess(header, 1000)
            # the first one at once, then as many as there is room for, and the rest at the end
            self.assertEqual(samples, [size, 45 * size, 45 * size, 9 * size])

    def test_gathers_what_is_filled(self):
        """Gaps, losses and 8 bits come into the files in their order."""
        items, gap = 5 + self.powers(200, 3, 4, 91), tags_of(120, (1704067201, 0.75))
        found = tags_of(0) + gap + tags_of(150, None, counted=[0] * 12) + tags_of(151, None)
        together = self.run_sink(
            items, found, self.folder / "all-{beam}.fil", products="IQUV", nbits=8
        )
        singly = self.run_sink(
            items, found, self.folder / "{beam}.fil", products="IQUV", nbits=8, at_once=1
        )
        self.assertEqual((together.error(), singly.error()), (None, None))
        self.assertEqual(singly.integrations(), together.integrations())
        for one, other in zip(together.files(), singly.files()):
            self.assertEqual(read_filterbank(one)[1], read_filterbank(other)[1])

    def test_full_disk_while_gathering(self):
        """Samples that do not fit are not counted, and the error is told."""
        items = self.powers(100, 3, 4, 91)
        sink, _ = self.run_gathering(items, fails_at=3)
        self.assertEqual(sink.error(), f"{self.folder / 'A.fil'}: No space left on device")
        self.assertEqual(sink.integrations(), 46)
        self.check_gathered(items[:46], sink)

    def test_full_disk_when_nothing_comes(self):
        """An error between two calls is told in the next one, or at the end."""
        path = str(self.folder / "A.fil")
        sink = filterbank_sink(str(self.folder / "{beam}.fil"), array_of(), BEAMS, 4, "I")
        sink.start()
        sink._unwritten = OSError(errno.ENOSPC, "No space left on device", path)
        sink.stop()
        self.assertEqual(sink.error(), f"{path}: No space left on device")

    def test_powers_of_both_polarisations(self):
        items = self.powers(2, 6, 1, 4)
        sink = self.run_sink(items, tags_of(0), self.folder / "{beam}.fil", products="power")
        self.assertEqual(len(sink.files()), 6)
        header, data = read_filterbank(self.folder / "Cas_A_1_y.fil")
        np.testing.assert_array_equal(
            np.frombuffer(data, "<f4").reshape(2, 4)[:, ::-1], items[:, 3, 0]
        )
        self.assertEqual(header["source_name"], "Cas A/1 y")
        self.run_sink(self.powers(2, 3, 1, 4), tags_of(0), array=array_of("y"), products="power")
        self.assertEqual(read_filterbank(self.path)[0]["nifs"], 3)

    def test_header(self):
        for channels in (1, 4, 5):
            sink = self.run_sink(
                self.powers(2, 3, 1, channels),
                tags_of(0, (1704067199, 0.75), 1.4e9, 1.5e6, 125.0, 50),
                self.folder / "{beam}.fil",
                machine_id=17,
            )
            width = 1.5e6 / channels
            for number, beam in enumerate(BEAMS):
                header = read_filterbank(sink.files()[number])[0]
                # channel n//2 is at rx_freq
                top = 1.4e9 + (channels - 1 - channels // 2) * width
                self.assertAlmostEqual(header["fch1"], top / 1e6, places=9)
                self.assertAlmostEqual(header["foff"], -width / 1e6, places=12)
                self.assertEqual(header["tsamp"], 1 / 125)
                self.assertEqual((header["machine_id"], header["telescope_id"]), (17, 8))
                # 2024-01-01, less 0.25 s and half of a spectrum of 8 ms / 50; 0.6 us in a double
                self.assertAlmostEqual(
                    (header["tstart"] - 60310) * 86400, -0.25 - 0.00008, delta=1e-6
                )
                time = 1704067198.75 + 1
                azimuth, elevation = beam.azimuth, beam.elevation
                if beam.moving:
                    azimuth, elevation = geometry.radec_to_azel(
                        beam.ra, beam.dec, time, 50.5, 6.9, 400.0
                    )
                self.assertAlmostEqual(header["az_start"] % 360, azimuth, delta=1e-5)
                self.assertAlmostEqual(header["za_start"], 90 - elevation, delta=1e-5)
                ra, dec = geometry.azel_to_radec(azimuth, elevation, time, 50.5, 6.9, 400.0)
                for packed, value, size in (
                    (header["src_raj"], ra / 15, 1e-4),
                    (header["src_dej"], dec, 1e-3),
                ):
                    sign, packed = np.sign(packed), abs(packed)
                    unpacked = sign * (
                        packed // 10000 + packed // 100 % 100 / 60 + packed % 100 / 3600
                    )
                    self.assertAlmostEqual(unpacked, value, delta=size / 3600 + 2e-5)
        # the place of Cassiopeia A: 23 h 23 min 24 s, 58 d 48' 54"
        header = read_filterbank(self.folder / "Cas_A_1.fil")[0]
        self.assertAlmostEqual(header["src_raj"], 232324.0, delta=1e-3)
        self.assertAlmostEqual(header["src_dej"], 584854.0, delta=1e-3)

    def test_sexagesimal(self):
        for degrees, hours, expected in (
            (0.0, True, 0.0),
            (15.0, True, 10000.0),
            (359.9999999999, True, 240000.0),
            (-0.5, False, -3000.0),
            (-89.99999999999, False, -900000.0),
            (12.5 + 59.9996 / 3600, False, 123100.0),
            (83.6331, True, 53431.944),
        ):
            self.assertAlmostEqual(sexagesimal(degrees, hours), expected, places=6)
        self.assertEqual(
            [telescope_id(name) for name in ("Parkes", "Jodrell Bank", "best-2", "MeerKAT")],
            [4, 5, 0, 64],
        )

    def test_eight_bits(self):
        scale = self.rng.uniform(1, 1e4, (3, 4, 5))
        items = scale * (20 + self.powers(300, 3, 4, 5))
        items[:, :, 1:] -= 20 * scale[:, 1:]
        items[200, 1, 0, 3] = 1e9
        items[201, 1, 0, 3] = -1e9
        sink = self.run_sink(items, tags_of(0), nbits=8, products="IQUV", level_integrations=100)
        header, data = read_filterbank(self.path)
        self.assertEqual(header["nbits"], 8)
        data = np.frombuffer(data, np.uint8).reshape(300, 3, 4, 5)[..., ::-1]
        mean, deviation = data[:100].mean(axis=0), data[:100].std(axis=0)
        np.testing.assert_allclose(mean[:, 0], 64, atol=0.2)
        np.testing.assert_allclose(mean[:, 1:], 128, atol=0.2)
        np.testing.assert_allclose(deviation, 10, rtol=0.02)
        self.assertEqual((data[200, 1, 0, 3], data[201, 1, 0, 3]), (255, 0))
        offset, step = sink.levels()
        inside = (data > 0) & (data < 255)
        self.assertGreater(inside.mean(), 0.999)
        error = np.abs(offset + step * data - items) / step
        # float32 carries powers of 2e5 steps to 1/64
        self.assertLess(error[inside].max(), 0.5 + 0.02)

    def test_eight_bits_of_a_short_stream(self):
        items = 5 + self.powers(7, 3, 1, 5)
        items[:, 0, 0, 2] = 3.0
        items[:, 0, 0, 3] = 0.0
        sink = self.run_sink(items, tags_of(0), nbits=8)
        data = np.frombuffer(read_filterbank(self.path)[1], np.uint8).reshape(7, 3, 5)[..., ::-1]
        self.assertEqual(sink.integrations(), 7)
        # constant powers are where the mean belongs
        self.assertTrue(np.all(data[:, 0, 2:4] == 64))

    def test_no_room_for_eight_bits(self):
        """A file of 32 bits is whole, where that of 8 bits cannot be written."""
        items = 5 + self.powers(50, 3, 1, 4)
        create = mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        with mock.patch("gnuradio.aperture.files.file_lock.create", create):
            sink = self.run_sink(items, tags_of(0), nbits=8, level_integrations=40)
        self.assertEqual(sink.error(), f"{self.path}: No space left on device")
        header, data = read_filterbank(self.path)
        self.assertEqual((header["nbits"], sink.integrations()), (32, 50))
        np.testing.assert_array_equal(
            np.frombuffer(data, "<f4").reshape(50, 3, 4)[..., ::-1],
            items[:, :, 0].astype(np.float32),
        )

    # ---- what others do to the files

    def run_disturbed(self, disturb, **arguments):
        """20 integrations, one at a time; disturb() is called when ten are in the file."""
        items = 5 + self.powers(20, 3, 1, 4)
        sink = filterbank_sink(str(self.path), array_of(), BEAMS, 4, "I", **arguments)

        class in_between(gr.sync_block):
            def __init__(self):
                gr.sync_block.__init__(self, "in_between", [(np.float32, 12)], [(np.float32, 12)])

            def work(self, inputs, outputs):
                if self.nitems_read(0) == 10:
                    comes_true(lambda: sink.integrations() >= 10)
                    disturb()
                outputs[0][0] = inputs[0][0]
                return 1

        source = blocks.vector_source_f(items.ravel().tolist(), False, 12, tags_of(0))
        between = in_between()
        run_chain(source, between, sink)
        return sink, items

    def test_removed_while_it_grows(self):
        for nbits in (8, 32):
            for disturb in (
                self.path.unlink,
                lambda: self.path.rename(self.folder / "moved"),
                lambda: (self.path.unlink(), self.path.write_text("another")),
            ):
                sink, _ = self.run_disturbed(disturb, nbits=nbits)
                self.assertEqual(
                    sink.error(),
                    f"{self.path}: the file was removed, renamed or replaced while it was written",
                )
                self.assertEqual(sink.integrations(), 10)
                if self.path.exists():
                    self.assertEqual(self.path.read_text(), "another")
                for path in self.folder.iterdir():
                    path.unlink()

    def test_cut_or_extended_while_it_grows(self):
        for size in (0, 100, 100_000):
            sink, _ = self.run_disturbed(lambda: os.truncate(self.path, size))
            self.assertRegex(
                sink.error(),
                f"^{self.path}: somebody else changed the file while it "
                f"was written: it has {size} bytes instead of ",
            )
            self.assertEqual((sink.integrations(), self.path.stat().st_size), (10, size))

    def test_disturbed_after_the_last_integration(self):
        """The end of the stream is soon enough to notice."""
        for disturb in (self.path.unlink, lambda: os.truncate(self.path, 5)):
            real = filterbank_sink._stop

            def stop(sink):
                disturb()
                real(sink)

            with mock.patch.object(filterbank_sink, "_stop", stop):
                sink = self.run_sink(self.powers(5, 3, 1, 4), tags_of(0))
            self.assertRegex(sink.error(), f"^{self.path}: .*while it was written")

    def test_folder_becomes_immutable(self):
        """Open files can still be written; the file of 8 bits cannot be made, which is told
        once."""
        for nbits in (32, 8):
            with immutable(self, self.folder):
                subprocess.run(["chattr", "-i", self.folder], check=True)
                sink, items = self.run_disturbed(
                    lambda: subprocess.run(["chattr", "+i", self.folder], check=True), nbits=nbits
                )
            self.assertEqual(sink.integrations(), 20)
            if nbits == 32:
                self.assertIsNone(sink.error())
            else:
                self.assertRegex(sink.error(), "not permitted")
            header, data = read_filterbank(self.path)
            self.assertEqual(header["nbits"], 32)
            np.testing.assert_array_equal(
                np.frombuffer(data, "<f4").reshape(20, 3, 4)[..., ::-1], items[:, :, 0]
            )

    def test_names_that_are_taken(self):
        """A name that is no file is refused, not followed, not waited for, and left as it is."""
        precious = self.folder / "precious"
        precious.write_text("precious")
        for name in ("test.fil.part", "test.fil.missing", ".test.fil.lock", ".test.fil.old"):
            name = self.folder / name
            for make in (
                lambda: name.symlink_to(precious),
                lambda: name.symlink_to("absent"),
                lambda: os.mkfifo(name),
                name.mkdir,
            ):
                make()
                before = os.lstat(name)
                with self.assertRaisesRegex(FileExistsError, f"which is left as it is.*{name}"):
                    filterbank_sink(str(self.path), array_of(), BEAMS, 4, nbits=8)
                (os.rmdir if name.is_dir() and not name.is_symlink() else os.unlink)(name)
                # this comes in front of the first integration
                sink = filterbank_sink(str(self.path), array_of(), BEAMS, 4, "I", nbits=8)
                make()
                run_chain(blocks.vector_source_f([1.0] * 12, False, 12, tags_of(0)), sink)
                self.assertRegex(sink.error(), f"^{self.path}: {name}: .*which is left as it is")
                self.assertEqual(os.lstat(name).st_mode, before.st_mode)
                (os.rmdir if name.is_dir() and not name.is_symlink() else os.unlink)(name)
        self.assertEqual(precious.read_text(), "precious")
        self.assertEqual(os.listdir(self.folder), ["precious"])

    def test_part_that_came_late(self):
        """A link of that name, made while the levels are not set yet."""
        precious, part = self.folder / "precious", self.folder / "test.fil.part"
        precious.write_text("precious")
        sink, items = self.run_disturbed(lambda: part.symlink_to(precious), nbits=8)
        self.assertRegex(
            sink.error(), f"{self.path}: {part}: .*a symbolic link, which is left as it is"
        )
        self.assertTrue(part.is_symlink())
        self.assertEqual(precious.read_text(), "precious")
        header, data = read_filterbank(self.path)
        self.assertEqual((header["nbits"], len(data)), (32, 20 * 48))

    def test_what_a_killed_process_left(self):
        part = self.folder / "test.fil.part"
        items = 5 + self.powers(20, 3, 1, 4)
        for content in (
            b"",
            header_bytes({"nbits": 8})[:7],
            header_bytes({"nbits": 8}) + bytes(100),
        ):
            part.write_bytes(content)
            self.assertIsNone(self.run_sink(items, tags_of(0), nbits=8).error())
            self.assertEqual(os.listdir(self.folder), ["test.fil"])
        part.write_text("mine")
        sink = self.run_sink(items, tags_of(0), nbits=8)
        self.assertRegex(sink.error(), f"{part}: .*none of this format, which is left as it is")
        self.assertEqual(part.read_text(), "mine")
        self.assertEqual(read_filterbank(self.path)[0]["nbits"], 32)

    def test_file_by_a_link(self):
        """The name that the user gives may be one, and stays one."""
        target = self.folder / "target.fil"
        self.path.symlink_to(target)
        for nbits in (32, 8):
            self.assertIsNone(
                self.run_sink(5 + self.powers(20, 3, 1, 4), tags_of(0), nbits=nbits).error()
            )
            self.assertTrue(self.path.is_symlink())
            self.assertEqual(read_filterbank(target)[0]["nbits"], nbits)
        self.assertEqual(sorted(os.listdir(self.folder)), ["target.fil", "test.fil"])

    # ---- names

    def test_names_of_beams_are_no_paths(self):
        for name, written in (
            ("..", "beam"),
            (".", "beam"),
            ("../../etc", "etc"),
            ("/", "beam"),
            ("a/../b", "a_.._b"),
            (".hidden", "hidden"),
            ("_.._", "beam"),
            ("Ω+1", "Ω+1"),
            ("a.b", "a.b"),
        ):
            for pattern in ("{beam}/z.fil", "{beam}.fil"):
                inside = self.folder / "out"
                (inside / written).mkdir(parents=True)
                path = inside / pattern
                sink = self.run_sink(
                    self.powers(2, 1, 1, 4), tags_of(0), path, beams=[Beam(name, 0.0, 90.0)]
                )
                self.assertIsNone(sink.error())
                self.assertEqual(sink.files(), [str(path).replace("{beam}", written)])
                self.assertEqual(os.listdir(self.folder), ["out"])
                shutil.rmtree(inside)

    def test_time_in_the_name(self):
        path = self.folder / "{beam}-{time}.fil"
        for seconds, text in ((1704067200, "20240101T000000Z"), (1704153599, "20240101T235959Z")):
            sink = self.run_sink(self.powers(5, 3, 1, 4), tags_of(0, (seconds, 0.9)), path)
            self.assertIsNone(sink.error())
            self.assertEqual(
                sink.files(),
                [str(self.folder / f"{name}-{text}.fil") for name in ("A", "Cas_A_1", "c")],
            )
            self.assertEqual(
                read_filterbank(sink.files()[1])[0]["rawdatafile"], f"Cas_A_1-{text}.fil"
            )
        self.assertEqual(len(os.listdir(self.folder)), 6)
        sink = self.run_sink(
            self.powers(5, 3, 1, 4), tags_of(0, (1704067200, 0.0)), path, overwrite=False
        )
        self.assertRegex(
            sink.error(), "A-20240101T000000Z.fil: the file exists, and overwrite is False"
        )
        with self.assertRaisesRegex(ValueError, "filename: .*{beam} and {time} may stand; {beem}"):
            filterbank_sink(str(self.folder / "{beem}.fil"), array_of(), BEAMS, 4)

    def test_not_overwritten_at_the_last_moment(self):
        """The file comes between the check and its being opened."""

        def late(path, *_):
            self.path.write_text("precious")

        sink = filterbank_sink(str(self.path), array_of(), BEAMS, 4, "I", overwrite=False)
        top = gr.top_block()
        top.connect(blocks.vector_source_f([1.0] * 12, False, 12, tags_of(0)), sink)
        with mock.patch("gnuradio.aperture.power_file_sink.check_path", late):
            top.run()
        self.assertRegex(sink.error(), f"{self.path}: the file exists, and overwrite is False")
        self.assertEqual(self.path.read_text(), "precious")

    def test_list_of_missing_samples_is_not_overwritten(self):
        missing = Path(f"{self.path}.missing")
        missing.write_text("precious")
        with self.assertRaisesRegex(FileExistsError, f"overwrite is False.*{missing}"):
            filterbank_sink(str(self.path), array_of(), BEAMS, 4, overwrite=False)
        self.assertEqual(missing.read_text(), "precious")

    # ---- what can go wrong when files of 8 bits take the places of those of 32

    def gaps(self):
        """Powers of which some are lost, their tags, and bool [integration][beam]."""
        items, lost = 5 + self.powers(50, 3, 1, 4), np.zeros((50, 3), bool)
        lost[[10, 11]] = lost[20, 1] = True
        there = dict(time=None, frequency=None, bandwidth=None, rate=None)
        found = tags_of(0) + [
            tag
            for item, counted in ((10, [0]), (12, [9]), (20, [9, 0, 9]), (21, [9]))
            for tag in tags_of(item, **there, counted=counted)
        ]
        return items, found, lost

    def check_files(self, nbits, items, lost, left=()):
        """Three files, each with its list, and nothing else is there."""
        names = ["A.fil", "Cas_A_1.fil", "c.fil"]
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()),
            sorted([*names, *(name + ".missing" for name in names), *left]),
        )
        for number, name in enumerate(names):
            header, data = read_filterbank(self.folder / name)
            self.assertEqual(header["nbits"], nbits)
            data = np.frombuffer(data, "<f4" if nbits == 32 else np.uint8).reshape(50, 4)[:, ::-1]
            if nbits == 32:
                there = ~lost[:, number]
                np.testing.assert_array_equal(data[there], items[there, number, 0])
            np.testing.assert_array_equal(
                self.missing(50, 1, self.folder / name)[:, 0], lost[:, number]
            )

    def run_failing(self, replace, link=os.link):
        items, found, lost = self.gaps()
        with mock.patch("os.replace", replace), mock.patch("os.link", link):
            sink = self.run_sink(
                items, found, self.folder / "{beam}.fil", nbits=8, level_integrations=40
            )
        self.assertEqual((sink.integrations(), sink.filled()), (50, 3))
        return sink, items, lost

    @staticmethod
    def no_links(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def test_taking_places(self):
        """While they do, each file has its list, and what it replaces is there."""
        real, seen = os.replace, []

        def replace(old, new):
            self.assertTrue(Path(f"{new}.missing").exists())
            seen.append(read_filterbank(new)[0]["nbits"])
            real(old, new)

        for link in (os.link, self.no_links):
            sink, items, lost = self.run_failing(replace, link)
            self.assertIsNone(sink.error())
            self.check_files(8, items, lost)
        self.assertEqual(seen, [32] * 6)

    def test_one_cannot_take_its_place(self):
        """Then none does: all are of 32 bits, and whole."""
        real = os.replace
        for link in (os.link, self.no_links):
            for name in ("A.fil", "Cas_A_1.fil", "c.fil"):

                def replace(old, new):
                    if new == str(self.folder / name) and old.endswith(".part"):
                        raise OSError(errno.EIO, "Input/output error", old, None, new)
                    real(old, new)

                sink, items, lost = self.run_failing(replace, link)
                self.assertEqual(sink.error(), f"{self.folder / name}: Input/output error")
                self.assertIsNone(sink.levels())
                self.check_files(32, items, lost)

    def test_no_second_name(self):
        """No room even for that."""

        def link(old, new):
            if "Cas" in new:
                raise OSError(errno.ENOSPC, "No space left on device", old, None, new)
            os_link(old, new)

        os_link = os.link
        sink, items, lost = self.run_failing(os.replace, link)
        self.assertEqual(sink.error(), f"{self.folder / 'Cas_A_1.fil'}: No space left on device")
        self.check_files(32, items, lost)

    def test_nor_get_back(self):
        """One cannot take its place, and another does not get its own back: it is told where it
        is."""
        real, old_name = os.replace, self.folder / ".A.fil.old"

        def replace(old, new):
            if new.endswith("c.fil") or old == str(old_name):
                raise OSError(errno.EIO, "Input/output error", old, None, new)
            real(old, new)

        sink, items, lost = self.run_failing(replace)
        self.assertRegex(sink.error(), f"c.fil: Input/output error; what was there is {old_name}")
        self.assertEqual(read_filterbank(old_name)[0]["nbits"], 32)
        self.assertEqual(read_filterbank(self.folder / "A.fil")[0]["nbits"], 8)
        self.assertEqual(read_filterbank(self.folder / "c.fil")[0]["nbits"], 32)
        old_name.rename(self.folder / "A.fil")

    def test_a_partial_integration_is_left_out(self):
        sink = self.run_sink(
            self.powers(5, 3, 1, 4),
            tags_of(0) + tags_of(4, (1704067200, 0.29), rate=None, spectra=20, partial=True),
        )
        self.assertEqual(
            (sink.integrations(), len(read_filterbank(self.path)[1])), (4, 4 * 3 * 4 * 4)
        )

    def test_what_contradicts_itself(self):
        later = dict(time=None, frequency=None, bandwidth=None, rate=None, spectra=None)
        for found, text, written in (
            (tags_of(0, rate=None), "no rx_rate", 0),
            (tags_of(0, time=None), "no rx_time", 0),
            (tags_of(0, frequency=None), "no rx_freq", 0),
            (tags_of(0, spectra=None), "no spectra", 0),
            (tags_of(0, bandwidth=-1.0), "not allowed", 0),
            (tags_of(0, time=(1, 1.5)), "rx_time .* not allowed", 0),
            (tags_of(0) + tags_of(3, **{**later, "frequency": 1.1e8}), "rx_freq", 3),
            (tags_of(0) + tags_of(3, **{**later, "rate": 99.0}), "rx_rate", 3),
            (tags_of(0) + tags_of(3, **{**later, "time": (1704067900, 0.5)}), "jumps", 3),
            (tags_of(0) + tags_of(3, **{**later, "time": (1704067190, 0.5)}), "jumps", 3),
            (tags_of(0) + tags_of(3, **later, counted=[0, 1]), "counted has 2 numbers", 3),
        ):
            self.path.unlink(missing_ok=True)
            sink = self.run_sink(self.powers(5, 3, 1, 4), found)
            self.assertRegex(sink.error(), text)
            self.assertIn(str(self.path), sink.error())
            self.assertEqual(sink.integrations(), written)
            # samples before the error are good
            self.assertEqual(self.path.exists(), written > 0)
            if written:
                self.assertEqual(len(read_filterbank(self.path)[1]), 3 * 3 * 4 * 4)
        sink = self.run_sink(
            self.powers(5, 3, 1, 4),
            tags_of(0) + tags_of(3, **{**later, "time": (1704067200, 0.2800001)}),
        )
        self.assertIsNone(sink.error())

    # ---- what was not received

    def missing(self, samples, ifs, path=None):
        """bool [sample][IF] by the list beside a file, in which no place is twice."""
        found = np.zeros((samples, ifs), int)
        for first, count, number in np.loadtxt(f"{path or self.path}.missing", int, ndmin=2):
            self.assertGreaterEqual(number, -1)
            found[first : first + count, slice(None) if number < 0 else number] += 1
        self.assertLessEqual(found.max(), 1)
        return found > 0

    def test_integrations_that_are_missing(self):
        """Missing integrations hold the mean of those before, and are listed."""
        items = self.powers(30, 3, 4, 5) + 100
        tagged, there = tags_of(0), dict(time=None, frequency=None, bandwidth=None, rate=None)
        # all are lost, two and one in a row; also one product alone
        for item, counted in ((12, [0]), (14, [9]), (20, [0]), (21, [9])):
            tagged += tags_of(item, **there, counted=counted)
        tagged += tags_of(17, **there, counted=[9] * 4 + [0] * 4 + [9] * 4)
        tagged += tags_of(18, **there, counted=[9] * 5 + [0] + [9] * 6)
        tagged += tags_of(19, **there, counted=[9])
        lost = np.zeros((30, 3, 4), bool)
        lost[[12, 13, 20]] = lost[17, 1] = lost[18, 1, 1] = True
        items[lost] = 0
        items[3, 2, 0, 1] = np.nan  # stays, and stays alone
        expected = np.array(items)
        for name, at_once in (("test.fil", 1000), ("test.fil", 1), ("{beam}.fil", 7)):
            sink = self.run_sink(
                items, tagged, self.folder / name, products="IQUV", at_once=at_once
            )
            self.assertIsNone(sink.error())
            self.assertEqual((sink.integrations(), sink.filled()), (30, 5))
            powers = np.concatenate(
                [
                    np.frombuffer(read_filterbank(path)[1], "<f4").reshape(30, -1, 4, 5)[..., ::-1]
                    for path in sink.files()
                ],
                axis=1,
            )
            np.testing.assert_array_equal(powers[~lost], expected[~lost])
            # a mean of 12 to 30 values of variance 1 about 100, by far not 0
            np.testing.assert_allclose(powers[lost], 100, atol=5 / np.sqrt(12))
            self.assertEqual(powers[12].tolist(), powers[13].tolist())
            for number, path in enumerate(sink.files()):
                there = lost.reshape(30, 12) if name == "test.fil" else lost[:, number]
                np.testing.assert_array_equal(self.missing(30, there.shape[1], path), there)
        self.assertRegex(
            Path(f"{self.path}.missing").read_text(), r"\A# test.fil: .*\n12 [12] -1\n"
        )
        # a file without gaps has no list, nor has one that was replaced
        self.run_sink(items, tags_of(0), products="IQUV")
        self.assertFalse(Path(f"{self.path}.missing").exists())

    def test_missing_in_eight_bits(self):
        """Levels are those of what is there; what is missing is where the mean is."""
        there = dict(time=None, frequency=None, bandwidth=None, rate=None)
        items = 50 + 3 * self.powers(80, 3, 4, 5)
        for at in (0, 10, 70):  # before anything, before the levels are set, and after that
            for counted, rows in (([0], slice(None)), ([9] * 8 + [0] * 4, slice(2, 3))):
                sent = np.array(items)
                sent[at : at + 3, rows] = 0
                tagged = tags_of(0, counted=counted if at == 0 else None)
                if at > 0:
                    tagged += tags_of(at, **there, counted=counted)
                tagged += tags_of(at + 3, **there, counted=[9])
                sink = self.run_sink(sent, tagged, nbits=8, products="IQUV", level_integrations=50)
                data = np.frombuffer(read_filterbank(self.path)[1], np.uint8).reshape(80, 3, 4, 5)
                self.assertEqual(sink.filled(), 3)
                self.assertTrue(
                    np.all(data[at : at + 3, rows] == np.reshape([64, 128, 128, 128], (4, 1)))
                )
                lost = np.zeros((80, 3, 4), bool)
                lost[at : at + 3, rows] = True
                np.testing.assert_array_equal(self.missing(80, 12), lost.reshape(80, 12))
                offset, step = sink.levels()
                # 47 to 50 values of deviation 3
                np.testing.assert_allclose(10 * step, 3, atol=1.2)
                inside = np.abs(offset + step * data[..., ::-1] - sent) < 0.51 * step
                self.assertGreater(inside.mean(), 0.94)

    def test_jumps_in_time(self):
        """Integrations that a jump leaves out are filled; those of a second time are left out."""
        later = dict(frequency=None, bandwidth=None, rate=None, spectra=None)
        items = np.arange(1, 61, dtype=float).reshape(20, 3, 1, 1)
        for nbits, at_once in ((32, 1000), (8, 1000), (32, 2), (8, 2)):
            # 7 more than there are at item 5; at item 12 it is again the time of three before; the
            # times of those behind may be tagged or not
            for each in (False, True):
                tagged = tags_of(0)
                for item in range(1, 20):
                    if each or item in (5, 12):
                        slot = item + (7 if item >= 5 else 0) - (3 if item >= 12 else 0)
                        tagged += tags_of(item, (1704067200, 0.25 + 0.01 * slot), **later)
                sink = self.run_sink(items, tagged, nbits=nbits, at_once=at_once)
                self.assertIsNone(sink.error())
                self.assertEqual((sink.integrations(), sink.filled()), (24, 7))
                np.testing.assert_array_equal(
                    self.missing(24, 3), np.isin(range(24), range(5, 12))[:, None] & [True] * 3
                )
                data = np.frombuffer(
                    read_filterbank(self.path)[1], "<f4" if nbits == 32 else np.uint8
                )
                data = data.reshape(24, 3)
                if nbits == 32:
                    came = items[[*range(12), *range(15, 20)], :, 0, 0]
                    np.testing.assert_array_equal(data[[*range(5), *range(12, 24)]], came)
                    np.testing.assert_allclose(
                        data[5:12], np.broadcast_to(came[:5].mean(0), (7, 3))
                    )
                else:
                    self.assertTrue(np.all(data[5:12] == 64))

    def test_lost_samples_in_a_flowgraph(self):
        """An input loses samples: its own beam is filled, time goes on, the other one is whole."""
        channels, times, spectra = 8, 10, 20
        array = make_array(
            {"1": (0.0, 0.0, 0.0), "2": (50.0, 0.0, 0.0)}, site=(50.0, 7.0, 0.0), name="two"
        )
        beams = [
            Beam("one", 0.0, 90.0, antennas=("1",)),
            Beam("two", 0.0, 90.0, antennas=("2",)),
            Beam("both", 0.0, 90.0),
        ]
        samples, hole = channels * (30 * spectra + 7), channels * 8 * spectra
        x = self.powers(2, samples) + 1j * self.powers(2, samples)

        def source(number, values, jump=None):
            first = [(0, 1704067200, 0.0)] + ([jump] if jump else [])
            found = [
                tag
                for item, whole, part in first
                for tag in tags_of(item, (whole, part), 1e8, None, 1e6 if item == 0 else None, None)
            ]
            return blocks.vector_source_c(values.tolist(), False, 1, found)

        # the second input lacks 6 integrations and a half from the ninth on
        lost = channels * (6 * spectra + spectra // 2)
        cut = np.concatenate((x[1, :hole], x[1, hole + lost :]))
        sizes = dict(channels=channels, inputs=2, device="cpu")
        power = aperture.beam_power(
            beams=3,
            spectra_per_frame=times,
            type="fc32",
            spectra=spectra,
            **sizes,
            weights=np.array([[1, 0], [0, 1], [1, 1]], np.complex64),
        )
        f_engine = aperture.pfb_channelizer(**sizes)
        corner_turn = aperture.corner_turn(spectra_per_frame=times, type="fc32", **sizes)
        sink = filterbank_sink(str(self.path), array, beams, channels, "power")
        top = gr.top_block()
        top.connect(source(0, x[0]), (f_engine, 0), (corner_turn, 0))
        top.connect(
            source(1, cut, (hole, 1704067200, 1e-6 * (hole + lost))),
            (f_engine, 1),
            (corner_turn, 1),
        )
        top.connect(corner_turn, power, sink)
        top.run()
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 30)
        # a spectrum is missing if one of its 8 x 8 samples is: 7 more, in the one before
        expected = np.zeros((30, 3), bool)
        expected[8:14, 1] = True
        np.testing.assert_array_equal(self.missing(30, 3), expected)
        powers = np.frombuffer(read_filterbank(self.path)[1], "<f4").reshape(30, 3, channels)
        self.assertGreater(powers.min(), 0.3)
        np.testing.assert_allclose(powers.mean(axis=(0, 2)), [2, 2, 10 / 3], rtol=0.2)

    def test_refuses(self):
        for arguments, text in (
            (dict(channels=0), "channels: 0"),
            (dict(products="V"), "products: 'V'"),
            (dict(nbits=16), "nbits: 16"),
            (dict(telescope="GBT"), "telescope: .GBT"),
            (dict(telescope=2**31), "telescope"),
            (dict(telescope=float("nan")), "telescope: nan"),
            (dict(level_integrations=1), "level_integrations"),
            (dict(beams=[]), "beams"),
            (dict(filename=""), "filename: '' is not allowed"),
            (dict(filename=5), "filename: 5 is not allowed; it must be the name of a file"),
            (dict(array=array_of("x")), "products: 'I'"),
            (dict(channels=2**30), "4 bytes = 12884901888"),
            (
                dict(
                    filename=str(self.folder / "{beam}"),
                    beams=[Beam("a b", 1.0, 1.0), Beam("a/b", 1.0, 1.0)],
                ),
                "no two beams have one file",
            ),
        ):
            with self.assertRaisesRegex(ValueError, text):
                filterbank_sink(
                    **{
                        "filename": str(self.path),
                        "array": array_of(),
                        "beams": BEAMS,
                        "channels": 4,
                        "products": "I",
                        **arguments,
                    }
                )
        with self.assertRaises(FileNotFoundError):
            filterbank_sink("/nowhere/a.fil", array_of(), BEAMS, 4, "I")
        self.path.write_text("old")
        with self.assertRaises(FileExistsError):
            filterbank_sink(str(self.path), array_of(), BEAMS, 4, "I", overwrite=False)
        filterbank_sink(str(self.path), array_of(), BEAMS, 4, "I")
        self.assertEqual(self.path.read_text(), "old")

    def test_two_writers(self):
        """The second one ends with an error that names the file, and leaves the first one's as it
        is."""
        first, second = 5 + self.powers(2, 50, 3, 1, 4)
        for name, nbits in (("{beam}.fil", 32), ("test.fil", 32), ("test.fil", 8)):
            path = str(self.folder / name)
            block = filterbank_sink(
                path, array_of(), BEAMS, 4, "I", nbits=nbits, level_integrations=40
            )

            class in_between(gr.sync_block):
                """Hands on, and in the middle lets another one try, twice: with 8 bits, once before
                and once after the levels are set."""

                def __init__(self):
                    gr.sync_block.__init__(
                        self, "in_between", [(np.float32, 12)], [(np.float32, 12)]
                    )
                    self.errors = []

                def work(self, inputs, outputs):
                    if self.nitems_read(0) in (25, 45):
                        comes_true(lambda: block.integrations() >= self.nitems_read(0))
                        other = run(second, tags_of(0), path, nbits=nbits)
                        self.errors.append((other.error(), other.integrations()))
                    count = min(len(outputs[0]), 5)
                    outputs[0][:count] = inputs[0][:count]
                    return count

            run = self.run_sink
            source = blocks.vector_source_f(first.ravel().tolist(), False, 12, tags_of(0))
            between = in_between()
            run_chain(source, between, block)
            self.assertIsNone(block.error())
            named = block.files()[0]
            self.assertEqual(
                between.errors,
                2
                * [
                    (
                        f"{named}: another program or block writes this file at the same time; "
                        "give it another name",
                        0,
                    )
                ],
            )
            header, data = read_filterbank(named)
            self.assertEqual(
                (header["nbits"], len(data)),
                (nbits, 50 * 4 * (1 if "{" in name else 3) * nbits // 8),
            )
            if nbits == 32:
                beams = first[:, :1] if "{" in name else first
                np.testing.assert_array_equal(np.frombuffer(data, "<f4"), beams[..., ::-1].ravel())
            # another sink may have a file that is closed
            self.assertIsNone(self.run_sink(second, tags_of(0), path, nbits=nbits).error())

    def test_nobody_else_while_it_takes_its_place(self):
        """The file of 32 bits is closed, and that of 8 is not in its place yet."""
        real, errors = os.replace, []

        def replace(old, new):
            if new == str(self.path):
                with mock.patch("os.replace", real):
                    errors.append(self.run_sink(items, tags_of(0)).error())
            real(old, new)

        items = 5 + self.powers(50, 3, 1, 4)
        with mock.patch("os.replace", replace):
            sink = self.run_sink(items, tags_of(0), nbits=8, level_integrations=40)
        self.assertIsNone(sink.error())
        self.assertEqual(len(errors), 1)
        self.assertRegex(errors[0], "another program or block writes this file")
        header, data = read_filterbank(self.path)
        self.assertEqual((header["nbits"], len(data)), (8, 50 * 12))

    def test_times_of_which_the_rotation_of_the_earth_is_not_known(self):
        for time, count in (((1893456000, 0.0), 1), ((1704067200, 0.0), 0)):
            with mock.patch.object(filterbank_sink, "logger", create=True) as log:
                self.run_sink(self.powers(5, 3, 1, 4), tags_of(0, time))
            found = [
                str(call) for call in log.warn.mock_calls if "rotation of the Earth" in str(call)
            ]
            self.assertEqual(len(found), count)
            self.assertTrue(all(str(self.path) in text for text in found))

    def test_full_disk(self):
        header = 400  # less than that
        limit = header + 50 * 48 + 20

        def in_a_child():
            # a limit on the size of a file acts as a full disk does
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            sink = self.run_sink(self.powers(20000, 3, 1, 4), tags_of(0))
            print(sink.error(), sink.integrations(), sep="\n", flush=True)

        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 1)
            try:
                in_a_child()
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as file:
            text = file.read()
        os.waitpid(child, 0)
        self.assertIn("test.fil: File too large", text)
        if self.path.exists():
            size = len(read_filterbank(self.path)[1])
            self.assertEqual(size % 48, 0)
            self.assertEqual(size // 48, int(text.splitlines()[-1]))

    def test_killed(self):
        self.check_killed("nbits=32")

    def test_killed_before_the_levels_are_set(self):
        self.check_killed("nbits=8, level_integrations=1 << 20")

    def check_killed(self, bits):
        progress = self.folder / "progress"
        script = f"""
from gnuradio.aperture.qa_filterbank_sink import *
top = gr.top_block()
sink = filterbank_sink({str(self.path)!r}, array_of(), BEAMS, 64, "I", {bits})

class endless(gr.sync_block):
    def __init__(self):
        gr.sync_block.__init__(self, "endless", None, [(np.float32, 192)])

    def work(self, inputs, outputs):
        if self.nitems_written(0) == 0:
            for tag in tags_of(0):
                self.add_item_tag(0, tag.offset, tag.key, tag.value)
        outputs[0][...] = np.arange(192)
        return len(outputs[0])

source, throttle = endless(), blocks.throttle(4 * 192, 1000)
top.connect(source, throttle, sink)
top.start()
progress = os.open({str(progress)!r}, os.O_WRONLY | os.O_CREAT)
while os.getppid() == {os.getpid()}:  # not for longer than the test
    os.pwrite(progress, b"%9d" % sink.integrations(), 0)
os._exit(1)
"""
        child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        self.addCleanup(child.kill)  # ends the child even if the test fails
        self.assertTrue(
            comes_true(
                lambda: (
                    child.poll() is not None
                    or (
                        self.path.exists()
                        and self.path.stat().st_size > 100000
                        and progress.exists()
                        and int(progress.read_text() or 0)
                    )
                ),
                pause=0.01,
            )
        )
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGKILL)
        child.wait()
        header, data = read_filterbank(self.path)
        # all that is there is whole samples
        samples = np.frombuffer(data[: len(data) // 768 * 768], "<f4").reshape(-1, 3, 64)[..., ::-1]
        self.assertGreater(len(samples), 100)
        # samples that work() has taken are there, up to the last call
        self.assertGreaterEqual(len(samples), int(progress.read_text()))
        self.assertTrue(np.all(samples.reshape(len(samples), -1) == np.arange(192)))
        file = FilterbankFile(self.path)
        self.assertEqual((file.samples, file.ifs), (len(samples), 3))

    def test_powers_that_are_no_numbers_do_not_set_levels(self):
        powers = self.powers(64, 1, 1, 3)[:, 0]
        expected = Levels.of(powers)
        for wrong in (np.nan, np.inf, -np.inf):
            spoilt = np.concatenate([powers, np.full((1, 1, 3), wrong)])
            found = Levels.of(spoilt)
            np.testing.assert_allclose(found.offset, expected.offset)
            np.testing.assert_allclose(found.step, expected.step)
            data = np.empty(spoilt.shape, np.uint8)
            found.write_bytes(spoilt, data)
            self.assertEqual(set(data[-1].ravel()), {255 if wrong == np.inf else 0})

    def test_names_that_are_not_ascii(self):
        """Others read ASCII only; files of those who wrote something else are read all the same."""
        for name, written in (
            ("Café Müller", "Cafe Muller"),
            ("Ω\u2728 1", "?? 1"),
            ("Ω" * 64, "?" * 64),
        ):
            header = header_bytes({"source_name": name})
            header.decode("ascii")  # blimpy needs ASCII
            self.assertIn(struct.pack("<i", len(written)) + written.encode(), header)
        needed = {"fch1": 1.0, "foff": -1.0, "nchans": 1, "nbits": 8, "nifs": 1, "tsamp": 1.0}
        for name, found in (("Café".encode(), "Café"), ("Café".encode("latin-1"), "Caf\ufffd")):
            header = header_bytes({"source_name": "?" * len(name), **needed})
            self.path.write_bytes(header.replace(b"?" * len(name), name))
            self.assertEqual(FilterbankFile(self.path).header["source_name"], found)

    def header(self, *entries):
        """The bytes of a header: (keyword, type, value), a string without a type."""

        def string(text):
            return struct.pack("<i", len(text)) + text.encode()

        return (
            string("HEADER_START")
            + b"".join(
                string(key)
                + (
                    string(value)
                    if kind is None
                    else struct.pack("<" + kind, value)
                    if kind
                    else b""
                )
                for key, kind, value in entries
            )
            + string("HEADER_END")
        )

    def test_headers_of_others(self):
        """Headers may have what SIGPROC's manual allows: an empty name, no nifs, npuls (a long), a
        table of frequencies instead of fch1 and foff, and numbers with a sign."""
        needed = [("nchans", "i", 4), ("nbits", "i", 8), ("tsamp", "d", 1e-3)]
        band = [("fch1", "d", 1500.0), ("foff", "d", -1.0)]
        ascending = np.array([1497.0, 1498.0, 1499.0, 1500.0]) * 1e6
        data = np.arange(-100, 100, dtype=np.int8).reshape(50, 4)

        def read_filterbank(*entries, content=data):
            self.path.write_bytes(self.header(*entries) + content.tobytes())
            return FilterbankFile(self.path)

        for more in (
            [("source_name", None, "")],
            [("nifs", "i", 1)],
            [("npuls", "q", 7)],
            [("npuls", "i", 7)],
            [("npuls", "q", 7), ("source_name", None, "")],
            [("npuls", "q", -1)],
            [("nbins", "i", 1)],
        ):
            with self.subTest(more=more):
                file = read_filterbank(*more, *needed, *band)
                np.testing.assert_allclose(file.frequencies, ascending)
                np.testing.assert_array_equal(file.read()[:, 0], data.view(np.uint8)[:, ::-1])
                for key, _kind, value in more:
                    self.assertEqual(file.header[key], value)
        table = [
            ("FREQUENCY_START", "", None),
            *(("fchannel", "d", 1500.0 - i) for i in range(4)),
            ("FREQUENCY_END", "", None),
        ]
        file = read_filterbank(*needed, *table)
        np.testing.assert_allclose(file.frequencies, ascending)
        np.testing.assert_array_equal(file.read()[:, 0], data.view(np.uint8)[:, ::-1])
        for wrong in ([*table[:3], *table[4:]], [*table[:2], *table[1:5]]):
            with self.assertRaisesRegex(ValueError, r"frequencies \(fchannel\) of 4 channels: "):
                read_filterbank(*needed, *wrong)
        for bits, kind in ((8, "i1"), (16, "<i2"), (32, "<f4")):
            values = np.arange(-100, 100).reshape(50, 4) * (1 if bits == 8 else 300)
            for signed in (1, 0):
                file = read_filterbank(
                    *needed,
                    *band,
                    ("nbits", "i", bits),
                    ("signed", "b", signed),
                    content=values.astype(kind),
                )
                right = values if signed or bits == 32 else values % 2**bits
                np.testing.assert_array_equal(file.read()[:, 0], right[:, ::-1])

    def test_reading(self):
        items = self.powers(20, 3, 1, 5)
        self.run_sink(items, tags_of(0))
        file = FilterbankFile(self.path)
        np.testing.assert_allclose(file.frequencies, 1e8 + (np.arange(5) - 2) * 2e5)
        np.testing.assert_array_equal(file.read(), items[:, :, 0])
        np.testing.assert_array_equal(file.read(3, 4), items[3:7, :, 0])
        mean, each = file.averaged(6)
        self.assertEqual((len(mean), each), (5, 4))
        np.testing.assert_allclose(mean, items.reshape(5, 4, 3, 5).mean(axis=1), atol=1e-6)
        header = header_bytes({"telescope_id": 5, "source_name": "A", "fch1": 1.0})
        for content, text in (
            (b"x" * 500, "not a filterbank"),
            (b"", "not a filterbank"),
            (header_bytes({"nbits": 8}), "lacks fch1"),
            *(
                (header[:size], "test.fil: the file ends within its header")
                for size in range(16, len(header))
            ),
        ):
            self.path.write_bytes(content)
            with self.assertRaisesRegex(ValueError, text):
                FilterbankFile(self.path)
        # 2**31 - 1 channels would be 16 GB of frequencies
        needed = {"fch1": 1.0, "foff": -1.0, "nchans": 1, "nbits": 8, "nifs": 1, "tsamp": 1.0}
        for key, value in (
            ("nchans", 2**31 - 1),
            ("nchans", 0),
            ("nifs", -1),
            ("nbits", 4),
            ("tsamp", 0.0),
            ("tsamp", np.nan),
            ("foff", 0.0),
            ("fch1", np.inf),
            ("tstart", -8e5),
        ):
            self.path.write_bytes(header_bytes({**needed, key: value}))
            with self.assertRaisesRegex(
                ValueError, f"{value} (bits|IFs|channels)|{key} is {value:g}[,:] "
            ):
                FilterbankFile(self.path)


if __name__ == "__main__":
    gr_unittest.run(qa_filterbank_sink)
