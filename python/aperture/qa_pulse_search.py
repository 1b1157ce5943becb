#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""pulse_search against the best boxcar and the exact chances, in float64; times, beams, losses."""

import math
import re

import numpy as np
from gnuradio import aperture, blocks, gr_unittest

from gnuradio.aperture.testing import pulse_model, qa_tools
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, from_pmt, rx_time, seconds_between
from gnuradio.aperture.transients import dispersion

aperture = qa_tools.on_device(aperture)

SAMPLE_TIME = 2.0**-12
BAND = dict(channels=16, center_frequency=400e6, bandwidth=32e6)


class Search:
    """A flowgraph of one pulse_search and what it said."""

    def __init__(self, data, tags=None, **parameters):
        given = dict(BAND, sample_time=SAMPLE_TIME, threshold=8, baseline=4.0)
        self.parameters = dict(given, **parameters)
        self.block = aperture.pulse_search(**self.parameters)
        rate = 1 / (self.parameters["sample_time"] * self.parameters["times_per_item"])
        if tags is None:
            tags = [
                (0, "rx_time", rx_time(EPOCH, 0.25)),
                (0, "rx_rate", rate),
                (0, "rx_freq", 400e6),
                (0, "bandwidth", 32e6),
            ]
        self.graph = Flowgraph(self.block, [data], [], tags=[tags], chunks=3)
        self.ports = {}
        for port in ("candidates", "rejected"):
            self.ports[port] = blocks.message_debug()
            self.graph.top.msg_connect((self.block, port), (self.ports[port], "store"))

    def run(self):
        self.graph.run()
        return self.said("candidates")

    def said(self, port):
        debug = self.ports[port]
        return [from_pmt(debug.get_message(i)) for i in range(debug.num_messages())]


def noise(rng, values, level=1e4, rms=30.0):
    return level + rms * rng.standard_normal(values)


class qa_pulse_search(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(2003)

    def test_pulses_are_recovered(self):
        # all of 40 pulses of random widths with 95% of the S/N of the best boxcar of any width
        # and start, on the same data in float64; items of an odd number of values
        times, items = 3001, 90
        values = times * items
        begins = 8000 + 6400 * np.arange(40) + self.rng.integers(0, 2000, 40)
        widths = np.exp(self.rng.uniform(0, np.log(700), 40)).astype(int)
        exact = self.rng.standard_normal(values)
        for begin, width in zip(begins, widths):
            exact[begin : begin + width] += self.rng.uniform(12, 40) / math.sqrt(width)
        search = Search(
            pulse_model.items_of([[1e4 + 30 * exact]], times),
            dms=[20.0],
            times_per_item=times,
            baseline=10.0,
        )
        # bright ones are sent later, as wider boxcars could still belong to them
        found = sorted(search.run(), key=lambda c: c["time"])
        self.assertEqual(len(found), 40)
        top = dispersion.channel_frequencies(16, 400e6, 32e6)[-1]
        for candidate, begin, width in zip(found, begins, widths):
            low, high = begin - 400, begin + width + 400
            snr, _, end = pulse_model.best_boxcar(exact[low:high], 1000)
            self.assertGreater(candidate["snr"], 0.95 * snr, (begin, width))
            # sigma of 4e4 values is known to half a percent; three times that
            self.assertLess(candidate["snr"], 1.015 * snr)
            middle = (begin + width / 2) * SAMPLE_TIME - dispersion.delay(20.0, top)
            time = seconds_between(candidate["time"], (EPOCH, 0.25))
            self.assertAlmostEqual(time, middle, delta=(0.3 * width + 2) * SAMPLE_TIME)
            self.assertEqual((candidate["beam"], candidate["beams"]), (0, 1))
        self.assertEqual(search.block.left_out(), 0)
        # the search begins anew
        again = sorted(search.run()[40:], key=lambda c: c["time"])
        self.assertEqual([c["snr"] for c in again], [c["snr"] for c in found])

    def test_false_alarms(self):
        # 10^4 are expected of sums of powers, whose distribution is not symmetric; 5%. What is
        # counted are cells of one trial and width before any choice.
        shape, times, items = 64, 16384, 180
        values = self.rng.standard_gamma(shape, times * items)
        for threshold, widths in ((2.75, (1,)), (2.75, (1, 2, 3, 4))):
            search = Search(
                pulse_model.items_of([[values]], times),
                dms=[5.0],
                times_per_item=times,
                threshold=threshold,
                widest=widths[-1],
                growth=1.2,
                most_cells=1,
                baseline=10.0,
            )
            search.run()
            self.assertEqual(tuple(search.block.widths()), widths)
            for width, cells in zip(widths, search.block.cells()):
                expected = len(values) * pulse_model.chance(shape * width, threshold)
                self.assertGreater(expected, 9e3)
                self.assertAlmostEqual(cells / expected, 1, delta=0.05)
            self.assertGreater(search.block.left_out(), 1000)
            self.assertIn("left_out", [m["event"] for m in search.graph.messages()])

    def test_message(self):
        # exact times: of the middle at infinite frequency, and of the sweep through the band
        times = 1024
        series = np.stack([noise(self.rng, 40 * times // d) for d in (1, 1, 4)][:2])
        coarse = noise(self.rng, 40 * times // 4)
        coarse[5000:5010] += 30 * 12
        search = Search(
            pulse_model.items_of([[series[0], series[1], coarse]], times, [1, 1, 4]),
            dms=[0.0, 10.0, 56.75],
            decimations=[1, 1, 4],
            times_per_item=times,
            margin=0.125,
        )
        (found,) = search.run()
        self.assertRegex(found["id"], re.compile(r"^[A-Za-z0-9_-]{1,64}$"))
        self.assertEqual((found["dm"], found["width"]), (56.75, 10 * 4 * SAMPLE_TIME))
        self.assertAlmostEqual(found["snr"], 12 * math.sqrt(10), delta=2)
        f = dispersion.channel_frequencies(16, 400e6, 32e6)
        top = (5005 * 4) * SAMPLE_TIME  # the middle of the pulse at the highest channel
        infinite = top - dispersion.delay(56.75, f[-1])
        for key, expected in (
            ("time", infinite),
            ("start", infinite + dispersion.delay(56.75, f[-1] + 1e6) - 20 * SAMPLE_TIME - 0.125),
            ("end", infinite + dispersion.delay(56.75, f[0] - 1e6) + 20 * SAMPLE_TIME + 0.125),
        ):
            self.assertAlmostEqual(seconds_between(found[key], (EPOCH, 0.25)), expected, delta=1e-9)

    def test_pulse_at_the_end(self):
        # within the last values, which fill no group
        times = 1000
        values = noise(self.rng, 11 * times)
        values[-20:-10] += 30 * 12
        (found,) = Search(
            pulse_model.items_of([[values]], times), dms=[1.0], times_per_item=times
        ).run()
        self.assertEqual(found["width"], 10 * SAMPLE_TIME)

    def test_trials_of_a_pulse_are_one_candidate(self):
        # boxes of a pulse that other trials smear, as wide as the residual sweep
        times, trials = 2048, 41
        series = np.stack([noise(self.rng, 20 * times) for _ in range(trials)])
        for trial in range(trials):
            width = 6 + 5 * abs(trial - 20)
            begin = 20000 if trial <= 20 else 20006 - width
            series[trial, begin : begin + width] += 30 * 100 / width
        (found,) = Search(
            pulse_model.items_of([series], times),
            dms=np.linspace(0, 40, trials),
            times_per_item=times,
        ).run()
        self.assertEqual(found["dm"], 20.0)

    def test_between_trials(self):
        """
        A pulse of another dispersion measure than the trial's loses what theory says: the peak of
        what dedisperser gives is that of a Gaussian smeared by a uniform sweep (Cordes & McLaughlin
        2003, ApJ 596, 1142), and the S/N found is that of the best boxcar.
        """
        channels, times, top_dm, deviation, peak = 64, 1024, 30.0, 0.0022, 20.0
        band = dict(channels=channels, center_frequency=400e6, bandwidth=32e6)
        seconds = SAMPLE_TIME * np.arange(12 * times)
        f = dispersion.channel_frequencies(*band.values())
        sweep = dispersion.delay(1.0, f[0] - 0.25e6) - dispersion.delay(1.0, f[-1] + 0.25e6)
        zetas = np.array([0, 0.4, 0.8, 1.5, 3.0])
        dms = top_dm + zetas * math.sqrt(8) * deviation / sweep

        def profile(late):
            """The sum of the channels, each as late as given, in seconds, without noise."""
            return peak * sum(
                np.exp(-((seconds - 1.0 - each) ** 2) / 2 / deviation**2) for each in late
            )

        late = dispersion.delay(top_dm, f) - dispersion.delay(top_dm, f[-1])
        powers = np.stack([profile([each]) for each in late], axis=1)
        powers += self.rng.standard_normal(powers.shape)
        block = aperture.dedisperser(
            sample_time=SAMPLE_TIME, dms=list(dms), times_per_item=times, tolerance=0.5, **band
        )
        tags = [
            (0, "rx_time", rx_time(EPOCH)),
            (0, "rx_rate", 1 / SAMPLE_TIME),
            (0, "rx_freq", 400e6),
            (0, "bandwidth", 32e6),
        ]
        (data,), _ = qa_tools.run(
            block, [powers.astype(np.float32).view(np.uint8)], [4 * times * len(dms)], tags=[tags]
        )
        series = np.frombuffer(data.tobytes(), np.float32).reshape(-1, len(dms), times)
        series = series.swapaxes(0, 1).reshape(len(dms), -1)[:, : 10 * times].astype(float)
        for zeta, dm, values in zip(zetas, dms, series):
            theory = math.sqrt(math.pi) / 2 / zeta * math.erf(zeta) if zeta else 1.0
            # noise of 8 on a peak of 1280, delays rounded to 0.11 of the deviation, and a band
            # that is no narrow one: of 8%
            self.assertAlmostEqual(values.max() / (peak * channels), theory, delta=0.025)
            left = late - dispersion.delay(dm, f) + dispersion.delay(dm, f[-1])
            snr, width, _ = pulse_model.best_boxcar(profile(left) / math.sqrt(channels), 300)
            (found,) = Search(
                pulse_model.items_of([[values]], times), dms=[dm], times_per_item=times, **band
            ).run()
            # boxcars that are at most 1.1 times as wide as the one before
            self.assertGreater(found["snr"], 0.97 * snr)
            self.assertLess(found["snr"], 1.02 * snr)
            self.assertLess(abs(math.log(found["width"] / SAMPLE_TIME / width)), 0.2)

    def test_beams(self):
        # in beam 2 best; in five of six beams; at a small dispersion measure; in neighbours
        times = 1024
        series = np.stack([[noise(self.rng, 30 * times) for _ in range(2)] for _ in range(6)])
        series[1:4, 1, 5000:5010] += 30 * np.array([[5.0], [12.0], [5.0]])
        series[:5, 1, 15000:15010] += 30 * 6
        series[4, 0, 25000:25010] += 30 * 6
        data = pulse_model.items_of(series, times)
        search = Search(
            data,
            beams=6,
            dms=[1.0, 30.0],
            times_per_item=times,
            most_beams=4,
            min_dm=10.0,
            link_trials=1,
        )
        (found,) = search.run()
        self.assertEqual((found["beam"], found["beams"], found["dm"]), (2, 3, 30.0))
        rejected = search.said("rejected")
        self.assertEqual(
            [(c["reason"], c["beams"]) for c in rejected], [("many_beams", 5), ("low_dm", 1)]
        )
        self.assertEqual((search.block.candidates(), search.block.rejected()), (1, 2))
        # a row of beams: those within 1.5 degrees of the best one do not count
        positions = [x for beam in range(6) for x in (float(beam), 0.0)]
        search = Search(
            data,
            beams=6,
            dms=[1.0, 30.0],
            times_per_item=times,
            most_beams=1,
            positions=positions,
            neighbors=1.5,
        )
        self.assertEqual([c["beams"] for c in search.run()], [3, 1])
        self.assertEqual([c["beams"] for c in search.said("rejected")], [5])

    def test_missing_powers_make_no_candidates(self):
        # zeros within items, for longer than half of the window; items that did not come; what
        # is no number; and a pulse is found in between
        times, items = 1024, 60
        values = noise(self.rng, items * times)
        values[10000:10007] = np.nan
        values[12000] = np.inf
        values[12500] = -np.inf
        values[14000:14300] = 0
        values[20000:34567] = 0
        values[40000:40010] += 30 * 12
        data = pulse_model.items_of([[values]], times)
        rate = 1 / (SAMPLE_TIME * times)
        tags = [
            (0, "rx_time", rx_time(EPOCH)),
            (0, "rx_rate", rate),
            (45, "rx_time", rx_time(EPOCH, (45 + 8) / rate)),
        ]
        search = Search(data, tags, dms=[0.0], times_per_item=times, threshold=7)
        (found,) = search.run()
        time = seconds_between(found["time"], (EPOCH, 0))
        self.assertAlmostEqual(time, 40005 * SAMPLE_TIME, delta=2 * SAMPLE_TIME)

    def test_no_boxcar_reaches_across_a_loss(self):
        # half of a pulse before and half of another behind it
        times = 1024
        values = noise(self.rng, 20 * times)
        at = 10 * times
        values[at - 100 : at + 100] += 30 * 0.8  # S/N 8 each, 11.3 of both
        data = pulse_model.items_of([[values]], times)
        rate = 1 / (SAMPLE_TIME * times)
        tags = [
            (0, "rx_time", rx_time(EPOCH)),
            (0, "rx_rate", rate),
            (10, "rx_time", rx_time(EPOCH, 14 / rate)),
        ]
        (whole,) = Search(data, tags[:2], dms=[0.0], times_per_item=times, threshold=5.5).run()
        self.assertGreater(whole["snr"], 9)
        found = Search(data, tags, dms=[0.0], times_per_item=times, threshold=5.5).run()
        self.assertEqual(len(found), 2)
        self.assertGreater(seconds_between(found[1]["time"], found[0]["time"]), 4 / rate)

    def test_steps_and_drifts_of_the_baseline(self):
        # a level that walks by 5 rms in 30 windows, and an rms that doubles
        times, items = 2048, 120
        values = noise(self.rng, items * times)
        place = np.linspace(0, 1, len(values))
        values = 1e4 + (values - 1e4) * (1 + place) + 150 * place
        search = Search(
            pulse_model.items_of([[values]], times),
            dms=[0.0],
            times_per_item=times,
            threshold=7,
            baseline=2.0,
            widest=512,
        )
        self.assertEqual(search.run(), [])

    def test_refusals(self):
        for name, value in (
            ("threshold", 0),
            ("baseline", 0),
            ("widest", 5000),
            ("growth", 1.0),
            ("dms", []),
            ("decimations", [3]),
            ("times_per_item", 0),
            ("sample_time", 0.0),
            ("most_cells", 0),
            ("min_dm", -1.0),
            ("positions", [1.0]),
            ("link_time", -1.0),
            ("link_trials", 0),
            ("link_widths", 0.5),
            ("margin", math.nan),
            ("bandwidth", -1.0),
            ("center_frequency", 1.0),
            ("most_beams", -1),
            ("neighbors", -1.0),
            ("latency", 11.0),
            ("beams", 0),
        ):
            with self.assertRaisesRegex(ValueError, name):
                aperture.pulse_search(**{name: value})

    def test_tags_that_contradict_the_parameters(self):
        times = 256
        data = pulse_model.items_of([[noise(self.rng, 5 * times)]], times)
        rate = 1 / (SAMPLE_TIME * times)
        for tags, name in (
            ([(0, "rx_rate", 1.01 * rate)], "rx_rate"),
            ([(0, "rx_freq", 401e6)], "center_frequency"),
            ([(0, "bandwidth", 31e6)], "bandwidth"),
        ):
            search = Search(data, tags, dms=[0.0], times_per_item=times)
            search.run()
            self.assertIn(name, search.block.error())


if __name__ == "__main__":
    gr_unittest.run(qa_pulse_search)
