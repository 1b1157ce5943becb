#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The rest of a run that was stopped: where its file of visibilities ends, and where to go on."""

import math
import os
from dataclasses import replace

import numpy as np

from ..arrays.earth_rotation import unix_seconds

#: s by which the times in a file may be off, which are Julian dates
ROUNDING = 1e-3


class Complete(Exception):
    """There is nothing left to do: the file has all integrations."""


class Resumption:
    """
    The file of a plan's visibilities that a run before left behind.

    Attributes
    ----------
    kept : int
        Integrations of it that are whole.
    passed_over : int
        Integrations that are computed once more before the first that is new, since samples from
        before it are needed.
    first : int
        The sample of each input with which to begin.

    Raises
    ------
    Complete
        The file has all integrations.
    ParameterError
        The file is not of this plan.
    """

    def __init__(self, plan, signals, sizes, before=0):
        """Reads the file; before: samples that are needed from before an integration."""
        self._plan, self._sizes = plan, sizes
        self.kept = self._whole_integrations(signals) if os.path.exists(plan.outputs.file) else 0
        step = sizes.visibilities * sizes.hop
        self.passed_over = min(self.kept, math.ceil(before / step))
        self.first = (self.kept - self.passed_over) * step
        if self.kept * sizes.visibilities >= sizes.spectra:
            raise Complete(f"{plan.outputs.file}: every integration is there ({self.kept})")

    def rest_of(self, sizes):
        """The Sizes of what is left to be read."""
        return replace(
            sizes, spectra=sizes.spectra - (self.kept - self.passed_over) * sizes.visibilities
        )

    def _refuse(self, problem):
        return self._plan.error("outputs.file", problem, shown=True)

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
                    header[name][::rows].astype(float) for name in ("time_array", "integration_time")
                )
                last = file["Data/nsamples"][-rows:] if count else np.zeros(0)
                if times.shape != (count,) or lengths.shape != (count,):
                    raise ValueError(
                        f"{count} integrations have times {list(times.shape)} and lengths "
                        f"{list(lengths.shape)}"
                    )
                if not np.isfinite(times).all():
                    raise ValueError("a time is no finite number")
                if count and not last.size:
                    raise ValueError("the last integration has no nsamples")
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise self._refuse(f"it is no file of visibilities that can go on: {error}") from None
        if channels != sizes.channels:
            raise self._refuse(f"it has {channels} channels, but this plan makes {sizes.channels}")
        expected = sum(signals.start_time) + (
            (np.arange(count) + 0.5) * length
            + ((sizes.taps - 1) * sizes.hop - 1) / 2 / sizes.sample_rate
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
