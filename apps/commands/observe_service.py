#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The service of aperture_observe, which runs for months: signals, failures, disks, systemd."""

import gc
import os
import signal
import sys
import threading
import time

from ..builder.input import InputFailure
from ..observatory.backoff import Backoff
from ..observatory.disk_guard import DiskGuard
from ..observatory.superseded import said_by
from ..observatory.written import Written
from ..plan.product_sections import file_of
from .observe_chain import make_chain, versions
from .observe_plan import Configuration
from .running import error_text
from .tables import with_prefix
from .terminal import say, show

LOOK = 0.2  # s between two looks at the flowgraph
DISK_LOOK = 1.0  # s, at the disks
STATUS = 5.0  # s between two lines for systemd
LINE = 60.0  # s between two lines of the log
LONGEST_STOP = 30.0  # s that a flowgraph is given to end
WATCHDOG, INTEGRATIONS = 10.0, 5  # s without an integration, and so many integrations
#: fields of plans that name files: those that end where a disk is nearly full, and small ones
RECORDED = "outputs.file", "beams.file", "voltages.file", "beams.voltages", "vdif.file"
SMALL = "ring.file", "search.dump", "search.candidates", "fold.file"
#: endings of files that have no room for a history: it stands beside them
WITHOUT_HISTORY = (".fil", ".sf", ".raw", ".vdif", ".fits", ".ar", ".ecsv", ".csv")


class Signals:
    """Counts SIGTERM and SIGINT, and notes SIGHUP, while it is entered."""

    def __init__(self):
        self.stops, self.reload = 0, False
        self._before, self._last = {}, -1.0

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number, _):
        if number == signal.SIGHUP:
            self.reload = True
            return
        now = time.monotonic()
        # signals that come together are one: `timeout -s INT` sends two
        if now - self._last > LOOK:
            self.stops += 1
        self._last = now

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)


class Service:
    """
    Runs what a Configuration says until it ends or is told to.

    Parameters
    ----------
    configuration : Configuration
    instrument : Instrument
    notifier : Notifier
    make : callable
        make(configuration) gives an ObservatoryChain; another one for tests.
    statvfs : callable
        A function like os.statvfs.
    """

    def __init__(self, configuration, instrument, notifier, make=make_chain, statvfs=os.statvfs):
        self._configuration, self._instrument = configuration, instrument
        self._notifier, self._make, self._statvfs = notifier, make, statvfs
        self._signals = Signals()
        self._progress = None  # (number, since when), of integrations
        self._before = 0  # integrations of flowgraphs that ended
        say_by = {"log": self._log, "alarm": self._alarm}
        instrument.on_publish(
            lambda message: message["event"] == "setting" and say(f"set: {message['text']}")
        )
        instrument.say = lambda event, text: say_by[event](text)
        self._told = {}  # task that recurs -> when it was last done
        self._written = Written()
        self._has_run = False  # true once a flowgraph has started
        self._use(configuration)

    def _use(self, configuration):
        self._configuration = configuration
        plan = configuration.plan
        outputs, service = plan.outputs, plan.service
        self._backoff = Backoff(service.restart_after, service.restart_longest)
        recorded, small = (
            [plan.value(field) for field in fields if plan.value(field)]
            for fields in (RECORDED, SMALL)
        )
        recorded += [file_of(plan, name) for name in plan.products]
        self._guard = DiskGuard(
            recorded, outputs.least_free_bytes, outputs.when_full, self._statvfs, small
        )

    # ---- the whole run

    def run(self):
        """Returns the exit code: 0 where the input ended, or it was told to stop."""
        with self._signals:
            while True:
                begun = time.monotonic()
                problem, again = self._once()
                if self._signals.stops:
                    break
                if problem is None and not again:
                    break
                if problem is not None:
                    self._alarm(problem)
                    if not again:
                        return self._end(1, problem)
                    self._backoff.went_well(time.monotonic() - begun)
                    self._wait(self._backoff.wait())
                    self._instrument.restarts += 1
                if self._signals.stops:
                    break
        return self._end(0, "ended")

    def _once(self):
        """Makes and runs a flowgraph. Returns what went wrong, or None, and whether another one is
        to be made."""
        may_restart = self._configuration.plan.service.restart
        try:
            chain = self._make(self._configuration)
        except InputFailure as error:
            return error_text(error), may_restart
        except OSError as error:
            # a folder that was there when the first flowgraph began may come back
            if not self._has_run:
                raise
            return error_text(error), may_restart
        try:
            return self._run_chain(chain)
        finally:
            # receivers are free only when their blocks are
            self._instrument.release()
            chain.release()
            del chain
            gc.collect()
            # blocks in Python that the first one let go of, see python_block
            gc.collect()

    def _end(self, code, status):
        self._notifier.stopping(status)
        self._instrument.set_state("stopped")
        return code

    def _wait(self, seconds):
        self._log(f"once more in {seconds:g} s")
        self._instrument.set_state("restarting")
        self._notifier.status(
            f"waiting {seconds:g} s after a failure, {self._instrument.restarts} restarts"
        )
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._signals.stops:
            self._notifier.alive()
            self._take_reload(None)
            time.sleep(min(LOOK, max(0.0, until - time.monotonic())))

    # ---- one flowgraph

    def _run_chain(self, chain):
        instrument, plan = self._instrument, self._configuration.plan
        instrument.set_state("starting")
        instrument.replace(chain, chain.named_blocks(), chain.about())
        chain.after_gains = lambda: instrument.restore(port="gains")
        for sink in chain.sinks():
            sink.set_recording(self._guard.recording)
        known, stops, reload, problem = set(), 0, False, None
        self._written.begin()
        chain.start()
        self._has_run = True
        waiter = threading.Thread(target=chain.wait, daemon=True)
        waiter.start()
        self._progress = -1, time.monotonic()
        instrument.set_state("running")
        self._notifier.ready(self._status(chain))
        try:
            while waiter.is_alive():
                waiter.join(LOOK)
                chain.adjust()
                if chain.ended():
                    chain.stop()
                self._show_texts(chain)
                self._note_files(chain, known)
                self._look_at_disks(chain)
                late = self._late(chain, plan)
                if late and problem is None:
                    problem = late
                    self._stop(chain, waiter)
                if not late:
                    self._notifier.alive()
                self._tell(chain)
                if self._signals.stops > stops:
                    stops += 1
                    instrument.set_state("stopping")
                    self._notifier.stopping("ending")
                    (chain.source.finish if stops == 1 else chain.stop)()
                if not stops and not reload and self._take_reload(chain):
                    reload = True
                    chain.source.finish()
        except BaseException as error:
            # the files must be whole whatever happens here
            self._stop(chain, waiter)
            if not isinstance(error, (RuntimeError, OSError, ValueError)):
                raise
            problem = problem or error_text(error)
        self._show_texts(chain)
        self._note_files(chain, known, ended=True)
        self._note_figures(chain)
        self._log(f"ended: {self._status(chain)}")
        self._before += max(0, chain.progress())
        errors = chain.errors()
        of_source = bool(getattr(chain.source, "error", lambda: "")())
        if errors:
            return "; ".join(errors), plan.service.restart and (of_source or self._of_files(chain))
        if problem is not None:
            return problem, plan.service.restart
        if plan.network.role == "x" and plan.service.restart and not stops and not reload:
            return "all senders have ended", True
        return None, reload

    def _stop(self, chain, waiter):
        """Ends a flowgraph; where it does not end, the process does: its files are whole, and
        systemd starts it again."""
        chain.stop()
        waiter.join(LONGEST_STOP)
        if waiter.is_alive():
            self._alarm(f"the flowgraph does not end within {LONGEST_STOP:g} s")
            self._notifier.send(WATCHDOG="trigger")
            os._exit(1)

    @staticmethod
    def _of_files(chain):
        """Returns whether files could not be written: their disk may have room, and their folder
        be there, a moment later."""
        return any(isinstance(sink.failure(), OSError) for sink in chain.rolling())

    def _late(self, chain, plan):
        """Returns what is wrong where no integration has come for too long, or None."""
        limit = plan.service.watchdog
        if limit == 0:
            return None
        if limit is None and plan.network.role == "x":
            return None  # others may be away for as long as they like
        if limit is None:
            limit = WATCHDOG + INTEGRATIONS * chain.about()["engines"]["integration"]
        now, progress = time.monotonic(), chain.progress()
        if progress > self._progress[0]:
            if progress > max(0, self._progress[0]):
                self._instrument.publish("integration", count=self._before + progress)
            self._progress = progress, now
        elif now - self._progress[1] > limit:
            return f"no integration has come for {limit:g} s"
        return None

    def _look_at_disks(self, chain):
        if not self._is_time("disks", DISK_LOOK):
            return
        whole = set(chain.whole_files())
        growing = [path for path in chain.files() if path not in whole]
        before = self._guard.recording
        for text in self._guard.look(growing):
            self._alarm(text)
        if self._guard.recording != before:
            for sink in chain.sinks():
                sink.set_recording(self._guard.recording)
        self._note_figures(chain)

    def _note_figures(self, chain):
        """Lets monitoring know what is recorded, and how much room there is."""
        blocks, sinks = self._instrument.blocks, chain.rolling()
        self._written.look({name: block for name, block in blocks.items() if block in sinks})
        self._instrument.figures = {
            "recording": self._guard.recording,
            "free": self._guard.free_of,
            "outputs": self._written.counts(),
            "dumps": {
                name: block.counts()
                for name, block in blocks.items()
                if type(block).__name__ == "voltage_ring"
            },
        }

    def _note_files(self, chain, known, ended=False):
        """Tells of files that are whole, and lays the configuration beside those that have no room
        for it."""
        for path in chain.files():
            if path not in known:
                known.add(path)
                if path.endswith(WITHOUT_HISTORY) and os.path.exists(path):
                    self._write_beside(path)
                elif path.endswith(WITHOUT_HISTORY):
                    known.discard(path)  # one that has its name when it is whole
        for path in chain.files() if ended else chain.whole_files():
            if ("whole", path) not in known:
                known.add(("whole", path))
                self._instrument.publish("file", path=path)

    def _write_beside(self, path):
        text = f"# {os.path.basename(path)}: {versions()}\n"
        for setting in self._instrument.kept.all():
            text += f"# {setting}\n"
        with open(self._configuration.path, encoding="utf-8", errors="replace") as file:
            text += file.read()
        try:
            with open(path + ".yml", "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self._alarm(f"{path}.yml: {error.strerror}")

    # ---- SIGHUP

    def _take_reload(self, chain):
        """Reads the file anew after SIGHUP. Where it is as it was, files end and new ones begin;
        whether another flowgraph is to be made."""
        if not self._signals.reload:
            return False
        self._signals.reload = False
        self._notifier.reloading()
        changed = False
        try:
            found = Configuration(self._configuration.path, self._configuration.host)
        except (OSError, ValueError) as error:
            self._alarm(f"the configuration stays as it was: {error_text(error)}")
        else:
            changed = found.sections != self._configuration.sections
            if changed:
                self._log("the configuration has changed: the flowgraph is made anew")
                self._drop_settings(found.sections)
                self._use(found)
        if not changed and chain is not None:
            self._log("new files begin")
            chain.roll_over()
        self._notifier.ready("reloaded")
        return changed

    def _drop_settings(self, sections):
        """Drops settings that were made while it ran, where a new configuration says otherwise."""
        by = lambda setting: said_by(setting, self._configuration.sections, sections)
        for setting in self._instrument.kept.drop(by):
            self._log(f"not kept: {setting}: the new configuration has another {by(setting)}")

    # ---- what is told

    def _is_time(self, what, period):
        now = time.monotonic()
        if now - self._told.get(what, -period) < period:
            return False
        self._told[what] = now
        return True

    def _status(self, chain):
        text = f"{self._before + max(0, chain.progress())} integrations"
        if losses := chain.losses():
            text += f", {losses}"
        if self._instrument.restarts:
            text += f", {self._instrument.restarts} restarts"
        if kept := len(self._instrument.kept.all()):
            text += f", {kept} setting{'s'[: kept > 1]} made while it ran"
        if self._guard.free is not None:
            text += f", {with_prefix(self._guard.free, 'B')} free"
        return text + ("" if self._guard.recording else ", NOT RECORDING: disk nearly full")

    def _tell(self, chain):
        if self._is_time("status", STATUS):
            self._notifier.status(self._status(chain))
        if self._is_time("line", LINE):
            self._log(self._status(chain))

    def _show_texts(self, chain):
        while chain.texts:
            self._log(chain.texts.pop(0))

    def _log(self, text):
        say(text)
        self._instrument.publish("log", text=text)

    def _alarm(self, text):
        show(sys.stderr, f"aperture_observe: {text}\n")
        self._instrument.publish("alarm", text=text)
