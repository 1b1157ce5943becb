#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The rest of a run that was stopped: where its files end, and where to go on."""

import math
import os
from dataclasses import replace

import numpy as np

from ..arrays.earth_rotation import unix_seconds
from ..formats.filterbank.reader import FilterbankFile
from ..formats.powers import PowerFileError

#: s by which the times in a file may be off, which are Julian dates
ROUNDING = 1e-3


class Complete(Exception):
    """There is nothing left to do: the files have all integrations."""


class Resumption:
    """
    The files of a plan that a run before left behind: one of visibilities, or those of powers.

    Attributes
    ----------
    kept : int
        Integrations of them that are whole, in each.
    passed_over : int
        Integrations that are computed once more before the first that is new, since frames begin
        with them, or samples from before it are needed.
    first : int
        The sample of each input with which to begin.

    Raises
    ------
    Complete
        The files have all integrations.
    ParameterError
        A file is not of this plan.
    """

    def __init__(self, plan, signals, sizes, before=0, powers=()):
        """Reads the files; before: samples that are needed from before an integration; powers:
        names of filterbank files, in the place of that of visibilities."""
        self._plan, self._sizes = plan, sizes
        self._field = "beams.file" if powers else "outputs.file"
        names = powers or [plan.outputs.file]
        #: spectra of an integration, and those with which a stream may begin
        each = sizes.powers if powers else sizes.visibilities
        begins = max(each, sizes.spectra_per_frame)
        # a last integration of powers that is a part is left out
        least = each if powers else 1
        self.kept = 0
        if all(map(os.path.exists, names)):
            self.kept = (
                self._whole_powers(names, signals) if powers else self._whole_integrations(signals)
            )
        if self.kept * each + least > sizes.spectra:
            raise Complete(f"{names[0]}: every integration is there ({self.kept})")
        start = max(0, self.kept * each - math.ceil(before / sizes.hop)) // begins * begins
        self.passed_over = self.kept - start // each
        self.first = start * sizes.hop

    def rest_of(self, sizes):
        """The Sizes of what is left to be read."""
        return replace(sizes, spectra=sizes.spectra - self.first // sizes.hop)

    def _refuse(self, problem):
        return self._plan.error(self._field, problem, shown=True)

    def _whole_powers(self, names, signals):
        """Counts the samples that all of the filterbank files have; refuses one that is not of this
        plan."""
        sizes, found = self._sizes, []
        begin = sum(signals.start_time) + sizes.first_middle - sizes.seconds(1) / 2
        for name in names:
            refuse = lambda problem, name=name: self._plan.error(
                self._field, problem, shown=name
            )
            try:
                file = FilterbankFile(name)
            except (OSError, PowerFileError) as error:
                raise refuse(f"it is no file of powers that can go on: {error}") from None
            if file.begin is None:
                raise refuse("it does not say when it begins")
            late = sum(file.begin) - begin
            for what, own, wanted, same in (
                ("samples of so many seconds", file.interval, sizes.power_integration, 1e-9),
                ("channels", len(file.frequencies), self._channels(), 0),
                ("bits", file.header["nbits"], self._plan.beams.bits, 0),
            ):
                if abs(own - wanted) > same * abs(wanted):
                    raise refuse(f"its {what} are {own:.10g}, but those of this plan {wanted:.10g}")
            if abs(late) > ROUNDING + 0.01 * sizes.power_integration:
                raise refuse(f"it begins {late:+.6g} s from where this plan begins")
            found.append(file)
        kept = min(file.samples for file in found)
        # the rest of a write that was cut off is only removed with a sample that is written
        ragged = any(
            os.path.getsize(file.filename)
            != file.header_bytes + kept * file.ifs * self._channels() * file.header["nbits"] // 8
            for file in found
        )
        return max(0, kept - ragged)

    def _channels(self):
        return self._sizes.channels // self._plan.beams.sum_channels

    def _whole_integrations(self, signals):
        """Counts those of the file; refuses one that is not of this plan."""
        # not at the top: it takes as long to load as all else
        import h5py

        sizes, length = self._sizes, self._sizes.integration
        try:
            with h5py.File(self._plan.outputs.file, "r", locking=False) as file:
                header = file["Header"]
                count, channels = int(header["Ntimes"][()]), int(header["Nfreqs"][()])
                rows = int(header["Nbls"][()])
                if rows < 1 or len(header["time_array"]) != count * rows:
                    raise ValueError(
                        f"{len(header['time_array'])} rows are not {count} integrations of {rows}"
                    )
                times, lengths = (
                    self._of_integrations(name, header[name][()].astype(float), count, rows)
                    for name in ("time_array", "integration_time")
                )
                last = file["Data/nsamples"][-rows:] if count else np.zeros(0)
                if count and not last.size:
                    raise ValueError("the last integration has no nsamples")
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise self._refuse(f"it is no file of visibilities that can go on: {error}") from None
        if channels != sizes.channels:
            raise self._refuse(f"it has {channels} channels, but this plan makes {sizes.channels}")
        expected = sum(signals.start_time) + (
            (np.arange(count) + 0.5) * length
            + sizes.first_middle - sizes.seconds(1) / 2
        )
        whole = np.abs(lengths - length) < 1e-6 * length
        off = np.array([float(unix_seconds(time)) for time in times]) - expected
        # the last one may be a part
        wrong = np.flatnonzero(~(whole & (np.abs(off) <= ROUNDING + 0.01 * length))[:-1])
        if len(wrong):
            number = wrong[0]
            raise self._refuse(
                f"its integration {number} is of {lengths[number]:.9g} s and {off[number]:+.6g} s "
                f"from where this plan, of {length:.9g} s each, has it"
            )
        if count and not abs(off[-1]) <= ROUNDING + 0.51 * length:
            raise self._refuse(
                f"its last integration is {off[-1]:+.6g} s from where this plan has it"
            )
        if count and not (whole[-1] and np.max(last) == 1):
            count -= 1
        return count

    @staticmethod
    def _of_integrations(name, values, count, rows):
        """The value of each integration, which all of its rows have."""
        if values.shape != (count * rows,):
            raise ValueError(
                f"{name} has the shape {list(values.shape)}, and {count} integrations have {rows} "
                "rows each"
            )
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has a value that is no finite number")
        values = values.reshape(count, rows)
        wrong = np.argwhere(values != values[:, :1])
        if len(wrong):
            number, row = wrong[0].tolist()
            raise ValueError(
                f"{name} of integration {number} is {values[number, 0]:.15g}, and in its row {row} "
                f"{values[number, row]:.15g}"
            )
        return values[:, 0]
