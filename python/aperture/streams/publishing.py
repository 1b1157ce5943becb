#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""When what a block has written becomes visible to others."""

import inspect
import threading
import time
import weakref

#: seconds; tests have their own
clock = time.monotonic


class Publishing:
    """
    Publishes what is added at most once in so many seconds, and never later than so many seconds
    after it was added, also where nothing more comes.

    Parameters
    ----------
    publish : callable
        It has no arguments, is called with `lock` held, and may raise. A method does not keep its
        object alive: a block that had itself in this way would outlive its flowgraph.
    every : float
        Seconds; 0: whatever is added is published at once.
    """

    def __init__(self, publish, every):
        is_method = inspect.ismethod(publish)
        self._publish = weakref.WeakMethod(publish) if is_method else lambda: publish
        self._every = every
        #: to be held by who adds, or changes what is published
        self.lock = threading.Condition()
        self._last = -float("inf")  # when it was published
        self._due = None  # when it is to be published; None: nothing is waiting
        self._thread = None

    def added(self, length, at_once=False):
        """
        Something was added that took so many seconds, which are waited for in any case where they
        are no fewer than those between two states; at_once: it is published now.

        Raises
        ------
        Exception
            What publishing has raised, which is tried again with what is added next.
        """
        if self._due is None:
            self._due = self._last + self._every
        if at_once or length >= self._every or clock() >= self._due:
            self._now()
        elif self._thread is None:
            self._thread = threading.Thread(target=self._wait, name="publishing", daemon=True)
            self._thread.start()
        else:
            self.lock.notify()

    def done(self):
        """All that was added has been published otherwise."""
        self._due = None

    def stop(self):
        """Publishes nothing any more, until something is added; `lock` is not held."""
        with self.lock:
            thread, self._thread = self._thread, None
            self.done()
            self.lock.notify()
        if thread is not None:
            thread.join()

    def _now(self):
        publish = self._publish()
        if publish is not None:
            publish()
        self._last, self._due = clock(), None

    def _wait(self):
        with self.lock:
            while self._thread is threading.current_thread():
                left = None if self._due is None else self._due - clock()
                if left is None or left > 0:
                    self.lock.wait(left)
                    continue
                try:
                    self._now()
                except Exception:
                    # raised again where it can be told
                    self._due = clock() + max(self._every, 1)
