#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that keeps the last voltages of an edge, and writes some of them when a trigger comes."""

import contextlib
import math
import threading
from fractions import Fraction

import pmt
from gnuradio import gr

from . import tags
from .aperture_python import item_ring
from .dumps.dump_files import DumpFiles
from .dumps.dumper import Dumper
from .dumps.trigger import ASKED, read_trigger
from .dumps.voltage_edge import VoltageEdge
from .parameters.description import Anything, Integer, Number, Switch, Text, Together, fields_of
from .parameters.groups import RingSize
from .parameters.rules import as_number, is_number, refuse
from .parameters.times import as_time
from .streams.python_block import python_block
from .streams.tag_values import dictionary, time_value

LONGEST_WAIT = 1e6  # s
TRIGGER, STATUS = "trigger", "status"


class _dumping(python_block):
    """The thread that writes, as long as the flowgraph runs, and the port for what it says."""

    def __init__(self, ring, files, queue, disk_limit, longest_wait, hold):
        super().__init__("voltage_dumps", None, None)
        self.message_port_register_out(pmt.intern(STATUS))
        self.message_port_register_out(pmt.intern(TRIGGER))
        self._ring, self._starts = ring, ring.starts()
        self.dumper = Dumper(
            ring,
            files,
            queue,
            disk_limit,
            longest_wait,
            self._publish,
            lambda text: self.logger.warn(text),
            hold,
        )
        self._thread, self._stopping = None, threading.Event()

    def ask(self, message, patience):
        """Sends a message to the ring's port, and waits for so many seconds for what becomes of
        it."""
        port = pmt.intern(TRIGGER)
        if not patience:
            self.dumper.ask(lambda: self.message_port_pub(port, message))
            return
        key = pmt.intern(ASKED)
        self.dumper.ask_and_wait(
            lambda number: self.message_port_pub(
                port, pmt.dict_add(message, key, pmt.from_uint64(number))
            ),
            patience,
        )

    def _start(self):
        self._stopping.clear()
        self.dumper.open()
        self._thread = threading.Thread(target=self._run, name="voltage_dumps", daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._guarded(self.dumper.run, self._stopping, self._starts)
        finally:
            self._starts = self._ring.starts()
            # nobody else ends a block that has no streams
            self.to_basic_block()._post(
                pmt.intern("system"), pmt.cons(pmt.intern("done"), pmt.from_long(1))
            )

    def _stop(self):
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    def _publish(self, event, about):
        entries = {"event": event, "id": about["id"]}
        if about.get("error") is not None:
            entries[tags.reason] = about["error"]
        if "files" in about:
            entries["files"] = pmt.to_pmt(list(about["files"]))
            entries["bytes"] = pmt.from_uint64(about["bytes"])
            entries["complete"] = pmt.from_bool(about["complete"])
            entries["missing_seconds"] = float(about["missing_seconds"])
            if about["description"] is not None:
                entries["description"] = about["description"]
            if about["missing"]:
                run = about["missing"][0]
                for key, time in (("missing_from", run["from"]), ("missing_to", run["to"])):
                    entries[key] = time_value((time["seconds"], time["fraction"]))
                entries.setdefault(tags.reason, run["reason"])
        self.message_port_pub(pmt.intern(STATUS), dictionary(entries))


#: descriptions of the arguments that give the size
RING = fields_of(RingSize)


class voltage_ring(gr.hier_block2):
    """
    Keeps the last voltages of an edge in memory, and writes some of them when a trigger asks.

    In, one port, chosen by `kind`:

    - "samples": a sample of each input, interleaved, as sources give them;
    - "inputs": frames `[channel][input][time]` of `f_engine` or `corner_turn`;
    - "beams": frames `[channel][beam][time]` of `beamformer`.

    with the tags rx_time, rx_rate and rx_freq, of frames also bandwidth. The ring is in the memory
    of the device, or of the host, and is overwritten as new items come, whether or not dumps are
    written: these are copied out by a thread of their own, and never hold up the stream, unless
    `hold` is set. What was
    overwritten before a dump came to it is zeros in the files (or, before the first sample that is
    there, not in them), and is said with its times.

    A message on the port `trigger` asks for a dump: a dictionary of

    - id: text of 1 to 64 letters, digits, _ and -;
    - start, end: tuple(uint64, double), UTC; or before, after: seconds (double) around the newest
      sample that is there when the message comes;
    - inputs, channels: optionally, numbers as a vector, instead of those of the constructor.

    Messages `candidates` of `pulse_search` are such. A dump whose end is still to come follows the
    stream up to it; several are written at the same time. All frames that the time between
    start and end touches are written; with samples exactly those from start to before end.

    The ending of the name chooses the format: .sigmf-meta, .raw (GUPPI) or .dada (PSRDADA); see
    docs/voltage-ring.md. Beside the files of each dump there is one that says what is in them and
    what is missing, in JSON. A file has its name when it is whole, and never replaces another.

    Out: messages on the port `status`, dictionaries of `event` (accepted, refused, writing, written
    or failed), `id`, and what docs/voltage-ring.md lists.

    Raises:
        ValueError, OSError: A parameter is not allowed, the memory is not there, or a file
            could not be written there.
    """

    def __init__(
        self,
        filename: Text(
            "Names of the files of a dump, with {id} and {time} (UTC of the first sample, to "
            "the second; -2 and so on where that is taken); {input} or {beam} makes a file "
            "for each (a name of `names`), {channel} one for each channel."
        ) = "dump-{id}-{time}.dada",
        kind: Text(
            'The kind of the voltages: "samples", "inputs" or "beams".',
            "samples",
            "inputs",
            "beams",
        ) = "inputs",
        type: Text(
            "Type of a sample: fc32, sc8 or sc4; with samples also sc16, f32, s16 or s8.",
            "fc32",
            "sc8",
            "sc4",
            "sc16",
            "f32",
            "s16",
            "s8",
        ) = "fc32",
        channels: Integer(
            "Channels of a frame; with samples they mean nothing.", 1, 2**31 - 1
        ) = 1024,
        inputs: Integer("Inputs or beams of a frame, or samples of an item.", 1, 2**31 - 1) = 2,
        spectra_per_frame: Integer(
            "Spectra of a frame; with samples they mean nothing.", 1, 2**31 - 1
        ) = 256,
        size: RING.size = 1 << 27,
        seconds: RING.seconds = 0.0,
        rate: RING.rate = 0.0,
        memory: Text('The place of the ring: "device" or "host".', "device", "host") = "device",
        selected_channels: Anything(
            "Those that a dump has of which the message says nothing; None: all."
        ) = None,
        selected_inputs: Anything(
            "Those that a dump has of which the message says nothing; None: all."
        ) = None,
        polarizations: Integer(
            "2: of the inputs that are written two at a time are the polarisations of a pair.", 1, 2
        ) = 1,
        names: Anything("Names of the inputs or beams of the edge; None: their numbers.") = None,
        array: Anything(
            "An array description, or the file or shipped name of one, for the telescope's "
            'name and place; None or "": they are not known.'
        ) = None,
        description: Text("For SigMF's core:description.") = "",
        queue: Integer(
            "Dumps that may wait or be written at the same time, 1 to 1000; more are refused.",
            1,
            1000,
        ) = 16,
        disk_limit: Number(
            "Bytes of voltages that all dumps together may write; None: as many as the disk takes."
        ) = 1e11,
        longest_wait: Number(
            "Seconds, 0 to 1e6, that a trigger's end may be ahead of the stream.",
            0,
            1000000.0,
            unit="s",
        ) = 3600.0,
        blocks_per_file: Integer("Frames in each file of a GUPPI sequence.", 1, 2**31 - 1) = 128,
        device: Text(
            "The device of the block whose edge this is: auto, cpu, cuda or cuda:N."
        ) = "auto",
        hold: Switch(
            "True for a recording, which comes faster than it can be searched and written: "
            "the stream waits until what dumps need is written, and, with `follow()`, until "
            "nobody asks for more of it."
        ) = False,
        ring: Together(
            RingSize, "The size of the ring in one object; None: by its arguments."
        ) = None,
    ):
        self._edge = VoltageEdge.checked(kind, type, channels, inputs, spectra_per_frame)
        files = DumpFiles(
            self._edge,
            filename,
            polarizations,
            selected_channels,
            selected_inputs,
            names,
            array,
            description,
            blocks_per_file,
        )
        if disk_limit is not None:
            as_number("disk_limit", disk_limit, 0, 2**62 - 1024, "bytes", above=True)
        gr.hier_block2.__init__(
            self,
            "voltage_ring",
            gr.io_signature(1, 1, self._edge.item_size),
            gr.io_signature(0, 0, 0),
        )
        self._ring = item_ring(
            item_size=self._edge.item_size,
            spectra=self._edge.spectra,
            size=self._bytes(size, seconds, rate),
            memory=memory,
            device=device,
            hold=bool(hold),
        )
        self._dumping = _dumping(
            self._ring,
            files,
            int(queue),
            None if disk_limit is None else int(disk_limit),
            float(longest_wait),
            bool(hold),
        )
        self._made = 0
        self.message_port_register_hier_in(TRIGGER)
        self.message_port_register_hier_out(STATUS)
        self.connect(self, self._ring)
        self.msg_connect(self, TRIGGER, self._ring, TRIGGER)
        self.msg_connect(self._dumping, TRIGGER, self._ring, TRIGGER)
        self.msg_connect(self._dumping, STATUS, self, STATUS)

    def _bytes(self, size, seconds, rate):
        if seconds:
            if not rate:
                refuse(
                    "rate",
                    rate,
                    "the items a second of this edge, where `seconds` says how many the ring holds",
                )
            items = max(2, math.ceil(Fraction(seconds) * Fraction(rate)))
            size = items * self._edge.item_size
        if not is_number(size) or not 2 * self._edge.item_size <= size < 2**62:
            refuse("size", size, f"at least two items of {self._edge.item_size} bytes")
        return int(size)

    # ---- triggers

    def trigger(
        self,
        id=None,
        start=None,
        end=None,
        before=None,
        after=0.0,
        inputs=None,
        channels=None,
        patience=0.0,
    ):
        """
        Asks for a dump, as a message does; what becomes of it, `dumps()` and the port `status` say.

        Parameters
        ----------
        id : str
            None: manual-1 and so on.
        start, end : float, or (int, float)
            Seconds since 1970, UTC: a double is good to 0.2 us, whole seconds and a fraction to a
            fraction of any sample.
        before, after : float
            Instead of these: seconds before and after the newest sample that is there.
        inputs, channels : list of int
            None: those of the constructor.
        patience : float
            Seconds within which it must be known that the dump is accepted; 0: that is not waited
            for. A block must not wait in the thread of its own work.

        Returns
        -------
        str
            The id.

        Raises
        ------
        ValueError
            Something is not allowed; with `patience` also what the port `status` calls refused, of
            which parameters.errors.NotNow is what may be allowed at another time.
        RuntimeError
            The flowgraph does not run.
        TimeoutError
            Nothing is known of it after `patience`.
        """
        if id is None:
            self._made += 1
            id = f"manual-{self._made}"
        if not isinstance(id, str):
            refuse("id", id, "a text")
        entries = {"id": id}
        if before is not None:
            entries.update(before=float(before), after=float(after))
        else:
            for name, time in (("start", start), ("end", end)):
                entries[name] = time_value(as_time(name, time))
        for name, values in (("inputs", inputs), ("channels", channels)):
            if values is not None:
                entries[name] = pmt.init_s64vector(len(values), [int(value) for value in values])
        message = dictionary(entries)
        read_trigger(message)  # complains at once
        self._dumping.ask(message, float(patience))
        return id

    def follow(self, position):
        """
        With `hold`: position() gives the seconds of the stream, from its first item on, before
        which no trigger that is still to come asks for anything; None: nobody knows yet.
        To be called before the flowgraph starts.
        """
        self._dumping.dumper.follow = position

    def release(self):
        """
        To be called when its flowgraph has ended for good and another one takes its place: without,
        GNU Radio keeps a hierarchical block with message ports, and the memory of its ring, as
        long as the process lives. It cannot be used again.
        """
        for edge in (
            (self, TRIGGER, self._ring, TRIGGER),
            (self._dumping, TRIGGER, self._ring, TRIGGER),
            (self._dumping, STATUS, self, STATUS),
        ):
            # GNU Radio does it, and complains afterwards of edges at this block's own ports
            with contextlib.suppress(RuntimeError):
                self.msg_disconnect(*edge)
        self.disconnect_all()

    # ---- what can be asked for

    def dumps(self):
        """A list of what became of the last thousand dumps: dictionaries as in their files of
        JSON, oldest first."""
        return self._dumping.dumper.results()

    def counts(self):
        """A dictionary of how many dumps were written, failed or refused."""
        return self._dumping.dumper.counts()

    def problems(self):
        """Returns which dumps were lost or refused, and why: texts, of the first hundred."""
        return self._dumping.dumper.problems()

    def pending(self):
        """Returns how many dumps wait or are being written."""
        return self._dumping.dumper.pending()

    def bytes_written(self):
        """Bytes of voltages, of all dumps."""
        return self._dumping.dumper.bytes_written()

    def capacity(self):
        """Items that the ring holds."""
        return self._ring.capacity()

    def items(self):
        """Returns how many items have come since the start."""
        return self._ring.items()

    def error(self):
        """Returns what ended the block before its time, or None; a dump that fails does not."""
        return self._ring.error() or self._dumping.error()

    def device_name(self):
        """Returns where the ring's edge is."""
        return self._ring.device_name()
