# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Recordings that packages of others decode: Mark 4, Mark 5B, GSB and Digital RF, against what
baseband reads of its own sample files, and what these packages' writers were given.
"""

import os
import unittest
import warnings
from fractions import Fraction

from places import enter_environment, fresh_folder, main

enter_environment("digitalrf", "formats")

import baseband.data as samples
import digital_rf
import numpy as np
from astropy import units as u
from astropy.time import Time
from baseband import gsb, mark4, mark5b

from gnuradio.aperture.commands import fx
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.parameters.times import exact, read_time, whole_and_fraction
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.mutilation import check_reader, mutilate
from gnuradio.aperture.testing.played_inputs import check_after, read_all
from gnuradio.aperture.testing.recordings import visibilities

# ERFA calls dates in the future dubious
warnings.simplefilter("ignore")

NEAR = Time("2015-01-01")
FRAME = 10016  # bytes of Mark 5B
PHASED = [name for pair in samples.SAMPLE_GSB_PHASED for name in pair]


def lost_in(tags, inputs, count):
    """Returns whether samples [time][input] are tagged as missing."""
    lost = np.zeros((count, inputs), bool)
    for offset, key, value in tags:
        if key == "missing":
            lost[value["first"] : value["first"] + value["count"], value["input"]] = True
            assert offset == value["first"]
    return lost


class TestPackaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("packaged")
        cls.rng = np.random.default_rng(531)

    def path(self, name):
        return str(self.folder / name)

    def check(self, text, stream, invalid=None):
        """Holds what an input sends against all that a stream reader of baseband has."""
        signals = open_input(text)
        found, tags = read_all(signals)
        with stream as file:
            expected = file.read()
            start, rate = file.start_time.copy(format="isot"), file.sample_rate.to_value("Hz")
        if signals.sample_type == "fc32":
            found = found.view(np.complex64)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
        start.precision = 9
        times = [value for _, key, value in tags if key == "rx_time"]
        self.assertEqual(len(times), 1)
        self.assertEqual(times[0][0] + exact(times[0][1]), read_time(start.value + "Z"))
        ((_, _, found_rate),) = [tag for tag in tags if tag[1] == "rx_rate"]
        self.assertAlmostEqual(found_rate / rate, 1, delta=1e-12)
        lost = lost_in(tags, signals.inputs, len(found))
        wanted = np.zeros_like(lost) if invalid is None else invalid
        np.testing.assert_array_equal(lost, np.broadcast_to(wanted, lost.shape))
        return signals

    def test_mark4(self):
        """The files of baseband; the headers' places are missing."""
        for name, channels, fanout in (
            ("MARK4", 8, 4),
            ("MARK4_16TRACK", 2, 4),
            ("MARK4_32TRACK", 4, 4),
            ("MARK4_32TRACK_FANOUT2", 8, 2),
            ("MARK4_64TRACK_FANOUT2_FT", 16, 2),
        ):
            with self.subTest(name=name):
                path = getattr(samples, f"SAMPLE_{name}")
                stream = mark4.open(path, "rs", ref_time=NEAR)
                header = np.arange(stream.shape[0]) % (20000 * fanout) < 160 * fanout
                signals = self.check(
                    f"mark4:{path},date=2015-01-01,freq=1.4GHz,inverted=no", stream, header[:, None]
                )
                self.assertEqual((signals.inputs, signals.sample_type), (channels, "f32"))
        stream = mark4.open(samples.SAMPLE_MARK4, "rs", ref_time=NEAR, subset=[5, 0])
        header = np.arange(stream.shape[0]) % 80000 < 640
        text = f"mark4:{samples.SAMPLE_MARK4},date=2014,channel=5+0,freq=0"
        check_after(self, self.check(text, stream, header[:, None]), 1, 79_999)

    def test_mark5b(self):
        path = samples.SAMPLE_MARK5B
        stream = mark5b.open(path, "rs", nchan=8, ref_time=NEAR)
        signals = self.check(f"mark5b:{path},date=2014,nchan=8,freq=1.4GHz", stream)
        self.assertEqual((signals.inputs, signals.sample_type), (8, "f32"))
        stream = mark5b.open(path, "rs", nchan=16, bps=1, ref_time=NEAR)
        self.check(f"mark5b:{path},date=2014-06-13,nchan=16,bps=1,rate=32MHz,freq=0", stream)

    def write_mark5b(self, name, data, begin):
        """A file of samples [time][channel] by baseband, from a frame of 2014-06-13 on."""
        time = Time("2014-06-13T05:30:01") + begin * (20000 / 8e6) * u.s
        with mark5b.open(
            self.path(name), "ws", sample_rate=8 * u.MHz, nchan=2, bps=2, time=time
        ) as file:
            file.write(data)
        with open(self.path(name), "rb") as file:
            return self.path(name), bytearray(file.read())

    def test_stations(self):
        """Two stations' files of Mark 5B, and one that continues the first: lined up, a frame that
        is lost and one that is marked as invalid missing."""
        # levels that come back as they are
        levels = np.array([-3.316505, -1, 1, 3.316505], np.float32)
        data = self.rng.choice(levels, (12 * 20000, 4))
        a, _ = self.write_mark5b("a.m5b", data[:80000, :2], 0)
        b, raw = self.write_mark5b("b.m5b", data[60000:200000, 2:], 3)
        c, _ = self.write_mark5b("c.m5b", data[80000:, :2], 4)
        self.assertEqual(len(raw), 7 * FRAME)
        raw[2 * FRAME + 16 : 3 * FRAME] = (0x11223344).to_bytes(4, "little") * 2500
        with open(b, "wb") as file:
            file.write(raw[: 4 * FRAME] + raw[5 * FRAME :])
        signals = open_input(f"mark5b:{a},{b},{c},date=2014,nchan=2,freq=0,rate=8e6")
        self.assertEqual((signals.inputs, signals.samples), (4, len(data)))
        self.assertIn("b.m5b: begins 7.5 ms after", " ".join(signals.warnings))
        self.assertIn("b.m5b: ends 5 ms before", " ".join(signals.warnings))
        expected, lost = data.copy(), np.zeros(data.shape, bool)
        for first, last in ((0, 3), (5, 6), (7, 8), (10, 12)):
            lost[20000 * first : 20000 * last, 2:] = True
        expected[lost] = 0
        found, tags = read_all(signals)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(lost_in(tags, 4, len(found)), lost)
        self.assertIn((0, "rx_time", (1402637401, 0.0)), tags)
        check_after(self, signals, 59_999, 210_001)
        slow = self.path("slow.m5b")
        with mark5b.open(
            slow, "ws", sample_rate=4 * u.MHz, nchan=2, bps=2, time=Time("2014-06-13T05:30:01")
        ) as file:
            file.write(data[:80000, :2])
        with self.assertRaisesRegex(
            ValueError, "slow.m5b: has a sample rate of 4000000 Hz, but .*a"
        ):
            open_input(f"mark5b:{a},{slow},date=2014,nchan=2,freq=0")

    def test_gsb(self):
        """Raw samples, and channels of a phased array, whose bands may fall."""
        header, data = samples.SAMPLE_GSB_RAWDUMP_HEADER, samples.SAMPLE_GSB_RAWDUMP
        raw = gsb.open(header, "rs", raw=data, samples_per_frame=8192)
        signals = self.check(f"gsb:{header},{data},frame=8192,freq=150MHz", raw)
        self.assertEqual((signals.sample_type, signals.channels), ("f32", 0))
        self.assertEqual(signals.description.name, "GMRT")
        header = samples.SAMPLE_GSB_PHASED_HEADER
        text = f"gsb:{','.join([header, *PHASED])},frame=8,freq=150MHz"
        phased = gsb.open(header, "rs", raw=samples.SAMPLE_GSB_PHASED, samples_per_frame=8)
        signals = self.check(text, phased)
        self.assertEqual((signals.sample_type, signals.channels, signals.inputs), ("fc32", 512, 2))
        whole, tags = read_all(signals)
        later, tags_later = read_all(signals.after(512 * 7))
        np.testing.assert_array_equal(later, whole[7:])
        (begin,), (time,) = (
            [value[0] + exact(value[1]) for _, key, value in each if key == "rx_time"]
            for each in (tags, tags_later)
        )
        width = Fraction(10**8, 6 * 2**22) * 8
        self.assertAlmostEqual(float(time - begin - 7 / width), 0, delta=1e-9)
        # some channels of a falling band, whose voltages are conjugated
        part = open_input(text + ",band=falling,inverted=yes", selected=(3, 9))
        found, _ = read_all(part)
        np.testing.assert_array_equal(found, whole[:, :, 508:501:-1] * [1, -1])
        center = 150e6 + (6 - 255.5) * float(width)
        self.assertAlmostEqual(part.center_frequency, center, delta=1e-6)
        # timestamps that jump: what is behind them has no place
        with open(header) as file:
            lines = file.read().splitlines()
        with open(self.path("jump.timestamp"), "w") as file:
            file.write("\n".join(lines[:4] + lines[6:]) + "\n2013")
        text = f"gsb:{','.join([self.path('jump.timestamp'), *PHASED])},frame=8,freq=150MHz"
        signals = open_input(text)
        self.assertEqual(signals.samples, 4 * 8 * 512)
        np.testing.assert_array_equal(read_all(signals)[0], whole[: 4 * 8])
        for said in (
            "its last line is cut off",
            "8 timestamps of frames",
            "timestamp 5 is 754.975 ms",
        ):
            self.assertIn(said, " ".join(signals.warnings))

    def test_correlated(self):
        """A phased array's channels, to visibilities: what NumPy makes of what baseband reads."""
        header = samples.SAMPLE_GSB_PHASED_HEADER
        with gsb.open(header, "rs", raw=samples.SAMPLE_GSB_PHASED, samples_per_frame=8) as file:
            data = file.read()
        text = f"gsb:{','.join([header, *PHASED])},frame=8,freq=150MHz"
        output = self.path("gsb.uvh5")
        code, _, err = observations.run(
            fx, *f"--device cpu --format fc32 --integration 2.5 --input {text} -o {output}".split()
        )
        self.assertEqual(code, 0, err)
        found = visibilities(output)
        hands = list(found["polarization_array"])
        count = int(2.5 * file.sample_rate.to_value("Hz"))
        for hand, p, q in ((-5, 0, 0), (-6, 1, 1), (-7, 0, 1)):
            expected = np.mean(data[:count, p].conj() * data[:count, q], axis=0)
            values = found["visdata"][0, 0, :, hands.index(hand)]
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-3)

    def write_digital_rf(self, channel, kind, parts, subchannels, is_complex, frequency=None):
        """A channel by the package, of parts (number of the first sample, samples); begins at
        1700000000 s."""
        folder = self.path(f"drf/{channel}")
        os.makedirs(folder)
        rate, first = (10**7, 3), 1700000000 * 10**7 // 3 + 1
        writer = digital_rf.DigitalRFWriter(
            folder,
            kind,
            3600,
            1000,
            first,
            *rate,
            "u",
            0,
            False,
            is_complex,
            subchannels,
            False,
            False,
        )
        for at, part in parts:
            writer.rf_write(part, at)
        writer.close()
        if frequency is not None:
            os.makedirs(folder + "/metadata")
            about = digital_rf.DigitalMetadataWriter(
                folder + "/metadata", 3600, 60, *rate, "metadata"
            )
            about.write(first, {"center_frequencies": np.array(frequency)})

    def test_digital_rf(self):
        """Channels and sub-channels of all kinds of samples, with gaps, at exact times."""
        rng, length = self.rng, 4000
        noise = rng.normal(size=(2 * length, 2, 2)).astype(np.float32)
        halves = [(0, noise[:length]), (length + 700, noise[length:])]
        as_complex = lambda part: np.ascontiguousarray(part).view(np.complex64)[..., 0]
        self.write_digital_rf(
            "c", np.complex64, [(at, as_complex(part)) for at, part in halves], 2, True, [1e9, 1e9]
        )
        shorts = rng.integers(-3000, 3000, (length, 2)).astype(np.int16)
        self.write_digital_rf("i", np.int16, [(50, shorts)], 1, True)
        later = rng.integers(-3000, 3000, (length, 2)).astype(np.int16)
        self.write_digital_rf("j", np.int16, [(0, later)], 1, True)
        real = rng.integers(0, 256, (length, 1)).astype(np.uint8)
        self.write_digital_rf("r", np.uint8, [(0, real)], 1, False)
        doubles = rng.normal(size=(length, 3))
        doubles[77, 1] = np.nan
        self.write_digital_rf("f", np.float64, [(0, doubles)], 3, False, [1e9, 2e9, 2e9])
        top = self.path("drf")
        signals = open_input(f"drf:{top},channel=c")
        self.assertEqual(
            (signals.sample_type, signals.inputs, signals.samples, signals.center_frequency),
            ("fc32", 2, 2 * length + 700, 1e9),
        )
        self.assertIn("700 samples are missing in 1 gap", " ".join(signals.warnings))
        found, tags = read_all(signals)
        expected = np.zeros(found.shape, np.float32)
        expected[:length], expected[length + 700 :] = noise[:length], noise[length:]
        np.testing.assert_array_equal(found, expected)
        lost = np.zeros((len(found), 2), bool)
        lost[length : length + 700] = True
        np.testing.assert_array_equal(lost_in(tags, 2, len(found)), lost)
        (time,) = [value for _, key, value in tags if key == "rx_time"]
        number = 1700000000 * 10**7 // 3 + 1
        self.assertEqual(time, whole_and_fraction(Fraction(number * 3, 10**7)))
        check_after(self, signals, 3999, 4100, 4700)
        # channels side by side
        signals = open_input(f"drf:{top},channel=i+j,freq=1GHz")
        found, tags = read_all(signals)
        self.assertEqual((signals.sample_type, signals.samples), ("sc16", length + 50))
        np.testing.assert_array_equal(found[50:, 0], shorts)
        np.testing.assert_array_equal(found[:length, 1], later)
        lost = np.zeros((length + 50, 2), bool)
        lost[:50, 0] = lost[length:, 1] = True
        np.testing.assert_array_equal(lost_in(tags, 2, len(found)), lost)
        # real samples stay real
        signals = open_input(f"drf:{top},channel=r,freq=1GHz")
        found, _ = read_all(signals)
        self.assertEqual(signals.sample_type, "s8")
        rounded = np.minimum(np.rint(real - 127.5), 127)
        np.testing.assert_array_equal(found.reshape(-1, 1), rounded)
        signals = open_input(f"drf:{top},channel=f,subchannel=2+1")
        found, tags = read_all(signals)
        self.assertEqual((signals.sample_type, signals.center_frequency), ("f32", 2e9))
        expected = doubles[:, 2:0:-1].astype(np.float32)
        lost = np.isnan(expected)
        np.testing.assert_array_equal(found.reshape(-1, 2), np.where(lost, 0, expected))
        np.testing.assert_array_equal(lost_in(tags, 2, length), lost)
        for options, said in (
            (",channel=c+i", "has samples of complex s16, but"),
            (",channel=c,subchannel=2", "there is no sub-channel 2: expected some of 0 to 1"),
            (",channel=x", "there is no channel x: expected some of c, f, i, j, r"),
            (",channel=f", "0: 1000000000 Hz, 1: 2000000000 Hz, 2: 2000000000 Hz"),
        ):
            with self.assertRaises(ValueError) as raised:
                open_input(f"drf:{top}{options}")
            self.assertIn(said, str(raised.exception))
        for path, said in (("/nowhere", "is no folder that is there"), (__file__, "is no folder")):
            with self.assertRaises(ValueError) as raised:
                open_input(f"drf:{path}")
            self.assertIn(said, str(raised.exception))

    def test_mutilated(self):
        """Files that are spoilt are read, or refused in a line."""
        rng, read = np.random.default_rng(53), 0
        with open(samples.SAMPLE_MARK5B, "rb") as file:
            data = file.read()
        path = self.path("spoilt.m5b")
        for number in range(60):
            frame = FRAME * int(rng.integers(0, 4)) if number % 2 else 0
            what, spoilt = mutilate(data[frame:], rng, 16)
            spoilt = data[:frame] + spoilt
            with open(path, "wb") as file:
                file.write(spoilt)
            text = f"mark5b:{path},date=2014,nchan=8,freq=0,rate=32e6"
            read += check_reader(self, lambda: open_input(text), path, spoilt, what)
        self.assertGreater(read, 15)

    def test_refusals(self):
        """Things that headers do not say have to be said, and what contradicts them is refused, in
        a line with what it is."""
        mark, five, vdif = samples.SAMPLE_MARK4, samples.SAMPLE_MARK5B, samples.SAMPLE_VDIF
        stamps, raw = samples.SAMPLE_GSB_RAWDUMP_HEADER, samples.SAMPLE_GSB_RAWDUMP
        phased = ",".join([samples.SAMPLE_GSB_PHASED_HEADER, *PHASED])
        with open(five, "rb") as file:
            data = file.read()
        with open(self.path("cut.m5b"), "wb") as file:
            file.write(data[:FRAME] + data[2 * FRAME :])
        for text, said in (
            (f"mark4:{mark}", "date is missing: Mark 4 has the last digit of the year only"),
            (f"mark4:{mark},date=2013", "date=2013, but what its header says is of 2014"),
            (f"mark4:{mark},date=2014,channel=8", "there is no channel 8: expected some of 0 to 7"),
            (
                f"mark4:{samples.SAMPLE_MARK4_32TRACK},date=2015",
                "channels 0+2 and 1+3 as different",
            ),
            (
                f"mark4:{vdif},date=2014",
                f"{vdif}: cannot be read as Mark 4: no header of a frame is found: it is of "
                "another kind",
            ),
            (f"mark4:{mark},date=2014,rate=16e6", "rate= says the right one"),
            (f"mark5b:{five},date=2014", "nchan is missing"),
            (f"mark5b:{five},nchan=8", "date is missing: Mark 5B has the last three digits"),
            (f"mark5b:{five},date=2014,nchan=6", "expected 12 bits of all channels to be 1, 2"),
            (f"mark5b:{five},date=2014,nchan=8,rate=16e6", "from 3e+07 to 3.75e+07"),
            # baseband takes the rate from the first two frames
            (f"mark5b:{self.path('cut.m5b')},date=2014,nchan=8", "from 3e+07 to 3.75e+07"),
            (f"mark5b:{mark},date=2014,nchan=8", "cannot be read as Mark 5B"),
            (f"gsb:{stamps}", "the file of timestamps first"),
            (f"gsb:{stamps},{raw}", "0 frames of 4194304 bytes"),
            (f"gsb:{stamps},{raw},frame=4096", "20 frames of 2048 bytes"),
            (f"gsb:{stamps},{raw},frame=8192,band=falling", "no channels"),
            (f"gsb:{phased},frame=8,rate=40Hz", "timestamps are 0.25165824 s apart, but"),
            (f"gsb:{phased},frame=8,nchan=300", "has 40960 bytes, 17 frames of 2400"),
            (f"gsb:{raw},{stamps}", "line 1 is no timestamp of GSB"),
        ):
            with self.subTest(text=text):
                with self.assertRaises((ValueError, RuntimeError)) as raised:
                    open_input(text)
                self.assertIn(said, str(raised.exception))
                self.assertNotIn("\n", str(raised.exception))


if __name__ == "__main__":
    main()
