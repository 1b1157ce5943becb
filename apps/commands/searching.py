#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The search for dispersed pulses in a plan: candidates that aperture_beams writes.

beam_power -> power_normalizer -> dedisperser -> pulse_search, whose messages go to candidate_sink
and, with --dump, to voltage_ring, which keeps the frames of the F-engine.
"""

import math
import os

from .. import dedisperser, power_normalizer, pulse_search, voltage_ring
from ..candidate_sink import candidate_sink
from ..streams.silent_block import silent
from ..transients.dispersion import channel_frequencies, delay
from ..transients.trials import plan_trials
from .running import CommandError
from .tables import seconds_text, with_prefix

SEGMENTS = 32
ITEM_SECONDS = 0.25  # dedispersed powers in an item, about
ITEM_BYTES = 1 << 26  # most of an item, unless decimations need more
PICTURE_BYTES = 1 << 32  # powers that are kept for pictures
MOST_DUMPS = 1000  # a recording waits for its dumps
#: field or option with the files of a ring -> field of a plan that has its length
OF_SECONDS = {"--dump": "search.dump_seconds", "ring.file": "ring.seconds"}
CANDIDATE_MARGIN = 0.5  # s, more than what a candidate has before its pulse


def candidates_name(options):
    """Returns the name of the table."""
    if options.candidates is not None:
        return options.candidates
    if options.output is not None:
        folder, name = os.path.split(os.path.splitext(options.output)[0])
        for part in ("-{beam}", "{beam}-", "{beam}"):
            name = name.replace(part, "")
        return os.path.join(folder, (name or "beams") + "-candidates.ecsv")
    return "candidates-{time}.ecsv"


def power_of_two(value):
    """The highest one that is not above it, at least 1."""
    return 1 << max(0, int(math.log2(max(1, value))))


class Searching:
    """The blocks of --search; rows: beams of the powers."""

    def __init__(self, options, plan, signals, array, rows):
        if options.products not in ("power", "I"):
            raise CommandError(f"--search: --products {options.products}: expected power or I")
        wanted = options.plan.search.wanted
        summed = options.sum_channels
        channels, width = plan.channels // summed, plan.sample_rate / plan.hop
        if signals.real:
            width = plan.sample_rate / 2 / plan.channels
        bandwidth = width * plan.channels
        # the middle channel of those that come out of beam_power
        shift = channels // 2 * summed + (summed - 1) / 2 - plan.channels // 2
        center = array.center_frequency + shift * width
        if not center - bandwidth / 2 > 0:
            raise CommandError(
                f"--search: the centre frequency is {center:g} Hz with a band of "
                f"{bandwidth:g} Hz; dispersion needs the true one"
            )
        time = plan.integration
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
            device=options.device,
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
            device=options.device,
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
        pictures = options.pictures
        self.notes = []
        if pictures and kept / time * rows * channels * 4 > PICTURE_BYTES:
            pictures = 0
            self.notes.append(
                f"no pictures: the powers of {seconds_text(kept)} are more than "
                f"{with_prefix(PICTURE_BYTES, 'B')}"
            )
        if plan.samples is not None and plan.samples / plan.sample_rate < self.sweep:
            self.notes.append(
                f"the input is shorter than the {seconds_text(self.sweep)} that "
                "pulses of the largest DM take through the band: nothing comes out"
            )
        self.table = silent(
            candidate_sink,
            filename=candidates_name(options),
            beams=rows,
            pictures=pictures,
            seconds=kept,
            overwrite=options.overwrite,
            wait=is_recording(signals),
            **band,
        )
        self._pictures = pictures > 0
        self.ring = None
        if options.dump is not None:
            kept_voltages = options.dump_seconds or kept
            # a recording comes as fast as it is read, and waits for the search and for the disk
            self._hold = is_recording(signals) and kept_voltages >= kept
            if is_recording(signals) and not self._hold:
                self.notes.append(
                    f"--dump-seconds {options.dump_seconds:g}: the search takes up to "
                    f"{seconds_text(kept)} to find a pulse, whose voltages may be overwritten then"
                )
            self.ring = make_ring(
                "--dump",
                options,
                plan,
                signals,
                array,
                filename=options.dump,
                seconds=kept_voltages,
                hold=self._hold,
                **(dict(queue=MOST_DUMPS) if self._hold else {}),
            )
            # a candidate comes when its pulse, and the baseline around it, have been searched
            behind = self.sweep + baseline + wanted.widest + 2 * times * time + CANDIDATE_MARGIN
            self.ring.follow(lambda: self.search.nitems_read(0) * times * time - behind)

    def connect(self, flowgraph, powers, frames):
        """Takes the powers of a block, and the frames of another."""
        flowgraph.connect(powers, self.normalizer, self.dedisperser, self.search)
        if self._pictures:
            flowgraph.connect(self.normalizer, self.table)
        flowgraph.msg_connect(self.search, "candidates", self.table, "candidates")
        if self.ring:
            flowgraph.connect(frames, self.ring)
            flowgraph.msg_connect(self.search, "candidates", self.ring, "trigger")

    def parts(self):
        """The blocks."""
        return [
            self.normalizer,
            self.dedisperser,
            self.search,
            self.table,
            *([self.ring] if self.ring else []),
        ]

    def last(self):
        """Returns the blocks that end last."""
        return self.search

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
            f"--dump: {lost} of {lost + counts['written']} dumps were not written"
            if lost
            else "--dump: not all dumps are complete"
        )
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return [f"{text}: {problems[0]}{more}"], self._hold


def is_recording(signals):
    """Returns whether an input is read as fast as others take it, and not when it comes."""
    return not signals.live and (not signals.endless or bool(signals.files))


def make_ring(option, options, plan, signals, array, filename, seconds, **more):
    """The voltage_ring that keeps the frames of an F-engine for so many seconds; option: that names
    its files; more: of its parameters."""
    rate = plan.sample_rate / plan.hop / plan.spectra_per_frame
    try:
        return silent_hier(
            voltage_ring,
            filename=filename,
            kind="inputs",
            type=options.format,
            channels=plan.channels,
            inputs=signals.inputs,
            spectra_per_frame=plan.spectra_per_frame,
            seconds=seconds,
            rate=rate,
            array=array,
            names=list(array.input_names),
            device=options.device,
            **more,
        )
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        if field == "size" and hasattr(options, "plan"):
            raise options.plan.error(OF_SECONDS[option], problem, shown=f"{seconds:g}") from None
        if field != "filename":
            raise
        raise CommandError(f"{option} {filename}: {problem}") from None


def silent_hier(make, **parameters):
    """Makes a block that is made of others as silent() does."""
    from gnuradio import gr

    gr.logging().set_default_level(gr.log_levels.off)
    try:
        return make(**parameters)
    finally:
        gr.logging().set_default_level(gr.log_levels.err)
