#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The search for dispersed pulses in beams.

beam_power -> power_normalizer -> dedisperser -> pulse_search, whose messages go to candidate_sink
and, where voltages are dumped, to voltage_ring, which keeps the frames of the F-engine.
"""

import math
import os

from .. import dedisperser, power_normalizer, pulse_search, references
from ..candidate_sink import candidate_sink
from ..streams.silent_block import silent
from ..transients.dispersion import channel_frequencies, delay
from ..transients.trials import plan_trials
from .units import seconds_text, with_prefix

SEGMENTS = 32
ITEM_SECONDS = 0.25  # dedispersed powers in an item, about
ITEM_BYTES = 1 << 26  # most of an item, unless decimations need more
PICTURE_BYTES = 1 << 32  # powers that are kept for pictures
MOST_DUMPS = 1000  # a recording waits for its dumps
CANDIDATE_MARGIN = 0.5  # s, more than what a candidate has before its pulse


def candidates_name(plan, stem):
    """Returns the name of the table; stem: of names, None where there is none."""
    if plan.search.candidates is not None:
        return plan.search.candidates
    if stem is None:
        return "candidates-{time}.ecsv"
    folder, name = os.path.split(stem)
    for part in ("-{beam}", "{beam}-", "{beam}"):
        name = name.replace(part, "")
    return os.path.join(folder, (name or "beams") + "-candidates.ecsv")


def power_of_two(value):
    """The highest one that is not above it, at least 1."""
    return 1 << max(0, int(math.log2(max(1, value))))


class Searching:
    """The blocks of the search in a PowerStream. make_ring(fields, seconds, **more) makes the ring
    of the voltages behind the powers, for dumps."""

    def __init__(self, plan, stream, make_ring=None):
        products, rows = stream.products, stream.rows
        if products not in ("power", "I"):
            called = plan.naming("beams.products")
            raise plan.error("search.trials", f"{called} {products}: expected power or I")
        wanted = plan.search.wanted
        channels, center, bandwidth = stream.channels, stream.center_frequency, stream.bandwidth
        if not center - bandwidth / 2 > 0:
            raise plan.error(
                "search.trials",
                f"the centre frequency is {center:g} Hz with a band of {bandwidth:g} Hz; "
                "dispersion needs the true one",
            )
        time = stream.time
        trials = plan_trials(
            wanted.dm,
            channels,
            center,
            bandwidth,
            time,
            tolerance=wanted.smearing,
            pulse_width=wanted.pulse_width,
        )
        self.trials = trials
        most = max(trials.decimations)
        times = min(
            power_of_two(ITEM_SECONDS / time), power_of_two(ITEM_BYTES / 4 / rows / len(trials))
        )
        times = max(times, most, 16)
        band = dict(
            channels=channels, center_frequency=center, bandwidth=bandwidth, sample_time=time
        )
        shared = dict(
            band,
            beams=rows,
            dms=trials.dms,
            decimations=trials.decimations,
            times_per_item=times,
            device=plan.device.first,
        )
        window = max(wanted.window, 8 * SEGMENTS * time)
        self.normalizer = silent(
            power_normalizer,
            channels=channels,
            beams=rows,
            sample_time=time,
            window=window,
            segments=SEGMENTS,
            cell_threshold=wanted.cells,
            channel_threshold=wanted.channels,
            spectrum_threshold=wanted.spectra,
            zero_dm=wanted.zero_dm,
            device=plan.device.first,
        )
        self.dedisperser = silent(dedisperser, **shared)
        baseline = max(wanted.baseline, 64 * time)
        self.search = silent(
            pulse_search,
            threshold=wanted.threshold,
            baseline=baseline,
            widest=int(min(4096, max(1, wanted.widest / time))),
            min_dm=wanted.min_dm,
            most_beams=wanted.most_beams,
            **shared,
        )
        # from a pulse at the top of the band to its message
        frequencies = channel_frequencies(channels, center, bandwidth)
        self.sweep = float(delay(max(trials.dms), frequencies[0], frequencies[-1]))
        late = 2 * self.sweep + window / SEGMENTS + 4 * times * time + baseline + wanted.widest
        kept = late + 2
        pictures = plan.search.pictures
        self.notes = []
        if pictures and kept / time * rows * channels * 4 > PICTURE_BYTES:
            pictures = 0
            self.notes.append(
                f"no pictures: the powers of {seconds_text(kept)} are more than "
                f"{with_prefix(PICTURE_BYTES, 'B')}"
            )
        if stream.seconds is not None and stream.seconds < self.sweep:
            self.notes.append(
                f"the input is shorter than the {seconds_text(self.sweep)} that "
                "pulses of the largest DM take through the band: nothing comes out"
            )
        self.table = silent(
            candidate_sink,
            filename=candidates_name(plan, stream.stem),
            beams=rows,
            pictures=pictures,
            seconds=kept,
            overwrite=plan.outputs.overwrite,
            wait=stream.recording,
            **band,
        )
        # a candidate comes when its pulse, and the baseline around it, have been searched
        behind = self.sweep + baseline + wanted.widest + 2 * times * time + CANDIDATE_MARGIN

        def searched():
            """The seconds of the stream before which no candidate asks for anything."""
            return self.search.nitems_read(0) * times * time - behind

        def powers_searched():
            """The same, as an item of the powers; None: nothing is searched any more."""
            done = references.ended(self.search)
            return None if done else searched() / time

        self.table.follow(powers_searched)
        self._pictures, self._name = pictures > 0, plan.naming("search.dump")
        self.ring = None
        if plan.search.dump is not None:
            kept_voltages = plan.search.dump_seconds or kept
            # a recording comes as fast as it is read, and waits for the search and for the disk
            self._hold = stream.recording and kept_voltages >= kept
            if stream.recording and not self._hold:
                self.notes.append(
                    f"{plan.naming('search.dump_seconds')} {kept_voltages:g}: the search takes up "
                    f"to {seconds_text(kept)} to find a pulse, whose voltages may be overwritten "
                    "then"
                )
            self.ring = make_ring(
                ("search.dump", "search.dump_seconds"),
                kept_voltages,
                hold=self._hold,
                **(dict(queue=MOST_DUMPS) if self._hold else {}),
            )
            self.ring.follow(searched)

    def connect(self, flowgraph, powers, frames=None):
        """Takes the powers of a block, and the frames of another where there are dumps."""
        flowgraph.connect(powers, self.normalizer, self.dedisperser, self.search)
        if self._pictures:
            flowgraph.connect(self.normalizer, self.table)
        flowgraph.msg_connect(self.search, "candidates", self.table, "candidates")
        if self.ring:
            flowgraph.connect(frames, self.ring)
            flowgraph.msg_connect(self.search, "candidates", self.ring, "trigger")

    @property
    def blocks(self):
        """Name -> block."""
        return {
            "normalizer": self.normalizer,
            "dedisperser": self.dedisperser,
            "search": self.search,
            "candidates": self.table,
            **({"dumps": self.ring} if self.ring else {}),
        }

    def text(self):
        """Returns what is searched for, for the lines at the start."""
        first, final = self.trials.dms[0], self.trials.dms[-1]
        return (
            f"{len(self.trials)} trials from DM {first:g} to {final:g} pc/cm^3, sweep of up "
            f"to {seconds_text(self.sweep)}"
        )

    def rows(self):
        """Returns rows of the table at the end."""
        counts = self.normalizer.counts()
        names = [("cells", "cell"), ("in channels", "channel"), ("in spectra", "spectrum")]
        flagged = ", ".join(f"{sum(counts[key])} {name}" for name, key in names)
        found = [
            ("flagged", f"{flagged}, of all beams"),
            ("search", self.text()),
            (
                "candidates",
                f"{self.table.candidates()} in {', '.join(self.table.files())}"
                + (f", {self.table.drawn()} with a picture" if self._pictures else ""),
            ),
        ]
        if self.ring:
            dumps = self.ring.counts()
            size = with_prefix(self.ring.bytes_written(), "B")
            found.append(
                (
                    "dumps",
                    f"{dumps['written']} written, {dumps['failed']} failed, "
                    f"{dumps['refused']} refused; {size}",
                )
            )
        return found

    def problems(self):
        """Returns the losses of the dumps: a text for the user, or none; and whether none may be
        lost."""
        problems = self.ring.problems() if self.ring else []
        if not problems:
            return [], False
        counts = self.ring.counts()
        lost = counts["failed"] + counts["refused"]
        text = (
            f"{lost} of {lost + counts['written']} dumps were not written"
            if lost
            else "not all dumps are complete"
        )
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return [f"{self._name}: {text}: {problems[0]}{more}"], self._hold
