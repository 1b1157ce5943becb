# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings as inputs, written by the package sigmf; PSRDADA written by baseband; and a
thousand files of each format that are not as they should be."""

import json
import os
import shutil
import tarfile
import unittest

import numpy as np

from places import SOURCE, enter_environment, fresh_folder, main, run

enter_environment("formats")

import astropy.time
import astropy.units
import baseband.dada
import sigmf
from gnuradio import blocks, gr

from gnuradio.aperture import tags
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.mutilation import check_reader, mutilate
from gnuradio.aperture.testing.played_inputs import read_all
from gnuradio.aperture.testing.tiers import ALL

RATE, CENTER = 2.4e6, 1420.4e6
NEW_YEAR = 1704067200  # 2024-01-01T00:00:00Z


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = fresh_folder("inputs")
        self.rng = np.random.default_rng(7)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return str(self.folder / name)


class TestSigMF(InFolder):
    def write(self, name, data, datatype="ci8", captures=None, **part):
        """A recording; captures: of (first sample, metadata without core:)."""
        data.tofile(self.path(name + ".sigmf-data"))
        made = sigmf.SigMFFile(
            data_file=self.path(name + ".sigmf-data"),
            global_info={
                "core:datatype": datatype,
                "core:sample_rate": RATE,
                **{f"core:{key}": value for key, value in part.items()},
            },
        )
        for start, keys in captures or [
            (0, {"frequency": CENTER, "datetime": "2024-01-01T00:00:00.000000Z"})
        ]:
            made.add_capture(start, metadata={f"core:{key}": value for key, value in keys.items()})
        made.tofile(self.path(name + ".sigmf-meta"), overwrite=True)
        return self.path(name + ".sigmf-meta")

    def bytes_(self, *shape):
        return self.rng.integers(-127, 128, shape, np.int8)

    def open(self, *names, options=""):
        return open_input("sigmf:" + ",".join(names) + options)

    def edit(self, path, **changes):
        """Changes values in the metadata, of paths with dots; None removes."""
        with open(path) as file:
            tree = json.load(file)
        for key, value in changes.items():
            section, index, name = key.split("__")
            holder = tree[section] if section == "global" else tree[section][int(index)]
            if value is None:
                holder.pop("core:" + name, None)
            else:
                holder["core:" + name] = value
        with open(path, "w") as file:
            json.dump(tree, file)

    # ---- samples

    def test_types(self):
        """All types of SigMF, one and three channels, compared with what NumPy wrote."""
        for name in [
            f"{form}{kind}{size}{order}"
            for form in "cr"
            for kind, size in (
                ("i", 8),
                ("u", 8),
                ("i", 16),
                ("u", 16),
                ("i", 32),
                ("u", 32),
                ("f", 32),
                ("f", 64),
            )
            for order in (("_le", "_be") if size > 8 else ("",))
        ]:
            kind = np.dtype(
                (">" if name.endswith("be") else "<")
                + name[1]
                + str(int(name[2:].split("_")[0]) // 8)
            )
            for channels in (1, 3):
                with self.subTest(name=name, channels=channels):
                    shape = (1001, channels) + ((2,) if name[0] == "c" else ())
                    if kind.kind == "f":
                        data, offset = self.rng.normal(size=shape).astype(kind), 0
                    else:
                        limits = np.iinfo(kind)
                        data = self.rng.integers(
                            limits.min, limits.max, shape, np.int64, True
                        ).astype(kind)
                        offset = 2 ** (8 * kind.itemsize - 1) if kind.kind == "u" else 0
                    signals = self.open(self.write("a", data, name, num_channels=channels))
                    self.assertEqual(signals.inputs, channels)
                    self.assertEqual(signals.real, name[0] == "r")
                    self.assertEqual(signals.samples, 1001)
                    out, _ = read_all(signals)
                    expected = data.astype(np.float64) - offset
                    if name[1:] == "u8":  # the zero of receivers of 8 bits is 127.5
                        expected = np.minimum(np.rint(data - 127.5), 127)
                    np.testing.assert_array_equal(out, expected.astype(out.dtype))

    def test_two_receivers(self):
        """One recording an input; the second began 250 samples later."""
        a, b = self.bytes_(3000, 2), self.bytes_(3000, 2)
        late = f"2024-01-01T00:00:00.{round(250 / RATE * 1e15):015d}Z"
        signals = self.open(
            self.write("a", a),
            self.write("b", b, captures=[(0, {"frequency": CENTER, "datetime": late})]),
        )
        self.assertEqual((signals.inputs, signals.samples), (2, 3250))
        self.assertEqual((signals.sample_rate, signals.center_frequency), (RATE, CENTER))
        self.assertEqual(signals.start_time, (NEW_YEAR, 0.0))
        out, found = read_all(signals)
        expected = np.zeros((3250, 2, 2), np.int8)
        expected[:3000, 0], expected[250:, 1] = a, b
        np.testing.assert_array_equal(out, expected)
        self.assertEqual(
            sorted(
                (offset, value["input"], value["count"])
                for offset, key, value in found
                if key == tags.missing
            ),
            [(0, 1, 250), (3000, 0, 250)],
        )
        self.assertIn((0, tags.rx_freq, CENTER), found)
        self.assertIn("b.sigmf-meta: begins 104.167 µs after", "\n".join(signals.warnings))
        self.assertEqual(
            set(signals.files),
            {
                self.path(name + ending)
                for name in "ab"
                for ending in (".sigmf-meta", ".sigmf-data")
            },
        )

    def test_captures(self):
        """Gaps by times and by the receiver's count, header bytes, another frequency, a time that
        is rounded to microseconds."""
        data = self.bytes_(4000, 2)
        path = self.path("a.sigmf-data")
        with open(path, "wb") as file:
            file.write(
                b"h" * 7 + data[:1000].tobytes() + b"head" + data[1000:].tobytes() + b"tail!"
            )
        made = sigmf.SigMFFile(
            global_info={
                "core:datatype": "ci8",
                "core:sample_rate": RATE,
                "core:dataset": "a.sigmf-data",
                "core:trailing_bytes": 5,
            }
        )
        for start, keys in (
            (
                0,
                {"header_bytes": 7, "datetime": "2024-01-01T00:00:00.000000Z", "frequency": CENTER},
            ),
            # 1000 / 2.4e6 s to the microsecond, which is 1000.8 samples
            (
                1000,
                {
                    "header_bytes": 4,
                    "datetime": "2024-01-01T00:00:00.000417Z",
                    "global_index": 5000,
                },
            ),
            (2000, {"global_index": 6123}),
            (3000, {"datetime": "2024-01-01T00:00:00.00175Z"}),
            (3500, {"frequency": CENTER + 1e6}),
        ):
            made.add_capture(start, metadata={f"core:{key}": value for key, value in keys.items()})
        with open(self.path("a.sigmf-meta"), "w") as file:
            file.write(made.dumps())
        signals = self.open(self.path("a.sigmf-meta"))
        out, _ = read_all(signals)
        # 123 are lost by the count; 1.75 ms are 4200 samples
        expected = np.zeros((4700, 1, 2), np.int8)
        expected[:2000, 0] = data[:2000]
        expected[2123:3123, 0] = data[2000:3000]
        expected[4200:, 0] = data[3000:3500]
        np.testing.assert_array_equal(out, expected)
        text = "\n".join(signals.warnings)
        self.assertIn(
            "captures[4] is tuned to 1421400000 Hz, and not to 1420400000 Hz: its 500 "
            "samples are left out",
            text,
        )
        self.assertIn("a.sigmf-meta: 123 samples (51.25 µs) are missing before", text)

    def test_archives_and_collections(self):
        a, b = self.bytes_(1000, 2), self.bytes_(1000, 2)
        names = [self.write("a", a), self.write("b", b)]
        sigmf.fromfile(names[0]).archive(self.path("a.sigmf"), overwrite=True)
        signals = self.open(self.path("a.sigmf"), names[1])
        np.testing.assert_array_equal(read_all(signals)[0], np.stack([a, b], 1))
        collection = sigmf.SigMFCollection(["b.sigmf-meta", "a.sigmf-meta"], base_path=self.folder)
        collection.tofile(self.path("both"), overwrite=True)
        signals = self.open(self.path("both.sigmf-collection"))
        np.testing.assert_array_equal(read_all(signals)[0], np.stack([b, a], 1))
        self.assertEqual(len(signals.files), 5)
        os.rename(self.path("a.sigmf"), self.path("c.sigmf.gz"))
        with self.assertRaisesRegex(
            ValueError,
            "c.sigmf.gz: is a compressed archive, which has to be unpacked before: tar -xf",
        ):
            self.open(self.path("c.sigmf.gz"))

    def test_place(self):
        path = self.write("a", self.bytes_(100, 2))
        self.edit(path, global__0__geolocation={"type": "Point", "coordinates": [6.88, 50.52, 300]})
        signals = self.open(path)
        self.assertEqual(
            (
                signals.description.latitude,
                signals.description.longitude,
                signals.description.height,
            ),
            (50.52, 6.88, 300.0),
        )
        self.assertEqual(signals.warnings, [])

    def test_options(self):
        data = self.bytes_(1000, 2)
        path = self.write("a", data, captures=[(0, {})])
        with self.assertRaisesRegex(ValueError, r"captures\[0\].core:frequency is missing; freq="):
            self.open(path)
        os.utime(self.path("a.sigmf-data"), (NEW_YEAR + 1, NEW_YEAR + 1))
        signals = self.open(path, options=",freq=1e9,rate=1e3")
        self.assertEqual((signals.center_frequency, signals.sample_rate), (1e9, 1e3))
        self.assertEqual(signals.start_time, (NEW_YEAR, 0.0))
        signals = self.open(path, options=",freq=1e9,time=2024-01-01T00:00:02.5Z,inverted=yes")
        self.assertEqual(signals.start_time, (NEW_YEAR + 2, 0.5))
        np.testing.assert_array_equal(read_all(signals)[0][:, 0], data * np.array([1, -1]))
        self.open(path, options=",freq=1e9,sha512=check")
        data[0] += 1
        data.tofile(self.path("a.sigmf-data"))
        self.open(path, options=",freq=1e9")
        with self.assertRaisesRegex(ValueError, r"core:sha512 '\w+\.\.\.: must be that of the"):
            self.open(path, options=",freq=1e9,sha512=check")

    def test_errors(self):
        """Each names file, key, value and what is allowed."""
        other = self.write("b", self.bytes_(100, 2))
        for changes, problem in (
            (dict(global__0__datatype="ci12"), "global.core:datatype 'ci12': must be one of"),
            (dict(global__0__datatype=None), "global.core:datatype None: must be one of"),
            (dict(global__0__sample_rate=-1), "core:sample_rate -1: must be a number from 1"),
            (dict(global__0__sample_rate=None), "core:sample_rate is missing; rate= gives it"),
            (dict(global__0__sample_rate="2 MHz"), "core:sample_rate '2 MHz': must be a"),
            (dict(global__0__num_channels=0), "core:num_channels 0: must be a whole number"),
            (dict(global__0__num_channels=101), "have 200 bytes: at least one sample of 202"),
            (dict(global__0__dataset="../x"), "core:dataset '../x': must be the name of"),
            (
                dict(captures__0__datetime="today"),
                r"captures\[0\].core:datetime 'today': must "
                "be UTC as 2024-",
            ),
            (dict(captures__0__sample_start=-1), "core:sample_start -1: must be a whole"),
            (dict(captures__0__frequency=1e99), r"core:frequency 1e\+99: must be a number"),
            (dict(captures__0__header_bytes=True), "core:header_bytes True: must be a whole"),
            (
                dict(captures__0__datetime=None),
                r"a.sigmf-meta: captures\[0\].core:datetime is "
                "missing, and .*b.sigmf-meta has one: they cannot be lined up; time= says",
            ),
            (
                dict(global__0__sample_rate=1e6),
                "b.sigmf-meta: has a sample rate of 2400000 Hz, but .*a.sigmf-meta has 1000000 Hz",
            ),
        ):
            with self.subTest(changes=changes):
                path = self.write("a", self.bytes_(100, 2))
                self.edit(path, **changes)
                with self.assertRaisesRegex(ValueError, problem) as caught:
                    self.open(path, other)
                self.assertIn(".sigmf-meta: ", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "x.wav: expected the name of a file that ends in"):
            self.open("x.wav")
        with self.assertRaises(FileNotFoundError):
            self.open(self.path("absent.sigmf-meta"))

    def test_recordings_made_apart(self):
        """Lined up by what they have in common, as files without metadata are."""
        later, count = 31234, 200000
        sky = self.rng.integers(-50, 51, (count + later, 2))
        for name, start, date in (("a", 0, "2024-01-01"), ("b", later, "2023-12-31")):
            own = self.rng.integers(-50, 51, (count, 2))
            data = (sky[start : start + count] + own).astype(np.int8)
            capture = {"frequency": CENTER, "datetime": f"{date}T00:00:00.000000Z"}
            self.write(name, data, captures=[(0, capture)])
        names = [self.path(f"{name}.sigmf-meta") for name in "ab"]
        options = ",align=correlation,most_offset=0.02,search=0.04"
        signals = self.open(*names, options=options)
        self.assertEqual((signals.ports, signals.start_time), (2, (NEW_YEAR, 0.0)))
        top, source = gr.top_block(), signals.source(0)
        for port in range(2):
            top.connect((source, port), blocks.null_sink(2))
        top.run()
        self.assertAlmostEqual(source.states()[1].offset, later, delta=0.05)
        with self.assertRaisesRegex(ValueError, "clock_error belongs to align=correlation"):
            self.open(*names, options=",clock_error=1")

    def test_command(self):
        """aperture_fx as a user has it: it enters the environment by itself."""
        for name in "ab":
            self.write(name, self.bytes_(200000, 2))
        output = self.path("x.uvh5")
        text = f"sigmf:{self.path('a.sigmf-meta')},{self.path('b.sigmf-data')}"
        code, shown = run(SOURCE / "tools/run", "aperture_fx", "--input", text, "-o", output)
        self.assertEqual(code, 0, shown)
        self.assertIn("inputs        2: A1x, A2x", shown)
        code, shown = run(
            SOURCE / "tools/run",
            "aperture_fx",
            "--input",
            text,
            "-o",
            output,
            env={**os.environ, "APERTURE_VENV": "/nowhere"},
        )
        self.assertEqual(code, 1)
        self.assertRegex(
            shown,
            r"^aperture_fx: error: this needs sigmf from PyPI: "
            r"tools/setup --with formats installs it\n$",
        )

    def test_flowgraph(self):
        """A flowgraph is no command of ours: it runs in the system's Python, and imports what it
        lacks from the environment, behind the system's packages."""
        for name in "ab":
            self.write(name, self.bytes_(3000, 2))
        script = self.path("flowgraph.py")
        with open(script, "w") as file:
            file.write(f"""
import sys
from gnuradio import aperture, blocks, gr
source = aperture.input_source("sigmf:{self.path("a.sigmf-meta")},{self.path("b.sigmf-meta")}",
                               type="sc8", inputs=2)
sink = blocks.null_sink(4)
top = gr.top_block()
top.connect(source, sink)
top.run()
import numpy
print(sys.prefix, sink.nitems_read(0), numpy.__file__.startswith("/usr/lib"))
""")
        code, shown = run(SOURCE / "tools/run", "/usr/bin/python3", script)
        self.assertEqual(code, 0, shown)
        self.assertEqual(shown.splitlines()[-1], "/usr 3000 True")

    def test_beams(self):
        """aperture_beams takes recordings too, with an array that says where antennas are."""
        for name in "ab":
            self.write(name, self.bytes_(200000, 2))
        code, shown = run(
            SOURCE / "tools/run",
            "aperture_beams",
            "--input",
            f"sigmf:{self.path('a.sigmf-meta')},{self.path('b.sigmf-meta')}",
            "--array",
            "two-dish",
            "--beams",
            "grid:az=180,el=60",
            "--channels",
            "64",
            "-o",
            self.path("x.fil"),
        )
        self.assertEqual(code, 0, shown)
        self.assertGreater(os.path.getsize(self.path("x.fil")), 1000)

    def test_what_is_read_is_not_replaced(self):
        """Neither metadata nor samples."""
        meta = self.write("a", self.bytes_(3000, 2))
        for ending in (".sigmf-meta", ".sigmf-data"):
            os.symlink(self.path("a" + ending), self.path("x.uvh5"))
            code, shown = run(
                SOURCE / "tools/run",
                "aperture_fx",
                "--input",
                f"sigmf:{meta}",
                "-o",
                self.path("x.uvh5"),
            )
            self.assertEqual(code, 1)
            self.assertIn("x.uvh5: is the file that --input names, and would be replaced", shown)
            os.remove(self.path("x.uvh5"))


class TestDada(InFolder):
    def test_written_by_baseband(self):
        """Two polarisations of 8 bits, as baseband writes them."""
        values = self.rng.integers(-127, 128, (16000, 2, 2))
        path = self.path("a.dada")
        with baseband.dada.open(
            path,
            "ws",
            header0=baseband.dada.DADAHeader.fromvalues(
                time=astropy.time.Time("2024-01-01T00:00:00"),
                bps=8,
                complex_data=True,
                sample_shape=(2, 1),
                sample_rate=16 * astropy.units.MHz,
                sideband=True,
                samples_per_frame=16000,
                FREQ=1400.5,
                BW=16.0,
                TELESCOPE="Effelsberg",
            ),
        ) as writer:
            writer.write((values[..., 0] + 1j * values[..., 1]).astype(np.complex64))
        signals = open_input("dada:" + path)
        self.assertEqual((signals.inputs, signals.samples, signals.sample_type), (2, 16000, "sc8"))
        self.assertEqual((signals.sample_rate, signals.center_frequency), (16e6, 1400.5e6))
        self.assertEqual(signals.start_time, (NEW_YEAR, 0.0))
        np.testing.assert_array_equal(read_all(signals)[0], values)


class TestMutilated(InFolder):
    """A thousand spoilt files of each format, always the same ones; in the quick tier the first of
    them."""

    COUNT = 1000 if ALL else 200

    def check(self, name, good, text, header):
        """Checks readers with damaged files. good: bytes; text: of the input; header: bytes of a
        header. Some can be read."""
        rng = np.random.default_rng(len(good))
        read = 0
        for number in range(self.COUNT):
            what, data = mutilate(good, rng, header)
            with open(self.path(name), "wb") as file:
                file.write(data)
            read += check_reader(
                self, lambda: open_input(text), self.path(name), data, f"{number}: {what}"
            )
        self.assertGreater(read, self.COUNT // 20)
        self.assertLess(read, self.COUNT)

    def samples(self, count):
        return self.rng.integers(-127, 128, count, np.int8).tobytes()

    def test_raw(self):
        path = self.path("a.bin")
        good = b"HEAD".ljust(64, b".") + self.samples(4096)
        self.check(
            "a.bin",
            good,
            f"raw:{path},type=sc16,inputs=3,skip=64,rate=1e6,freq=1e9,time=1704067200",
            64,
        )

    def test_dada(self):
        header = (
            "HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nFREQ 1400.5\nBW 16\nTSAMP 0.0625\n"
            "NBIT 8\nNDIM 2\nNPOL 2\nNCHAN 1\nUTC_START 2020-02-29-23:59:59\nMJD_START "
            "58908.999988425925926\nOBS_OFFSET 6400\nFILE_SIZE 4000\nTELESCOPE Effelsberg\n"
        )
        good = header.encode().ljust(4096, b"\0") + self.samples(4000)
        self.check("a.dada", good, f"dada:{self.path('a.dada')}", len(header))

    def test_sigmf(self):
        """Metadata, with good samples beside them."""
        with open(self.path("a.sigmf-data"), "wb") as file:
            file.write(self.samples(4000))
        made = sigmf.SigMFFile(
            global_info={
                "core:datatype": "ci16_le",
                "core:sample_rate": RATE,
                "core:num_channels": 2,
                "core:geolocation": {"type": "Point", "coordinates": [6.88, 50.52, 300]},
            }
        )
        for start, seconds in ((0, 0), (200, 0.5)):
            made.add_capture(
                start,
                metadata={
                    "core:datetime": f"2024-01-01T00:00:0{seconds}Z",
                    "core:frequency": CENTER,
                    "core:global_index": start,
                },
            )
        self.check(
            "a.sigmf-meta", made.dumps().encode(), f"sigmf:{self.path('a.sigmf-meta')}", None
        )

    def test_sigmf_archive(self):
        """Headers of the archive, metadata and samples in one file."""
        with open(self.path("a.sigmf-data"), "wb") as file:
            file.write(self.samples(4000))
        made = sigmf.SigMFFile(
            data_file=self.path("a.sigmf-data"),
            global_info={"core:datatype": "ci8", "core:sample_rate": RATE},
        )
        made.add_capture(
            0, metadata={"core:datetime": "2024-01-01T00:00:00Z", "core:frequency": CENTER}
        )
        made.archive(self.path("a.sigmf"), overwrite=True)
        with open(self.path("a.sigmf"), "rb") as file:
            good = file.read()
        with tarfile.open(self.path("a.sigmf")) as archive:
            self.assertEqual(len(archive.getmembers()), 3)
        self.check("a.sigmf", good, f"sigmf:{self.path('a.sigmf')}", 4096)


if __name__ == "__main__":
    main()
