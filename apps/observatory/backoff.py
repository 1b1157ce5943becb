#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The time that a service waits before it tries again."""


class Backoff:
    """The waits before a service tries again. first, longest: seconds; each wait is twice the one
    before, until things went well."""

    def __init__(self, first, longest):
        self._first, self._longest = first, max(first, longest)
        self._next = first

    def wait(self):
        """Seconds to wait now."""
        now, self._next = self._next, min(2 * self._next, self._longest)
        return now

    def went_well(self, seconds):
        """Notes that it worked for so long: after ten times the last wait, the next one is short
        again."""
        if seconds >= 10 * self._next / 2:
            self._next = self._first
