#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that writes folded profiles into PSRFITS files."""

import contextlib
import time as host

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .files.file_names import TIME, check_different, check_fields, check_text, name_text, names_at
from .files.growing_file import check_path, file_name
from .files.roll_over import RollingSink, RollOver
from .folder import phase_segments
from .formats.psrfits.profiles import write_profiles
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number, item_bytes, refuse
from .parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD
from .pointing import ZENITH, as_beams, looking_at
from .power_file_sink import PRODUCTS, row_names
from .streams.python_block import printable, python_block, text_of
from .streams.settings import DIRECTIONS, HeldSettings
from .streams.tag_values import dict_value, require, tag_value, time_of
from .tracking.directions import icrs
from .transients.dispersion import channel_frequencies
from .transients.folding import FoldedProfiles
from .transients.par_file import TimingModel, read_par

LARGEST_FILES = 1 << 32  # bytes of profiles that are held
FILE_BYTES = 6  # size of a bin in a file: 16 bits, and a count
WRITE_INTERVAL = 30.0  # s, of the host's clock
MOST_WRITING = 0.05  # part of the host's time, where files are rewritten


class psrfits_sink(RollingSink, python_block):
    """
    Writes folded profiles into PSRFITS files, in fold mode, which PSRCHIVE and PyPulse read.

    In: the two outputs of `folder`, profiles and counts, `[beam][product][channel][bin]` of f32
    and u32, one item a sub-integration, with the tags rx_time, rx_freq, bandwidth and `folded`.

    There is a file for each beam: {beam} in the name becomes that of the beam, and must be there
    where there are several. {time} becomes the rx_time of the first sub-integration. The time of a
    sub-integration in the file is the one nearest to its middle at which the model's phase is a
    whole number of revolutions. Channels are not lined up; the file says with which DM they would
    be. The formats of what is in the file are in docs/pulsars.md.

    Profiles are kept in memory (4 GiB at most), and the files are written anew every 30 s, less
    often where that takes longer than 1.5 s, and at the end: a process that is killed loses what
    came since. A file is replaced when the new one is whole.

    With {time} in the name new files begin before that memory is used up, where the frequency or a
    setting changes (where beams look, gains, delays, weights, as the tag `settings` tells them, see
    docs/tags.md), and by time, by size and when it is asked for (`set_roll_over()`,
    `roll_over()`); without it other frequencies and directions, and memory that is used up, end the
    flowgraph with an error. HISTORY of the primary header lists the settings, each with its time.

    An error (a tag that is missing, a full disk) is logged, ends the flowgraph, and is given by
    `error()`.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "The files to be written, such as `{beam}-{time}.fits`."
        ) = "pulsar-{time}.fits",
        array: Text(
            "An array description, or the file or shipped name of one: the site."
        ) = "two-dish",
        beams: Anything(
            "Of `aperture.Beam`, or of dictionaries as in a file of beams (see `pointing`)."
        ) = ZENITH,
        channels: Integer("Channels and bins of an item.", 1, 2**31 - 1) = 1024,
        bins: Integer("Channels and bins of an item.", 2, 65536) = 128,
        products: Text(
            "power, I, IQUV or coherency, as in the power detector.", *PRODUCTS
        ) = "power",
        source: Text("The pulsar's name; empty: that of the .par file, or of the beam.") = "",
        dm: Anything("pc/cm^3; None: that of the .par file, or 0.") = None,
        par: Anything(
            "a .par file, a transients.par_file.TimingModel, or a list of "
            "transients.phase_model.Segment, in the place of the period; None: the period"
        ) = None,
        period: Number("seconds, at the telescope") = 1.0,
        period_derivative: Number("seconds a second", -0.001, 0.001) = 0.0,
        epoch: Anything(
            "UTC since 1970, of period and phase: a number or (whole seconds, fraction)"
        ) = (0, 0.0),
        phase: Number("turns at the epoch", -1000000000000000.0, 1000000000000000.0) = 0.0,
        start_time: Anything(
            "UTC since 1970 from which on a .par file's model is computed; None: an hour ago"
        ) = None,
        hours: Number("how long; what comes outside of it ends the flowgraph") = 24.0,
        overwrite: Switch(
            "True if existing files are replaced, or with {time} in the name get neighbours with "
            "-2 behind their time; if not, they are refused."
        ) = True,
        rows: Anything("If given, how many beams an item must have.") = None,
    ):
        array = load_array(array)
        check_text("source", source)
        if par is not None and par != "" and not isinstance(par, (list, tuple, TimingModel)):
            par = read_par(par)
        model = par if isinstance(par, TimingModel) else None
        #: the model whose dispersion measure is that of the day on which a file begins
        self._model = model if dm is None else None
        if dm is None:
            dm = model.dm if model else 0.0
        self._segments = phase_segments(
            par, period, period_derivative, epoch, phase, array, start_time, hours
        )
        self._array, self._dm = array, as_number("dm", dm, 0, 1e6, "pc/cm^3")
        self._source = source or (model.name if model else "")
        self._direction = (model.ra, model.dec) if model else None
        self._beams = as_beams(array, beams, host.time())
        self._names = row_names(array, self._beams, products)
        if rows is not None and rows != len(self._names):
            refuse("rows", rows, f"{len(self._names)}: as many beams of {products} as there are")
        self._products, self._held = products, HeldSettings()
        self._shape = (len(self._names), len(PRODUCTS[products]), int(channels), int(bins))
        axes = dict(zip(("beams", "products", "channels", "bins"), self._shape))
        size = item_bytes("bins", 4, **axes) // 4
        self._pattern, self._overwrite = file_name(filename), overwrite
        self._roll = RollOver(self._pattern)
        check_fields(self._pattern, ("beam", "time"))
        if len(self._names) > 1 and "{beam}" not in self._pattern:
            refuse(
                "filename",
                filename,
                f"a name with {{beam}} in it: there is a file for each of {len(self._names)} beams",
            )
        self._start()
        check_different(filename, self._paths, "beams")
        for path in self._paths:
            check_path(path, overwrite)
        super().__init__(
            "psrfits_sink", out_sig=None, in_sig=[(np.float32, size), (np.uint32, size)]
        )

    def files(self):
        """The paths, one for each beam, and again where new files have begun; with {time} in them
        until the first sub-integration."""
        return self._ended + self._paths

    def subintegrations(self):
        """Returns how many have come."""
        return self._before + len(self._times)

    def profiles(self, beam=0):
        """Returns what is in the newest file of a beam (its number), FoldedProfiles; None before
        the first sub-integration."""
        if not self._times:
            return None
        return FoldedProfiles(
            powers=np.array([item[beam] for item in self._powers]),
            counts=np.array([item[beam] for item in self._counts]),
            times=list(self._times),
            lengths=np.array(self._lengths),
            frequencies=np.array(self._frequencies),
            channels=self._channels,
            dm=self._dm,
            source=self._source or self._beam(beam).name,
            beam=self._names[beam],
            products=(self._products,),
            segments=self._segments,
            start=self._begin,
        )

    # ---- inside

    def _ended_files(self):
        return self._ended

    def _start(self):
        self._patterns = [self._pattern.replace("{beam}", name_text(name)) for name in self._names]
        self._ended, self._before, self._last = [], 0, {}
        self._next_write, self._unwritten = host.monotonic() + WRITE_INTERVAL, False
        self._empty()

    def _empty(self):
        """Begins files without sub-integrations."""
        self._paths = list(self._patterns)
        self._powers, self._counts, self._times = [], [], []
        self._lengths, self._frequencies = [], []
        self._channels = self._begin = None
        self._history = []  # settings that hold in these files

    def _stop(self):
        if not self._unwritten:
            return
        # sub-integrations from before an error are kept, if that is not one of the disk
        with contextlib.nullcontext() if self.error() is None else contextlib.suppress(OSError):
            self._write()

    def _say(self, error):
        named = isinstance(error, OSError) and error.filename is not None
        return text_of(error) if named else printable(f"{self._paths[0]}: ") + text_of(error)

    def _work(self, input_items, output_items):
        count = min(len(items) for items in input_items)
        found = self.tags_by_item(0, count)
        for item in range(count):
            self._take(
                found.get(item, {}), *(items[item].reshape(self._shape) for items in input_items)
            )
        if count and host.monotonic() > self._next_write:
            self._write()
        return count

    def _take(self, here, powers, counts):
        number = lambda key: tag_value(
            here, key, pmt.to_double, self._last, sender="folder", of="a sub-integration"
        )
        if not self._last:
            require(
                here,
                (tags.rx_time, tags.rx_freq, tags.bandwidth, "folded"),
                "folder",
                of="sub-integration",
            )
        for key in (tags.rx_freq, tags.bandwidth):
            self._last[key] = number(key)
        channels = channel_frequencies(
            self._shape[2], self._last[tags.rx_freq], self._last[tags.bandwidth]
        )
        time = tag_value(here, tags.rx_time, time_of, sender="folder", of="a sub-integration")
        folded = tag_value(here, "folded", dict_of, sender="folder", of="a sub-integration")
        news = self._held.take(here)
        turned = self._turned(news)
        is_set = bool(turned) or any(setting.kind != DIRECTIONS for setting in news)
        if self._times and self._are_full(time, channels, folded["length"], powers, is_set, turned):
            if self._unwritten:
                self._write()
            self._ended += self._paths
            self._before += len(self._times)
            self._empty()
        self._history = self._held.lines()
        if turned:
            self._look_at(turned)
        if self._begin is None:
            self._begin, self._channels = time, channels
            if self._model:
                self._dm = self._model.dm_at(UNIX_EPOCH_MJD + time[0] / SECONDS_PER_DAY)
            self._paths = names_at(self._patterns, time[0], self._ended, self._overwrite)
            for path in self._paths:
                check_path(path, self._overwrite)
            self._roll.begun()
        # back to where the phase is whole, by less than half of a revolution
        cycles = folded["phase"] - round(folded["phase"])
        fraction = folded["middle"][1] - cycles / folded["frequency"]
        self._times.append(
            (folded["middle"][0] + int(np.floor(fraction)), float(fraction - np.floor(fraction)))
        )
        self._lengths.append(folded["length"])
        self._frequencies.append(folded["frequency"])
        self._powers.append(powers.copy())
        self._counts.append(counts.copy())
        self._unwritten = True

    def _turned(self, news):
        """Beams that look elsewhere, as settings say; None: they do not."""
        beams = self._beams
        for setting in news:
            if setting.kind == DIRECTIONS:
                beams = looking_at(beams, setting.value[tags.directions])
        same = all(one.same_as(other) for one, other in zip(beams, self._beams, strict=True))
        return None if same else beams

    def _look_at(self, beams):
        """Takes beams that look elsewhere, for files without sub-integrations."""
        self._beams, self._direction = beams, None
        names = row_names(self._array, beams, self._products)
        if len(set(names)) == len(names):
            self._names = names
            self._paths = self._patterns = [
                self._pattern.replace("{beam}", name_text(name)) for name in names
            ]

    def _are_full(self, time, channels, length, powers, is_set, turned):
        """Returns whether new files begin with a sub-integration."""
        changed = not np.allclose(channels, self._channels, rtol=1e-12)
        count = len(self._times) + 1
        held = powers.nbytes * 2 * count
        if TIME not in self._pattern:
            if changed:
                raise ValueError(
                    "rx_freq: it has changed; one file is of one frequency, and with "
                    f"{TIME} in its name a new one would begin"
                )
            if turned:
                raise ValueError(
                    "settings: beams look elsewhere; one file is of one direction, and with "
                    f"{TIME} in its name a new one would begin"
                )
            if held > LARGEST_FILES:
                raise ValueError(
                    f"{count} sub-integrations are {held} bytes, more than "
                    f"{LARGEST_FILES}: take longer ones, less channels and bins, or a "
                    f"name with {TIME} in it, so that a new file may begin"
                )
            return False
        size = count * powers[0].size * FILE_BYTES
        return (
            changed
            or is_set
            or held > LARGEST_FILES
            or 0 < self._roll.size < size
            or self._roll.ends(self._begin, time, length)
        )

    def _write(self):
        begun = host.monotonic()
        for beam, path in enumerate(self._paths):
            direction = self._direction or self._beam_direction(beam)
            write_profiles(
                path, self.profiles(beam), self._array, direction=direction, history=self._history
            )
        now = host.monotonic()
        self._next_write = now + max(WRITE_INTERVAL, (now - begun) / MOST_WRITING)
        self._unwritten = False

    def _beam(self, row):
        """The Beam of one of the rows, of which there may be two for each."""
        return self._beams[min(row * len(self._beams) // len(self._names), len(self._beams) - 1)]

    def _beam_direction(self, row):
        """ICRS, of where the beam looks at the beginning; 0, 0 where it looks nowhere."""
        try:
            return tuple(map(float, icrs(self._beam(row), self._begin[0], self._array)[:2]))
        except (AttributeError, TypeError, ValueError):
            return 0.0, 0.0


def dict_of(value):
    """Returns the values of a `folded` tag, as numbers."""
    numbers = ("length", "phase", "frequency")
    found = {key: pmt.to_double(dict_value(value, key)) for key in numbers}
    return {**found, "middle": time_of(dict_value(value, "middle"))}
